"""What is found in data, so that nobody knows beforehand how much: NonMaxSuppression and NonZero.

Of constants it is computed as the model is converted. Else, where the user wants that (`found=padded`), as many rows are given
as there can be, those that are found first, -1 in the others: every target can compute it.
"""

from __future__ import annotations

import math

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, F32, I32, I64, Op, Value
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import counted
from transload_hub.suppression import DROPPED, race

from ..choices import chosen
from .movement import slice_along
from .table import OnnxTable, attr, cast, constant_int, need, operand, permute, reshape, shape_of, splat

TABLE = OnnxTable()

_PADDED = ("`--option found=padded` of convert gives as many rows as there can be, -1 in those that are not found, and "
           "verifies what it writes, which `run`, `compare` and `eval` take")


def _padded(op: Op, rw: Rewriter, what: str) -> None:
    """Refuse an op whose result's length depends on data, where the user did not choose what is to be given instead."""
    if chosen(rw, "found") != "padded":
        raise Unsupported(f"how many {what} there are depends on values computed at run time", _PADDED)
    rw.note(f"{op.origin or op.name} gives as many rows as there can be, -1 in those that are not found")


def _first_found(rw: Rewriter, rows: Value, there: Value) -> Value:
    """The rows [M, K] of which `there` [M] is true, in order, then rows of -1."""
    count = shape_of(rows)[0]
    found = cast(rw, there, I32)
    place = rw.emit("top.CumSum", found, axis=0, exclusive=True)
    total = rw.emit("top.Reduce", found, axes=(0,), mode="ReduceSum")
    lost = cast(rw, rw.emit("top.LogicalNot", there), I32)
    behind = rw.emit("top.Add", total, rw.emit("top.CumSum", lost, axis=0, exclusive=True))
    places = rw.emit("top.Where", there, place, behind)  # every place once
    kept = rw.emit("top.Where", reshape(rw, there, (count, 1)), rows, rw.constant(np.int32(-1)))
    empty = splat(rw, -1, shape_of(rows), I32)
    return cast(rw, rw.emit("top.ScatterND", empty, reshape(rw, places, (count, 1)), kept), I64)


@TABLE("onnx.NonZero")
def non_zero(op: Op, rw: Rewriter) -> Value:
    """NonZero: the subscripts of all elements that are not 0, a column each."""
    value = need(op, 0)
    known = rw.constant_of(value)
    if known is not None:
        array = np.asarray(known)
        array = array.astype(np.float32) if array.dtype.kind == "V" else array
        return rw.constant(np.array(np.nonzero(np.atleast_1d(array)), np.int64))
    shape = shape_of(value) or (1,)
    _padded(op, rw, "elements that are not 0")
    flat = reshape(rw, value, (math.prod(shape),))
    there = cast(rw, flat, BOOL)
    rows = rw.constant(np.stack(np.unravel_index(counted(math.prod(shape)), shape), axis=1).astype(np.int32))
    return permute(rw, _first_found(rw, rows, there), (1, 0))


@TABLE("onnx.NonMaxSuppression")
def non_max_suppression(op: Op, rw: Rewriter) -> Value:
    """NonMaxSuppression: of each image and class the best boxes, those left out that overlap a better one too much."""
    boxes, scores = need(op, 0), need(op, 1)
    batch, count, edges = shape_of(boxes, 3)
    classes = shape_of(scores, 3)[1]
    if edges != 4 or shape_of(scores) != (batch, classes, count):
        raise Unsupported(f"has boxes of shape {shape_of(boxes)} and scores of shape {shape_of(scores)}")
    wanted = 0 if operand(op, 2) is None else constant_int(rw, operand(op, 2), "the number of boxes wanted")
    threshold = 0.0 if operand(op, 3) is None else float(rw.need_number(operand(op, 3), "the threshold of overlap"))
    floor = None if operand(op, 4) is None else float(rw.need_number(operand(op, 4), "the threshold of scores"))
    corners = _corners(op, rw, cast(rw, boxes, F32))
    steps = min(wanted, count)
    if steps < 1 or not batch * classes:
        return rw.constant(np.zeros((0, 3), np.int64))
    known = rw.constant_of(corners), rw.constant_of(scores)
    if known[0] is not None and known[1] is not None:
        return rw.constant(suppressed(known[0], known[1], steps, threshold, floor))
    _padded(op, rw, "boxes are selected")
    running = reshape(rw, cast(rw, scores, F32), (batch * classes, count))
    places, _, alive = race(rw, corners, running, steps, threshold, floor=DROPPED / 2 if floor is None else floor)
    owners = rw.constant(tables.repeat(tables.indices((batch, classes), np.int32).reshape(2, -1).T, steps, axis=0))
    total = batch * classes * steps
    rows = rw.emit("top.Concat", owners, reshape(rw, cast(rw, places, I32), (total, 1)), axis=1)
    return _first_found(rw, rows, reshape(rw, alive, (total,)))


def _corners(op: Op, rw: Rewriter, boxes: Value) -> Value:
    """Boxes [B, N, 4] as their least corner, then their greatest."""
    parts = [slice_along(rw, boxes, 2, i, i + 1) for i in range(4)]
    if attr(op, "center_point_box", 0):  # x, y of the centre, width, height
        half = [rw.emit("top.MulConst", size, const_val=0.5) for size in (parts[3], parts[2])]
        middles = parts[1], parts[0]
        edges = [rw.emit(name, *pair) for name in ("top.Sub", "top.Add") for pair in zip(middles, half, strict=True)]
    else:  # two opposite corners, either first
        edges = [rw.emit(name, parts[i], parts[i + 2]) for name in ("top.Min", "top.Max") for i in (0, 1)]
    return rw.emit("top.Concat", *edges, axis=2)


def suppressed(boxes: np.ndarray, scores: np.ndarray, wanted: int, threshold: float, floor: float | None) -> np.ndarray:
    """What NonMaxSuppression selects of constant boxes [B, N, 4] and scores [B, C, N]: rows (image, class, box)."""
    rows = []
    for image, (own, ranked) in enumerate(zip(boxes, scores, strict=True)):
        for kind, row in enumerate(ranked):
            left = [int(i) for i in np.argsort(-row, kind="stable") if floor is None or row[i] > floor]
            chosen_boxes: list[int] = []
            while left and len(chosen_boxes) < wanted:
                best = left.pop(0)
                chosen_boxes.append(best)
                left = [i for i in left if _overlap(own[best], own[i]) <= threshold]
            rows += [(image, kind, box) for box in chosen_boxes]
    return np.array(rows, np.int64).reshape(-1, 3)


def _overlap(a: np.ndarray, b: np.ndarray) -> float:
    """Intersection over union of two boxes; 0 where one has no area."""
    shared = np.prod(np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0))
    areas = np.prod(a[2:] - a[:2]), np.prod(b[2:] - b[:2])
    return float(shared / (sum(areas) - shared)) if min(areas) > 0 else 0.0
