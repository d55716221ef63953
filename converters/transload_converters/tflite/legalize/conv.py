"""Convolutions. Activations are NHWC; the hub's filters in that layout are O, kernel.., I / group."""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import I16, Op, Value
from transload.rewrite import Rewriter, RewriteTable
from transload.verification.bounds import DYNAMIC
from transload_hub import tables

from .common import constant_ints, emit_activated, layout, pads_for, same_padding, static_shape, typed_bias
from .hybrid import hybrid_conv, hybrid_deconv, is_emulated, real_weights

TABLE = RewriteTable()


def _strides(op: Op, axes: str = "hw") -> tuple[int, ...]:
    strides = tuple(op.attribute(f"stride_{axis}") for axis in axes)
    if min(strides) < 1:
        raise Unsupported(f"the strides {list(strides)} must be positive")
    return strides


def _dilations(op: Op, axes: str = "hw") -> tuple[int, ...]:
    dilations = tuple(op.attribute(f"dilation_{axis}_factor") for axis in axes)
    if min(dilations) < 1:
        raise Unsupported(f"the dilations {list(dilations)} must be positive")
    return dilations


def _convolution(
    op: Op, rw: Rewriter, value: Value, weights: Value, bias: Value | None, strides: tuple[int, ...], dilations: tuple[int, ...],
    group: int,
) -> Value:
    """A convolution with weights already in the hub's order; hybrid ones by LiteRT's hybrid kernel."""
    rank = len(strides) + 2
    kernels = static_shape(weights, "the filter", rank)[1:-1]
    sizes = static_shape(value, "the input", rank)[1:-1]
    geometry: dict[str, Any] = {
        "kernel_shape": kernels, "strides": strides, "dilations": dilations, "group": group, "layout": layout,
        "pads": pads_for(op.attribute("padding"), sizes, kernels, strides, dilations),
    }
    if is_emulated(rw, value, weights):
        return hybrid_conv(op, rw, value, weights, bias, geometry)
    weights, geometry[DYNAMIC] = real_weights(op, rw, value, weights)
    return emit_activated(rw, op, "top.Conv", value, weights, typed_bias(rw, bias, value, weights), **geometry)


@TABLE("tfl.conv_2d")
def conv_2d(op: Op, rw: Rewriter) -> Value:
    """CONV_2D: the filter is O, height, width, I; with I less than the input's channels the convolution is grouped."""
    value, weights = op.operands[:2]
    channels, per_group = static_shape(value, "the input", 4)[-1], static_shape(weights, "the filter", 4)[-1]
    if per_group == 0 or channels % per_group:
        raise Unsupported(f"{channels} input channels do not fit a filter of {per_group}")
    return _convolution(op, rw, value, weights, op.bias, _strides(op), _dilations(op), channels // per_group)


@TABLE("tfl.depthwise_conv_2d")
def depthwise_conv_2d(op: Op, rw: Rewriter) -> Value:
    """DEPTHWISE_CONV_2D: the filter is 1, height, width, channels times multiplier; one group a channel."""
    value, weights = op.operands[:2]
    if (held := weights.quant) is not None and held.storage.width > 8:
        raise Unsupported(f"has weights of {held.storage.width} bits, which LiteRT takes for numbers of 8",
                          "quantize them to 8 bits")
    turned = rw.emit("top.Permute", weights, order=(3, 1, 2, 0))
    channels = static_shape(value, "the input", 4)[-1]
    return _convolution(op, rw, value, turned, op.bias, _strides(op), _dilations(op), channels)


@TABLE("tfl.conv_3d")
def conv_3d(op: Op, rw: Rewriter) -> Value:
    """CONV_3D: the filter is depth, height, width, I, O."""
    value, weights = op.operands[:2]
    turned = rw.emit("top.Permute", weights, order=(4, 0, 1, 2, 3))
    channels, per_group = static_shape(value, "the input", 5)[-1], static_shape(turned, "the filter", 5)[-1]
    if per_group == 0 or channels % per_group:
        raise Unsupported(f"{channels} input channels do not fit a filter of {per_group}")
    return _convolution(op, rw, value, turned, op.bias, _strides(op, "dhw"), _dilations(op, "dhw"), channels // per_group)


def transposed(
    op: Op, rw: Rewriter, value: Value, weights: Value, bias: Value | None, wanted: tuple[int, ...], strides: tuple[int, ...],
    padding: str, activation: str = "NONE", dilations: tuple[int, ...] | None = None,
) -> Value:
    """A transposed convolution with a result of the spatial sizes `wanted`, weights in O, kernel.., I.

    TFLite derives the padding from the result's size, as that of the convolution whose gradient this is; what
    then is still missing or too much is at the end of each dimension.
    """
    rank = len(strides) + 2
    kernels = static_shape(weights, "the filter", rank)[1:-1]
    sizes = static_shape(value, "the input", rank)[1:-1]
    dilations = dilations or (1,) * len(strides)
    begins, ends, extras = [], [], []
    for size, kernel, stride, dilation, out in zip(sizes, kernels, strides, dilations, wanted, strict=True):
        begin = same_padding(out, kernel, stride, dilation)[0] if padding == "SAME" else 0
        end = (size - 1) * stride + (kernel - 1) * dilation + 1 - begin - out
        begins.append(begin)
        ends.append(max(end, 0))
        extras.append(max(-end, 0))
    geometry: dict[str, Any] = {
        "kernel_shape": kernels, "strides": strides, "dilations": dilations, "pads": (*begins, *ends),
        "output_padding": tuple(extras), "layout": layout,
    }
    if is_emulated(rw, value, weights):
        return hybrid_deconv(op, rw, value, weights, bias, geometry)
    weights, geometry[DYNAMIC] = real_weights(op, rw, value, weights)
    return emit_activated(
        rw, op, "top.Deconv", value, weights, typed_bias(rw, bias, value, weights), activation=activation, **geometry)


@TABLE("tfl.transpose_conv")
def transpose_conv(op: Op, rw: Rewriter) -> Value:
    """TRANSPOSE_CONV: the weights are O, height, width, I; the result's shape is an operand."""
    shape, weights, value = op.operands[:3]
    wanted = constant_ints(rw, shape, "the shape of the result")
    if len(wanted) != 4:
        raise Unsupported(f"the shape of the result must have 4 dimensions, and is {list(wanted)}")
    bias = op.bias
    if bias is None and op.attribute("quantized_bias_type") == "INT32" and value.stored_element == I16:
        # The kernel sums in 32 bits by what is said of a bias, and a hub op by what bias it has.
        bias = rw.constant(tables.zeros(static_shape(weights, "the filter", 4)[0], np.int32))
    return transposed(
        op, rw, value, weights, bias, wanted[1:-1], _strides(op), op.attribute("padding"),
        op.attribute("fused_activation_function"))


@TABLE("tfl.conv_3d_transpose")
def conv_3d_transpose(op: Op, rw: Rewriter) -> Value:
    """CONV_3D_TRANSPOSE: the filter is depth, height, width, O, I; the result's shape is one that CONV_3D makes the input of."""
    shape, weights, value = op.operands[:3]
    wanted = constant_ints(rw, shape, "the shape of the result")
    if len(wanted) != 5:
        raise Unsupported(f"the shape of the result must have 5 dimensions, and is {list(wanted)}")
    strides, dilations = _strides(op, "dhw"), _dilations(op, "dhw")
    turned = rw.emit("top.Permute", weights, order=(3, 0, 1, 2, 4))
    kernels, sizes = static_shape(turned, "the filter", 5)[1:-1], static_shape(value, "the input", 5)[1:-1]
    same = op.attribute("padding") == "SAME"
    for out, kernel, stride, dilation, size in zip(wanted[1:-1], kernels, strides, dilations, sizes, strict=True):
        windows = -(-(out if same else out - (kernel - 1) * dilation) // stride)
        if windows != size:
            raise Unsupported(f"a result of {list(wanted)} has {windows} windows where the input has {size}: LiteRT does not run "
                              "that either", "the file breaks a rule of LiteRT's")
    return transposed(
        op, rw, value, turned, op.bias, wanted[1:-1], strides, op.attribute("padding"),
        op.attribute("fused_activation_function"), dilations)
