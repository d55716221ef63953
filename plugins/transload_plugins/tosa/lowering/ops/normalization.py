"""Normalizations, from sums, RSQRT and products, on floats.

All compute in f32: sums and squares of narrower floats are beyond their range, and what comes of them seldom is.

The specification has the batch normalization of TensorFlow (tf.FusedBatchNormV3, whose `%op4` must multiply
`%op1`, not the mean); for the others it names no lowering.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import F32, I8, I32, Value
from transload.rewrite import Rewriter, RewriteTable

from ... import build
from ..arithmetic.rescaling import activation_range, greatest_product, i32, narrow, quant, shift_right, widen
from ..prepare.sources import is_unsigned
from .common import (
    binary,
    cast,
    cut,
    finished,
    like,
    narrowed,
    normal_axes,
    normal_axis,
    pad,
    plain_into,
    reshape,
    static_shape,
    unary,
)
from .reduce import mean, total

if TYPE_CHECKING:
    from transload_hub.ops.normalization import LRN, BatchNorm, GroupNorm, InstanceNorm, LayerNorm, Normalize, RMSNorm

__all__ = ["TABLE"]

TABLE = RewriteTable()
plain = plain_into(TABLE)


def _channels(layout: str, rank: int) -> int:
    return rank - 1 if layout == "NHWC" or rank < 2 else 1


def _per_channel(rw: Rewriter, value: Value, axis: int, rank: int) -> Value:
    """A vector of channels, shaped to broadcast with a tensor of `rank` whose channels are dimension `axis`."""
    count = math.prod(static_shape(value))
    return reshape(rw, value, [count if dim == axis else 1 for dim in range(rank)])


def _in_f32(rw: Rewriter, *values: Value | None) -> list[Any]:
    """Values in f32, in which all here is computed; None where there is none."""
    return [None if value is None else cast(rw, value, F32) for value in values]


def _affine(rw: Rewriter, x: Value, weight: Value | None, bias: Value | None) -> Value:
    if weight is not None:
        x = binary(rw, "mul", x, weight)
    return x if bias is None else binary(rw, "add", x, bias)


def _standardized(rw: Rewriter, x: Value, axes: Sequence[int], eps: float) -> Value:
    """`(x - mean) * RSQRT(variance + eps)` over `axes`."""
    centred = binary(rw, "sub", x, mean(rw, x, axes))
    variance = mean(rw, binary(rw, "mul", centred, centred), axes)
    return binary(rw, "mul", centred, unary(rw, "rsqrt", binary(rw, "add", variance, like(rw, variance, eps))))


@plain("top.BatchNorm")
def batch_norm(op: BatchNorm, rw: Rewriter) -> Value:
    """`x * factor + shift` with constant parameters; else SUB, RSQRT, MUL, MUL, ADD (tf.FusedBatchNormV3)."""
    x, *parameters = _in_f32(rw, op.input, op.mean, op.variance, op.gamma, op.beta)
    rank = x.rank
    axis = _channels(op.layout, rank)
    held = [None if value is None else rw.constant_of(value) for value in parameters]
    centre, spread, gamma, beta = (None if array is None else array.astype(np.float64) for array in held)
    if centre is not None and spread is not None and not any(
            array is None and value is not None for array, value in zip(held, parameters, strict=True)):
        factor = (1.0 if gamma is None else gamma) / np.sqrt(spread + op.epsilon)
        shift = (0.0 if beta is None else beta) - centre * factor
        shape = [-1 if dim == axis else 1 for dim in range(rank)]
        weight, bias = (build.const(rw, array.astype(np.float32).reshape(shape)) for array in (factor, shift))
        made = _affine(rw, x, weight, bias)
    else:
        mean_, variance, gamma_, beta_ = (None if v is None else _per_channel(rw, v, axis, rank) for v in parameters)
        spread_ = binary(rw, "add", variance, like(rw, variance, op.epsilon))  # type: ignore[arg-type]
        made = binary(rw, "mul", binary(rw, "sub", x, mean_), unary(rw, "rsqrt", spread_))  # type: ignore[arg-type]
        made = _affine(rw, made, gamma_, beta_)
    return finished(rw, made, op)


@plain("top.LayerNorm")
def layer_norm(op: LayerNorm, rw: Rewriter) -> Value:
    """Standardized over all dimensions from `axis` on."""
    x, *affine = _in_f32(rw, op.input, op.weight, op.bias)
    axes = range(normal_axis(op.axis, x.rank), x.rank)
    return narrowed(rw, _affine(rw, _standardized(rw, x, axes, op.eps), *affine), op)


@plain("top.RMSNorm")
def rms_norm(op: RMSNorm, rw: Rewriter) -> Value:
    """`x * RSQRT(mean(x^2) + eps)` over all dimensions from `axis` on."""
    x, weight = _in_f32(rw, op.input, op.weight)
    square = mean(rw, binary(rw, "mul", x, x), range(normal_axis(op.axis, x.rank), x.rank))
    made = binary(rw, "mul", x, unary(rw, "rsqrt", binary(rw, "add", square, like(rw, square, op.eps))))
    return narrowed(rw, _affine(rw, made, weight, None), op)


@plain("top.InstanceNorm")
def instance_norm(op: InstanceNorm, rw: Rewriter) -> Value:
    """Standardized over the spatial dimensions."""
    x, *affine = _in_f32(rw, op.input, op.weight, op.bias)
    axis = _channels(op.layout, x.rank)
    made = _standardized(rw, x, [dim for dim in range(1, x.rank) if dim != axis], op.eps)
    made = _affine(rw, made, *(None if v is None else _per_channel(rw, v, axis, x.rank) for v in affine))
    return narrowed(rw, made, op)


@plain("top.GroupNorm")
def group_norm(op: GroupNorm, rw: Rewriter) -> Value:
    """Standardized over the spatial dimensions and the channels of each group."""
    x, *affine = _in_f32(rw, op.input, op.weight, op.bias)
    rank, groups, shape = x.rank, op.num_groups, static_shape(x)
    axis = _channels(op.layout, rank)
    each = shape[axis] // groups
    if axis == rank - 1:
        parts, axes = (shape[0], math.prod(shape[1:-1]), groups, each), (1, 3)
    else:
        parts, axes = (shape[0], groups, each, math.prod(shape[2:])), (2, 3)
    made = reshape(rw, _standardized(rw, reshape(rw, x, parts), axes, op.eps), shape)
    made = _affine(rw, made, *(None if v is None else _per_channel(rw, v, axis, rank) for v in affine))
    return narrowed(rw, made, op)


@plain("top.LRN")
def local_response_norm(op: LRN, rw: Rewriter) -> Value:
    """`x * POW(bias + alpha / size * s, -beta)` with sums s over windows of channels."""
    (x,) = _in_f32(rw, op.input)
    axis = _channels(op.layout, x.rank)
    sums = _window_sums(rw, binary(rw, "mul", x, x), axis, op.size)
    base = binary(rw, "add", binary(rw, "mul", sums, like(rw, sums, op.alpha / op.size)), like(rw, sums, op.bias))
    factor = unary(rw, "rsqrt", base) if op.beta == 0.5 else binary(rw, "pow", base, like(rw, base, -op.beta))
    return narrowed(rw, binary(rw, "mul", x, factor), op)


def _window_sums(rw: Rewriter, x: Value, axis: int, size: int) -> Value:
    """For each place the sum of `size` places around it, (size - 1) // 2 of them before it.

    Sums of 2, 4, 8, ... neighbours, of which those that the size is made of are added.
    """
    count = static_shape(x)[axis]
    neighbours = pad(rw, x, axis, (size - 1) // 2, size // 2, 0)
    width, start = 1, 0
    total_: Value | None = None
    while True:
        if size & width:
            part = cut(rw, neighbours, axis, start, count)
            total_ = part if total_ is None else binary(rw, "add", total_, part)
            start += width
        if 2 * width > size:
            return total_  # type: ignore[return-value]
        left = static_shape(neighbours)[axis] - width
        neighbours = binary(rw, "add", cut(rw, neighbours, axis, 0, left), cut(rw, neighbours, axis, width, left))
        width *= 2


@plain("top.Normalize")
def normalize(op: Normalize, rw: Rewriter) -> Value:
    """`x * RSQRT(max(sum(x^2), eps))` (tfl.l2_normalization has no lowering)."""
    (x,) = _in_f32(rw, op.input)
    square = total(rw, binary(rw, "mul", x, x), normal_axes(op.axes, x.rank))
    return narrowed(rw, binary(rw, "mul", x, unary(rw, "rsqrt", binary(rw, "maximum", square, like(rw, square, op.eps)))), op)


@TABLE("top.Normalize")
def normalize_quantized(op: Normalize, rw: Rewriter) -> Value | None:
    """LiteRT's kernel in fixed point, which rounds twice: first to as many bits of fraction as the sum of squares has it keep.

    `x * 2**bits / sqrt(sum)`, which it computes with 31 bits, is computed in f32: at most 2**17, so that the second
    rounding gives another number only where the first is both off and next to one of its halves.
    """
    source, target = quant(op.input), quant(op.result)
    if source is None or target is None or str(op.rounding) != "double" or not source.per_tensor or source.storage != I8:
        return None
    if (target.storage, target.scales, target.zero_points) != (I8, (2.0**-7,), (0,)):
        return None
    x, last = widen(rw, op.input), op.input.rank - 1
    if normal_axes(op.axes, x.rank) != (last,) or static_shape(x)[last] * greatest_product(source, source) > I32.range[1]:
        return None
    squares = total(rw, build.mul(rw, x, x, element=I32), (last,))
    halved = shift_right(rw, rw.emit("tosa.sub", rw.emit("tosa.clz", squares), i32(rw, 1, x)), 1, rounded=False)
    most = 12 if is_unsigned(op) else 5  # its kernel of signed numbers multiplies by 2**7 last
    bits = rw.emit("tosa.maximum", rw.emit("tosa.sub", i32(rw, most, x), halved), i32(rw, 0, x))
    fine = rw.emit("tosa.logical_left_shift", i32(rw, 1 << 7, x), bits, element=I32)
    root = unary(rw, "rsqrt", cast(rw, rw.emit("tosa.maximum", squares, i32(rw, 1, x)), F32))
    real = build.mul(rw, build.mul(rw, cast(rw, x, F32), cast(rw, fine, F32)), root)
    first = cast(rw, unary(rw, "floor", binary(rw, "add", real, like(rw, real, 0.5))), I32)
    away = build.mul(rw, shift_right(rw, first, 31, rounded=False), rw.emit("tosa.minimum", bits, i32(rw, 1, x)), element=I32)
    nudged = rw.emit("tosa.add", first, away, element=I32)
    made = rw.emit("tosa.arithmetic_right_shift", nudged, bits, round=True, element=I32)
    return narrow(rw, made, 1.0, target, activation=activation_range(op))
