"""Which ops of `top` round nothing where their operands are exact: facts of kind "exact" (`transload.verification.exact`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transload.facts import FactTable
from transload.ir import BF16, F16, F32, FloatType, IntegerType, Op, Value

if TYPE_CHECKING:
    from ..ops.cast import Cast
    from ..ops.reduce import Reduce

__all__ = ["EXACT"]

EXACT = FactTable("top")
_NARROW = 16
"""Bits of integers that all floats of 32 bits hold."""


def of_integers(op: Op) -> bool:
    """Whether the op computes integers of integers, which wrap round."""
    return all(value.is_integer for value in (*op.operands, *op.results) if value.element_or_none is not None)


def _is_held(value: Value) -> bool:
    """Whether every target holds a number as it is: some compute floats of 64 bits in 32."""
    return value.is_integer or value.is_bool or value.element_or_none in (F32, F16, BF16)


def of_held(op: Op) -> bool:
    """Whether all targets hold the operands as they are."""
    return all(_is_held(value) for value in op.operands)


def whole_constant(op: Op) -> bool:
    """Whether it computes integers with a whole number."""
    return of_integers(op) and float(op.attribute("const_val")).is_integer()


EXACT.add(
    of_integers, "Add", "Sub", "Mul", "Div", "FloorDiv", "FloorMod", "TruncMod", "SquaredDifference", "Square", "ShiftLeft",
    "ShiftRight", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "CumSum", "MatMul", "Einsum", "Conv", "Arg", "ScatterND",
    "ScatterElements")
EXACT.add(whole_constant, "AddConst", "MulConst")
EXACT.add(of_held, "Compare", "Neg", "Abs", "Sign", "Floor", "Ceil", "NonZero")
EXACT.add(True, "LogicalAnd", "LogicalOr", "LogicalXor", "LogicalNot", "Shape", "EyeLike")


@EXACT("Reduce")
def reduced(op: Reduce) -> bool:
    """Sums, products and sizes of integers, and of truths all and any."""
    return op.mode in ("ReduceAll", "ReduceAny") or (
        of_integers(op) and op.mode in ("ReduceSum", "ReduceProd", "ReduceL1", "ReduceSumSquare"))


@EXACT("Cast")
def cast(op: Cast) -> bool:
    """To integers, cut off, and to floats that hold every number."""
    before, after = op.input.element, op.output.element
    if isinstance(after, IntegerType):
        return of_held(op) and (not op.input.is_float or op.round_mode == "Trunc")
    if isinstance(before, IntegerType):
        return after == F32 and before.width <= _NARROW
    return after == before or (isinstance(before, FloatType) and before in (F16, BF16) and after == F32)
