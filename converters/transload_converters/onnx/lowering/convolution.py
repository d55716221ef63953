"""Convolution, transposed convolution and pooling, all with channels second."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from transload.ir import I8, I32, UI8, Value
from transload.rewrite import Rewriter, RewriteTable, Unsupported

from .common import broadcast, constant, emit, finish, ints, need_channels_second

if TYPE_CHECKING:
    from transload_hub.ops.conv import Conv, Deconv
    from transload_hub.ops.pool import AvgPool, MaxPool

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("top.Conv")
def conv(op: Conv, rw: Rewriter) -> Value:
    """Conv, or ConvInteger; padding that takes elements away is a Pad of its own, as Conv has none."""
    need_channels_second(op)
    x, pads = op.input, tuple(op.pads)
    if min(pads, default=0) < 0:
        x, pads = _padded(rw, x, pads), (0,) * len(pads)
    geometry: dict[str, Any] = {
        "kernel_shape": tuple(op.kernel_shape), "strides": tuple(op.strides), "pads": pads, "dilations": tuple(op.dilations),
        "group": op.group}
    if op.input.is_float:
        return finish(rw, op, emit(rw, "Conv", x, op.filter, op.bias, like=op.result, element=op.input.element, **geometry))
    y = _of_integers(rw, op, x, geometry)
    if op.bias is not None:
        shape = (op.bias.static_shape[0], *(1,) * len(op.kernel_shape))
        y = broadcast(rw, "Add", y, emit(rw, "Reshape", op.bias, ints(rw, shape), shape=shape))
    return finish(rw, op, y)


def _of_integers(rw: Rewriter, op: Conv, x: Value, geometry: dict[str, Any]) -> Value:
    """ConvInteger, of numbers of 8 bits that a zero point may have been taken from."""
    pair, weights = _as_bytes(rw, x), _as_bytes(rw, op.filter)
    if pair is None or weights is None or op.result.element != I32:
        raise Unsupported(f"ConvInteger takes integers of 8 bits and gives i32, not {op.input.element} and {op.result.element}")
    zeros = [None if zero is None else emit(rw, "Reshape", zero, ints(rw, shape), shape=shape) for zero, shape in (
        (pair[1], ()), (weights[1], () if weights[1] is None else (math.prod(weights[1].static_shape),)))]
    return emit(rw, "ConvInteger", pair[0], weights[0], *zeros, like=op.result, **geometry)


def _as_bytes(rw: Rewriter, x: Value) -> tuple[Value, Value | None] | None:
    """The numbers of 8 bits that integers are made of, and the zero point that was taken from them; None where they are none."""
    if getattr(x.element, "width", 0) == 8:
        return x, None
    if x.op is None:
        return None
    if x.op.name == "onnx.Constant":
        numbers = x.op.attributes["value"].numpy()
        low, high = numbers.min(initial=0), numbers.max(initial=0)
        fits = [kind for kind in (I8, UI8) if kind.range[0] <= low and high <= kind.range[1]]
        return (constant(rw, numbers, fits[0]), None) if fits else None
    if x.op.name == "onnx.Cast" and getattr(x.op.operands[0].element, "width", 0) == 8:
        return x.op.operands[0], None
    if x.op.name == "onnx.Sub":
        both = [_as_bytes(rw, value) for value in x.op.operands]
        if None not in both and both[0][1] is both[1][1] is None and both[0][0].element == both[1][0].element:  # type: ignore[index]
            return both[0][0], both[1][0]  # type: ignore[index]
    return None


def _padded(rw: Rewriter, x: Value, pads: Sequence[int]) -> Value:
    """`x` with its spatial dimensions padded, or cut."""
    n = len(pads) // 2
    before, after = pads[:n], pads[n:]
    batch, channels, *spatial = x.static_shape
    shape = (batch, channels, *(size + a + b for size, a, b in zip(spatial, before, after, strict=True)))
    return emit(rw, "Pad", x, ints(rw, (0, 0, *before, 0, 0, *after)), constant(rw, 0, x.element), shape=shape)


@TABLE("top.Deconv")
def deconv(op: Deconv, rw: Rewriter) -> Value:
    need_channels_second(op)
    if not op.input.is_float:
        raise Unsupported("ONNX has no transposed convolution of integers")
    return finish(rw, op, emit(
        rw, "ConvTranspose", op.input, op.filter, op.bias, like=op.result, kernel_shape=tuple(op.kernel_shape),
        strides=tuple(op.strides), pads=tuple(op.pads), dilations=tuple(op.dilations), group=op.group,
        output_padding=tuple(op.output_padding)))


@TABLE("top.AvgPool")
def avg_pool(op: AvgPool, rw: Rewriter) -> Value:
    need_channels_second(op)
    return finish(rw, op, emit(
        rw, "AveragePool", op.input, like=op.result, kernel_shape=tuple(op.kernel_shape), strides=tuple(op.strides),
        pads=tuple(op.pads), count_include_pad=int(op.count_include_pad)))


@TABLE("top.MaxPool")
def max_pool(op: MaxPool, rw: Rewriter) -> Value:
    need_channels_second(op)
    return finish(rw, op, emit(
        rw, "MaxPool", op.input, like=op.result, kernel_shape=tuple(op.kernel_shape), strides=tuple(op.strides),
        pads=tuple(op.pads), dilations=tuple(op.dilations)))
