"""Convolution and transposed convolution: one `stablehlo.convolution` each, in the layout that the op has."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from transload.ir import F32, F64, I32, I64, FloatType, Type, Value
from transload.ir.build import Builder
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.ops.infer import channel_axis, spatial_axes

from .. import build
from ..attributes import ConvDims
from .common import finish, per_channel

if TYPE_CHECKING:
    from transload_hub.ops.conv import Conv, Deconv

__all__ = ["TABLE", "sum_type"]

TABLE = RewriteTable()


def sum_type(a: Value, b: Value, target: Type) -> Type:
    """The type in which products of `a` and `b` are summed: f32 or f64; of integers one in which nothing is lost.

    Sums modulo 2^32 are right for results of 32 bits and less, whatever is in between; others need i64.
    """
    if a.is_float:
        return F64 if F64 in (a.element, b.element) else F32
    return I64 if not isinstance(target, FloatType) and target.width > 32 else I32  # type: ignore[attr-defined]


def contracted(rw: Builder, x: Value, total: Type) -> Value:
    """An operand of a contraction whose sums are of type `total`: floats and 8-bit integers as they are, others widened."""
    if x.element == total or (isinstance(total, FloatType) and x.element.name in ("f16", "bf16")):  # type: ignore[attr-defined]
        return x
    return build.convert(rw, x, total)


def _dims(layout: str, spatial: int, filter_in: int, filter_out: int, filter_spatial: range) -> ConvDims:
    rank = spatial + 2
    axes, channels = tuple(spatial_axes(layout, rank)), channel_axis(layout, rank)
    return ConvDims(
        input_batch_dimension=0, input_feature_dimension=channels, input_spatial_dimensions=axes,
        kernel_input_feature_dimension=filter_in, kernel_output_feature_dimension=filter_out,
        kernel_spatial_dimensions=tuple(filter_spatial),
        output_batch_dimension=0, output_feature_dimension=channels, output_spatial_dimensions=axes)


def _with_bias(rw: Rewriter, op: Conv | Deconv, y: Value) -> Value:
    if op.bias is not None:
        bias = build.convert(rw, op.bias, y.element)
        y = build.binary(rw, "add", y, per_channel(rw, bias, build.shape_of(y), op.layout))
    return finish(rw, op, y)


@TABLE("top.Conv")
def conv(op: Conv, rw: Rewriter) -> Value:
    """A convolution; the filter is [O, I/g, kernel..] (NCHW) or [O, kernel.., I/g] (NHWC)."""
    n = len(op.kernel_shape)
    last = op.layout == "NHWC"
    dims = _dims(op.layout, n, n + 1 if last else 1, 0, range(1, n + 1) if last else range(2, n + 2))
    total = sum_type(op.input, op.filter, op.result.element)
    y = build.convolution(
        rw, contracted(rw, op.input, total), contracted(rw, op.filter, total), dims, op.strides,
        list(zip(op.pads[:n], op.pads[n:], strict=True)), op.dilations, groups=op.group, element=total)
    return _with_bias(rw, op, y)


@TABLE("top.Deconv")
def deconv(op: Deconv, rw: Rewriter) -> Value:
    """A convolution of the input, its elements `strides` apart, with the filter turned round.

    The filter is [I, O/g, kernel..] (NCHW) or [O/g, kernel.., I] (NHWC). What the kernel reaches beyond the input, less
    pads, becomes padding. With groups, the filter's dimensions are put in the order that a convolution has them in:
    I/g, and the O/g of each group one after another.
    """
    n, group, last = len(op.kernel_shape), op.group, op.layout == "NHWC"
    weights = build.reverse(rw, op.filter, range(1, n + 1) if last else range(2, n + 2))
    inputs, outputs = (n + 1, 0) if last else (0, 1)
    if group > 1:
        weights = _regrouped(rw, weights, group, last)
    total = sum_type(op.input, op.filter, op.result.element)
    reach = [(kernel - 1) * dilation for kernel, dilation in zip(op.kernel_shape, op.dilations, strict=True)]
    padding = [
        (reach[i] - op.pads[i], reach[i] - op.pads[n + i] + op.output_padding[i]) for i in range(n)]
    y = build.convolution(
        rw, contracted(rw, op.input, total), contracted(rw, weights, total),
        _dims(op.layout, n, inputs, outputs, range(1, n + 1) if last else range(2, n + 2)), (1,) * n, padding, op.dilations,
        op.strides, group, total)
    return _with_bias(rw, op, y)


def _regrouped(rw: Builder, weights: Value, group: int, last: bool) -> Value:
    """A filter [I, O/g, ..] as [I/g, O, ..], or [O/g, .., I] as [O, .., I/g]."""
    shape = build.shape_of(weights)
    if last:
        per_group, spatial, channels = shape[0], shape[1:-1], shape[-1]
        split = build.reshape(rw, weights, (per_group, math.prod(spatial), group, channels // group))
        return build.reshape(rw, build.transpose(rw, split, (2, 0, 1, 3)), (group * per_group, *spatial, channels // group))
    channels, per_group, spatial = shape[0], shape[1], shape[2:]
    split = build.reshape(rw, weights, (group, channels // group, per_group, math.prod(spatial)))
    return build.reshape(rw, build.transpose(rw, split, (1, 0, 2, 3)), (channels // group, group * per_group, *spatial))
