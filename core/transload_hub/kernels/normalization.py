"""Kernels: normalization. Means are accumulated in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from transload.plugin import KernelTable

from ..ops.infer import channel_axis
from .common import Array, axes_of, axis_of, finish, wide

if TYPE_CHECKING:
    from ..ops.normalization import LRN, BatchNorm, GroupNorm, InstanceNorm, LayerNorm, Normalize, RMSNorm

__all__ = ["KERNELS"]

KERNELS = KernelTable()


def _per_channel(op: BatchNorm | GroupNorm | InstanceNorm, value: Array | None, rank: int) -> Array | None:
    """A vector of channels, shaped to broadcast with a tensor of `rank`."""
    if value is None:
        return None
    axis = channel_axis(op.layout, rank)
    return wide(value).reshape([-1 if place == axis else 1 for place in range(rank)])


def _affine(y: Array, weight: Array | None, bias: Array | None) -> Array:
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def _standardized(x: Array, axes: tuple[int, ...], eps: float) -> Array:
    """`(x - mean) / sqrt(variance + eps)` over `axes`."""
    centred = x - x.mean(axis=axes, keepdims=True, dtype=np.float64).astype(x.dtype)
    variance = np.square(centred).mean(axis=axes, keepdims=True, dtype=np.float64)
    return centred * (1 / np.sqrt(variance + eps)).astype(x.dtype)


@KERNELS("top.BatchNorm")
def batch_norm(
    op: BatchNorm, x: Array, mean: Array, variance: Array, gamma: Array | None = None, beta: Array | None = None,
) -> Array:
    x = wide(x)
    centre, spread, weight, bias = (_per_channel(op, v, x.ndim) for v in (mean, variance, gamma, beta))
    factor = 1 / np.sqrt(np.asarray(spread, np.float64) + op.epsilon)
    factor = factor if weight is None else factor * weight
    return finish(op, _affine((x - centre) * factor.astype(x.dtype), None, bias))


@KERNELS("top.LayerNorm")
def layer_norm(op: LayerNorm, x: Array, weight: Array | None = None, bias: Array | None = None) -> Array:
    x = wide(x)
    y = _standardized(x, tuple(range(axis_of(op.axis, x.ndim), x.ndim)), op.eps)
    return finish(op, _affine(y, None if weight is None else wide(weight), None if bias is None else wide(bias)))


@KERNELS("top.RMSNorm")
def rms_norm(op: RMSNorm, x: Array, weight: Array | None = None) -> Array:
    x = wide(x)
    axes = tuple(range(axis_of(op.axis, x.ndim), x.ndim))
    power = np.square(x).mean(axis=axes, keepdims=True, dtype=np.float64)
    return finish(op, _affine(x * (1 / np.sqrt(power + op.eps)).astype(x.dtype), None if weight is None else wide(weight), None))


@KERNELS("top.InstanceNorm")
def instance_norm(op: InstanceNorm, x: Array, weight: Array | None = None, bias: Array | None = None) -> Array:
    x = wide(x)
    channels = channel_axis(op.layout, x.ndim)
    axes = tuple(axis for axis in range(1, x.ndim) if axis != channels)
    y = _standardized(x, axes, op.eps)
    return finish(op, _affine(y, _per_channel(op, weight, x.ndim), _per_channel(op, bias, x.ndim)))


@KERNELS("top.GroupNorm")
def group_norm(op: GroupNorm, x: Array, weight: Array | None = None, bias: Array | None = None) -> Array:
    x = wide(x)
    channels = channel_axis(op.layout, x.ndim)
    shape = (*x.shape[:channels], op.num_groups, x.shape[channels] // op.num_groups, *x.shape[channels + 1 :])
    axes = tuple(axis for axis in range(1, len(shape)) if axis != channels)
    y = _standardized(x.reshape(shape), axes, op.eps).reshape(x.shape)
    return finish(op, _affine(y, _per_channel(op, weight, x.ndim), _per_channel(op, bias, x.ndim)))


@KERNELS("top.LRN")
def lrn(op: LRN, x: Array) -> Array:
    x = wide(x)
    channels = channel_axis(op.layout, x.ndim)
    count = x.shape[channels]
    # sums of windows as differences of running sums
    running = np.cumsum(np.square(x.astype(np.float64)), axis=channels)
    running = np.pad(running, [(int(axis == channels), 0) for axis in range(x.ndim)])
    places = np.arange(count)
    low = np.maximum(places - (op.size - 1) // 2, 0)
    high = np.minimum(places + op.size // 2, count - 1) + 1
    squares = running.take(high, axis=channels) - running.take(low, axis=channels)
    return finish(op, x / np.power(op.bias + op.alpha / op.size * squares, op.beta).astype(x.dtype))


@KERNELS("top.Normalize")
def normalize(op: Normalize, x: Array) -> Array:
    x = wide(x)
    squares = np.square(x).sum(axis=axes_of(op.axes, x.ndim), keepdims=True, dtype=np.float64)
    return finish(op, x / np.sqrt(np.maximum(squares, op.eps)).astype(x.dtype))
