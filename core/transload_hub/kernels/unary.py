"""Kernels: functions of one operand, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import Op
from transload.plugin import KernelTable

from .common import Array, finish, is_integer, wide

if TYPE_CHECKING:
    from ..ops.activation import (
        GELU,
        Celu,
        Clip,
        Elu,
        HardSigmoid,
        LeakyRelu,
        PRelu,
        Relu,
        Selu,
        Shrink,
        Sigmoid,
        Softmax,
        ThresholdedRelu,
    )

__all__ = ["FUNCTIONS", "KERNELS", "erf", "sigmoid", "softplus"]

KERNELS = KernelTable()


# --- functions that numpy lacks

_STEPS = 16
"""Grid points per unit around which `erf` is expanded."""
_END = 6
"""Beyond it `erf` is 1 in double precision."""


def _erf_coefficients(order: int) -> Array:
    """Taylor coefficients of the error function at the grid points from -_END to _END: [order + 1, points].

    The derivative number n at p is `2/sqrt(pi) * exp(-p*p) * (-1)^(n-1) * H[n-1](p)`, with Hermite polynomials
    `H[n+1] = 2 p H[n] - 2 n H[n-1]`.
    """
    points = np.arange(-_END * _STEPS, _END * _STEPS + 1) / _STEPS
    slope = 2 / math.sqrt(math.pi) * np.exp(-points * points)
    rows = [np.array([math.erf(point) for point in points])]
    older, newer = np.zeros_like(points), np.ones_like(points)
    for n in range(1, order + 1):
        rows.append(slope * (-1) ** (n - 1) * newer / math.factorial(n))
        older, newer = newer, 2 * points * newer - 2 * (n - 1) * older
    return np.stack(rows)


_ERF = _erf_coefficients(9)


def erf(x: Array) -> Array:
    """The error function, in the type of `x` and to its precision: a Taylor series around the nearest grid point."""
    real = np.clip(np.asarray(x, np.float64), -_END, _END)
    point = np.rint(real * _STEPS)
    step = real - point / _STEPS
    where = np.nan_to_num(point).astype(np.int64) + _END * _STEPS
    coefficients = _ERF if x.dtype.itemsize > 4 else _ERF[:6]
    value = coefficients[-1].take(where)
    for row in coefficients[-2::-1]:
        value *= step
        value += row.take(where)
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

    def kernel(op: Op, x: Array) -> Array:
        with np.errstate(all="ignore"):
            return finish(op, function(wide(x)))

    KERNELS(f"top.{name}")(kernel)


def _integers_stay(function: Callable[[Array], Any]) -> Callable[[Array], Any]:
    """A rounding, which leaves integers as they are."""
    return lambda x: x if is_integer(x) else function(x)


FUNCTIONS: dict[str, Callable[[Array], Any]] = {
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
"""Functions of the elements, by the names of their ops without `top.`."""
for _name, _of_array in FUNCTIONS.items():
    _function(_name, _of_array)


# --- functions with attributes

def _activation(name: str) -> Callable[[Callable[[Any, Array], Any]], Callable[[Any, Array], Any]]:
    """Make of `function(op, wide array)` the kernel of an op."""

    def add(function: Callable[[Any, Array], Any]) -> Callable[[Any, Array], Any]:
        def kernel(op: Op, x: Array) -> Array:
            with np.errstate(all="ignore"):
                return finish(op, function(op, wide(x)))

        KERNELS(name)(kernel)
        return function

    return add


@_activation("top.Relu")
def relu(op: Relu, x: Array) -> Array:
    y = np.maximum(x, x.dtype.type(0))
    limit = op.relu_limit
    if limit < 0 or (is_integer(x) and limit >= np.iinfo(x.dtype).max):
        return y
    return np.minimum(y, x.dtype.type(limit))


@_activation("top.LeakyRelu")
def leaky_relu(op: LeakyRelu, x: Array) -> Array:
    return np.where(x >= 0, x, x * op.alpha)


@KERNELS("top.PRelu")
def prelu(op: PRelu, x: Array, slope: Array) -> Array:
    x = wide(x)
    return finish(op, np.where(x >= 0, x, x * wide(slope)))


@_activation("top.Sigmoid")
def sigmoid_kernel(op: Sigmoid, x: Array) -> Array:
    if op.scale == 1.0 and op.bias == 0.0:
        return log_sigmoid(x) if op.log else sigmoid(x)
    y = op.scale * sigmoid(x) + op.bias
    return np.log(y) if op.log else y


@_activation("top.HardSigmoid")
def hard_sigmoid(op: HardSigmoid, x: Array) -> Array:
    return np.clip(x * op.alpha + op.beta, 0, 1)


@_activation("top.GELU")
def gelu(op: GELU, x: Array) -> Array:
    if op.approx:
        return x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return x * 0.5 * (1 + erf(x * math.sqrt(0.5)))


@_activation("top.Elu")
def elu(op: Elu, x: Array) -> Array:
    return np.where(x >= 0, x, op.alpha * np.expm1(np.minimum(x, 0)))


@_activation("top.Selu")
def selu(op: Selu, x: Array) -> Array:
    return op.gamma * np.where(x >= 0, x, op.alpha * np.expm1(np.minimum(x, 0)))


@_activation("top.Celu")
def celu(op: Celu, x: Array) -> Array:
    return np.maximum(x, 0) + np.minimum(op.alpha * np.expm1(x / op.alpha), 0)


@_activation("top.ThresholdedRelu")
def thresholded_relu(op: ThresholdedRelu, x: Array) -> Array:
    return np.where(x > op.alpha, x, 0)


@_activation("top.Shrink")
def shrink(op: Shrink, x: Array) -> Array:
    return np.where(x > op.lambd, x - op.bias, np.where(x < -op.lambd, x + op.bias, 0))


@_activation("top.Clip")
def clip(op: Clip, x: Array) -> Array:
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
def softmax(op: Softmax, x: Array) -> Array:
    scaled = x if op.beta == 1.0 else x * op.beta
    if not scaled.size:
        return scaled
    shifted = scaled - scaled.max(axis=op.axis, keepdims=True)
    exponentials = np.exp(shifted)
    total = exponentials.sum(axis=op.axis, keepdims=True, dtype=np.float64)
    return shifted - np.log(total).astype(x.dtype) if op.log else exponentials / total.astype(x.dtype)
