"""Non-maximum suppression, by `transload_hub.suppression`.

How many boxes are selected depends on data. Where the result is not padded to a number that is known, it has to be of constants.
"""

from __future__ import annotations

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, I32, Op, Value
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import cast, reshape, scalar_like, slice_along
from transload_hub.suppression import DROPPED, count_true, race, suppressed

from .table import TfTable, attr, constant_count, constant_float, shape_of

TABLE = TfTable()


@TABLE("NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3", sized_by=(1,))
@TABLE("NonMaxSuppressionV4", "NonMaxSuppressionV5")
def non_max_suppression(op: Op, rw: Rewriter) -> list[Value]:
    """NonMaxSuppression, V2 to V5: the numbers of the boxes selected, best first; V5 with their scores."""
    with_count = op.name.endswith(("V4", "V5"))
    is_padded = with_count and attr(op, "pad_to_max_output_size", False)
    boxes, scores = (cast(rw, value, F32) for value in op.operands[:2])
    element = op.operands[1].element
    most = constant_count(rw, op.operands[2], "the number of boxes wanted")
    given = [constant_float(rw, value, "a threshold") for value in op.operands[3:]]
    threshold = given[0] if given else float(attr(op, "iou_threshold", 0.5))
    least = given[1] if len(given) > 1 else -np.inf
    sigma = given[2] if len(given) > 2 else 0.0
    shape_of(boxes, 2, what="the boxes")
    # Where scores fade, TensorFlow drops no box for what it overlaps.
    places, kept, valid = suppressed(rw, boxes, scores, most, 2.0 if sigma > 0 else threshold, least, sigma)
    if not is_padded:
        found = rw.constant_of(valid)
        if found is None:
            raise Unsupported(
                "how many boxes are selected depends on data", "pad_to_max_output_size=True gives a number that is known")
        places, kept = (slice_along(rw, part, 0, 0, int(found)) for part in (places, kept))
    if op.name.endswith("V5"):
        return [places, cast(rw, kept, element), valid]
    return [places, valid] if with_count else [places]


@TABLE("CombinedNonMaxSuppression")
def combined(op: Op, rw: Rewriter) -> tuple[Value, ...]:
    """CombinedNonMaxSuppression: a race for each image and class, then the best of all classes together."""
    boxes, scores = op.operands[:2]
    per_class, total = (constant_count(rw, op.operands[i], "a number of boxes") for i in (2, 3))
    threshold, least = (constant_float(rw, op.operands[i], "a threshold") for i in (4, 5))
    batch, count, kinds, _ = shape_of(boxes, 4, what="the boxes")
    n_classes = shape_of(scores, 3, what="the scores")[2]
    if min(batch, count, n_classes, per_class, total) < 1:
        raise Unsupported(f"{per_class} boxes of a class, {total} in all, are wanted of {list(shape_of(boxes))}")
    if kinds not in (1, n_classes):
        raise Unsupported(f"has boxes {list(shape_of(boxes))} for {n_classes} classes", "give one for each class, or one")
    wanted = min(total, per_class * n_classes) if attr(op, "pad_per_class", False) else total
    steps, dropped = min(per_class, count), scalar_like(rw, scores, DROPPED)
    own = reshape(rw, rw.emit("top.Permute", boxes, order=(0, 2, 1, 3)), (batch * kinds, count, 4))
    row = reshape(rw, rw.emit("top.Permute", scores, order=(0, 2, 1)), (batch * n_classes, count))
    enough = rw.emit("top.Compare", row, scalar_like(rw, row, least), mode="Greater")
    places, held, alive = race(rw, _corners(rw, own), rw.emit("top.Where", enough, row, dropped), steps, threshold)
    # Of each image the best of all classes, whose places are counted from the first box of the batch.
    every = n_classes * steps
    taken = min(wanted, every)
    ranked = reshape(rw, rw.emit("top.Where", alive, held, dropped), (batch, every))
    best, where = rw.emit("top.TopK", ranked, axis=1, k=taken)
    starts = tables.repeat(tables.arange(batch * kinds, dtype=np.int32) * np.int32(count), n_classes // kinds)
    firsts = rw.emit("top.Add", places, rw.constant(starts[:, None]))
    behind = rw.emit("top.Add", where, rw.constant((tables.arange(batch, dtype=np.int32) * np.int32(every))[:, None]))
    chosen = rw.emit("top.Gather", reshape(rw, firsts, (batch * every,)), reshape(rw, behind, (batch * taken,)), axis=0)
    found = rw.emit("top.Gather", reshape(rw, own, (batch * kinds * count, 4)), chosen, axis=0)
    names = rw.emit("top.Gather", rw.constant(tables.repeat(tables.arange(n_classes, dtype=np.float32), steps)), where, axis=0)
    mask = rw.emit("top.Compare", best, scalar_like(rw, best, DROPPED / 2), mode="Greater")
    zero, more = scalar_like(rw, scores, 0), wanted - taken
    found = rw.emit("top.Where", reshape(rw, mask, (batch, taken, 1)), reshape(rw, found, (batch, taken, 4)), zero)
    kept, classes = (rw.emit("top.Where", mask, part, zero) for part in (best, names))
    if more:
        found = rw.emit("top.Pad", found, paddings=(0, 0, 0, 0, more, 0))
        kept, classes = (rw.emit("top.Pad", part, paddings=(0, 0, 0, more)) for part in (kept, classes))
    if attr(op, "clip_boxes", True):
        found = rw.emit("top.Clip", found, min=0.0, max=1.0)
    return found, kept, classes, count_true(rw, mask, (1,), I32)


def _corners(rw: Rewriter, boxes: Value) -> Value:
    """Boxes [..., 4] of any two opposite corners as those of the least and the greatest."""
    last = len(shape_of(boxes)) - 1
    one, other = (slice_along(rw, boxes, last, at, at + 2) for at in (0, 2))
    return rw.emit("top.Concat", rw.emit("top.Min", one, other), rw.emit("top.Max", one, other), axis=last)
