"""From one element type to another: casts, quantization, dequantization, requantization."""

from __future__ import annotations

from typing import Any

import numpy as np

from .floats import dtype_named, is_float, wide
from .scaling import limits_of, narrowed, scaled

__all__ = ["OPERATIONS", "cast", "requantize"]

OPERATIONS = ("cast", "requantize")


def requantize(
    x: np.ndarray, *, dtype: str, input_zero: int = 0, output_zero: int = 0, multiplier: int | None = None, shift: int = 0,
    rounding: str = "double", low: float | None = None, high: float | None = None,
) -> np.ndarray:
    """Integers less a zero point, scaled, with another zero point, saturated; see `tpu.requantize`."""
    number = x.astype(np.int64) - input_zero
    if multiplier is not None:
        number = scaled(number, multiplier, shift, rounding)
    return narrowed(number + output_zero, dtype, low, high)


def _half_away(real: np.ndarray) -> np.ndarray:
    return np.trunc(real + np.copysign(0.5, real))


_ROUND: dict[str, Any] = {"half-away": _half_away, "half-even": np.rint, "truncate": np.trunc}


def cast(
    x: np.ndarray, greatest: np.ndarray | None = None, *, dtype: str, scale: float | None = None, zero: int = 0,
    mode: str = "half-away", wrap: bool = False, fraction: int = 0, away: bool = False, full: float = 1.0,
) -> np.ndarray:
    """Floats rounded to integers, integers as floats, floats as other floats; see `tpu.cast`."""
    target = dtype_named(dtype)
    floats = is_float(x)
    if greatest is not None:
        with np.errstate(all="ignore"):
            x = wide(x) * (np.float32(full) / wide(greatest))
    if fraction:
        fixed = cast(x, dtype="int32", mode=mode, wrap=wrap)
        return (fixed + ((fixed >> 31) * np.int32(away) + np.int32(1 << (fraction - 1))) >> fraction).astype(target)
    with np.errstate(all="ignore"):
        if target.kind not in "iub":
            if not floats and scale is not None:
                return ((x.astype(np.int64) - zero) * np.float64(scale)).astype(np.float32).astype(target)
            return (wide(x) if floats else x.astype(np.float64).astype(np.float32)).astype(target)
        if target.kind == "b":
            return x != 0
        if not floats and scale is None:
            return x.astype(target) if wrap else narrowed(x.astype(np.int64), dtype)
        real = wide(x) / np.float32(1.0 if scale is None else scale)
        whole = _ROUND[mode](np.nan_to_num(real.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)) + zero
        if wrap:
            return _low_bits(whole, target)
    return np.clip(whole, *limits_of(dtype)).astype(np.int64).astype(target)


def _low_bits(whole: np.ndarray, target: np.dtype) -> np.ndarray:
    """Whole numbers, in floats, as the low bits of an integer type; infinities are 0."""
    finite = np.where(np.isinf(whole), 0.0, whole)
    inside = np.abs(finite) < 2.0**63
    return np.where(inside, finite, np.fmod(finite, 2.0 ** (8 * target.itemsize))).astype(np.int64).astype(target)
