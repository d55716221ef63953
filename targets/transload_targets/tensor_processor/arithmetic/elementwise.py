"""Elementwise operations of two tensors that broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np

from .floats import clamped, is_float, wide
from .scaling import narrowed, scaled

__all__ = ["OPERATIONS", "add", "maximum", "minimum", "mul"]

OPERATIONS = ("add", "mul", "maximum", "minimum")


def _term(x: np.ndarray, zero: int, left_shift: int, multiplier: int | None, shift: int, rounding: str) -> np.ndarray:
    """An operand less its zero point, with `left_shift` bits of fraction, scaled where a multiplier is given."""
    number = (x.astype(np.int64) - zero) << left_shift
    return number if multiplier is None else scaled(number, multiplier, shift, rounding)


def _result(
    number: np.ndarray, multiplier: int | None, shift: int, rounding: str, output_zero: int, dtype: str,
    low: float | None, high: float | None,
) -> np.ndarray:
    """Whole numbers, scaled where a multiplier is given, in the result's type; 32 bits without one wrap."""
    if multiplier is not None:
        number = scaled(number, multiplier, shift, rounding)
    elif dtype == "int32" and low is None and high is None:
        return (number + output_zero).astype(np.int32)
    return narrowed(number + output_zero, dtype, low, high)


def add(
    a: np.ndarray, b: np.ndarray, *, dtype: str, subtract: bool = False, a_zero: int = 0, b_zero: int = 0, output_zero: int = 0,
    left_shift: int = 0, a_multiplier: int | None = None, a_shift: int = 0, b_multiplier: int | None = None, b_shift: int = 0,
    multiplier: int | None = None, shift: int = 0, rounding: str = "double", low: float | None = None, high: float | None = None,
) -> np.ndarray:
    """`a + b`, or `a - b`; of quantized numbers each first on a common scale; see `tpu.add`."""
    if is_float(a):
        left, right = wide(a), wide(b)
        return clamped(left - right if subtract else left + right, dtype, low, high)
    left = _term(a, a_zero, left_shift, a_multiplier, a_shift, rounding)
    right = _term(b, b_zero, left_shift, b_multiplier, b_shift, rounding)
    return _result(left - right if subtract else left + right, multiplier, shift, rounding, output_zero, dtype, low, high)


def mul(
    a: np.ndarray, b: np.ndarray, *, dtype: str, a_zero: int = 0, b_zero: int = 0, output_zero: int = 0,
    multiplier: int | None = None, shift: int = 0, rounding: str = "double", low: float | None = None, high: float | None = None,
) -> np.ndarray:
    """`a * b`, of quantized numbers scaled once; see `tpu.mul`."""
    if is_float(a):
        return clamped(wide(a) * wide(b), dtype, low, high)
    product = (a.astype(np.int64) - a_zero) * (b.astype(np.int64) - b_zero)
    return _result(product, multiplier, shift, rounding, output_zero, dtype, low, high)


def _extreme(join: Any, a: np.ndarray, b: np.ndarray, dtype: str) -> np.ndarray:
    return clamped(join(wide(a), wide(b)), dtype) if is_float(a) else join(a, b).astype(dtype)


def maximum(a: np.ndarray, b: np.ndarray, *, dtype: str) -> np.ndarray:
    """The greater of two elements of one type."""
    return _extreme(np.maximum, a, b, dtype)


def minimum(a: np.ndarray, b: np.ndarray, *, dtype: str) -> np.ndarray:
    """The lesser of two elements of one type."""
    return _extreme(np.minimum, a, b, dtype)
