"""Non-maximum suppression of TFLite's operators, by `transload_hub.suppression`.

Source: `tensorflow/lite/kernels/internal/reference/non_max_suppression.h`.
"""

from __future__ import annotations

from typing import Any

from transload.errors import Unsupported
from transload.ir import F32, I32, Op, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.suppression import DROPPED, race

from ..postprocess import lowered_or_custom
from .common import axis_of, scalar, static_shape

__all__ = ["TABLE", "count_true"]

TABLE = RewriteTable()


def count_true(rw: Rewriter, mask: Value, axes: tuple[int, ...], element: Any = F32) -> Value:
    """How many are true along `axes`, which go."""
    ones = rw.emit("top.Cast", mask, element=element)
    return rw.emit("top.Reduce", ones, axes=axes, keepdims=False, mode="ReduceSum")


@TABLE("tfl.non_max_suppression_v4", "tfl.non_max_suppression_v5")
def non_max_suppression(op: Op, rw: Rewriter) -> tuple[Value, ...]:
    """NON_MAX_SUPPRESSION_V4, _V5: lowered, or one custom op."""
    return lowered_or_custom(op, rw, op.name.removeprefix("tfl.").upper(), {}, _suppressed)


def _suppressed(op: Op, rw: Rewriter) -> tuple[Value, ...]:
    """NON_MAX_SUPPRESSION_V4, _V5: boxes by any two opposite corners; places for which no box is left hold zeros."""
    boxes, scores = op.operands[:2]
    steps = axis_of(rw, op.operands[2], "the number of boxes wanted")
    iou, least, *soft = (float(rw.need_constant(value, "a threshold").reshape(-1)[0]) for value in op.operands[3:])
    count = static_shape(boxes, "the boxes", 2)[0]
    if not 1 <= steps <= count or static_shape(scores, "the scores", 1)[0] != count:
        raise Unsupported(f"{steps} boxes are wanted of {count}")
    sigma = soft[0] if soft else 0.0
    corners = [rw.emit("top.Slice", boxes, offset=(0, at), ends=(count, at + 2), steps=(1, 1)) for at in (0, 2)]
    low, high = rw.emit("top.Min", *corners), rw.emit("top.Max", *corners)
    row = rw.emit("top.Reshape", scores, shape=(1, count))
    enough = rw.emit("top.Compare", row, scalar(rw, least), mode="Greater")
    places, held, alive = race(
        rw, rw.emit("top.Concat", low, high, axis=1), rw.emit("top.Where", enough, row, scalar(rw, DROPPED)), steps, iou,
        inclusive=True, floor=max(least, DROPPED / 2), decay=0.5 / sigma if sigma > 0 else 0.0)
    mask = rw.emit("top.Reshape", alive, shape=(steps,))
    zeros = scalar(rw, 0, I32), scalar(rw, 0.0)
    indices, kept = (
        rw.emit("top.Where", mask, rw.emit("top.Reshape", part, shape=(steps,)), zero)
        for part, zero in zip((places, held), zeros, strict=True))
    number = count_true(rw, mask, (0,), I32)
    return (indices, number) if op.name.endswith("v4") else (indices, kept, number)
