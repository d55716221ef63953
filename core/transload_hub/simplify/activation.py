"""ReLUs and limits that a framework sets apart from the op they follow, as part of it. Floats only."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from transload.ir import Value
from transload.rewrite import Rewriter, RewriteTable

from ..algebra.affine import is_ranked_float, used_once

if TYPE_CHECKING:
    from ..ops.activation import Clip, Relu

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("top.Relu")
def relu_into_op(op: Relu, rw: Rewriter) -> Value | None:
    """A ReLU is part of the op before it, where that can end with one and nobody wants the value without."""
    maker = op.input.op
    if maker is None or maker.parent is not op.parent or not used_once(op.input) or not is_ranked_float(op.input):
        return None
    if maker.name == "top.Relu":
        maker.attributes["relu_limit"] = _lower(maker.relu_limit, op.relu_limit)
    elif maker.declaration is not None and "do_relu" in maker.declaration.attributes:
        before = maker.relu_limit if maker.do_relu else -1.0
        maker.attributes["do_relu"] = True
        maker.attributes["relu_limit"] = _lower(before, op.relu_limit)
    else:
        return None
    if maker.attributes["relu_limit"] < 0:
        del maker.attributes["relu_limit"]
    if op.location is not None:
        maker.location = op.location  # it now computes the tensor of that name
    return op.input


def _lower(a: float, b: float) -> float:
    """The lower of two limits, of which a negative one is none."""
    return min(a, b) if a >= 0 and b >= 0 else max(a, b)


@TABLE("top.Clip")
def clip_is_relu(op: Clip, rw: Rewriter) -> Value | None:
    """Clipping at 0 from below is a ReLU."""
    if not is_ranked_float(op.input) or op.min != 0 or op.max < 0 or math.isnan(op.max):
        return None
    return rw.emit("top.Relu", op.input, relu_limit=None if math.isinf(op.max) else float(op.max))
