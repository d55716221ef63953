"""Convolutions of one, two and three dimensions, their gradients, which are convolutions too, and morphological ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from transload.errors import Unsupported
from transload.ir import IntegerType, Op, Value
from transload.rewrite import Rewriter
from transload_hub.build import permute, reshape, same_padding, scalar_like, slice_along
from transload_hub.tables import arange

from .reduce import least_of
from .table import TfTable, attr, channels_last, constant_sizes, ints_attr, shape_of

__all__ = ["TABLE", "Window", "missing", "spatial_sizes", "window_of"]

TABLE = TfTable()


@dataclass(frozen=True)
class Window:
    """How a window goes over the spatial dimensions; `pads` are all begins, then all ends."""

    layout: str
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]


def spatial_sizes(sizes: Sequence[int], last: bool) -> tuple[int, ...]:
    """The spatial ones of the sizes (or other entries) of all dimensions."""
    return tuple(sizes[1:-1] if last else sizes[2:])


def window_of(op: Op, sizes: Sequence[int], kernel: Sequence[int], *, strides: Sequence[int] | None = None) -> Window:
    """The window of a convolution or pooling over a tensor of the sizes `sizes`, by the op's attributes."""
    last, rank = channels_last(op), len(sizes)
    n = rank - 2
    places = list(strides if strides is not None else ints_attr(op, "strides"))
    spread = list(ints_attr(op, "dilations") or (1,) * rank)
    steps = spatial_sizes(places, last) if len(places) == rank else tuple(places)
    dilations = spatial_sizes(spread, last) if len(spread) == rank else tuple(spread)
    if len(steps) != n or len(dilations) != n or len(kernel) != n:
        raise Unsupported(f"strides {places} and dilations {spread} do not fit a tensor of shape {list(sizes)}")
    if n < 1 or min(*steps, *dilations, *kernel) < 1:
        raise Unsupported(f"has the window {list(kernel)}, strides {places} and dilations {spread}: all must be positive")
    if len(places) == rank and (places[0] != 1 or places[-1 if last else 1] != 1):
        raise Unsupported(f"strides {places} step over batches or channels")
    padding = attr(op, "padding")
    if padding == "EXPLICIT":
        given = ints_attr(op, "explicit_paddings")
        if len(given) not in (2 * n, 2 * rank):
            raise Unsupported(f"explicit_paddings {list(given)} do not fit a tensor of shape {list(sizes)}")
        pairs = list(zip(given[::2], given[1::2], strict=True))
        pairs = list(spatial_sizes(pairs, last)) if len(pairs) == rank else pairs  # type: ignore[arg-type]
    elif padding == "VALID":
        pairs = [(0, 0)] * n
    else:
        spatial = spatial_sizes(sizes, last)
        pairs = [same_padding(*each) for each in zip(spatial, kernel, steps, dilations, strict=True)]
    pads = (*(begin for begin, _ in pairs), *(end for _, end in pairs))
    return Window("NHWC" if last else "NCHW", tuple(kernel), steps, dilations, pads)


def _channels(value: Value, window: Window) -> int:
    return shape_of(value)[-1 if window.layout == "NHWC" else 1]


def missing(window: Window, sizes: Sequence[int], wanted: Sequence[int]) -> tuple[int, ...]:
    """How much what the transposed convolution of `sizes` by a window reaches falls short of the sizes wanted, per dimension.

    Refused where it reaches further.
    """
    n = len(sizes)
    reached = [
        (size - 1) * stride + (kernel - 1) * dilation + 1 - begin - end
        for size, kernel, stride, dilation, begin, end in zip(
            sizes, window.kernel, window.strides, window.dilations, window.pads[:n], window.pads[n:], strict=True)]
    extra = tuple(size - got for size, got in zip(wanted, reached, strict=True))
    if min(extra) < 0:
        raise Unsupported(f"the sizes {list(wanted)} do not fit a gradient of sizes {list(sizes)}")
    return extra


# --- forward

@TABLE("Conv2D", "Conv3D", "Conv")
def convolution(op: Op, rw: Rewriter) -> Value:
    """Conv2D, Conv3D, Conv: filters [kernel.., channels of a group, output channels]; of Conv, several dimensions of batches."""
    value, weights = op.operands[:2]
    sizes, held, batches = shape_of(value), shape_of(weights), int(attr(op, "batch_dims", 1))
    if not 1 <= batches < len(sizes):
        raise Unsupported(f"has {batches} dimensions of batches in a tensor of rank {len(sizes)}")
    flat = reshape(rw, value, (math.prod(sizes[:batches]), *sizes[batches:]))
    window = window_of(op, shape_of(flat), held[:-2])
    made = _convolved(rw, flat, weights, window, _groups(_channels(flat, window), held[-2]))
    return reshape(rw, made, (*sizes[:batches], *shape_of(made)[1:]))


def _groups(channels: int, per_group: int) -> int:
    if per_group < 1 or channels % per_group:
        raise Unsupported(f"filters for {per_group} channels do not fit {channels}")
    return channels // per_group


def _convolved(rw: Rewriter, value: Value, weights: Value, window: Window, group: int) -> Value:
    """`top.Conv` with a filter [kernel.., channels of a group, output channels]."""
    n = len(window.kernel)
    order = (n + 1, *range(n), n) if window.layout == "NHWC" else (n + 1, n, *range(n))
    return rw.emit(
        "top.Conv", value, permute(rw, weights, order), kernel_shape=window.kernel, strides=window.strides, pads=window.pads,
        dilations=window.dilations, group=group, layout=window.layout)


@TABLE("DepthwiseConv2dNative")
def depthwise(op: Op, rw: Rewriter) -> Value:
    """DepthwiseConv2dNative: filters [height, width, channels, multiplier], output channel `c * multiplier + m`."""
    value, weights = op.operands[:2]
    height, width, channels, multiplier = shape_of(weights, 4, what="the filter")
    window = window_of(op, shape_of(value, 4, what="the input"), (height, width))
    return _convolved(rw, value, reshape(rw, weights, (height, width, 1, channels * multiplier)), window, channels)


_RANKS = {
    "tf.DepthwiseConv2dNativeBackpropInput": 4, "tf.Conv2DBackpropInput": 4, "tf.Conv2DBackpropInputV2": 4,
    "tf.Conv3DBackpropInput": 5, "tf.Conv3DBackpropInputV2": 5, "tf.Conv2DBackpropFilter": 4, "tf.Conv3DBackpropFilterV2": 5,
    "tf.DepthwiseConv2dNativeBackpropFilter": 4}
"""How many dimensions the filter of a gradient has."""

# --- gradients with respect to the input: transposed convolutions

@TABLE("Conv2DBackpropInput", "Conv3DBackpropInputV2", "DepthwiseConv2dNativeBackpropInput", "Conv2DBackpropInputV2",
       "Conv3DBackpropInput")
def backprop_input(op: Op, rw: Rewriter) -> Value:
    """Conv2DBackpropInput and those of depthwise and 3-D convolutions: the transposed convolution to a constant size."""
    given, weights, value = op.operands
    last, held = channels_last(op), shape_of(weights, _RANKS.get(op.name), least=3, what="the filter")
    n = len(held) - 2
    wanted = shape_of(given) if op.name in ("tf.Conv2DBackpropInputV2", "tf.Conv3DBackpropInput") else (
        constant_sizes(rw, given, "the sizes of the result"))
    back = shape_of(value, n + 2)
    if len(wanted) == n:  # the spatial ones alone
        wanted = (back[0], *wanted, held[-2]) if last else (back[0], held[-2], *wanted)
    if len(wanted) != n + 2:
        raise Unsupported(f"the sizes {list(wanted)} do not fit a filter of shape {list(held)}")
    window = window_of(op, wanted, held[:-2])
    if op.name == "tf.DepthwiseConv2dNativeBackpropInput":
        group = held[2]
        weights = reshape(rw, weights, (*held[:2], 1, held[2] * held[3]))
    else:
        group = _groups(wanted[-1 if last else 1], held[-2])
    order = (n, *range(n), n + 1) if last else (n + 1, n, *range(n))
    extra = missing(window, spatial_sizes(back, last), spatial_sizes(wanted, last))
    return rw.emit(
        "top.Deconv", value, permute(rw, weights, order), kernel_shape=window.kernel, strides=window.strides, pads=window.pads,
        dilations=window.dilations, group=group, output_padding=extra, layout=window.layout)


# --- gradients with respect to the filter: convolutions of the input with the gradient, strides and dilations exchanged

@TABLE("Conv2DBackpropFilter", "Conv3DBackpropFilterV2", "DepthwiseConv2dNativeBackpropFilter")
def backprop_filter(op: Op, rw: Rewriter) -> Value:
    """Conv2DBackpropFilter and those of depthwise and 3-D convolutions."""
    value, given, back = op.operands
    wanted = constant_sizes(rw, given, "the sizes of the filter", _RANKS.get(op.name), least=1)
    last, n = channels_last(op), len(wanted) - 2
    if not last:
        value, back = (permute(rw, tensor, (0, *range(2, n + 2), 1)) for tensor in (value, back))
    sizes, gradient = shape_of(value, n + 2), shape_of(back, n + 2)
    all_sizes = sizes if last else (sizes[0], sizes[-1], *sizes[1:-1])
    window = window_of(op, all_sizes, wanted[:-2])
    batch, spatial, channels = sizes[0], range(1, n + 1), sizes[-1]
    depthwise = op.name == "tf.DepthwiseConv2dNativeBackpropFilter"
    group = channels if depthwise else 1
    if depthwise:
        image = reshape(rw, permute(rw, value, (*spatial, n + 1, 0)), (1, *sizes[1:-1], channels * batch))
    else:
        image = permute(rw, value, (n + 1, *spatial, 0))
    swept = rw.emit(
        "top.Conv", image, permute(rw, back, (n + 1, *spatial, 0)), kernel_shape=gradient[1:-1], strides=window.dilations,
        pads=window.pads, dilations=window.strides, group=group, layout="NHWC")
    for axis, size in enumerate(wanted[:-2], 1):
        swept = slice_along(rw, swept, axis, 0, size)
    return reshape(rw, swept, wanted) if depthwise else permute(rw, swept, (*spatial, 0, n + 1))


# --- morphology

@TABLE("Dilation2D")
def dilation(op: Op, rw: Rewriter) -> Value:
    """Dilation2D: the greatest sum of the input and the filter in each window, of the places that lie in the input.

    Outside lies the least number, and of integers, where a sum with it may be beyond the type, stands in place of the sum.
    """
    value, weights = op.operands
    rows, columns, channels = shape_of(weights, 3, what="the filter")
    sizes = shape_of(value, 4, what="the input")
    strides, rates = ints_attr(op, "strides")[1:3], ints_attr(op, "rates")[1:3]
    if len(strides) != 2 or len(rates) != 2 or min(*strides, *rates) < 1:
        raise Unsupported(f"has the strides {list(strides)} and rates {list(rates)}: two each, all positive")
    pairs = [(0, 0)] * 2
    if attr(op, "padding") == "SAME":
        pairs = [same_padding(*each) for each in zip(sizes[1:3], (rows, columns), strides, rates, strict=True)]
    lowest, whole = scalar_like(rw, value, least_of(value)), isinstance(value.element, IntegerType)
    if any(map(any, pairs)):
        (top, bottom), (left, right) = pairs
        filled = scalar_like(rw, value, 0) if whole else lowest
        value = rw.emit("top.Pad", value, filled, paddings=(0, top, left, 0, 0, bottom, right, 0))
    padded = shape_of(value)
    counts = [(size - (k - 1) * rate - 1) // stride + 1
              for size, k, stride, rate in zip(padded[1:3], (rows, columns), strides, rates, strict=True)]
    best = None
    for place in ((row, column) for row in range(rows) for column in range(columns)):  # as many as may be made, not all at once
        begins = [at * rate for at, rate in zip(place, rates, strict=True)]
        ends = [begin + (count - 1) * stride + 1 for begin, count, stride in zip(begins, counts, strides, strict=True)]
        part = rw.emit("top.Slice", value, offset=(0, *begins, 0), ends=(padded[0], *ends, channels), steps=(1, *strides, 1))
        number = rw.emit("top.Slice", weights, offset=(*place, 0), ends=(place[0] + 1, place[1] + 1, channels), steps=(1, 1, 1))
        total = rw.emit("top.Add", part, reshape(rw, number, (1, 1, 1, channels)))
        for axis in (1, 2) if whole else ():  # where the place lies outside of the input
            (before, _), size = pairs[axis - 1], sizes[axis]
            reached = arange(counts[axis - 1]) * strides[axis - 1] + begins[axis - 1] - before
            inside = (reached >= 0) & (reached < size)
            if not inside.all():
                flags = rw.constant(inside.reshape(tuple(-1 if at == axis else 1 for at in range(4))))
                total = rw.emit("top.Where", flags, total, lowest)
        best = total if best is None else rw.emit("top.Max", best, total)
    if best is None:
        raise Unsupported("the filter is empty")
    return best
