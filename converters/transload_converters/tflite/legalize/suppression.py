"""Non-maximum suppression: as often as boxes are wanted, take the best one and drop those that overlap it too much.

The number of boxes is known, so the loop is written out; each step is arithmetic on whole tensors, which any
target can run.

Sources: `tensorflow/lite/kernels/detection_postprocess.cc`, `internal/reference/non_max_suppression.h`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, I32, Op, Value
from transload.rewrite import Rewriter, RewriteTable

from ..postprocess import lowered_or_custom
from .common import axis_of, limited, scalar, static_shape

__all__ = ["DROPPED", "TABLE", "count_true", "race"]

TABLE = RewriteTable()

DROPPED = -1e30
"""Score of a box that is out of the race."""
_MOST_STEPS = 512


def race(
    rw: Rewriter, boxes: Value, running: Value, steps: int, threshold: float, *, inclusive: bool = False,
    floor: float = DROPPED / 2, decay: float = 0.0,
) -> tuple[Value, Value, Value]:
    """Race the boxes [N, 4] (two corners) in each row of scores [R, N], those out of it at `DROPPED`.

    A step takes each row's best box and drops those that overlap it by more than `threshold` (or as much, with
    `inclusive`); with `decay`, the others' scores are multiplied by `exp(-decay * overlap^2)`. Returns, each
    [R, steps], which box won, its score, and whether that was above `floor`.
    """
    n_rows, count = static_shape(running, "the scores", 2)
    limited(steps, "the number of boxes wanted", _MOST_STEPS)
    dropped = scalar(rw, DROPPED)
    edges = [rw.emit("top.Reshape", edge, shape=(1, count)) for edge in rw.emit("top.Split", boxes, axis=1, split_size=(1,) * 4)]
    areas = _area(rw, edges)
    numbers = rw.constant(np.arange(count, dtype=np.int32)[None])
    places, scores, alive = [], [], []
    for _ in range(steps):
        place = rw.emit("top.Arg", running, axis=1, keepdims=True, mode="ArgMax", element=I32)
        best = rw.emit("top.Reduce", running, axes=(1,), mode="ReduceMax")
        places.append(place)
        scores.append(best)
        alive.append(rw.emit("top.Compare", best, scalar(rw, floor), mode="Greater"))
        box = rw.emit("top.Gather", boxes, rw.emit("top.Reshape", place, shape=(n_rows,)))
        overlaps = _overlaps(rw, edges, areas, rw.emit("top.Split", box, axis=1, split_size=(1,) * 4))
        close = rw.emit("top.Compare", overlaps, scalar(rw, threshold), mode="GreaterOrEqual" if inclusive else "Greater")
        if decay:
            weights = rw.emit("top.Exp", rw.emit("top.Mul", rw.emit("top.Square", overlaps), scalar(rw, -decay)))
            running = rw.emit("top.Mul", running, weights)
        itself = rw.emit("top.Compare", numbers, place, mode="Equal")
        running = rw.emit("top.Where", rw.emit("top.LogicalOr", close, itself), dropped, running)
    if steps == 1:
        return places[0], scores[0], alive[0]
    return tuple(rw.emit("top.Concat", *parts, axis=1) for parts in (places, scores, alive))


def _area(rw: Rewriter, edges: Any) -> Value:
    top, left, bottom, right = edges
    return rw.emit("top.Mul", rw.emit("top.Sub", bottom, top), rw.emit("top.Sub", right, left))


def _overlaps(rw: Rewriter, edges: Any, areas: Value, chosen: Any) -> Value:
    """Intersection over union of the chosen box of each row [R, 1] with every box [1, N]; 0 where one has no area."""
    zero = scalar(rw, 0.0)
    top, left = (rw.emit("top.Max", edge, own) for edge, own in zip(edges[:2], chosen[:2], strict=True))
    bottom, right = (rw.emit("top.Min", edge, own) for edge, own in zip(edges[2:], chosen[2:], strict=True))
    height = rw.emit("top.Max", rw.emit("top.Sub", bottom, top), zero)
    width = rw.emit("top.Max", rw.emit("top.Sub", right, left), zero)
    shared = rw.emit("top.Mul", height, width)
    own_area = _area(rw, chosen)
    union = rw.emit("top.Sub", rw.emit("top.Add", areas, own_area), shared)
    positive = rw.emit(
        "top.LogicalAnd", rw.emit("top.Compare", areas, zero, mode="Greater"),
        rw.emit("top.Compare", own_area, zero, mode="Greater"))
    # Where an area is 0 the union may be, too: divide by 1 there.
    safe = rw.emit("top.Where", positive, union, scalar(rw, 1.0))
    return rw.emit("top.Where", positive, rw.emit("top.Div", shared, safe), zero)


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
