"""Normalization, by its formulas, in f32 or f64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from transload.ir import Value
from transload.ir.build import Builder
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.ops.infer import channel_axis

from .. import build
from ..build import binary, unary
from .common import finish, normal_axes, normal_axis, per_channel, static_shape, widened
from .reduce import mean

if TYPE_CHECKING:
    from transload_hub.ops.normalization import LRN, BatchNorm, GroupNorm, InstanceNorm, LayerNorm, Normalize, RMSNorm

__all__ = ["TABLE"]

TABLE = RewriteTable()


def _standardized(rw: Builder, x: Value, axes: Sequence[int], eps: float) -> Value:
    """`(x - mean) / sqrt(variance + eps)` over axes."""
    centred = binary(rw, "subtract", x, mean(rw, x, axes))
    variance = mean(rw, binary(rw, "multiply", centred, centred), axes)
    return binary(rw, "multiply", centred, unary(rw, "rsqrt", binary(rw, "add", variance, eps)))


def _affine(rw: Builder, y: Value, weight: Value | None, bias: Value | None) -> Value:
    """`y * weight + bias`, of what is there."""
    y = y if weight is None else binary(rw, "multiply", y, build.convert(rw, weight, y.element))
    return y if bias is None else binary(rw, "add", y, build.convert(rw, bias, y.element))


def _channels(rw: Builder, op: BatchNorm | GroupNorm | InstanceNorm, value: Value | None, y: Value) -> Value | None:
    return None if value is None else per_channel(rw, build.convert(rw, value, y.element), static_shape(y), op.layout)


@TABLE("top.BatchNorm")
def batch_norm(op: BatchNorm, rw: Rewriter) -> Value:
    """`(x - mean) * (gamma / sqrt(variance + epsilon)) + beta`; the factor is a vector, constant where its operands are."""
    x = widened(rw, op.input)
    centre, variance = (build.convert(rw, value, x.element) for value in (op.mean, op.variance))
    factor = unary(rw, "rsqrt", binary(rw, "add", variance, op.epsilon))
    if op.gamma is not None:
        factor = binary(rw, "multiply", factor, build.convert(rw, op.gamma, x.element))
    y = binary(rw, "subtract", x, per_channel(rw, centre, static_shape(x), op.layout))
    y = binary(rw, "multiply", y, per_channel(rw, factor, static_shape(x), op.layout))
    return finish(rw, op, _affine(rw, y, None, _channels(rw, op, op.beta, y)))


@TABLE("top.LayerNorm")
def layer_norm(op: LayerNorm, rw: Rewriter) -> Value:
    x = widened(rw, op.input)
    y = _standardized(rw, x, range(normal_axis(op.axis, x.rank), x.rank), op.eps)
    return finish(rw, op, _affine(rw, y, op.weight, op.bias))


@TABLE("top.RMSNorm")
def rms_norm(op: RMSNorm, rw: Rewriter) -> Value:
    x = widened(rw, op.input)
    power = mean(rw, binary(rw, "multiply", x, x), range(normal_axis(op.axis, x.rank), x.rank))
    y = binary(rw, "multiply", x, unary(rw, "rsqrt", binary(rw, "add", power, op.eps)))
    return finish(rw, op, _affine(rw, y, op.weight, None))


@TABLE("top.InstanceNorm")
def instance_norm(op: InstanceNorm, rw: Rewriter) -> Value:
    x = widened(rw, op.input)
    channels = channel_axis(op.layout, x.rank)
    y = _standardized(rw, x, [axis for axis in range(1, x.rank) if axis != channels], op.eps)
    return finish(rw, op, _affine(rw, y, _channels(rw, op, op.weight, y), _channels(rw, op, op.bias, y)))


@TABLE("top.GroupNorm")
def group_norm(op: GroupNorm, rw: Rewriter) -> Value:
    x = widened(rw, op.input)
    shape, channels = static_shape(x), channel_axis(op.layout, x.rank)
    split = (*shape[:channels], op.num_groups, shape[channels] // op.num_groups, *shape[channels + 1 :])
    axes = [axis for axis in range(1, len(split)) if axis != channels]
    y = build.reshape(rw, _standardized(rw, build.reshape(rw, x, split), axes, op.eps), shape)
    return finish(rw, op, _affine(rw, y, _channels(rw, op, op.weight, y), _channels(rw, op, op.bias, y)))


@TABLE("top.LRN")
def lrn(op: LRN, rw: Rewriter) -> Value:
    """`x / (bias + alpha/size * s)^beta`, s the sum of squares over a window of channels."""
    x = widened(rw, op.input)
    channels = channel_axis(op.layout, x.rank)
    window, padding = [1] * x.rank, [[0, 0] for _ in range(x.rank)]
    window[channels], padding[channels] = op.size, [(op.size - 1) // 2, op.size // 2]
    squares = build.reduce_window(rw, binary(rw, "multiply", x, x), "add", window, None, padding)
    base = binary(rw, "add", binary(rw, "multiply", squares, op.alpha / op.size), op.bias)
    return finish(rw, op, binary(rw, "divide", x, binary(rw, "power", base, op.beta)))


@TABLE("top.Normalize")
def normalize(op: Normalize, rw: Rewriter) -> Value:
    """`x / sqrt(max(sum(x*x), eps))`."""
    x = widened(rw, op.input)
    squares = build.reduce(rw, binary(rw, "multiply", x, x), normal_axes(op.axes, x.rank), "add", keep=True)
    return finish(rw, op, binary(rw, "divide", x, unary(rw, "sqrt", binary(rw, "maximum", squares, op.eps))))
