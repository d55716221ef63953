"""What quantizers of pt2e leave, op by op: the integers are those of torch's documented operators, here and in onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.api import at_hub
from transload.ir import Module
from transload.quantization import quantize_at_hub

from .programs import Program

SIGNED, BYTES, REDUCED = (-128, 127), (0, 255), (0, 127)


def network(ends: tuple[int, int], zero: int, biases: str = "float") -> Program:
    """Convolutions with a ReLU and a ReLU6, a sum, a maximum, a mean and a layer, each rounded behind."""
    p, low = Program(ends=ends), ends[0]
    x = p.rounded(p.x, 0.021, zero, "xq")
    scales = p.random.uniform(0.001, 0.004, 8).astype(np.float32)
    b = p.bias(8) if biases == "float" else p.weights(
        8, ends=(-2000, 2000), dtype="int32", scales=(0.021 * scales).astype(np.float32))
    c = p.rounded(p.relu(p.conv(x, p.weights(8, 3, 3, 3, scales=scales), b)), 0.0173, low, "cq")
    d = p.rounded(p.hardtanh(p.conv(c, p.weights(8, 1, 3, 3), groups=8)), 0.02351, low, "dq")
    a = p.rounded(p.add(c, d), 0.0377, low, "aq")
    m = p.rounded(p.mean(p.rounded(p.maxpool(a), 0.0377, low, "mq")), 0.0131, low + 8, "eq")
    return p.done(p.rounded(p.linear(m, p.weights(10, 8), p.bias(10)), 0.0213, zero, "yq"))


def turned() -> Program:
    p = Program((4, 16))
    return p.done(p.rounded(p.addmm(p.bias(10), p.rounded(p.x, 0.021, 3, "xq"), p.weights(10, 16)), 0.0331, 1, "yq"))


def integers_in_and_out() -> Program:
    p = Program(dtype="int8")
    return p.done(p.quantize(p.conv(p.dequantize(p.x, 0.021, 3), p.weights(8, 3, 3, 3)), 0.031, 4, "yq"))


def joined() -> Program:
    p = Program()
    x = p.rounded(p.x, 0.021, 3, "xq")
    c = p.rounded(p.conv(x, p.weights(3, 3, 3, 3)), 0.031, -7, "cq")
    return p.done(p.rounded(p.cat([x, c]), 0.0311, 2, "jq"), p.rounded(p.mul(x, c), 0.0411, 2, "yq"))


def four_bits() -> Program:
    p = Program(ends=(-8, 7))
    return p.done(p.rounded(p.conv(p.rounded(p.x, 0.31, 0, "xq"), p.weights(5, 3, 3, 3, ends=(-8, 7))), 0.013, -2, "yq"))


def below_a_maximum() -> Program:
    """Nothing is rounded between a convolution, its ReLU, and a maximum."""
    p = Program()
    c = p.maxpool(p.relu(p.conv(p.rounded(p.x, 0.021, 3, "xq"), p.weights(4, 3, 3, 3), p.bias(4))))
    return p.done(p.rounded(c, 0.031, -128, "yq"))


PROGRAMS: dict[str, Callable[[], Program]] = {
    "signed": lambda: network(SIGNED, 3), "bytes": lambda: network(BYTES, 131), "reduced": lambda: network(REDUCED, 58),
    "i32 biases": lambda: network(SIGNED, 3, "i32"), "turned": turned, "integers": integers_in_and_out, "joined": joined,
    "four bits": four_bits, "maximum": below_a_maximum}


def given(program: Program, seed: int) -> np.ndarray:
    random, shape = np.random.default_rng(seed), program.x.static_shape
    return random.normal(0, 1, shape).astype(np.float32) if program.x.is_float else random.integers(-128, 128, shape, np.int8)


def computing_floats(hub: Module) -> list[str]:
    return [op.name for op in hub.ops() if op.results and op.results[0].is_float and op.name not in ("top.Weight", "top.Cast")]


@pytest.mark.parametrize("name", PROGRAMS)
def test_integers_are_those_of_torch(name: str, tmp_path: Path) -> None:
    import onnxruntime

    program = PROGRAMS[name]()
    hub = at_hub(program.module)
    assert not computing_floats(hub)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(transload.save(transload.lower(program.module, "onnx"), tmp_path / "m.onnx"), options)
    seen: set[str] = set()
    for seed in range(3):
        x, held = given(program, seed), dict[str, np.ndarray]()

        def watch(value: Any, array: np.ndarray, held: dict[str, np.ndarray] = held) -> None:
            if value.quant is not None:
                held[value.name] = array

        results = transload.run(hub, {"x": x}, engine="reference", watch=watch).values()
        wanted, integers = program.run(x)
        for called in integers.keys() & held.keys():
            np.testing.assert_array_equal(held[called], integers[called], err_msg=called)
            assert np.unique(integers[called]).size > 5
            seen.add(called)
        for here, there, want in zip(results, session.run(None, {"x": x}), wanted, strict=True):
            np.testing.assert_allclose(here, want, rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(there, want, rtol=1e-5, atol=1e-5)
    assert seen >= program.run(given(program, 0))[1].keys() - {"mq"}


def test_places_left_out_are_completed_on_samples() -> None:
    """As inductor's quantizer for x86 leaves them: a convolution that is added, and tensors that are joined, are not rounded."""
    p = Program(ends=BYTES)
    x = p.rounded(p.x, 0.021, 131, "xq")
    c = p.rounded(p.relu(p.add(p.conv(x, p.weights(8, 3, 3, 3), p.bias(8)), p.conv(x, p.weights(8, 3, 3, 3)))), 0.031, 0, "cq")
    p.done(p.rounded(p.conv(p.cat([x, c]), p.weights(4, 11, 1, 1), pad=0), 0.0217, 128, "yq"))
    hub = at_hub(p.module)
    assert computing_floats(hub) == ["top.Conv", "top.Conv", "top.Add", "top.Concat", "top.Conv"]
    made = quantize_at_hub(hub, "int8", [{"x": given(p, seed)} for seed in range(8)], {})
    assert not computing_floats(made.module) and made.report["completed"] == {"tensors": 2}
    x_, = (given(p, 9),)
    (wanted,), _ = p.run(x_)
    (found,) = transload.run(made.module, {"x": x_}, engine="reference").values()
    assert 0 < np.square(found - wanted).sum() < np.square(wanted).sum() / 1000
