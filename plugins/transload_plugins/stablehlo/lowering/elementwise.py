"""Arithmetic, comparison and logic of several operands, element by element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from transload.ir import F64, Op, Type, Value
from transload.ir.build import Builder, constant_of
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.tables import distinct

from .. import build
from ..build import binary, compare, select
from .common import finish, promoted, widened

if TYPE_CHECKING:
    from transload_hub.ops.activation import Clip
    from transload_hub.ops.elementwise import (
        Add,
        AddConst,
        Atan2,
        BitwiseNot,
        Compare,
        Div,
        FloorDiv,
        FloorMod,
        LogicalNot,
        Max,
        Min,
        Mul,
        MulConst,
        Pow,
        Scale,
        ShiftLeft,
        ShiftRight,
        SquaredDifference,
        Sub,
        TruncMod,
        UnaryNumber,
        Where,
    )

__all__ = ["TABLE", "floor_mod", "truncated_quotient"]

TABLE = RewriteTable()


def _joined(rw: Builder, name: str, values: Sequence[Value]) -> Value:
    return reduce(lambda a, b: binary(rw, name, a, b), values)


@TABLE("top.Add")
def add(op: Add, rw: Rewriter) -> Value:
    """The sum, each operand times its coefficient."""
    terms = promoted(rw, *op.inputs)
    if op.coeff is not None:
        terms = [x if factor == 1.0 else times(rw, x, factor) for x, factor in zip(terms, op.coeff, strict=True)]
    return finish(rw, op, _joined(rw, "add", terms))


def times(rw: Builder, x: Value, factor: float) -> Value:
    """`x * factor`; a whole factor of integers stays exact, a product with another one is cut off."""
    if x.is_float or float(factor).is_integer():
        return binary(rw, "multiply", x, factor if x.is_float else _wrapped(int(factor), x.element))
    return build.convert(rw, binary(rw, "multiply", build.convert(rw, x, F64), factor), x.element)


def _wrapped(number: int, element: Type) -> int:
    """An integer modulo the range of a type."""
    low, high = element.range  # type: ignore[attr-defined]
    return (number - low) % (high - low + 1) + low


@TABLE("top.Sub")
def sub(op: Sub, rw: Rewriter) -> Value:
    return finish(rw, op, _joined(rw, "subtract", promoted(rw, *op.inputs)))


@TABLE("top.Mul")
def mul(op: Mul, rw: Rewriter) -> Value:
    return finish(rw, op, _joined(rw, "multiply", promoted(rw, *op.inputs)))


def may_be_zero(value: Value) -> bool:
    """Whether a divisor may be 0: not if it is a constant without zeros."""
    dense = constant_of(value)
    return dense is None or not bool(np.all(distinct(dense.numpy()) != 0))


def _divided(rw: Builder, name: str, a: Value, b: Value) -> Value:
    """`divide` or `remainder` of integers, 0 where b is 0 (which StableHLO leaves open)."""
    if not may_be_zero(b):
        return binary(rw, name, a, b)
    zero = compare(rw, "EQ", b, 0)
    return select(rw, zero, 0, binary(rw, name, a, select(rw, zero, 1, b)))


def truncated_quotient(rw: Builder, a: Value, b: Value) -> Value:
    """`a / b` of integers rounded towards zero, 0 where b is 0."""
    return _divided(rw, "divide", a, b)


@TABLE("top.Div")
def div(op: Div, rw: Rewriter) -> Value:
    a, b = promoted(rw, *op.inputs)
    return finish(rw, op, truncated_quotient(rw, a, b) if a.is_integer else binary(rw, "divide", a, b))


@TABLE("top.Max")
def maximum(op: Max, rw: Rewriter) -> Value:
    return finish(rw, op, _joined(rw, "maximum", promoted(rw, *op.inputs)))


@TABLE("top.Min")
def minimum(op: Min, rw: Rewriter) -> Value:
    return finish(rw, op, _joined(rw, "minimum", promoted(rw, *op.inputs)))


@TABLE("top.AddConst")
def add_const(op: AddConst, rw: Rewriter) -> Value:
    x = widened(rw, op.input)
    return finish(rw, op, binary(rw, "add", x, op.const_val if x.is_float else _wrapped(int(op.const_val), x.element)))


@TABLE("top.MulConst")
def mul_const(op: MulConst, rw: Rewriter) -> Value:
    return finish(rw, op, times(rw, widened(rw, op.input), op.const_val))


@TABLE("top.Scale")
def scale(op: Scale, rw: Rewriter) -> Value:
    x, factor, bias = promoted(rw, *op.operands)
    return finish(rw, op, binary(rw, "add", binary(rw, "multiply", x, factor), bias))


@TABLE("top.Pow")
def power(op: Pow, rw: Rewriter) -> Value:
    """`power`; small whole exponents of floats by products, and what is not a whole power of integers in f64, cut off."""
    base, exponent = widened(rw, op.base), widened(rw, op.exponent)
    if base.is_float:
        dense = constant_of(exponent)
        number = None if dense is None or dense.splat_value() is None else float(dense.splat_value())  # type: ignore[arg-type]
        if number in (2, 3) and exponent.rank <= base.rank and all(size == 1 for size in exponent.shape):
            square = binary(rw, "multiply", base, base)
            return finish(rw, op, square if number == 2 else binary(rw, "multiply", square, base))
        return finish(rw, op, binary(rw, "power", base, build.convert(rw, exponent, base.element)))
    if exponent.is_integer:
        return finish(rw, op, _integer_power(rw, base, exponent))
    double = binary(rw, "power", build.convert(rw, base, F64), build.convert(rw, exponent, F64))
    return finish(rw, op, build.convert(rw, double, base.element))


def _integer_power(rw: Builder, base: Value, exponent: Value) -> Value:
    """A power of integers, modulo their range: by squaring, a bit of the exponent at a time.

    A negative exponent leaves what is not 0 after the division: powers of 1 and -1.
    """
    base, exponent = build.together(rw, base, exponent)
    bits = exponent.element.width if exponent.element.unsigned else exponent.element.width - 1  # type: ignore[attr-defined]
    dense = constant_of(exponent)
    if dense is not None:
        bits = max(int(distinct(dense.numpy()).max(initial=0)).bit_length(), 1)
    one = build.scalar(rw, 1, exponent.element)
    result, square, left = build.like(rw, base, 1), base, exponent
    for bit in range(bits):
        if bit:
            square = binary(rw, "multiply", square, square)
            left = binary(rw, "shift_right_logical", left, one)
        odd = compare(rw, "NE", binary(rw, "and", left, one), 0)
        result = select(rw, odd, binary(rw, "multiply", result, square), result)
    if exponent.element.unsigned or (dense is not None and bool(np.all(distinct(dense.numpy()) >= 0))):  # type: ignore[attr-defined]
        return result
    is_odd = compare(rw, "NE", binary(rw, "and", exponent, one), 0)
    inverse = select(rw, compare(rw, "EQ", base, 1), build.like(rw, base, 1), 0)
    if not base.element.unsigned:  # type: ignore[attr-defined]
        of_minus_one = select(rw, is_odd, build.like(rw, base, -1), 1)
        inverse = select(rw, compare(rw, "EQ", base, -1), of_minus_one, inverse)
    return select(rw, compare(rw, "LT", exponent, 0), inverse, result)


@TABLE("top.FloorDiv")
def floor_div(op: FloorDiv, rw: Rewriter) -> Value:
    a, b = promoted(rw, op.a, op.b)
    if a.is_float:
        return finish(rw, op, build.unary(rw, "floor", binary(rw, "divide", a, b)))
    quotient = truncated_quotient(rw, a, b)
    if a.element.unsigned:  # type: ignore[attr-defined]
        return finish(rw, op, quotient)
    rest = _divided(rw, "remainder", a, b)
    below = binary(rw, "and", compare(rw, "NE", rest, 0), compare(rw, "LT", binary(rw, "xor", rest, b), 0))
    return finish(rw, op, select(rw, below, binary(rw, "subtract", quotient, 1), quotient))


def floor_mod(rw: Builder, a: Value, b: Value) -> Value:
    """What division leaves, with the sign of b; of integers 0 where b is 0."""
    a, b = build.together(rw, a, b)
    if a.is_float:
        rest = binary(rw, "remainder", a, b)
        other = compare(rw, "NE", compare(rw, "LT", rest, 0), compare(rw, "LT", b, 0))
    else:
        rest = _divided(rw, "remainder", a, b)
        if a.element.unsigned:  # type: ignore[attr-defined]
            return rest
        other = compare(rw, "LT", binary(rw, "xor", rest, b), 0)
    moved = binary(rw, "and", compare(rw, "NE", rest, 0), other)
    return select(rw, moved, binary(rw, "add", rest, b), rest)


@TABLE("top.FloorMod")
def floor_mod_op(op: FloorMod, rw: Rewriter) -> Value:
    return finish(rw, op, floor_mod(rw, *promoted(rw, op.a, op.b)))


@TABLE("top.TruncMod")
def trunc_mod(op: TruncMod, rw: Rewriter) -> Value:
    a, b = promoted(rw, op.a, op.b)
    return finish(rw, op, binary(rw, "remainder", a, b) if a.is_float else _divided(rw, "remainder", a, b))


@TABLE("top.SquaredDifference")
def squared_difference(op: SquaredDifference, rw: Rewriter) -> Value:
    difference = binary(rw, "subtract", *promoted(rw, op.a, op.b))
    return finish(rw, op, binary(rw, "multiply", difference, difference))


@TABLE("top.Atan2")
def atan2(op: Atan2, rw: Rewriter) -> Value:
    a, b = promoted(rw, op.a, op.b)
    if not a.is_float:
        a, b = build.convert(rw, a, F64), build.convert(rw, b, F64)
    return finish(rw, op, binary(rw, "atan2", a, b))


# --- comparison, logic, selection

DIRECTIONS = {"Equal": "EQ", "NotEqual": "NE", "Greater": "GT", "GreaterOrEqual": "GE", "Less": "LT", "LessOrEqual": "LE"}


@TABLE("top.Compare")
def compare_op(op: Compare, rw: Rewriter) -> Value:
    return compare(rw, DIRECTIONS[op.mode], *promoted(rw, op.lhs, op.rhs))


BITWISE = {
    "top.LogicalAnd": "and", "top.LogicalOr": "or", "top.LogicalXor": "xor", "top.BitwiseAnd": "and", "top.BitwiseOr": "or",
    "top.BitwiseXor": "xor",
}  # fmt: skip


@TABLE(*BITWISE)
def bitwise(op: Op, rw: Rewriter) -> Value:
    return finish(rw, op, binary(rw, BITWISE[op.name], *promoted(rw, op.a, op.b)))


@TABLE("top.LogicalNot", "top.BitwiseNot")
def not_(op: BitwiseNot | LogicalNot, rw: Rewriter) -> Value:
    return finish(rw, op, build.unary(rw, "not", widened(rw, op.input)))


@TABLE("top.ShiftLeft", "top.ShiftRight")
def shift(op: ShiftLeft | ShiftRight, rw: Rewriter) -> Value:
    """Bits moved; by the width or more, all are gone (or the sign's only are left); a negative distance is none."""
    a, b = build.together(rw, widened(rw, op.a), widened(rw, op.b))
    unsigned = a.element.unsigned  # type: ignore[attr-defined]
    name = "shift_left" if op.name == "top.ShiftLeft" else "shift_right_logical" if unsigned else "shift_right_arithmetic"
    width = a.element.width  # type: ignore[attr-defined]
    dense = constant_of(op.b)  # `b` may be that, broadcast to any size
    if dense is not None and bool(np.all((distinct(dense.numpy()) >= 0) & (distinct(dense.numpy()) < width))):
        return finish(rw, op, binary(rw, name, a, build.convert(rw, b, a.element)))
    inside = build.clamp(rw, b, 0, width - 1) if build.greatest(b.element) >= width else b
    moved = binary(rw, name, a, build.convert(rw, inside, a.element))
    if name != "shift_right_arithmetic" and build.greatest(b.element) >= width:  # that one has left the sign only
        moved = select(rw, compare(rw, "GE", b, width), 0, moved)
    return finish(rw, op, moved)


@TABLE("top.Where")
def where(op: Where, rw: Rewriter) -> Value:
    a, b = op.tbrn, op.fbrn
    return select(rw, op.condition, a, build.convert(rw, b, a.element))


# --- functions of one operand that integers have, too


@TABLE("top.Abs")
def absolute(op: UnaryNumber, rw: Rewriter) -> Value:
    x = widened(rw, op.input)
    return finish(rw, op, x if x.is_integer and x.element.unsigned else build.unary(rw, "abs", x))  # type: ignore[attr-defined]


@TABLE("top.Neg")
def negate(op: UnaryNumber, rw: Rewriter) -> Value:
    return finish(rw, op, build.unary(rw, "negate", widened(rw, op.input)))


@TABLE("top.Sign")
def sign(op: UnaryNumber, rw: Rewriter) -> Value:
    x = widened(rw, op.input)
    if x.is_integer and x.element.unsigned:  # type: ignore[attr-defined]
        return finish(rw, op, binary(rw, "minimum", x, 1))
    return finish(rw, op, build.unary(rw, "sign", x))


@TABLE("top.Square")
def square(op: UnaryNumber, rw: Rewriter) -> Value:
    x = widened(rw, op.input)
    return finish(rw, op, binary(rw, "multiply", x, x))


ROUNDINGS = {"top.Floor": "floor", "top.Ceil": "ceil", "top.Round": "round_nearest_even"}


@TABLE(*ROUNDINGS)
def rounded(op: UnaryNumber, rw: Rewriter) -> Value:
    """Rounding, which leaves integers as they are."""
    x = op.input
    return finish(rw, op, build.unary(rw, ROUNDINGS[op.name], x) if x.is_float else x)


@TABLE("top.Clip")
def clip(op: Clip, rw: Rewriter) -> Value:
    """Between two numbers; those of integers are rounded inwards, and one out of their range bounds nothing."""
    x = widened(rw, op.input)
    low, high = op.attribute("min"), op.attribute("max")
    least, greatest = build.least(x.element), build.greatest(x.element)
    if x.is_integer:
        low = greatest if low >= greatest else math.ceil(low) if low > least else least
        high = least if high <= least else math.floor(high) if high < greatest else greatest
    if low > least:
        x = binary(rw, "maximum", x, low)
    if high < greatest:
        x = binary(rw, "minimum", x, high)
    return finish(rw, op, x)
