"""Poolings (TPU-MLIR manual 6.3.4)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, I16, FloatType, QuantType, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables
from transload_hub.scales import per_step

from .common import activation, chip_of, need, quantized, reshape, same_numbers, static
from .conversion import requantized
from .scaling import per_channel

if TYPE_CHECKING:
    from transload_hub.ops.pool import AvgPool, MaxPool

__all__ = ["TABLE"]

TABLE = RewriteTable()

FRACTION = 7
"""Bits of fraction with which a mean of 8 bits is taken where it is wanted in another type: it is rounded to that once."""


def _window(op: AvgPool | MaxPool, rw: Rewriter) -> tuple[Value, dict[str, Any], tuple[int, ...]]:
    """The input as a plane, and kernel, strides and pads of two dimensions."""
    if op.layout != "NCHW":
        raise Unsupported("channels are last", "run the pass layout{to=NCHW} first")
    if len(op.kernel_shape) > 2:
        raise Unsupported("windows of three dimensions")
    if len(op.kernel_shape) == 2:
        return op.input, {"kernel": op.kernel_shape, "strides": op.strides}, op.pads
    n, c, w = static(op.input)
    x = reshape(rw, op.input, (n, c, 1, w))
    return x, {"kernel": (1, *op.kernel_shape), "strides": (1, *op.strides)}, (0, op.pads[0], 0, op.pads[1])


def _quantized_alike(op: AvgPool | MaxPool) -> tuple[QuantType | None, QuantType | None]:
    """The types of input and result, both quantized or neither."""
    source, target = quantized(op.input), quantized(op.result)
    floats = isinstance(op.input.element, FloatType) and op.result.element == op.input.element
    if not floats and (source is None or target is None):
        raise Unsupported(f"pooling of {op.input.element} to {op.result.element}")
    return source, target


@TABLE("top.AvgPool")
def avg_pool(op: AvgPool, rw: Rewriter) -> Value:
    x, window, pads = _window(op, rw)
    source, target = _quantized_alike(op)
    need(rw, "avg_pool2d", x)
    window["padded" if op.count_include_pad else "pads"] = pads
    if source is None or target is None or same_numbers(source, target):
        if source is not None:
            window["input_zero"] = source.zero_point
        made: Value = rw.emit("tpu.avg_pool2d", x, element=op.result.element, **window, **activation(op))
        return reshape(rw, made, static(op.result))
    if source.storage.width == 8 and op.rounding == "once" and (op.count_include_pad or not any(pads)):
        return reshape(rw, _summed(op, rw, x, window, source, target, pads), static(op.result))
    if source.storage.width == 8:
        fine = QuantType(I16, F32, (source.scale / (1 << FRACTION),), (0,))
        x = rw.emit("tpu.requantize", x, element=fine, input_zero=source.zero_point, multiplier=1 << FRACTION)
        need(rw, "avg_pool2d", x)
        source = fine
    made = rw.emit("tpu.avg_pool2d", x, element=source, input_zero=source.zero_point, **window)
    return reshape(rw, requantized(rw, made, target, str(op.rounding), **activation(op)), static(op.result))


def _summed(
    op: AvgPool, rw: Rewriter, x: Value, window: dict[str, Any], source: QuantType, target: QuantType, pads: tuple[int, ...],
) -> Value:
    """A mean that is rounded but once: the sum of each window, by a convolution of each channel with ones, scaled to the mean."""
    need(rw, "conv2d", x)
    kernel, channels = window["kernel"], static(x)[1]
    factor = per_step(source.scale, math.prod(kernel) * target.scale)
    multiplier, shift, way = per_channel(rw, chip_of(rw), [factor], str(op.rounding))
    return rw.emit(
        "tpu.conv2d", x, rw.constant(tables.ones((channels, 1, *kernel), np.int8)), None, multiplier, shift, element=target,
        strides=window["strides"], dilations=(1, 1), pads=pads, groups=channels, input_zero=source.zero_point, weight_zero=0,
        output_zero=target.zero_point, rounding=way, **activation(op))


@TABLE("top.MaxPool")
def max_pool(op: MaxPool, rw: Rewriter) -> Value:
    x, window, pads = _window(op, rw)
    source, target = _quantized_alike(op)
    need(rw, "max_pool2d", x)
    dilations = op.dilations if len(op.dilations) == 2 else (1, *op.dilations)
    same = source is None or target is None or same_numbers(source, target)
    bounds = activation(op) if same else {}
    made: Value = rw.emit("tpu.max_pool2d", x, pads=pads, dilations=dilations, **window, **bounds)
    if not same and target is not None:
        made = requantized(rw, made, target, str(op.rounding), **activation(op))
    return reshape(rw, made, static(op.result))
