"""The table of kernels, number formats, and quantization as the specification computes it.

Kernels compute in a format that is at least as wide as the elements', and round once to it: floats of fewer than
32 bits in f32 (f32 itself in f64 where a function is not exact), integers of 2 and 4 bits in 8.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import ml_dtypes
import numpy as np

from transload.ir import Op
from transload.ir.constants import dtype_of
from transload.ir.types import QuantType, TensorType, Type
from transload.plugin import KernelTable

__all__ = [
    "KERNELS",
    "Array",
    "convert_bits",
    "dequantize",
    "exact_dtype",
    "fit",
    "is_float_dtype",
    "is_int_dtype",
    "is_unsigned",
    "kernel",
    "quantize",
    "wide",
    "wide_dtype",
]

Array = Any
KERNELS = KernelTable()

_NARROW_INTS = {
    np.dtype(ml_dtypes.int2): (2, np.int8),
    np.dtype(ml_dtypes.int4): (4, np.int8),
    np.dtype(ml_dtypes.uint2): (2, np.uint8),
    np.dtype(ml_dtypes.uint4): (4, np.uint8),
}


def is_int_dtype(dtype: Any) -> bool:
    """Whether a dtype holds integers (not booleans)."""
    dtype = np.dtype(dtype)
    return dtype.kind in "iu" or dtype in _NARROW_INTS


def is_unsigned(dtype: Any) -> bool:
    dtype = np.dtype(dtype)
    return dtype.kind == "u" or (dtype in _NARROW_INTS and _NARROW_INTS[dtype][1] is np.uint8)


def is_float_dtype(dtype: Any) -> bool:
    """Whether a dtype holds real floating-point numbers, those of ml_dtypes among them."""
    dtype = np.dtype(dtype)
    return dtype.kind == "f" or (dtype.kind == "V" and not is_int_dtype(dtype))


def int_bits(dtype: Any) -> int:
    """How many bits an integer of the dtype has."""
    dtype = np.dtype(dtype)
    return _NARROW_INTS[dtype][0] if dtype in _NARROW_INTS else 8 * dtype.itemsize


def wide_dtype(dtype: Any) -> np.dtype:
    """The dtype that arithmetic on a dtype is done in."""
    dtype = np.dtype(dtype)
    if dtype in _NARROW_INTS:
        return np.dtype(_NARROW_INTS[dtype][1])
    if is_float_dtype(dtype) and dtype.itemsize < 4:
        return np.dtype(np.float32)
    return dtype


def exact_dtype(dtype: Any) -> np.dtype:
    """The dtype in which functions and long sums are computed, so that what is rounded to `dtype` is exact."""
    dtype = np.dtype(dtype)
    if is_float_dtype(dtype):
        return np.dtype(np.float64)
    if dtype.kind == "c":
        return np.dtype(np.complex128)
    if dtype == np.bool_:
        return dtype
    return np.dtype(np.uint64 if is_unsigned(dtype) else np.int64)


def wide(array: Array) -> Array:
    """An array in the dtype that arithmetic on it is done in."""
    return np.asarray(array).astype(wide_dtype(np.asarray(array).dtype), copy=False)


def fit(array: Array, dtype: Any) -> Array:
    """Numbers rounded, and integers wrapped around, to a dtype."""
    array, dtype = np.asarray(array), np.dtype(dtype)
    if array.dtype == dtype:
        return array
    if dtype in _NARROW_INTS:
        bits, _ = _NARROW_INTS[dtype]
        low = array.astype(np.int64) & ((1 << bits) - 1)
        return (low if is_unsigned(dtype) else (low ^ (1 << (bits - 1))) - (1 << (bits - 1))).astype(dtype)
    if is_float_dtype(dtype) and dtype.itemsize < 4 and array.dtype == np.float64:
        return _round_once(array, dtype)
    return array.astype(dtype)


def _round_once(array: Array, dtype: np.dtype) -> Array:
    """Doubles rounded to a narrow float: through f32, with its last bit set to odd where it is not exact.

    ml_dtypes converts a double through f32, which would round twice.
    """
    if dtype == np.float16:
        return array.astype(dtype)
    single = array.astype(np.float32)
    inexact = np.isfinite(array) & np.isfinite(single) & (single.astype(np.float64) != array)
    if not inexact.any():
        return single.astype(dtype)
    away = inexact & (np.abs(single.astype(np.float64)) > np.abs(array))
    bits = np.atleast_1d(single).view(np.uint32).copy()
    bits[np.atleast_1d(away)] -= 1  # towards zero
    bits[np.atleast_1d(inexact)] |= 1
    return bits.view(np.float32).reshape(array.shape).astype(dtype)


# --- quantization (specification, "Quantization computations")


def _along(values: Any, type_: QuantType, rank: int, dtype: Any) -> Array:
    array = np.array(values, dtype)
    if type_.axis is None:
        return array[0]
    return array.reshape([-1 if i == type_.axis else 1 for i in range(rank)])


def dequantize(stored: Array, type_: QuantType) -> Array:
    """`(stored - zero_point) * scale` in the expressed type."""
    stored = np.asarray(stored)
    dtype = dtype_of(type_.expressed)
    difference = stored.astype(np.int64) - _along(type_.zero_points, type_, stored.ndim, np.int64)
    scale = _along(type_.scales, type_, stored.ndim, dtype)
    return fit(wide(difference.astype(dtype)) * wide(scale), dtype)


def quantize(real: Array, type_: QuantType) -> Array:
    """`real / scale + zero_point` in the expressed type, clamped to the storage range, rounded to even."""
    real = np.asarray(real)
    dtype = dtype_of(type_.expressed)
    real = fit(real, dtype)
    scaled = fit(wide(real) / wide(_along(type_.scales, type_, real.ndim, dtype)), dtype)
    moved = fit(wide(scaled) + wide(_along(type_.zero_points, type_, real.ndim, dtype)), dtype)
    low, high = float(type_.storage_min), float(type_.storage_max)
    clamped = np.clip(np.nan_to_num(moved.astype(np.float64), nan=0.0, posinf=high, neginf=low), low, high)
    rounded = np.rint(clamped)
    stored = np.array(rounded, np.int64 if type_.storage.width < 64 else np.float64)
    return fit(stored, dtype_of(type_.storage))


def _element(type_: Type) -> Type | None:
    return type_.element if isinstance(type_, TensorType) else None


def kernel(*names: str, quantized: str = "reals") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add a kernel of StableHLO ops, named without the dialect.

    Quantized operands are dequantized for it and its results quantized (`"reals"`). A kernel that only moves
    elements works on them as they are stored where all quantized types of the op are the same (`"moves"`), and a
    `"native"` one reads the types itself.
    """

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def called(op: Op, *arrays: Array, **more: Any) -> Any:
            kinds = [_element(value.type) for value in (*op.operands, *op.results)]
            types = [kind for kind in kinds if isinstance(kind, QuantType)]
            if not types or (quantized == "moves" and all(_alike(type_, types[0]) for type_ in types)):
                return function(op, *arrays, **more)
            before, after = kinds[: len(op.operands)], kinds[len(op.operands) :]
            reals = [
                dequantize(array, kind) if isinstance(kind, QuantType) else array
                for array, kind in zip(arrays, before, strict=True)
            ]
            computed = function(op, *reals, **more)
            outputs = computed if isinstance(computed, tuple | list) else (computed,)
            stored = tuple(
                quantize(array, kind) if isinstance(kind, QuantType) else array
                for array, kind in zip(outputs, after, strict=True)
            )
            return stored if isinstance(computed, tuple | list) else stored[0]

        return KERNELS(*(f"stablehlo.{name}" for name in names), quantized="native")(
            function if quantized == "native" else called
        )

    return add


def _alike(a: QuantType, b: QuantType) -> bool:
    """Whether stored numbers mean the same, along whichever axis."""
    return (a.storage, a.scales, a.zero_points) == (b.storage, b.scales, b.zero_points)


def convert_bits(bits: Array, dtype: Any) -> Array:
    """The low bits of unsigned words as elements of a dtype."""
    dtype = np.dtype(dtype)
    if dtype in _NARROW_INTS:
        return fit(bits.astype(np.int64), dtype)
    word = np.dtype(f"u{dtype.itemsize}")
    return np.ascontiguousarray(bits.astype(word)).reshape(-1).view(dtype).reshape(bits.shape)
