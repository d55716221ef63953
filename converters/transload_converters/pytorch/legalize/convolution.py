"""Convolutions of one to three spatial dimensions, transposed ones, and patches (im2col, col2im)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from transload.errors import Unsupported
from transload.ir import Value
from transload.rewrite import Rewriter
from transload_hub.build import Window, counted, need_place
from transload_hub.sampling import columns_to_image

from .table import AtenTable, Call, per_dimension, permute, reshape, shape_of

TABLE = AtenTable()


@TABLE("conv1d.default", "conv2d.default", "conv3d.default", "conv1d.padding", "conv2d.padding", "conv3d.padding",
       "convolution.default", "_convolution.default", "_convolution.deprecated", "_conv_depthwise2d.default",
       "slow_conv3d.default", "thnn_conv2d.default", "_convolution_mode.default", "convolution_overrideable.default",
       "conv_depthwise3d.default", "slow_conv_dilated2d.default", "slow_conv_dilated3d.default")
def conv(call: Call, rw: Rewriter) -> Value:
    """A convolution, or a transposed one where `transposed` says so."""
    value = call.get("input") or call.self
    n = _dimensions(call)
    value, single = _batched(rw, value, n)
    if call.get("transposed", False):
        return _unbatched(rw, _transposed(rw, value, call, n), single)
    strides, dilations = _steps(call, n)
    kernel = shape_of(call.weight)[2:]
    padding = call.padding
    if isinstance(padding, str):
        pads = _named_padding(padding, kernel, dilations)
    else:
        pads = per_dimension(padding, n, "padding") * 2
    group = call.get("groups", 1)
    if call.base.startswith(("_conv_depthwise", "conv_depthwise")):
        group = shape_of(value)[1]
    made = rw.emit("top.Conv", value, call.weight, call.bias, kernel_shape=kernel, strides=strides, pads=pads,
                   dilations=dilations, group=group, layout="NCHW")
    return _unbatched(rw, made, single)


def _named_padding(name: str, kernel: Sequence[int], dilations: Sequence[int]) -> tuple[int, ...]:
    """`same`, the odd element at the end, or `valid`."""
    if name not in ("same", "valid"):
        raise Unsupported(f"padding is {name!r}, and must be 'same' or 'valid'")
    total = [dilation * (size - 1) if name == "same" else 0 for size, dilation in zip(kernel, dilations, strict=True)]
    return (*(each // 2 for each in total), *(each - each // 2 for each in total))


def _dimensions(call: Call) -> int:
    """How many spatial dimensions the filters have: one to three."""
    n = len(shape_of(call.weight)) - 2
    if not 1 <= n <= 3:
        raise Unsupported(f"has filters of the shape {list(shape_of(call.weight))}", "convolutions have one to three dimensions")
    return n


def _steps(call: Call, n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The strides and dilations."""
    return per_dimension(call.get("stride", 1), n, "stride", 1), per_dimension(call.get("dilation", 1), n, "dilation", 1)


def _batched(rw: Rewriter, value: Value, n: int) -> tuple[Value, bool]:
    """[N, C, spatial..], and whether the batch was not there."""
    shape = shape_of(value)
    if len(shape) not in (n + 1, n + 2):
        raise Unsupported(f"is of {n} dimensions, and is given a tensor of shape {list(shape)}")
    if len(shape) == n + 1:
        return reshape(rw, value, (1, *shape)), True
    return value, False


def _unbatched(rw: Rewriter, value: Value, single: bool) -> Value:
    return reshape(rw, value, shape_of(value)[1:]) if single else value


@TABLE("conv_transpose1d.default", "conv_transpose2d.input", "conv_transpose3d.input", "slow_conv_transpose2d.default",
       "slow_conv_transpose3d.default")
def conv_transpose(call: Call, rw: Rewriter) -> Value:
    """A transposed convolution."""
    n = _dimensions(call)
    value, single = _batched(rw, call.get("input") or call.self, n)
    return _unbatched(rw, _transposed(rw, value, call, n), single)


def _transposed(rw: Rewriter, value: Value, call: Call, n: int) -> Value:
    strides, dilations = _steps(call, n)
    pads, extra = per_dimension(call.padding, n, "padding"), per_dimension(call.output_padding, n, "output_padding")
    return rw.emit(
        "top.Deconv", value, call.weight, call.bias, kernel_shape=shape_of(call.weight)[2:], strides=strides, pads=pads * 2,
        dilations=dilations, output_padding=extra, group=call.get("groups", 1), layout="NCHW")


@TABLE("conv_tbc.default")
def conv_tbc(call: Call, rw: Rewriter) -> Value:
    """A convolution of [time, batch, channels]."""
    value, weights = permute(rw, call.self, (1, 2, 0)), permute(rw, call.weight, (2, 1, 0))
    made = rw.emit("top.Conv", value, weights, call.bias, kernel_shape=shape_of(weights)[2:], pads=(call.pad,) * 2, layout="NCHW")
    return permute(rw, made, (2, 0, 1))


def _check_windows(n: int, call: Call) -> None:
    for name, least in (("kernel_size", 1), ("dilation", 1), ("padding", 0), ("stride", 1)):
        per_dimension(getattr(call, name), n, name, least)


def _counts(sizes: Sequence[int], call: Call) -> list[int]:
    """How many patches there are along each dimension."""
    _check_windows(len(sizes), call)
    return [(size + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1 for size, kernel, dilation, pad, stride in zip(
        sizes, call.kernel_size, call.dilation, call.padding, call.stride, strict=True)]


@TABLE("im2col.default")
def im2col(call: Call, rw: Rewriter) -> Value:
    """Patches as columns: gathers of whole rows and columns of pixels."""
    value, single = _batched(rw, call.self, 2)
    batch, channels, *sizes = shape_of(value)
    counts = _counts(sizes, call)
    low, left = call.padding
    if any(call.padding):
        value = rw.emit("top.Pad", value, paddings=(0, 0, low, left, 0, 0, low, left), mode="constant")
    windows = zip(counts, call.kernel_size, call.dilation, call.stride, strict=True)
    for axis, (count, kernel, dilation, stride) in enumerate(windows):
        need_place(kernel, count)
        places = counted(kernel)[:, None] * dilation + counted(count) * stride
        value = rw.emit("top.Gather", value, rw.constant(places.astype(np.int64)), axis=2 + 2 * axis)
    made = permute(rw, value, (0, 1, 2, 4, 3, 5))
    made = reshape(rw, made, (batch, channels * math.prod(call.kernel_size), math.prod(counts)))
    return _unbatched(rw, made, single)


@TABLE("col2im.default")
def col2im(call: Call, rw: Rewriter) -> Value:
    """Patches put back and added up: a transposed convolution whose filters put each element in its place."""
    shape = shape_of(call.self)
    value = reshape(rw, call.self, (1, *shape)) if len(shape) == 2 else call.self
    shape_of(value, 3)
    _check_windows(len(call.output_size), call)
    window = Window(call.kernel_size, call.stride, call.padding * 2, call.dilation)
    return _unbatched(rw, columns_to_image(rw, value, call.output_size, window), len(shape) == 2)
