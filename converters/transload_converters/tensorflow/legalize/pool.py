"""Poolings of two and three dimensions, with the places of the greatest elements too."""

from __future__ import annotations

import numpy as np

from transload.errors import Unsupported
from transload.ir import I32, I64, Op, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import permute, reshape, scalar_like, splat

from .conv import Window, missing, spatial_sizes, window_of
from .reduce import least_of
from .table import TfTable, attr, channels_last, constant_ints, constant_sizes, element_of, ints_attr, need_place, shape_of

TABLE = TfTable()


@TABLE("MaxPool", "MaxPoolV2", "AvgPool", "MaxPool3D", "AvgPool3D")
def pool(op: Op, rw: Rewriter) -> Value:
    """MaxPool, MaxPoolV2, AvgPool, MaxPool3D, AvgPool3D; padding is never counted. MaxPool may go over channels instead."""
    value = op.operands[0]
    sizes = shape_of(value, least=3, what="the image")
    if op.name == "tf.MaxPoolV2":
        kernel, strides = (constant_ints(rw, operand, "the window") for operand in op.operands[1:])
    else:
        kernel, strides = ints_attr(op, "ksize"), ints_attr(op, "strides")
    last = channels_last(op)
    if not len(kernel) == len(strides) == len(sizes) or kernel[0] != 1 or min(*kernel, *strides) < 1:
        raise Unsupported(f"a window {list(kernel)} in steps of {list(strides)} goes over batches, or does not fit {list(sizes)}")
    name = "top.MaxPool" if "Max" in op.name else "top.AvgPool"
    if kernel[-1 if last else 1] != 1:
        return _over_channels(op, rw, value, kernel, strides)
    window = window_of(op, sizes, spatial_sizes(kernel, last), strides=strides)
    return rw.emit(name, value, kernel_shape=window.kernel, strides=window.strides, pads=window.pads, layout=window.layout)


def _over_channels(op: Op, rw: Rewriter, value: Value, kernel: tuple[int, ...], strides: tuple[int, ...]) -> Value:
    """The greatest of so many channels that follow each other."""
    sizes, size = shape_of(value), kernel[-1]
    if "Max" not in op.name or not channels_last(op) or set(kernel[:-1]) != {1} or kernel[-1] != strides[-1] or sizes[-1] % size:
        raise Unsupported(f"pools by {list(kernel)} in steps of {list(strides)}, over space and channels")
    split = reshape(rw, value, (*sizes[:-1], sizes[-1] // size, size))
    return rw.emit("top.Reduce", split, axes=(len(sizes),), keepdims=False, mode="ReduceMax")


def _window_parts(rw: Rewriter, value: Value, window: Window, fill: float) -> tuple[list[Value], list[int]]:
    """For each place in the window, the elements there of all windows of [N, H, W, C]; and how many windows there are."""
    n = len(window.kernel)
    if any(window.pads):
        value = rw.emit("top.Pad", value, scalar_like(rw, value, fill), paddings=(0, *window.pads[:n], 0, 0, *window.pads[n:], 0))
    sizes = shape_of(value)
    counts = [(size - k) // stride + 1 for size, k, stride in zip(sizes[1:-1], window.kernel, window.strides, strict=True)]
    parts = []
    for place in tables.ndindex(*window.kernel):
        ends = [at + (count - 1) * stride + 1 for at, count, stride in zip(place, counts, window.strides, strict=True)]
        parts.append(rw.emit(
            "top.Slice", value, offset=(0, *place, 0), ends=(sizes[0], *ends, sizes[-1]), steps=(1, *window.strides, 1)))
    return parts, counts


@TABLE("MaxPoolWithArgmax")
def max_pool_with_argmax(op: Op, rw: Rewriter) -> tuple[Value, Value]:
    """MaxPoolWithArgmax: the place of an element is its number in its image, or in the batch; of equal ones the first."""
    value = op.operands[0]
    sizes = shape_of(value, 4)
    window = window_of(op, sizes, ints_attr(op, "ksize")[1:3])
    parts, (rows, columns) = _window_parts(rw, value, window, least_of(value))
    stacked = rw.emit("top.Pack", *parts, axis=0)
    chosen = rw.emit("top.Arg", stacked, axis=0, keepdims=False, mode="ArgMax", element=I64)
    width, channels = sizes[2], sizes[3]
    inside = np.asarray([(row * width + column) * channels for row, column in tables.ndindex(*window.kernel)], np.int64)
    need_place(sizes[0], rows, columns, channels)
    row, column = (tables.arange(count) * stride - pad for count, stride, pad in zip(
        (rows, columns), window.strides, window.pads[:2], strict=True))
    first = (row[:, None, None] * width + column[:, None]) * channels + tables.arange(channels)
    image_size = sizes[1] * width * channels if attr(op, "include_batch_in_index", False) else 0
    first = first + tables.arange(sizes[0])[:, None, None, None] * image_size
    places = rw.emit("top.Add", rw.emit("top.Gather", rw.constant(inside), chosen, axis=0), rw.constant(first.astype(np.int64)))
    element = element_of(op, 1)
    if element != I64:
        places = rw.emit("top.Cast", places, element=element)
    return rw.emit("top.Reduce", stacked, axes=(0,), keepdims=False, mode="ReduceMax"), places


@TABLE("AvgPoolGrad", "AvgPool3DGrad")
def avg_pool_grad(op: Op, rw: Rewriter) -> Value:
    """AvgPoolGrad, AvgPool3DGrad: each gradient, divided by how many elements its window has, handed to all of these."""
    wanted = constant_sizes(rw, op.operands[0], "the shape of the input", least=1)
    back, last = op.operands[1], channels_last(op)
    n = len(wanted) - 2
    shape_of(back, max(len(wanted), 3), what="the gradient")
    window = window_of(op, wanted, spatial_sizes(ints_attr(op, "ksize"), last))
    channels, extra = wanted[-1 if last else 1], missing(window, spatial_sizes(shape_of(back), last), spatial_sizes(wanted, last))
    if not last:
        back = permute(rw, back, (0, *range(2, n + 2), 1))
    spatial = spatial_sizes(wanted, last)
    need_place(*shape_of(back)[1:-1])
    counted = np.ones((), np.float64)
    for size, count, k, stride, begin in zip(
            spatial, shape_of(back)[1:-1], window.kernel, window.strides, window.pads[:n], strict=True):
        first = tables.arange(count) * stride - begin
        counted = counted[..., None] * (np.minimum(first + k, size) - np.maximum(first, 0))
    dtype = dtype_of(back.element)
    shared = rw.emit("top.Mul", back, rw.constant((1 / counted).astype(dtype)[..., None], element=back.element))
    spread = _handed_out(rw, shared, splat(rw, 1, (1, *window.kernel, channels), back.element), window, extra)
    return spread if last else permute(rw, spread, (0, n + 1, *range(1, n + 1)))


def _handed_out(rw: Rewriter, value: Value, weights: Value, window: Window, extra: tuple[int, ...]) -> Value:
    """What windows have, handed to the elements in them by the weights [1, window..., channels], and added there."""
    return rw.emit(
        "top.Deconv", value, weights, kernel_shape=window.kernel, strides=window.strides, pads=window.pads,
        group=shape_of(value)[-1], output_padding=extra, layout="NHWC")


@TABLE("MaxPoolGrad", "MaxPoolGradV2", "MaxPool3DGrad")
def max_pool_grad(op: Op, rw: Rewriter) -> Value:
    """MaxPoolGrad, MaxPool3DGrad: each gradient goes to the first of the greatest elements of its window."""
    value, _, back = op.operands[:3]
    last = channels_last(op)
    given = shape_of(value, least=4)
    n = len(given) - 2
    if not last:
        value, back = (permute(rw, each, (0, *range(2, n + 2), 1)) for each in (value, back))
    ksize, strides = (constant_ints(rw, each, "the window") for each in op.operands[3:5]) if len(op.operands) == 5 else (
        ints_attr(op, "ksize"), None)
    window = window_of(op, given, spatial_sizes(ksize, last), strides=strides)
    parts, counts = _window_parts(rw, value, window, least_of(value))
    extra = missing(window, tuple(counts), shape_of(value)[1:-1])
    chosen = rw.emit("top.Arg", rw.emit("top.Pack", *parts, axis=0), axis=0, keepdims=False, mode="ArgMax", element=I32)
    nothing, channels = scalar_like(rw, back, 0), shape_of(value)[-1]
    sums: list[Value] = []
    for number, place in enumerate(tables.ndindex(*window.kernel)):
        is_here = rw.emit("top.Compare", chosen, scalar_like(rw, chosen, number), mode="Equal")
        one = tables.zeros((1, *window.kernel, channels), dtype_of(back.element))
        one[(0, *place)] = 1
        mine = rw.emit("top.Where", is_here, back, nothing)
        sums.append(_handed_out(rw, mine, rw.constant(one, element=back.element), window, extra))
    total = rw.emit("top.Add", *sums) if len(sums) > 1 else sums[0]
    return total if last else permute(rw, total, (0, n + 1, *range(1, n + 1)))
