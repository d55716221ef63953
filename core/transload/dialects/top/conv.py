"""Convolution and transposed convolution, of one, two or three spatial dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.declare import INT, INTS, attribute, constraint, operand, result
from ...ir.types import TensorType, Type
from .base import LAYOUT, TOP, Activated, PerDimension
from .infer import (
    Shape,
    channel_axis,
    fail,
    need_rank,
    shape_of,
    spatial_axes,
    transposed_window_size,
    unify,
    window_size,
)


class Convolution(Activated):
    """Base of both convolutions: operands, geometry and its constraints."""

    input = operand("[N, C, spatial..] (NCHW) or [N, spatial.., C] (NHWC)")
    filter = operand("see the op")
    bias = operand("[output channels]; a quantized one has scale = input scale * filter scale", optional=True)
    output = result("[N, O, spatial..] or [N, spatial.., O]")
    kernel_shape = attribute(INTS, "the kernel's spatial sizes, one to three of them")
    strides = attribute(INTS, "step per spatial dimension", default=PerDimension(1))
    pads = attribute(INTS, "padding: all begins, then all ends", default=PerDimension(0, 2))
    dilations = attribute(INTS, "distance between kernel elements per spatial dimension", default=PerDimension(1))
    group = attribute(INT, "number of groups that channels are split into; the number of channels: depthwise", default=1)
    layout = attribute(LAYOUT, "where the channels are", default="NCHW")
    traits = ("layout",)

    @constraint
    def one_entry_a_dimension(op: Any) -> bool | str:
        """kernel_shape has one to three entries, strides and dilations as many, pads twice as many"""
        n = len(op.kernel_shape)
        if 1 <= n <= 3 and len(op.strides) == len(op.dilations) == n and len(op.pads) == 2 * n:
            return True
        return f"kernel {op.kernel_shape}, strides {op.strides}, dilations {op.dilations}, pads {op.pads}"

    @constraint
    def geometry_is_positive(op: Any) -> bool:
        """kernel sizes, strides, dilations and group are positive"""
        return min((*op.kernel_shape, *op.strides, *op.dilations, op.group)) > 0


def _check_geometry(op: Any) -> None:
    """What inference relies on before the verifier has seen the op."""
    n = len(op.kernel_shape)
    if len(op.strides) != n or len(op.dilations) != n or len(op.pads) != 2 * n:
        fail(op, f"kernel {op.kernel_shape}, strides {op.strides}, dilations {op.dilations} and pads {op.pads} do not fit")
    if min((*op.kernel_shape, *op.strides, *op.dilations, op.group), default=1) < 1:
        fail(op, "kernel sizes, strides, dilations and group must be positive")


def _check_bias(op: Any, count: int | None) -> None:
    """Check that `bias` is absent, or has `count` elements."""
    bias = op.bias
    shape = None if bias is None else shape_of(bias)
    if shape is not None:
        if len(shape) != 1:
            fail(op, f"the bias must have rank 1, and has {len(shape)}")
        unify(op, shape[0], count, "elements of the bias and output channels")


def _result_type(op: Any, shape: Shape | None, channels: int | None, sizes: Sequence[int | None]) -> TensorType:
    batch = None if shape is None else shape[0]
    full = (batch, channels, *sizes) if op.layout == "NCHW" else (batch, *sizes, channels)
    return TensorType(full, op.input.element)


@TOP.op("Conv")
class Conv(Convolution):
    """Cross-correlation with a filter, plus a bias per output channel (TPU-MLIR manual 13.1, ConvOp; ONNX Conv).

    `y[n, o, p] = bias[o] + sum over c, k of w[o, c, k] * x[n, g*C/group + c, p*stride + k*dilation - pad]`, zero
    outside the input (for a quantized input: its zero point). The filter is [O, C/group, kernel..] in NCHW and
    [O, kernel.., C/group] in NHWC; output channel o belongs to group `g = o // (O/group)`.
    """

    def infer(op: Any) -> Type:
        _check_geometry(op)
        spatial_rank = len(op.kernel_shape)
        rank = spatial_rank + 2
        shape = need_rank(op, op.input, "the input", (rank,))
        weights = need_rank(op, op.filter, "the filter", (rank,))
        outputs = weights[0] if weights else None
        if weights:
            held = weights[2:] if op.layout == "NCHW" else weights[1:-1]
            for size, kernel in zip(held, op.kernel_shape, strict=True):
                unify(op, size, kernel, "the filter's spatial sizes and kernel_shape")
            per_group = weights[1] if op.layout == "NCHW" else weights[-1]
            if shape and per_group is not None:
                unify(op, shape[channel_axis(op.layout, rank)], per_group * op.group, "input channels and the filter's")
            if outputs is not None and outputs % op.group:
                fail(op, f"{outputs} output channels cannot be split into {op.group} groups")
        _check_bias(op, outputs)
        pads = list(zip(op.pads[:spatial_rank], op.pads[spatial_rank:], strict=True))
        sizes = [None] * spatial_rank if shape is None else [
            window_size(op, shape[axis], op.kernel_shape[i], op.strides[i], op.dilations[i], *pads[i])
            for i, axis in enumerate(spatial_axes(op.layout, rank))]
        return _result_type(op, shape, outputs, sizes)


@TOP.op("Deconv")
class Deconv(Convolution):
    """Transposed convolution: the gradient of `Conv` with respect to its input (TPU-MLIR manual 13.1, DeconvOp).

    Each input element adds the filter, times itself, to the output at `p*stride + k*dilation - pad`; output size
    `(size-1)*stride + (kernel-1)*dilation + 1 - pads + output_padding`. The filter is [I, O/group, kernel..] in NCHW
    (ONNX ConvTranspose) and [O/group, kernel.., I] in NHWC (TFLite TRANSPOSE_CONV).
    """

    output_padding = attribute(INTS, "extra size at each dimension's end", default=PerDimension(0))

    @constraint
    def output_padding_is_not_negative(op: Any) -> bool:
        """output_padding has one entry per spatial dimension, none negative"""
        return len(op.output_padding) == len(op.kernel_shape) and min(op.output_padding) >= 0

    def infer(op: Any) -> Type:
        _check_geometry(op)
        spatial_rank = len(op.kernel_shape)
        rank = spatial_rank + 2
        shape = need_rank(op, op.input, "the input", (rank,))
        weights = need_rank(op, op.filter, "the filter", (rank,))
        outputs = None
        if weights:
            held = weights[2:] if op.layout == "NCHW" else weights[1:-1]
            for size, kernel in zip(held, op.kernel_shape, strict=True):
                unify(op, size, kernel, "the filter's spatial sizes and kernel_shape")
            inputs, per_group = (weights[0], weights[1]) if op.layout == "NCHW" else (weights[-1], weights[0])
            if shape:
                inputs = unify(op, shape[channel_axis(op.layout, rank)], inputs, "input channels and the filter's")
            if inputs is not None and inputs % op.group:
                fail(op, f"{inputs} input channels cannot be split into {op.group} groups")
            outputs = None if per_group is None else per_group * op.group
        _check_bias(op, outputs)
        pads = list(zip(op.pads[:spatial_rank], op.pads[spatial_rank:], strict=True))
        sizes = [None] * spatial_rank if shape is None else [
            transposed_window_size(
                op, shape[axis], op.kernel_shape[i], op.strides[i], op.dilations[i], *pads[i], op.output_padding[i])
            for i, axis in enumerate(spatial_axes(op.layout, rank))]
        return _result_type(op, shape, outputs, sizes)
