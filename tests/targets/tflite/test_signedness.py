"""Unsigned bytes beside signed ones, which no kernel of LiteRT takes: signed throughout, and the same integers come out."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError, Finding
from transload.ir import F32, I4, I8, UI8, Dense, IntegerType, Module, QuantType, TensorType, Value, dtype_of
from transload_converters.tflite.legalize import checks
from transload_converters.tflite.runtime import open_model

from tests.support.graphs import Graph

BYTES = QuantType(UI8, F32, (0.05,), (117,))
RESULT = QuantType(UI8, F32, (0.25,), (131,))
SIGNED = QuantType(I8, F32, (0.02, 0.03, 0.01, 0.04), (0, 0, 0, 0), 0)
"""Weights as onnxruntime's quantizer makes them beside unsigned activations."""
UNSIGNED = QuantType(UI8, F32, (0.02, 0.03, 0.01, 0.04), (128, 128, 128, 128), 0)
WINDOW = {"kernel_shape": (3, 3), "layout": "NHWC", "pads": (1, 1, 1, 1)}


def graph_of(kind: QuantType = BYTES) -> Graph:
    return Graph(TensorType((1, 5, 6, 3), kind))


def filters(graph: Graph, kind: QuantType) -> Value:
    stored = np.random.default_rng(1).integers(*kind.storage.range, (4, 3, 3, 3), endpoint=True)
    return graph.builder.constant(Dense(stored.astype(np.int8 if kind.storage == I8 else np.uint8)), element=kind)


def given(module: Module) -> dict[str, np.ndarray]:
    (type_,) = module.inputs.values()
    return {"x0": np.random.default_rng(2).integers(0, 255, type_.static_shape, endpoint=True).astype(np.uint8)}


def check_same_bits(module: Module, folder: Path, **options: Any) -> Module:
    """The lowered module, after LiteRT gave the hub's integers for it."""
    lowered = transload.lower(module, "tfl", **options)
    inputs = given(module)
    wanted = transload.run(module, inputs, engine="reference")
    theirs = open_model(transload.save(lowered, folder / "made.tflite"))(inputs)
    assert {name: array.dtype for name, array in theirs.items()} == {name: array.dtype for name, array in wanted.items()}
    for name, array in wanted.items():
        assert len(np.unique(array)) > 20  # it says something
        np.testing.assert_array_equal(theirs[name], array)
    return lowered


@pytest.mark.parametrize("kind", [SIGNED, UNSIGNED], ids=["signed", "unsigned by channel"])
def test_products_of_unsigned_activations_are_those_of_signed_ones(kind: QuantType, tmp_path: Path) -> None:
    graph = graph_of()
    made = graph.Conv(graph.inputs[0], filters(graph, kind), element=RESULT, **WINDOW)
    lowered = check_same_bits(graph.done(made), tmp_path)
    (conv,) = (op for op in lowered.ops() if op.name == "tfl.conv_2d")
    assert {conv.operands[0].stored_element, conv.operands[1].stored_element, conv.results[0].stored_element} == {I8}
    assert [type_.element for type_ in (*lowered.inputs.values(), *lowered.outputs.values())] == [BYTES, RESULT]  # type: ignore[union-attr]


@pytest.mark.parametrize("point", [0, 5])
@pytest.mark.parametrize("axis", [None, 0], ids=["one scale", "by channel"])
@pytest.mark.parametrize("storage", [UI8, I4, IntegerType(4, "u")], ids=str)
@pytest.mark.parametrize("product", ["layer", "convolution"])
def test_weights_of_any_zero_point_that_fit_signed_bytes(
    product: str, storage: IntegerType, axis: int | None, point: int, tmp_path: Path,
) -> None:
    """LiteRT's kernels leave zero points of signed weights out, and take none of 4 bits beside unsigned bytes."""
    kind = QuantType(storage, F32, (0.02, 0.03, 0.01, 0.04) if axis == 0 else (0.02,), (point,) * (4 if axis == 0 else 1), axis)
    stored = np.random.default_rng(1).integers(storage.range[0], min(storage.range[1], 120), (4, 3, 3, 3), endpoint=True)
    if product == "layer":
        graph = Graph(TensorType((30, 27), BYTES))
        weights = graph.builder.constant(Dense(stored.reshape(4, 27).astype(dtype_of(storage))), element=kind)
        made = graph.MatMul(graph.inputs[0], weights, right_transpose=True, element=RESULT)
    else:
        graph = graph_of()
        weights = graph.builder.constant(Dense(stored.astype(dtype_of(storage))), element=kind)
        made = graph.Conv(graph.inputs[0], weights, element=RESULT, **WINDOW)
    check_same_bits(graph.done(made), tmp_path)


@pytest.mark.parametrize("product", ["layer", "convolution"])
def test_weights_that_fit_no_signed_bytes_are_refused(product: str) -> None:
    """A layer's were written, and lost their zero points: the check of files that are read said that the file is damaged."""
    graph = Graph(TensorType((2, 3), BYTES)) if product == "layer" else graph_of()
    kind = QuantType(UI8, F32, (0.02, 0.03), (0, 0), 0)
    stored = np.full((2, 3) if product == "layer" else (2, 1, 1, 3), 200, np.uint8)
    weights = graph.builder.constant(Dense(stored), element=kind)
    made = graph.MatMul(graph.inputs[0], weights, right_transpose=True, element=RESULT) if product == "layer" else graph.Conv(
        graph.inputs[0], weights, element=RESULT, kernel_shape=(1, 1), layout="NHWC")
    with pytest.raises(ConversionError, match="zero points other than 0, which kernels of signed bytes leave out"):
        transload.lower(graph.done(made), "tfl")


def test_what_a_lowering_makes_is_checked_as_files_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_findings", lambda op, given, hint: iter([Finding(op.name, "no kernel does so", (), hint)]))
    graph = graph_of()
    with pytest.raises(ConversionError, match="LiteRT's kernels would compute something else"):
        transload.lower(graph.done(graph.Abs(graph.inputs[0], element=RESULT)), "tfl")


def test_all_of_a_network_is_signed_then(tmp_path: Path) -> None:
    graph = graph_of()
    made = graph.Conv(graph.inputs[0], filters(graph, SIGNED), element=RESULT, **WINDOW)
    made = graph.Add(made, made, element=RESULT.replace(scales=(0.5,)))
    made = graph.MaxPool(made, kernel_shape=(2, 2), strides=(1, 1), layout="NHWC", element=made.element)
    table = graph.Abs(made, element=QuantType(UI8, F32, (0.3,), (3,)))
    lowered = check_same_bits(graph.done(made, table), tmp_path)
    inner = [op for op in lowered.ops() if op.dialect == "tfl" and op.name != "tfl.quantize"]
    assert not [op for op in inner for value in op.results if value.is_quantized and value.stored_element == UI8]
    assert sum(op.name == "tfl.quantize" for op in lowered.ops()) == 3  # at the borders, nowhere else


def test_bits_that_are_looked_at_are_those_that_were_there(tmp_path: Path) -> None:
    graph = graph_of()
    made = graph.Conv(graph.inputs[0], filters(graph, SIGNED), element=RESULT, **WINDOW)
    bits = graph.BitwiseXor(graph.Bitcast(made, element=UI8), np.full((1, 1, 1, 1), 3, np.uint8))
    back = graph.Bitcast(bits, element=BYTES)
    again = graph.Add(back, back, element=RESULT)
    check_same_bits(graph.done(bits, back, again), tmp_path)


def test_a_network_of_unsigned_bytes_alone_stays_one(tmp_path: Path) -> None:
    kind = QuantType(UI8, F32, (0.02,), (119,))
    graph = graph_of()
    lowered = check_same_bits(graph.done(graph.Conv(graph.inputs[0], filters(graph, kind), element=RESULT, **WINDOW)), tmp_path)
    (conv,) = (op for op in lowered.ops() if op.name == "tfl.conv_2d")
    assert [value.stored_element for value in (*conv.operands[:2], *conv.results)] == [UI8] * 3
    assert all(op.name != "tfl.quantize" for op in lowered.ops())


@pytest.mark.skipif(importlib.util.find_spec("tflite_micro") is None, reason="install transload[tflm]")
def test_tflite_micro_which_has_signed_bytes_alone_gets_them(tmp_path: Path) -> None:
    kind = QuantType(UI8, F32, (0.02,), (128,))
    graph = graph_of()
    made = graph.Conv(graph.inputs[0], filters(graph, kind), element=RESULT, **WINDOW)
    lowered = transload.lower(graph.done(made), "tfl")
    path = transload.save(lowered, tmp_path / "unsigned.tflite")
    artifact = transload.convert(path, "tflm", tmp_path / "made")
    assert artifact.verification is not None
    assert artifact.verification.status == "passed"
    assert artifact.verification.tensors[0].metrics["max_abs"] == 0
    assert {str(op.operands[1].stored_element) for op in artifact.module.ops() if op.name == "tfl.conv_2d"} == {"i8"}
    assert [type_.element.storage for type_ in artifact.module.inputs.values()] == [UI8]  # type: ignore[union-attr]


@pytest.mark.parametrize("mode", ["means", "places"])
def test_what_rounds_by_the_sign_of_stored_numbers_stays_unsigned(mode: str, tmp_path: Path) -> None:
    graph = graph_of()
    value = graph.inputs[0]
    if mode == "means":
        value = graph.AvgPool(value, kernel_shape=(2, 2), layout="NHWC", element=BYTES)
    else:
        value = graph.Interp(value, mode="linear", sizes=(10, 12), coord_mode="asymmetric", layout="NHWC", rounding="once")
    made = graph.Conv(value, filters(graph, SIGNED), element=RESULT, **WINDOW)
    lowered = check_same_bits(graph.done(made), tmp_path)
    name = "tfl.average_pool_2d" if mode == "means" else "tfl.resize_bilinear"
    assert [op.operands[0].stored_element for op in lowered.ops() if op.name in (name, "tfl.conv_2d")] == [UI8, I8]


@pytest.mark.parametrize("how", [{"right_transpose": True}, {"left_transpose": True}, {"right_transpose": True, "do_relu": True}])
def test_products_of_computed_matrices_are_those_of_signed_ones(how: dict[str, Any], tmp_path: Path) -> None:
    """As of attention: LiteRT's BATCH_MATMUL takes no unsigned bytes."""
    graph = graph_of()
    other = graph.Relu(graph.inputs[0], element=BYTES)
    made = graph.MatMul(graph.inputs[0], other, element=QuantType(UI8, F32, (1.0,), (90,)), rounding="double", **how)
    lowered = check_same_bits(graph.done(made), tmp_path)
    (product,) = (op for op in lowered.ops() if op.name == "tfl.batch_matmul")
    assert {value.stored_element for value in (*product.operands, *product.results)} == {I8}
