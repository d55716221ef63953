"""Ops of the hub hold numbers of one element type; a model that says otherwise is refused before it is lowered."""

from __future__ import annotations

from typing import Any

import pytest

import transload
from transload.errors import ConversionError
from transload.ir import BOOL, F32, I32, I64, DialectType, Op, QuantType, TensorType, Value
from transload.ir.types import I8
from transload.ir.verify import faults_of

from tests.support.tflite_models import read_bytes, write_operator

Q1, Q2 = QuantType(I8, F32, (0.5,), (0,)), QuantType(I8, F32, (0.25,), (3,))


def op_of(name: str, operands: list[Any], results: list[Any], **attributes: Any) -> Op:
    return Op(name, [Value(TensorType((2,), element), None, 0) for element in operands],
              [TensorType((2,), element) for element in results], attributes)


@pytest.mark.parametrize(("name", "operands", "results", "attributes"), [
    ("top.Reshape", [F32], [I32], {"shape": (2,)}),
    ("top.Add", [F32, I32], [F32], {}),
    ("top.Concat", [I32, I64], [I32], {"axis": 0}),
    ("top.ShiftLeft", [I32, I64], [I32], {}),
    ("top.Where", [BOOL, F32, I32], [F32], {}),
    ("top.Gather", [F32, I64], [I64], {"axis": 0}),
    ("top.Sigmoid", [Q1], [F32], {}),
    ("top.MatMul", [I32, I32], [I8], {}), ("top.MatMul", [F32, F32], [I32], {}), ("top.MatMul", [Q1, Q1], [F32], {}),
    ("top.Compare", [F32, I32], [BOOL], {"mode": "Less"}),
    ("top.Cast", [DialectType("tf_type.string")], [F32], {}),
    ("top.Reshape", [DialectType("tf_type.string")], [DialectType("tf_type.string")], {"shape": (2,)}),
])
def test_other_element_types_break_the_declaration(
    name: str, operands: list[Any], results: list[Any], attributes: dict[str, Any],
) -> None:
    faults = faults_of(op_of(name, operands, results, **attributes))
    assert faults is not None and any("of one element type" in fault for fault in faults)


@pytest.mark.parametrize(("name", "operands", "results", "attributes"), [
    ("top.Reshape", [Q1], [Q2], {"shape": (2,)}),
    ("top.Pow", [F32, I32], [F32], {}),
    ("top.MatMul", [I8, I8], [I32], {}), ("top.MatMul", [Q1, Q2], [Q2], {}),
    ("top.Where", [BOOL, F32, F32], [F32], {}),
    ("top.Gather", [F32, I64], [F32], {"axis": 0}),
    ("top.Cast", [F32], [I32], {}),
    ("top.Arg", [F32], [I64], {"axis": 0, "mode": "ArgMax", "keepdims": True}),
])
def test_scales_indices_and_conditions_may_differ(
    name: str, operands: list[Any], results: list[Any], attributes: dict[str, Any],
) -> None:
    assert faults_of(op_of(name, operands, results, **attributes)) is None


def test_a_file_that_contradicts_itself_is_refused_with_the_name_of_its_op() -> None:
    content = write_operator(
        "DEPTH_TO_SPACE", [((1, 2, 2, 4), "float32", None, None)], [((1, 4, 4, 1), "int32", None, None)], {"block_size": 2})
    with pytest.raises(ConversionError, match=r"tfl\.depth_to_space.*'out0'.*become top\.Depth2Space.*f32 and i32") as caught:
        transload.lower(read_bytes(content), "tosa")
    assert caught.value.__cause__ is None  # no defect of a rewrite
