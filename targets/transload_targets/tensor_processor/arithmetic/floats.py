"""Floats: widened, rounded, clamped; sums of products in one order."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

__all__ = ["clamped", "dtype_named", "in_order", "is_float", "wide"]

BLOCK = 1 << 15
"""Sums that are taken at a time: they and a term then stay in the cache."""


def dtype_named(name: str) -> np.dtype:
    """The dtype of a name: numpy's, or one of those that `ml_dtypes` adds."""
    return np.dtype(getattr(ml_dtypes, name, name))


def is_float(array: np.ndarray) -> bool:
    """Whether an array holds floats; numpy's own kind of bfloat16 is `V`."""
    return array.dtype.kind == "f" or str(array.dtype).startswith(("bfloat", "float"))


def wide(array: np.ndarray) -> np.ndarray:
    """Floats as float32, in which they are computed; contiguous, since some of numpy's functions round others otherwise."""
    return np.asarray(array, np.float32, order="C")


def clamped(real: np.ndarray, dtype: str, low: float | None = None, high: float | None = None) -> np.ndarray:
    """Numbers of float32 between `low` and `high`, where these are given, rounded to a float type; NaN stays."""
    if low is not None:
        real = np.maximum(real, np.float32(low))
    if high is not None:
        real = np.minimum(real, np.float32(high))
    return real.astype(dtype_named(dtype))


def in_order(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The matrix product `[P, K] @ [K, C]` of float32, term by term from the first to the last.

    A library for matrix products adds in an order that depends on how many rows and columns it is given; a slice would differ
    from the whole in the last bit.
    """
    rows, terms = left.shape
    columns = right.shape[1]
    sums = np.zeros((rows, columns), np.float32)
    step = max(1, BLOCK // max(columns, 1))
    buffer = np.empty((min(step, rows), columns), np.float32)
    for start in range(0, rows, step):
        part: Any = sums[start : start + step]
        across = np.ascontiguousarray(left[start : start + step].T)
        term = buffer[: len(part)]
        for k in range(terms):
            np.multiply(across[k][:, None], right[k], out=term)
            np.add(part, term, out=part)
    return sums
