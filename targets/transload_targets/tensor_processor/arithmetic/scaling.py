"""Scaling of integer sums by a multiplier and a shift to the right, in every way of rounding that a chip may have.

`sum * multiplier / 2**shift`, rounded (TPU-MLIR manual 6.2; TOSA 1.0, 2.2 apply_scale_32):

`"double"`
    As gemmlowp: to the upper 32 bits first, halves up, then by the rest of the power of two, halves away from zero.
`"half-up"`
    Once; halves upwards. What hardware does that adds half of the last place and shifts.
`"half-away"`
    Once; halves away from zero, as C's `round`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["channels", "limits_of", "narrowed", "scaled"]


def scaled(values: np.ndarray, multiplier: Any, shift: Any, rounding: str = "double") -> np.ndarray:
    """`values * multiplier / 2**shift` rounded, as int64; `multiplier` and `shift` are numbers, or arrays that broadcast.

    The product has to fit in 63 bits: sums of 32 bits by multipliers of 31, or of 47 bits by 15.
    """
    shift = np.asarray(shift, np.int64)
    half = np.where(shift > 0, np.int64(1) << np.maximum(shift - 1, 0), 0)
    product = np.asarray(values, np.int64) * np.asarray(multiplier, np.int64)
    if rounding == "double":
        extra = np.where(shift > 31, np.int64(1 << 30), 0)
        half = half + np.where(np.asarray(values) >= 0, extra, -extra)
    elif rounding == "half-away":
        half = half - ((product < 0) & (shift > 0))
    return (product + half) >> shift


def limits_of(dtype: str) -> tuple[int, int]:
    """Least and greatest number of an integer type, by its name."""
    unsigned = dtype.startswith("u")
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    return (0, (1 << bits) - 1) if unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def narrowed(values: np.ndarray, dtype: str, low: float | None = None, high: float | None = None) -> np.ndarray:
    """Whole numbers as an integer type, saturated to its range and to `low` and `high` where these are given."""
    least, most = limits_of(dtype)
    least = least if low is None else max(least, int(low))
    most = most if high is None else min(most, int(high))
    return np.clip(values, least, most).astype(dtype)


def channels(constant: np.ndarray | None, rank: int, axis: int) -> Any:
    """A constant with a number for each channel (or one for all) as it broadcasts against a tensor; 0 where there is none."""
    if constant is None:
        return 0
    shape = [1] * rank
    shape[axis] = constant.size
    return constant.reshape(shape)
