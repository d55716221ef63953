"""Detectors as whole layers, of YOLO, RetinaFace and Faster R-CNN, and YOLO v2's Region.

Overlap is intersection over union of the boxes' areas; what is kept comes the best first. Sources: TPU-MLIR's layers of these
names; J. Redmon and A. Farhadi, "YOLO9000" and "YOLOv3"; J. Deng et al., "RetinaFace".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, Value
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import need_place

from .common import CaffeTable, cast, joined, permute, reduced, reshape, shape_of, slab
from .detection import above, centred, columns, kept_rows, picked, raced
from .regions import anchors_of, decoded

__all__ = ["TABLE"]

TABLE = CaffeTable()

YOLO_ANCHORS = {
    "tiny": (10, 14, 23, 27, 37, 58, 81, 82, 135, 169, 344, 319),
    "v4": (142, 110, 192, 243, 459, 401, 36, 75, 76, 55, 72, 146, 12, 16, 19, 36, 40, 28),
    "v3": (10, 13, 16, 30, 33, 23, 30, 61, 62, 45, 59, 119, 116, 90, 156, 198, 373, 326),
}
"""Widths and heights of the published networks, three boxes for each of the layer's bottoms."""
FACE_STRIDES = (8, 16, 32)
FACE_SCALES = {8: (2, 1), 16: (8, 4), 32: (32, 16)}


@TABLE("Region")
def region(op: Any, rw: Rewriter) -> Value:
    """Sigmoid of a box's place and objectness, softmax of its classes; sizes stay as they are."""
    x = op.operands[0]
    n, channels, height, width = shape_of(x, 4)
    sizes = (2, op.coords - 2, 1, op.classes)
    if op.coords < 3 or op.classes < 1 or channels != op.num * (op.coords + 1 + op.classes):
        raise Unsupported(f"{channels} channels are not {op.num} boxes of {op.coords} numbers and {op.classes} classes")
    parts = rw.emit("top.Split", reshape(rw, x, (n, op.num, sum(sizes), height * width)), axis=2, split_size=sizes)
    classes = rw.emit("top.Softmax", parts[3], axis=2) if op.softmax else parts[3]
    made = rw.emit(
        "top.Concat", rw.emit("top.Sigmoid", parts[0]), parts[1], rw.emit("top.Sigmoid", parts[2]), classes, axis=2)
    return reshape(rw, made, (n, channels, height, width))


@TABLE("YoloDetection")
def yolo_detection(op: Any, rw: Rewriter) -> Value:
    """Boxes of all bottoms, by sigmoid and anchors; of each the class with the greatest softmax."""
    anchors = _anchors(op)
    parts = [_yolo_boxes(op, rw, x, anchors[6 * place : 6 * place + 6]) for place, x in enumerate(op.operands)]
    boxes, scores, kinds = (joined(rw, group, axis=1) for group in zip(*parts, strict=True))
    batch, count, _ = shape_of(boxes)
    places, held = raced(
        rw, centred(rw, *columns(rw, boxes)), reshape(rw, scores, (batch, count)), min(op.keep_topk, count), op.nms_threshold,
        reshape(rw, kinds, (batch, count)))
    return _best(op, rw, held, [picked(rw, boxes, places), picked(rw, kinds, places)])


def _best(op: Any, rw: Rewriter, held: Value, before: list[Value], behind: Sequence[Value] = ()) -> Value:
    """[B, 1, keep_topk, m]: the best by their scores [B, N], which stand between other columns [B, N, ...]."""
    rows = rw.emit("top.Concat", *before, reshape(rw, held, (*shape_of(held), 1)), *behind, axis=2)
    batch, _, width = shape_of(rows)
    return reshape(rw, kept_rows(rw, rows, held, op.keep_topk), (batch, 1, op.keep_topk, width))


def _anchors(op: Any) -> tuple[float, ...]:
    """Six numbers for each bottom."""
    said = op.attribute("anchors")
    try:
        found: tuple[float, ...] = tuple(float(word) for word in said.split(",") if word.strip()) if said else ()
    except ValueError:
        raise Unsupported(f"its anchors are no numbers: {said[:80]!r}") from None
    found = found or YOLO_ANCHORS["tiny" if op.tiny else "v4" if op.yolo_v4 else "v3"]
    if len(found) < 6 * len(op.operands):
        raise Unsupported(f"has {len(found)} anchors for {len(op.operands)} bottoms, and each needs six")
    return found


def _yolo_boxes(op: Any, rw: Rewriter, x: Value, anchors: tuple[float, ...]) -> tuple[Value, Value, Value]:
    """Boxes [B, M, 4] by centre and size, relative to the image, their scores [B, M, 1] and classes [B, M, 1]."""
    batch, channels, height, width = shape_of(x, 4)
    classes = op.class_num
    if channels != 3 * (5 + classes):
        raise Unsupported(f"{channels} channels are not three boxes of {classes} classes")
    count = height * width * 3
    by_box = permute(rw, reshape(rw, x, (batch, 3, 5 + classes, height * width)), (0, 3, 1, 2))
    cells = reshape(rw, by_box, (batch, count, 5 + classes))
    moves, grown, sure, kinds = rw.emit("top.Split", cells, axis=2, split_size=(2, 2, 1, classes))
    need_place(count, 2)
    row, column = np.divmod(tables.arange(height * width), width)
    corner = tables.repeat(np.stack([column, row], axis=1), 3, axis=0).astype(np.float32)
    centres = rw.emit("top.Div", rw.emit("top.Add", rw.emit("top.Sigmoid", moves), rw.constant(corner[None])),
                      rw.constant(np.array([[[width, height]]], np.float32)))
    base = tables.tile(np.array(anchors, np.float32).reshape(3, 2), (height * width, 1))
    sizes = rw.emit("top.Div", rw.emit("top.Mul", rw.emit("top.Exp", grown), rw.constant(base[None])),
                    rw.constant(np.array([[[op.net_input_w, op.net_input_h]]], np.float32)))
    sure = rw.emit("top.Sigmoid", sure)
    shares = rw.emit("top.Softmax", kinds, axis=2)
    best = reduced(rw, shares, (2,), "ReduceMax")
    kind = cast(rw, rw.emit("top.Arg", shares, axis=2, keepdims=True, mode="ArgMax"), F32)
    scores = rw.emit("top.Mul", sure, best)
    scores = above(rw, scores, op.obj_threshold, "GreaterOrEqual")
    return rw.emit("top.Concat", centres, sizes, axis=2), scores, kind


@TABLE("FrcnDetection")
def frcn_detection(op: Any, rw: Rewriter) -> Value:
    """Each class's boxes, decoded from the regions; class 0 is the background."""
    deltas, scores, rois = op.operands
    classes = op.class_num or 0
    batch = shape_of(rois)[0] if len(shape_of(rois)) == 4 else 1
    count = math.prod(shape_of(rois)) // (5 * batch)
    if classes < 2 or math.prod(shape_of(deltas)) != batch * count * classes * 4 \
            or math.prod(shape_of(scores)) != batch * count * classes:
        raise Unsupported(
            f"deltas {list(shape_of(deltas))} and scores {list(shape_of(scores))} are not of {count} regions, {classes} classes")
    move, score, roi = (
        reshape(rw, value, (batch, count, width))
        for value, width in ((deltas, 4 * classes), (scores, classes), (rois, 5)))
    corners = slab(rw, roi, 2, 1, 5)
    labels, steps = classes - 1, min(op.keep_topk, count)
    moved = [decoded(rw, corners, slab(rw, move, 2, 4 * label, 4 * label + 4)) for label in range(1, classes)]
    boxes = reshape(
        rw, joined(rw, [reshape(rw, own, (batch, 1, count, 4)) for own in moved], axis=1), (batch * labels, count, 4))
    by_class = reshape(rw, permute(rw, slab(rw, score, 2, 1, classes), (0, 2, 1)), (batch * labels, count))
    places, held = raced(rw, boxes, above(rw, by_class, op.obj_threshold), steps, op.nms_threshold)
    chosen = reshape(rw, picked(rw, boxes, places), (batch, labels * steps, 4))
    names = tables.tile(tables.repeat(tables.arange(1, classes, dtype=np.float32), steps)[None, :, None], (batch, 1, 1))
    return _best(op, rw, reshape(rw, held, (batch, labels * steps)), [chosen, rw.constant(names)])


@TABLE("RetinaFaceDetection")
def face_detection(op: Any, rw: Rewriter) -> Value:
    """Nine bottoms: probabilities, boxes and points of strides 8, 16 and 32."""
    if len(op.operands) != 9:
        raise Unsupported(f"has {len(op.operands)} bottoms, and needs nine")
    parts = [_faces(rw, op.operands[3 * level : 3 * level + 3], stride) for level, stride in enumerate(FACE_STRIDES)]
    boxes, points, scores = (joined(rw, group, axis=1) for group in zip(*parts, strict=True))
    batch, count, _ = shape_of(boxes)
    running = above(rw, reshape(rw, scores, (batch, count)), op.confidence_threshold, "GreaterOrEqual")
    places, held = raced(rw, boxes, running, min(op.keep_topk, count), op.nms_threshold)
    return _best(op, rw, held, [picked(rw, boxes, places)], [picked(rw, points, places)])


def _faces(rw: Rewriter, bottoms: Sequence[Value], stride: int) -> tuple[Value, Value, Value]:
    """Boxes [B, M, 4], points [B, M, 10] and scores [B, M, 1] of one stride."""
    anchors = anchors_of(16, (1.0,), FACE_SCALES[stride])
    n = len(anchors)
    batch, _, height, width = shape_of(bottoms[0], 4)
    for value, channels in zip(bottoms, (2 * n, 4 * n, 10 * n), strict=True):
        if shape_of(value) != (batch, channels, height, width):
            raise Unsupported(f"a bottom of stride {stride} has the shape {list(shape_of(value))}, and needs {channels} channels")
    need_place(height, width, n, 4)
    x, y = tables.meshgrid(tables.arange(width) * stride, tables.arange(height) * stride)
    moved = (np.stack([x, y, x, y], axis=-1).reshape(1, -1, 4) + anchors[:, None]).reshape(-1, 4).astype(np.float32)
    count = len(moved)

    def rows(value: Value, columns_: int) -> Value:
        split = reshape(rw, value, (batch, n, columns_, height * width))
        return reshape(rw, permute(rw, split, (0, 1, 3, 2)), (batch, count, columns_))

    sizes = (moved[None, :, 2:] - moved[None, :, :2] + 1).astype(np.float32)
    middles = (moved[None, :, :2] + 0.5 * (sizes - 1)).astype(np.float32)
    moves, grown = rw.emit("top.Split", rows(bottoms[1], 4), axis=2, split_size=(2, 2))
    centres = rw.emit("top.Add", rw.emit("top.Mul", moves, rw.constant(sizes)), rw.constant(middles))
    extents = rw.emit("top.AddConst", rw.emit("top.Mul", rw.emit("top.Exp", grown), rw.constant(sizes)), const_val=-1.0)
    boxes = centred(rw, *columns(rw, centres), *columns(rw, extents))
    points = rw.emit(
        "top.Add", rw.emit("top.Mul", rows(bottoms[2], 10), rw.constant(tables.tile(sizes, (1, 1, 5)))),
        rw.constant(tables.tile(middles, (1, 1, 5))))
    return boxes, points, rows(slab(rw, bottoms[0], 1, n, 2 * n), 1)
