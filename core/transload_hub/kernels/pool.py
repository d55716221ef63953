"""Kernels: pooling. Both maximum and sum of a window are taken one dimension after the other."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.plugin import KernelTable

from ..ops.infer import spatial_axes
from .common import Array, extreme, finish, wide
from .conv import pad_spatial

if TYPE_CHECKING:
    from ..ops.pool import AvgPool, MaxPool

__all__ = ["KERNELS"]

KERNELS = KernelTable()


def _along(x: Array, axis: int, kernel: int, stride: int, dilation: int, combine: Callable[..., Any]) -> Array:
    """Windows of one dimension of a padded tensor, their elements combined by a ufunc."""
    count = (x.shape[axis] - (kernel - 1) * dilation - 1) // stride + 1
    index: list[Any] = [slice(None)] * x.ndim
    if count == 1:
        index[axis] = slice(0, (kernel - 1) * dilation + 1, dilation)
        return combine.reduce(x[tuple(index)], axis=axis, keepdims=True)  # type: ignore[attr-defined]
    y: Array | None = None
    for place in range(kernel):
        start = place * dilation
        index[axis] = slice(start, start + (count - 1) * stride + 1, stride)
        part = x[tuple(index)]
        y = part.copy() if y is None else combine(y, part, out=y)
    return y  # type: ignore[return-value]


@KERNELS("top.MaxPool", quantized="storage")
def max_pool(op: MaxPool, x: Array) -> Array:
    x = wide(x)
    axes = spatial_axes(op.layout, x.ndim)
    y = pad_spatial(x, axes, op.pads, extreme(x, least=True))
    for i, axis in enumerate(axes):
        y = _along(y, axis, op.kernel_shape[i], op.strides[i], op.dilations[i], np.maximum)
    return finish(op, y)


@KERNELS("top.AvgPool")
def avg_pool(op: AvgPool, x: Array) -> Array:
    x = wide(x)
    axes = spatial_axes(op.layout, x.ndim)
    n = len(axes)
    y = pad_spatial(x.astype(np.float64), axes, op.pads)
    divisor = np.ones((1,) * x.ndim)
    for i, axis in enumerate(axes):
        kernel, stride = op.kernel_shape[i], op.strides[i]
        inside = np.ones(x.shape[axis])
        counts = _along(np.pad(inside, (op.pads[i], op.pads[n + i])), 0, kernel, stride, 1, np.add)
        divisor = divisor * counts.reshape([-1 if other == axis else 1 for other in range(x.ndim)])
        y = _along(y, axis, kernel, stride, 1, np.add)
    if op.count_include_pad:
        divisor = np.full((1,) * x.ndim, float(math.prod(op.kernel_shape)))
    return finish(op, (y / np.maximum(divisor, 1)).astype(x.dtype))
