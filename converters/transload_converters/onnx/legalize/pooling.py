"""Pooling over windows and over everything."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, F64, FloatType, IntegerType, Op, Type, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import Window, counted, need_place

from ..other_sizes import windows_of
from .convolution import ones_filter, read_window, spatial_sizes
from .table import OnnxTable, attr, cast, constant_ints, first_of, flag, need, need_attr, operand, reshape, shape_of, splat

__all__ = ["TABLE", "average", "global_average", "pooling_window", "wider"]

TABLE = OnnxTable()


def pooling_window(op: Op, value: Value) -> tuple[Window, tuple[int, ...]]:
    """The window of a pooling op, and by how much it goes beyond the padding at each end (`ceil_mode`)."""
    sizes = spatial_sizes(value, "pooling")
    window = read_window(op, sizes, need_attr(op, "kernel_shape"))
    if min(window.pads, default=0) < 0:
        raise Unsupported(f"pads are {list(window.pads)}, and none is below 0")
    n = len(sizes)
    beyond = []
    for i, size in enumerate(sizes):
        begin, end = window.pads[i], window.pads[n + i]
        free = size + begin + end - window.extent(i)
        if free < 0 and not flag(op, "ceil_mode", 0):
            raise Unsupported(f"a window of {window.extent(i)} does not fit into {size} padded by {begin} and {end}")
        ceil = flag(op, "ceil_mode", 0) and attr(op, "auto_pad", "NOTSET") in ("NOTSET", "")
        count = windows_of(free, window.strides[i], size + begin, ceil)
        beyond.append(max((count - 1) * window.strides[i] - free, 0))
    return window, tuple(beyond)


def wider(window: Window, beyond: Sequence[int]) -> tuple[int, ...]:
    """The window's padding with what `ceil_mode` adds at the ends."""
    n = len(beyond)
    return (*window.pads[:n], *(end + more for end, more in zip(window.pads[n:], beyond, strict=True)))


@TABLE("onnx.MaxPool", stored="carried")
def max_pool(op: Op, rw: Rewriter) -> list[Value]:
    """MaxPool; the indices of the greatest elements, where they are used, from the window's elements side by side."""
    value = need(op, 0)
    window, beyond = pooling_window(op, value)
    if len(op.results) > 1 and op.results[1].uses:
        element = value.element
        if not isinstance(element, IntegerType):
            return _max_and_index(op, rw, value, window, wider(window, beyond))
        greatest, places = _max_and_index(op, rw, cast(rw, value, F32), window, wider(window, beyond))  # of 8 bits, exact
        return [cast(rw, greatest, element), places]
    return first_of(op, _greatest(rw, value, window, wider(window, beyond)))


def _greatest(rw: Rewriter, value: Value, window: Window, pads: Sequence[int]) -> Value:
    return rw.emit("top.MaxPool", value, kernel_shape=window.kernel, strides=window.strides, pads=tuple(pads),
                   dilations=window.dilations, layout="NCHW")


def _max_and_index(op: Op, rw: Rewriter, value: Value, window: Window, pads: Sequence[int]) -> list[Value]:
    """The greatest element of each window and its place in the whole tensor, of several the first.

    The places are looked for among what equals the greatest, which the padding may be, too: it is of zeros, that nothing on the
    way is infinite, which has no range to quantize.
    """
    if not isinstance(value.element, FloatType):
        raise Unsupported(f"gives indices into a tensor of {value.element}", "give it floats")
    shape = shape_of(value)
    n = len(window.kernel)
    counts = [(size + pads[i] + pads[n + i] - window.extent(i)) // window.strides[i] + 1 for i, size in enumerate(shape[2:])]
    padded = rw.emit("top.Pad", value, paddings=(0, 0, *pads[:n], 0, 0, *pads[n:]), mode="constant")
    inside = tables.pad(tables.ones(shape[2:], np.float32), list(zip(pads[:n], pads[n:], strict=True)))
    elements, places, there = [], [], []
    if flag(op, "storage_order", 0):  # places are counted down the columns
        strides = [math.prod(shape[2 : 2 + i]) for i in range(n)]
    else:
        strides = [math.prod(shape[2 + i + 1 :]) for i in range(n)]
    for offset in tables.ndindex(*window.kernel):
        begin = [o * d for o, d in zip(offset, window.dilations, strict=True)]
        ends = [b + (count - 1) * s + 1 for b, count, s in zip(begin, counts, window.strides, strict=True)]
        elements.append(rw.emit(
            "top.Slice", padded, offset=(0, 0, *begin), ends=(*shape[:2], *ends), steps=(1, 1, *window.strides)))
        places.append(sum((b - pads[i]) * strides[i] for i, b in enumerate(begin)))
        there.append(inside[tuple(slice(b, end, s) for b, end, s in zip(begin, ends, window.strides, strict=True))])
    stacked = rw.emit("top.Pack", *elements, axis=0)
    greatest = _greatest(rw, value, window, pads)
    which = rw.emit("top.Arg", _ranked(rw, stacked, greatest, np.stack(there)), axis=0, keepdims=False, mode="ArgMax")
    need_place(*shape[:2], *counts)
    origin = counted(math.prod(shape[:2])).reshape(*shape[:2], *(1,) * n) * math.prod(shape[2:])
    for i, count in enumerate(counts):
        step = counted(count) * window.strides[i] * strides[i]
        origin = origin + step.reshape([-1 if axis == 2 + i else 1 for axis in range(2 + n)])
    within = rw.emit("top.Gather", rw.constant(np.array(places, np.int64)), which, axis=0)
    return [greatest, rw.emit("top.Add", within, rw.constant(origin))]


def _ranked(rw: Rewriter, stacked: Value, greatest: Value, inside: np.ndarray) -> Value:
    """What the place of a window's greatest element is looked for among: what lies in the padding is never it.

    Elements are 2 where they equal the greatest, 1 elsewhere, and 0 in the padding, whatever that is filled with.
    """
    if inside.all():
        return stacked
    equal = cast(rw, rw.emit("top.Compare", stacked, reshape(rw, greatest, (1, *shape_of(greatest))), mode="Equal"), F32)
    return rw.emit("top.Mul", rw.emit("top.AddConst", equal, const_val=1.0), rw.constant(inside[:, None, None]))


@TABLE("onnx.MaxUnpool")
def max_unpool(op: Op, rw: Rewriter) -> Value:
    """MaxUnpool: each element at the place that its index says, among zeros; more zeros where an output shape is given."""
    value, places = need(op, 0), need(op, 1)
    shape, kernel = shape_of(value), need_attr(op, "kernel_shape")
    n = len(kernel)
    strides, pads = attr(op, "strides") or (1,) * n, attr(op, "pads") or (0,) * 2 * n
    if not len(strides) == len(shape) - 2 == n or len(pads) != 2 * n:
        raise Unsupported(f"kernel {kernel}, strides {strides} and pads {pads} do not fit a tensor of shape {shape}")
    made = (*shape[:2], *((size - 1) * strides[i] + kernel[i] - pads[i] - pads[n + i] for i, size in enumerate(shape[2:])))
    wanted = made if operand(op, 2) is None else constant_ints(rw, operand(op, 2), "the output shape")
    if len(wanted) != len(made) or any(want < size for want, size in zip(wanted, made, strict=True)):
        raise Unsupported(f"its output shape {wanted} has no room for {made}")
    zeros = splat(rw, 0, (math.prod(made),), value.element)
    flat = (reshape(rw, part, (math.prod(shape),)) for part in (places, value))
    result = reshape(rw, rw.emit("top.ScatterElements", zeros, *flat, axis=0), made)
    ends = [want - size for want, size in zip(wanted, made, strict=True)]
    return rw.emit("top.Pad", result, paddings=(*(0,) * len(made), *ends), mode="constant") if any(ends) else result


@TABLE("onnx.AveragePool")
def average_pool(op: Op, rw: Rewriter) -> Value:
    """AveragePool, with dilations too."""
    value = need(op, 0)
    window, beyond = pooling_window(op, value)
    return average(rw, value, window, beyond, flag(op, "count_include_pad", 0))


def average(
    rw: Rewriter, value: Value, window: Window, beyond: Sequence[int], include_pad: bool, element: Type | None = None,
) -> Value:
    """The mean of each window. What `ceil_mode` adds beyond the padding never counts."""
    if max(window.dilations) > 1:
        if element is not None:
            raise Unsupported("averages windows with holes of a quantized tensor")
        return _dilated_average(rw, value, window, beyond, include_pad)
    pads: Sequence[int] = wider(window, beyond)
    if include_pad and any(beyond):  # real padding counts, so it is made part of the tensor
        n = len(beyond)
        value = rw.emit("top.Pad", value, paddings=(0, 0, *window.pads[:n], 0, 0, *window.pads[n:]), mode="constant")
        pads, include_pad = (*(0,) * n, *beyond), False
    return rw.emit("top.AvgPool", value, kernel_shape=window.kernel, strides=window.strides, pads=tuple(pads),
                   count_include_pad=include_pad or None, layout="NCHW", element=element)


def _dilated_average(rw: Rewriter, value: Value, window: Window, beyond: Sequence[int], include_pad: bool) -> Value:
    """The hub's pooling has no holes; a depthwise convolution by ones has, and the numbers of elements are known."""
    shape = shape_of(value)
    total = _window_sums(rw, value, window, wider(window, beyond))
    counts = tables.ones(shape_of(total)[2:])
    n = len(beyond)
    for i, count in enumerate(shape_of(total)[2:]):
        begin, end = window.pads[i], window.pads[n + i]
        low, high = (-begin, shape[2 + i] + end) if include_pad else (0, shape[2 + i])
        need_place(count, window.kernel[i])
        places = (counted(count)[:, None] * window.strides[i] - begin) + counted(window.kernel[i]) * window.dilations[i]
        inside = ((places >= low) & (places < high)).sum(axis=1)
        counts = counts * inside.reshape([-1 if axis == i else 1 for axis in range(n)])
    factors = (1.0 / np.maximum(counts, 1)).astype(dtype_of(value.element))
    return rw.emit("top.Mul", total, rw.constant(factors[None, None]))


def _window_sums(rw: Rewriter, value: Value, window: Window, pads: Sequence[int]) -> Value:
    channels = shape_of(value, least=2)[1]
    ones = rw.constant(ones_filter(channels, window.kernel).astype(dtype_of(value.element)))
    return rw.emit("top.Conv", value, ones, kernel_shape=window.kernel, strides=window.strides, pads=tuple(pads),
                   dilations=window.dilations, group=channels, layout="NCHW")


def _norm(op: Op) -> float:
    p = float(attr(op, "p", 2))
    if p < 1:
        raise Unsupported(f"p is {p:g}, and a norm has 1 or more")
    return p


@TABLE("onnx.LpPool")
def lp_pool(op: Op, rw: Rewriter) -> Value:
    """LpPool: the p-norm of each window, by sums of powers."""
    value, p = need(op, 0), _norm(op)
    window, beyond = pooling_window(op, value)
    wide = _in_f32(rw, value)
    powers = rw.emit("top.Pow", rw.emit("top.Abs", wide), _scalar(rw, wide, p))
    sums = _window_sums(rw, powers, window, wider(window, beyond))
    return _back(rw, rw.emit("top.Pow", sums, _scalar(rw, wide, 1.0 / p)), value)


def _in_f32(rw: Rewriter, value: Value) -> Value:
    """Narrow floats in f32: 1/3, which a root is taken by, is none of them."""
    return value if value.element in (F32, F64) else rw.emit("top.Cast", value, element=F32)


def _back(rw: Rewriter, made: Value, value: Value) -> Value:
    return made if made.element == value.element else rw.emit("top.Cast", made, element=value.element)


def _scalar(rw: Rewriter, value: Value, number: float) -> Value:
    return rw.constant(np.array(number, dtype_of(value.element)))


# --- over everything


@TABLE("onnx.GlobalAveragePool")
def global_average_pool(op: Op, rw: Rewriter) -> Value:
    """GlobalAveragePool."""
    return global_average(rw, need(op, 0))


def global_average(rw: Rewriter, value: Value, element: Type | None = None) -> Value:
    """The mean over all spatial dimensions, which stay with size 1: a pooling in two dimensions, else a reduction.

    Also a reduction where the result has another quantized type (`element`): integer pooling rounds the mean to a step
    of its input, a reduction rounds the sum once, to the step of its result.
    """
    sizes = shape_of(value)[2:]
    if len(sizes) == 2 and element in (None, value.element):
        return rw.emit("top.AvgPool", value, kernel_shape=sizes, layout="NCHW")
    return rw.emit("top.Reduce", value, axes=_spatial(value), mode="ReduceMean", element=element)


@TABLE("onnx.GlobalMaxPool", stored="carried")
def global_max_pool(op: Op, rw: Rewriter) -> Value:
    """GlobalMaxPool."""
    value = need(op, 0)
    sizes = shape_of(value)[2:]
    if len(sizes) == 2:
        return rw.emit("top.MaxPool", value, kernel_shape=sizes, layout="NCHW")
    return rw.emit("top.Reduce", value, axes=_spatial(value), mode="ReduceMax")


@TABLE("onnx.GlobalLpPool")
def global_lp_pool(op: Op, rw: Rewriter) -> Value:
    """GlobalLpPool: the p-norm over all spatial dimensions."""
    value, p = need(op, 0), _norm(op)
    if p in (1, 2):
        return rw.emit("top.Reduce", value, axes=_spatial(value), mode=f"ReduceL{int(p)}")
    wide = _in_f32(rw, value)
    powers = rw.emit("top.Pow", rw.emit("top.Abs", wide), _scalar(rw, wide, p))
    sums = rw.emit("top.Reduce", powers, axes=_spatial(value), mode="ReduceSum")
    return _back(rw, rw.emit("top.Pow", sums, _scalar(rw, wide, 1.0 / p)), value)


def _spatial(value: Value) -> tuple[int, ...]:
    rank = len(shape_of(value))
    if rank < 3 or not math.prod(shape_of(value)):
        raise Unsupported(f"pools a tensor of type {value.type}, which has no spatial dimensions")
    return tuple(range(2, rank))
