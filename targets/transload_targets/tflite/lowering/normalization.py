"""Normalization: L2_NORMALIZATION and LOCAL_RESPONSE_NORMALIZATION, and what is a mean, a variance and a line.

The latter are of floats. Quantized ones go through floats (`fallback`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from transload.errors import Unsupported
from transload.ir import Op, Value
from transload.rewrite import Rewriter, RewriteTable

from .common import activated, axes_of, constant, emit, fused, ints, quant, quantized_result, real, reshape, static_shape

if TYPE_CHECKING:
    from transload_hub.ops.normalization import LRN, BatchNorm, GroupNorm, InstanceNorm, LayerNorm, Normalize, RMSNorm

__all__ = ["TABLE"]

TABLE = RewriteTable()


def _is_quantized(op: Op) -> bool:
    return any(quant(value) is not None for value in (*op.operands, *op.results))


def _mean(rw: Rewriter, x: Value, axes: Sequence[int]) -> Value:
    """The mean over `axes`, which stay with size 1."""
    shape = tuple(1 if axis in axes else size for axis, size in enumerate(static_shape(x)))
    return emit(rw, "mean", x, ints(rw, *axes), like=x, shape=shape, keep_dims=True)


def _root_reciprocal(rw: Rewriter, x: Value, eps: float) -> Value:
    """`1 / sqrt(x + eps)`."""
    return emit(rw, "rsqrt", emit(rw, "add", x, real(rw, eps, x), like=x), like=x)


def _standardized(rw: Rewriter, x: Value, axes: Sequence[int], eps: float) -> Value:
    """Without its mean, and by its deviation."""
    centered = emit(rw, "sub", x, _mean(rw, x, axes), like=x)
    variance = _mean(rw, emit(rw, "mul", centered, centered, like=x), axes)
    return emit(rw, "mul", centered, _root_reciprocal(rw, variance, eps), like=x)


def _line(rw: Rewriter, x: Value, weight: Value | None, bias: Value | None) -> Value:
    """`x * weight + bias`, each where it is there."""
    if weight is not None:
        x = emit(rw, "mul", x, weight, like=x)
    return x if bias is None else emit(rw, "add", x, bias, like=x)


@TABLE("top.BatchNorm")
def batch_norm(op: BatchNorm, rw: Rewriter) -> Value | None:
    """MUL and ADD: the factor and the shift of each channel are computed at once, where they are known."""
    if _is_quantized(op):
        return None
    if any(value is not None and rw.constant_of(value) is None for value in (op.gamma, op.beta, op.mean, op.variance)):
        return _by_computed_statistics(op, rw)

    def numbers(value: Value | None, otherwise: float) -> np.ndarray:
        held = np.asarray(otherwise) if value is None else rw.need_constant(value, "a statistic of a batch normalization")
        return np.asarray(held, np.float64)

    factor = numbers(op.gamma, 1.0) / np.sqrt(numbers(op.variance, 1.0) + op.epsilon)
    shift = numbers(op.beta, 0.0) - numbers(op.mean, 0.0) * factor
    rank = op.input.rank
    shape = (1, -1, *(1,) * (rank - 2)) if op.layout == "NCHW" and rank > 2 else (-1,)
    factors, shifts = (constant(rw, array.astype(np.float32).reshape(shape)) for array in (factor, shift))
    made = emit(rw, "mul", op.input, factors, like=op.output)
    return activated(op, rw, emit(rw, "add", made, shifts, like=op.output, fused_activation_function=fused(op)))


def _by_computed_statistics(op: BatchNorm, rw: Rewriter) -> Value:
    """`(x - mean) / sqrt(variance + epsilon) * gamma + beta` of statistics that are known only at run time."""
    rank = op.input.rank

    def by_channel(value: Value) -> Value:
        channels = math.prod(static_shape(value))
        return reshape(rw, value, (1, channels, *(1,) * (rank - 2)) if op.layout == "NCHW" and rank > 2 else (channels,))

    made = op.input
    if op.mean is not None:
        made = emit(rw, "sub", made, by_channel(op.mean), like=op.output)
    if op.variance is None:
        made = emit(rw, "mul", made, real(rw, (1.0 + op.epsilon) ** -0.5, made), like=op.output)
    else:
        made = emit(rw, "mul", made, by_channel(_root_reciprocal(rw, op.variance, op.epsilon)), like=op.output)
    return activated(op, rw, _line(
        rw, made, *(None if value is None else by_channel(value) for value in (op.gamma, op.beta))))


@TABLE("top.LayerNorm")
def layer_norm(op: LayerNorm, rw: Rewriter) -> Value | None:
    if _is_quantized(op):
        return None
    axes = range(axes_of((op.axis,), op.input.rank)[0], op.input.rank)
    return _line(rw, _standardized(rw, op.input, tuple(axes), op.eps), op.weight, op.bias)


@TABLE("top.RMSNorm")
def rms_norm(op: RMSNorm, rw: Rewriter) -> Value | None:
    if _is_quantized(op):
        return None
    axes = tuple(range(axes_of((op.axis,), op.input.rank)[0], op.input.rank))
    x = op.input
    root = _root_reciprocal(rw, _mean(rw, emit(rw, "mul", x, x, like=x), axes), op.eps)
    return _line(rw, emit(rw, "mul", x, root, like=x), op.weight, None)


@TABLE("top.InstanceNorm")
def instance_norm(op: InstanceNorm, rw: Rewriter) -> Value | None:
    if _is_quantized(op):
        return None
    rank = op.input.rank
    axes = tuple(range(1, rank - 1)) if op.layout == "NHWC" else tuple(range(2, rank))
    return _line(rw, _standardized(rw, op.input, axes, op.eps), *_per_channel(rw, op))


@TABLE("top.GroupNorm")
def group_norm(op: GroupNorm, rw: Rewriter) -> Value | None:
    """The channels of a group, and all places, are one mean's."""
    if _is_quantized(op):
        return None
    shape = static_shape(op.input)
    last = op.layout == "NHWC"
    channels = shape[-1] if last else shape[1]
    spatial = shape[1:-1] if last else shape[2:]
    own = channels // op.num_groups
    apart = (shape[0], math.prod(spatial), op.num_groups, own) if last else (shape[0], op.num_groups, own, math.prod(spatial))
    made = _standardized(rw, reshape(rw, op.input, apart), (1, 3) if last else (2, 3), op.eps)
    return _line(rw, reshape(rw, made, shape), *_per_channel(rw, op))


def _per_channel(rw: Rewriter, op: GroupNorm | InstanceNorm) -> tuple[Value | None, Value | None]:
    """Weight and bias so that they broadcast along the channels."""
    if op.layout == "NHWC":
        return op.weight, op.bias
    rank = op.input.rank
    ones = (1,) * (rank - 2)
    weight, bias = (
        None if value is None else reshape(rw, value, (*static_shape(value), *ones)) for value in (op.weight, op.bias))
    return weight, bias


@TABLE("top.LRN")
def local_response(op: LRN, rw: Rewriter) -> Value | None:
    """LOCAL_RESPONSE_NORMALIZATION, of an odd number of channels; its alpha is a factor of the sum, the hub's of the mean."""
    if _is_quantized(op):
        return None
    if op.size % 2 == 0 or op.layout != "NHWC" or op.input.rank != 4:
        raise Unsupported("LiteRT normalizes over an odd number of channels of images, channels last")
    return emit(
        rw, "local_response_normalization", op.input, like=op.output, radius=op.size // 2, bias=op.bias, alpha=op.alpha / op.size,
        beta=op.beta)


@TABLE("top.Normalize")
def normalize(op: Normalize, rw: Rewriter) -> Value | None:
    """L2_NORMALIZATION, along the last dimension; along others, or with another least length, by the sum of squares."""
    if quantized_result(op) is not None or quant(op.input) is not None:
        return None
    x = op.input
    axes = axes_of(op.axes, x.rank)
    if axes == (x.rank - 1,) and math.isclose(op.eps, 1e-12, rel_tol=1e-3):
        return emit(rw, "l2_normalization", x, like=op.output)
    shape = tuple(1 if axis in axes else size for axis, size in enumerate(static_shape(x)))
    squares = emit(rw, "sum", emit(rw, "mul", x, x, like=x), ints(rw, *axes), like=x, shape=shape, keep_dims=True)
    squares = emit(rw, "maximum", squares, real(rw, op.eps, x), like=squares)
    return emit(rw, "mul", x, emit(rw, "rsqrt", squares, like=squares), like=op.output)
