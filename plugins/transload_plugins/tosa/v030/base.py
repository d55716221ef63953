"""What the declarations of TOSA 0.30 share."""

from __future__ import annotations

from typing import Any

from transload.ir import F32, I8, I48, FloatType, Type
from transload.ir.attributes import FloatAttr, IntAttr
from transload.ir.core import Op
from transload.ir.declare import INT, AttributeKind, Dialect, attribute

from ..dialect.base import FLOATS, accumulator_result, storage_of

__all__ = [
    "ANY_ELEMENT", "COMPARABLE", "FLOATS", "INTEGER_ROWS", "NUMBER", "NUMBERS", "TOSA030", "UNCHANGED",
    "accumulated", "lacks_zero_point",
    "one_number", "zero_point",
]

TOSA030 = Dialect(
    "tosa030",
    """Tensor Operator Set Architecture 0.30, with the profiles BI, MI and MT.

    Operands and attributes are the specification's. Weights, biases and tables are operands: constants in BI and
    MI, anything in MT. In text these are the ops that MLIR called `tosa.*` at that time: see `v030.text`.
    """,
    constant="tosa030.const",
)

ANY_ELEMENT = f"i1 i8 i16 i32 {FLOATS}"
COMPARABLE = f"i32 {FLOATS}"
INTEGER_ROWS = "i8 i16 i32"
UNCHANGED = """
    sigmoid tanh add sub arithmetic_right_shift bitwise_and bitwise_or bitwise_xor intdiv logical_and logical_left_shift
    logical_right_shift logical_or logical_xor maximum minimum pow table abs bitwise_not ceil clz exp floor log logical_not
    reciprocal rsqrt select equal greater greater_equal reduce_all reduce_any reduce_max reduce_min reduce_product reduce_sum
    concat reverse transpose gather scatter cast identity fft2d max_pool2d clamp
"""
"""Operators with the same operands and attributes in both versions, NaN modes and error bounds aside."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


NUMBER: AttributeKind[float] = AttributeKind("number or boolean with the type of the tensor's elements", _is_number)
"""`pad_const`: `IntAttr(0, I8)`, `FloatAttr(0.0, F32)`, `False`."""
NUMBERS: AttributeKind[tuple[float, ...]] = AttributeKind(
    "integers, or floats (f32)", lambda v: isinstance(v, tuple) and all(map(_is_number, v)))
"""`stride` and `offset` of resize: a tuple of integers, or `DenseArray(..., F32)`."""


def zero_point(what: str) -> int:
    """Declare a zero point, 0 where it is not given."""
    return attribute(INT, f"zero point of {what}, 0 for other types than i8", default=0)


def lacks_zero_point(op: Op, *pairs: tuple[str, str]) -> bool | str:
    """Whether zero points are 0 but for i8 (the ERROR_IF of most operators): `pairs` name each tensor and its zero point."""
    for name, point in pairs:
        stored = storage_of(op.declaration.getters[name](op))
        value = op.attribute(point)
        if value and stored != I8:
            return f"{point} is {value} for {stored}"
    return True


def accumulated(op: Any) -> Type:
    """What products of the operand's elements are summed to: f32 for bf16; give `element` F32 to sum f16 in f32."""
    stored = storage_of(op.operands[0])
    if str(stored) == "bf16":
        return F32
    if str(stored) == "i16":
        return I48
    return accumulator_result(stored)


def one_number(value: Any, element: Type) -> IntAttr | FloatAttr | bool:
    """A number as an attribute with the type of a tensor's elements."""
    if isinstance(element, FloatType):
        return FloatAttr(float(value), element)
    return bool(value) if str(element) == "i1" else IntAttr(int(value), element)

