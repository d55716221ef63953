"""Kernels: arithmetic, comparison and logic of several operands."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.plugin import KernelTable

from .common import Array, finish, is_integer, raised, wide

if TYPE_CHECKING:
    from ..ops.elementwise import (
        Add,
        AddConst,
        Atan2,
        Compare,
        Div,
        FloorDiv,
        FloorMod,
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
        Where,
    )

__all__ = ["KERNELS"]

KERNELS = KernelTable()


@KERNELS("top.Add")
def add(op: Add, *inputs: Array) -> Array:
    terms = [wide(x) for x in inputs]
    if op.coeff is not None:
        terms = [x if factor == 1.0 else _times(x, factor) for x, factor in zip(terms, op.coeff, strict=True)]
    return finish(op, reduce(np.add, terms))


def _times(x: Array, factor: float) -> Array:
    """`x * factor` in the type of `x`; a whole factor of integers stays exact."""
    if not is_integer(x):
        return x * factor
    if float(factor).is_integer():
        return x * _whole(factor, x)
    return np.trunc(x * factor).astype(x.dtype)


def _whole(number: float, x: Array) -> Any:
    """A number without its fraction in the type of `x`: one below 0 beside unsigned integers is what wraps round to."""
    return np.asarray(int(number)).astype(x.dtype)


@KERNELS("top.Sub")
def sub(op: Sub, a: Array, b: Array) -> Array:
    return finish(op, wide(a) - wide(b))


@KERNELS("top.Mul")
def mul(op: Mul, *inputs: Array) -> Array:
    return finish(op, reduce(np.multiply, map(wide, inputs)))


def truncated_quotient(a: Array, b: Array) -> Array:
    """`a / b` of integers rounded towards zero, 0 where b is 0."""
    with np.errstate(all="ignore"):
        quotient = a // b
        # numpy rounds down: one more where that left a remainder of a negative quotient
        return quotient + ((quotient < 0) & (quotient * b != a)).astype(quotient.dtype)


@KERNELS("top.Div")
def div(op: Div, a: Array, b: Array) -> Array:
    a, b = wide(a), wide(b)
    with np.errstate(all="ignore"):
        return finish(op, truncated_quotient(a, b) if is_integer(a) and is_integer(b) else np.divide(a, b))


@KERNELS("top.Max")
def maximum(op: Max, *inputs: Array) -> Array:
    return finish(op, reduce(np.maximum, map(wide, inputs)))


@KERNELS("top.Min")
def minimum(op: Min, *inputs: Array) -> Array:
    return finish(op, reduce(np.minimum, map(wide, inputs)))


@KERNELS("top.AddConst")
def add_const(op: AddConst, x: Array) -> Array:
    x = wide(x)
    return finish(op, x + (_whole(op.const_val, x) if is_integer(x) else op.const_val))


@KERNELS("top.MulConst")
def mul_const(op: MulConst, x: Array) -> Array:
    return finish(op, _times(wide(x), op.const_val))


@KERNELS("top.Scale")
def scale(op: Scale, x: Array, factor: Array, bias: Array) -> Array:
    return finish(op, wide(x) * wide(factor) + wide(bias))


_POWERS: dict[float, Callable[[Array], Array]] = {2: np.square, 3: lambda x: np.square(x) * x}
"""Powers that models have often, and that are many times faster as products."""


@KERNELS("top.Pow")
def power(op: Pow, base: Array, exponent: Array) -> Array:
    base, exponent = wide(base), wide(exponent)
    with np.errstate(all="ignore"):
        if not is_integer(base):
            whole = _POWERS.get(exponent.item()) if exponent.size == 1 and exponent.ndim <= base.ndim else None
            if whole is not None:
                return finish(op, whole(base))
            # an exponent of another type must not change the precision of the result
            return finish(op, raised(base, exponent.astype(base.dtype, copy=False)))
        if is_integer(exponent):
            return finish(op, _integer_power(base, exponent))
        return finish(op, np.trunc(np.power(base.astype(np.float64), exponent)))


def _integer_power(base: Array, exponent: Array) -> Array:
    """A power of integers, modulo their range. Of a negative exponent what is not 0 after the division: powers of 1 and -1.

    A power of 0 is 0 then, as in StableHLO and its lowering to TOSA; C++ leaves it undefined.
    """
    made = np.power(base.astype(np.uint64), np.maximum(exponent, 0).astype(np.uint64)).astype(base.dtype)
    with np.errstate(all="ignore"):  # of unsigned exponents, of which none is asked for
        unit = np.where(base == 1, 1, np.where(base == -1, 1 - 2 * (exponent & 1), 0)).astype(base.dtype)
    return np.where(exponent < 0, unit, made)  # of one type: ui64 and i64 would meet in f64


@KERNELS("top.FloorDiv")
def floor_div(op: FloorDiv, a: Array, b: Array) -> Array:
    with np.errstate(all="ignore"):
        if is_integer(a):
            return finish(op, wide(a) // wide(b))
        return finish(op, _FLOORS[op.quotient](a, b))


def _floor_of_rounded(a: Array, b: Array) -> Array:
    return np.floor(wide(a) / wide(b))


def _floor_of_exact(a: Array, b: Array) -> Array:
    """The floor of a quotient in f64, which tells those of narrower floats from whole numbers.

    Of f64 itself the quotient without what it has behind the point: what the division leaves, which is exact, by the divisor.
    """
    if a.dtype != np.float64:
        return np.floor(a.astype(np.float64) / b.astype(np.float64))
    part = _floor_rest(a, b) / b
    return np.rint(a / b - np.where(part > 0, part, 0))


def _floor_by_fmod(a: Array, b: Array) -> Array:
    """ATen's steps (`c10/util/generic_math.h`, `div_floor_floating`), each rounded to the type of the operands."""
    def step(made: Array) -> Array:
        return wide(made.astype(a.dtype))

    x, y = wide(a), wide(b)
    rest, quotient = np.fmod(x, y), step(x / y)
    whole = step(step(x - rest) / y)
    whole = np.where((rest != 0) & ((y < 0) != (rest < 0)), step(whole - 1), whole)
    floor = np.floor(whole)
    floor = np.where(step(whole - floor) > 0.5, step(floor + 1), floor)  # of a division that came out a little less than whole
    return np.where(y == 0, quotient, np.where(whole == 0, np.copysign(whole, quotient), floor))


_FLOORS: dict[str, Callable[[Array, Array], Array]] = {
    "rounded": _floor_of_rounded, "exact": _floor_of_exact, "fmod": _floor_by_fmod}


@KERNELS("top.FloorMod")
def floor_mod(op: FloorMod, a: Array, b: Array) -> Array:
    a, b = wide(a), wide(b)
    with np.errstate(all="ignore"):
        return finish(op, np.mod(a, b) if is_integer(a) else _floor_rest(a, b))


def _floor_rest(a: Array, b: Array) -> Array:
    """What a division of floats rounded down leaves: zeros have the sign of a, as everywhere but in `np.mod`."""
    rest = np.fmod(a, b)
    return np.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


@KERNELS("top.TruncMod")
def trunc_mod(op: TruncMod, a: Array, b: Array) -> Array:
    with np.errstate(all="ignore"):
        return finish(op, np.fmod(wide(a), wide(b)))


@KERNELS("top.SquaredDifference")
def squared_difference(op: SquaredDifference, a: Array, b: Array) -> Array:
    return finish(op, np.square(wide(a) - wide(b)))


@KERNELS("top.Atan2")
def atan2(op: Atan2, a: Array, b: Array) -> Array:
    a, b = wide(a), wide(b)
    if is_integer(a):  # of small ones numpy has angles in f16
        a, b = a.astype(np.float64), b.astype(np.float64)
    return finish(op, np.arctan2(a, b))


_RELATIONS: dict[str, Callable[..., Any]] = {
    "Equal": np.equal, "NotEqual": np.not_equal, "Greater": np.greater, "GreaterOrEqual": np.greater_equal,
    "Less": np.less, "LessOrEqual": np.less_equal,
}


@KERNELS("top.Compare")
def compare(op: Compare, lhs: Array, rhs: Array) -> Array:
    return finish(op, _RELATIONS[op.mode](wide(lhs), wide(rhs)))


def _plain(name: str, function: Callable[..., Any]) -> None:
    """A kernel that is one numpy function of two operands."""
    KERNELS(name)(lambda op, a, b: finish(op, function(wide(a), wide(b))))


_plain("top.LogicalAnd", np.logical_and)
_plain("top.LogicalOr", np.logical_or)
_plain("top.LogicalXor", np.logical_xor)
_plain("top.BitwiseAnd", np.bitwise_and)
_plain("top.BitwiseOr", np.bitwise_or)
_plain("top.BitwiseXor", np.bitwise_xor)


def _shift(a: Array, b: Array, shift: Callable[..., Any], beyond: Any) -> Array:
    """`shift(a, b)`, and `beyond` where b is the width or more, which numpy (as C) leaves undefined."""
    width = 8 * a.dtype.itemsize
    inside = np.clip(b, 0, width - 1).astype(a.dtype)
    return np.where(b >= width, beyond, shift(a, inside))


@KERNELS("top.ShiftLeft")
def shift_left(op: ShiftLeft, a: Array, b: Array) -> Array:
    a, b = wide(a), wide(b)
    return finish(op, _shift(a, b, np.left_shift, a.dtype.type(0)))


@KERNELS("top.ShiftRight")
def shift_right(op: ShiftRight, a: Array, b: Array) -> Array:
    a, b = wide(a), wide(b)
    return finish(op, _shift(a, b, np.right_shift, a >> (8 * a.dtype.itemsize - 1) if a.dtype.kind == "i" else a.dtype.type(0)))


@KERNELS("top.Where", quantized="storage")
def where(op: Where, condition: Array, tbrn: Array, fbrn: Array) -> Array:
    return np.where(condition, tbrn, fbrn)
