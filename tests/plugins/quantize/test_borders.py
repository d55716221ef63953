"""Integers in and out: which casts at the borders can go, and what is said of the others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.engine.quantized import dequantize, quantize
from transload.errors import UsageError
from transload.ir import Module, QuantType, TensorType

from tests.support.graphs import Graph


@pytest.fixture(scope="module")
def module(examples: Path) -> Module:
    return transload.load(examples / "digits" / "digits_float.tflite")


@pytest.fixture(scope="module")
def samples(examples: Path) -> list[dict[str, np.ndarray]]:
    images = np.load(examples / "digits" / "test_images.npz")["images"][:8] / np.float32(16)
    return [{"image": image.reshape(1, 8, 8, 1)} for image in images]


def element(module: Module, name: str) -> QuantType | None:
    type_ = {**module.inputs, **module.outputs}[name]
    return type_.element if isinstance(type_, TensorType) and isinstance(type_.element, QuantType) else None


def test_what_is_behind_the_casts_is_the_same(module: Module, samples: list[dict[str, np.ndarray]]) -> None:
    floats = transload.quantize(module, "int8-asym", samples)
    assert element(floats, "image") is None and element(floats, "probabilities") is None
    integers = transload.quantize(module, "int8-asym", samples, quant_input="all", quant_output=["probabilities"])
    taken, given = element(integers, "image"), element(integers, "probabilities")
    assert taken is not None and given is not None
    stored = transload.run(integers, {"image": quantize(samples[3]["image"], taken)})["probabilities"]
    assert np.array_equal(dequantize(stored, given), transload.run(floats, samples[3])["probabilities"])
    assert element(transload.quantize(module, "int8-asym", samples, quant_input=True), "probabilities") is None


def test_what_is_computed_with_floats_stays_so(module: Module, samples: list[dict[str, np.ndarray]]) -> None:
    kept = {"floats": {"probabilities": "a test"}}
    assert element(transload.quantize(module, "int8-asym", samples, quant_output="all", **kept), "probabilities") is None
    with pytest.raises(UsageError, match="computed with floats"):
        transload.quantize(module, "int8-asym", samples, quant_output="probabilities", **kept)
    with pytest.raises(UsageError, match="no output 'scores'"):
        transload.quantize(module, "int8-asym", samples, quant_output=["scores"])


MOVING = {
    "picked": lambda g, x: g.Reduce(x, axes=(2, 3), keepdims=True, mode="ReduceMax"),
    "turned": lambda g, x: g.Permute(x, order=(0, 2, 3, 1)),
    "cut": lambda g, x: g.Clip(x, min=-1.0, max=1.0),
    "pooled": lambda g, x: g.MaxPool(x, kernel_shape=(2, 2), strides=(2, 2))}


@pytest.mark.parametrize("kind", MOVING)
def test_what_but_moves_numbers_moves_integers_where_these_come_in_or_go_out(kind: str) -> None:
    """Between floats it is left as it is, of which nothing was told."""
    g = Graph((1, 4, 6, 6))
    module = g.done(MOVING[kind](g, g.inputs[0]))
    (name,), (result,) = module.inputs, module.outputs
    random = np.random.default_rng(5)
    some = [{name: random.uniform(-3, 3, (1, 4, 6, 6)).astype(np.float32)} for _ in range(8)]
    plain = transload.quantize(module, "int8", some)
    assert element(plain, name) is element(plain, result) is None and plain.quantization is not None
    (note,) = plain.quantization.report["notes"]
    assert note.startswith("nothing is quantized: what but moves or picks floats") and "--quant-input --quant-output" in note
    wanted = transload.run(module, some[0])[result]
    for asked in ({"quant_input": True}, {"quant_output": True}, {"quant_input": True, "quant_output": True}):
        made = transload.quantize(module, "int8", some, **asked)
        taken, given = element(made, name), element(made, result)
        assert made.quantization is not None and not made.quantization.report["notes"]
        assert ((taken is not None), (given is not None)) == ("quant_input" in asked, "quant_output" in asked)
        fed = some[0][name] if taken is None else quantize(some[0][name], taken)
        found = transload.run(made, {name: fed})[result]
        real = found if given is None else dequantize(found, given)
        assert np.abs(real - wanted).max() <= 6.5 / 255  # a step of what the samples span, at most, and its rounding


def test_integers_that_are_moved_run_in_litert(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert")
    g = Graph((1, 4, 6, 6))
    module = g.done(MOVING["picked"](g, g.inputs[0]))
    some = np.random.default_rng(5).uniform(-3, 3, (8, 1, 4, 6, 6)).astype(np.float32)
    made = transload.convert(module, "tflite", tmp_path / "out", quantize="int8", data=some,
                             quantizer_options={"quant_input": "all", "quant_output": "all"})
    assert made.verification is not None and made.verification.passed and made.verification.engine != "reference"
    from ai_edge_litert.interpreter import Interpreter

    model = Interpreter(str(next((tmp_path / "out").glob("*.tflite"))))
    model.allocate_tensors()
    (taken,), (given,) = model.get_input_details(), model.get_output_details()
    assert taken["dtype"] is given["dtype"] is np.int8
    scale, zero = taken["quantization"]
    stored = np.clip(np.round(some[0] / scale) + zero, -128, 127).astype(np.int8)
    model.set_tensor(taken["index"], stored)
    model.invoke()
    assert np.array_equal(model.get_tensor(given["index"]), stored.max(axis=(2, 3), keepdims=True))


def test_what_moves_floats_in_several_steps_is_left_as_it_is() -> None:
    """Each step kept the other, and both were rounded for nothing."""
    g = Graph((1, 4, 6, 6))
    pooled = g.MaxPool(g.Permute(g.inputs[0], order=(0, 1, 3, 2)), kernel_shape=(2, 2), strides=(2, 2))
    module = g.done(g.Permute(pooled, order=(0, 2, 3, 1)))
    some = [{"x0": x} for x in np.random.default_rng(5).uniform(-3, 3, (4, 1, 4, 6, 6)).astype(np.float32)]
    made = transload.quantize(module, "int8", some)
    assert made.quantization is not None
    assert made.quantization.report["notes"][0].startswith("nothing is quantized: what but moves")
    np.testing.assert_array_equal(transload.run(made, some[0])["y0"], transload.run(module, some[0])["y0"])


@pytest.mark.parametrize("steps", [1, 2])
def test_floats_that_are_joined_lend_no_range_to_what_is_quantized(steps: int) -> None:
    """A convolution of small numbers, which beside large ones are given, too: its input had the range of both."""
    g = Graph((1, 4, 6, 6), (1, 4, 6, 6))
    joined = g.Concat(*g.inputs, axis=1)
    module = g.done(joined if steps == 1 else g.Permute(joined, order=(0, 2, 3, 1)), g.Conv(
        g.inputs[0], g.random(3, 4, 3, 3), kernel_shape=(3, 3)))
    random = np.random.default_rng(0)
    some = [{name: random.uniform(-size, size, (1, 4, 6, 6)).astype(np.float32) for name, size in (("x0", 1), ("x1", 100))}
            for _ in range(6)]
    wanted = transload.run(module, some[0])
    given = transload.run(transload.quantize(module, "int8", some, islands="none"), some[0])
    np.testing.assert_array_equal(given["y0"], wanted["y0"])
    assert np.abs(given["y1"] - wanted["y1"]).max() < 0.2
