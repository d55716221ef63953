"""Pooling: reduce_window, or a reduction where the window is the whole image."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from transload.ir import Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables
from transload_hub.ops.infer import spatial_axes

from .. import build
from .common import finish, static_shape, widened

if TYPE_CHECKING:
    from transload_hub.ops.pool import AvgPool, MaxPool

__all__ = ["TABLE"]

TABLE = RewriteTable()


def _pooled(op: AvgPool | MaxPool, rw: Rewriter, x: Value, name: str, dilations: Sequence[int]) -> Value:
    """The windows of `x`, combined."""
    shape = static_shape(x)
    n, rank = len(op.kernel_shape), len(shape)
    axes = tuple(spatial_axes(op.layout, rank))
    if not any(op.pads) and all(shape[axis] == size for axis, size in zip(axes, op.kernel_shape, strict=True)):
        return build.reduce(rw, x, axes, name, keep=True)

    def everywhere(numbers: Sequence[int]) -> list[int]:
        placed = dict(zip(axes, numbers, strict=True))
        return [placed.get(axis, 1) for axis in range(rank)]

    padding = [[0, 0] for _ in range(rank)]
    for i, axis in enumerate(axes):
        padding[axis] = [op.pads[i], op.pads[n + i]]
    return build.reduce_window(
        rw, x, name, everywhere(op.kernel_shape), everywhere(op.strides), padding, everywhere(dilations))


@TABLE("top.MaxPool")
def max_pool(op: MaxPool, rw: Rewriter) -> Value:
    """The greatest element of each window; padding is the type's least number."""
    return finish(rw, op, _pooled(op, rw, op.input, "maximum", op.dilations))


@TABLE("top.AvgPool")
def avg_pool(op: AvgPool, rw: Rewriter) -> Value:
    """The sum of each window, divided by how many of its elements count."""
    x = widened(rw, op.input)
    total = _pooled(op, rw, x, "add", (1,) * len(op.kernel_shape))
    counts = _counts(op, static_shape(x))
    if counts is None:
        return finish(rw, op, build.binary(rw, "divide", total, math.prod(op.kernel_shape)))
    divisor = build.broadcast(rw, build.const(rw, counts, total.element), build.shape_of(total))
    return finish(rw, op, build.binary(rw, "divide", total, divisor))


def _counts(op: AvgPool, shape: Sequence[int]) -> np.ndarray | None:
    """How many elements of the input each window has (at least 1, to divide by), broadcast; None: all of them everywhere."""
    n, rank = len(op.kernel_shape), len(shape)
    if op.count_include_pad or not any(op.pads):
        return None
    counts = np.ones((1,) * rank, np.int64)
    for i, axis in enumerate(spatial_axes(op.layout, rank)):
        padded = shape[axis] + op.pads[i] + op.pads[n + i]
        starts = tables.arange((padded - op.kernel_shape[i]) // op.strides[i] + 1) * op.strides[i] - op.pads[i]
        inside = np.clip(starts + op.kernel_shape[i], 0, shape[axis]) - np.clip(starts, 0, shape[axis])
        counts = counts * inside.reshape([-1 if other == axis else 1 for other in range(rank)])
    return np.maximum(counts, 1)
