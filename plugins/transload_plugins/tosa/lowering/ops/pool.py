"""Poolings: windows of one to three dimensions, dilated, with padding that counts or not, float and quantized.

TOSA's mean rounds halves away from zero of what it sums. LiteRT sums the stored numbers, zero points
included, so the zero points given to TOSA are 0; for what was uint8 they are -128, and the sums are those of
the unsigned numbers.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import F32, I8, I16, I32, I48, FloatType, IntegerType, Op, QuantType, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable, Unsupported
from transload_hub import tables
from transload_hub.scales import activation_bounds, per_step

from ... import build
from ...dialect.base import storage_of
from ..arithmetic.rescaling import (
    NEAREST,
    activation_range,
    clamp_to,
    fused_activation,
    narrow,
    quant,
    requantize,
    rounding_of,
    same_numbers,
)
from ..arithmetic.tables import follows_litert, in_integers
from ..prepare.sources import is_unsigned, sources
from .common import binary, cut, static_shape
from .windows import Window, fit, need_channels_last, squeeze_height, subsample, unsqueeze_height, window_of

if TYPE_CHECKING:
    from transload_hub.ops.pool import AvgPool, MaxPool

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("top.AvgPool")
def avg_pool(op: AvgPool, rw: Rewriter) -> Value | None:
    x = op.input
    type_ = quant(x)
    if type_ is not None and (not type_.per_tensor or type_.storage not in (I8, I16)):
        return None
    if type_ is None and not isinstance(x.element, FloatType):
        raise Unsupported(f"TOSA has no mean of {x.element}")
    need_channels_last(op)
    window = window_of(op)
    if _is_summed(op, window):
        return _summed(op, rw, x, window)
    if _is_rounded_twice(op) and not (follows_litert(rw) or in_integers(rw)):
        return None
    x = _with_fraction(op, rw, x)
    type_ = quant(x)
    if op.count_include_pad:
        x, window = _padded(rw, x, window, type_.zero_point if type_ is not None else 0)
    center = -128 if is_unsigned(op) and type_ is not None and type_.storage == I8 else 0

    def pool(x: Value, window: Window) -> Value:
        x, window = fit(rw, x, window)
        if any(max(pads) >= size for pads, size in zip(window.pads, window.kernel, strict=True)):
            raise Unsupported("padding as wide as the window", "such windows lie wholly in the padding")
        zero_points = (build.zero_point(rw, center, x.element) for _ in range(2))
        return rw.emit(
            "tosa.avg_pool2d", x, *zero_points, element=x.element, kernel=window.kernel, stride=window.strides,
            pad=window.flat_pads, acc_type=I32 if type_ is not None else F32)

    return _activated(op, rw, _in_planes(rw, x, window, pool))


FRACTION = 7
"""Bits of fraction of int8 numbers in int16, whatever their zero point."""


def _with_fraction(op: Op, rw: Rewriter, x: Value) -> Value:
    """int8 numbers whose mean is wanted in another quantized type as int16 ones, so that it is rounded to that once."""
    source, target = quant(x), quant(op.result)
    if source is None or target is None or source.storage != I8 or same_numbers(source, target):
        return x
    fine = QuantType(I16, source.expressed, (source.scale / (1 << FRACTION),), (0,))
    return build.rescale(rw, x, [1 << 30], [30 - FRACTION], source.zero_point, 0, fine)


def _is_rounded_twice(op: AvgPool) -> bool:
    """Whether a mean of int16 numbers is rounded to their type, and then to another: there are no bits for a fraction of it."""
    source, target = quant(op.input), quant(op.result)
    return source is not None and target is not None and source.storage == I16 and not same_numbers(source, target)


def _is_summed(op: AvgPool, window: Window) -> bool:
    """Whether a mean has to be rounded but once, to a type of its own, which TOSA's mean does not do."""
    source, target = quant(op.input), quant(op.result)
    return (
        source is not None and target is not None and not same_numbers(source, target)
        and rounding_of(op) == NEAREST and target.per_tensor and window.rank <= 2
        and (op.count_include_pad or not any(window.flat_pads) or (source.storage == I8 and _is_sum_of_parts(op.input, window))))


def _counts(x: Value, window: Window) -> list[np.ndarray]:
    """How many elements of `x` each window has, dimension by dimension."""
    found = []
    for dim, (size, (before, after)) in enumerate(zip(static_shape(x)[1:-1], window.pads, strict=True)):
        first = tables.arange(0, size + before + after - window.extent(dim) + 1, window.strides[dim]) - before
        found.append(np.minimum(first + window.kernel[dim], size) - np.maximum(first, 0))
    return found


def _common(counts: list[np.ndarray]) -> int:
    """A multiple of the elements that any window has."""
    return math.prod(math.lcm(*np.unique(each).tolist()) for each in counts)


def _is_sum_of_parts(x: Value, window: Window) -> bool:
    """Whether sums of unlike many 8-bit numbers, as parts of a common multiple, fit i32, and a mean is not exact."""
    counts = _counts(x, window)
    if min(each.min(initial=1) for each in counts) < 1:
        return False
    common = _common(counts)
    return (1 << FRACTION) % common != 0 and common << 8 <= I32.range[1]


def _summed(op: AvgPool, rw: Rewriter, x: Value, window: Window) -> Value:
    """The sum of a window, by a convolution of each channel with ones, scaled to the mean in the result's type."""
    source, target = quant(x), quant(op.result)
    assert source is not None and target is not None
    count, zero = math.prod(window.kernel), source.zero_point
    total, zero, bias = (I32, zero, 0) if source.storage == I8 else (I48, 0, -zero * count)
    if bias and any(window.flat_pads):
        x, window = _padded(rw, x, window, source.zero_point)
    flat = window.rank == 1
    if flat:
        x, window = unsqueeze_height(rw, x), window.with_height()
    x, window = fit(rw, x, window)
    channels = static_shape(x)[-1]
    ones = build.const(rw, tables.ones((*window.kernel, channels, 1), np.int8), I8)
    made = rw.emit(
        "tosa.depthwise_conv2d", x, ones, build.const(rw, tables.full((channels,), bias, dtype_of(total)), total),
        build.zero_point(rw, zero, x.element), build.zero_point(rw, 0, I8), element=total, pad=window.flat_pads,
        stride=window.strides, dilation=window.dilations, acc_type=total)
    if any(window.flat_pads) and not op.count_include_pad:  # each sum as the part that its window is of a common multiple
        counts = _counts(x, window)
        count = _common(counts)
        parts = (count // np.multiply.outer(*counts)).astype(np.int32)[None, :, :, None]
        made = binary(rw, "mul", made, build.const(rw, parts, I32))
    made = narrow(
        rw, made, per_step(source.scale, count * target.scale), target, activation=activation_range(op),
        sum_bits=max(32, (count << 16).bit_length() + 1))
    return squeeze_height(rw, made) if flat else made


@TABLE("top.MaxPool")
def max_pool(op: MaxPool, rw: Rewriter) -> Value | None:
    x = op.input
    type_ = quant(x)
    if type_ is not None and (not type_.per_tensor or type_.storage not in (I8, I16)):
        return None
    if type_ is None and not isinstance(x.element, FloatType) and x.element not in (I8, I16, I32):
        raise Unsupported(f"TOSA has no pooling of {x.element}")
    need_channels_last(op)
    window = window_of(op)

    def pool(x: Value, window: Window) -> Value:
        if x.element == I32:
            return _max_of_places(op, rw, x, window)
        if max(window.dilations) > 1:
            return _dilated_max(rw, x, window, pool)
        x, window = fit(rw, x, window)
        if any(max(pads) >= size for pads, size in zip(window.pads, window.kernel, strict=True)):
            x, window = _padded(rw, x, window, _least(x))
        return rw.emit("tosa.max_pool2d", x, element=x.element, kernel=window.kernel, stride=window.strides, pad=window.flat_pads)

    return _activated(op, rw, _in_planes(rw, x, window, pool))


def _activated(op: Op, rw: Rewriter, made: Value) -> Value:
    """The pooled value in the result's type, with the activation."""
    source, target = quant(made), op.result.element
    if source is None or not isinstance(target, QuantType):
        return fused_activation(rw, made, op)
    if same_numbers(source, target):
        return clamp_to(rw, made, activation_bounds(target, *activation_range(op)), target)
    return requantize(rw, made, target, activation_range(op))


def _in_planes(rw: Rewriter, x: Value, window: Window, pool: Any) -> Value:
    """Pooling of one, two or three dimensions by two-dimensional ones: three as a plane, and then the depth."""
    if window.rank == 1:
        return squeeze_height(rw, pool(unsqueeze_height(rw, x), window.with_height()))
    if window.rank == 2:
        return pool(x, window)
    if window.rank != 3:
        raise Unsupported(f"pooling over {window.rank} dimensions")
    n, d, h, w, c = static_shape(x)
    x = pool(build.reshape(rw, x, (n * d, h, w, c)), window.part(1, 3))
    _, h, w, _ = static_shape(x)
    x = pool(build.reshape(rw, x, (n, d, h * w, c)), window.part(0, 1).with_width())
    return build.reshape(rw, x, (n, x.shape[1], h, w, c))


def _padded(rw: Rewriter, x: Value, window: Window, value: float) -> tuple[Value, Window]:
    """`x` padded by an op of its own, and the window without padding."""
    padding = (0, 0, *window.flat_pads, 0, 0)
    return build.pad(rw, x, padding, value), window._replace(pads=((0, 0),) * window.rank)


def _least(x: Value) -> float:
    """What no element is less than."""
    stored = storage_of(x)
    return stored.range[0] if isinstance(stored, IntegerType) else float("-inf")


def _max_of_places(op: Op, rw: Rewriter, x: Value, window: Window) -> Value:
    """MAX_POOL2D of i32, which it does not take (plain uint8 is computed in it): MAXIMUM of the places of the window, by axis."""
    if op in sources().integers.unsigned:
        raise Unsupported("TOSA has no pooling of ui32")
    x, window = _padded(rw, x, window, _least(x))
    for axis, (size, dilation) in enumerate(zip(window.kernel, window.dilations, strict=True), 1):
        count = static_shape(x)[axis] - (size - 1) * dilation
        x = reduce(lambda a, b: binary(rw, "maximum", a, b), (cut(rw, x, axis, place * dilation, count) for place in range(size)))
    return subsample(rw, x, window.strides)


def _dilated_max(rw: Rewriter, x: Value, window: Window, pool: Any) -> Value:
    """A dilated window over `x` is a dense one over each of `x`'s phases, which are put into the batch."""
    x, window = _padded(rw, x, window, _least(x))
    dilation_h, dilation_w = window.dilations
    n, h, w, c = static_shape(x)
    places = (h - window.extent(0) + 1, w - window.extent(1) + 1)
    extra = (-h % dilation_h, -w % dilation_w)
    x = build.pad(rw, x, (0, 0, 0, extra[0], 0, extra[1], 0, 0), _least(x))
    rows, columns = (h + extra[0]) // dilation_h, (w + extra[1]) // dilation_w
    x = build.reshape(rw, x, (n, rows, dilation_h, columns, dilation_w, c))
    x = build.transpose(rw, x, (0, 2, 4, 1, 3, 5))
    x = build.reshape(rw, x, (n * dilation_h * dilation_w, rows, columns, c))
    x = pool(x, Window(window.kernel, (1, 1), (1, 1), ((0, 0), (0, 0))))
    _, rows, columns, _ = static_shape(x)
    x = build.reshape(rw, x, (n, dilation_h, dilation_w, rows, columns, c))
    x = build.transpose(rw, x, (0, 3, 1, 4, 2, 5))
    x = build.reshape(rw, x, (n, rows * dilation_h, columns * dilation_w, c))
    x = build.slice_(rw, x, (0, 0, 0, 0), (n, *places, c))
    return subsample(rw, x, window.strides)
