"""Mathematical functions that StableHLO has no op for, built of those it has.

Each takes a builder and a float value and returns the function of it, of the same type. f16, bf16 and 8-bit floats
are computed in f32 and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from transload.ir import F32, F64, Value
from transload.ir.build import Builder

from . import build
from .build import binary, clamp, compare, convert, select, unary

__all__ = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "erf", "gelu", "gelu_tanh", "is_inf", "is_nan", "log_sigmoid",
    "sinh", "softplus", "tan",
]  # fmt: skip

Function = Callable[[Builder, Value], Value]


def in_single(function: Function) -> Function:
    """The function computed in f32 where its argument has fewer bits."""

    def computed(rw: Builder, x: Value) -> Value:
        if x.element in (F32, F64):
            return function(rw, x)
        return convert(rw, function(rw, convert(rw, x, F32)), x.element)

    computed.__doc__ = function.__doc__
    return computed


def horner(rw: Builder, x: Value, coefficients: Sequence[float]) -> Value:
    """The polynomial with these coefficients, the constant one first."""
    total = build.like(rw, x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = binary(rw, "add", binary(rw, "multiply", total, x), build.like(rw, x, coefficient))
    return total


# --- the error function

_SPLIT = 1.0
"""Below it, erf is a power series; above it, erfc is the exponential of a polynomial."""


@lru_cache(maxsize=2)
def _erf_polynomials(double: bool) -> tuple[list[float], list[float], float]:
    """Coefficients of `erf(x)/x - 1` in x*x, those of `-log(erfc(x))` in x - 1, and where erf is 1.

    The first are Taylor's, `2/sqrt(pi) * (-1)^n / (n! (2n+1))`; the second interpolate in Chebyshev's nodes. In f32 the
    result is within 1.2 units in the last place, in f64 within 30.
    """
    terms, degree, end = (20, 24, 6.0) if double else (10, 8, 4.0)
    near = [2 / math.sqrt(math.pi) * (-1) ** n / (math.factorial(n) * (2 * n + 1)) for n in range(terms)]
    near[0] -= 1
    fitted = np.polynomial.Chebyshev.interpolate(
        np.vectorize(lambda s: -math.log(math.erfc(_SPLIT + s))), degree, domain=[0, end - _SPLIT])
    far = fitted.convert(kind=np.polynomial.Polynomial, domain=[-1, 1], window=[-1, 1]).coef
    return near, [float(c) for c in far], end


@in_single
def erf(rw: Builder, x: Value) -> Value:
    """`2/sqrt(pi)` times the integral of `exp(-t*t)` from 0 to x."""
    near, far, end = _erf_polynomials(x.element == F64)
    size = unary(rw, "abs", x)
    small = binary(rw, "add", x, binary(rw, "multiply", x, horner(rw, binary(rw, "multiply", x, x), near)))
    beyond = binary(rw, "subtract", clamp(rw, size, _SPLIT, end), build.like(rw, x, _SPLIT))
    tail = unary(rw, "exponential", unary(rw, "negate", horner(rw, beyond, far)))
    large = binary(rw, "multiply", unary(rw, "sign", x), binary(rw, "subtract", build.like(rw, x, 1), tail))
    # NaN is not below the split: `large` hands it on by its sign
    return select(rw, compare(rw, "LT", size, _SPLIT), small, large)


@in_single
def gelu(rw: Builder, x: Value) -> Value:
    """`x/2 * (1 + erf(x / sqrt(2)))`."""
    inner = binary(rw, "add", erf(rw, binary(rw, "multiply", x, math.sqrt(0.5))), 1)
    return binary(rw, "multiply", binary(rw, "multiply", x, 0.5), inner)


@in_single
def gelu_tanh(rw: Builder, x: Value) -> Value:
    """`x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))`."""
    cube = binary(rw, "multiply", binary(rw, "multiply", x, x), x)
    argument = binary(rw, "multiply", binary(rw, "add", x, binary(rw, "multiply", cube, 0.044715)), math.sqrt(2 / math.pi))
    return binary(rw, "multiply", binary(rw, "multiply", x, 0.5), binary(rw, "add", unary(rw, "tanh", argument), 1))


# --- the sine's family: inverses by the two-argument arc tangent, which is exact in all quadrants


@in_single
def tan(rw: Builder, x: Value) -> Value:
    """The tangent, `sin(x) / cos(x)` (StableHLO has an op for it since version 1.4 only)."""
    return binary(rw, "divide", unary(rw, "sine", x), unary(rw, "cosine", x))


@in_single
def asin(rw: Builder, x: Value) -> Value:
    """The inverse of the sine; NaN outside of -1 to 1."""
    rest = binary(rw, "multiply", binary(rw, "subtract", 1, x), binary(rw, "add", 1, x))
    return binary(rw, "atan2", x, unary(rw, "sqrt", rest))


@in_single
def acos(rw: Builder, x: Value) -> Value:
    """The inverse of the cosine; NaN outside of -1 to 1."""
    half = binary(
        rw, "atan2", unary(rw, "sqrt", binary(rw, "subtract", 1, x)), unary(rw, "sqrt", binary(rw, "add", 1, x)))
    return binary(rw, "multiply", half, 2)


@in_single
def atan(rw: Builder, x: Value) -> Value:
    """The inverse of the tangent."""
    return binary(rw, "atan2", x, build.like(rw, x, 1))


# --- hyperbolic functions


def _half_exponential(rw: Builder, size: Value) -> Value:
    """`exp(x) / 2` that overflows no earlier than its result."""
    root = unary(rw, "exponential", binary(rw, "multiply", size, 0.5))
    return binary(rw, "multiply", binary(rw, "multiply", root, 0.5), root)


@in_single
def sinh(rw: Builder, x: Value) -> Value:
    """The hyperbolic sine: by `m = exp(|x|) - 1` as `(m + m/(m+1)) / 2` near zero, else half of the exponential."""
    size = unary(rw, "abs", x)
    less_one = unary(rw, "exponential_minus_one", size)
    near = binary(
        rw, "multiply", binary(rw, "add", less_one, binary(rw, "divide", less_one, binary(rw, "add", less_one, 1))), 0.5)
    value = select(rw, compare(rw, "LT", size, 20), near, _half_exponential(rw, size))
    return binary(rw, "multiply", unary(rw, "sign", x), value)


@in_single
def cosh(rw: Builder, x: Value) -> Value:
    """The hyperbolic cosine, `(exp(x) + exp(-x)) / 2`."""
    size = unary(rw, "abs", x)
    half = _half_exponential(rw, size)
    return binary(rw, "add", half, binary(rw, "multiply", unary(rw, "exponential", unary(rw, "negate", size)), 0.5))


def _large(x: Value) -> float:
    """From where on `x*x + 1` is `x*x` in the type of `x`."""
    return 1e9 if x.element == F64 else 1e5


@in_single
def asinh(rw: Builder, x: Value) -> Value:
    """The inverse of the hyperbolic sine: `log1p(|x| + x*x / (1 + sqrt(x*x + 1)))`, far out `log(2 |x|)`, with the sign of x."""
    size = unary(rw, "abs", x)
    square = binary(rw, "multiply", x, x)
    root = unary(rw, "sqrt", binary(rw, "add", square, 1))
    near = unary(rw, "log_plus_one", binary(rw, "add", size, binary(rw, "divide", square, binary(rw, "add", root, 1))))
    far = binary(rw, "add", unary(rw, "log", size), math.log(2))
    value = select(rw, compare(rw, "LT", size, _large(x)), near, far)
    return binary(rw, "multiply", unary(rw, "sign", x), value)


@in_single
def acosh(rw: Builder, x: Value) -> Value:
    """The inverse of the hyperbolic cosine: with `t = x - 1`, `log1p(t + sqrt(t*(t + 2)))`, far out `log(2 x)`; NaN below 1."""
    above = binary(rw, "subtract", x, 1)
    root = unary(rw, "sqrt", binary(rw, "multiply", above, binary(rw, "add", above, 2)))
    near = unary(rw, "log_plus_one", binary(rw, "add", above, root))
    far = binary(rw, "add", unary(rw, "log", x), math.log(2))
    inside = select(rw, compare(rw, "GE", x, 1), near, math.nan)
    return select(rw, compare(rw, "GT", x, _large(x)), far, inside)


@in_single
def atanh(rw: Builder, x: Value) -> Value:
    """The inverse of the hyperbolic tangent, `(log(1 + x) - log(1 - x)) / 2`."""
    difference = binary(
        rw, "subtract", unary(rw, "log_plus_one", x), unary(rw, "log_plus_one", unary(rw, "negate", x)))
    return binary(rw, "multiply", difference, 0.5)


# --- sums of exponentials


@in_single
def softplus(rw: Builder, x: Value) -> Value:
    """`log(1 + exp(x))` without overflow."""
    tail = unary(rw, "log_plus_one", unary(rw, "exponential", unary(rw, "negate", unary(rw, "abs", x))))
    return binary(rw, "add", tail, binary(rw, "maximum", x, 0))


@in_single
def log_sigmoid(rw: Builder, x: Value) -> Value:
    """`log(1 / (1 + exp(-x)))` without underflow."""
    return unary(rw, "negate", softplus(rw, unary(rw, "negate", x)))


# --- questions


def is_nan(rw: Builder, x: Value) -> Value:
    """Whether it is not a number."""
    return compare(rw, "NE", x, x)


def is_inf(rw: Builder, x: Value) -> Value:
    """Whether it is infinite."""
    return compare(rw, "EQ", unary(rw, "abs", x), math.inf)
