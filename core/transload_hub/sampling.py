"""Reading a tensor between its elements, and putting patches back: grids, moved windows, regions, columns.

What is read are gathers of whole elements, weighted, which any target can run. Places are counted in elements, the first at 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from ml_dtypes import finfo

from transload.errors import Unsupported
from transload.ir import F32, I32, Value, dtype_of
from transload.ir.build import Builder, constant_of
from transload_hub import tables

from .build import Window, cast, counted, need_place, permute, reshape, scalar_like, slice_along, splat

__all__ = ["Axis", "affine_grid", "columns_to_image", "deformed", "grid_sampled", "regions_aligned", "sampled"]

_CUBIC = -0.75
"""The coefficient of cubic convolution."""
_BEYOND = 3.0
"""How many elements beyond an end a place is whose elements, four at most, all lie beyond it."""


def affine_grid(build: Builder, matrices: Value, sizes: Sequence[int], align: bool, alone: float) -> Value:
    """Places [N, *sizes, n] of the pixels of images, from -1 to 1, the last dimension first, moved by `matrices` [N, n, n + 1].

    With `align` the outermost pixels lie on -1 and 1, one that is alone in its dimension at `alone`; else half a pixel within.
    Source: PyTorch's affine_grid, ONNX's AffineGrid.
    """
    n = len(sizes)
    need_place(*sizes)
    if align:
        lines = [tables.linspace(-1, 1, size) if size > 1 else tables.full((1,), alone) for size in sizes]
    else:
        lines = [(counted(size) * 2 + 1) / size - 1 for size in sizes]
    grid = np.stack([*tables.meshgrid(*lines, indexing="ij")[::-1], tables.ones(sizes)], axis=-1).reshape(1, -1, n + 1)
    moved = build.emit("top.MatMul", build.constant(grid.astype(dtype_of(matrices.element))), matrices, right_transpose=True)
    return reshape(build, moved, (matrices.static_shape[0], *sizes, n))


@dataclass(frozen=True)
class Axis:
    """A dimension that is read between its elements, and how what lies beyond its ends is meant.

    `padding`: "zeros", "border", or "reflection" at `low` and `high`.
    """

    size: int
    padding: str = "zeros"
    low: float = 0.0
    high: float = 0.0

    def within(self, build: Builder, place: Value, mode: str) -> Value:
        """Places moved into the dimension, as far as that is done before elements are taken.

        Cubic interpolation near a border has to know how far away a place is: its elements are moved one by one. From a few
        elements beyond the ends on, all of them are beyond; nearer, no place is so far away that it is infinite, and its
        weights none.
        """
        if self.padding == "reflection":
            most = float(finfo(dtype_of(place.element)).max) / 4
            place = build.emit("top.Clip", place, min=-most, max=most)
            if mode == "cubic":
                return place
        elif self.padding == "zeros" or mode == "cubic":
            return build.emit("top.Clip", place, min=-_BEYOND, max=self.size - 1 + _BEYOND)
        return build.emit("top.Clip", self.turned(build, place), min=0.0, max=self.size - 1.0)

    def turned(self, build: Builder, place: Value) -> Value:
        """Places reflected at the ends, where they are to be."""
        if self.padding != "reflection":
            return place
        span = self.high - self.low
        if span == 0:
            return build.emit("top.MulConst", place, const_val=0.0)
        away = build.emit("top.Abs", build.emit("top.AddConst", place, const_val=-self.low))
        turned = build.emit("top.FloorMod", away, scalar_like(build, away, 2 * span))
        folded = build.emit("top.Neg", build.emit("top.Abs", build.emit("top.AddConst", turned, const_val=-span)))
        return build.emit("top.AddConst", folded, const_val=span + self.low)


def _between(build: Builder, place: Value, low: float, high: float) -> Value:
    """Whether places lie from `low` to `high`, both included."""
    above = build.emit("top.Compare", place, scalar_like(build, place, low), mode="GreaterOrEqual")
    below = build.emit("top.Compare", place, scalar_like(build, place, high), mode="LessOrEqual")
    return build.emit("top.LogicalAnd", above, below)


def _taps(build: Builder, place: Value, mode: str) -> list[tuple[Value, Value | None]]:
    """The whole places from which one between them is computed, each with its weight."""
    if mode == "nearest":
        return [(build.emit("top.Round", place), None)]
    floor = build.emit("top.Floor", place)
    part = build.emit("top.Sub", place, floor)
    rest = build.emit("top.AddConst", build.emit("top.Neg", part), const_val=1.0)
    if mode == "linear":
        return [(floor, rest), (build.emit("top.AddConst", floor, const_val=1.0), part)]
    a = _CUBIC
    near, far = (a + 2, -(a + 3), 0.0, 1.0), (a, -5 * a, 8 * a, -4 * a)
    further, opposite = (build.emit("top.AddConst", value, const_val=1.0) for value in (part, rest))
    weights = [_polynomial(build, value, terms)
               for value, terms in ((further, far), (part, near), (rest, near), (opposite, far))]
    places = [build.emit("top.AddConst", floor, const_val=float(step)) if step else floor for step in (-1, 0, 1, 2)]
    return list(zip(places, weights, strict=True))


def _polynomial(build: Builder, value: Value, terms: Sequence[float]) -> Value:
    """A polynomial of `value`, the term of the highest power first."""
    total = build.emit("top.MulConst", value, const_val=terms[0])
    for term in terms[1:-1]:
        total = build.emit("top.AddConst", total, const_val=term) if term else total
        total = build.emit("top.Mul", total, value)
    return build.emit("top.AddConst", total, const_val=terms[-1])


def _product(build: Builder, values: Sequence[Value | None]) -> Value | None:
    there = [value for value in values if value is not None]
    return reduce(lambda a, b: build.emit("top.Mul", a, b), there) if there else None


def _number(build: Builder, places: Sequence[Value], sizes: Sequence[int]) -> Value:
    """The numbers of elements, row by row, from their whole places in each dimension, moved to its ends from beyond.

    Computed in integers: 16-bit floats cannot tell the elements of a large image apart.
    """
    number: Value | None = None
    for place, size in zip(places, sizes, strict=True):
        whole = cast(build, build.emit("top.Clip", place, min=0.0, max=size - 1.0), I32)
        number = whole if number is None else build.emit("top.Add", _times(build, number, size), whole)
    assert number is not None
    return number


def _times(build: Builder, number: Value, size: int) -> Value:
    """Whole numbers times another."""
    return build.emit("top.Mul", number, scalar_like(build, number, size))


def sampled(build: Builder, value: Value, places: Sequence[Value], axes: Sequence[Axis], mode: str) -> Value:
    """`value` [B, C, sizes..] read at places [B, points], one tensor a dimension, as [B, points, C].

    `mode`: "nearest", "linear" between the neighbours, "cubic" among four.
    """
    batch, channels, *sizes = value.tensor_type.static_shape
    points = places[0].tensor_type.static_shape[1]
    elements = permute(build, reshape(build, value, (batch, channels, math.prod(sizes))), (0, 2, 1))
    taps = [_taps(build, axis.within(build, place, mode), mode) for place, axis in zip(places, axes, strict=True)]
    parts = []
    for corner in itertools.product(*taps):
        weight = _product(build, [weight for _, weight in corner])
        wholes = []
        for (place, _), axis in zip(corner, axes, strict=True):
            if axis.padding == "zeros":
                inside = cast(build, _between(build, place, 0.0, axis.size - 1.0), value.element)
                weight = _product(build, [weight, inside])
            elif axis.padding == "reflection" and mode == "cubic":
                place = build.emit("top.Round", axis.turned(build, place))
            wholes.append(place)
        taken = build.emit("top.Gather", elements, _number(build, wholes, sizes), axis=1, batch_dims=1)
        if weight is not None:
            taken = build.emit("top.Mul", taken, reshape(build, weight, (batch, points, 1)))
        parts.append(taken)
    return parts[0] if len(parts) == 1 else build.emit("top.Add", *parts)


# --- grids

def grid_sampled(build: Builder, value: Value, grid: Value, mode: str, padding: str, align: bool) -> Value:
    """`value` [N, C, sizes..] read at places from -1 to 1, `grid` [N, made.., n] whose columns name the last dimension first.

    `mode` is as `sampled` has it, `padding` as `Axis`; with `align`, -1 and 1 are the middles of the outer elements, else
    their edges. Gives [N, C, made..]. Raises `Unsupported` for shapes that do not fit and for volumes read cubically.
    """
    shape, wanted = value.tensor_type.static_shape, grid.tensor_type.static_shape
    n = len(shape) - 2
    if n < 1 or len(wanted) != n + 2 or wanted[-1] != n or wanted[0] != shape[0] or 0 in shape:
        raise Unsupported(f"samples a tensor of shape {shape} at a grid of shape {wanted}", "their sizes must fit each other")
    if mode not in ("nearest", "linear", "cubic") or padding not in ("zeros", "border", "reflection"):
        raise Unsupported(f"samples a tensor of shape {shape} by {mode!r} with padding {padding!r}",
                          "by 'nearest', 'linear' and 'cubic', with 'zeros', 'border' and 'reflection', it can be converted")
    if mode == "cubic" and n != 2:
        raise Unsupported(f"samples a tensor of {n} spatial dimensions cubically, which is defined for images alone")
    points = math.prod(wanted[1:-1])
    flat = reshape(build, grid, (shape[0], points, n))
    places, axes = [], []
    for i, size in enumerate(shape[2:]):
        part = reshape(build, slice_along(build, flat, 2, n - 1 - i, n - i), (shape[0], points))
        place, axis = _placed(build, part, size, align, padding)
        places.append(cast(build, place, value.element))
        axes.append(axis)
    total = sampled(build, value, places, axes, mode)
    return reshape(build, permute(build, total, (0, 2, 1)), (*shape[:2], *wanted[1:-1]))


def _placed(build: Builder, place: Value, size: int, align: bool, padding: str) -> tuple[Value, Axis]:
    """Places from -1 to 1 as those of elements, and the dimension that they are in."""
    shifted = build.emit("top.AddConst", place, const_val=1.0)
    if align:
        return build.emit("top.MulConst", shifted, const_val=(size - 1) / 2), Axis(size, padding, 0.0, size - 1.0)
    element = build.emit("top.AddConst", build.emit("top.MulConst", shifted, const_val=size / 2), const_val=-0.5)
    return element, Axis(size, padding, -0.5, size - 0.5)


# --- moved windows

def deformed(
    build: Builder, value: Value, weights: Value, bias: Value | None, offset: Value, mask: Value | None, window: Window,
    offset_groups: int, groups: int,
) -> Value:
    """A deformable convolution of images [N, C, H, W] (Dai and others, 2017; with a mask, Zhu and others, 2018).

    Each element of each window is read where its `offset` [N, 2 * offset_groups * elements, rows, columns] says, down and
    then across, times `mask` [N, offset_groups * elements, rows, columns]. These windows, as [N, C, rows, columns * elements],
    are convolved with filters of one row and a stride of a window. Raises `Unsupported` for shapes that do not fit.
    """
    batch, channels, height, width = value.tensor_type.static_shape
    kernel, elements = window.kernel, math.prod(window.kernel)
    found = offset.tensor_type.static_shape
    rows, columns = found[2:]
    if offset_groups < 1 or channels % offset_groups or found[:2] != (batch, 2 * offset_groups * elements) or (
            mask is not None and mask.shape != (batch, offset_groups * elements, rows, columns)):
        raise Unsupported(f"has offsets of shape {found} for {channels} channels in {offset_groups} groups, windows {kernel}")
    if (rows, columns) != tuple(window.count(size, i) for i, size in enumerate((height, width))):
        raise Unsupported(f"has offsets of shape {found} for windows {kernel} in images of {height} x {width}")
    folded = batch * offset_groups
    moved = permute(build, reshape(build, offset, (folded, elements, 2, rows, columns)), (0, 2, 3, 4, 1))
    points = rows * columns * elements
    places = []
    for i, steps in enumerate(_window_places(window, rows, columns)):
        away = reshape(build, slice_along(build, moved, 1, i, i + 1), (folded, points))
        places.append(build.emit("top.Add", away, build.constant(steps.reshape(1, points).astype(dtype_of(value.element)))))
    images = reshape(build, value, (folded, channels // offset_groups, height, width))
    taken = sampled(build, images, places, (Axis(height), Axis(width)), "linear")
    if mask is not None:
        weight = permute(build, reshape(build, mask, (folded, elements, rows, columns)), (0, 2, 3, 1))
        taken = build.emit("top.Mul", taken, reshape(build, weight, (folded, points, 1)))
    windows = reshape(build, permute(build, taken, (0, 2, 1)), (batch, channels, rows, columns * elements))
    filters = reshape(build, weights, (*weights.tensor_type.static_shape[:2], 1, elements))
    return build.emit("top.Conv", windows, filters, bias, kernel_shape=(1, elements), strides=(1, elements),
                      pads=(0, 0, 0, 0), dilations=(1, 1), group=groups, layout="NCHW")


def _window_places(window: Window, rows: int, columns: int) -> list[np.ndarray]:
    """Where the elements of all windows are, [rows, columns, elements], in each of the two dimensions."""
    need_place(rows, columns, *window.kernel)
    within = tables.meshgrid(*(tables.arange(size) * step for size, step in zip(window.kernel, window.dilations, strict=True)),
                         indexing="ij")
    begins = tables.meshgrid(tables.arange(rows) * window.strides[0] - window.pads[0],
                         tables.arange(columns) * window.strides[1] - window.pads[1], indexing="ij")
    return [begin[..., None] + inside.reshape(-1) for begin, inside in zip(begins, within, strict=True)]


# --- regions

def regions_aligned(
    build: Builder, value: Value, regions: Value, batches: Value, bins: tuple[int, int], ratio: int, *, mode: str = "avg",
    half: bool = True,
) -> Value:
    """RoIAlign (He and others, 2017): bins of regions, each the mean ("avg") or greatest ("max") of points that lie evenly in it.

    `value` [N, C, H, W] and `regions` [R, 4] (left, top, right, bottom, in elements) are of f32, `batches` [R] says in which
    image each region lies; `ratio` points a side of a bin, 0: as many as it has elements. Without `half`, regions are a pixel
    wide at least. Gives [R, C, bins..]. Raises `Unsupported` where the points go by regions that are no constants.
    """
    if 0 in value.tensor_type.static_shape:
        raise Unsupported(f"reads regions of an image without elements, {value.tensor_type.static_shape}")
    if ratio > 0:
        return _aligned(build, value, regions, batches, bins, (ratio, ratio), mode, half)
    known = constant_of(regions)
    if known is None:
        raise Unsupported("reads as many points of a region as it is large, and regions are computed at run time",
                          "export the model with a sampling_ratio of 1 or more")
    parts = []
    for i, (left, top, right, bottom) in enumerate(np.asarray(known.numpy(), np.float32)):
        sizes = (bottom - top, right - left) if half else (max(bottom - top, 1), max(right - left, 1))
        down, across = (math.ceil(size / n) for size, n in zip(sizes, bins, strict=True))
        if min(down, across) < 1:  # a region without a height or width, of which nothing is read
            parts.append(splat(build, 0.0, (1, value.tensor_type.static_shape[1], *bins), value.element))
            continue
        region, batch = (slice_along(build, each, 0, i, i + 1) for each in (regions, batches))
        parts.append(_aligned(build, value, region, batch, bins, (down, across), mode, half))
    return parts[0] if len(parts) == 1 else build.emit("top.Concat", *parts, axis=0)


def _aligned(
    build: Builder, value: Value, regions: Value, batches: Value, bins: tuple[int, int], points: tuple[int, int], mode: str,
    half: bool,
) -> Value:
    """Regions pooled into bins of so many points each way: [R, C, bins..]."""
    count = regions.tensor_type.static_shape[0]
    images, channels, *sizes = value.tensor_type.static_shape
    need_place(count, bins[0] * points[0], bins[1] * points[1])
    taps = []
    for i, size in enumerate(sizes):
        begin, end = (slice_along(build, regions, 1, at, at + 1) for at in (1 - i, 3 - i))
        extent = build.emit("top.Sub", end, begin)
        extent = extent if half else build.emit("top.Max", extent, scalar_like(build, extent, 1.0))
        steps = (tables.arange(bins[i] * points[i]) + 0.5) / (bins[i] * points[i])
        offset = build.emit("top.Mul", extent, build.constant(steps[None].astype(np.float32)))
        taps.append(_edge_taps(build, build.emit("top.Add", begin, offset), size))  # [R, bins * points]
    pixels = reshape(build, permute(build, value, (0, 2, 3, 1)), (images * math.prod(sizes), channels))
    image = reshape(build, _times(build, cast(build, batches, I32), math.prod(sizes)), (count, 1, 1))
    lines = (bins[0] * points[0], bins[1] * points[1])
    parts = []
    for (row, a), (column, b) in itertools.product(*taps):
        line = build.emit("top.Add", _times(build, reshape(build, row, (count, lines[0], 1)), sizes[1]), image)
        number = build.emit("top.Add", line, reshape(build, column, (count, 1, lines[1])))
        weight = build.emit("top.Mul", reshape(build, a, (count, lines[0], 1, 1)), reshape(build, b, (count, 1, lines[1], 1)))
        parts.append(build.emit("top.Mul", build.emit("top.Gather", pixels, number, axis=0), weight))
    total = build.emit("top.Add" if mode == "avg" else "top.Max", *parts)
    apart = reshape(build, total, (count, bins[0], points[0], bins[1], points[1], channels))
    pooled = build.emit("top.Reduce", apart, axes=(2, 4), keepdims=False, mode="ReduceMean" if mode == "avg" else "ReduceMax")
    return permute(build, pooled, (0, 3, 1, 2))


def _edge_taps(build: Builder, place: Value, size: int) -> list[tuple[Value, Value]]:
    """The two elements around places, as I32, and their weights, which are 0 for a place more than one beyond the ends."""
    there = cast(build, _between(build, place, -1.0, float(size)), F32)
    moved = build.emit("top.Clip", place, min=0.0, max=size - 1.0)
    return [(_number(build, [whole], [size]), build.emit("top.Mul", weight, there))
            for whole, weight in _taps(build, moved, "linear") if weight is not None]


# --- columns

def columns_to_image(build: Builder, value: Value, sizes: Sequence[int], window: Window) -> Value:
    """Patches [N, C * elements, patches] put back into images [N, C, sizes..], added up where they overlap.

    A transposed convolution whose filters put each element of a patch in its place. Raises `Unsupported` for what does not fit.
    """
    batch, rows, patches = value.tensor_type.static_shape
    n, elements = len(sizes), math.prod(window.kernel)
    counts = [window.count(size, i) for i, size in enumerate(sizes)]
    if not 1 <= n <= 3 or rows % elements or min(counts) < 1 or math.prod(counts) != patches:
        raise Unsupported(f"has {patches} patches of {rows} numbers, and images {tuple(sizes)} have {math.prod(counts)} of "
                          f"{elements} a channel")
    extra = [window.left_over(size, i) for i, size in enumerate(sizes)]
    channels = rows // elements
    need_place(channels, elements, elements)
    places = tables.eye(elements, dtype=dtype_of(value.element)).reshape(elements, 1, *window.kernel)
    filters = build.constant(np.ascontiguousarray(tables.tile(places, (channels, *(1,) * (n + 1)))))
    grid = reshape(build, value, (batch, rows, *counts))
    return build.emit("top.Deconv", grid, filters, kernel_shape=window.kernel, strides=window.strides, pads=window.pads,
                      dilations=window.dilations, output_padding=tuple(extra), group=channels, layout="NCHW")
