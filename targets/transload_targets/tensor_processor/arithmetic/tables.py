"""Functions by tables."""

from __future__ import annotations

import numpy as np

from .scaling import limits_of, narrowed

__all__ = ["OPERATIONS", "table"]

OPERATIONS = ("table",)

INT16_STEP = 7
"""Bits of an int16 number between two places of its table of 513."""


def table(x: np.ndarray, entries: np.ndarray, *, dtype: str) -> np.ndarray:
    """`entries` [256] at each number of 8 bits, or interpolated between [513] at each of 16; see `tpu.table`."""
    place = x.astype(np.int64) - limits_of(str(x.dtype))[0]
    if x.dtype.itemsize == 1:
        return entries[place].astype(dtype)
    whole, part = place >> INT16_STEP, place & ((1 << INT16_STEP) - 1)
    low, high = entries[whole].astype(np.int64), entries[whole + 1].astype(np.int64)
    between = (low << INT16_STEP) + (high - low) * part
    return narrowed((between + (1 << (INT16_STEP - 1))) >> INT16_STEP, dtype)
