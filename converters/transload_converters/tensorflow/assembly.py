"""How ops of `tf` are written on TensorFlow's page about its MLIR dialects: `tf.Add %a, %b : tensor<*xf32>`.

TensorFlow's own tools print ops of `tf` in the generic form. Text of theirs has constants of `arith` among them, too.
"""

from __future__ import annotations

import re
from typing import Any

from transload.facts import FactTable
from transload.ir import F64, I64, Dense, FloatAttr, IntAttr, Op, TensorType, Type, Value
from transload.ir.constants import dtype_of
from transload.text.assembly import AssemblyParser, Written

__all__ = ["ARITH_FORMS", "DEVICE_FORMS", "FORMS"]

FORMS, ARITH_FORMS, DEVICE_FORMS = FactTable("tf"), FactTable("arith"), FactTable("tf_device")

_number = re.compile(r"-?\d+(?:\.\d*(?:[eE][-+]?\d+)?)?")


@FORMS("tf.*")
def operation(parser: AssemblyParser, name: str) -> Written:
    """`tf.Add %a, -1 {...} : (type, type) -> type`, or behind the colon one type, which all operands and results have."""
    given: list[Value | str] = []
    while parser.peek() not in (":", "{"):
        literal = parser.try_match(_number)
        given.append(parser.take_use() if literal is None else literal)
        if not parser.try_take(","):
            break
    attributes = parser.take_attributes(name)
    parser.take(":", "before the types")
    inputs: list[Type] | tuple[Type, ...]
    if parser.peek() == "(":
        inputs, outputs = parser.take_signature()
    else:
        type_ = parser.take_type()
        inputs, outputs = [type_] * len(given), (type_,)
    if len(given) != len(inputs):
        parser.error(f"{name} has {len(given)} operands and {len(inputs)} types for them")
    values = [
        _constant(parser, each, inputs[place]) if isinstance(each, str) else each
        for place, each in enumerate(given)]
    parser.expect_types(values, inputs, name)
    return Written(values, outputs, attributes)


def _constant(parser: AssemblyParser, literal: str, type_: Type) -> Value:
    """A number in an operand's place, as a constant of the operand's type."""
    return parser.insert(Op("tf.Const", (), [type_], {"value": _scalar(parser, float(literal), type_)})).result


def _scalar(parser: AssemblyParser, number: float, type_: Type) -> Dense:
    import numpy as np

    element, sizes = (type_.element, type_.shape or ()) if isinstance(type_, TensorType) else (type_, ())
    shape = tuple(size or 1 for size in sizes)
    try:
        return Dense(np.full(shape, number).astype(dtype_of(element)), TensorType(shape, element))
    except (ValueError, OverflowError):
        parser.error(f"a number cannot be of type {type_}")


@ARITH_FORMS("constant")
def constant(parser: AssemblyParser, name: str) -> Written:
    """`arith.constant dense<1.0> : tensor<2xf32>`, which is read as the `tf.Const` that it is."""
    parser.take_attributes(name)
    value: Any = parser.take_attribute()
    if isinstance(value, Dense):
        return Written((), [value.type], {"value": value}, name="tf.Const")
    type_: Type = value.type if isinstance(value, IntAttr | FloatAttr) else F64 if isinstance(value, float) else I64
    if not isinstance(value, int | float | IntAttr | FloatAttr) or isinstance(value, bool):
        parser.error(f"{name} holds neither a number nor a tensor of numbers")
    return Written((), [type_], {"value": _scalar(parser, float(value), type_)}, name="tf.Const")


@DEVICE_FORMS("return")
def leave(parser: AssemblyParser, name: str) -> Written:
    """`tf_device.return %a : type`."""
    values = parser.take_uses()
    if values:
        parser.take(":", "before the types")
        parser.expect_types(values, parser.take_types(), name)
    return Written(values, (), parser.take_attributes(name))
