"""Resizing that our quantizer made integers of: the same bits in the hub, in TOSA and in LiteRT's reference kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import F32, I8, UI8, Module, QuantType, TensorType
from transload_converters.tflite.runtime import open_model

from tests.support.graphs import Graph

CASES: dict[str, tuple[tuple[int, ...], str, dict[str, Any]]] = {
    "by quotients of sizes": ((1, 3, 7, 5), "NCHW", {"sizes": (14, 15), "scales": (2.0, 3.0), "coord_mode": "half_pixel"}),
    "by thirds": ((1, 3, 6, 6), "NCHW", {"sizes": (8, 4), "scales": (4 / 3, 2 / 3), "coord_mode": "pytorch_half_pixel"}),
    "symmetric": ((1, 6, 9, 2), "NHWC", {"sizes": (4, 12), "coord_mode": "half_pixel_symmetric"}),
    "corners": ((2, 5, 4, 3), "NHWC", {"sizes": (11, 7), "coord_mode": "align_corners"}),
    "rows alone": ((1, 7, 4), "NHWC", {"sizes": (16,), "coord_mode": "half_pixel"}),
    "odd steps of 1/1024": ((1, 6, 7, 6), "NHWC", {"sizes": (12, 14), "coord_mode": "align_corners"}),
    "edges": ((1, 5, 5, 8), "NHWC", {"sizes": (10, 10), "coord_mode": "asymmetric"}),
}


@pytest.mark.parametrize("scheme", ["int8", "int16x8", "uint8"])
@pytest.mark.parametrize("name", CASES)
def test_quantized_resizing_is_the_same_bits_everywhere(name: str, scheme: str, tmp_path: Path) -> None:
    shape, layout, attributes = CASES[name]
    graph = Graph(shape)
    made = graph.done(graph.Interp(graph.inputs[0], mode="linear", layout=layout, **attributes))
    samples = [{"x0": np.random.default_rng(seed).normal(0, 1, shape).astype(np.float32)} for seed in range(6)]
    module = transload.quantize(made, scheme, samples[:4])
    assert any(op.name == "top.Interp" and op.result.quant is not None for op in module.ops())
    tosa = transload.lower(module, "tosa")
    litert = open_model(transload.save(transload.lower(module, "tfl"), tmp_path / "made.tflite"))
    (kind,) = {str(op.operands[0].tensor_type.element) for op in tosa.ops() if op.name == "tosa.resize"}
    assert kind in ("i8", "i16")
    for sample in samples:
        here, there, theirs = (next(iter(outputs.values())) for outputs in (
            transload.run(module, sample, engine="reference"), transload.run(tosa, sample), litert(sample)))
        assert np.array_equal(there, theirs)
        assert np.array_equal(here, there)


@pytest.mark.parametrize("how", [
    {"mode": "linear", "sizes": (13, 9), "scales": (2.3, 1.7), "coord_mode": "asymmetric"}, {"mode": "cubic", "sizes": (12, 12)},
    {"mode": "linear", "sizes": (12, 12), "coord_mode": "tf_half_pixel_for_nn"},
    {"mode": "linear", "sizes": (1, 12), "coord_mode": "pytorch_half_pixel"},
    {"mode": "linear", "sizes": (3, 3), "antialias": True}])
def test_interpolation_without_a_form_in_integers_stays_float_and_is_told(how: dict[str, Any], tmp_path: Path) -> None:
    graph = Graph((1, 6, 6, 4))
    weights = graph.constant(np.random.default_rng(2).normal(0, 0.4, (4, 1, 1, 4)).astype(np.float32))
    resized = graph.Interp(graph.inputs[0], layout="NHWC", location="resized", **how)
    made = graph.done(graph.Conv(resized, weights, kernel_shape=(1, 1), layout="NHWC"))
    samples = [{"x0": np.random.default_rng(seed).normal(0, 1, (1, 6, 6, 4)).astype(np.float32)} for seed in range(6)]
    module = transload.quantize(made, "int8", samples)
    assert module.quantization is not None and module.quantization.floats["resized"] == "top.Interp has no form in integers"
    assert [op.result.quant is None for op in module.ops() if op.name in ("top.Interp", "top.Conv")] == [True, False]
    artifact = transload.convert(made, "tflite", tmp_path, quantize="int8", data=samples, verify=True)
    assert artifact.verification is not None and artifact.verification.passed


@pytest.mark.parametrize("scheme", ["uint8", "int8-asym"])
def test_bytes_between_convolutions_that_are_made_signed_are_resized_to_the_same_bits(scheme: str, tmp_path: Path) -> None:
    graph = Graph((1, 8, 8, 4))
    generator = np.random.default_rng(1)
    value = graph.inputs[0]
    for resized in (False, True):
        filters = generator.normal(0, 0.4, (4, 1, 1, 4)).astype(np.float32)
        value = graph.Conv(value, graph.constant(filters), kernel_shape=(1, 1), layout="NHWC")
        if not resized:
            value = graph.Interp(value, mode="linear", layout="NHWC", sizes=(16, 16), coord_mode="half_pixel")
    samples = [{"x0": generator.normal(0, 1, (1, 8, 8, 4)).astype(np.float32)} for _ in range(6)]
    artifact = transload.convert(graph.done(value), "tflite", tmp_path, quantize=scheme, data=samples, verify=True)
    assert artifact.verification is not None and artifact.verification.passed
    assert all(tensor.metrics["max_abs"] == 0 for tensor in artifact.verification.tensors)


def test_bytes_whose_places_are_exact_are_left_to_the_kernel_of_unsigned_ones(tmp_path: Path) -> None:
    module = _resized("once")
    lowered = transload.lower(module, "tfl")
    (operator,) = (op for op in lowered.ops() if op.name == "tfl.resize_bilinear")
    assert operator.operands[0].stored_element == UI8
    assert [op.attribute("rounding") for op in _read_again(lowered, tmp_path).ops() if op.name == "top.Interp"] == ["once"]
    of_signed = transload.lower(_resized("double"), "tfl")
    assert [op.operands[0].stored_element for op in of_signed.ops() if op.name == "tfl.resize_bilinear"] == [I8]


def _resized(rounding: str) -> Module:
    graph = Graph(TensorType((1, 4, 5, 2), QuantType(UI8, F32, (0.5,), (100,))))
    places = {"sizes": (6, 6), "coord_mode": "asymmetric"}
    return graph.done(graph.Interp(graph.inputs[0], mode="linear", layout="NHWC", rounding=rounding, **places))


def _read_again(lowered: Module, folder: Path) -> Module:
    return transload.lower(transload.load(transload.save(lowered, folder / "made.tflite")), "top")


def test_what_no_kernel_computes_is_named_as_it_is_typed() -> None:
    graph = Graph(TensorType((1, 4, 5, 2), QuantType(UI8, F32, (0.5,), (100,))))
    made = graph.Interp(
        graph.inputs[0], mode="linear", layout="NHWC", rounding="once", sizes=(6, 6), coord_mode="asymmetric",
        element=QuantType(UI8, F32, (0.4,), (90,)), location="up\n2 x")
    with pytest.raises(ConversionError) as caught:
        transload.lower(graph.done(made), "tfl")
    assert "`--floats $'up\\n2 x'` keeps the op in floats" in str(caught.value)
