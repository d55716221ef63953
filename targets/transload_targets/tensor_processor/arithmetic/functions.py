"""Functions of one number and of two, and choices: what a chip's special function unit computes, in float32."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from transload_hub.kernels.common import raised
from transload_hub.kernels.unary import erf, sigmoid, softplus

from .floats import clamped, dtype_named, is_float, wide

__all__ = ["BINARY", "OPERATIONS", "UNARY", "binary", "select", "unary"]

OPERATIONS = ("binary", "select", "unary")

Real = np.ndarray


def _gelu(x: Real) -> Real:
    return x * np.float32(0.5) * (1 + erf(x * np.float32(math.sqrt(0.5))))


def _gelu_tanh(x: Real) -> Real:
    return x * np.float32(0.5) * (1 + np.tanh(np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x * x * x)))


UNARY: dict[str, Callable[..., Any]] = {
    "abs": np.abs, "ceil": np.ceil, "cos": np.cos, "erf": erf, "exp": np.exp, "floor": np.floor, "gelu": _gelu,
    "gelu_tanh": _gelu_tanh, "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6, "identity": lambda x: x, "log": np.log,
    "mish": lambda x: x * np.tanh(softplus(x)), "negate": np.negative, "reciprocal": np.reciprocal, "round": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": sigmoid, "sign": np.sign, "silu": lambda x: x * sigmoid(x), "sin": np.sin,
    "softplus": softplus, "sqrt": np.sqrt, "square": np.square, "tanh": np.tanh,
}
"""Functions of one float."""

_WITH_ALPHA: dict[str, Callable[..., Any]] = {
    "add": lambda x, alpha: x + alpha, "elu": lambda x, alpha: np.where(x >= 0, x, alpha * np.expm1(np.minimum(x, 0))),
    "leaky_relu": lambda x, alpha: np.where(x >= 0, x, x * alpha), "mul": lambda x, alpha: x * alpha,
}
"""Functions of one float and a constant."""

BINARY: dict[str, Callable[..., Any]] = {
    "div": np.divide, "pow": raised, "prelu": lambda x, slope: np.where(x >= 0, x, x * slope),
    "squared_difference": lambda a, b: np.square(a - b), "atan2": np.arctan2,
    "floor_div": lambda a, b: np.floor(a / b),
}
"""Functions of two floats."""


def _shift_right(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Arithmetically; by as many bits as there are and more only the sign is left, by less than none all (`top.ShiftRight`)."""
    bits = 8 * a.dtype.itemsize - 1
    return np.right_shift(a, np.clip(b, 0, bits).astype(a.dtype))


_WHOLE: dict[str, Callable[..., Any]] = {"floor_div": np.floor_divide, "shift_right": _shift_right}
"""Functions of two integers."""

_RELATIONS: dict[str, Callable[..., Any]] = {
    "equal": np.equal, "not_equal": np.not_equal, "greater": np.greater, "greater_equal": np.greater_equal, "less": np.less,
    "less_equal": np.less_equal,
}
_LOGIC: dict[str, Callable[..., Any]] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def unary(
    x: np.ndarray, *, dtype: str, function: str, alpha: float = 0.0, low: float | None = None, high: float | None = None,
) -> np.ndarray:
    """A function of each float, or `not` of truth values; see `tpu.unary`."""
    if function == "not":
        return np.logical_not(x)
    real = wide(x)
    with np.errstate(all="ignore"):
        made = UNARY[function](real) if function in UNARY else _WITH_ALPHA[function](real, np.float32(alpha))
    return clamped(np.asarray(made, np.float32), dtype, low, high)


def binary(a: np.ndarray, b: np.ndarray, *, dtype: str, function: str) -> np.ndarray:
    """A function of two floats or integers, a relation of two numbers, a connection of two truth values; see `tpu.binary`."""
    if function in _LOGIC:
        return np.asarray(_LOGIC[function](a, b))
    if function in _RELATIONS:
        left, right = (wide(a), wide(b)) if is_float(a) else (a, b)
        return np.asarray(_RELATIONS[function](left, right))
    if not is_float(a):
        with np.errstate(all="ignore"):
            return np.asarray(_WHOLE[function](a, b)).astype(dtype)
    # contiguous and of one shape: some of numpy's loops round other operands otherwise
    left, right = (np.ascontiguousarray(each) for each in np.broadcast_arrays(wide(a), wide(b)))
    with np.errstate(all="ignore"):
        made = np.asarray(BINARY[function](left, right), np.float32).reshape(np.broadcast_shapes(a.shape, b.shape))
    return clamped(made, dtype)


def select(condition: np.ndarray, a: np.ndarray, b: np.ndarray, *, dtype: str) -> np.ndarray:
    """`a` where the condition holds, `b` elsewhere."""
    return np.where(condition, a, b).astype(dtype_named(dtype), copy=False)


UNARY_NAMES = (*UNARY, *_WITH_ALPHA, "not")
BINARY_NAMES = (*dict.fromkeys((*BINARY, *_WHOLE)), *_RELATIONS, *_LOGIC)
RELATIONS = (*_RELATIONS, *_LOGIC)
