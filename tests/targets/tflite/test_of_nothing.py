"""What LiteRT would not write, or has no type for, is no part of the files that are written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import F32, I8, UI8, FloatType, QuantType, dtype_of
from transload.testing import build_op
from transload_converters.tflite.runtime import open_model

from tests.support.graphs import Graph

F8 = FloatType("f8E5M2")


@pytest.mark.parametrize("element", [QuantType(UI8, F32, (0.5,), (7,)), QuantType(I8, F32, (0.5,), (-3,))])
def test_a_sum_of_no_integers_is_a_constant(element: QuantType, tmp_path: Path) -> None:
    graph = Graph((2, 0, 4))
    held = graph.builder.emit("top.Cast", graph.inputs[0], element=element)
    module = graph.done(graph.Reduce(held, axes=(1,), mode="ReduceSum", keepdims=True, element=element))
    given = {"x0": np.zeros((2, 0, 4), np.float32)}
    file = transload.save(transload.lower(module, "tfl"), tmp_path / "made.tflite")
    (theirs,) = open_model(file)(given).values()
    assert np.array_equal(theirs, np.full((2, 1, 4), element.zero_point, theirs.dtype))
    assert [op.name for op in transload.lower(module, "tfl").ops() if op.name == "tfl.sum"] == []


@pytest.mark.parametrize(("mode", "wanted"), [("ReduceMax", -np.inf), ("ReduceMin", np.inf), ("ReduceSum", 0), ("ReduceProd", 1)])
def test_an_extreme_of_no_floats_is_infinite(mode: str, wanted: float, tmp_path: Path) -> None:
    """LiteRT's kernels begin at the ends of what is finite."""
    given = np.zeros((2, 0, 4), np.float32)
    module = build_op("top.Reduce", given, axes=(1,), mode=mode)
    (ours,) = transload.run(module, {"x0": given}).values()
    file = transload.save(transload.lower(module, "tfl"), tmp_path / "made.tflite")
    (theirs,) = open_model(file)({"x0": given}).values()
    assert np.array_equal(ours, theirs) and np.array_equal(theirs, np.full((2, 1, 4), wanted, np.float32))


@pytest.mark.parametrize(("mode", "wanted"), [("ReduceMax", -128), ("ReduceMin", 127)])
def test_an_extreme_of_no_integers_is_an_end_of_their_type(mode: str, wanted: int, tmp_path: Path) -> None:
    given = np.zeros((2, 0, 4), np.int8)
    module = build_op("top.Reduce", given, axes=(1,), mode=mode)
    file = transload.save(transload.lower(module, "tfl"), tmp_path / "made.tflite")
    (theirs,) = open_model(file)({"x0": given}).values()
    assert np.array_equal(theirs, np.full((2, 1, 4), wanted, np.int8))


def test_a_constant_of_floats_of_8_bits_is_no_output_of_tflite(tmp_path: Path) -> None:
    graph = Graph((3,))
    constant = graph.builder.constant(np.array([1.0, 2.0, 3.0]).astype(dtype_of(F8)), element=F8)
    module = graph.done(graph.Relu(graph.inputs[0]), constant)
    with pytest.raises(ConversionError, match="TFLite has no such type"):
        transload.lower(module, "tfl")


def test_what_has_no_elements_is_joined_to_the_size_that_the_model_says() -> None:
    """Whatever has a size of 0 was left out, along another dimension as well."""
    kind, joined = "tensor<2x0xf32>", "tensor<4x0xf32>"
    module = transload.load(format="mlir", text=(
        f'func.func @main(%x: {kind}) -> {joined} {{\n'
        f'%a = "top.Concat"(%x, %x) <{{axis = 0 : i64}}> : ({kind}, {kind}) -> {joined}\n'
        f"return %a : {joined}\n}}"))
    assert [str(type_) for type_ in transload.lower(module, "tfl").outputs.values()] == [joined]
