"""Normalizations: operators of the same name where opset 21 has them, else by their formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transload.ir import Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables

from .common import broadcast, constant, emit, finish, ints, need_channels_second, scalar, static_shape

if TYPE_CHECKING:
    from transload_hub.ops.normalization import LRN, BatchNorm, GroupNorm, InstanceNorm, LayerNorm, Normalize, RMSNorm

__all__ = ["TABLE"]

TABLE = RewriteTable()


def _or_filled(rw: Rewriter, value: Value | None, number: float, shape: tuple[int, ...], like: Value) -> Value:
    """An operand that ONNX requires, or what it is where it is left out."""
    return value if value is not None else constant(rw, tables.full(shape, number), like.element)


@TABLE("top.BatchNorm")
def batch_norm(op: BatchNorm, rw: Rewriter) -> Value:
    need_channels_second(op)
    channels = static_shape(op.mean)
    gamma, beta = _or_filled(rw, op.gamma, 1.0, channels, op.mean), _or_filled(rw, op.beta, 0.0, channels, op.mean)
    return finish(rw, op, emit(rw, "BatchNormalization", op.input, gamma, beta, op.mean, op.variance, epsilon=op.epsilon))


@TABLE("top.LayerNorm")
def layer_norm(op: LayerNorm, rw: Rewriter) -> Value:
    """LayerNormalization, whose weight and bias are of the shape that is normalized."""
    shape = static_shape(op.input)
    axis = op.axis % len(shape)
    weight = _or_filled(rw, op.weight, 1.0, shape[axis:], op.input)
    return emit(rw, "LayerNormalization", op.input, weight, op.bias, axis=axis, epsilon=op.eps)


@TABLE("top.RMSNorm")
def rms_norm(op: RMSNorm, rw: Rewriter) -> Value:
    """By its formula: the operator came with opset 23."""
    shape = static_shape(op.input)
    axes = tuple(range(op.axis % len(shape), len(shape)))
    y = _over_root(rw, op.input, axes, op.eps, "ReduceMean")
    return y if op.weight is None else broadcast(rw, "Mul", y, op.weight)


def _over_root(rw: Rewriter, x: Value, axes: tuple[int, ...], eps: float, mean: str) -> Value:
    """`x / sqrt(mean(x^2) + eps)`, or with ReduceSum `x / sqrt(max(sum(x^2), eps))`."""
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(static_shape(x)))
    total = emit(rw, mean, emit(rw, "Mul", x, x), ints(rw, axes), shape=kept, keepdims=1)
    total = emit(rw, "Add" if mean == "ReduceMean" else "Max", total, scalar(rw, eps, x.element))
    return emit(rw, "Div", x, emit(rw, "Sqrt", total))


@TABLE("top.InstanceNorm")
def instance_norm(op: InstanceNorm, rw: Rewriter) -> Value:
    need_channels_second(op)
    channels = static_shape(op.input)[1:2]
    weight, bias = _or_filled(rw, op.weight, 1.0, channels, op.input), _or_filled(rw, op.bias, 0.0, channels, op.input)
    return emit(rw, "InstanceNormalization", op.input, weight, bias, epsilon=op.eps)


@TABLE("top.GroupNorm")
def group_norm(op: GroupNorm, rw: Rewriter) -> Value:
    need_channels_second(op)
    channels = static_shape(op.input)[1:2]
    weight, bias = _or_filled(rw, op.weight, 1.0, channels, op.input), _or_filled(rw, op.bias, 0.0, channels, op.input)
    return emit(rw, "GroupNormalization", op.input, weight, bias, epsilon=op.eps, num_groups=op.num_groups)


@TABLE("top.LRN")
def lrn(op: LRN, rw: Rewriter) -> Value:
    need_channels_second(op)
    return emit(rw, "LRN", op.input, size=op.size, alpha=op.alpha, beta=op.beta, bias=op.bias)


@TABLE("top.Normalize")
def normalize(op: Normalize, rw: Rewriter) -> Value:
    rank = len(static_shape(op.input))
    return _over_root(rw, op.input, tuple(axis % rank for axis in op.axes), op.eps, "ReduceSum")
