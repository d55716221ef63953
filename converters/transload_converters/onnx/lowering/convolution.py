"""Convolution, transposed convolution and pooling, all with channels second."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import I8, I16, I32, I64, UI8, IntegerType, Type, Value
from transload.rewrite import Rewriter, RewriteTable, Unsupported
from transload_hub.tables import arange, need_place

from .common import as_summed, broadcast, cast, constant, emit, finish, ints, need_channels_second, static_shape

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
        return _of_floats(rw, op, "Conv", x, geometry)
    y = _of_integers(rw, op, x, geometry)
    if op.bias is not None:
        shape = (op.bias.static_shape[0], *(1,) * len(op.kernel_shape))
        y = broadcast(rw, "Add", y, emit(rw, "Reshape", cast(rw, op.bias, y.element), ints(rw, shape), shape=shape))
    return finish(rw, op, cast(rw, y, op.result.element))


def _of_floats(rw: Rewriter, op: Conv | Deconv, name: str, x: Value, geometry: dict[str, Any]) -> Value:
    """The operator called `name`, all of whose floats are of one type."""
    x = as_summed(rw, op, x)
    bias = None if op.bias is None else cast(rw, op.bias, x.element)
    return finish(rw, op, emit(rw, name, x, cast(rw, op.filter, x.element), bias, like=op.result, element=x.element, **geometry))


def _of_integers(rw: Rewriter, op: Conv, x: Value, geometry: dict[str, Any]) -> Value:
    """ConvInteger, of numbers of 8 bits that a zero point may have been taken from, whose sums are i32; else MatMul."""
    pair, weights = (_as_bytes(rw, x), _as_bytes(rw, op.filter)) if op.result.element == I32 else (None, None)
    if pair is None or weights is None:
        return _as_matrices(rw, op, x, geometry)
    zeros = [None if zero is None else emit(rw, "Reshape", zero, ints(rw, ()), shape=()) for zero in (pair[1], weights[1])]
    return emit(rw, "ConvInteger", pair[0], weights[0], *zeros, like=op.result, **geometry)


def _as_matrices(rw: Rewriter, op: Conv, x: Value, geometry: dict[str, Any]) -> Value:
    """A convolution of integers that ConvInteger does not take: its windows gathered side by side, times the filter, by MatMul.

    It is computed in i32, or in i64 where the result is: lower bits are the same, and wrap round as the op's do.
    """
    element = op.result.element
    sums = I64 if isinstance(element, IntegerType) and element.width > 32 else I32
    x, weight = cast(rw, x, sums), cast(rw, op.filter, sums)
    if any(geometry["pads"]):
        x = _padded(rw, x, geometry["pads"])
    (batch, channels, *spatial), (outputs, inner, *kernel) = static_shape(x), static_shape(weight)
    places = _places(spatial, kernel, geometry["strides"], geometry["dilations"])
    shape: tuple[int, ...] = (batch, channels, math.prod(spatial))
    windows = emit(rw, "Gather", emit(rw, "Reshape", x, ints(rw, shape), shape=shape), constant(rw, places, I64),
                   shape=(batch, channels, *places.shape), axis=2)
    shape = (batch, op.group, inner * len(places), places.shape[1])
    windows = emit(rw, "Reshape", windows, ints(rw, shape), shape=shape)
    shape = (op.group, outputs // op.group, inner * len(places))
    weight = emit(rw, "Reshape", weight, ints(rw, shape), shape=shape)
    y = emit(rw, "MatMul", weight, windows, shape=(batch, *shape[:2], places.shape[1]))
    return emit(rw, "Reshape", y, ints(rw, static_shape(op.result)), shape=static_shape(op.result))


def _places(spatial: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> np.ndarray:
    """Where in flattened spatial dimensions windows lie, int64 [elements of the kernel, windows]."""
    counts = [max(0, (size - (taps - 1) * dilation - 1) // stride + 1)
              for size, taps, stride, dilation in zip(spatial, kernel, strides, dilations, strict=True)]
    need_place(*kernel, *counts)
    places = np.zeros((1, 1), np.int64)
    for size, taps, windows, stride, dilation in zip(spatial, kernel, counts, strides, dilations, strict=True):
        along = arange(taps)[:, None] * dilation + arange(windows) * stride
        both = places[:, None, :, None] * size + along[None, :, None, :]
        places = both.reshape(len(places) * taps, -1)
    return places


def _as_bytes(rw: Rewriter, x: Value) -> tuple[Value, Value | None] | None:
    """The numbers of 8 bits that integers are made of, and the zero point that was taken from them; None where they are none.

    It is one for all of them: ONNX lets weights have one for each of their outputs, of which onnxruntime has no kernel.
    """
    if x.op is not None and x.op.name == "onnx.Constant" and getattr(x.element, "width", 0) != 8:
        numbers = x.op.attributes["value"].numpy().astype(np.int64)
        for kind in (I8, UI8):
            if (made := _constant_of(rw, numbers, kind)) is not None:
                return made, None
        zero = np.array(-numbers.min(initial=0))  # which was taken from all
        stored, taken = _constant_of(rw, numbers + zero, UI8), _constant_of(rw, zero, UI8)
        return None if stored is None or taken is None else (stored, taken)
    if x.op is not None and x.op.name == "onnx.Sub" and _holds_differences(x.element):
        first, zero_point = x.op.operands
        stored = _bytes_of(first)
        if stored is None or not _is_zero_point(zero_point, stored):
            return None
        if zero_point.op is not None and zero_point.op.name == "onnx.Constant":
            taken = _constant_of(rw, zero_point.op.attributes["value"].numpy(), stored.element)
        else:
            taken = _bytes_of(zero_point)
        return None if taken is None or taken.element != stored.element else (stored, taken)
    stored = _bytes_of(x)
    return None if stored is None else (stored, None)


def _holds_differences(element: Type) -> bool:
    """Whether differences of bytes are right in a type, as far as sums of 32 bits tell."""
    return isinstance(element, IntegerType) and (element.width >= 32 or element == I16)


def _is_zero_point(zero: Value, stored: Value) -> bool:
    """Whether it is one number for all of a tensor."""
    shape, of = zero.known_shape, stored.tensor_type.shape
    return shape is not None and of is not None and len(shape) <= len(of) and math.prod(shape) == 1


def _bytes_of(x: Value) -> Value | None:
    """Numbers of 8 bits, or those that wider ones were cast from and are; None where they are none."""
    if x.op is not None and x.op.name == "onnx.Cast" and isinstance(x.element, IntegerType) and x.element.width > 8:
        given = x.op.operands[0]
        x = given if given.element == UI8 or not x.element.unsigned else x
    return x if x.element in (I8, UI8) else None


def _constant_of(rw: Rewriter, numbers: np.ndarray, kind: Any) -> Value | None:
    """Numbers as a constant of a type, where it holds them."""
    low, high = kind.range
    return constant(rw, numbers, kind) if low <= numbers.min(initial=0) and numbers.max(initial=0) <= high else None


def _padded(rw: Rewriter, x: Value, pads: Sequence[int], filled: float = 0) -> Value:
    """`x` with its spatial dimensions padded, or cut."""
    n = len(pads) // 2
    before, after = pads[:n], pads[n:]
    batch, channels, *spatial = x.static_shape
    shape = (batch, channels, *(size + a + b for size, a, b in zip(spatial, before, after, strict=True)))
    return emit(rw, "Pad", x, ints(rw, (0, 0, *before, 0, 0, *after)), constant(rw, filled, x.element), shape=shape)


@TABLE("top.Deconv")
def deconv(op: Deconv, rw: Rewriter) -> Value:
    need_channels_second(op)
    if not op.input.is_float:
        raise Unsupported("ONNX has no transposed convolution of integers", "the targets tosa and stablehlo have one")
    return _of_floats(rw, op, "ConvTranspose", op.input, {
        "kernel_shape": tuple(op.kernel_shape), "strides": tuple(op.strides), "pads": tuple(op.pads),
        "dilations": tuple(op.dilations), "group": op.group, "output_padding": tuple(op.output_padding)})


def _passes_windows(op: AvgPool | MaxPool) -> bool:
    """Whether padding is as wide as the window, or wider: onnxruntime takes less alone."""
    return any(pad >= size for pad, size in zip(op.pads, (*op.kernel_shape, *op.kernel_shape), strict=True))


@TABLE("top.AvgPool")
def avg_pool(op: AvgPool, rw: Rewriter) -> Value:
    """AveragePool; with padding that windows may lie in, of what a Pad made, where each window counts what lies inside."""
    need_channels_second(op)
    geometry: dict[str, Any] = {"kernel_shape": tuple(op.kernel_shape), "strides": tuple(op.strides)}
    if not _passes_windows(op):
        return finish(rw, op, emit(
            rw, "AveragePool", op.input, like=op.result, **geometry, pads=tuple(op.pads),
            count_include_pad=int(op.count_include_pad)))
    y = emit(rw, "AveragePool", _padded(rw, op.input, op.pads), like=op.result, **geometry)
    if not op.count_include_pad:
        y = broadcast(rw, "Mul", y, constant(rw, _shares(op), y.element))
    return finish(rw, op, y)


def _shares(op: AvgPool) -> np.ndarray:
    """How many times the mean of a whole window each result is, `[spatial..]`: windows without any element give 0."""
    sizes, n, factors = static_shape(op.input)[2:], len(op.kernel_shape), np.ones(())
    for axis, (size, kernel, stride) in enumerate(zip(sizes, op.kernel_shape, op.strides, strict=True)):
        before, after = op.pads[axis], op.pads[n + axis]
        starts = arange(0, size + before + after - kernel + 1, stride) - before
        counts = np.clip(np.minimum(starts + kernel, size) - np.maximum(starts, 0), 1, None)
        factors = factors[..., None] * (kernel / counts)
    return factors


@TABLE("top.MaxPool")
def max_pool(op: MaxPool, rw: Rewriter) -> Value:
    """MaxPool; with padding that windows may lie in, of what a Pad made."""
    need_channels_second(op)
    x, pads = op.input, tuple(op.pads)
    if _passes_windows(op):
        least = -math.inf if x.is_float else x.element.range[0]  # type: ignore[attr-defined]
        x, pads = _padded(rw, x, pads, least), (0,) * len(pads)
    return finish(rw, op, emit(
        rw, "MaxPool", x, like=op.result, kernel_shape=tuple(op.kernel_shape), strides=tuple(op.strides), pads=pads,
        dilations=tuple(op.dilations)))
