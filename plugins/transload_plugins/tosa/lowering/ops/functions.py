"""Mathematical functions that TOSA has no operator for, from those that it has.

Each keeps a relative error of a few float32 units over its whole range: near zero, where the obvious formula
cancels, and near the ends, where it overflows, another one is selected. The specification of lowerings has
none of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from transload.ir import F16, F32, Value
from transload.rewrite import Rewriter, RewriteTable

from ... import build
from .cast import cast_value
from .common import binary, cast, compare, flat, has_minus, like, narrowed, negate, plain_into, select, unary
from .elementwise import square_root

if TYPE_CHECKING:
    from transload_hub.ops.base import Unary
    from transload_hub.ops.elementwise import Atan2

__all__ = ["TABLE", "arc_tangent", "expm1_below", "log1p", "softplus"]

TABLE = RewriteTable()

plain = plain_into(TABLE)


def _add(rw: Rewriter, a: Value, b: Value | float) -> Value:
    return binary(rw, "add", a, b if isinstance(b, Value) else like(rw, a, b))


def _mul(rw: Rewriter, a: Value, b: Value | float) -> Value:
    return binary(rw, "mul", a, b if isinstance(b, Value) else like(rw, a, b))


def _polynomial(rw: Rewriter, x: Value, coefficients: Sequence[float]) -> Value:
    """`c[0] + c[1] x + c[2] x^2 + ...` by Horner's rule."""
    made = like(rw, x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        made = _add(rw, _mul(rw, made, x), coefficient)
    return made


def _signed(rw: Rewriter, x: Value, size: Value) -> Value:
    """`size` with the sign of `x`."""
    return select(rw, compare(rw, "Less", x, like(rw, x, 0)), negate(rw, size), size)


def log1p_near(rw: Rewriter, x: Value) -> Value:
    """`log(1 + x)` for f32 from -1/2 to 1, as `x - ((u - 1) - log(u))` with `u = 1 + x` rounded, which adds what u lost of x.

    (That loss should be divided by u, which changes it by less than log(u) is rounded by.) In this order -0 stays -0.
    """
    u = _add(rw, x, 1.0)
    return binary(rw, "sub", x, binary(rw, "sub", _add(rw, u, -1.0), unary(rw, "log", u)))


def log1p(rw: Rewriter, x: Value) -> Value:
    """`log(1 + x)` of f32: `log1p_near` below 1/2, beyond which the sum loses nothing that counts."""
    is_near = compare(rw, "Less", unary(rw, "abs", x), like(rw, x, 0.5))
    return select(rw, is_near, log1p_near(rw, x), unary(rw, "log", _add(rw, x, 1.0)))


_LEAST_EXPONENT = -20.0
"""`exp(x) - 1` is -1 in f32 from here down, and `exp` is not yet zero, whose logarithm is infinite."""


def expm1_below(rw: Rewriter, x: Value) -> Value:
    """`exp(min(x, 0)) - 1` of f32, as `(u - 1) + u (x - log(u))` with `u = exp(x)` rounded, which adds what u has lost of x."""
    x = flat(rw, x, lambda x: build.clamp(rw, x, _LEAST_EXPONENT, 0.0))
    u = unary(rw, "exp", x)
    lost = binary(rw, "sub", x, unary(rw, "log", u))
    return _add(rw, _add(rw, u, -1.0), _mul(rw, u, lost))


def softplus(rw: Rewriter, x: Value) -> Value:
    """`log(1 + exp(x))` of f32 as `max(x, 0) + log(1 + exp(-|x|))`, which does not overflow."""
    small = unary(rw, "exp", negate(rw, unary(rw, "abs", x)))
    return _add(rw, binary(rw, "maximum", x, like(rw, x, 0)), log1p_near(rw, small))


@plain("top.Log1p")
def log_plus_one(op: Unary, rw: Rewriter) -> Value:
    """See `log1p`; of floats narrower than f32 in that."""
    return narrowed(rw, log1p(rw, cast(rw, op.input, F32)), op)


@plain("top.Tan")
def tangent(op: Unary, rw: Rewriter) -> Value:
    """`sin(x) / cos(x)`; of floats narrower than f32 in that."""
    x = cast(rw, op.input, F32)
    return cast(rw, _mul(rw, unary(rw, "sin", x), unary(rw, "reciprocal", unary(rw, "cos", x))), op.input.element)


_ARC_TANGENT = (0.9999999818725115, -0.33332796935195746, 0.19974404785887506, -0.13851478426929065, 0.0798496291160141)
"""`atan(x) / x` as a polynomial in x^2 for |x| up to tan(pi/8): a Chebyshev fit, 2e-8 off at most."""


def arc_tangent(rw: Rewriter, x: Value) -> Value:
    """`atan(x)` for x >= 0, by `atan(x) = pi/2 - atan(1/x)` and `pi/4 + atan((x - 1) / (x + 1))`."""
    middle = compare(rw, "Greater", x, like(rw, x, math.tan(math.pi / 8)))
    far = compare(rw, "Greater", x, like(rw, x, math.tan(3 * math.pi / 8)))
    turned = _mul(rw, _add(rw, x, -1.0), unary(rw, "reciprocal", _add(rw, x, 1.0)))
    small = select(rw, far, negate(rw, unary(rw, "reciprocal", x)), select(rw, middle, turned, x))
    offset = select(rw, far, like(rw, x, math.pi / 2), select(rw, middle, like(rw, x, math.pi / 4), like(rw, x, 0)))
    return _add(rw, _mul(rw, _polynomial(rw, _mul(rw, small, small), _ARC_TANGENT), small), offset)


@plain("top.Atan")
def atan(op: Unary, rw: Rewriter) -> Value:
    """See `arc_tangent`; odd."""
    return _signed(rw, op.input, arc_tangent(rw, unary(rw, "abs", op.input)))


@plain("top.Asin")
def asin(op: Unary, rw: Rewriter) -> Value:
    """`atan(x / sqrt((1 - x) (1 + x)))`; at 1 the arc tangent of infinity. Of floats narrower than f32 in that."""
    x = cast(rw, op.input, F32)
    size = unary(rw, "abs", x)
    product = _mul(rw, _add(rw, negate(rw, size), 1.0), _add(rw, size, 1.0))
    return cast(rw, _signed(rw, x, arc_tangent(rw, _mul(rw, size, unary(rw, "rsqrt", product)))), op.input.element)


@plain("top.Acos")
def acos(op: Unary, rw: Rewriter) -> Value:
    """`2 atan(sqrt((1 - x) / (1 + x)))`, exact near 1; at -1 twice the arc tangent of infinity. Narrower floats as in `asin`."""
    x = cast(rw, op.input, F32)
    ratio = _mul(rw, _add(rw, negate(rw, x), 1.0), unary(rw, "reciprocal", _add(rw, x, 1.0)))
    return cast(rw, _mul(rw, arc_tangent(rw, square_root(rw, ratio)), 2.0), op.input.element)


@plain("top.Atan2")
def atan2(op: Atan2, rw: Rewriter) -> Value:
    """The arc tangent of the lesser by the greater absolute value, then turned into the quadrant (IEEE 754-2019, 9.2.1).

    Zeros have signs, 0 by 0 counts as 0, and infinity by infinity as 1. Of floats narrower than f32 in that.
    """
    a, b = cast(rw, op.a, F32), cast(rw, op.b, F32)
    rise, run = unary(rw, "abs", a), unary(rw, "abs", b)
    greatest = binary(rw, "maximum", rise, run)
    zero = like(rw, greatest, 0)
    ratio = _mul(rw, binary(rw, "minimum", rise, run), unary(rw, "reciprocal", greatest))
    ratio = select(rw, compare(rw, "Equal", rise, run), like(rw, ratio, 1), ratio)
    angle = arc_tangent(rw, select(rw, compare(rw, "Equal", greatest, zero), zero, ratio))
    angle = select(rw, compare(rw, "Greater", rise, run), _add(rw, negate(rw, angle), math.pi / 2), angle)
    angle = select(rw, has_minus(rw, b), _add(rw, negate(rw, angle), math.pi), angle)
    signed = select(rw, has_minus(rw, a), negate(rw, angle), angle)
    # of integers without its fraction, which any type holds
    return flat(rw, signed, lambda angle: cast_value(rw, angle, op.result.element, saturate=True))


def _half_exponentials(rw: Rewriter, x: Value, joined: str) -> Value:
    """`exp(x) / 2` and `exp(-x) / 2` added or subtracted, by `exp(x - 1) * e / 2`, which overflows no earlier than it has to."""
    up, down = (unary(rw, "exp", _add(rw, exponent, -1.0)) for exponent in (x, negate(rw, x)))
    return _mul(rw, binary(rw, joined, up, down), math.e / 2)


@plain("top.Sinh")
def sinh(op: Unary, rw: Rewriter) -> Value:
    """See `_half_exponentials`; below 1/2, where their difference cancels, its Taylor series to x^9."""
    x = cast(rw, op.input, F32)
    series = [1 / math.factorial(2 * n + 1) for n in range(5)]
    near = _mul(rw, _polynomial(rw, _mul(rw, x, x), series), x)
    is_near = compare(rw, "Less", unary(rw, "abs", x), like(rw, x, 0.5))
    return narrowed(rw, select(rw, is_near, near, _half_exponentials(rw, x, "sub")), op)


@plain("top.Cosh")
def cosh(op: Unary, rw: Rewriter) -> Value:
    """See `_half_exponentials`."""
    return narrowed(rw, _half_exponentials(rw, cast(rw, op.input, F32), "add"), op)


def _too_large_to_square(rw: Rewriter, x: Value) -> Value:
    """Where `x * x` could overflow; `x * x + 1` is `x * x` there."""
    return compare(rw, "Greater", x, like(rw, x, 100 if x.element == F16 else 1e9))


@plain("top.Asinh")
def asinh(op: Unary, rw: Rewriter) -> Value:
    """`log(1 + (|x| + x^2 / (1 + sqrt(x^2 + 1))))` with the sign of x; `log |x| + log 2` where x^2 would overflow."""
    size = unary(rw, "abs", op.input)
    squared = _mul(rw, size, size)
    beyond = _mul(rw, squared, unary(rw, "reciprocal", _add(rw, square_root(rw, _add(rw, squared, 1.0)), 1.0)))
    near = log1p(rw, _add(rw, size, beyond))
    far = _add(rw, unary(rw, "log", size), math.log(2))
    return _signed(rw, op.input, select(rw, _too_large_to_square(rw, size), far, near))


@plain("top.Acosh")
def acosh(op: Unary, rw: Rewriter) -> Value:
    """`log(1 + (t + sqrt(t) sqrt(t + 2)))` with `t = x - 1`, NaN where that is below 0; `log x + log 2` of great numbers."""
    x = op.input
    t = _add(rw, x, -1.0)
    near = log1p(rw, _add(rw, t, _mul(rw, square_root(rw, t), square_root(rw, _add(rw, t, 2.0)))))
    far = _add(rw, unary(rw, "log", x), math.log(2))
    return select(rw, _too_large_to_square(rw, x), far, near)


@plain("top.Atanh")
def atanh(op: Unary, rw: Rewriter) -> Value:
    """`log(1 + 2|x| / (1 - |x|)) / 2` with the sign of x. Of floats narrower than f32 in that."""
    x = cast(rw, op.input, F32)
    size = unary(rw, "abs", x)
    ratio = _mul(rw, _add(rw, size, size), unary(rw, "reciprocal", _add(rw, negate(rw, size), 1.0)))
    return cast(rw, _signed(rw, x, _mul(rw, log1p(rw, ratio), 0.5)), op.input.element)
