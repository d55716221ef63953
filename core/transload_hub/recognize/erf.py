"""The error function as the rational approximation that StableHLO has in its place.

JAX exports `erf` and `erfc` of CHLO as some forty to seventy elementwise ops on `x`: polynomials chosen so that the
result is the function to float32's precision. Which polynomials they are changes with the compiler's version; what
they compute does not. So the ops between are run on sample numbers, and compared with the function itself.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from transload.ir import F32, Op, Value
from transload.plugin_host import host
from transload.rewrite import Rewriter, RewriteTable

from ..algebra.affine import used_once
from ..algebra.match import is_static_float, made_by, number, only_serves, product

__all__ = ["TABLE", "is_complementary_error_function"]

TABLE = RewriteTable()

_LARGEST = 160
"""How many ops an approximation has at most."""
_SMALLEST = 12


@cache
def _samples() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers near zero, in between and far out, of both signs, with `erf` and `erfc` of each."""
    positive = np.concatenate([np.logspace(-30, -3, 40), np.linspace(0.001, 12, 1200), np.logspace(1.1, 30, 20)])
    x = np.concatenate([-positive[::-1], [0.0], positive]).astype(np.float32)
    return x, np.array([math.erf(v) for v in x]), np.array([math.erfc(v) for v in x])


def _curve(value: Value, leaf: Value) -> np.ndarray | None:
    """The values that `value`, a function of `leaf` alone, takes at the samples; None where it is another thing."""
    known: dict[Value, Any] = {leaf: _samples()[0]}
    made = 0

    def compute(value: Value, depth: int) -> Any:
        nonlocal made
        if value in known:
            return known[value]
        op = value.op
        constant = number(value)
        if constant is not None:
            return np.asarray(constant, np.float32)
        if op is None or depth > _LARGEST or made > _LARGEST or op.declaration is None:
            return None
        kernel = host().kernel(op.name)
        if "elementwise" not in op.declaration.traits or kernel is None or len(op.results) != 1 or value.shape != leaf.shape:
            return None
        inputs = [compute(operand, depth + 1) for operand in op.operands]
        if any(array is None for array in inputs):
            return None
        made += 1
        known[value] = kernel[0](op, *inputs)
        return known[value]

    with np.errstate(all="ignore"):
        result = compute(value, 0)
    return result if made >= _SMALLEST else None


def _fits(curve: np.ndarray | None, wanted: np.ndarray, relative: float) -> bool:
    """Whether a curve is the wanted one to float32's precision, and to `relative` where that is small but no denormal."""
    if curve is None or curve.shape != wanted.shape:
        return False
    error = np.abs(curve.astype(np.float64) - wanted)
    large = np.abs(wanted) > 1e-36
    return bool((error <= 1e-6).all() and (error[large] <= relative * np.abs(wanted[large])).all())


@TABLE("top.Clip", "top.Div", "top.Mul")
def error_function(op: Op, rw: Rewriter) -> Value | None:
    """`x * P(x^2) / Q(x^2)` with x clipped to where `erf` is not 1, and perhaps the result clipped to [-1, 1]."""
    value = op.results[0]
    if not is_static_float(value) or value.element != F32:
        return None
    ratio: Value = value
    if op.name == "top.Clip":
        if (op.min, op.max) != (-1.0, 1.0) or not used_once(op.operands[0]):
            return None
        ratio = op.operands[0]
    clips: list[Any] = [made_by(part, "Clip") for part in product(ratio).over]
    clipped = [clip for clip in clips if clip is not None and clip.min == -clip.max and 3 <= clip.max <= 6]
    if len(clipped) != 1:
        return None
    leaf = clipped[0].input
    if not only_serves(op, [leaf]) or not _fits(_curve(value, leaf), _samples()[1], 1e-5):
        return None
    return rw.emit("top.Erf", leaf)


def is_complementary_error_function(value: Value) -> Value | None:
    """The u for which a value is `erfc(u) = 1 - erf(u)` written out: near 0 by one polynomial, else by others. Or None."""
    op = made_by(value, "Where")
    test = made_by(op.condition, "Compare") if op is not None else None
    if test is None or not is_static_float(value) or value.element != F32:
        return None
    size = made_by(test.lhs, "Abs") or made_by(test.rhs, "Abs")
    if size is None:
        return None
    leaf: Value = size.input
    return leaf if _fits(_curve(value, leaf), _samples()[2], 1e-3) else None
