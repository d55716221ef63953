"""Mathematical functions that the hub has no op for, from those that it has, by forms that do not cancel."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from transload.ir import F64, Value
from transload.ir.build import Builder

from .build import scalar_like

__all__ = ["erfc", "expm1", "log_erfc"]


def expm1(build: Builder, x: Value) -> Value:
    """`exp(x) - 1` of floats as `tanh(x/2) * (exp(x) + 1)`, which loses no digits near zero."""
    half = build.emit("top.Tanh", build.emit("top.Mul", x, scalar_like(build, x, 0.5)))
    return build.emit("top.Mul", half, build.emit("top.Add", build.emit("top.Exp", x), scalar_like(build, x, 1)))


@lru_cache(maxsize=2)
def _scaled_tail(first: float, last: float, degree: int) -> tuple[float, ...]:
    """The coefficients in `1/x` of `x * exp(x^2) * erfc(x)` from `first` to `last`: what interpolates it in Chebyshev's nodes."""
    def wanted(u: float) -> float:
        return math.exp(u**-2) * math.erfc(1 / u) / u

    domain = [1 / last, 1 / first]
    fitted = np.polynomial.Chebyshev.interpolate(np.vectorize(wanted), degree, domain=domain)
    return tuple(map(float, fitted.convert(kind=np.polynomial.Polynomial, domain=[-1, 1], window=[-1, 1]).coef))


def erfc(build: Builder, x: Value) -> Value:
    """`1 - erf(x)` of floats, which cancels far above zero; there `exp(-x^2) / x` times a polynomial in `1/x`.

    As exact as `exp(-x^2)`: 4e-6 of the number in f32 at x = 9, behind which it is denormal.
    """
    away, is_near, scaled = _far(build, x)
    power = build.emit("top.Exp", build.emit("top.Neg", build.emit("top.Mul", away, away)))
    tail = build.emit("top.Mul", power, scaled)
    is_below = build.emit("top.Compare", x, scalar_like(build, x, 0), mode="Less")
    far = build.emit("top.Where", is_below, build.emit("top.Sub", scalar_like(build, x, 2), tail), tail)
    near = build.emit("top.Sub", scalar_like(build, x, 1), build.emit("top.Erf", x))
    # a number that is none is not near: the tail hands it on
    return build.emit("top.Where", is_near, near, far)


def log_erfc(build: Builder, x: Value) -> Value:
    """`log(erfc(x))` of floats: far above zero, where erfc is 0, the logarithm of `exp(x^2) * erfc(x)`, less `x^2`."""
    away, _, scaled = _far(build, x)
    far = build.emit("top.Sub", build.emit("top.Log", scaled), build.emit("top.Mul", away, away))
    is_far = build.emit("top.Compare", x, scalar_like(build, x, 2), mode="Greater")
    near = build.emit("top.Log", erfc(build, x))
    return build.emit("top.Where", is_far, far, near)


def _far(build: Builder, x: Value) -> tuple[Value, Value, Value]:
    """`|x|`, or where erfc's tail begins, which is more; whether it is that near; and `exp(x^2) * erfc(x)` of it."""
    split, last, degree = (2.0, 26.0, 16) if x.element == F64 else (1.0, 10.5, 10)
    coefficients = _scaled_tail(split, last, degree)
    size = build.emit("top.Abs", x)
    is_near = build.emit("top.Compare", size, scalar_like(build, x, split), mode="Less")
    away = build.emit("top.Where", is_near, scalar_like(build, x, split), size)  # a maximum loses NaN in some runtimes
    inverse = build.emit("top.Reciprocal", away)
    total = scalar_like(build, x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = build.emit("top.Add", build.emit("top.Mul", total, inverse), scalar_like(build, x, coefficient))
    return away, is_near, build.emit("top.Mul", inverse, total)
