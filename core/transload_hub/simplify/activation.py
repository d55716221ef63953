"""ReLUs and limits that a framework sets apart from the op they follow, as part of it; those that cut no quantized number go."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from transload.ir import QuantType, Value
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


# --- of quantized numbers

SURE = 0.499
"""How far, in steps, a limit may lie inside the ends of a type: the number of an end is rounded to that end, however ties go."""


@TABLE("top.Relu", "top.Clip")
def limits_beyond_the_type(op: Clip | Relu, rw: Rewriter) -> Value | None:
    """Limits where a quantized type ends cut nothing, as its numbers saturate there: without both the op goes, a Clip without one
    has no limit there."""
    quant = op.input.quant
    if quant is None or not quant.per_tensor or quant != op.output.quant or quant.scale == 0.0:
        return None
    low, high = _limits(op)
    idle_low, idle_high = _idle(quant, low, high)
    if idle_low and idle_high:
        maker = op.input.op
        if maker is not None and len(maker.results) == 1 and used_once(op.input) and op.location is not None:
            maker.location = op.location  # the tensor of that name
        return op.input
    kept = (-math.inf if idle_low else low, math.inf if idle_high else high)
    return rw.emit("top.Clip", op.input, min=kept[0], max=kept[1]) if op.name == "top.Clip" and kept != (low, high) else None


def _limits(op: Clip | Relu) -> tuple[float, float]:
    """Between what numbers an op keeps its operand."""
    if op.name == "top.Clip":
        return float(op.attribute("min")), float(op.attribute("max"))
    limit = op.attribute("relu_limit")
    return 0.0, float(limit) if limit >= 0 else math.inf


def _idle(quant: QuantType, low: float, high: float) -> tuple[bool, bool]:
    """Of two limits in real numbers, which leave all numbers of a type as they are."""
    return low / quant.scale + quant.zero_point <= quant.storage_min + SURE, \
        high / quant.scale + quant.zero_point >= quant.storage_max - SURE
