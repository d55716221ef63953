"""Quantized models as floats, and in other schemes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.api import at_hub
from transload.engine.quantized import dequantize
from transload.errors import UsageError
from transload.ir import F32, I8, I16, I32, UI8, FloatType, Module, QuantType
from transload.ir.build import constant_of
from transload.layers import layers_report
from transload.metrics import sqnr
from transload.quantization import quantize_at_hub

from tests.support.graphs import Graph

DIGITS = Path(__file__).resolve().parents[3] / "examples" / "digits"
G = np.random.default_rng(2)


def of_bytes(real: bool = True) -> Module:
    """A layer as early TFLite files have it: bytes without signs, one scale for all weights, a ReLU that saturation does; the
    output as `real` numbers, or as bytes."""
    g = Graph((4, 16))
    held = g.builder.emit("top.Cast", g.inputs[0], element=QuantType(UI8, F32, (0.03,), (128,)))
    weights = g.builder.constant(G.integers(0, 256, (8, 16)).astype(np.uint8), element=QuantType(UI8, F32, (0.01,), (120,)))
    bias = g.builder.constant(G.integers(-2000, 2000, 8).astype(np.int32), element=QuantType(I32, F32, (0.0003,), (0,)))
    product = g.builder.emit(
        "top.MatMul", held, weights, bias, right_transpose=True, element=QuantType(UI8, F32, (0.02,), (0,)), location="layer")
    return g.done(g.builder.emit("top.Cast", product, element=F32) if real else product)


def samples(count: int = 16) -> list[dict[str, np.ndarray]]:
    return [{"x0": G.uniform(-3.8, 3.8, (4, 16)).astype(np.float32)} for _ in range(count)]


def decibels(one: Module, other: Module, given: list[dict[str, np.ndarray]]) -> float:
    there, here = (np.stack([next(iter(transload.run(module, each, engine="reference").values())) for each in given])
                   for module in (one, other))
    return sqnr(there, here)


def test_what_is_quantized_has_no_ranges_to_measure() -> None:
    with pytest.raises(UsageError, match="no op of the model computes with floats") as caught:
        transload.calibrate(of_bytes(), samples())
    assert "--scheme float" in str(caught.value.hint)


def test_as_floats() -> None:
    """Saturation is part of what the model computes; roundings are not."""
    module = of_bytes()
    made = quantize_at_hub(module, "float", None, {}).module
    assert all(isinstance(result.element, FloatType) for op in made.ops() for result in op.results)
    given = samples()
    numbers = np.stack([next(iter(transload.run(made, each, engine="reference").values())) for each in given])
    assert numbers.min() == 0.0
    assert numbers.max() == pytest.approx(255 * 0.02)
    assert decibels(module, made, given) > 35.0
    tosa = transload.lower(made, "tosa")
    np.testing.assert_allclose(
        next(iter(transload.run(tosa, given[0]).values())), numbers[0], atol=1e-5)


@pytest.mark.parametrize(("scheme", "storage", "least"), [("int8", I8, 30.0), ("int16x8", I16, 35.0)])
def test_bytes_in_other_schemes(scheme: str, storage: object, least: float) -> None:
    """Unsigned bytes with one scale become signed ones with a scale for each channel, or numbers of 16 bits."""
    module = of_bytes()
    made = quantize_at_hub(module, scheme, samples(), {}).module
    layers = [op for op in made.body_of_main if op.name == "top.MatMul"]
    assert layers
    for op in layers:
        assert op.results[0].quant is not None
        assert op.results[0].quant.storage == storage
        weights = op.operands[1].quant
        assert weights is not None
        assert constant_of(op.operands[1]) is not None
        assert weights.storage == I8
        assert weights.per_axis
    assert decibels(module, made, samples()) > least


def test_a_real_file() -> None:
    """The example's int8 file as floats answers as it does; its input and output keep their types."""
    model = at_hub(transload.load(DIGITS / "digits_int8.tflite"))
    made = quantize_at_hub(model, "float", None, {}).module
    assert [str(type_.element) for type_ in made.inputs.values()] == [str(type_.element) for type_ in model.inputs.values()]
    images = np.load(DIGITS / "test_images.npz")["images"][:60]
    (name, type_), = model.inputs.items()
    given = [{name: (np.round(image / 16 * 255) - 128).reshape(type_.static_shape).astype(np.int8)} for image in images]
    for other in (made, quantize_at_hub(model, "int16x8", given[:16], {}).module):
        answers = [[next(iter(transload.run(module, each, engine="reference").values())).argmax() for each in given]
                   for module in (model, other)]
        assert np.mean(np.equal(*answers)) > 0.96


def test_clips_that_cut_nothing_are_not_written() -> None:
    """The ReLU that saturation did is saturation again, and neither MAXIMUM nor MINIMUM."""
    module = of_bytes()
    assert "top.Clip" in {op.name for op in quantize_at_hub(module, "float", None, {}).module.ops()}
    made = transload.lower(quantize_at_hub(module, "int8", samples(), {}).module, "tfl")
    names = {op.name for op in made.ops()}
    assert "tfl.fully_connected" in names
    assert not names & {"tfl.maximum", "tfl.minimum"}


def test_a_float_model_is_refused() -> None:
    g = Graph((4, 16))
    with pytest.raises(UsageError, match="is not quantized"):
        quantize_at_hub(g.done(g.Relu(g.inputs[0])), "float", None, {})


def test_what_is_lost_is_told_in_real_numbers(tmp_path: Path) -> None:
    """Beside the file's own runtime, whose outputs are stored integers, and by the names of its tensors."""
    pytest.importorskip("ai_edge_litert")
    file = DIGITS / "digits_int8.tflite"
    (name, type_), = transload.load(file).inputs.items()
    images = np.load(DIGITS / "test_images.npz")["images"][:8]
    given = [{name: (np.round(image / 16 * 255) - 128).reshape(type_.static_shape).astype(np.int8)} for image in images]
    report = transload.convert(file, "tosa", tmp_path / "out", data=given, quantize="int16x8").report
    (output,) = report.verification.quantized
    assert output.metrics["max_abs"] < 0.5  # probabilities; the stored integers differ from them by 128
    assert output.metrics["sqnr"] > 20.0
    (nearness,) = report.quantization.measured.outputs.values()
    assert 20.0 < nearness.sqnr < 100.0
    assert not [layer.name for layer in report.quantization.measured.layers if layer.name.startswith("top.")]


@pytest.mark.parametrize("scheme", ["int8", "int16x8", "uint8"])
def test_integers_become_others_without_floats_between(scheme: str, tmp_path: Path) -> None:
    """A model of integers at its borders stays one: floats between would be rounded by what a chip multiplies or divides by."""
    g = Graph((64, 8), element=QuantType(I16, F32, (0.00021,), (0,)))
    made = g.builder.emit("top.LeakyRelu", g.inputs[0], alpha=0.1, element=QuantType(I16, F32, (0.00029,), (0,)))
    module = g.done(made)
    given = [{"x0": G.integers(-30000, 30000, (64, 8)).astype(np.int16)} for _ in range(4)]
    quantized = quantize_at_hub(module, scheme, given, {}).module
    assert not any(isinstance(value.element, FloatType) for op in quantized.ops() for value in op.results)
    there, here = (next(iter(transload.run(each, given[0], engine="reference").values()))
                   for each in (quantized, transload.lower(quantized, "tosa")))
    assert np.array_equal(there, here)
    assert sqnr(next(iter(transload.run(module, given[0]).values())).astype(float), there.astype(float)) > 30


@pytest.mark.parametrize(("scheme", "options", "least"), [
    ("w8a16", {}, 30.0), ("w4a16", {"q_group_size": 8, "few": 0}, 15.0), ("w4a8", {}, 30.0),
    ("w4a8", {"q_group_size": 8, "few": 0}, 15.0), ("f8e4m3", {"islands": "none"}, 15.0), ("dynamic", {"least": 0}, 25.0)])
def test_bytes_in_schemes_of_floats(scheme: str, options: dict[str, object], least: float) -> None:
    """What begins with a float model makes one of the quantized one first."""
    module = of_bytes()
    made = quantize_at_hub(module, scheme, None if scheme == "dynamic" else samples(), dict(options)).module
    assert decibels(module, made, samples()) > least
    assert all(op.operands[0].quant is None or op.operands[0].quant.storage == I8 for op in made.ops() if op.name == "top.MatMul")


@pytest.mark.parametrize("scheme", ["f16", "bf16"])
def test_what_floats_of_16_bits_lose_of_bytes_is_measured(scheme: str) -> None:
    """Beside the floats that the bytes stand for; and beside the bytes themselves, where a quantizer says no others."""
    module, given = of_bytes(real=False), samples(4)
    made = quantize_at_hub(module, scheme, given, {})
    for before in (made.source, module):
        report = layers_report(before, made.module, given)
        [near] = report.outputs.values()
        both = [[_real(each, transload.run(each, sample)) for sample in given] for each in (before, made.module)]
        truth = 10 * np.log10(np.sum(np.square(both[0])) / np.sum(np.subtract(*both) ** 2))
        if before is module:
            assert near.sqnr == pytest.approx(truth, abs=0.05)
        else:
            assert 35 < near.sqnr < np.inf  # the outputs' own rounding, which both do


def test_what_is_not_measured_is_not_told() -> None:
    g = Graph((4, 16))
    product = g.MatMul(g.inputs[0], g.constant(G.standard_normal((16, 8)).astype(np.float32)))
    module = g.done(product, g.builder.emit("top.Arg", product, mode="ArgMax", axis=1, keepdims=False))
    made = quantize_at_hub(module, "int8", samples(), {})
    report = layers_report(made.source, made.module, samples())
    assert [near.sqnr < 60 for near in report.outputs.values()] == [True]


def _real(module: Module, made: dict[str, np.ndarray]) -> np.ndarray:
    [(array, type_)] = zip(made.values(), module.outputs.values(), strict=True)
    quantized = isinstance(type_.element, QuantType) and array.dtype.kind in "iu"
    return dequantize(array, type_.element) if quantized else array.astype(np.float64)
