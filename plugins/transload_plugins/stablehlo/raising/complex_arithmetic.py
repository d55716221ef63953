"""Functions of complex numbers as functions of their real and imaginary parts, without overflow on the way.

A formula of the textbook squares what it is given: `sqrt(a*a + b*b)` of numbers beyond 1e19 is infinite in f32, below 1e-23
zero, and `0 * inf`, NaN, comes of parts that are exactly zero. The forms here give what a complex number is representable
for, and at infinities what ISO C, Annex G, says of them; a NaN gives NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from transload.ir import F64, Value
from transload.rewrite import Rewriter

from .elementwise import expm1
from .table import is_signed, like

__all__ = ["COMPOSED", "Pair", "both_zero", "less", "modulus"]

Pair = tuple[Value, Value]
"""Real and imaginary part."""


# --- questions and choices


def _is(rw: Rewriter, x: Value, number: float) -> Value:
    return rw.emit("top.Compare", x, like(rw, x, number), mode="Equal")


def _where(rw: Rewriter, question: Value, yes: Value | float, no: Value | float) -> Value:
    given = yes if isinstance(yes, Value) else no
    sides = [side if isinstance(side, Value) else like(rw, given, side) for side in (yes, no)]  # type: ignore[arg-type]
    return rw.emit("top.Where", question, *sides)


def _times_zero(rw: Rewriter, zero: Value, other: Value) -> Value:
    """The product, and zero where the first one is zero, be the other infinite."""
    return _where(rw, _is(rw, zero, 0), zero, rw.emit("top.Mul", zero, other))


def _larger(rw: Rewriter, a: Pair) -> Value:
    """The greater modulus of the parts."""
    return rw.emit("top.Max", *(rw.emit("top.Abs", part) for part in a))


def both_zero(rw: Rewriter, a: Pair) -> Value:
    """Whether a number is zero."""
    return rw.emit("top.LogicalAnd", *(_is(rw, part, 0) for part in a))


def less(rw: Rewriter, a: Pair, b: Pair) -> Value:
    """Whether one comes before the other: by real parts, then by imaginary ones."""
    first = rw.emit("top.Compare", a[0], b[0], mode="Less")
    tied = rw.emit("top.Compare", a[0], b[0], mode="Equal")
    second = rw.emit("top.LogicalAnd", tied, rw.emit("top.Compare", a[1], b[1], mode="Less"))
    return rw.emit("top.LogicalOr", first, second)


def _maximum(rw: Rewriter, a: Pair, b: Pair) -> Pair:
    smaller = less(rw, a, b)
    return rw.emit("top.Where", smaller, b[0], a[0]), rw.emit("top.Where", smaller, b[1], a[1])


def _minimum(rw: Rewriter, a: Pair, b: Pair) -> Pair:
    smaller = less(rw, a, b)
    return rw.emit("top.Where", smaller, a[0], b[0]), rw.emit("top.Where", smaller, a[1], b[1])


# --- size


def _big_and_ratio(rw: Rewriter, a: Pair) -> Pair:
    """The greater modulus of the parts, and the square of the smaller one over it, which is at most 1."""
    sizes = [rw.emit("top.Abs", part) for part in a]
    big, small = rw.emit("top.Max", *sizes), rw.emit("top.Min", *sizes)
    divisor = _where(rw, _is(rw, big, 0), 1.0, big)
    return big, rw.emit("top.Square", rw.emit("top.Div", small, divisor))


def modulus(rw: Rewriter, a: Pair) -> Value:
    """`big * sqrt(1 + (small / big)^2)`; infinite where a part is."""
    big, ratio = _big_and_ratio(rw, a)
    size = rw.emit("top.Mul", big, rw.emit("top.Sqrt", rw.emit("top.Add", ratio, like(rw, ratio, 1))))
    return _where(rw, _is(rw, big, math.inf), big, size)


def _log_modulus(rw: Rewriter, a: Pair) -> Value:
    """`log(big) + log1p((small / big)^2) / 2`."""
    big, ratio = _big_and_ratio(rw, a)
    more = rw.emit("top.Mul", rw.emit("top.Log1p", ratio), like(rw, ratio, 0.5))
    size = rw.emit("top.Log", big)
    return _where(rw, _is(rw, big, math.inf), big, rw.emit("top.Add", size, more))


def _scale(rw: Rewriter, a: Pair, factor: float) -> Pair:
    return tuple(rw.emit("top.Mul", part, like(rw, part, factor)) for part in a)


def _scaled(rw: Rewriter, a: Pair, size: Value) -> Pair:
    """Both parts over the greater of them; those of zero as they are."""
    divisor = _where(rw, _is(rw, size, 0), 1.0, size)
    return rw.emit("top.Div", a[0], divisor), rw.emit("top.Div", a[1], divisor)


def _sign(rw: Rewriter, a: Pair) -> Pair:
    """`z / |z|`, and zero of zero; of an infinite number what is finite over infinity is zero."""
    larger = _larger(rw, a)
    parts = _scaled(rw, a, larger)
    squares = rw.emit("top.Add", *(rw.emit("top.Square", part) for part in parts))
    done = rw.emit("top.LogicalOr", _is(rw, squares, 0), _is(rw, larger, math.inf))
    size = rw.emit("top.Sqrt", _where(rw, done, 1.0, squares))
    return rw.emit("top.Div", parts[0], size), rw.emit("top.Div", parts[1], size)


# --- arithmetic


def _add(rw: Rewriter, a: Pair, b: Pair) -> Pair:
    return rw.emit("top.Add", a[0], b[0]), rw.emit("top.Add", a[1], b[1])


def _subtract(rw: Rewriter, a: Pair, b: Pair) -> Pair:
    return rw.emit("top.Sub", a[0], b[0]), rw.emit("top.Sub", a[1], b[1])


def _negate(rw: Rewriter, a: Pair) -> Pair:
    return rw.emit("top.Neg", a[0]), rw.emit("top.Neg", a[1])


def _multiply(rw: Rewriter, a: Pair, b: Pair) -> Pair:
    def product(x: Value, y: Value) -> Value:
        return rw.emit("top.Mul", x, y)

    return (
        rw.emit("top.Sub", product(a[0], b[0]), product(a[1], b[1])),
        rw.emit("top.Add", product(a[0], b[1]), product(a[1], b[0])))


def _direction(rw: Rewriter, a: Pair) -> tuple[Value, Pair]:
    """The greater modulus of the parts, and both over it: of an infinite number the infinite ones count, as 1 or -1."""
    ends = [_is(rw, rw.emit("top.Abs", part), math.inf) for part in a]
    endless = rw.emit("top.LogicalOr", *ends)
    size = _where(rw, endless, math.inf, _larger(rw, a))
    ones = [_where(rw, end, rw.emit("top.Sign", part), 0.0) for end, part in zip(ends, a, strict=True)]
    near = _scaled(rw, a, _where(rw, endless, 1.0, size))
    return size, (rw.emit("top.Where", endless, ones[0], near[0]), rw.emit("top.Where", endless, ones[1], near[1]))


def _divide(rw: Rewriter, a: Pair, b: Pair) -> Pair:
    """Of both numbers scaled to a size near 1: infinite over what is finite, zero over what is infinite; over zero infinite."""
    (top, over), (below, by) = _direction(rw, a), _direction(rw, b)
    size = rw.emit("top.Add", *(rw.emit("top.Square", part) for part in by))
    factor = rw.emit("top.Div", top, below)
    inside = [rw.emit("top.Mul", rw.emit("top.Div", part, size), factor)
              for part in _multiply(rw, over, (by[0], rw.emit("top.Neg", by[1])))]
    zero, end = both_zero(rw, b), rw.emit("top.Div", like(rw, b[0], 1), b[0])
    return (
        _where(rw, zero, rw.emit("top.Mul", end, a[0]), inside[0]), _where(rw, zero, rw.emit("top.Mul", end, a[1]), inside[1]))


# --- exponentials


def _exponential(rw: Rewriter, a: Pair) -> Pair:
    """`e^a (cos b + i sin b)`; a zero imaginary part stays, and `e^-inf` is zero whatever the angle."""
    size = rw.emit("top.Exp", a[0])
    nothing = _is(rw, size, 0)
    real, imag = (rw.emit("top.Mul", size, rw.emit(f"top.{name}", a[1])) for name in ("Cos", "Sin"))
    real_axis = _is(rw, a[1], 0)
    return _where(rw, nothing, size, _where(rw, real_axis, size, real)), _where(
        rw, nothing, size, _where(rw, real_axis, a[1], imag))


def _exponential_minus_one(rw: Rewriter, a: Pair) -> Pair:
    """`(expm1(a) cos b - 2 sin(b/2)^2) + i e^a sin b`; -1 where `e^a` is nothing."""
    half = rw.emit("top.Square", rw.emit("top.Sin", rw.emit("top.Mul", a[1], like(rw, a[1], 0.5))))
    first = rw.emit("top.Mul", expm1(rw, a[0]), rw.emit("top.Cos", a[1]))
    real = rw.emit("top.Sub", first, rw.emit("top.Mul", half, like(rw, half, 2)))
    size, imag = _exponential(rw, a)
    nothing = rw.emit("top.LogicalAnd", _is(rw, size, 0), _is(rw, imag, 0))  # together only where e^a is
    return _where(rw, nothing, -1.0, real), imag


def _logistic(rw: Rewriter, a: Pair) -> Pair:
    """`1 / (1 + e^-z)`."""
    down = _exponential(rw, _negate(rw, a))
    return _divide(rw, (like(rw, a[0], 1), like(rw, a[0], 0)), (rw.emit("top.Add", down[0], like(rw, a[0], 1)), down[1]))


# --- logarithms and powers


def _log(rw: Rewriter, a: Pair) -> Pair:
    return _log_modulus(rw, a), rw.emit("top.Atan2", a[1], a[0])


def _log_plus_one(rw: Rewriter, a: Pair) -> Pair:
    """Near zero `log1p(a (2 + a) + b^2) / 2`, which is exact there, else the logarithm of the modulus; and the angle."""
    above = rw.emit("top.Add", a[0], like(rw, a[0], 1))
    far = _log_modulus(rw, (above, a[1]))
    more = rw.emit("top.Mul", a[0], rw.emit("top.Add", a[0], like(rw, a[0], 2)))
    near = rw.emit("top.Log1p", rw.emit("top.Add", more, rw.emit("top.Square", a[1])))
    near = rw.emit("top.Mul", near, like(rw, near, 0.5))
    size = _larger(rw, a)
    close = rw.emit("top.Compare", size, like(rw, size, 0.5), mode="Less")
    return rw.emit("top.Where", close, near, far), rw.emit("top.Atan2", a[1], above)


def _sqrt(rw: Rewriter, a: Pair) -> Pair:
    """`sqrt((|z| + |a|) / 2)` and the imaginary part over twice that, or the other way round where a is negative.

    The first is twice that of `|z| + |a|` of an eighth of the number, whose sum does not overflow.
    """
    eighth = _scale(rw, a, 0.125)
    root = rw.emit("top.Sqrt", rw.emit("top.Add", modulus(rw, eighth), rw.emit("top.Abs", eighth[0])))
    large = rw.emit("top.Add", root, root)
    half = rw.emit("top.Mul", a[1], like(rw, a[1], 0.5))
    quotient = rw.emit("top.Div", half, _where(rw, _is(rw, large, 0), 1.0, large))
    endless = _is(rw, rw.emit("top.Abs", a[1]), math.inf)
    quotient = _where(rw, endless, a[1], quotient)
    left = rw.emit("top.Compare", a[0], like(rw, large, 0), mode="Less")
    down = rw.emit("top.Compare", a[1], like(rw, large, 0), mode="Less")
    signed = rw.emit("top.Where", down, rw.emit("top.Neg", large), large)
    return (
        rw.emit("top.Where", left, rw.emit("top.Abs", quotient), large), rw.emit("top.Where", left, signed, quotient))


def _rsqrt(rw: Rewriter, a: Pair) -> Pair:
    """The conjugate of the square root over the modulus; infinite of zero, zero of what is infinite.

    The imaginary part has the other sign than the number's, be that a zero: the root of -1 - 0i is i in XLA, and so is this.
    """
    root, size = _scale(rw, _sqrt(rw, a), 0.5), modulus(rw, _scale(rw, a, 0.5))
    none = _is(rw, size, 0)
    endless = rw.emit("top.LogicalOr", *(_is(rw, rw.emit("top.Abs", part), math.inf) for part in a))
    divisor = _where(rw, none, 1.0, size)
    real = _where(rw, none, math.inf, rw.emit("top.Div", root[0], divisor))
    imag = _where(rw, none, math.nan, rw.emit("top.Div", rw.emit("top.Abs", root[1]), divisor))
    real, imag = _where(rw, endless, 0.0, real), _where(rw, endless, 0.0, imag)
    return real, rw.emit("top.Where", is_signed(rw, a[1]), imag, rw.emit("top.Neg", imag))


def _power(rw: Rewriter, a: Pair, b: Pair) -> Pair:
    """`exp(b log a)`; 1 of the exponent 0 and of the base 1, and of a real exponent what zero and infinity go to, as in XLA."""
    exponent = _multiply(rw, b, _log(rw, a))
    size = rw.emit("top.Exp", exponent[0])
    made = [rw.emit("top.Mul", size, rw.emit(f"top.{name}", exponent[1])) for name in ("Cos", "Sin")]  # 0 at no angle is NaN
    zero, real = both_zero(rw, a), _is(rw, b[1], 0)
    up, down = (rw.emit("top.Compare", b[0], like(rw, b[0], 0), mode=mode) for mode in ("Greater", "Less"))
    endless = rw.emit("top.LogicalAnd", _is(rw, a[0], math.inf), _is(rw, a[1], 0))
    one = rw.emit("top.LogicalOr", both_zero(rw, b), rw.emit("top.LogicalAnd", _is(rw, a[0], 1), _is(rw, a[1], 0)))
    goes = rw.emit("top.LogicalAnd", real, rw.emit("top.LogicalOr", rw.emit("top.LogicalAnd", zero, up),
                                                   rw.emit("top.LogicalAnd", endless, rw.emit("top.LogicalOr", up, down))))
    end = _where(rw, rw.emit("top.LogicalAnd", endless, up), math.inf, like(rw, a[0], 0))
    first, second = (_where(rw, zero, math.nan, part) for part in made)
    return (
        _where(rw, one, 1.0, rw.emit("top.Where", goes, end, first)),
        _where(rw, one, 0.0, _where(rw, goes, 0.0, second)))


# --- the sine's family


def _sine(rw: Rewriter, a: Pair) -> Pair:
    return (
        _times_zero(rw, rw.emit("top.Sin", a[0]), rw.emit("top.Cosh", a[1])),
        _times_zero(rw, rw.emit("top.Sinh", a[1]), rw.emit("top.Cos", a[0])))


def _cosine(rw: Rewriter, a: Pair) -> Pair:
    return (
        rw.emit("top.Mul", rw.emit("top.Cos", a[0]), rw.emit("top.Cosh", a[1])),
        rw.emit("top.Neg", _times_zero(rw, rw.emit("top.Sin", a[0]), rw.emit("top.Sinh", a[1]))))


def _tanh(rw: Rewriter, a: Pair) -> Pair:
    """`(sinh a cosh a + i sin b cos b) / (sinh(a)^2 + cos(b)^2)`; far out of a nearer a; at infinity 1 or -1, whatever b is."""
    limit = 354.0 if a[0].element == F64 else 44.0  # whose square of the sinh is still finite
    near = rw.emit("top.Clip", a[0], min=-limit, max=limit)
    sinh, cosh = rw.emit("top.Sinh", near), rw.emit("top.Cosh", near)
    sine, cosine = rw.emit("top.Sin", a[1]), rw.emit("top.Cos", a[1])
    below = rw.emit("top.Add", rw.emit("top.Square", sinh), rw.emit("top.Square", cosine))
    real, imag = (rw.emit("top.Div", rw.emit("top.Mul", *over), below) for over in ((sinh, cosh), (sine, cosine)))
    endless = _is(rw, rw.emit("top.Abs", a[0]), math.inf)
    anywhere = rw.emit("top.LogicalAnd", endless, rw.emit("top.Compare", imag, imag, mode="NotEqual"))  # at no angle
    return (
        _where(rw, endless, rw.emit("top.Sign", a[0]), real),
        _where(rw, _is(rw, a[1], 0), a[1], _where(rw, anywhere, 0.0, imag)))


def _tan(rw: Rewriter, a: Pair) -> Pair:
    """`-i tanh(i z)`."""
    turned = _tanh(rw, (rw.emit("top.Neg", a[1]), a[0]))
    return turned[1], rw.emit("top.Neg", turned[0])


COMPOSED: dict[str, Callable[..., Pair]] = {
    "add": _add, "subtract": _subtract, "negate": _negate, "multiply": _multiply, "divide": _divide, "sign": _sign,
    "exponential": _exponential, "exponential_minus_one": _exponential_minus_one, "logistic": _logistic, "log": _log,
    "log_plus_one": _log_plus_one, "sqrt": _sqrt, "rsqrt": _rsqrt, "power": _power, "sine": _sine, "cosine": _cosine,
    "tan": _tan, "tanh": _tanh, "maximum": _maximum, "minimum": _minimum,
}
"""Element-wise functions by the names of StableHLO: from pairs to a pair."""
