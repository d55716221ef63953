"""torchvision's operators: what follows the boxes of a detector."""

from __future__ import annotations

import numpy as np

from transload.errors import Unsupported
from transload.ir import I32, I64, Value
from transload.rewrite import Rewriter
from transload_hub.suppression import race

from .movement import slice_along
from .table import AtenTable, Call, cast, number_like, permute, reshape, shape_of

TABLE = AtenTable()


@TABLE("torchvision.nms.default")
def nms(call: Call, rw: Rewriter) -> Value:
    """The boxes that are kept, the best first; as there must be so many as there are boxes, the best one again behind them.

    Who writes at these places, or takes the first of them, gets what PyTorch gives.
    """
    boxes = shape_of(call.dets)[0]
    scores = reshape(rw, call.scores, (1, boxes))
    places, _, alive = race(rw, call.dets, scores, boxes, float(call.iou_threshold))
    best = slice_along(rw, places, 1, 0, 1)
    kept = rw.emit("top.Where", alive, places, best)
    rw.note("non-maximum suppression gives as many places as there are boxes: behind those that are kept, the best one again")
    return reshape(rw, cast(rw, kept, I64), (boxes,))


@TABLE("torchvision.roi_align.default")
def roi_align(call: Call, rw: Rewriter) -> Value:
    """Means of samples between pixels, in each cell of each region: gathers of whole pixels, weighted."""
    _, channels, height, width = shape_of(call.input)
    count = shape_of(call.rois)[0]
    rows, columns, samples = call.pooled_height, call.pooled_width, call.sampling_ratio
    if samples < 1:
        raise Unsupported("takes as many samples as a region is large (sampling_ratio 0), which is known only at run time",
                          "build the model with a sampling_ratio of 2")
    shift = -0.5 if call.aligned else 0.0
    corners = [rw.emit("top.AddConst", rw.emit("top.MulConst", slice_along(rw, call.rois, 1, i, i + 1),
                                               const_val=float(call.spatial_scale)), const_val=shift) for i in range(1, 5)]
    x1, y1, x2, y2 = corners
    places = []
    for low, high, cells, size in ((y1, y2, rows, height), (x1, x2, columns, width)):
        extent = rw.emit("top.Sub", high, low)
        if not call.aligned:
            extent = rw.emit("top.Max", extent, number_like(rw, 1.0, extent.element))
        offsets = (np.arange(cells * samples) + 0.5) / (samples * cells)
        inside = rw.emit("top.Mul", extent, rw.constant(offsets.astype(np.float32)[None]))
        places.append(_taps(rw, rw.emit("top.Add", inside, low), size))  # [regions, cells * samples]
    pixels = permute(rw, reshape(rw, call.input, (shape_of(call.input)[0], channels, height * width)), (0, 2, 1))
    flat = reshape(rw, pixels, (shape_of(call.input)[0] * height * width, channels))
    image = rw.emit("top.MulConst", slice_along(rw, call.rois, 1, 0, 1), const_val=float(height * width))
    terms = [_term(rw, flat, image, down, across, width, count) for down in places[0] for across in places[1]]
    total = rw.emit("top.Add", *terms)  # [regions, rows * samples, columns * samples, channels]
    apart = reshape(rw, total, (count, rows, samples, columns, samples, channels))
    mean = rw.emit("top.Reduce", apart, axes=(2, 4), keepdims=False, mode="ReduceMean")
    return permute(rw, mean, (0, 3, 1, 2))


def _taps(rw: Rewriter, place: Value, size: int) -> list[tuple[Value, Value]]:
    """The two pixels around places, and their weights; nothing from a place a whole pixel outside."""
    zero = number_like(rw, 0.0, place.element)
    there = rw.emit("top.LogicalAnd", rw.emit("top.Compare", place, number_like(rw, -1.0, place.element), mode="GreaterOrEqual"),
                    rw.emit("top.Compare", place, number_like(rw, float(size), place.element), mode="LessOrEqual"))
    moved = rw.emit("top.Clip", place, min=0.0, max=size - 1.0)
    low = rw.emit("top.Floor", moved)
    high = rw.emit("top.Clip", rw.emit("top.AddConst", low, const_val=1.0), min=0.0, max=size - 1.0)
    part = rw.emit("top.Sub", moved, low)
    rest = rw.emit("top.Sub", number_like(rw, 1.0, place.element), part)
    return [(low, rw.emit("top.Where", there, rest, zero)), (high, rw.emit("top.Where", there, part, zero))]


def _term(
    rw: Rewriter, flat: Value, image: Value, down: tuple[Value, Value], across: tuple[Value, Value], width: int, count: int,
) -> Value:
    """One of the four pixels around each sample, times its weight."""
    (row, row_weight), (column, column_weight) = down, across
    n, m = shape_of(row)[1], shape_of(column)[1]
    line = rw.emit("top.Add", rw.emit("top.MulConst", row, const_val=float(width)), image)
    number = rw.emit("top.Add", reshape(rw, line, (count, n, 1)), reshape(rw, column, (count, 1, m)))
    weight = rw.emit("top.Mul", reshape(rw, row_weight, (count, n, 1, 1)), reshape(rw, column_weight, (count, 1, m, 1)))
    taken = rw.emit("top.Gather", flat, cast(rw, number, I32), axis=0)
    return rw.emit("top.Mul", taken, weight)


TABLE.refuse_all(
    "gathers pixels at places that a network computes, and is not converted", "use an ordinary convolution",
    "torchvision.deform_conv2d.default")
TABLE.refuse_all(
    "pools regions by their greatest pixel, or by their place, and is not converted", "use roi_align",
    "torchvision.roi_pool.default", "torchvision.ps_roi_align.default", "torchvision.ps_roi_pool.default")


