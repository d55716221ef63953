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
