"""Kernels: functions of one operand, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....plugin import KernelTable
from .common import Array, finish, is_integer, wide

__all__ = ["KERNELS", "erf", "sigmoid", "softplus"]

KERNELS = KernelTable()


# --- functions that numpy lacks

_GRID = 1.0 / 16
"""Distance between the points around which `erf` is expanded."""
_POINTS = np.arange(-97, 98) * _GRID
_ERF_AT_POINTS = np.array([math.erf(point) for point in _POINTS])


def erf(x: Array) -> Array:
    """The error function, to about 1e-16, in the type of `x`.

    A Taylor series around the nearest of a grid of points, where the value is known. With
    `g = 2/sqrt(pi) * exp(-p*p)`, the derivatives are g times (signed) Hermite polynomials of p, whose recurrence
    `H[n+1] = 2 p H[n] - 2 n H[n-1]` gives the terms.
    """
    real = np.clip(np.asarray(x, np.float64), -6.0, 6.0)
    where = np.nan_to_num(np.rint(real / _GRID)).astype(np.int64)
    point = where * _GRID
    step = point - real  # the series in -h has Hermite polynomials without alternating signs
    older, newer = np.zeros_like(point), np.ones_like(point)
    power = step.copy()
    series = power.copy()
    for n in range(1, 10):
        older, newer = newer, 2 * point * newer - 2 * (n - 1) * older
        power = power * step / (n + 1)
        series += newer * power
    value = _ERF_AT_POINTS[where + 97] - 2 / math.sqrt(math.pi) * np.exp(-point * point) * series
    return value.astype(x.dtype, copy=False)


def sigmoid(x: Array) -> Array:
    """`1 / (1 + exp(-x))` without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def softplus(x: Array) -> Array:
    """`log(1 + exp(x))` without overflow."""
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)


def log_sigmoid(x: Array) -> Array:
    """`log(sigmoid(x))` without underflow."""
    return -softplus(-x)


def _function(name: str, function: Callable[[Array], Any]) -> None:
    """A kernel that is one function of the array."""

    def kernel(op: Any, x: Array) -> Array:
        with np.errstate(all="ignore"):
            return finish(op, function(wide(x)))

    KERNELS(f"top.{name}")(kernel)


def _integers_stay(function: Callable[[Array], Any]) -> Callable[[Array], Any]:
    """A rounding, which leaves integers as they are."""
    return lambda x: x if is_integer(x) else function(x)


_FUNCTIONS: dict[str, Callable[[Array], Any]] = {
    "Abs": np.abs, "Neg": np.negative, "Sign": np.sign, "Square": np.square,
    "Floor": _integers_stay(np.floor), "Ceil": _integers_stay(np.ceil), "Round": _integers_stay(np.rint),
    "Exp": np.exp, "Log": np.log, "Log1p": np.log1p, "Sqrt": np.sqrt, "Reciprocal": np.reciprocal,
    "Rsqrt": lambda x: 1 / np.sqrt(x), "Erf": erf,
    "Sin": np.sin, "Cos": np.cos, "Tan": np.tan, "Asin": np.arcsin, "Acos": np.arccos, "Atan": np.arctan,
    "Sinh": np.sinh, "Cosh": np.cosh, "Tanh": np.tanh, "Asinh": np.arcsinh, "Acosh": np.arccosh, "Atanh": np.arctanh,
    "IsNaN": np.isnan, "IsInf": np.isinf, "LogicalNot": np.logical_not, "BitwiseNot": np.bitwise_not,
    "SiLU": lambda x: x * sigmoid(x), "Softplus": softplus, "Softsign": lambda x: x / (1 + np.abs(x)),
    "Mish": lambda x: x * np.tanh(softplus(x)), "HardSwish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
}
for _name, _of_array in _FUNCTIONS.items():
    _function(_name, _of_array)


# --- functions with attributes

def _activation(name: str) -> Callable[[Callable[[Any, Array], Any]], Callable[[Any, Array], Any]]:
    """Make of `function(op, wide array)` the kernel of an op."""

    def add(function: Callable[[Any, Array], Any]) -> Callable[[Any, Array], Any]:
        def kernel(op: Any, x: Array) -> Array:
            with np.errstate(all="ignore"):
                return finish(op, function(op, wide(x)))

        KERNELS(name)(kernel)
        return function

    return add


@_activation("top.Relu")
def relu(op: Any, x: Array) -> Array:
    y = np.maximum(x, x.dtype.type(0))
    limit = op.relu_limit
    if limit < 0 or (is_integer(x) and limit >= np.iinfo(x.dtype).max):
        return y
    return np.minimum(y, x.dtype.type(limit))


@_activation("top.LeakyRelu")
def leaky_relu(op: Any, x: Array) -> Array:
    return np.where(x >= 0, x, x * op.alpha)


@KERNELS("top.PRelu")
def prelu(op: Any, x: Array, slope: Array) -> Array:
    x = wide(x)
    return finish(op, np.where(x >= 0, x, x * wide(slope)))


@_activation("top.Sigmoid")
def sigmoid_kernel(op: Any, x: Array) -> Array:
    if op.scale == 1.0 and op.bias == 0.0:
        return log_sigmoid(x) if op.log else sigmoid(x)
    y = op.scale * sigmoid(x) + op.bias
    return np.log(y) if op.log else y


@_activation("top.HardSigmoid")
def hard_sigmoid(op: Any, x: Array) -> Array:
    return np.clip(x * op.alpha + op.beta, 0, 1)


@_activation("top.GELU")
def gelu(op: Any, x: Array) -> Array:
    if op.approx:
        return x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return x * 0.5 * (1 + erf(x * math.sqrt(0.5)))


@_activation("top.Elu")
def elu(op: Any, x: Array) -> Array:
    return np.where(x >= 0, x, op.alpha * np.expm1(np.minimum(x, 0)))


@_activation("top.Selu")
def selu(op: Any, x: Array) -> Array:
    return op.gamma * np.where(x >= 0, x, op.alpha * np.expm1(np.minimum(x, 0)))


@_activation("top.Celu")
def celu(op: Any, x: Array) -> Array:
    return np.maximum(x, 0) + np.minimum(op.alpha * np.expm1(x / op.alpha), 0)


@_activation("top.ThresholdedRelu")
def thresholded_relu(op: Any, x: Array) -> Array:
    return np.where(x > op.alpha, x, 0)


@_activation("top.Shrink")
def shrink(op: Any, x: Array) -> Array:
    return np.where(x > op.lambd, x - op.bias, np.where(x < -op.lambd, x + op.bias, 0))


@_activation("top.Clip")
def clip(op: Any, x: Array) -> Array:
    low, high = op.attribute("min"), op.attribute("max")
    if not is_integer(x):
        return np.minimum(np.maximum(x, x.dtype.type(low)), x.dtype.type(high))
    limits = np.iinfo(x.dtype)
    if low > limits.min:
        x = np.maximum(x, limits.max if low >= limits.max else x.dtype.type(math.ceil(low)))
    if high < limits.max:
        x = np.minimum(x, limits.min if high <= limits.min else x.dtype.type(math.floor(high)))
    return x


@_activation("top.Softmax")
def softmax(op: Any, x: Array) -> Array:
    scaled = x if op.beta == 1.0 else x * op.beta
    if not scaled.size:
        return scaled
    shifted = scaled - scaled.max(axis=op.axis, keepdims=True)
    exponentials = np.exp(shifted)
    total = exponentials.sum(axis=op.axis, keepdims=True, dtype=np.float64)
    return shifted - np.log(total).astype(x.dtype) if op.log else exponentials / total.astype(x.dtype)
