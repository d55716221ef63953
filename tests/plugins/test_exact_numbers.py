"""Numbers of attributes in text have the type that a dialect declares, as the tools have it whose dialect it is."""

from __future__ import annotations

from pathlib import Path

import pytest

import transload
from transload.errors import ReadError
from transload.ir.attributes import DenseArray, IntAttr
from transload.ir.types import I32, I64
from transload.ir.verify import check
from transload.text import parse_module, print_module

TRANSPOSE = """
"func.func"() <{function_type = (tensor<5x3xf32>) -> tensor<3x5xf32>, sym_name = "main"}> ({
^bb0(%a: tensor<5x3xf32>):
  %r = "stablehlo.transpose"(%a) <{permutation = WRITTEN}> : (tensor<5x3xf32>) -> tensor<3x5xf32>
  "func.return"(%r) : (tensor<3x5xf32>) -> ()
}) : () -> ()
"""
CALL = """
"func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
^bb0(%a: tensor<2xf32>):
  %r = "stablehlo.custom_call"(%a) <{api_version = WRITTEN, call_target_name = "f"}> : (tensor<2xf32>) -> tensor<2xf32>
  "func.return"(%r) : (tensor<2xf32>) -> ()
}) : () -> ()
"""
SIZE = """
"func.func"() <{function_type = (tensor<2xf32>) -> tensor<i32>, sym_name = "main"}> ({
^bb0(%a: tensor<2xf32>):
  %r = "stablehlo.get_dimension_size"(%a) <{dimension = WRITTEN}> : (tensor<2xf32>) -> tensor<i32>
  "func.return"(%r) : (tensor<i32>) -> ()
}) : () -> ()
"""
REVERSE = """
"func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
^bb0(%a: tensor<2xf32>):
  %r = "tosa.reverse"(%a) <{axis = WRITTEN}> : (tensor<2xf32>) -> tensor<2xf32>
  "func.return"(%r) : (tensor<2xf32>) -> ()
}) : () -> ()
"""
POOL = """
"func.func"() <{function_type = (tensor<1x4x4x2xf32>) -> tensor<1x2x2x2xf32>, sym_name = "main"}> ({
^bb0(%a: tensor<1x4x4x2xf32>):
  %r = "tosa.max_pool2d"(%a) <{kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = WRITTEN}>
      : (tensor<1x4x4x2xf32>) -> tensor<1x2x2x2xf32>
  "func.return"(%r) : (tensor<1x2x2x2xf32>) -> ()
}) : () -> ()
"""
CASES = [
    (TRANSPOSE, "array<i64: 1, 0>", "array<i32: 1, 0>", "stablehlo.transpose: attribute 'permutation' must be integers (i64)"),
    (TRANSPOSE, "dense<[1, 0]> : tensor<2xi64>", "array<i1: 1, 0>", "must be integers (i64)"),
    (CALL, "1 : i32", "1 : i64", "attribute 'api_version' must be integer (i32), 0 to 4, and is of type i64"),
    (SIZE, "0 : i64", "0 : i8", "attribute 'dimension' must be integer (i64), and is of type i8"),
    (REVERSE, "0 : i32", "0 : i64", "tosa.reverse: attribute 'axis' must be integer (i32), and is of type i64"),
    (POOL, "array<i64: 2, 2>", "array<i32: 2, 2>", "attribute 'stride' must be integers (i64), and is of type i32"),
]


@pytest.mark.parametrize(("text", "right", "wrong", "said"), CASES)
def test_a_number_of_another_type_is_refused(text: str, right: str, wrong: str, said: str) -> None:
    module = transload.load(text=text.replace("WRITTEN", right), format="mlir")
    assert print_module(parse_module(print_module(module))) == print_module(module)
    with pytest.raises(ReadError) as refused:
        transload.load(text=text.replace("WRITTEN", wrong), format="mlir")
    assert said in str(refused.value)


def test_numbers_in_memory_say_their_type_or_none() -> None:
    module = transload.load(text=TRANSPOSE.replace("WRITTEN", "array<i64: 1, 0>"), format="mlir")
    op = next(op for op in module.ops() if op.name == "stablehlo.transpose")
    for value, right in (((1, 0), True), (DenseArray((1, 0), I64), True), (DenseArray((1, 0), I32), False)):
        op.attributes["permutation"] = value
        assert (check(module) == []) == right
    module = transload.load(text=REVERSE.replace("WRITTEN", "0 : i32"), format="mlir")
    op = next(op for op in module.ops() if op.name == "tosa.reverse")
    for number, right in ((0, True), (IntAttr(0, I32), True), (IntAttr(0, I64), False)):
        op.attributes["axis"] = number
        assert (check(module) == []) == right


def test_tosa_030_has_axes_as_mlir_15_wrote_them_and_lists_of_i64_alone() -> None:
    old = "// TOSA 0.30\n"
    read = transload.load(text=old + REVERSE.replace("WRITTEN", "0 : i64"), format="tosa-0.30")
    assert next(op for op in read.ops() if op.name == "tosa030.reverse").axis == 0
    with pytest.raises(ReadError, match=r"attribute 'stride' must be integers \(i64\), and is of type i32"):
        transload.load(text=old + POOL.replace("WRITTEN", "array<i32: 2, 2>"), format="tosa-0.30")


RESCALE = """
"func.func"() <{function_type = (tensor<1x4xi8>) -> tensor<1x4xi8>, sym_name = "main"}> ({
^bb0(%a: tensor<1x4xi8>):
  %r = "tosa.rescale"(%a) <{double_round = true, input_zp = 0 : i32, multiplier = MULTIPLIER, output_zp = 0 : i32,
      per_channel = false, scale32 = true, shift = SHIFT}> : (tensor<1x4xi8>) -> tensor<1x4xi8>
  "func.return"(%r) : (tensor<1x4xi8>) -> ()
}) : () -> ()
"""


@pytest.mark.parametrize(("multiplier", "shift"), [
    ("[1073741824 : i32]", "[30 : i32]"), ("array<i32: 1073741824>", "array<i32: 30>"),
    ("array<i32: 1073741824>", "array<i8: 30>")])
def test_rescale_of_tosa_030_has_lists_as_each_mlir_wrote_them(multiplier: str, shift: str) -> None:
    text = RESCALE.replace("MULTIPLIER", multiplier).replace("SHIFT", shift)
    read = transload.load(text=text, format="tosa-0.30")
    op = next(op for op in read.ops() if op.name == "tosa030.rescale")
    assert (op.multiplier, op.shift) == ((1073741824,), (30,))
    with pytest.raises(ReadError, match=r"attribute 'shift' must be integers \(i64\), and is of type i16"):
        transload.load(text=text.replace(shift, "array<i16: 30>"), format="tosa-0.30")


def test_an_axis_of_i64_makes_text_one_of_tosa_030(tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(REVERSE.replace("WRITTEN", "0 : i64"))
    assert transload.load(path).source_format == "tosa-0.30"
    path.write_text(REVERSE.replace("WRITTEN", "0 : i32"))
    assert transload.load(path).source_format == "mlir"
