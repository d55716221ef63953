"""The pass `add-postprocess`: what a detector gives becomes boxes, as a part of the graph.

The outputs of the main function are replaced by one, `detections`, 1 x 1 x boxes x 7, best first: the image's number (0), the
class, the score, and four numbers of the box; rows for which there is no box are zeros. Boxes of `yolov3`, `yolov3-tiny` and
`yolov5` are centre (x, y), width and height in pixels of the network's input, those of `ssd` left, top, right and bottom as
shares of the image.

Sources: J. Redmon, A. Farhadi, "YOLOv3: An Incremental Improvement", 2018; ultralytics/yolov5, `models/yolo.py`; W. Liu et al.,
"SSD: Single Shot MultiBox Detector", 2016, and Caffe's layer DetectionOutput; thresholds and anchors are those of TPU-MLIR.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.digits import whole_number
from transload.errors import UsageError
from transload.ir import F32, I32, Module, TensorType, Value, output_names, set_results
from transload.ir.build import Builder
from transload_hub.suppression import DROPPED, race

__all__ = ["KINDS", "add_postprocess"]

_YOLOV3 = (10, 13, 16, 30, 33, 23), (30, 61, 62, 45, 59, 119), (116, 90, 156, 198, 373, 326)
ANCHORS: dict[str, tuple[tuple[float, ...], ...]] = {
    "yolov3": _YOLOV3, "yolov3-tiny": ((10, 14, 23, 27, 37, 58), (81, 82, 135, 169, 344, 319)), "yolov5": _YOLOV3}
"""Width and height of each anchor, in pixels; a row for each head, that of the finest grid first."""
KINDS = (*ANCHORS, "ssd")
SCORES = {"ssd": 0.05}
_LIMIT = 0.5
"""The least score, but for those in `SCORES`, and the greatest overlap of two boxes of a class."""


def add_postprocess(
    module: Module, type: str, size: str = "", anchors: str = "", boxes: int = 200, score: float = -1.0, overlap: float = _LIMIT,
) -> bool:
    """Have the main function give boxes in place of what the heads of a detector give; always changes something.

    `type` is one of `KINDS`. A YOLO takes all outputs as heads, `1 x anchors * (5 + classes) x rows x columns`, with the channels
    first or last, or `1 x anchors x rows x columns x (5 + classes)`; `yolov5` also its one output of boxes, `1 x boxes x (5 +
    classes)`. `ssd` takes encodings, scores after the softmax (class 0 is the background) and priors `1 x 2 x 4 * boxes`, in this
    order. `size` is that of the network's input, `416x416`, where it is not that of the first input of four dimensions; `anchors`
    are widths and heights, with commas between, the finest grid's first. At most so many `boxes` are given, of a `score` of at
    least that, of which no two of a class overlap by more than `overlap`. Raises `UsageError` where outputs are no such heads.
    """
    if type not in KINDS:
        raise UsageError(f"no postprocessing is called {type!r}", hint=f"one of {', '.join(KINDS)}")
    terminator = module.body_of_main.terminator
    outputs = [_floats(Builder(module.body_of_main, terminator, location=value.name), value) for value in terminator.operands]
    build = Builder(module.body_of_main, terminator, location="detections", fold=True)
    least = score if score >= 0 else SCORES.get(type, _LIMIT)
    if type == "ssd":
        made = _ssd(build, _named(module, outputs), boxes, least, overlap)
    else:
        rows = _yolo(build, type, _named(module, outputs), _size(module, size), _anchors(type, anchors))
        made = _best_of_yolo(build, rows, boxes, least, overlap)
    terminator.erase()
    set_results(module.main, [made], ["detections"])
    return True


def _floats(build: Builder, value: Value) -> Value:
    return value if value.element_or_none == F32 else build.emit("top.Cast", value, element=F32)


def _named(module: Module, outputs: Sequence[Value]) -> list[tuple[str, Value]]:
    """The outputs with their names. Raises `UsageError` where the shape of one is not known."""
    named = list(zip(output_names(module.main), outputs, strict=True))
    for name, value in named:
        if not isinstance(value.type, TensorType) or not value.type.is_static or value.type.static_shape[:1] != (1,):
            raise UsageError(f"output {name!r}, {value.type}, is no head of a detector for one image")
    return named


def _size(module: Module, text: str) -> tuple[int, int]:
    """Rows and columns of the network's input."""
    if text:
        sizes = [whole_number(part) for part in text.split("x")]
        if len(sizes) == 2 and sizes[0] is not None and sizes[1] is not None:
            return sizes[0], sizes[1]
        raise UsageError(f"size {text!r} does not read as ROWSxCOLUMNS, as 416x416")
    for type_ in module.inputs.values():
        if isinstance(type_, TensorType) and type_.is_static and len(type_.static_shape) == 4:
            shape = type_.static_shape
            return (shape[1], shape[2]) if shape[3] in (1, 3, 4) else (shape[2], shape[3])
    raise UsageError("no input is an image, whose size boxes need", hint="size=416x416")


def _anchors(type: str, text: str) -> list[np.ndarray[Any, Any]]:
    """Of each head, the anchors [A, 2]."""
    rows: Sequence[Any] = ANCHORS[type]
    if text:
        try:
            numbers = [float(part) for part in text.split(",")]
        except ValueError:
            numbers = []
        if not numbers or len(numbers) % (2 * len(rows)):
            raise UsageError(f"anchors {text!r} are no widths and heights for {len(rows)} heads", hint="10,13,16,30,...")
        rows = np.array(numbers).reshape(len(rows), -1).tolist()
    return [np.array(row, np.float32).reshape(-1, 2) for row in rows]


# --- YOLO


def _yolo(
    build: Builder, type: str, outputs: list[tuple[str, Value]], size: tuple[int, int], anchors: list[np.ndarray[Any, Any]],
) -> Value:
    """Centre, size, objectness and the scores of all classes, [boxes, 5 + classes], of all heads."""
    if type == "yolov5" and len(outputs) == 1 and outputs[0][1].rank == 3:
        shape = outputs[0][1].tensor_type.static_shape
        return build.emit("top.Reshape", outputs[0][1], shape=shape[1:])
    if len(outputs) != len(anchors):
        raise UsageError(
            f"{type} has {len(anchors)} heads, and the model {len(outputs)} outputs: {', '.join(name for name, _ in outputs)}",
            hint="`transload extract` takes out the part of a model up to its heads")
    heads = [_head(build, name, value, size, len(anchors[0])) for name, value in outputs]
    heads.sort(key=lambda head: -head[1])
    decode = _decoded_v5 if type == "yolov5" else _decoded_v3
    parts = [decode(build, rows, _grid(size, down, each)) for (rows, down), each in zip(heads, anchors, strict=True)]
    return build.emit("top.Concat", *parts, axis=0) if len(parts) > 1 else parts[0]


def _head(build: Builder, name: str, value: Value, size: tuple[int, int], anchors: int) -> tuple[Value, int]:
    """A head as [anchors * rows * columns, 5 + classes], and its rows. Raises `UsageError` where it is none."""
    shape = value.tensor_type.static_shape
    if len(shape) == 5 and shape[1] == anchors and _fits(size, shape[2:4]) and shape[4] > 5:
        return build.emit("top.Reshape", value, shape=(-1, shape[4])), shape[2]
    if len(shape) == 4:
        for rows, columns, channels, last in ((*shape[2:], shape[1], False), (*shape[1:3], shape[3], True)):
            numbers = channels // anchors
            if channels % anchors or numbers <= 5 or not _fits(size, (rows, columns)):
                continue
            apart = (1, rows, columns, anchors, numbers) if last else (1, anchors, numbers, rows, columns)
            order = (0, 3, 1, 2, 4) if last else (0, 1, 3, 4, 2)
            moved = build.emit("top.Permute", build.emit("top.Reshape", value, shape=apart), order=order)
            return build.emit("top.Reshape", moved, shape=(-1, numbers)), rows
    raise UsageError(
        f"output {name!r}, {value.type}, is no head of {anchors} anchors for an image of {size[0]}x{size[1]}",
        hint=f"1 x {anchors} * (5 + classes) x rows x columns, or that with the channels last")


def _fits(size: tuple[int, int], grid: Sequence[int]) -> bool:
    """Whether each cell of a grid is a square of whole pixels."""
    rows, columns = grid
    return size[0] % rows == 0 and size[1] % columns == 0 and size[0] // rows == size[1] // columns


class _Grid:
    """Of each box of a head, in the order anchor, row, column: its cell [N, 2] and its anchor [N, 2]; pixels of a cell."""

    def __init__(self, cells: np.ndarray[Any, Any], anchors: np.ndarray[Any, Any], stride: int) -> None:
        self.cells, self.anchors, self.stride = cells, anchors, stride


def _grid(size: tuple[int, int], rows: int, anchors: np.ndarray[Any, Any]) -> _Grid:
    stride = size[0] // rows
    columns = size[1] // stride
    y, x = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    cells = np.stack([x.ravel(), y.ravel()], axis=1).astype(np.float32)
    return _Grid(np.tile(cells, (len(anchors), 1)), np.repeat(anchors, rows * columns, axis=0), stride)


def _columns(build: Builder, rows: Value) -> Any:
    """Centre, size, objectness, classes."""
    count = rows.tensor_type.static_shape[1]
    return build.emit("top.Split", rows, axis=1, split_size=(2, 2, 1, count - 5))


def _decoded_v3(build: Builder, rows: Value, grid: _Grid) -> Value:
    """Centre: sigmoid and cell, in pixels; size: anchor times the exponential; scores: sigmoids."""
    centre, size, objectness, classes = _columns(build, rows)
    at = build.emit("top.Add", build.emit("top.Sigmoid", centre), build.constant(grid.cells))
    return build.emit(
        "top.Concat", build.emit("top.MulConst", at, const_val=float(grid.stride)),
        build.emit("top.Mul", build.emit("top.Exp", size), build.constant(grid.anchors)),
        build.emit("top.Sigmoid", objectness), build.emit("top.Sigmoid", classes), axis=1)


def _decoded_v5(build: Builder, rows: Value, grid: _Grid) -> Value:
    """Centre: twice the sigmoid less a half, and cell; size: the square of twice the sigmoid, times the anchor."""
    centre, size, objectness, classes = _columns(build, build.emit("top.Sigmoid", rows))
    stride = np.float32(grid.stride)
    at = build.emit(
        "top.Add", build.emit("top.MulConst", centre, const_val=2.0 * grid.stride),
        build.constant((grid.cells - np.float32(0.5)) * stride))
    wide = build.emit("top.Mul", build.emit("top.Square", size), build.constant(grid.anchors * np.float32(4)))
    return build.emit("top.Concat", at, wide, objectness, classes, axis=1)


def _best_of_yolo(build: Builder, rows: Value, boxes: int, score: float, overlap: float) -> Value:
    """The race of all boxes, each of its likeliest class, with the product of that class's score and the objectness."""
    count = rows.tensor_type.static_shape[0]
    centre, size, objectness, classes = _columns(build, rows)
    half = build.emit("top.MulConst", size, const_val=0.5)
    corners = build.emit("top.Concat", build.emit("top.Sub", centre, half), build.emit("top.Add", centre, half), axis=1)
    likeliest = build.emit("top.Mul", build.emit("top.Reduce", classes, axes=(1,), mode="ReduceMax"), objectness)
    kinds = build.emit("top.Cast", build.emit("top.Arg", classes, axis=1, mode="ArgMax", element=I32), element=F32)
    row, kind = (build.emit("top.Reshape", column, shape=(1, count)) for column in (likeliest, kinds))
    places, _, alive = race(build, corners, _in_race(build, row, score), min(boxes, count), overlap, kinds=kind)
    box = build.emit("top.Concat", kinds, likeliest, centre, size, axis=1)
    chosen = build.emit("top.Gather", box, build.emit("top.Reshape", places, shape=(-1,)))
    return _given(build, build.emit("top.Reshape", alive, shape=(-1, 1)), chosen, boxes)


def _in_race(build: Builder, scores: Value, least: float) -> Value:
    """Scores, those that are too small out of the race."""
    enough = build.emit("top.Compare", scores, build.constant(np.float32(least)), mode="GreaterOrEqual")
    return build.emit("top.Where", enough, scores, build.constant(np.float32(DROPPED)))


def _given(build: Builder, alive: Value, chosen: Value, boxes: int) -> Value:
    """Class, score and box [n, 6] behind the number of the image; zeros where none is `alive` [n, 1], and up to all `boxes`."""
    count = chosen.tensor_type.static_shape[0]
    kept = build.emit("top.Where", alive, chosen, build.constant(np.float32(0)))
    padded = build.emit("top.Pad", kept, paddings=(0, 1, boxes - count, 0))
    return build.emit("top.Reshape", padded, shape=(1, 1, boxes, 7))


# --- SSD


def _ssd(build: Builder, outputs: list[tuple[str, Value]], boxes: int, score: float, overlap: float) -> Value:
    """A race for each class but the background, then the best of all classes together."""
    if len(outputs) != 3:
        raise UsageError(
            f"ssd takes encodings, scores and priors, and the model gives {', '.join(name for name, _ in outputs) or 'nothing'}")
    (_, encodings), (_, scores), (name, priors) = outputs
    sizes = [int(np.prod(value.tensor_type.static_shape)) for _, value in outputs]
    count = sizes[0] // 4
    classes = sizes[1] // max(count, 1)
    if sizes[0] % 4 or sizes[2] != 8 * count or sizes[1] % count or classes < 2:
        raise UsageError(
            f"ssd: encodings {encodings.type}, scores {scores.type} and priors {priors.type} of {name!r} do not fit",
            hint="1 x 4 * boxes, 1 x boxes * classes and 1 x 2 x 4 * boxes, in this order")
    corners = _decoded_ssd(
        build, build.emit("top.Reshape", encodings, shape=(count, 4)), build.emit("top.Reshape", priors, shape=(2, count, 4)))
    by_class = build.emit("top.Permute", build.emit("top.Reshape", scores, shape=(count, classes)), order=(1, 0))
    running = build.emit("top.Slice", by_class, offset=(1, 0), ends=(classes, count), steps=(1, 1))
    steps = min(boxes, count)
    places, held, alive = race(build, corners, _in_race(build, running, score), steps, overlap)
    total = (classes - 1) * steps
    ranked = build.emit("top.Where", alive, held, build.constant(np.float32(DROPPED)))
    taken = min(boxes, total)
    best, where = build.emit("top.TopK", build.emit("top.Reshape", ranked, shape=(total,)), axis=0, k=taken)
    kinds = build.constant(np.repeat(np.arange(1, classes, dtype=np.float32), steps))
    box = build.emit("top.Gather", corners, build.emit("top.Gather", build.emit("top.Reshape", places, shape=(total,)), where))
    column = build.emit("top.Reshape", best, shape=(taken, 1))
    chosen = build.emit(
        "top.Concat", build.emit("top.Reshape", build.emit("top.Gather", kinds, where), shape=(taken, 1)), column, box, axis=1)
    above = build.emit("top.Compare", column, build.constant(np.float32(DROPPED / 2)), mode="Greater")
    return _given(build, above, chosen, boxes)


def _decoded_ssd(build: Builder, encodings: Value, priors: Value) -> Value:
    """Corners [N, 4] of boxes that are given by how they differ from priors [2, N, 4]: corners, and the variances of them."""
    count = encodings.tensor_type.static_shape[0]
    prior, variances = (
        build.emit("top.Reshape", part, shape=(count, 4)) for part in build.emit("top.Split", priors, axis=0, split_size=(1, 1)))
    low, high = build.emit("top.Split", prior, axis=1, split_size=(2, 2))
    wide = build.emit("top.Sub", high, low)
    middle = build.emit("top.MulConst", build.emit("top.Add", low, high), const_val=0.5)
    offset, growth = build.emit("top.Split", build.emit("top.Mul", encodings, variances), axis=1, split_size=(2, 2))
    centre = build.emit("top.Add", build.emit("top.Mul", offset, wide), middle)
    half = build.emit("top.MulConst", build.emit("top.Mul", build.emit("top.Exp", growth), wide), const_val=0.5)
    return build.emit("top.Concat", build.emit("top.Sub", centre, half), build.emit("top.Add", centre, half), axis=1)
