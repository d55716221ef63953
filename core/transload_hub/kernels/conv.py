"""Kernels: convolution and transposed convolution."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.budget import need_elements
from transload.plugin import KernelTable

from .common import Array, finish, is_integer, whole, wide
from .sums import product, rounds_floats, rows_of

if TYPE_CHECKING:
    from ..ops.conv import Conv, Deconv

__all__ = ["KERNELS", "pad_spatial", "strides_of"]

KERNELS = KernelTable()

_ALL = slice(None)
BLOCK_BYTES = 32 << 20
"""How large the matrix of windows may be that is multiplied at once."""
_AT_ONCE = 1 << 24
"""Products of a transposed convolution that are in memory at a time."""


def pad_spatial(x: Array, axes: Sequence[int], pads: Sequence[int], fill: Any = 0) -> Array:
    """`x` with `pads` (all begins, then all ends) around dimensions `axes`; negative ones cut off."""
    n = len(axes)
    if not any(pads):
        return x
    width = [(0, 0)] * x.ndim
    cut = [slice(None)] * x.ndim
    for i, axis in enumerate(axes):
        begin, end = pads[i], pads[n + i]
        width[axis] = (max(begin, 0), max(end, 0))
        cut[axis] = slice(max(-begin, 0), x.shape[axis] - max(-end, 0))
    need_elements(
        [size + before + after for size, (before, after) in zip(x.shape, width, strict=True)], "the image with its padding")
    return np.pad(x[tuple(cut)], width, constant_values=fill)


def _factors(x: Array, weights: Array) -> tuple[Array, Array]:
    """Both in types that matrices multiply fast in; integers float64 as long as no sum reaches 2^53, else int64."""
    x, weights = wide(x), wide(weights)
    if not (is_integer(x) and is_integer(weights)):
        return (x.astype(np.float64) if is_integer(x) else x), (weights.astype(np.float64) if is_integer(weights) else weights)
    exact = _greatest(x) * _greatest(weights) * weights.size < 1 << 53
    dtype = np.float64 if exact else np.int64
    return x.astype(dtype), weights.astype(dtype)


def _greatest(x: Array) -> int:
    if x.dtype.itemsize <= 2 or not x.size:
        return 1 << 16
    return max(abs(int(x.min())), abs(int(x.max())))


@KERNELS("top.Conv")
def conv(op: Conv, x: Array, weights: Array, bias: Array | None = None) -> Array:
    x, weights = _factors(x, weights)
    n = len(op.kernel_shape)
    last = op.layout == "NHWC"
    x = pad_spatial(x, range(1, 1 + n) if last else range(2, 2 + n), op.pads)
    group = op.group
    if group > 1 and x.shape[-1 if last else 1] == group:
        y = _depthwise(op, x, weights, last)
    elif group == 1:
        y = _dense(op, x, weights, last)
    else:
        split = [np.split(x, group, axis=-1 if last else 1), np.split(weights, group, axis=0)]
        y = np.concatenate([_dense(op, a, b, last) for a, b in zip(*split, strict=True)], axis=-1 if last else 1)
    return finish(op, _with_bias(whole(op, y), bias, last))


def _with_bias(y: Array, bias: Array | None, last: bool) -> Array:
    if bias is None:
        return y
    shape = (1,) * (y.ndim - 1) + (-1,) if last else (1, -1) + (1,) * (y.ndim - 2)
    return y + wide(bias).astype(y.dtype, copy=False).reshape(shape)


def _output_sizes(op: Conv, sizes: Sequence[int]) -> tuple[int, ...]:
    """Spatial sizes of the result for an input that is already padded."""
    return tuple(
        (size - (kernel - 1) * dilation - 1) // stride + 1
        for size, kernel, stride, dilation in zip(sizes, op.kernel_shape, op.strides, op.dilations, strict=True))


def _shifted(op: Conv | Deconv, outputs: Sequence[int]) -> Iterator[tuple[Any, Any]]:
    """For each kernel element, its subscripts, and the slices of the input's spatial dimensions that it meets."""
    for place in np.ndindex(*op.kernel_shape):
        yield place, tuple(
            slice(k * dilation, k * dilation + (size - 1) * stride + 1, stride)
            for k, dilation, stride, size in zip(place, op.dilations, op.strides, outputs, strict=True))


def _depthwise(op: Conv, x: Array, weights: Array, last: bool) -> Array:
    """One input channel a group: kernel elements one after the other, each times a shifted view of the input."""
    n = len(op.kernel_shape)
    batch = x.shape[0]
    multiplier = weights.shape[0] // op.group
    outputs = _output_sizes(op, x.shape[1 : 1 + n] if last else x.shape[2:])
    dtype = np.result_type(x, weights)
    if last:
        y = np.zeros((batch, *outputs, op.group, multiplier), dtype)
        kernel = weights[..., 0].reshape(op.group, multiplier, *op.kernel_shape)
    else:
        y = np.zeros((batch, op.group, multiplier, *outputs), dtype)
        kernel = weights[:, 0].reshape(op.group, multiplier, *op.kernel_shape, *(1,) * n)
    term = np.empty_like(y)
    for place, slices in _shifted(op, outputs):
        seen: Any = (_ALL, *slices, _ALL, None) if last else (_ALL, _ALL, None, *slices)
        y += np.multiply(x[seen], kernel[(_ALL, _ALL, *place)], out=term)
    channels = op.group * multiplier
    return y.reshape((batch, *outputs, channels) if last else (batch, channels, *outputs))


def _dense(op: Conv, x: Array, weights: Array, last: bool) -> Array:
    """All input channels for each output channel: the windows as a matrix, times the filter as a matrix."""
    n = len(op.kernel_shape)
    batch, out_channels = x.shape[0], weights.shape[0]
    outputs = _output_sizes(op, x.shape[1 : 1 + n] if last else x.shape[2:])
    dtype = np.result_type(x, weights)
    matrix = rows_of(weights, 1)
    in_order = last and rounds_floats(op)
    if math.prod(op.kernel_shape) == 1:
        steps = [slice(None, None, stride) for stride in op.strides]
        met: Any = (_ALL, *steps) if last else (_ALL, _ALL, *steps)
        x = x[met]
        if last:
            return product(rows_of(x, x.ndim - 1), matrix.T, in_order).reshape(batch, *outputs, out_channels)
        return np.matmul(matrix, x.reshape(batch, x.shape[1], math.prod(outputs))).reshape(batch, out_channels, *outputs)
    windows = _windows(op, x, outputs, last)
    depth = matrix.shape[1]
    y = np.empty((batch, *outputs, out_channels) if last else (batch, out_channels, *outputs), dtype)
    row_bytes = depth * math.prod(outputs[1:]) * dtype.itemsize
    for samples, rows in _blocks(batch, outputs[0], row_bytes):
        if last:
            part = windows[samples, rows]
            sums = product(rows_of(part, 1 + n), matrix.T, in_order)
            y[samples, rows] = sums.reshape(*part.shape[: 1 + n], out_channels)
        else:
            part = windows[(samples, *(_ALL,) * (n + 1), rows)]
            sums = np.matmul(matrix, part.reshape(part.shape[0], depth, math.prod(part.shape[2 + n:])))
            y[samples, :, rows] = sums.reshape(part.shape[0], out_channels, *part.shape[2 + n :])
    return y


def strides_of(steps: Sequence[int], apart: Sequence[int], counts: Sequence[int]) -> tuple[int, ...]:
    """Bytes from one of so many places to the next, so many elements apart; of one place there is no next, however far off."""
    return tuple(step * many if count > 1 else 0 for step, many, count in zip(steps, apart, counts, strict=True))


def _windows(op: Conv, x: Array, outputs: Sequence[int], last: bool) -> Array:
    """A view of `x`: [N, out.., kernel.., C] where channels are last, [N, C, kernel.., out..] where they are second."""
    spatial = x.strides[1:-1] if last else x.strides[2:]
    kernel = tuple(op.kernel_shape)
    over_outputs, over_kernel = strides_of(spatial, op.strides, outputs), strides_of(spatial, op.dilations, kernel)
    if last:
        shape: tuple[int, ...] = (x.shape[0], *outputs, *kernel, x.shape[-1])
        strides: tuple[int, ...] = (x.strides[0], *over_outputs, *over_kernel, x.strides[-1])
    else:
        shape = (x.shape[0], x.shape[1], *kernel, *outputs)
        strides = (x.strides[0], x.strides[1], *over_kernel, *over_outputs)
    return np.lib.stride_tricks.as_strided(x, shape, strides, writeable=False)


def _blocks(batch: int, rows: int, row_bytes: int) -> Iterator[tuple[slice, slice]]:
    """Slices of samples and rows of the result, each block's windows no larger than BLOCK_BYTES where possible."""
    sample_bytes = max(rows * row_bytes, 1)
    if sample_bytes <= BLOCK_BYTES:
        step = max(BLOCK_BYTES // sample_bytes, 1)
        for start in range(0, batch, step):
            yield slice(start, start + step), slice(0, rows)
        return
    step = max(BLOCK_BYTES // row_bytes, 1)
    for sample in range(batch):
        for start in range(0, rows, step):
            yield slice(sample, sample + 1), slice(start, start + step)


def _channels(count: int, each: int) -> Iterator[slice]:
    """All channels of a result in parts, of which one has no more than `_AT_ONCE` products; `each` are those of a channel."""
    step = max(1, _AT_ONCE // max(each, 1))
    return (slice(first, first + step) for first in range(0, count, step))


@KERNELS("top.Deconv")
def deconv(op: Deconv, x: Array, weights: Array, bias: Array | None = None) -> Array:
    x, weights = _factors(x, weights)
    last = op.layout == "NHWC"
    if last:
        x, weights = np.moveaxis(x, -1, 1), np.moveaxis(weights, -1, 0)
    n, group, batch = len(op.kernel_shape), op.group, x.shape[0]
    sizes, kernel = x.shape[2:], tuple(op.kernel_shape)
    per_group = weights.shape[1]
    inner = x.shape[1] // group
    inputs = x.reshape(batch, group, inner, math.prod(sizes))
    matrix = weights.reshape(group, inner, per_group, math.prod(kernel))
    full = tuple(
        (size - 1) * stride + (k - 1) * dilation + 1 + extra
        for size, stride, k, dilation, extra in zip(sizes, op.strides, kernel, op.dilations, op.output_padding, strict=True))
    need_elements((batch, group * per_group, *full), "the image with all that padding takes off")
    y = np.zeros((batch, group, per_group, *full), np.result_type(x, weights))
    for channels in _channels(per_group, batch * group * math.prod((*kernel, *sizes))) if math.prod(sizes) else ():
        # [N, g, I/g, P] times [g, (O/g * K), I/g]: what each input element adds at each kernel element
        part = y[:, :, channels]
        some = matrix[:, :, channels].reshape(group, inner, part.shape[2] * math.prod(kernel)).transpose(0, 2, 1)
        added = np.matmul(some, inputs).reshape(*part.shape[:3], *kernel, *sizes)
        for place, slices in _shifted(op, sizes):
            part[(..., *slices)] += added[(_ALL, _ALL, _ALL, *place)]
    y = y.reshape(batch, group * per_group, *full)
    y = pad_spatial(y, range(2, 2 + n), [-pad for pad in op.pads])
    y = np.ascontiguousarray(np.moveaxis(y, 1, -1)) if last else y
    return finish(op, _with_bias(whole(op, y), bias, last))
