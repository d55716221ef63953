"""Means and maxima of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .floats import clamped, is_float, wide
from .scaling import narrowed

__all__ = ["OPERATIONS", "avg_pool2d", "max_pool2d"]

OPERATIONS = ("avg_pool2d", "max_pool2d")


def _along(
    x: np.ndarray, axis: int, extent: int, stride: int, before: int, places: int, dilation: int, join: Any, start: Any,
) -> np.ndarray:
    """Windows of one axis joined: place `p` joins what exists of elements `p * stride - before + k * dilation`, in order of k."""
    shape = list(x.shape)
    size, shape[axis] = shape[axis], places
    out = np.full(shape, start, x.dtype)
    for k in range(extent):
        offset = k * dilation - before
        first, last = max(0, -(offset // stride)), min(places - 1, (size - 1 - offset) // stride)
        if last < first:
            continue
        begin = first * stride + offset
        source: list[Any] = [slice(None)] * x.ndim
        target = source.copy()
        source[axis] = slice(begin, begin + (last - first) * stride + 1, stride)
        target[axis] = slice(first, last + 1)
        place = out[tuple(target)]
        join(place, x[tuple(source)], out=place)
    return out


def _places(size: int, before: int, after: int, extent: int, stride: int, dilation: int = 1) -> int:
    return (size + before + after - (extent - 1) * dilation - 1) // stride + 1


def _counts(size: int, extent: int, stride: int, before: int, places: int) -> np.ndarray:
    """How many elements each window of one axis has, padding left out."""
    first = np.arange(places) * stride - before
    return np.maximum(np.minimum(first + extent, size) - np.maximum(first, 0), 0)


def avg_pool2d(
    x: np.ndarray, *, dtype: str, kernel: Sequence[int], strides: Sequence[int] = (1, 1), pads: Sequence[int] = (0, 0, 0, 0),
    padded: Sequence[int] = (0, 0, 0, 0), input_zero: int = 0, low: float | None = None, high: float | None = None,
) -> np.ndarray:
    """The mean of each window of `x` [N, C, H, W]; see `tpu.avg_pool2d`. `pads` and `padded` are top, left, bottom, right.

    `padded` counts among the elements, as `input_zero`; `pads` does not.
    """
    if any(padded):
        top, left, bottom, right = padded
        x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=input_zero)
    oh = _places(x.shape[2], pads[0], pads[2], kernel[0], strides[0])
    ow = _places(x.shape[3], pads[1], pads[3], kernel[1], strides[1])
    counts = np.multiply.outer(
        _counts(x.shape[2], kernel[0], strides[0], pads[0], oh), _counts(x.shape[3], kernel[1], strides[1], pads[1], ow))
    floats = is_float(x)
    sums = wide(x) if floats else x.astype(np.int64)
    sums = _along(sums, 2, kernel[0], strides[0], pads[0], oh, 1, np.add, 0)
    sums = _along(sums, 3, kernel[1], strides[1], pads[1], ow, 1, np.add, 0)
    counts = np.maximum(counts, 1)
    if floats:
        return clamped(sums / counts.astype(np.float32), dtype, low, high)
    means = (2 * np.abs(sums) + counts) // (2 * counts)  # halves away from zero
    return narrowed(np.where(sums < 0, -means, means), dtype, low, high)


def max_pool2d(
    x: np.ndarray, *, dtype: str, kernel: Sequence[int], strides: Sequence[int] = (1, 1), pads: Sequence[int] = (0, 0, 0, 0),
    dilations: Sequence[int] = (1, 1), low: float | None = None, high: float | None = None,
) -> np.ndarray:
    """The greatest element of each window of `x` [N, C, H, W], padding left out; see `tpu.max_pool2d`."""
    oh = _places(x.shape[2], pads[0], pads[2], kernel[0], strides[0], dilations[0])
    ow = _places(x.shape[3], pads[1], pads[3], kernel[1], strides[1], dilations[1])
    floats = is_float(x)
    whole = wide(x) if floats else x
    least = -np.inf if floats else np.iinfo(x.dtype).min
    rows = _along(whole, 2, kernel[0], strides[0], pads[0], oh, dilations[0], np.maximum, least)
    found = _along(rows, 3, kernel[1], strides[1], pads[1], ow, dilations[1], np.maximum, least)
    return clamped(found, dtype, low, high) if floats else narrowed(found, dtype, low, high)
