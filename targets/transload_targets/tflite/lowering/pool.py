"""AVERAGE_POOL_2D, MAX_POOL_2D; MAXIMUM of slices where LiteRT has no pooling.

LiteRT's kernels give what they take in the same quantized type. A mean in another type is that of numbers of 16 bits, 7 of them
a fraction, and then requantized, as the hub has it everywhere.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from transload.errors import Unsupported
from transload.ir import I8, I16, UI8, QuantType, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables

from .common import (
    activated,
    activated_wholly,
    constant,
    emit,
    fused,
    ints,
    left_float,
    need_rounding,
    quant,
    real,
    retyped,
    same_numbers,
    static_shape,
)
from .windows import Window, need_channels_last, pad, window_of, with_height, without_height

if TYPE_CHECKING:
    from transload_hub.ops.pool import AvgPool, MaxPool

__all__ = ["TABLE"]

TABLE = RewriteTable()

FRACTION = 7
"""Bits of fraction of int8 numbers whose mean is wanted in another type."""
MOST_REGIONS = 1024
"""Sizes of windows that a mean is written out by: each is an operator."""


def _pool(
    op: AvgPool | MaxPool, rw: Rewriter, name: str, value: Value, window: Window, padding: str,
    sizes: tuple[int, ...] | None = None,
) -> Value:
    """The operator, in the type of `value`; `sizes` are its result's, of height and width, where these are not the op's."""
    shape = static_shape(op.output)
    spatial = sizes or (shape[1:-1] if len(shape) == 4 else (1, *shape[1:-1]))
    (height, width), (rows, columns) = window.kernel, window.strides
    return emit(
        rw, name, value, like=value, shape=(shape[0], *spatial, shape[-1]), padding=padding, filter_height=height,
        filter_width=width, stride_h=rows, stride_w=columns, fused_activation_function="NONE" if _is_late(op) else fused(op))


def _is_late(op: AvgPool | MaxPool) -> bool:
    """Whether the activation cuts numbers of the result's type, which is another than that of the pooled ones."""
    source, target = quant(op.input), quant(op.output)
    return fused(op) != "NONE" and source is not None and target is not None and not same_numbers(source, target)


def _in_type(op: AvgPool | MaxPool, rw: Rewriter, made: Value, flat: bool) -> Value:
    """The pooled value in the type and shape of the op's result, with what is left of its activation."""
    made = retyped(rw, made, op.output.element)
    if _is_late(op):
        made = emit(rw, "maximum", made, real(rw, 0.0, made), like=made)
        limit = float(op.attribute("relu_limit", -1.0))
        made = emit(rw, "minimum", made, real(rw, limit, made), like=made) if limit >= 0.0 else made
    else:
        made = activated(op, rw, made)
    return without_height(rw, made) if flat else made


def _planar(op: AvgPool | MaxPool, rw: Rewriter) -> tuple[Value, Window, bool]:
    """The input and the window with two dimensions, and whether they had one."""
    need_channels_last(op)
    window = window_of(op)
    if len(window.kernel) > 2:
        raise Unsupported(f"LiteRT pools over two dimensions, not {len(window.kernel)}")
    flat = len(window.kernel) == 1
    value = op.input
    if not value.is_float and quant(value) is None:
        raise Unsupported(f"LiteRT has no pooling of {value.element}", "quantize it, or make it float")
    return (with_height(rw, value), window.with_height(), True) if flat else (value, window, False)


@TABLE("top.AvgPool")
def avg_pool(op: AvgPool, rw: Rewriter) -> Value:
    """AVERAGE_POOL_2D, which leaves padding out; where it counts, and where windows are padded otherwise, PAD comes before."""
    value, window, flat = _planar(op, rw)
    source, target = quant(value), quant(op.output)
    need_rounding(op, rw, "double", operator="AVERAGE_POOL_2D")
    if source is not None and target is not None and source.storage in (I8, UI8) and not same_numbers(source, target):
        fine = QuantType(I16, source.expressed, (source.scale / (1 << FRACTION),), (0,))
        value = retyped(rw, value, fine)
    if op.count_include_pad and any(before or after for before, after in window.pads):
        value = pad(rw, value, ((0, 0), *window.pads, (0, 0)))
        window = window._replace(pads=((0, 0), (0, 0)))
    padding = window.padding(static_shape(value)[1:-1])
    if padding is not None:
        return _in_type(op, rw, _pool(op, rw, "average_pool_2d", value, window, padding), flat)
    if source is None and not (op.do_relu and op.relu_limit >= 0):
        return _uncounted(op, rw, value, window, flat)
    return _in_type(op, rw, _by_regions(op, rw, value, window), flat)


def _by_regions(op: AvgPool, rw: Rewriter, value: Value, window: Window) -> Value:
    """A mean padded otherwise than SAME, of the same integers: windows are smaller by what they have of the padding.

    Results whose windows are of one size are computed by one operator, and all put together.
    """
    sizes = static_shape(value)[1:-1]
    rows, columns = (
        _regions(size, *pads, kernel, stride)
        for size, pads, kernel, stride in zip(sizes, window.pads, window.kernel, window.strides, strict=True))
    if len(rows) * len(columns) > MOST_REGIONS:
        raise Unsupported(f"a mean over windows of {len(rows) * len(columns)} sizes, for their padding does not count",
                          f"{MOST_REGIONS} are written; {left_float(op)}")
    bands = [_joined(rw, [_region(op, rw, value, window, row, column) for column in columns], 2) for row in rows]
    return _joined(rw, bands, 1)


class _Region(NamedTuple):
    """Results along a dimension whose windows are of one size, and begin a stride apart."""

    begin: int
    """Where the first window begins in the input."""
    size: int
    """How much of the input a window has: 0 of one in the padding."""
    results: int


def _regions(size: int, before: int, after: int, kernel: int, stride: int) -> list[_Region]:
    """Of a dimension of the input, in order."""
    found: list[_Region] = []
    for (place,) in tables.ndindex((size + before + after - kernel) // stride + 1):
        start = place * stride - before
        begin = max(start, 0)
        held = max(min(start + kernel, size) - begin, 0)
        last = found[-1] if found else None
        if last is not None and held == last.size and (not held or begin == last.begin + last.results * stride):
            found[-1] = last._replace(results=last.results + 1)
        else:
            found.append(_Region(begin, held, 1))
    return found


def _region(op: AvgPool, rw: Rewriter, value: Value, window: Window, row: _Region, column: _Region) -> Value:
    """The results of one size of windows; 0 of those that have nothing.

    `Unsupported` for quantized ones: the hub has no integer arithmetic for an op with these, as TOSA has none.
    """
    n, *_, channels = static_shape(value)
    if not row.size or not column.size:
        if value.quant is not None:
            raise Unsupported("a quantized mean with windows that have nothing but padding", left_float(op))
        return constant(rw, tables.zeros((n, row.results, column.results, channels), np.float32))
    sizes = [(part.results - 1) * stride + part.size for part, stride in zip((row, column), window.strides, strict=True)]
    shape = (n, *sizes, channels)
    if shape != value.shape:
        value = emit(rw, "slice", value, ints(rw, 0, row.begin, column.begin, 0), ints(rw, *shape), like=value, shape=shape)
    part = window._replace(kernel=(row.size, column.size), pads=((0, 0), (0, 0)))
    return _pool(op, rw, "average_pool_2d", value, part, "VALID", (row.results, column.results))


def _joined(rw: Rewriter, parts: list[Value], axis: int) -> Value:
    if len(parts) == 1:
        return parts[0]
    shape = list(static_shape(parts[0]))
    shape[axis] = sum(static_shape(part)[axis] for part in parts)
    return emit(rw, "concatenation", *parts, like=parts[0], shape=shape, axis=axis)


def _uncounted(op: AvgPool, rw: Rewriter, value: Value, window: Window, flat: bool) -> Value:
    """A mean of floats, padded otherwise than SAME: zeros count, and the mean is multiplied by what they took from it."""
    sizes = static_shape(value)[1:-1]
    counts = []
    for dim, (size, (before, after)) in enumerate(zip(sizes, window.pads, strict=True)):
        inside = np.concatenate([tables.zeros(before), tables.ones(size), tables.zeros(after)])
        starts = range(0, len(inside) - window.kernel[dim] + 1, window.strides[dim])
        counts.append([inside[start : start + window.kernel[dim]].sum() for start in starts])
    rows, columns = counts
    held = tables.outer(rows, columns)
    factor = np.where(held > 0, window.kernel[0] * window.kernel[1] / np.maximum(held, 1), 0.0).astype(np.float32)
    value = pad(rw, value, ((0, 0), *window.pads, (0, 0)))
    made = _pool(op, rw, "average_pool_2d", value, window, "VALID")
    return _in_type(op, rw, emit(rw, "mul", made, constant(rw, factor[None, :, :, None]), like=made), flat)


@TABLE("top.MaxPool")
def max_pool(op: MaxPool, rw: Rewriter) -> Value:
    """MAX_POOL_2D; padding that is neither SAME nor VALID is written out, with the least number there is. What LiteRT's pooling
    does not have, holes and volumes, are MAXIMUMs of slices."""
    if len(op.kernel_shape) > 2 or max(window_of(op).dilations) > 1:
        return _by_maxima(op, rw)
    value, window, flat = _planar(op, rw)
    padding = window.padding(static_shape(value)[1:-1])
    if padding is None:
        value, padding = _padded_with_least(rw, value, ((0, 0), *window.pads, (0, 0))), "VALID"
    return _in_type(op, rw, _pool(op, rw, "max_pool_2d", value, window, padding), flat)


def _by_maxima(op: MaxPool, rw: Rewriter) -> Value:
    """The greatest elements of windows of any dimensions: dimension by dimension, those of the slices that begin at each place of
    the window, in its steps."""
    need_channels_last(op)
    value, window = op.input, window_of(op)
    if not value.is_float and quant(value) is None:
        raise Unsupported(f"LiteRT has no pooling of {value.element}", "quantize it, or make it float")
    if any(before or after for before, after in window.pads):
        value = _padded_with_least(rw, value, ((0, 0), *window.pads, (0, 0)))
    for axis, (places, stride, dilation) in enumerate(zip(window.kernel, window.strides, window.dilations, strict=True), 1):
        count = static_shape(op.output)[axis]
        slices = [_every(rw, value, axis, place * dilation, stride, count) for place in range(places)]
        value = reduce(lambda a, b: emit(rw, "maximum", a, b, like=a), slices)
    return activated_wholly(op, rw, retyped(rw, value, op.output.element))


def _every(rw: Rewriter, value: Value, axis: int, begin: int, stride: int, count: int) -> Value:
    """`count` elements along a dimension, a stride apart."""
    shape = list(static_shape(value))
    begins, ends, steps = [0] * len(shape), list(shape), [1] * len(shape)
    begins[axis], ends[axis], steps[axis] = begin, begin + (count - 1) * stride + 1, stride
    shape[axis] = count
    return emit(rw, "strided_slice", value, ints(rw, *begins), ints(rw, *ends), ints(rw, *steps), like=value, shape=shape)


def _padded_with_least(rw: Rewriter, value: Value, pads: tuple[tuple[int, int], ...]) -> Value:
    """PADV2 with the least number of the element type."""
    element = value.element
    least = np.finfo(np.float32).min if not isinstance(element, QuantType) else element.storage.range[0]
    stored = element.storage if isinstance(element, QuantType) else element
    shape = [size + before + after for size, (before, after) in zip(static_shape(value), pads, strict=True)]
    number = constant(rw, np.asarray(least, dtype_of(stored)), element)
    return emit(rw, "padv2", value, constant(rw, np.array(pads, np.int32)), number, like=value, shape=shape)
