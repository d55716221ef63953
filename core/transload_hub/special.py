"""Special functions of one number in f32 or f64, from ops of the hub, by series of their own: gamma, inverses of erf, Bessel.

Sources: Abramowitz and Stegun, "Handbook of Mathematical Functions", 6.3 (digamma) and 9.6 (Bessel); M. Giles, "Approximating
the erfinv function" (2012); M. Wichura, "The Percentage Points of the Normal Distribution" (AS 241, 1988).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from transload.ir import F64, Value
from transload.ir.build import Builder

from .build import scalar_like

__all__ = ["bessel", "digamma", "erfinv", "lgamma", "ndtri"]


def _mul(build: Builder, x: Value, factor: Value | float) -> Value:
    return build.emit("top.Mul", x, factor if isinstance(factor, Value) else scalar_like(build, x, factor))


def _add(build: Builder, x: Value, more: Value | float) -> Value:
    return build.emit("top.Add", x, more if isinstance(more, Value) else scalar_like(build, x, more))


def _horner(build: Builder, x: Value, coefficients: Sequence[float]) -> Value:
    """A polynomial of x, the highest power first."""
    total = scalar_like(build, x, coefficients[0])
    for coefficient in coefficients[1:]:
        total = _add(build, _mul(build, x, total), coefficient)
    return total


def _is(build: Builder, tested: Value, mode: str, limit: float) -> Value:
    return build.emit("top.Compare", tested, scalar_like(build, tested, limit), mode=mode)


def _where(build: Builder, tested: Value, mode: str, limit: float, yes: Value, no: Value) -> Value:
    return build.emit("top.Where", _is(build, tested, mode, limit), yes, no)


def _fitted(wanted: Callable[[float], float], first: float, last: float, degree: int) -> tuple[float, ...]:
    """What interpolates in Chebyshev's nodes: the coefficients, the highest power first, in t from -1 (first) to 1 (last)."""
    fit = np.polynomial.Chebyshev.interpolate(np.vectorize(wanted, otypes=[float]), degree, domain=[first, last])
    return tuple(map(float, np.polynomial.chebyshev.cheb2poly(fit.coef)[::-1]))


def _past_whole(build: Builder, x: Value) -> Value:
    """How far x is from the nearest whole number, with its sign: exact, near zero and at large numbers, too."""
    return build.emit("top.Sub", x, build.emit("top.Round", x))


# --- gamma

_LANCZOS = (0.99999999999980993227684700473478, 676.520368121885098567009190444019, -1259.13921672240287047156078755283,
            771.3234287776530788486528258894, -176.61502916214059906584551354, 12.507343278686904814458936853,
            -0.13857109526572011689554707, 9.984369578019570859563e-6, 1.50563273514931155834e-7)
"""Coefficients of Lanczos' series for g = 7."""
_LOW, _HIGH = 0.5, 2.5
"""Where `lgamma(x) / ((x - 1) (x - 2))`, which has no zeros, is a polynomial."""


@cache
def _between_zeros(degree: int) -> tuple[float, ...]:
    """In `x - 1.5`: nodes are neither 1 nor 2."""
    return _fitted(lambda x: math.lgamma(x) / ((x - 1) * (x - 2)), _LOW, _HIGH, degree)


def _lgamma_above(build: Builder, x: Value) -> Value:
    """From 0.5 on: near 1 and 2, where it is zero, by a polynomial with these zeros; further up by Lanczos' series."""
    z = _add(build, x, -1)
    near = build.emit("top.Min", z, scalar_like(build, z, _HIGH - 1))
    shape = _horner(build, _add(build, near, -0.5), _between_zeros(37 if x.element == F64 else 17))
    low = _mul(build, _mul(build, near, _add(build, near, -1)), shape)
    series = scalar_like(build, x, _LANCZOS[0])
    for place, coefficient in enumerate(_LANCZOS[1:], 1):
        series = _add(build, series, build.emit("top.Div", scalar_like(build, x, coefficient), _add(build, z, place)))
    # (z + 1/2) log t - t, with t = z + 7.5, as (z + 1/2) (log t - 1) - 7: nothing large is subtracted.
    log_t = build.emit("top.Log", _add(build, z, 7.5))
    power = _mul(build, _add(build, x, -0.5), _add(build, log_t, -1))
    high = _add(build, power, _add(build, build.emit("top.Log", series), math.log(math.tau) / 2 - 7))
    return _where(build, x, "Less", _HIGH, low, high)


def lgamma(build: Builder, x: Value) -> Value:
    """`log |gamma(x)|`: below 0.5 by the reflection `log(pi / |sin(pi x)|) - lgamma(1 - x)`; infinite at 0, -1, -2, ..."""
    is_low = _is(build, x, "Less", _LOW)
    above = _lgamma_above(build, build.emit("top.Where", is_low, build.emit("top.Sub", scalar_like(build, x, 1), x), x))
    part = build.emit("top.Abs", _past_whole(build, x))
    sine = build.emit("top.Sin", _mul(build, part, math.pi))
    below = build.emit("top.Sub", scalar_like(build, x, math.log(math.pi)), _add(build, build.emit("top.Log", sine), above))
    # where the parts are infinite or none, their difference says nothing
    below = _where(build, part, "Greater", 0, below, scalar_like(build, x, math.inf))
    return build.emit("top.Where", is_low, below, above)


_SHIFTS = 6
"""How far x is moved up, where the series in 1 / x holds."""
_SERIES = (-1 / 132, 1 / 240, -1 / 252, 1 / 120, -1 / 12)
"""Of 1 / x^10, ..., 1 / x^2, behind log x - 1 / 2x."""
_ROOT = (1.46163177490234375, 3.7006601859126265e-07)
"""Where digamma is zero, as a number that every float type holds and the rest."""


def _digamma_of(x: float) -> float:
    """Of a number above zero."""
    lost = sum(1 / (x + step) for step in range(12))
    x += 12
    return math.log(x) - 0.5 / x + float(np.polyval([*_SERIES, 0], x**-2)) - lost


@cache
def _past_root(degree: int) -> tuple[float, ...]:
    """Digamma over the distance to its zero, in `2 x - 3`."""
    return _fitted(lambda x: _digamma_of(x) / (x - _ROOT[0] - _ROOT[1]), 1.0, 2.0, degree)


def digamma(build: Builder, x: Value) -> Value:
    """By `psi(x) = psi(x + 1) - 1 / x` from where its series holds, below 1/2 by reflection; NaN at 0, -1, -2, ..."""
    is_low = _is(build, x, "Less", 0.5)
    start = up = build.emit("top.Where", is_low, build.emit("top.Sub", scalar_like(build, x, 1), x), x)
    lost: list[Value] = []
    for _ in range(_SHIFTS):
        lost.append(build.emit("top.Reciprocal", up))
        up = _add(build, up, 1)
    inverse = build.emit("top.Reciprocal", up)
    square = build.emit("top.Square", inverse)
    series = _mul(build, _horner(build, square, _SERIES), square)
    found = _add(build, build.emit("top.Sub", build.emit("top.Log", up), _mul(build, inverse, 0.5)), series)
    found = build.emit("top.Sub", found, build.emit("top.Add", *lost))
    near = build.emit("top.Min", build.emit("top.Max", start, scalar_like(build, x, 1)), scalar_like(build, x, 2))
    shape = _horner(build, _add(build, _add(build, near, near), -3), _past_root(22 if x.element == F64 else 10))
    # (near - root) shape, in two parts: of two numbers subtracted one after the other simplification would make one
    by_root = build.emit("top.Sub", _mul(build, _add(build, near, -_ROOT[0]), shape), _mul(build, shape, _ROOT[1]))
    found = build.emit("top.Where", build.emit("top.Compare", near, start, mode="Equal"), by_root, found)
    # pi / tan(pi x) has the period 1; the part of x behind the point keeps the tangent exact for large x
    part = _past_whole(build, x)
    tangent = build.emit("top.Tan", _mul(build, part, math.pi))
    mirrored = build.emit("top.Sub", found, build.emit("top.Div", scalar_like(build, x, math.pi), tangent))
    mirrored = _where(build, part, "Equal", 0, scalar_like(build, x, math.nan), mirrored)
    return build.emit("top.Where", is_low, mirrored, found)


# --- the inverses of erf and of the normal distribution

_NEAR = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
         0.246640727, 1.50140941)
_FAR = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406,
        2.83297682)
"""Giles's polynomials in `w - 2.5` for `w = -log(1 - x^2) < 5`, and in `sqrt(w) - 3` beyond."""


def erfinv(build: Builder, x: Value) -> Value:
    """What the error function gives x of; infinite at 1 and -1, NaN beyond."""
    one = scalar_like(build, x, 1)
    w = build.emit("top.Neg", build.emit("top.Log", _mul(build, build.emit("top.Sub", one, x), _add(build, x, 1))))
    near = _horner(build, _add(build, w, -2.5), _NEAR)
    far = _horner(build, _add(build, build.emit("top.Sqrt", build.emit("top.Max", w, scalar_like(build, w, 0))), -3.0), _FAR)
    guess = _mul(build, _where(build, w, "Less", 5, near, far), x)
    if x.element == F64:  # two of Newton's steps, each of which doubles the digits
        for _ in range(2):
            slope = _mul(build, build.emit("top.Exp", build.emit("top.Neg", build.emit("top.Square", guess))),
                         2 / math.sqrt(math.pi))
            off = build.emit("top.Sub", build.emit("top.Erf", guess), x)
            guess = build.emit("top.Sub", guess, build.emit("top.Div", off, slope))
    infinite = _mul(build, build.emit("top.Sign", x), math.inf)
    return _where(build, build.emit("top.Abs", x), "Equal", 1, infinite, guess)


_POINTS_OF_F32 = (
    ((59.10937472, 159.29113202, 50.434271938, 3.3871327179),
     (67.1875636, 78.757757664, 17.895169469, 1.0)),
    ((0.17023821103, 1.3067284816, 2.75681539, 1.4234372777),
     (0.12021132975, 0.7370016425, 1.0)),
    ((0.017337203997, 0.42868294337, 3.081226386, 6.657905115),
     (0.012258202635, 0.24197894225, 1.0)),
)
"""Numerators and denominators, the highest power first: in the middle, in the tails, far out in the tails."""
_POINTS_OF_F64 = (
    ((2509.0809287301227, 33430.57558358813, 67265.7709270087, 45921.95393154987, 13731.69376550946, 1971.5909503065513,
      133.14166789178438, 3.3871328727963665),
     (5226.495278852854, 28729.085735721943, 39307.89580009271, 21213.794301586597, 5394.196021424751, 687.1870074920579,
      42.31333070160091, 1.0)),
    ((0.0007745450142783414, 0.022723844989269184, 0.2417807251774506, 1.2704582524523684, 3.6478483247632045,
      5.769497221460691, 4.630337846156546, 1.4234371107496835),
     (1.0507500716444169e-09, 0.0005475938084995345, 0.015198666563616457, 0.14810397642748008, 0.6897673349851,
      1.6763848301838038, 2.053191626637759, 1.0)),
    ((2.0103343992922881e-07, 2.7115555687434876e-05, 0.0012426609473880784, 0.026532189526576124, 0.29656057182850487,
      1.7848265399172913, 5.463784911164114, 6.657904643501103),
     (2.0442631033899397e-15, 1.421511758316446e-07, 1.8463183175100548e-05, 0.0007868691311456133, 0.014875361290850615,
      0.1369298809227358, 0.599832206555888, 1.0)),
)
"""The same with sixteen digits."""
_MIDDLE, _CENTRE, _OUTER = 0.425, (0.180625, 1.6, 5.0), 5.0
"""How far from 1/2 the middle reaches; what is subtracted in each of the three parts; where the last one begins."""


def ndtri(build: Builder, x: Value) -> Value:
    """The place below which so much of a normal distribution lies; infinite at 0 and 1, NaN beyond.

    Of the tail itself, which is x or `1 - x`: `2 x - 1` would have the digits of neither.
    """
    middle, tail, far = _POINTS_OF_F64 if x.element == F64 else _POINTS_OF_F32

    def ratio(at: Value, less: float, of: tuple[Sequence[float], Sequence[float]]) -> Value:
        moved = _add(build, at, -less)
        return build.emit("top.Div", *(_horner(build, moved, each) for each in of))

    off = _add(build, x, -0.5)
    square = build.emit("top.Neg", build.emit("top.Square", off))
    inner = _mul(build, ratio(square, -_CENTRE[0], middle), off)
    left = _where(build, x, "Less", 0.5, x, build.emit("top.Sub", scalar_like(build, x, 1), x))
    size = build.emit("top.Sqrt", build.emit("top.Neg", build.emit("top.Log", left)))
    outer = _where(build, size, "LessOrEqual", _OUTER, ratio(size, _CENTRE[1], tail), ratio(size, _CENTRE[2], far))
    outer = _where(build, left, "Equal", 0, scalar_like(build, x, math.inf), outer)
    outer = _mul(build, outer, build.emit("top.Sign", off))
    return _where(build, build.emit("top.Abs", off), "LessOrEqual", _MIDDLE, inner, outer)


# --- Bessel

_SPLIT = 8.0
"""Below, a series in x; above, one in 1 / x of the function times the root of x."""
_TERMS = 24


@cache
def _bessel_series(order: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Chebyshev coefficients of `exp(-x) I(x)` (order 1: over x) on [0, 8]; of the same times sqrt(x) on [8, inf) in 8 / x."""
    angle = (np.arange(4096) + 0.5) * (np.pi / 4096)

    def scaled(x: np.ndarray) -> np.ndarray:  # the midpoint rule is exact to the last digit for a periodic integrand
        return (np.exp(x[:, None] * (np.cos(angle) - 1)) * np.cos(order * angle)).mean(1)

    nodes = np.cos((np.arange(_TERMS) + 0.5) * np.pi / _TERMS)
    near = (nodes + 1) * _SPLIT / 2
    below = scaled(near) / near**order
    far = _SPLIT / np.maximum((nodes + 1) / 2, 1e-4)
    above = scaled(far) * np.sqrt(far)
    fit = np.polynomial.chebyshev.chebfit
    return tuple(fit(nodes, below, _TERMS - 1).tolist()), tuple(fit(nodes, above, 12).tolist())


def _clenshaw(build: Builder, t: Value, coefficients: Sequence[float]) -> Value:
    """A series of Chebyshev polynomials of t, by Clenshaw's recurrence."""
    twice = _mul(build, t, 2.0)
    after, total = scalar_like(build, t, 0.0), scalar_like(build, t, 0.0)
    for coefficient in reversed(coefficients[1:]):
        after, total = total, _add(build, build.emit("top.Sub", _mul(build, twice, total), after), coefficient)
    return _add(build, build.emit("top.Sub", _mul(build, t, total), after), coefficients[0])


def bessel(build: Builder, x: Value, order: int, scaled: bool) -> Value:
    """The modified Bessel function of the first kind of order 0 or 1; `scaled`: times `exp(-|x|)`."""
    size = build.emit("top.Abs", x)
    near, far = _bessel_series(order)
    inside = build.emit("top.Min", size, scalar_like(build, size, _SPLIT))
    low = _clenshaw(build, _add(build, _mul(build, inside, 2 / _SPLIT), -1.0), near)
    beyond = build.emit("top.Max", size, scalar_like(build, size, _SPLIT))
    ratio = _add(build, _mul(build, build.emit("top.Reciprocal", beyond), 2 * _SPLIT), -1.0)
    high = _mul(build, _clenshaw(build, ratio, far), build.emit("top.Rsqrt", beyond))
    if order:  # odd: near zero as x is
        low, high = _mul(build, low, x), _mul(build, high, build.emit("top.Sign", x))
    found = _where(build, size, "Less", _SPLIT, low, high)
    return found if scaled else _mul(build, found, build.emit("top.Exp", size))
