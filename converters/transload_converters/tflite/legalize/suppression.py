"""Non-maximum suppression of TFLite's operators, by `transload_hub.suppression`.

Source: `tensorflow/lite/kernels/internal/reference/non_max_suppression.h`.
"""

from __future__ import annotations

from transload.errors import Unsupported
from transload.ir import Op, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.suppression import suppressed

from ..postprocess import lowered_or_custom
from .common import axis_of, limited, static_shape

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("tfl.non_max_suppression_v4", "tfl.non_max_suppression_v5")
def non_max_suppression(op: Op, rw: Rewriter) -> tuple[Value, ...]:
    """NON_MAX_SUPPRESSION_V4, _V5: lowered, or one custom op."""
    return lowered_or_custom(op, rw, op.name.removeprefix("tfl.").upper(), {}, _suppressed)


def _suppressed(op: Op, rw: Rewriter) -> tuple[Value, ...]:
    """NON_MAX_SUPPRESSION_V4, _V5: boxes by any two opposite corners; places for which no box is left hold zeros.

    More boxes may be wanted than there are.
    """
    (boxes, scores), what = op.operands[:2], "the number of boxes wanted"
    wanted = limited(axis_of(rw, op.operands[2], what), what)
    iou, least, *soft = (float(rw.need_number(value, "a threshold")) for value in op.operands[3:])
    count = static_shape(boxes, "the boxes", 2)[0]
    if (there := static_shape(scores, "the scores", 1)[0]) != count:
        raise Unsupported(f"there are {there} scores of {count} boxes")
    if iou > 1.0:
        raise Unsupported(
            f"boxes are to overlap by more than {iou:g} of their union: LiteRT chooses the best one again and again",
            hint="give a threshold of 1 at most")
    indices, kept, number = suppressed(rw, boxes, scores, wanted, iou, least, soft[0] if soft else 0.0, inclusive=True)
    return (indices, number) if op.name.endswith("v4") else (indices, kept, number)
