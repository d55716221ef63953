"""Special functions of one operand, by series of their own: the derivative of the gamma function, Bessel's, the inverse of erf.

Sources: Abramowitz and Stegun, "Handbook of Mathematical Functions", 6.3 (digamma) and 9.6 (Bessel); M. Giles, "Approximating the
erfinv function" (2012).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from transload.ir import F32, F64, I32, I64, Op, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub.build import cast, scalar_like

from .table import TfTable

__all__ = ["TABLE"]

TABLE = TfTable()


def _mul(rw: Rewriter, x: Value, factor: Value | float) -> Value:
    return rw.emit("top.Mul", x, factor if isinstance(factor, Value) else scalar_like(rw, x, factor))


def _add(rw: Rewriter, x: Value, more: Value | float) -> Value:
    return rw.emit("top.Add", x, more if isinstance(more, Value) else scalar_like(rw, x, more))


def _horner(rw: Rewriter, x: Value, coefficients: Sequence[float]) -> Value:
    """A polynomial of x, the highest power first."""
    total = scalar_like(rw, x, coefficients[0])
    for coefficient in coefficients[1:]:
        total = _add(rw, _mul(rw, x, total), coefficient)
    return total


def _where(rw: Rewriter, tested: Value, mode: str, limit: float, yes: Value, no: Value) -> Value:
    return rw.emit("top.Where", rw.emit("top.Compare", tested, scalar_like(rw, tested, limit), mode=mode), yes, no)


@TABLE("NextAfter")
def next_after(op: Op, rw: Rewriter) -> Value:
    """NextAfter: the number behind x on the way to y, by the bits that are an integer one more or one less."""
    x, y = op.operands
    numbers = rw.emit("top.LogicalAnd", *(rw.emit("top.Compare", each, each, mode="Equal") for each in (x, y)))
    x, y = (rw.emit("top.Where", numbers, each, scalar_like(rw, each, math.nan)) for each in (x, y))  # of the shape of both
    bits = rw.emit("top.Bitcast", x, element=I64 if x.element == F64 else I32)
    is_above = rw.emit("top.Compare", y, x, mode="Greater")
    is_positive = rw.emit("top.Compare", x, scalar_like(rw, x, 0), mode="Greater")
    grows = rw.emit("top.LogicalNot", rw.emit("top.LogicalXor", is_above, is_positive))
    step = rw.emit("top.Where", grows, scalar_like(rw, bits, 1), scalar_like(rw, bits, -1))
    moved = rw.emit("top.Bitcast", rw.emit("top.Add", bits, step), element=x.element)
    least = float(np.finfo(dtype_of(x.element)).smallest_subnormal)
    from_zero = rw.emit("top.Where", is_above, scalar_like(rw, x, least), scalar_like(rw, x, -least))
    moved = _where(rw, x, "Equal", 0, from_zero, moved)
    return rw.emit("top.Where", rw.emit("top.Compare", x, y, mode="Equal"), y, moved)


# --- digamma

_SHIFTS = 6
"""How far x is moved up, where the series in 1 / x holds."""
_SERIES = (-1 / 132, 1 / 240, -1 / 252, 1 / 120, -1 / 12)
"""Of 1 / x^10, ..., 1 / x^2, behind log x - 1 / 2x."""


@TABLE("Digamma")
def digamma(op: Op, rw: Rewriter) -> Value:
    """Digamma: by `psi(x) = psi(x + 1) - 1 / x` from where its series holds, below 1/2 by reflection; NaN at 0, -1, -2, ..."""
    given = op.operands[0]
    x = cast(rw, given, F64 if given.element == F64 else F32)
    is_low = rw.emit("top.Compare", x, scalar_like(rw, x, 0.5), mode="Less")
    up = rw.emit("top.Where", is_low, rw.emit("top.Sub", scalar_like(rw, x, 1), x), x)
    lost: list[Value] = []
    for _ in range(_SHIFTS):
        lost.append(rw.emit("top.Reciprocal", up))
        up = _add(rw, up, 1)
    inverse = rw.emit("top.Reciprocal", up)
    square = rw.emit("top.Square", inverse)
    series = _mul(rw, _horner(rw, square, _SERIES), square)
    found = _add(rw, rw.emit("top.Sub", rw.emit("top.Log", up), _mul(rw, inverse, 0.5)), series)
    found = rw.emit("top.Sub", found, rw.emit("top.Add", *lost))
    # pi / tan(pi x) has the period 1; the part of x behind the point keeps the tangent exact for large x
    part = rw.emit("top.Sub", x, rw.emit("top.Floor", x))
    tangent = rw.emit("top.Tan", _mul(rw, part, math.pi))
    mirrored = rw.emit("top.Sub", found, rw.emit("top.Div", scalar_like(rw, x, math.pi), tangent))
    at_pole = rw.emit("top.LogicalAnd", rw.emit("top.Compare", part, scalar_like(rw, x, 0), mode="Equal"), is_low)
    result = rw.emit("top.Where", at_pole, scalar_like(rw, x, float("nan")), rw.emit("top.Where", is_low, mirrored, found))
    return cast(rw, result, given.element)


# --- Bessel

_SPLIT = 8.0
"""Below, a series in x; above, one in 1 / x of the function times the root of x."""
_TERMS = 24


@cache
def _bessel_series(order: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Chebyshev coefficients of `exp(-x) I(x)` on [0, 8], and of the same times sqrt(x) on [8, inf) as a function of 8 / x."""
    angle = (np.arange(4096) + 0.5) * (np.pi / 4096)

    def scaled(x: np.ndarray) -> np.ndarray:  # the midpoint rule is exact to the last digit for a periodic integrand
        return (np.exp(x[:, None] * (np.cos(angle) - 1)) * np.cos(order * angle)).mean(1)

    nodes = np.cos((np.arange(_TERMS) + 0.5) * np.pi / _TERMS)
    below = scaled((nodes + 1) * _SPLIT / 2)
    far = _SPLIT / np.maximum((nodes + 1) / 2, 1e-4)
    above = scaled(far) * np.sqrt(far)
    fit = np.polynomial.chebyshev.chebfit
    return tuple(fit(nodes, below, _TERMS - 1).tolist()), tuple(fit(nodes, above, 12).tolist())


def _clenshaw(rw: Rewriter, t: Value, coefficients: Sequence[float]) -> Value:
    """A series of Chebyshev polynomials of t, by Clenshaw's recurrence."""
    twice = _mul(rw, t, 2.0)
    after, total = scalar_like(rw, t, 0.0), scalar_like(rw, t, 0.0)
    for coefficient in reversed(coefficients[1:]):
        after, total = total, _add(rw, rw.emit("top.Sub", _mul(rw, twice, total), after), coefficient)
    return _add(rw, rw.emit("top.Sub", _mul(rw, t, total), after), coefficients[0])


@TABLE("BesselI0e", "BesselI1e", "BesselI0", "BesselI1")
def bessel(op: Op, rw: Rewriter) -> Value:
    """BesselI0e, BesselI1e: modified Bessel functions of the first kind times `exp(-|x|)`; BesselI0, BesselI1: without."""
    given = op.operands[0]
    value = cast(rw, given, F64 if given.element == F64 else F32)
    order = 1 if "I1" in op.name else 0
    size = rw.emit("top.Abs", value)
    near, far = _bessel_series(order)
    low = _clenshaw(rw, _add(rw, _mul(rw, rw.emit("top.Min", size, scalar_like(rw, size, _SPLIT)), 2 / _SPLIT), -1.0), near)
    beyond = rw.emit("top.Max", size, scalar_like(rw, size, _SPLIT))
    ratio = _add(rw, _mul(rw, rw.emit("top.Reciprocal", beyond), 2 * _SPLIT), -1.0)
    high = rw.emit("top.Mul", _clenshaw(rw, ratio, far), rw.emit("top.Rsqrt", beyond))
    found = _where(rw, size, "Less", _SPLIT, low, high)
    if not op.name.endswith("e"):
        found = rw.emit("top.Mul", found, rw.emit("top.Exp", size))
    if order:
        found = _mul(rw, found, rw.emit("top.Sign", value))
    return cast(rw, found, given.element)


# --- the inverse of erf

_NEAR = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
         0.246640727, 1.50140941)
_FAR = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406,
        2.83297682)
"""Giles's polynomials in `w - 2.5` for `w = -log(1 - x^2) < 5`, and in `sqrt(w) - 3` beyond."""


def _inverse_of_erf(rw: Rewriter, x: Value) -> Value:
    one = scalar_like(rw, x, 1)
    w = rw.emit("top.Neg", rw.emit("top.Log", rw.emit("top.Mul", rw.emit("top.Sub", one, x), _add(rw, x, 1))))
    near = _horner(rw, _add(rw, w, -2.5), _NEAR)
    far = _horner(rw, _add(rw, rw.emit("top.Sqrt", rw.emit("top.Max", w, scalar_like(rw, w, 0))), -3.0), _FAR)
    guess = rw.emit("top.Mul", _where(rw, w, "Less", 5, near, far), x)
    size = rw.emit("top.Abs", x)
    if x.element == F64:  # two of Newton's steps, each of which doubles the digits
        for _ in range(2):
            slope = _mul(rw, rw.emit("top.Exp", rw.emit("top.Neg", rw.emit("top.Square", guess))), 2 / math.sqrt(math.pi))
            off = rw.emit("top.Sub", rw.emit("top.Erf", guess), x)
            guess = rw.emit("top.Sub", guess, rw.emit("top.Div", off, slope))
    infinite = _mul(rw, rw.emit("top.Sign", x), float("inf"))
    return _where(rw, size, "Equal", 1, infinite, guess)


@TABLE("Erfinv", "Ndtri")
def erfinv(op: Op, rw: Rewriter) -> Value:
    """Erfinv; Ndtri: the place below which so much of a normal distribution lies, `sqrt(2) erfinv(2 x - 1)`."""
    given = op.operands[0]
    x = cast(rw, given, F64 if given.element == F64 else F32)
    if op.name == "tf.Erfinv":
        return cast(rw, _inverse_of_erf(rw, x), given.element)
    return cast(rw, _mul(rw, _inverse_of_erf(rw, _add(rw, _mul(rw, x, 2.0), -1.0)), math.sqrt(2)), given.element)
