"""Functions of one operand, element by element."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from ml_dtypes import finfo

from transload.ir import BF16, F16, F32, F64, Op, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import functions

from ..types import element_of
from .table import cast, in_shape, lean, like, pointwise, refuse_complex

if TYPE_CHECKING:
    from ..dialect.elementwise import Imag, Not, Real, ReducePrecision

__all__ = ["TABLE", "logical_shift_right", "truncated"]

TABLE = RewriteTable()

DIRECT = {
    "abs": "Abs", "ceil": "Ceil", "cosine": "Cos", "exponential": "Exp", "floor": "Floor", "log": "Log", "log_plus_one": "Log1p",
    "logistic": "Sigmoid", "negate": "Neg", "round_nearest_even": "Round", "rsqrt": "Rsqrt", "sign": "Sign", "sine": "Sin",
    "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh"}
"""StableHLO's functions that `top` has."""


@TABLE(*(f"stablehlo.{name}" for name in DIRECT))
def direct(op: Op, rw: Rewriter) -> Value:
    """A function that `top` has, too."""
    refuse_complex(op)
    return pointwise(rw, op, f"top.{DIRECT[op.name.partition('.')[2]]}", op.operands[0])


Composed = Callable[[Rewriter, Value], Value]


def _composed(name: str) -> Callable[[Composed], Composed]:
    """Make of `function(rw, x)`, which composes ops of `top`, the rewrite of an op of one operand."""

    def add(function: Composed) -> Composed:
        @TABLE(f"stablehlo.{name}")
        def rewrite(op: Op, rw: Rewriter) -> Value:
            refuse_complex(op)
            return in_shape(rw, op, function(rw, lean(op.operands[0])))

        rewrite.__doc__ = function.__doc__
        return function

    return add


def _in_f32(function: Composed) -> Composed:
    """`function` of narrow floats in f32: their numbers in between are too coarse, and 1/3 is none of them."""

    @wraps(function)
    def compute(rw: Rewriter, x: Value) -> Value:
        element = x.element
        return function(rw, x) if element in (F32, F64) else cast(rw, function(rw, cast(rw, x, F32)), element)

    return compute


@_composed("cbrt")
@_in_f32
def cbrt(rw: Rewriter, x: Value) -> Value:
    """`sign(x) * |x| ^ (1/3)`."""
    root = rw.emit("top.Pow", rw.emit("top.Abs", x), like(rw, x, 1 / 3))
    return rw.emit("top.Mul", rw.emit("top.Sign", x), root)


@_composed("exponential_minus_one")
def expm1(rw: Rewriter, x: Value) -> Value:
    """Exact near zero; of what is not positive, ELU."""
    return rw.emit("top.Elu", x, alpha=1.0) if _not_positive(rw, x) else _in_f32(functions.expm1)(rw, x)


def _not_positive(rw: Rewriter, x: Value) -> bool:
    """Whether a value was cut off at zero: `min(x, 0)`, or `x > 0 ? 0 : x`, as ELU's definitions have it."""
    maker = x.op
    if maker is None:
        return False
    if maker.name == "top.Min":
        return any(_is_zero(rw, value) for value in maker.operands)
    if maker.name != "top.Where" or maker.condition.op is None or maker.condition.op.name != "top.Compare":
        return False
    question = maker.condition.op
    greater = question.mode in ("Greater", "GreaterOrEqual") and lean(question.lhs) is lean(maker.fbrn)
    return greater and _is_zero(rw, question.rhs) and _is_zero(rw, maker.tbrn)


def _is_zero(rw: Rewriter, value: Value) -> bool:
    array = rw.constant_of(lean(value))
    return array is not None and not np.any(array)


@_composed("is_finite")
def is_finite(rw: Rewriter, x: Value) -> Value:
    """Whether `|x| < infinity`, which NaN is not; of formats without infinity, whether it is not NaN."""
    with np.errstate(all="ignore"):
        infinite = np.isinf(np.array(np.inf).astype(dtype_of(x.element)).astype(np.float64))
    if not infinite:
        return rw.emit("top.LogicalNot", rw.emit("top.IsNaN", x))
    return rw.emit("top.Compare", rw.emit("top.Abs", x), like(rw, x, np.inf), mode="Less")


@_composed("round_nearest_afz")
def round_away(rw: Rewriter, x: Value) -> Value:
    """`sign(x) * (floor(|x|) + (|x| - floor(|x|) >= 1/2))`: adding a half before would round twice."""
    size = rw.emit("top.Abs", x)
    whole = rw.emit("top.Floor", size)
    up = rw.emit("top.Compare", rw.emit("top.Sub", size, whole), like(rw, x, 0.5), mode="GreaterOrEqual")
    return rw.emit("top.Mul", rw.emit("top.Sign", x), rw.emit("top.Add", whole, rw.emit("top.Cast", up, element=x.element)))


def truncated(rw: Rewriter, x: Value) -> Value:
    """The whole part of floats: `sign(x) * floor(|x|)`."""
    return rw.emit("top.Mul", rw.emit("top.Sign", x), rw.emit("top.Floor", rw.emit("top.Abs", x)))


@TABLE("stablehlo.not")
def complement(op: Not, rw: Rewriter) -> Value:
    """Of booleans the negation, of integers the complement of all bits."""
    return pointwise(rw, op, "top.LogicalNot" if op.operands[0].is_bool else "top.BitwiseNot", op.operands[0])


@TABLE("stablehlo.real", "stablehlo.imag")
def part(op: Imag | Real, rw: Rewriter) -> Value:
    """Of numbers that are not complex: the number, and zero."""
    refuse_complex(op)
    if op.name == "stablehlo.real":
        return op.operands[0]
    return in_shape(rw, op, like(rw, op.operands[0], 0))


# --- bits

def _width(x: Value) -> int:
    width: int = element_of(x).width
    return width


def _bits(rw: Rewriter, x: Value, pattern: int) -> Value:
    """A scalar of the type of `x` with these bits."""
    width = _width(x)
    number = pattern & ((1 << width) - 1)
    if not element_of(x).unsigned and number >> (width - 1):
        number -= 1 << width
    return rw.constant(np.array(number, dtype_of(x.element)), x.element)


def logical_shift_right(rw: Rewriter, x: Value, places: int) -> Value:
    """The bits of `x` moved down by a number of places, zeros moved in."""
    if places == 0:
        return x
    if places >= _width(x):
        return rw.emit("top.BitwiseAnd", x, _bits(rw, x, 0))
    moved = rw.emit("top.ShiftRight", x, like(rw, x, places))
    return moved if element_of(x).unsigned else rw.emit("top.BitwiseAnd", moved, _bits(rw, x, (1 << (_width(x) - places)) - 1))


@_composed("popcnt")
def popcnt(rw: Rewriter, x: Value) -> Value:
    """Bits are added in pairs, the sums in pairs, and so on.

    Those of the first pairs by logic: their sum could reach the sign.
    """
    pairs = sum(1 << place for place in range(0, _width(x), 2))
    low = rw.emit("top.BitwiseAnd", x, _bits(rw, x, pairs))
    high = rw.emit("top.BitwiseAnd", rw.emit("top.ShiftRight", x, like(rw, x, 1)), _bits(rw, x, pairs))
    both = rw.emit("top.ShiftLeft", rw.emit("top.BitwiseAnd", low, high), like(rw, x, 1))
    x = rw.emit("top.BitwiseOr", rw.emit("top.BitwiseXor", low, high), both)
    step = 2
    while step < _width(x):
        mask = sum(((1 << step) - 1) << place for place in range(0, _width(x), 2 * step))
        low = rw.emit("top.BitwiseAnd", x, _bits(rw, x, mask))
        high = rw.emit("top.BitwiseAnd", rw.emit("top.ShiftRight", x, like(rw, x, step)), _bits(rw, x, mask))
        x = rw.emit("top.Add", low, high)
        step *= 2
    return x


@_composed("count_leading_zeros")
def count_leading_zeros(rw: Rewriter, x: Value) -> Value:
    """The bits below the highest one are set, and those left counted."""
    step = 1
    while step < _width(x):
        x = rw.emit("top.BitwiseOr", x, logical_shift_right(rw, x, step))
        step *= 2
    return popcnt(rw, rw.emit("top.BitwiseNot", x))


# --- precision

_BITS: dict[Any, tuple[int, int]] = {F16: (5, 10), BF16: (8, 7), F32: (8, 23), F64: (11, 52)}
"""Bits of exponent and mantissa."""


@TABLE("stablehlo.reduce_precision")
def reduce_precision(op: ReducePrecision, rw: Rewriter) -> Value:
    """The mantissa rounded, through bf16 or f16 where one of them has those bits; then what the exponent cannot say cut off.

    Other floats are rounded as f16, where it holds them, and else (powers of two of 8 bits) as f32.
    """
    x, exponent, mantissa = lean(op.operands[0]), op.exponent_bits, op.mantissa_bits
    element = x.element
    holder = element if element in _BITS else F16 if finfo(dtype_of(element)).maxexp <= finfo(np.float16).maxexp else F32
    own_exponent, own_mantissa = _BITS[holder]
    if element not in (F32, F64):
        x = rw.emit("top.Cast", x, element=F32)
    through: Any = None
    if mantissa < own_mantissa:
        through = {7: BF16, 10: F16 if exponent == 5 else None}.get(mantissa) if element == F32 else None
        if through is not None:
            rounded = rw.emit("top.Cast", rw.emit("top.Cast", x, element=through), element=F32)
        else:
            rounded = _rounded_mantissa(rw, x, mantissa, 2 - (1 << (own_exponent - 1)))
    else:
        rounded = x
    if exponent < own_exponent:
        bias = (1 << (exponent - 1)) - 1
        size = rw.emit("top.Abs", rounded)
        far = rw.emit("top.Compare", size, like(rw, x, 2.0 ** (bias + 1)), mode="GreaterOrEqual")
        rounded = rw.emit("top.Where", far, rw.emit("top.Mul", rounded, like(rw, x, np.inf)), rounded)
        least = 2.0 ** (1 - bias)
        if through == F16:  # it keeps numbers below its normal ones, and may make those the least normal one: asked before
            size, least = rw.emit("top.Abs", x), least * (1 - 2.0**-12)
        near = rw.emit("top.Compare", size, like(rw, x, least), mode="Less")
        rounded = rw.emit("top.Where", near, rw.emit("top.Mul", rounded, like(rw, x, 0)), rounded)
    return in_shape(rw, op, rounded if element == x.element else rw.emit("top.Cast", rounded, element=element))


def _rounded_mantissa(rw: Rewriter, x: Value, bits: int, least: int) -> Value:
    """`x` with `bits` bits of mantissa, halves to even: over its power of two, 2^least or more, rounded to whole parts of it.

    The power is found bit by bit of the exponent; all products are by powers of two, and exact. Without bits the exponent's last
    one says which of two powers is even.
    """
    odd: Value | None = None
    steps = [1 << place for place in range(9 if x.element == F64 else 6, -1, -1)]
    size = rw.emit("top.Abs", x)
    power, inverse = like(rw, x, 1), like(rw, x, 1)
    for direction in (1, -1):
        for step in steps:
            if direction > 0:
                question = rw.emit("top.Compare", size, like(rw, x, 2.0**step), mode="GreaterOrEqual")
            else:
                question = rw.emit("top.Compare", size, like(rw, x, 2.0 ** (1 - step)), mode="Less")
            there, back = 2.0 ** (direction * step), 2.0 ** (-direction * step)
            size = rw.emit("top.Where", question, rw.emit("top.Mul", size, like(rw, x, back)), size)
            power = rw.emit("top.Where", question, rw.emit("top.Mul", power, like(rw, x, there)), power)
            inverse = rw.emit("top.Where", question, rw.emit("top.Mul", inverse, like(rw, x, back)), inverse)
        odd = question if odd is None else rw.emit("top.LogicalOr", odd, question)  # the last step is one
    power = rw.emit("top.Max", power, like(rw, x, 2.0**least))
    inverse = rw.emit("top.Min", inverse, like(rw, x, 2.0**-least))
    parts = rw.emit("top.Mul", rw.emit("top.Mul", x, inverse), like(rw, x, 2.0**bits))
    if bits == 0:
        rounded = _rounded_from(rw, parts, odd)
    else:
        rounded = rw.emit("top.Mul", rw.emit("top.Round", parts), like(rw, x, 2.0**-bits))
    rounded = rw.emit("top.Mul", rounded, power)
    return _but_for_ends(rw, x, rounded) if x.element == F64 else rounded


def _but_for_ends(rw: Rewriter, x: Value, rounded: Value) -> Value:
    """`rounded`, but for zeros and infinities: where f64 becomes f32, factors are infinite and 0, and their products with these
    no numbers."""
    is_zero = rw.emit("top.Compare", x, like(rw, x, 0), mode="Equal")
    is_endless = rw.emit("top.Compare", rw.emit("top.Abs", x), like(rw, x, np.inf), mode="Equal")
    return rw.emit("top.Where", rw.emit("top.LogicalOr", is_zero, is_endless), x, rounded)


def _rounded_from(rw: Rewriter, parts: Value, odd: Value | None) -> Value:
    """`parts`, from 1 to 2 but for the smallest, rounded to one of them; halves to 1 where an `odd` exponent makes that even."""
    whole = rw.emit("top.Round", parts)
    size = rw.emit("top.Abs", parts)
    is_half = rw.emit("top.Compare", size, like(rw, parts, 1.5), mode="Equal")
    down = rw.emit("top.Mul", whole, like(rw, parts, 0.5))
    return rw.emit("top.Where", rw.emit("top.LogicalAnd", is_half, odd), down, whole)
