"""`tosa.cast` and `tosa.rescale`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import BOOL, FloatType

from ..dialect.base import storage_of
from .base import apply_scale, float_of, kernel, limits, result_dtype, scalar_of

if TYPE_CHECKING:
    from ..dialect.conversion import ApplyScale, Cast, Rescale

CHUNK = 1 << 15
"""Elements rescaled at a time: their 64-bit form then stays in the cache."""


@kernel("tosa.cast")
def cast(op: Cast, x: np.ndarray) -> np.ndarray:
    """To integers: nearest, ties to even, saturated, NaN is 0; between integers bits are cut; anything but 0 is true."""
    source, target = storage_of(op.operands[0]), storage_of(op.results[0])
    dtype = result_dtype(op)
    if target == BOOL:
        return x != 0
    if not isinstance(source, FloatType):
        if isinstance(target, FloatType) and dtype.itemsize < 4:
            return x.astype(np.float32 if x.dtype.itemsize < 4 else np.float64).astype(dtype)
        return x.astype(dtype)
    if isinstance(target, FloatType):
        return x.astype(dtype)
    low, high = limits(op)
    rounded = np.rint(float_of(x).astype(np.float64))
    return np.clip(np.nan_to_num(rounded, nan=0, posinf=high, neginf=low), low, high).astype(np.int64).astype(dtype)


@kernel("tosa.rescale")
def rescale(
    op: Rescale, x: np.ndarray, multiplier: np.ndarray, shift: np.ndarray, input_zp: np.ndarray, output_zp: np.ndarray,
) -> np.ndarray:
    """`apply_scale(x - input_zp, multiplier, shift) + output_zp`, saturated; see the declaration.

    The 64-bit arithmetic goes by chunks through one buffer.
    """
    attributes = op.attributes
    unsigned_in, unsigned_out = attributes["input_unsigned"], attributes["output_unsigned"]
    if unsigned_in:
        x = x.view(f"uint{8 * x.dtype.itemsize}")
    dtype = result_dtype(op)
    low, high = limits(op)
    if unsigned_out:
        low, high = 0, (1 << (8 * dtype.itemsize)) - 1
    zero_in, zero_out = scalar_of(input_zp, unsigned_in), scalar_of(output_zp, unsigned_out)
    double = attributes["rounding_mode"] == "DOUBLE_ROUND"
    out = np.empty(x.shape, np.dtype(f"uint{8 * dtype.itemsize}") if unsigned_out else dtype)
    if not x.size:
        return out.view(dtype)
    x = np.ascontiguousarray(x)
    # Rows of one number each, or of one for each channel: the scales broadcast along them.
    channels = x.shape[-1] if attributes["per_channel"] else 1
    rows = (-1, channels) if channels > 1 else (-1,)
    source, target = x.reshape(rows), out.reshape(rows)
    scales: Any = multiplier.astype(np.int64) if channels > 1 else np.int64(multiplier.reshape(-1)[0])
    shifts: Any = shift.astype(np.int64) if channels > 1 else np.int64(shift.reshape(-1)[0])
    unscaled = bool(np.all(scales == np.left_shift(np.int64(1), shifts)))  # by one: the numbers are only moved
    step = max(1, CHUNK // channels)
    buffer = np.empty((min(step, len(source)), *source.shape[1:]), np.int64)
    for start in range(0, len(source), step):
        part = source[start : start + step]
        value = buffer[: len(part)]
        np.subtract(part, zero_in, out=value, dtype=np.int64)
        if not unscaled:
            apply_scale(value, scales, shifts, double)
        if zero_out:
            value += zero_out
        np.clip(value, low, high, out=value)
        target[start : start + step] = value
    return out.view(dtype)


@kernel("tosa.apply_scale")
def scale(op: ApplyScale, value: np.ndarray, multiplier: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """`(value * multiplier + round) >> shift`, elementwise."""
    shape = np.broadcast_shapes(np.shape(value), np.shape(multiplier), np.shape(shift))
    wide = np.array(np.broadcast_to(value, shape), np.int64)
    return apply_scale(
        wide, np.asarray(multiplier, np.int64), np.asarray(shift, np.int64), op.attributes["rounding_mode"] == "DOUBLE_ROUND",
    ).astype(np.int32)
