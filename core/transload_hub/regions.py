"""The greatest elements of the bins of regions whose places only the data say (RoI pooling).

Source: R. Girshick, "Fast R-CNN" (2015), as Caffe and onnxruntime compute it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, I32, Value
from transload.ir.build import Builder

from . import tables
from .build import cast, need_place, permute, reshape, scalar_like, slice_along

__all__ = ["greatest_of_bins"]

_EXTENTS = 4
"""Up to so many times the length of an image, where the bins of a region lie is looked up."""


def greatest_of_bins(build: Builder, value: Value, corners: Sequence[Value], images: Value, bins: tuple[int, int]) -> Value:
    """[R, C, bins..]: the greatest element of each bin of each region, 0 for one that has none.

    `value` [N, C, H, W] of floats; `corners` left, top, right and bottom of the regions, [R, 1] of f32, are rounded to elements,
    halves away from 0, which are part of a region, and may lie outside of the image; `images` [R, 1] of I32, in which one it is.
    Bins overlap by the element in which one ends and the next begins.

    Raises `Unsupported` for images without elements, or with too many for 32 bits.

    Of each element the greatest of it and those behind it, 1, 2, 4.. each way, is computed once: a bin is in four such squares.
    """
    count, channels, height, width = value.tensor_type.static_shape
    regions = images.tensor_type.static_shape[0]
    if not count * channels * height * width or min(bins) < 1:
        raise Unsupported(f"pools images of the shape {[count, channels, height, width]} into {list(bins)} bins")
    level = count * height * width  # rows of a level of columns
    steps = width.bit_length() * level, level
    if height.bit_length() * steps[0] > I32.range[1]:
        raise Unsupported(f"images of the shape {[count, channels, height, width]} have more places than 32 bits can number")
    squares = _squares(build, permute(build, value, (0, 2, 3, 1)))
    left, top, right, bottom = (_rounded(build, corner) for corner in corners)
    rows, no_row = _line(build, top, bottom, bins[0], height, (width, steps[0]))
    columns, no_column = _line(build, left, right, bins[1], width, (1, steps[1]))
    image = reshape(build, build.emit("top.Mul", images, scalar_like(build, images, height * width)), (regions, 1, 1))
    seen = []
    for row in rows:
        line = build.emit("top.Add", reshape(build, row, (regions, bins[0], 1)), image)
        for column in columns:
            place = build.emit("top.Add", line, reshape(build, column, (regions, 1, bins[1])))
            seen.append(build.emit("top.Gather", squares, place, axis=0))
    greatest = build.emit("top.Max", *seen)  # [R, bins.., C]
    empty = build.emit("top.LogicalOr", reshape(build, no_row, (regions, bins[0], 1, 1)),
                       reshape(build, no_column, (regions, 1, bins[1], 1)))
    return permute(build, build.emit("top.Where", empty, scalar_like(build, greatest, 0.0), greatest), (0, 3, 1, 2))


def _squares(build: Builder, value: Value) -> Value:
    """[levels * N * H * W, C]: `value` [N, H, W, C] and the greatest of 1, 2, 4.. rows and columns from each element on."""
    *sizes, channels = value.tensor_type.static_shape
    levels = [each for lines in _doubled(build, value, 1) for each in _doubled(build, lines, 2)]
    flat = [reshape(build, each, (math.prod(sizes), channels)) for each in levels]
    return flat[0] if len(flat) == 1 else build.emit("top.Concat", *flat, axis=0)


def _doubled(build: Builder, value: Value, axis: int) -> list[Value]:
    """The greatest of 1, 2, 4.. elements from each on; those of which fewer are left are never asked for."""
    size = value.tensor_type.static_shape[axis]
    made = [value]
    for level in range(size.bit_length() - 1):
        last, step = made[-1], 1 << level
        ends = slice_along(build, last, axis, step, size), slice_along(build, last, axis, size - step, size)
        made.append(build.emit("top.Max", last, build.emit("top.Concat", *ends, axis=axis)))
    return made


def _line(
    build: Builder, begin: Value, end: Value, bins: int, limit: int, steps: tuple[int, int],
) -> tuple[list[Value], Value]:
    """The two places [R, bins] of which a bin's greatest is that of both, and whether the bin is empty; along one dimension.

    `steps` are how many rows of the squares an element is from the next one, and a level from the next.
    """
    extent = build.emit("top.Max", build.emit("top.AddConst", build.emit("top.Sub", end, begin), const_val=1),
                        scalar_like(build, end, 1))
    first, last = (_clipped(build, build.emit("top.Add", edge, begin), limit) for edge in _edges(build, extent, bins, limit))
    length = build.emit("top.Sub", last, first)
    level = np.array([max(n, 1).bit_length() - 1 for n in range(limit + 1)], np.int32)
    index = _clipped(build, length, limit)
    base, size = (build.emit("top.Gather", build.constant(table), index, axis=0)
                  for table in ((level * steps[1]).astype(np.int32), (1 << level).astype(np.int32)))
    places = _clipped(build, first, limit - 1), _clipped(build, build.emit("top.Sub", last, size), limit - 1)
    empty = build.emit("top.Compare", length, scalar_like(build, length, 0), mode="LessOrEqual")
    lines = (build.emit("top.Mul", place, scalar_like(build, place, steps[0])) for place in places)
    return [build.emit("top.Add", line, base) for line in lines], empty


def _edges(build: Builder, extent: Value, bins: int, limit: int) -> tuple[Value, ...]:
    """[R, bins] of I32 where the bins of regions begin and end, from the region's begin on; `extent` [R, 1] of I32.

    They are looked up, not computed: where three sevenths times seven lies, in single precision, decides of an element, and
    targets divide in ways of their own. They are computed for regions that are many times as long as an image.
    """
    most = _EXTENTS * limit
    need_place(most + 1, bins)
    each = tables.arange(most + 1, dtype=np.float32) / np.float32(bins)
    known = reshape(build, _clipped(build, extent, most), (extent.tensor_type.static_shape[0],))
    far = build.emit("top.Compare", extent, scalar_like(build, extent, most), mode="Greater")
    long = _divided(build, extent, bins)
    edges = []
    for step, (name, rounded) in enumerate((("top.Floor", np.floor), ("top.Ceil", np.ceil))):
        numbers = tables.arange(step, bins + step, dtype=np.float32)
        near = build.emit("top.Gather", build.constant(rounded(tables.outer(each, numbers)).astype(np.int32)), known, axis=0)
        distant = build.emit(name, build.emit("top.Mul", long, build.constant(numbers[None])))
        edges.append(build.emit("top.Where", far, cast(build, distant, I32), near))
    return tuple(edges)


def _divided(build: Builder, value: Value, divisor: int) -> Value:
    """Integers of I32 divided by one, as F32: the whole part, and the rest's, which is looked up, on any target the same."""
    whole = cast(build, build.emit("top.Floor", build.emit("top.MulConst", cast(build, value, F32), const_val=1 / divisor)), I32)
    rest = build.emit("top.Sub", value, build.emit("top.Mul", whole, scalar_like(build, whole, divisor)))
    parts = build.constant(tables.arange(divisor + 1, dtype=np.float32) / np.float32(divisor))
    part = build.emit("top.Gather", parts, _clipped(build, rest, divisor), axis=0)
    return build.emit("top.Add", cast(build, whole, F32), part)


def _clipped(build: Builder, value: Value, limit: int) -> Value:
    """Integers of I32 moved to 0..limit."""
    return build.emit("top.Max", build.emit("top.Min", value, scalar_like(build, value, limit)), scalar_like(build, value, 0))


def _rounded(build: Builder, value: Value) -> Value:
    """Floats rounded to I32, halves away from 0; by casts that truncate, which every target has."""
    whole = cast(build, value, I32)
    rest = build.emit("top.Sub", value, cast(build, whole, F32))  # exact, between -1 and 1
    return build.emit("top.Add", whole, cast(build, build.emit("top.MulConst", rest, const_val=2.0), I32))
