"""What fuzzing found, by class, in the smallest file that shows it: every one ends in an error of ours with the op's name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the package 'onnx' is not installed")

import transload
from transload.errors import ConversionError, ReadError, RunError
from transload.ir import F32, I8, QuantType, TensorType
from transload.text import parse_module
from transload.verification.inputs import random_inputs

from tests.support.graphs import Graph
from tests.support.onnx_models import make_model, node, read_model
from tests.support.tflite_models import read_bytes, write_operator

X = np.zeros((2, 3), np.float32)


def refused(content: bytes, why: str, to: str = "tosa") -> None:
    with pytest.raises(ConversionError, match=why) as caught:
        transload.lower(read_bytes(content), to)
    assert caught.value.__cause__ is None  # no rewrite failed


@pytest.mark.parametrize(("nodes", "inputs", "why"), [
    (node("Gemm", ["x", "v"], ["y"]), {"x": X, "v": np.zeros(3, np.float32)}, "no matrix"),
    (node("Split", ["x"], ["y"], num_outputs=2**40), {"x": X}, "into 1099511627776 parts for 1 outputs"),
])
def test_onnx(nodes: Any, inputs: dict[str, np.ndarray], why: str) -> None:
    try:
        module = read_model(make_model([nodes], inputs, ["y"]))
    except ReadError:
        return  # ONNX's own inference said it
    with pytest.raises(ConversionError, match=why):
        transload.lower(module, "tosa")


def test_any_of_floats() -> None:
    axes = ((1,), "int32", np.array([0], np.int32))
    content = write_operator("REDUCE_ANY", [((2, 3), "float32", None, None), (*axes, None)], [((3,), "float32", None, None)])
    refused(content, "ReduceAll and ReduceAny take i1")


def test_a_transform_of_no_numbers() -> None:
    lengths = ((2,), "int32", np.array([0, 0], np.int32), None)
    content = write_operator("RFFT2D", [((4, 4), "float32", None, None), lengths], [((4, 3), "complex64", None, None)])
    refused(content, "transform of no numbers|complex")


def test_a_scale_that_is_zero() -> None:
    source, target = QuantType(I8, F32, (0.5,), (0,)), QuantType(I8, F32, (0.0,), (0,))
    g = Graph(TensorType((1, 2, 2, 1), source))
    made = g.builder.emit("top.MaxPool", g.inputs[0], kernel_shape=(1, 1), do_relu=True, relu_limit=6.0, element=target)
    with pytest.raises(ConversionError, match=r"no number of a type of scale 0"):
        transload.lower(g.done(made), "tosa")


def test_a_softmax_of_nothing() -> None:
    element = QuantType(I8, F32, (0.5,), (0,))
    unit = QuantType(I8, F32, (1 / 256,), (-128,))
    g = Graph(TensorType((2, 0), element))
    transload.lower(g.done(g.builder.emit("top.Softmax", g.inputs[0], axis=1, element=unit)), "stablehlo")


def test_inputs_without_sizes_are_not_made_up() -> None:
    text = """"builtin.module"() ({
      "func.func"() ({
      ^bb0(%x: tensor<?xf32>):
        "func.return"(%x) : (tensor<?xf32>) -> ()
      }) {function_type = (tensor<?xf32>) -> tensor<?xf32>, sym_name = "main"} : () -> ()
    }) : () -> ()"""
    with pytest.raises(RunError, match="no static shape"):
        random_inputs(parse_module(text))


def test_text_whose_shapes_do_not_follow() -> None:
    text = """"builtin.module"() ({
      "func.func"() ({
      ^bb0(%x: tensor<2x3xf32>):
        %y = "top.Permute"(%x) {order = array<i64: OIO>} : (tensor<2x3xf32>) -> tensor<SHAPExf32>
        "func.return"(%y) : (tensor<SHAPExf32>) -> ()
      }) {function_type = (tensor<2x3xf32>) -> tensor<SHAPExf32>, sym_name = "main"} : () -> ()
    }) : () -> ()"""
    good = text.replace("OIO", "1, 0").replace("SHAPE", "3x2")
    transload.load(text=good, format="mlir")
    for order, shape, why in (("2, 0", "3x2", "axis 2"), ("1, 0", "2x3", "has to be tensor<3x2xf32>")):
        with pytest.raises(ReadError, match=why):
            transload.load(text=text.replace("OIO", order).replace("SHAPE", shape), format="mlir")


def test_a_table_for_resizing_is_not_made_without_end() -> None:
    size = ((2,), "int32", np.array([1 << 28, 4], np.int32), None)
    given, made = [((1, 5, 4, 1), "bool", None, None), size], [((1,), "bool", None, None)]
    content = write_operator("RESIZE_NEAREST_NEIGHBOR", given, made, {"align_corners": True})
    refused(content, "would take a table of more than")


def test_nothing_computes_quantized_numbers_of_64_bits() -> None:
    places = ((1,), "int32", np.array([0], np.int32), None)
    counts = ((1,), "int32", np.array([2], np.int32), None)
    content = write_operator(
        "SLICE", [((4,), "int8", None, ([0.5], [0], 0)), places, counts], [((2,), "int64", None, ([0.5], [0], 0))])
    refused(content, "quantized numbers of 64 bits")
