"""Reductions, running sums, and the places of extremes."""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, I32, I64, Op, QuantType, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.build import splat

from .common import axes_of, axis_of, emit_like, static_shape

TABLE = RewriteTable()

_MODES = {
    "tfl.mean": "ReduceMean", "tfl.sum": "ReduceSum", "tfl.reduce_max": "ReduceMax", "tfl.reduce_min": "ReduceMin",
    "tfl.reduce_prod": "ReduceProd", "tfl.reduce_all": "ReduceAll", "tfl.reduce_any": "ReduceAny",
}
_OF_BOOLS = {"tfl.sum": "ReduceAny", "tfl.reduce_prod": "ReduceAll"}
_GREATEST = float(np.finfo(np.float32).max)
_FIRST_FLOATS = {"tfl.reduce_max": -_GREATEST, "tfl.reduce_min": _GREATEST}
"""The floats that kernels compare the first with."""


@TABLE(*_MODES)
def reduce(op: Op, rw: Rewriter) -> Value:
    """MEAN, SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, REDUCE_ALL, REDUCE_ANY: over constant axes.

    A sum of truth values is true where any is, a product where all are, as in C++. A scalar has no dimensions to reduce, whatever
    axes are named. The greatest of no floats is the least finite one, and the other way round: kernels begin there.
    """
    value, axes = op.operands
    made = op.results[0].element
    if isinstance(value.element, QuantType) != isinstance(made, QuantType):
        raise Unsupported(f"it makes {made} of {value.element}, and both have to be quantized, or none")
    if isinstance(made, QuantType) and made.storage != value.stored_element:
        raise Unsupported(f"it makes {made} of {value.element}, which is stored otherwise")
    mode = _OF_BOOLS.get(op.name, _MODES[op.name]) if value.element == BOOL else _MODES[op.name]
    over = axes_of(rw, axes, value.rank) if value.rank else ()
    if op.name == "tfl.mean" and isinstance(made, QuantType) and 0 in static_shape(value, "the input"):
        raise Unsupported("the mean of no numbers is none, and a quantized type has no number for that")
    if not over:
        return emit_like(rw, op, "top.Cast", value) if value.element != made else value
    reduced = emit_like(rw, op, "top.Reduce", value, axes=over, keepdims=op.attribute("keep_dims"), mode=mode)
    if op.name in _FIRST_FLOATS and value.is_float and value.is_static and 0 in (value.static_shape[axis] for axis in over):
        return splat(rw, _FIRST_FLOATS[op.name], reduced.static_shape, made)
    return reduced


@TABLE("tfl.arg_max", "tfl.arg_min")
def arg(op: Op, rw: Rewriter) -> Value:
    """ARG_MAX, ARG_MIN: the first of equal elements."""
    mode = "ArgMax" if op.name == "tfl.arg_max" else "ArgMin"
    return emit_like(rw, op, "top.Arg", op.operands[0], axis=axis_of(rw, op.operands[1]), keepdims=False, mode=mode)


@TABLE("tfl.cumsum")
def cumsum(op: Op, rw: Rewriter) -> Value:
    """CUMSUM along a constant axis."""
    return emit_like(
        rw, op, "top.CumSum", op.operands[0], axis=axis_of(rw, op.operands[1]), exclusive=op.attribute("exclusive"),
        reverse=op.attribute("reverse"))


@TABLE("tfl.topk_v2")
def topk_v2(op: Op, rw: Rewriter) -> Any:
    """TOPK_V2: the k greatest of the last dimension, in order."""
    values, indices = rw.emit("top.TopK", op.operands[0], axis=-1, k=axis_of(rw, op.operands[1], "k"))
    wanted = op.results[1].element
    if wanted != indices.element and wanted in (I32, I64):
        indices = rw.emit("top.Cast", indices, element=wanted)
    return values, indices
