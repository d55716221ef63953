"""The custom operator TFLite_Detection_PostProcess: boxes decoded, and the best kept of those that overlap.

Places for which no box is left hold zeros.

Source: `tensorflow/lite/kernels/detection_postprocess.cc`.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, Op, Value
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.suppression import DROPPED, count_true, race

from ..operators import bytes_of
from ..postprocess import lowered_or_custom
from .common import scalar, static_shape

__all__ = ["detection_postprocess", "rows_of_one"]


@dataclasses.dataclass(frozen=True)
class _Options:
    """The operator's options; names are those of its FlexBuffers map."""

    max_detections: int
    max_classes_per_detection: int
    num_classes: int
    nms_score_threshold: float
    nms_iou_threshold: float
    y_scale: float
    x_scale: float
    h_scale: float
    w_scale: float
    detections_per_class: int = 100
    use_regular_nms: bool = False

    @property
    def rows(self) -> int:
        """Rows of the results: one for each class of a box; of races by class those beyond `max_detections` are empty."""
        return self.max_detections * self.max_classes_per_detection


def _options(op: Op) -> _Options:
    from flatbuffers import flexbuffers

    data = bytes_of(op.attribute("custom_option"))
    kinds = {"int": int, "float": float, "bool": bool}
    try:
        root = flexbuffers.GetRoot(bytearray(data))
        given = dict(zip((str(key.AsKey) for key in root.AsMap.Keys), root.AsMap.Values, strict=True))
        found = {field.name: given[field.name] for field in dataclasses.fields(_Options) if field.name in given}
        other = [name for name, value in found.items() if not (value.IsNumeric or value.IsBool)]
        numbers = {name: value.Value for name, value in found.items() if name not in other}  # never all: what is shared unfolds
    except Exception as error:  # FlexBuffers' reader is not made for damaged bytes: anything may come out of it
        raise _unreadable(error) from None
    if other:
        raise Unsupported(f"its options say of {', '.join(other)} what is no number")
    try:
        return _Options(**{
            field.name: kinds[str(field.type)](numbers[field.name])
            for field in dataclasses.fields(_Options) if field.name in numbers})
    except (TypeError, ValueError, OverflowError) as error:  # one is missing, or is no number that there is
        raise _unreadable(error) from None


def rows_of_one(op: Op) -> int:
    """How many rows of its results each of the detections has that the operator counts."""
    options = _options(op)
    return 1 if options.use_regular_nms else options.max_classes_per_detection


def _unreadable(error: Exception) -> Unsupported:
    return Unsupported(f"its options cannot be read: {type(error).__name__}: {error}")


def detection_postprocess(op: Op, rw: Rewriter) -> tuple[Value, ...]:
    """TFLite_Detection_PostProcess: lowered, or one custom op."""
    options = {"custom_option": bytes_of(op.attribute("custom_option")).hex()}
    return lowered_or_custom(op, rw, op.attribute("custom_code"), options, _detections)


def _detections(op: Op, rw: Rewriter) -> tuple[Value, ...]:
    """Boxes [1, M, 4], classes [1, M], scores [1, M] and their number [1], M the most rows (`_Options.rows`)."""
    options = _options(op)
    encodings, predictions, anchors = (
        value if value.is_float else rw.emit("top.Cast", value, element=F32) for value in op.operands[:3])
    static_shape(anchors, "the anchors", 2)
    batch, count, columns = static_shape(encodings, "the boxes", 3)
    n_classes = static_shape(predictions, "the scores", 3)[-1]
    background = n_classes - options.num_classes
    if batch != 1 or columns < 4 or background not in (0, 1) or options.num_classes < 1:
        raise Unsupported(
            f"a batch of {batch}, boxes of {columns} numbers, or {n_classes} scores for {options.num_classes} classes")
    if not 1 <= options.max_detections <= count:
        raise Unsupported(f"{options.max_detections} detections are wanted from {count} boxes")
    if not 1 <= options.max_classes_per_detection <= options.num_classes:
        raise Unsupported(f"{options.max_classes_per_detection} classes a box are wanted of {options.num_classes}")
    boxes = _decode(rw, rw.emit("top.Reshape", encodings, shape=(count, columns)), anchors, columns, options)
    scores = rw.emit("top.Reshape", predictions, shape=(count, n_classes))
    if background:
        scores = rw.emit("top.Slice", scores, offset=(0, 1), ends=(count, n_classes), steps=(1, 1))
    return _regular(rw, boxes, scores, options) if options.use_regular_nms else _fast(rw, boxes, scores, options)


def _decode(rw: Rewriter, encodings: Value, anchors: Value, columns: int, options: _Options) -> Value:
    """Corners [count, 4] (top, left, bottom, right) of boxes given by centre and size relative to anchors."""
    sizes = (1,) * 4 + ((columns - 4,) if columns > 4 else ())
    y, x, h, w = rw.emit("top.Split", encodings, axis=1, split_size=sizes)[:4]
    anchor_y, anchor_x, anchor_h, anchor_w = rw.emit("top.Split", anchors, axis=1, split_size=(1,) * 4)

    def centre(offset: Value, scale: float, size: Value, middle: Value) -> Value:
        moved = rw.emit("top.Mul", rw.emit("top.Div", offset, scalar(rw, scale)), size)
        return rw.emit("top.Add", moved, middle)

    def half(offset: Value, scale: float, size: Value) -> Value:
        grown = rw.emit("top.Mul", rw.emit("top.Exp", rw.emit("top.Div", offset, scalar(rw, scale))), size)
        return rw.emit("top.Mul", grown, scalar(rw, 0.5))

    centre_y, centre_x = centre(y, options.y_scale, anchor_h, anchor_y), centre(x, options.x_scale, anchor_w, anchor_x)
    half_h, half_w = half(h, options.h_scale, anchor_h), half(w, options.w_scale, anchor_w)
    return rw.emit(
        "top.Concat", rw.emit("top.Sub", centre_y, half_h), rw.emit("top.Sub", centre_x, half_w),
        rw.emit("top.Add", centre_y, half_h), rw.emit("top.Add", centre_x, half_w), axis=1)


def _fast(rw: Rewriter, boxes: Value, scores: Value, options: _Options) -> tuple[Value, ...]:
    """One race of all boxes, each with its best class; the classes of a chosen box share its place."""
    per_box = options.max_classes_per_detection
    best, classes = rw.emit("top.TopK", scores, axis=-1, k=per_box)
    count = static_shape(boxes, "the boxes")[0]
    first = rw.emit("top.Slice", best, offset=(0, 0), ends=(count, 1), steps=(1, 1))
    running = _running(rw, rw.emit("top.Permute", first, order=(1, 0)), options)
    places, _, alive = race(rw, boxes, running, options.max_detections, options.nms_iou_threshold)
    places = rw.emit("top.Reshape", places, shape=(-1,))
    mask = rw.emit("top.Reshape", alive, shape=(-1, 1))
    zero = scalar(rw, 0.0)
    chosen = rw.emit("top.Where", mask, rw.emit("top.Gather", boxes, places), zero)
    if per_box > 1:  # the box is repeated for each of its classes
        chosen = rw.emit("top.Tile", rw.emit("top.Unsqueeze", chosen, axes=(1,)), tile=(1, per_box, 1))
    kinds = rw.emit("top.Cast", rw.emit("top.Gather", classes, places), element=F32)
    total = options.rows
    return (
        rw.emit("top.Reshape", chosen, shape=(1, total, 4)),
        rw.emit("top.Reshape", rw.emit("top.Where", mask, kinds, zero), shape=(1, total)),
        rw.emit("top.Reshape", rw.emit("top.Where", mask, rw.emit("top.Gather", best, places), zero), shape=(1, total)),
        count_true(rw, mask, (0,)))


def _regular(rw: Rewriter, boxes: Value, scores: Value, options: _Options) -> tuple[Value, ...]:
    """A race for each class, then the best of all classes together."""
    steps = min(options.detections_per_class, options.max_detections)
    by_class = rw.emit("top.Permute", scores, order=(1, 0))
    places, held, alive = race(rw, boxes, _running(rw, by_class, options), steps, options.nms_iou_threshold)
    ranked = rw.emit("top.Where", alive, held, scalar(rw, DROPPED))
    total = options.num_classes * steps
    best, where = rw.emit(
        "top.TopK", rw.emit("top.Reshape", ranked, shape=(total,)), axis=0, k=min(options.max_detections, total))
    mask = rw.emit("top.Compare", best, scalar(rw, DROPPED / 2), mode="Greater")
    zero = scalar(rw, 0.0)
    chosen = rw.emit("top.Gather", boxes, rw.emit("top.Gather", rw.emit("top.Reshape", places, shape=(total,)), where))
    names = rw.constant(tables.repeat(tables.arange(options.num_classes, dtype=np.float32), steps))
    taken = min(options.max_detections, total)
    return (
        _filled(rw, rw.emit("top.Where", rw.emit("top.Unsqueeze", mask, axes=(1,)), chosen, zero), taken, options, (4,)),
        _filled(rw, rw.emit("top.Where", mask, rw.emit("top.Gather", names, where), zero), taken, options, ()),
        _filled(rw, rw.emit("top.Where", mask, best, zero), taken, options, ()),
        count_true(rw, rw.emit("top.Unsqueeze", mask, axes=(1,)), (0,)))


def _filled(rw: Rewriter, value: Value, taken: int, options: _Options, rest: tuple[int, ...]) -> Value:
    """With zeros behind, up to as many rows as there are, and the batch dimension in front."""
    missing = options.rows - taken
    if missing:
        value = rw.emit("top.Pad", value, paddings=(0,) * (1 + len(rest)) + (missing,) + (0,) * len(rest))
    return rw.emit("top.Reshape", value, shape=(1, options.rows, *rest))


def _running(rw: Rewriter, scores: Value, options: _Options) -> Value:
    """The scores with those below the threshold out of the race."""
    enough = rw.emit("top.Compare", scores, scalar(rw, options.nms_score_threshold), mode="GreaterOrEqual")
    return rw.emit("top.Where", enough, scores, scalar(rw, DROPPED))
