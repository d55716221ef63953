"""Poolings: over rows first, then over columns, by shifted slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import Op

from .base import apply_scale, float_of, is_float, kernel, limits, reciprocal_scale, scalar_of, to_result

if TYPE_CHECKING:
    from ..dialect.spatial import AvgPool2d, AvgPool2dAdaptive, MaxPool2d, MaxPool2dAdaptive


def _along(
    x: np.ndarray, axis: int, extent: int, stride: int, before: int, size: int, join: Callable[..., Any], start: Any,
) -> np.ndarray:
    """Windows of one axis joined: place `o` joins inputs `o * stride - before` and the `extent - 1` after it that exist."""
    shape = list(x.shape)
    shape[axis] = size
    out = np.full(shape, start, x.dtype)
    for k in _inside(x.shape[axis], extent, stride, before, size):
        # Places whose k-th input lies inside: 0 <= o * stride - before + k < length.
        first = max(0, -((k - before) // stride))
        last = min(size - 1, (x.shape[axis] - 1 + before - k) // stride)
        if last < first:
            continue
        target = [slice(None)] * x.ndim
        source = [slice(None)] * x.ndim
        target[axis] = slice(first, last + 1)
        begin = first * stride - before + k
        source[axis] = slice(begin, begin + (last - first) * stride + 1, stride)
        place = out[tuple(target)]
        join(place, x[tuple(source)], out=place)
    return out


def _inside(length: int, extent: int, stride: int, before: int, size: int) -> Iterable[int]:
    """The inputs of a window that are there for some place, by number; a window may be far larger than the image."""
    first, end = max(0, before - (size - 1) * stride), min(extent, length + before)
    if end - first <= length * size:
        return range(first, end)
    starts = [before - place * stride for place in range(size)]
    return sorted({k for start in starts for k in range(max(0, start), min(extent, start + length))})


def _window(op: Op, *parameters: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """Kernel, stride and padding: attributes, or the operands of the adaptive ops."""
    if parameters:
        return tuple(tuple(map(int, p)) for p in parameters)
    return op.attributes["kernel"], op.attributes["stride"], op.attributes["pad"]


def _sizes(shape: tuple[int, ...], kernel_: tuple[int, ...], stride: tuple[int, ...], pad: tuple[int, ...]) -> tuple[int, int]:
    height = (shape[1] + pad[0] + pad[1] - kernel_[0]) // stride[0] + 1
    return height, (shape[2] + pad[2] + pad[3] - kernel_[1]) // stride[1] + 1


def _count(length: int, extent: int, stride: int, before: int, size: int) -> np.ndarray:
    """How many inputs each window of one axis has."""
    first = np.arange(size) * stride - before
    return np.minimum(first + extent, length) - np.maximum(first, 0)


@kernel("tosa.avg_pool2d", "tosa.avg_pool2d_adaptive")
def average(
    op: AvgPool2d | AvgPool2dAdaptive, x: np.ndarray, input_zp: np.ndarray, output_zp: np.ndarray, *parameters: np.ndarray,
) -> np.ndarray:
    """The mean of the window's inputs that exist; integers divide by a rounded fixed-point reciprocal."""
    window, stride, pad = _window(op, *parameters)
    oh, ow = _sizes(x.shape, window, stride, pad)
    counts = np.multiply.outer(
        _count(x.shape[1], window[0], stride[0], pad[0], oh), _count(x.shape[2], window[1], stride[1], pad[2], ow))
    floats = is_float(op.operands[0])
    wide = float_of(x) if floats else x.astype(np.int64) - scalar_of(input_zp)
    sums = _along(wide, 1, window[0], stride[0], pad[0], oh, np.add, 0)
    sums = _along(sums, 2, window[1], stride[1], pad[2], ow, np.add, 0)
    if floats:
        return to_result(op, sums / counts[:, :, None].astype(sums.dtype))
    kinds, which = np.unique(counts, return_inverse=True)
    scales = np.array([reciprocal_scale(int(count)) for count in kinds], np.int64)[which.reshape(counts.shape)]
    means = apply_scale(sums, scales[..., 0][:, :, None], scales[..., 1][:, :, None])
    means += scalar_of(output_zp)
    return to_result(op, np.clip(means, *limits(op), out=means))


@kernel("tosa.max_pool2d", "tosa.max_pool2d_adaptive")
def maximum(op: MaxPool2d | MaxPool2dAdaptive, x: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
    """The greatest input of the window."""
    window, stride, pad = _window(op, *parameters)
    oh, ow = _sizes(x.shape, window, stride, pad)
    join: Any = np.maximum
    start: Any = None
    wide = x
    if is_float(op.operands[0]):
        wide = float_of(x)
        ignore = op.attribute("nan_mode") == "IGNORE"
        join, start = (np.fmax, np.nan) if ignore else (np.maximum, -np.inf)
    else:
        start = np.iinfo(x.dtype).min
    rows = _along(wide, 1, window[0], stride[0], pad[0], oh, join, start)
    return to_result(op, _along(rows, 2, window[1], stride[1], pad[2], ow, join, start))
