"""Kernel: conversion of element types."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from transload.engine.quantized import round_half_away
from transload.ir.constants import dtype_of
from transload.ir.quantization import spread
from transload.ir.types import IntegerType, QuantType, Type
from transload.plugin import KernelTable

from .common import Array, is_integer, wide

if TYPE_CHECKING:
    from ..ops.cast import Bitcast, Cast

__all__ = ["KERNELS", "cast"]

KERNELS = KernelTable()

_ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "Trunc": np.trunc, "HalfAwayFromZero": round_half_away, "HalfToEven": np.rint, "HalfToEvenStored": np.rint,
}


def _stored_range(type_: Type) -> tuple[int, int]:
    return (type_.storage_min, type_.storage_max) if isinstance(type_, QuantType) else type_.range  # type: ignore[attr-defined]


def dequantized(x: Array, type_: QuantType) -> Array:
    """The real numbers of stored ones, in float64."""
    centred = wide(x).astype(np.int64) - spread(type_.zero_points, type_, x.ndim, np.int64)
    return centred * spread(type_.scales, type_, x.ndim, np.float64)


def _quantized(real: Array, type_: QuantType, round_mode: str) -> Array:
    """Stored integers of real numbers. The quotient is taken in the numbers' own precision, as runtimes do."""
    if round_mode == "HalfUp":
        return _counted(real.astype(np.float32), type_)
    rounding = _ROUNDINGS[round_mode]
    quotient = real / spread(type_.scales, type_, real.ndim, real.dtype)
    if round_mode == "HalfToEvenStored":
        return _saturated(rounding(_as_float64(quotient + spread(type_.zero_points, type_, real.ndim, real.dtype))), type_)
    stored = rounding(_as_float64(quotient))
    stored += spread(type_.zero_points, type_, real.ndim, np.float64)
    return _saturated(stored, type_)


def _counted(real: Array, type_: QuantType) -> Array:
    """Stored integers of float32 numbers, as the nearest of the steps from the lower end of their range on, halves up."""
    scales, points = (spread(numbers, type_, real.ndim, np.float32) for numbers in (type_.scales, type_.zero_points))
    least, most = (np.float32(end) for end in (type_.storage_min, type_.storage_max))
    low, high = ((end - points) * scales for end in (least, most))
    steps = np.array((np.clip(real, low, high) - low) * (np.float32(1) / scales), np.float64)
    return _saturated(_as_float64(np.floor(steps + 0.5) + least), type_)


def _as_float64(x: Array) -> Array:
    """`x` where adding a half is exact, with 0 for NaN."""
    y = np.array(x, np.float64)
    missing = np.isnan(y)
    if missing.any():
        y[missing] = 0
    return y


def _saturated(whole: Array, type_: Type) -> Array:
    """Whole numbers, in floats, as integers of `type_`, clamped to its range."""
    low, high = _stored_range(type_)
    dtype = dtype_of(type_)
    clipped = np.clip(whole, low, high)
    if high < 1 << 53:
        return clipped.astype(dtype)
    # the float nearest to the greatest 64-bit integer is beyond it
    return np.where(clipped >= float(high), high, np.where(clipped >= float(high), 0, clipped).astype(dtype)).astype(dtype)


def _wrapped(whole: Array, type_: IntegerType) -> Array:
    """Whole numbers, in floats, as integers of `type_`, modulo its range; infinities as 0."""
    finite = np.where(np.isinf(whole), 0.0, whole)
    inside = np.abs(finite) < 2.0**63
    modulus = 2.0 ** type_.width if type_.width > 1 else 2.0
    small = np.where(inside, finite, np.fmod(finite, modulus))
    large_unsigned = small >= 2.0**63
    as_int = np.where(large_unsigned, 0, small).astype(np.int64).astype(np.uint64)
    as_int = np.where(large_unsigned, np.where(large_unsigned, small, 0).astype(np.uint64), as_int)
    return _narrowed(as_int, type_)


def _narrowed(x: Array, type_: IntegerType) -> Array:
    """Integers as those of `type_`, by their low bits."""
    dtype = dtype_of(type_)
    if type_.width in (8, 16, 32, 64):
        return x.astype(dtype)
    low = x.astype(np.int64) & ((1 << type_.width) - 1)
    signed = low - ((low >> (type_.width - 1)) << type_.width) if not type_.unsigned else low
    return signed.astype(np.int8).astype(dtype) if type_.width < 8 else signed.astype(dtype)


@KERNELS("top.Cast", quantized="native")
def cast(op: Cast, x: Array) -> Array:
    source, target = op.operands[0].element, op.results[0].element
    with np.errstate(all="ignore"):
        if isinstance(source, QuantType):
            if source == target:
                return x
            real = dequantized(x, source)
            if isinstance(target, QuantType):
                return _quantized(real, target, op.round_mode)
            return _to_plain(real.astype(np.float32), target, _ROUNDINGS[op.round_mode], op.saturate)
        if isinstance(target, QuantType):
            real = wide(x)
            return _quantized(real.astype(np.float64) if real.dtype.kind in "biu" else real, target, op.round_mode)
        return _to_plain(x, target, _ROUNDINGS[op.round_mode], op.saturate)


@KERNELS("top.Bitcast", quantized="native")
def bitcast(op: Bitcast, x: Array) -> Array:
    return np.ascontiguousarray(x).view(dtype_of(op.results[0].element)).reshape(x.shape)


def _to_plain(x: Array, target: Type, rounding: Callable[[Array], Array], saturate: bool) -> Array:
    """Numbers or i1 as a type that is not quantized."""
    dtype = dtype_of(target)
    if dtype.kind == "b":
        return wide(x) != 0
    if not isinstance(target, IntegerType):
        return x if x.dtype == dtype else wide(x).astype(dtype)
    if x.dtype.kind == "b":
        return x.astype(np.int8).astype(dtype)
    if is_integer(x):
        numbers = wide(x)
        if saturate:
            low, high = target.range
            limits = np.iinfo(numbers.dtype)
            numbers = np.clip(numbers, max(low, limits.min), min(high, limits.max))
        return _narrowed(numbers, target)
    whole = rounding(_as_float64(wide(x)))
    return _saturated(whole, target) if saturate else _wrapped(whole, target)
