"""Regions of interest: proposals of Faster R-CNN, and poolings of regions whose places only the data say.

Sources: S. Ren et al., "Faster R-CNN"; J. Dai et al., "R-FCN"; their Caffe.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import Op, Value
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import need_place
from transload_hub.regions import greatest_of_bins
from transload_hub.suppression import DROPPED, race

from ..python import python_parameters
from .common import CaffeTable, bottom, cast, flags, number, permute, reshape, shape_of, slab
from .detection import above, centred, columns

__all__ = ["TABLE", "anchors_of"]

TABLE = CaffeTable()
_MOST_EXTENT = 1 << 16
_MOST_PIXELS = 1 << 12
"""Of a region's bin: each is a step that is written out."""


def anchors_of(base: int, ratios: Sequence[float], scales: Sequence[float]) -> np.ndarray:
    """[n, 4]: the corners of boxes around one of base x base pixels, of all ratios and, for each, all scales."""
    centre = (base - 1) / 2
    found = []
    for factor in (*ratios, *scales):
        if not 0 < factor < _MOST_EXTENT:
            raise Unsupported(f"has boxes of the ratio or scale {factor}: both must be positive, and below {_MOST_EXTENT:,}")
    for ratio in ratios:
        width = np.round(math.sqrt(base * base / ratio))
        height = np.round(width * ratio)
        for scale in scales:
            half_w, half_h = (width * scale - 1) / 2, (height * scale - 1) / 2
            found.append((centre - half_w, centre - half_h, centre + half_w, centre + half_h))
    return np.array(found, np.float32)


def _all_anchors(anchors: np.ndarray, height: int, width: int, stride: int) -> np.ndarray:
    """[height * width * n, 4]: the anchors moved to every pixel."""
    need_place(height, width, len(anchors), 4)
    x, y = tables.meshgrid(tables.arange(width) * stride, tables.arange(height) * stride)
    moves = np.stack([x, y, x, y], axis=-1).reshape(-1, 1, 4)
    return (moves + anchors[None]).reshape(-1, 4).astype(np.float32)


def _by_place(rw: Rewriter, value: Value, n: int, width: int) -> Value:
    """[H * W * n, width] of [1, n * width, H, W]."""
    _, _, h, w = shape_of(value, 4)
    return reshape(rw, permute(rw, reshape(rw, value, (n, width, h, w)), (2, 3, 0, 1)), (h * w * n, width))


def decoded(rw: Rewriter, boxes: Value, deltas: Value) -> Value:
    """Corners [..., N, 4] of boxes moved and scaled by deltas of as many; a box of corners 0 and 15 is 16 wide."""
    left, top, right, low = columns(rw, boxes)
    sizes = [rw.emit("top.AddConst", rw.emit("top.Sub", b, a), const_val=1.0) for a, b in ((left, right), (top, low))]
    middles = [
        rw.emit("top.Add", a, rw.emit("top.MulConst", size, const_val=0.5))
        for a, size in zip((left, top), sizes, strict=True)]
    moves = columns(rw, deltas)
    centres = [rw.emit("top.Add", rw.emit("top.Mul", move, size), middle)
               for move, size, middle in zip(moves[:2], sizes, middles, strict=True)]
    grown = [rw.emit("top.Mul", rw.emit("top.Exp", move), size) for move, size in zip(moves[2:], sizes, strict=True)]
    return centred(rw, *centres, *grown)


@TABLE("Proposal")
def proposal(op: Any, rw: Rewriter) -> list[Value]:
    """A region proposal network's boxes, clipped to the image, without the small ones, the best of those that overlap."""
    scores, deltas, image = op.operands[0], op.operands[1], bottom(op, 2)
    other = op.attribute("rpn_nms_post_top_n") is not None
    if other:
        anchors = anchors_of(op.anchor_base_size or 16, (0.5, 1, 2), (8, 16, 32))
        size: Any = (op.net_input_h, op.net_input_w)
        if None in size:
            raise Unsupported("does not say the size of the image: net_input_h, net_input_w")
        found = _proposals(
            rw, scores, deltas, rw.constant(np.array([size[0], size[1], 1], np.float32)), anchors, op.feat_stride, 0, None,
            op.rpn_nms_post_top_n, 0.7 if op.rpn_nms_threshold is None else op.rpn_nms_threshold, op.rpn_obj_threshold or 0.0)
        rows = (1, 1, op.rpn_nms_post_top_n)
        return [reshape(rw, value, (*rows, width)) for value, width in zip(found, (5, 1), strict=True)][: len(op.results)]
    if image is None:
        raise Unsupported("has no third bottom, which gives the size of the image")
    anchors = anchors_of(op.base_size, tuple(op.ratio or (0.5, 1, 2)), tuple(op.scale or (8, 16, 32)))
    found = _proposals(
        rw, scores, deltas, image, anchors, op.feat_stride, op.min_size, op.pre_nms_topn, op.post_nms_topn, op.nms_thresh, None)
    return found[: len(op.results)]


@TABLE("python.ProposalLayer")
def python_proposal(op: Op, rw: Rewriter) -> list[Value]:
    """Of py-faster-rcnn: `rpn.proposal_layer`, with the settings of its file of tests."""
    said = python_parameters(op, "feat_stride", "scales")
    scales = said.get("scales", (8, 16, 32))
    stride = said.get("feat_stride", 16)
    if not isinstance(stride, int) or not isinstance(scales, tuple | list) or not all(isinstance(s, int | float) for s in scales):
        raise Unsupported(f"its param_str has feat_stride {stride!r} and scales {scales!r}")
    anchors = anchors_of(16, (0.5, 1, 2), tuple(scales))
    if len(op.operands) < 3:
        raise Unsupported("has no third bottom, which gives the size of the image")
    found = _proposals(rw, op.operands[0], op.operands[1], op.operands[2], anchors, stride, 16, 6000, 300, 0.7, None)
    return found[: len(op.results)]


def _proposals(
    rw: Rewriter, scores: Value, deltas: Value, image: Value, anchors: np.ndarray, stride: int, least: float,
    before: int | None, after: int, threshold: float, least_score: float | None,
) -> list[Value]:
    """[after, 5] of 0 and corners, and [after, 1] of scores; places for which no box is left hold zeros."""
    batch, channels, height, width = shape_of(scores, 4)
    n = len(anchors)
    if batch != 1 or channels != 2 * n or shape_of(deltas) != (1, 4 * n, height, width) or stride < 1:
        raise Unsupported(f"scores {list(shape_of(scores))} and deltas {list(shape_of(deltas))} are not those of {n} anchors")
    flat = reshape(rw, image, (math.prod(shape_of(image)),))
    if shape_of(flat)[0] < 3:
        raise Unsupported("its third bottom has no height, width and scale of the image")
    own = reshape(rw, _by_place(rw, slab(rw, scores, 1, n, 2 * n), n, 1), (1, height * width * n))
    boxes = decoded(rw, rw.constant(_all_anchors(anchors, height, width, stride)), _by_place(rw, deltas, n, 4))
    boxes = _clipped(rw, boxes, flat)
    if least:
        left, top, right, low = columns(rw, boxes)
        limit = rw.emit("top.MulConst", slab(rw, flat, 0, 2, 3), const_val=float(least))
        sides = [flags(rw, rw.emit("top.AddConst", rw.emit("top.Sub", b, a), const_val=1.0), "GreaterOrEqual", limit)
                 for a, b in ((left, right), (top, low))]
        large = reshape(rw, rw.emit("top.LogicalAnd", *sides), shape_of(own))
        own = rw.emit("top.Where", large, own, number(rw, DROPPED))
    if least_score is not None:
        own = above(rw, own, least_score)
    count = shape_of(own)[1]
    if before is not None and 0 < before < count:
        own, where = rw.emit("top.TopK", own, axis=1, k=before)
        boxes = rw.emit("top.Gather", boxes, reshape(rw, where, (before,)))
        count = before
    steps = min(after, count)
    # An overlap of pixels: corners 0 and 15 are of a box 16 wide.
    wide = rw.emit("top.Add", boxes, rw.constant(np.array([0, 0, 1, 1], np.float32)))
    places, held, alive = race(rw, wide, own, steps, threshold)
    mask = reshape(rw, alive, (steps, 1))
    zero = number(rw, 0.0)
    chosen = rw.emit("top.Where", mask, rw.emit("top.Gather", boxes, reshape(rw, places, (steps,))), zero)
    kept = rw.emit("top.Where", mask, reshape(rw, held, (steps, 1)), zero)
    rois = rw.emit("top.Pad", chosen, paddings=(0, 1, after - steps, 0))
    return [rois, kept if after == steps else rw.emit("top.Pad", kept, paddings=(0, 0, after - steps, 0))]


def _clipped(rw: Rewriter, boxes: Value, image: Value) -> Value:
    """Corners moved onto the image, whose height and width come first in a vector."""
    last = [rw.emit("top.AddConst", slab(rw, image, 0, place, place + 1), const_val=-1.0) for place in (1, 0)]
    limits = reshape(rw, rw.emit("top.Concat", *last, *last, axis=0), (1, 4))
    return rw.emit("top.Max", rw.emit("top.Min", boxes, limits), number(rw, 0.0))


# --- poolings of regions


def _round(rw: Rewriter, value: Value) -> Value:
    """As C rounds numbers that are not negative: halves up."""
    return rw.emit("top.Floor", rw.emit("top.AddConst", value, const_val=0.5))


def _bins(rw: Rewriter, extent: Value, extents: np.ndarray, bins: int) -> tuple[Value, Value]:
    """[R, bins] where the bins of regions begin and end, from the region's begin on, before they are rounded.

    `extent` [R, 1] is a number of pixels, for each of which `extents` says how long the region is. The products are looked up,
    not computed: where three sevenths times seven lies, in Caffe's single precision, decides of a pixel, and targets divide in
    ways of their own.
    """
    each = extents.astype(np.float32) / np.float32(bins)
    places = cast(rw, rw.emit("top.Clip", extent, min=0.0, max=float(len(extents) - 1)))
    index = reshape(rw, places, (shape_of(extent)[0],))
    begin, end = (
        rw.emit("top.Gather", rw.constant(np.multiply.outer(each, tables.arange(low, bins + low, dtype=np.float32))), index)
        for low in (0, 1))
    return begin, end


def _within(rw: Rewriter, value: Value, limit: int) -> Value:
    return rw.emit("top.Clip", value, min=0.0, max=float(limit))


@TABLE("ROIPooling")
def roi_pooling(op: Any, rw: Rewriter) -> Value:
    """The greatest element of each bin."""
    x, value = op.operands
    shape_of(x, 4)
    count = math.prod(shape_of(value)) // 5
    image, *corners = columns(rw, reshape(rw, value, (count, 5)))
    scaled = [rw.emit("top.MulConst", corner, const_val=op.spatial_scale) for corner in corners]
    return greatest_of_bins(rw, x, scaled, cast(rw, image), (op.pooled_h, op.pooled_w))


def _bin_pixels(
    rw: Rewriter, ends: list[tuple[Value, ...]], reach: list[int], image: Value, width: int, channel: Value,
) -> Any:
    """For each pixel that a bin may have: its number, the row of it for all bins [R * bins], and whether it is in them.

    A pixel beyond a bin's end is taken for its last one.
    """
    if math.prod(reach) > _MOST_PIXELS:
        raise Unsupported(f"its bins have up to {reach[0]} x {reach[1]} pixels, and each would be written out")
    (top, low), (left, right) = ends
    count, bins_h = shape_of(top)
    bins_w = shape_of(left)[1]
    for row in range(reach[0]):
        for column in range(reach[1]):
            y, x = (rw.emit("top.AddConst", begin, const_val=float(step)) for begin, step in ((top, row), (left, column)))
            in_y, in_x = flags(rw, y, "Less", low), flags(rw, x, "Less", right)
            last_y, last_x = (rw.emit("top.Max", rw.emit("top.AddConst", end, const_val=-1.0), number(rw, 0.0))
                              for end in (low, right))
            y, x = rw.emit("top.Min", y, last_y), rw.emit("top.Min", x, last_x)
            flat = rw.emit("top.Add", reshape(rw, rw.emit("top.MulConst", y, const_val=float(width)), (count, bins_h, 1)),
                           reshape(rw, x, (count, 1, bins_w)))
            flat = rw.emit("top.Add", flat, reshape(rw, image, (count, 1, 1)))
            flat = rw.emit("top.Add", rw.emit("top.MulConst", flat, const_val=float(bins_h * bins_w)), channel)
            index = reshape(rw, cast(rw, flat), (count * bins_h * bins_w,))
            inside = rw.emit("top.LogicalAnd", reshape(rw, in_y, (count, bins_h, 1)), reshape(rw, in_x, (count, 1, bins_w)))
            yield (row, column), index, reshape(rw, inside, (count * bins_h * bins_w, 1))


@TABLE("PSROIPooling")
def psroi_pooling(op: Any, rw: Rewriter) -> Value:
    """The mean of each bin, of the channels that are the bin's own; all of a bin's pixels, one after the other, for all regions.

    A bin is as large as one of a region of the whole image: regions that reach far beyond it are not pooled in full.
    """
    x, value = op.operands
    n, _, height, width = shape_of(x, 4)
    size, outputs = op.group_size, op.output_dim
    count = math.prod(shape_of(value)) // 5
    scale = op.attribute("spatial_scale")
    if scale is None or not scale > 0:
        raise Unsupported("does not say its spatial_scale")
    table = columns(rw, reshape(rw, value, (count, 5)))
    corners = [rw.emit("top.AddConst", _round(rw, corner), const_val=float(place > 1)) for place, corner in enumerate(table[1:])]
    ends: list[tuple[Value, ...]] = []
    for begin, end, limit in ((corners[1], corners[3], height), (corners[0], corners[2], width)):
        most = min(int(4 * limit / scale), _MOST_EXTENT)
        first, last = _bins(
            rw, rw.emit("top.Sub", end, begin), np.maximum(tables.arange(most + 1) * np.float32(scale), np.float32(0.1)), size)
        start = rw.emit("top.MulConst", begin, const_val=scale)
        ends.append(tuple(
            _within(rw, rw.emit(rounding, rw.emit("top.Add", edge, start)), limit)
            for rounding, edge in (("top.Floor", first), ("top.Ceil", last))))
    reach = [min(limit, -(-limit // size) + 2) for limit in (height, width)]
    # [N * H * W * bins, outputs]: the channels of a bin stand together.
    rows = permute(rw, reshape(rw, x, (n, outputs, size * size, height * width)), (0, 3, 2, 1))
    rows = reshape(rw, rows, (n * height * width * size * size, outputs))
    own = rw.constant(tables.arange(size * size, dtype=np.float32).reshape(1, size, size))
    image = rw.emit("top.MulConst", table[0], const_val=float(height * width))
    if n * height * width * size * size >= 1 << 24:
        raise Unsupported(f"features of the shape {list(shape_of(x))} have more places than floats can number")
    total: Value | None = None
    for _, index, inside in _bin_pixels(rw, ends, reach, image, width, own):
        seen = rw.emit("top.Where", inside, rw.emit("top.Gather", rows, index), number(rw, 0.0))
        total = seen if total is None else rw.emit("top.Add", total, seen)
    sides = [rw.emit("top.Max", rw.emit("top.Sub", end, begin), number(rw, 0.0)) for begin, end in ends]
    area = reshape(rw, rw.emit("top.Mul", reshape(rw, sides[0], (count, size, 1)), reshape(rw, sides[1], (count, 1, size))),
                   (count * size * size, 1))
    made = rw.emit("top.Div", total, rw.emit("top.Max", area, number(rw, 1.0)))
    return permute(rw, reshape(rw, made, (count, size, size, outputs)), (0, 3, 1, 2))

