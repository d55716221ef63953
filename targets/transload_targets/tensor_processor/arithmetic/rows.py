"""Operations over whole rows of elements: reductions, softmax. A row is reduced in one order, whatever is beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .floats import clamped, is_float, wide
from .scaling import limits_of, narrowed, scaled

__all__ = ["OPERATIONS", "REDUCTIONS", "arg", "reduce", "softmax"]

OPERATIONS = ("arg", "reduce", "softmax")

REDUCTIONS = ("sum", "mean", "max", "min", "prod", "all", "any")


def _as_rows(x: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """[.., count]: the reduced dimensions joined to the last one, contiguous, so that numpy sums each row by itself."""
    axes = tuple(axis % x.ndim for axis in axes)
    kept = tuple(axis for axis in range(x.ndim) if axis not in axes)
    turned = x.transpose((*kept, *sorted(axes)))
    return np.ascontiguousarray(turned).reshape(*(x.shape[axis] for axis in kept), -1)


_REAL: dict[str, Any] = {"sum": np.add, "mean": np.add, "max": np.maximum, "min": np.minimum, "prod": np.multiply}


def reduce(
    x: np.ndarray, *, dtype: str, function: str, axes: Sequence[int], input_zero: int = 0, output_zero: int = 0,
    multiplier: int | None = None, shift: int = 0, rounding: str = "double", low: float | None = None, high: float | None = None,
) -> np.ndarray:
    """Elements along `axes` as one, which stay with size 1; see `tpu.reduce`."""
    shape = [1 if axis in {each % x.ndim for each in axes} else size for axis, size in enumerate(x.shape)]
    floats = is_float(x)
    rows = _as_rows(wide(x) if floats else x, axes)
    if function in ("all", "any"):
        return (rows != 0).all(-1).reshape(shape) if function == "all" else (rows != 0).any(-1).reshape(shape)
    if floats:
        made = _REAL[function].reduce(rows, axis=-1)
        if function == "mean":
            made = made / np.float32(max(rows.shape[-1], 1))
        return clamped(made.reshape(shape), dtype, low, high)
    if function in ("max", "min"):
        return _REAL[function].reduce(rows, axis=-1).reshape(shape).astype(dtype)
    number = _REAL[function].reduce(rows.astype(np.int64) - input_zero, axis=-1).reshape(shape)
    if multiplier is not None:
        number = scaled(number, multiplier, shift, rounding)
    elif dtype == "int32" and low is None and high is None:
        return (number + output_zero).astype(np.int32)
    return narrowed(number + output_zero, dtype, low, high)


def arg(x: np.ndarray, *, dtype: str, function: str, axis: int, last: bool = False) -> np.ndarray:
    """Where along `axis`, which stays with size 1, the greatest or least element is; see `tpu.arg`. Floats' NaN is both."""
    numbers = wide(x) if is_float(x) else x
    find = np.argmax if function == "max" else np.argmin
    if last:
        found = x.shape[axis] - 1 - find(np.flip(numbers, axis), axis)
    else:
        found = find(numbers, axis)
    return np.expand_dims(found, axis).astype(dtype)


def softmax(
    x: np.ndarray, exponentials: np.ndarray | None = None, *, dtype: str, axis: int, beta: float = 1.0, log: bool = False,
) -> np.ndarray:
    """Exponentials of a row over their sum; of quantized numbers by a table of 256; see `tpu.softmax`."""
    rows = np.moveaxis(x, axis, -1)
    if is_float(x):
        moved = wide(rows) * np.float32(beta)
        moved = np.ascontiguousarray(moved - moved.max(axis=-1, keepdims=True))
        powers = np.exp(moved)
        total = np.add.reduce(powers, axis=-1, keepdims=True)
        made = clamped(moved - np.log(total) if log else powers / total, dtype)
    else:
        made = _fixed_point(rows, exponentials, dtype)  # type: ignore[arg-type]
    return np.ascontiguousarray(np.moveaxis(made, -1, axis))


def _high(a: Any, b: Any, bits: int = 31) -> Any:
    """`a * b / 2**bits` rounded, halves up."""
    return (np.asarray(a, np.int64) * np.asarray(b, np.int64) + (1 << (bits - 1))) >> bits


def _reciprocal(d: np.ndarray) -> np.ndarray:
    """`1/2 / d` in Q2.29 of `d` from 1/2 to 1 in Q0.31: three steps of Newton's method from 48/17 - 32/17 d (gemmlowp)."""
    x = _high(d, -1010580540) + 1515870810
    for _ in range(3):
        x = x + (_high(x, (1 << 29) - _high(d, x)) << 2)
    return np.asarray(x)


def _fixed_point(rows: np.ndarray, exponentials: np.ndarray, dtype: str) -> np.ndarray:
    """Softmax of rows of 8 bits as LiteRT's kernel: powers in Q0.31, their sum in Q12.19, its reciprocal, the product."""
    number = rows.astype(np.int64)
    powers = exponentials.astype(np.int64)[number - number.max(axis=-1, keepdims=True) + 255]
    total = ((powers + (1 << 11)) >> 12).sum(axis=-1, keepdims=True)
    zeros = 32 - np.vectorize(int.bit_length, otypes=[np.int64])(total)
    product = _high(powers, _reciprocal(total << (zeros - 1)), 30)
    least, most = limits_of(dtype)
    shift = 43 - int(math.log2(most - least + 1)) - zeros
    return narrowed(((product + (np.int64(1) << (shift - 1))) >> shift) + least, dtype)
