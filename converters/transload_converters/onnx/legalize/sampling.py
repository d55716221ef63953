"""Reading an image between its pixels, and putting patches back: GridSample and Col2Im."""

from __future__ import annotations

import math

import numpy as np

from transload.errors import Unsupported
from transload.ir import I32, Op, Value, dtype_of
from transload.rewrite import Rewriter

from .movement import slice_along
from .table import OnnxTable, attr, cast, constant_ints, flag, need, permute, reshape, scalar_like, shape_of

TABLE = OnnxTable()


@TABLE("onnx.GridSample")
def grid_sample(op: Op, rw: Rewriter) -> Value:
    """GridSample of images [N, C, H, W], by the nearest pixel or between four: gathers of whole pixels."""
    value, grid = need(op, 0), need(op, 1)
    shape = shape_of(value)
    mode, padding = attr(op, "mode", "linear"), attr(op, "padding_mode", "zeros")
    if not len(shape) == len(shape_of(grid)) == 4:
        raise Unsupported(f"samples a tensor of shape {shape} at a grid of shape {shape_of(grid)}", "images can be sampled")
    if mode not in ("nearest", "linear", "bilinear") or padding not in ("zeros", "border", "reflection"):
        raise Unsupported(f"samples a tensor of shape {shape} by {mode!r} with padding {padding!r}",
                          "images can be sampled by 'nearest' and 'linear'")
    batch, channels, height, width = shape
    _, rows, columns, _ = shape_of(grid)
    points = rows * columns
    pixels = permute(rw, reshape(rw, value, (batch, channels, height * width)), (0, 2, 1))
    x, y = (_coordinate(rw, reshape(rw, slice_along(rw, grid, 3, i, i + 1), (batch, points)), size,
                        flag(op, "align_corners", 0), padding) for i, size in ((0, width), (1, height)))
    if mode == "nearest":
        corners = [(rw.emit("top.Round", x), rw.emit("top.Round", y), None)]
    else:
        left, top = rw.emit("top.Floor", x), rw.emit("top.Floor", y)
        right, below = (rw.emit("top.AddConst", part, const_val=1.0) for part in (left, top))
        near = [(left, rw.emit("top.Sub", right, x)), (right, rw.emit("top.Sub", x, left))]
        corners = [(column, row, rw.emit("top.Mul", a, b)) for column, a in near
                   for row, b in ((top, rw.emit("top.Sub", below, y)), (below, rw.emit("top.Sub", y, top)))]
    parts = []
    for column, row, weight in corners:
        if padding == "zeros":
            inside = _inside(rw, column, width)
            inside = rw.emit("top.LogicalAnd", inside, _inside(rw, row, height))
            mask = cast(rw, inside, value.element)
            weight = mask if weight is None else rw.emit("top.Mul", weight, mask)
        column, row = (rw.emit("top.Clip", part, min=0.0, max=float(size - 1)) for part, size in ((column, width), (row, height)))
        place = rw.emit("top.Add", rw.emit("top.MulConst", row, const_val=float(width)), column)
        taken = rw.emit("top.Gather", pixels, cast(rw, place, I32), axis=1, batch_dims=1)
        if weight is not None:
            taken = rw.emit("top.Mul", taken, reshape(rw, weight, (batch, points, 1)))
        parts.append(taken)
    total = parts[0] if len(parts) == 1 else rw.emit("top.Add", *parts)
    return reshape(rw, permute(rw, total, (0, 2, 1)), (batch, channels, rows, columns))


def _coordinate(rw: Rewriter, place: Value, size: int, align: bool, padding: str) -> Value:
    """Places from -1 to 1 as pixels, moved into the image by the padding mode."""
    if align:
        pixel = rw.emit("top.MulConst", rw.emit("top.AddConst", place, const_val=1.0), const_val=(size - 1) / 2)
        low, high = 0.0, size - 1.0
    else:
        pixel = rw.emit("top.MulConst", rw.emit("top.AddConst", place, const_val=1.0), const_val=size / 2)
        pixel = rw.emit("top.AddConst", pixel, const_val=-0.5)
        low, high = -0.5, size - 0.5
    if padding == "zeros":
        return pixel
    if padding == "reflection":
        span = high - low
        if span == 0:
            pixel = rw.emit("top.MulConst", pixel, const_val=0.0)
        else:
            away = rw.emit("top.Abs", rw.emit("top.AddConst", pixel, const_val=-low))
            turned = rw.emit("top.FloorMod", away, scalar_like(rw, away, 2 * span))
            folded = rw.emit("top.Neg", rw.emit("top.Abs", rw.emit("top.AddConst", turned, const_val=-span)))
            pixel = rw.emit("top.AddConst", folded, const_val=span + low)
    return rw.emit("top.Clip", pixel, min=0.0, max=size - 1.0)


def _inside(rw: Rewriter, place: Value, size: int) -> Value:
    """Whether whole pixel numbers are in the image."""
    above = rw.emit("top.Compare", place, scalar_like(rw, place, 0.0), mode="GreaterOrEqual")
    below = rw.emit("top.Compare", place, scalar_like(rw, place, size - 1.0), mode="LessOrEqual")
    return rw.emit("top.LogicalAnd", above, below)


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
    if not 1 <= n <= 3 or not len(block) == len(strides) == len(dilations) == n or len(pads) != 2 * n or rows % size:
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
