"""Reading a tensor between its elements, and putting patches back: GridSample, DeformConv, RoiAlign and Col2Im."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, I32, Op, Value, dtype_of
from transload.rewrite import Rewriter

from .convolution import Window, read_window
from .movement import slice_along
from .table import (
    OnnxTable,
    attr,
    cast,
    constant_ints,
    flag,
    need,
    operand,
    opset,
    permute,
    reshape,
    scalar_like,
    shape_of,
)

__all__ = ["TABLE", "Axis", "sampled"]

TABLE = OnnxTable()

_CUBIC = -0.75
"""The coefficient of GridSample's cubic interpolation."""


@dataclass(frozen=True)
class Axis:
    """A dimension that is read between its elements, and how what lies beyond its ends is meant.

    `padding`: "zeros", "border", or "reflection" at `low` and `high`.
    """

    size: int
    padding: str = "zeros"
    low: float = 0.0
    high: float = 0.0

    def within(self, rw: Rewriter, place: Value, mode: str) -> Value:
        """Places moved into the dimension, as far as that is done before elements are taken.

        Cubic interpolation near a border has to know how far away a place is: its elements are moved one by one.
        """
        if self.padding == "zeros" or mode == "cubic":
            return place
        return rw.emit("top.Clip", self.turned(rw, place), min=0.0, max=self.size - 1.0)

    def turned(self, rw: Rewriter, place: Value) -> Value:
        """Places reflected at the ends, where they are to be."""
        if self.padding != "reflection":
            return place
        span = self.high - self.low
        if span == 0:
            return rw.emit("top.MulConst", place, const_val=0.0)
        away = rw.emit("top.Abs", rw.emit("top.AddConst", place, const_val=-self.low))
        turned = rw.emit("top.FloorMod", away, scalar_like(rw, away, 2 * span))
        folded = rw.emit("top.Neg", rw.emit("top.Abs", rw.emit("top.AddConst", turned, const_val=-span)))
        return rw.emit("top.AddConst", folded, const_val=span + self.low)

    def inside(self, rw: Rewriter, place: Value) -> Value:
        """Whether whole places are in the dimension."""
        above = rw.emit("top.Compare", place, scalar_like(rw, place, 0.0), mode="GreaterOrEqual")
        below = rw.emit("top.Compare", place, scalar_like(rw, place, self.size - 1.0), mode="LessOrEqual")
        return rw.emit("top.LogicalAnd", above, below)


def _taps(rw: Rewriter, place: Value, mode: str) -> list[tuple[Value, Value | None]]:
    """The whole places from which one between them is computed, each with its weight."""
    if mode == "nearest":
        return [(rw.emit("top.Round", place), None)]
    floor = rw.emit("top.Floor", place)
    part = rw.emit("top.Sub", place, floor)
    rest = rw.emit("top.AddConst", rw.emit("top.Neg", part), const_val=1.0)
    if mode == "linear":
        return [(floor, rest), (rw.emit("top.AddConst", floor, const_val=1.0), part)]
    a = _CUBIC
    near, far = (a + 2, -(a + 3), 0.0, 1.0), (a, -5 * a, 8 * a, -4 * a)
    further, opposite = (rw.emit("top.AddConst", value, const_val=1.0) for value in (part, rest))
    weights = [_polynomial(rw, value, terms) for value, terms in ((further, far), (part, near), (rest, near), (opposite, far))]
    places = [rw.emit("top.AddConst", floor, const_val=float(step)) if step else floor for step in (-1, 0, 1, 2)]
    return list(zip(places, weights, strict=True))


def _polynomial(rw: Rewriter, value: Value, terms: Sequence[float]) -> Value:
    """A polynomial of `value`, the term of the highest power first."""
    total = rw.emit("top.MulConst", value, const_val=terms[0])
    for term in terms[1:-1]:
        total = rw.emit("top.AddConst", total, const_val=term) if term else total
        total = rw.emit("top.Mul", total, value)
    return rw.emit("top.AddConst", total, const_val=terms[-1])


def _product(rw: Rewriter, values: Sequence[Value | None]) -> Value | None:
    there = [value for value in values if value is not None]
    return reduce(lambda a, b: rw.emit("top.Mul", a, b), there) if there else None


def sampled(rw: Rewriter, value: Value, places: Sequence[Value], axes: Sequence[Axis], mode: str) -> Value:
    """`value` [B, C, sizes..] read at places [B, points], one tensor a dimension, as [B, points, C].

    `mode`: "nearest", "linear" between the neighbours, "cubic" among four. Gathers of whole elements: any target can.
    """
    batch, channels, *sizes = shape_of(value)
    points = shape_of(places[0])[1]
    elements = permute(rw, reshape(rw, value, (batch, channels, math.prod(sizes))), (0, 2, 1))
    taps = [_taps(rw, axis.within(rw, place, mode), mode) for place, axis in zip(places, axes, strict=True)]
    parts = []
    for corner in itertools.product(*taps):
        weight = _product(rw, [weight for _, weight in corner])
        index: Value | None = None
        for (place, _), axis in zip(corner, axes, strict=True):
            if axis.padding == "zeros":
                weight = _product(rw, [weight, cast(rw, axis.inside(rw, place), value.element)])
            elif axis.padding == "reflection" and mode == "cubic":
                place = rw.emit("top.Round", axis.turned(rw, place))
            place = rw.emit("top.Clip", place, min=0.0, max=axis.size - 1.0)
            if index is not None:
                place = rw.emit("top.Add", rw.emit("top.MulConst", index, const_val=float(axis.size)), place)
            index = place
        taken = rw.emit("top.Gather", elements, cast(rw, index, I32), axis=1, batch_dims=1)  # type: ignore[arg-type]
        if weight is not None:
            taken = rw.emit("top.Mul", taken, reshape(rw, weight, (batch, points, 1)))
        parts.append(taken)
    return parts[0] if len(parts) == 1 else rw.emit("top.Add", *parts)


@TABLE("onnx.GridSample")
def grid_sample(op: Op, rw: Rewriter) -> Value:
    """GridSample of [N, C, sizes..], by the nearest element, between neighbours, or (images) cubically among 16."""
    value, grid = need(op, 0), need(op, 1)
    shape, wanted = shape_of(value), shape_of(grid)
    n = len(shape) - 2
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(attr(op, "mode", "linear"), attr(op, "mode", "linear"))
    padding = attr(op, "padding_mode", "zeros")
    if n < 1 or len(wanted) != n + 2 or wanted[-1] != n or wanted[0] != shape[0] or 0 in shape:
        raise Unsupported(f"samples a tensor of shape {shape} at a grid of shape {wanted}", "their sizes must fit each other")
    if mode not in ("nearest", "linear", "cubic") or padding not in ("zeros", "border", "reflection"):
        raise Unsupported(f"samples a tensor of shape {shape} by {mode!r} with padding {padding!r}",
                          "by 'nearest', 'linear' and 'cubic', with 'zeros', 'border' and 'reflection', it can be converted")
    if mode == "cubic" and n != 2:
        raise Unsupported(f"samples a tensor of {n} spatial dimensions cubically, which ONNX defines for images alone")
    points = math.prod(wanted[1:-1])
    places, axes = [], []
    for i, size in enumerate(shape[2:]):
        part = reshape(rw, slice_along(rw, grid, n + 1, n - 1 - i, n - i), (shape[0], points))  # the grid has x, then y
        place, axis = _placed(rw, part, size, flag(op, "align_corners", 0), padding)
        places.append(cast(rw, place, value.element))
        axes.append(axis)
    total = sampled(rw, value, places, axes, mode)
    return reshape(rw, permute(rw, total, (0, 2, 1)), (*shape[:2], *wanted[1:-1]))


def _placed(rw: Rewriter, place: Value, size: int, align: bool, padding: str) -> tuple[Value, Axis]:
    """Places from -1 to 1 as those of elements, and the dimension that they are in."""
    shifted = rw.emit("top.AddConst", place, const_val=1.0)
    if align:
        return rw.emit("top.MulConst", shifted, const_val=(size - 1) / 2), Axis(size, padding, 0.0, size - 1.0)
    element = rw.emit("top.AddConst", rw.emit("top.MulConst", shifted, const_val=size / 2), const_val=-0.5)
    return element, Axis(size, padding, -0.5, size - 0.5)


@TABLE("onnx.DeformConv")
def deform_conv(op: Op, rw: Rewriter) -> Value:
    """DeformConv of images: each element of each window is read where its offset says; then a convolution of these windows.

    The windows [N, C, rows, columns * elements] are convolved with filters of one row, a stride of a window.
    """
    value, weights, offset = need(op, 0), need(op, 1), need(op, 2)
    batch, channels, height, width = shape_of(value, 4)
    kernel = shape_of(weights, 4)[2:]
    window = read_window(op, (height, width), kernel)
    groups, elements = attr(op, "offset_group", 1), math.prod(kernel)
    rows, columns = shape_of(offset, 4)[2:]
    mask = operand(op, 4)
    if groups < 1 or channels % groups or shape_of(offset)[:2] != (batch, 2 * groups * elements) or (
            mask is not None and shape_of(mask) != (batch, groups * elements, rows, columns)):
        raise Unsupported(f"has offsets of shape {shape_of(offset)} for {channels} channels in {groups} groups, windows {kernel}")
    moved = permute(rw, reshape(rw, offset, (batch * groups, elements, 2, rows, columns)), (0, 2, 3, 4, 1))
    points = rows * columns * elements
    places = []
    for i, steps in enumerate(_window_places(window, rows, columns)):
        if steps.size != points:
            raise Unsupported(f"has offsets of shape {shape_of(offset)} for windows {kernel} in images of {height} x {width}")
        away = reshape(rw, slice_along(rw, moved, 1, i, i + 1), (batch * groups, points))
        places.append(rw.emit("top.Add", away, rw.constant(steps.reshape(1, points).astype(dtype_of(value.element)))))
    folded = reshape(rw, value, (batch * groups, channels // groups, height, width))
    taken = sampled(rw, folded, places, (Axis(height), Axis(width)), "linear")
    if mask is not None:
        weight = permute(rw, reshape(rw, mask, (batch * groups, elements, rows, columns)), (0, 2, 3, 1))
        taken = rw.emit("top.Mul", taken, reshape(rw, weight, (batch * groups, points, 1)))
    windows = reshape(rw, permute(rw, taken, (0, 2, 1)), (batch, channels, rows, columns * elements))
    filters = reshape(rw, weights, (*shape_of(weights)[:2], 1, elements))
    return rw.emit("top.Conv", windows, filters, operand(op, 3), kernel_shape=(1, elements), strides=(1, elements),
                   pads=(0, 0, 0, 0), dilations=(1, 1), group=attr(op, "group", 1), layout="NCHW")


def _window_places(window: Window, rows: int, columns: int) -> list[np.ndarray]:
    """Where the elements of all windows are, [rows, columns, elements], in each of the two dimensions."""
    within = np.meshgrid(*(np.arange(size) * step for size, step in zip(window.kernel, window.dilations, strict=True)),
                         indexing="ij")
    begins = np.meshgrid(np.arange(rows) * window.strides[0] - window.pads[0],
                         np.arange(columns) * window.strides[1] - window.pads[1], indexing="ij")
    return [begin[..., None] + inside.reshape(-1) for begin, inside in zip(begins, within, strict=True)]


@TABLE("onnx.RoiAlign")
def roi_align(op: Op, rw: Rewriter) -> Value:
    """RoiAlign: each bin of each region is the mean (or greatest) of what is read at points that lie evenly in it.

    How many points: `sampling_ratio`; where that is 0 it goes by the size of each region, and these must be constants.
    """
    value, regions, batches = need(op, 0), need(op, 1), need(op, 2)
    count = shape_of(regions, 2)[0]
    bins = attr(op, "output_height", 1), attr(op, "output_width", 1)
    mode, ratio = attr(op, "mode", "avg"), attr(op, "sampling_ratio", 0)
    half = attr(op, "coordinate_transformation_mode", "half_pixel" if opset(op) >= 16 else "output_half_pixel") == "half_pixel"
    if shape_of(regions)[1] != 4 or min(bins) < 1 or mode not in ("avg", "max") or shape_of(batches) != (count,):
        raise Unsupported(f"pools {mode!r} of regions {shape_of(regions)} in batches {shape_of(batches)} into {bins} bins")
    value, regions = cast(rw, value, F32), cast(rw, regions, F32)
    scaled = rw.emit("top.MulConst", regions, const_val=float(attr(op, "spatial_scale", 1.0)))
    scaled = rw.emit("top.AddConst", scaled, const_val=-0.5) if half else scaled
    element = need(op, 0).element
    if ratio > 0:
        return cast(rw, _aligned(rw, value, scaled, batches, bins, (ratio, ratio), mode, half), element)
    known = rw.constant_of(scaled)
    if known is None:
        raise Unsupported("reads as many points of a region as it is large, and regions are computed at run time",
                          "export the model with sampling_ratio 1 or more")
    parts = []
    for i, (left, top, right, bottom) in enumerate(np.asarray(known, np.float32)):
        sizes = (bottom - top, right - left) if half else (max(bottom - top, 1), max(right - left, 1))
        points = tuple(max(math.ceil(size / n), 0) for size, n in zip(sizes, bins, strict=True))
        region, batch = (slice_along(rw, each, 0, i, i + 1) for each in (scaled, batches))
        parts.append(_aligned(rw, value, region, batch, bins, (max(points[0], 1), max(points[1], 1)), mode, half))
    return cast(rw, parts[0] if len(parts) == 1 else rw.emit("top.Concat", *parts, axis=0), element)


def _aligned(
    rw: Rewriter, value: Value, regions: Value, batches: Value, bins: tuple[int, int], points: tuple[int, int], mode: str,
    half: bool,
) -> Value:
    """Regions [N, 4] of images `value`, pooled into bins of so many points each way: [N, C, bins..]."""
    count, channels, sizes = shape_of(regions)[0], shape_of(value)[1], shape_of(value)[2:]
    per_axis = []
    for i in range(2):
        begin, end = (slice_along(rw, regions, 1, at, at + 1) for at in (1 - i, 3 - i))
        extent = rw.emit("top.Sub", end, begin)
        extent = extent if half else rw.emit("top.Max", extent, scalar_like(rw, extent, 1.0))
        steps = (np.arange(bins[i] * points[i]) + 0.5) / (bins[i] * points[i])
        per_axis.append(rw.emit("top.Add", begin, rw.emit("top.Mul", extent, rw.constant(steps[None].astype(np.float32)))))
    lines = (bins[0] * points[0], bins[1] * points[1])
    flat = count * lines[0] * lines[1]
    places, inside = [], []
    for i, (place, size) in enumerate(zip(per_axis, sizes, strict=True)):
        shape = (count, lines[0], 1) if i == 0 else (count, 1, lines[1])
        wide = rw.emit("top.Expand", reshape(rw, place, shape), shape=(count, *lines))
        above = rw.emit("top.Compare", wide, scalar_like(rw, wide, -1.0), mode="GreaterOrEqual")
        below = rw.emit("top.Compare", wide, scalar_like(rw, wide, float(size)), mode="LessOrEqual")
        inside.append(rw.emit("top.LogicalAnd", above, below))
        places.append(rw.emit("top.Clip", wide, min=0.0, max=size - 1.0))
    weight = cast(rw, rw.emit("top.LogicalAnd", *inside), F32)
    corners = _corners(rw, value, batches, places, flat, mode)
    total = reshape(rw, corners, (count, bins[0], points[0], bins[1], points[1], channels))
    total = rw.emit("top.Mul", total, reshape(rw, weight, (count, bins[0], points[0], bins[1], points[1], 1)))
    pooled = rw.emit("top.Reduce", total, axes=(2, 4), keepdims=False, mode="ReduceMean" if mode == "avg" else "ReduceMax")
    return permute(rw, pooled, (0, 3, 1, 2))


def _corners(rw: Rewriter, value: Value, batches: Value, places: Sequence[Value], points: int, mode: str) -> Value:
    """What four neighbours give at each place, [points, C]: their sum, or (as ONNX defines it) the greatest of their shares."""
    batch, channels, height, width = shape_of(value)
    pixels = reshape(rw, permute(rw, value, (0, 2, 3, 1)), (batch * height * width, channels))
    shape = shape_of(places[0])
    image = reshape(rw, cast(rw, batches, F32), (shape[0], 1, 1))
    origin = rw.emit("top.MulConst", image, const_val=float(height * width))
    parts = []
    for (row, a), (column, b) in itertools.product(*(_taps(rw, place, "linear") for place in places)):
        row, column = (rw.emit("top.Clip", part, min=0.0, max=size - 1.0) for part, size in ((row, height), (column, width)))
        index = rw.emit("top.Add", rw.emit("top.MulConst", row, const_val=float(width)), column)
        index = reshape(rw, rw.emit("top.Add", index, origin), (points,))
        taken = rw.emit("top.Gather", pixels, cast(rw, index, I32), axis=0)
        weight = rw.emit("top.Mul", a, b)
        parts.append(rw.emit("top.Mul", taken, reshape(rw, weight, (points, 1))))
    return rw.emit("top.Add" if mode == "avg" else "top.Max", *parts)


@TABLE("onnx.Col2Im")
def col2im(op: Op, rw: Rewriter) -> Value:
    """Col2Im: a transposed convolution whose filters put each element of a patch in its place."""
    value = need(op, 0)
    image = constant_ints(rw, need(op, 1), "the image's shape")
    block = constant_ints(rw, need(op, 2), "the block's shape")
    n = len(image)
    strides = tuple(attr(op, "strides") or (1,) * n)
    dilations = tuple(attr(op, "dilations") or (1,) * n)
    pads = tuple(attr(op, "pads") or (0,) * 2 * n)
    batch, rows, patches = shape_of(value, 3)
    size = math.prod(block)
    fits = 1 <= n <= 3 and len(block) == len(strides) == len(dilations) == n and len(pads) == 2 * n
    if not fits or min(*block, *strides, *dilations) < 1 or rows % size:
        raise Unsupported(f"blocks {block} of images {image} do not fit a tensor of shape {shape_of(value)}")
    counts, extra = [], []
    for i in range(n):
        free = image[i] + pads[i] + pads[n + i] - (block[i] - 1) * dilations[i] - 1
        counts.append(free // strides[i] + 1)
        extra.append(free % strides[i])
    if math.prod(counts) != patches:
        raise Unsupported(f"has {patches} patches, and images {image} have {math.prod(counts)}")
    channels = rows // size
    places = np.eye(size, dtype=dtype_of(value.element)).reshape(size, 1, *block)
    filters = rw.constant(np.ascontiguousarray(np.tile(places, (channels, *(1,) * (n + 1)))))
    grid = reshape(rw, value, (batch, rows, *counts))
    return rw.emit("top.Deconv", grid, filters, kernel_shape=block, strides=strides, pads=pads, dilations=dilations,
                   output_padding=tuple(extra), group=channels, layout="NCHW")
