"""Numbers in other element types: those that a type holds, floats rounded, and nothing that wraps round or becomes infinite."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ..errors import NumberError
from .constants import ArrayData, LazyData, SplatData, TensorData, dtype_of
from .given import calling_line
from .types import IntegerType, Type

__all__ = ["in_element", "need_whole"]


def need_whole(data: Any) -> None:
    """`NumberError` where an array hides numbers behind a mask: which they would be instead nobody says."""
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        raise NumberError(
            "a constant cannot be built: its array hides numbers behind a mask", "array.filled(number) puts one in their place",
            calling_line())


def in_element(data: TensorData, element: Type) -> TensorData:
    """Data as numbers of `element`, of the dtype of its storage; `NumberError` where one is none of it.

    That is an integer beyond it, a number with a fraction, infinity or NaN for integers, or a finite float that becomes
    infinite. What is not in memory yet is looked at when it is read.
    """
    dtype = dtype_of(element)
    if data.dtype == dtype and not (isinstance(element, IntegerType) and element.range != _range_of(dtype)):
        return data
    if isinstance(data, SplatData):
        return SplatData(_converted(data.value, element, dtype), data.shape, dtype)
    if isinstance(data, ArrayData):
        return ArrayData(_converted(data.numpy(), element, dtype))
    line = calling_line()
    return LazyData(lambda: _converted(data.numpy(), element, dtype, line), tuple(data.shape), dtype)


def _range_of(dtype: np.dtype) -> tuple[int, int] | None:
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind not in "iu" and dtype not in _SMALL:
        return None
    ends = ml_dtypes.iinfo(dtype)
    return int(ends.min), int(ends.max)


_SMALL = tuple(np.dtype(each) for each in (ml_dtypes.int2, ml_dtypes.int4, ml_dtypes.uint2, ml_dtypes.uint4))


def _converted(array: np.ndarray, element: Type, dtype: np.dtype, line: str = "") -> np.ndarray:
    if array.dtype in _SMALL:
        array = array.astype(np.int8)
    with np.errstate(all="ignore"):
        made = (array.real if array.dtype.kind == "c" and dtype.kind != "c" else array).astype(dtype)
        wrong = _is_beyond(array, element.range) if isinstance(element, IntegerType) else _is_lost(array, made)
    if wrong.any():
        number = array[wrong].reshape(-1)[0]
        raise NumberError(
            f"a constant of {element} cannot be built: {number} is no number of it",
            "numbers that are to wrap round, be cut off or be infinite are made so before, by array.astype(...)",
            line or calling_line())
    return made


def _is_beyond(array: np.ndarray, ends: tuple[int, int]) -> Any:
    """Where numbers are no integers from the first end to the last."""
    least, most = ends
    if array.dtype.kind in "biu":
        known = _range_of(array.dtype)
        holds_all = known is not None and least <= known[0] and known[1] <= most
        return np.zeros((), bool) if holds_all else (array < least) | (array > most)
    if array.dtype.kind == "c":
        return (array.imag != 0) | _is_beyond(array.real, ends)
    real = array.astype(np.float64)
    return ~((real == np.floor(real)) & (real >= least) & (real < float(most) + 1))


def _is_lost(array: np.ndarray, made: np.ndarray) -> Any:
    """Where numbers are no longer finite, or are other than infinite or than NaN, or lost an imaginary part."""
    if array.dtype.kind in "biu":
        return ~np.isfinite(made)
    lost: Any = (np.isfinite(array) != np.isfinite(made)) | (np.isnan(array) != np.isnan(made))
    return lost | (array.imag != 0) if array.dtype.kind == "c" and made.dtype.kind != "c" else lost
