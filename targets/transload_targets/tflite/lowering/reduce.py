"""Reductions, and the places of extremes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, I8, I16, I32, I64, UI8, UI16, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables
from transload_hub.scales import quantize_float32

from .common import axes_of, constant, emit, int32, ints, is_narrow, need_rounding, quant, real, reshape, retyped, static_shape

if TYPE_CHECKING:
    from transload_hub.ops.reduce import Arg, Reduce

__all__ = ["TABLE"]

TABLE = RewriteTable()

_MODES = {
    "ReduceMean": "mean", "ReduceSum": "sum", "ReduceMax": "reduce_max", "ReduceMin": "reduce_min", "ReduceProd": "reduce_prod",
    "ReduceAll": "reduce_all", "ReduceAny": "reduce_any",
}

_PICKING = ("ReduceMax", "ReduceMin")
"""Those that give one of the numbers, whatever these stand for."""
_OF_NOTHING = {"ReduceSum": 0, "ReduceProd": 1}
_OF_NO_FLOATS = {"ReduceMax": -math.inf, "ReduceMin": math.inf}


@TABLE("top.Reduce")
def of_nothing(op: Reduce, rw: Rewriter) -> Value | None:
    """Sums and products of no integers, and extremes of no floats, as the constants that they are.

    LiteRT leaves in those of 8 and 16 bits what was there, and begins extremes of floats at the ends of what is finite.
    """
    number = (_OF_NO_FLOATS if op.output.is_float else _OF_NOTHING).get(op.mode)
    if 0 not in static_shape(op.input) or number is None:
        return None
    made = quant(op.output)
    stored = number if made is None else quantize_float32(number, made)
    element = op.output.element if made is None else made.storage
    return constant(rw, tables.full(static_shape(op.output), stored, dtype_of(element)), op.output.element)


@TABLE("top.Reduce")
def reduce(op: Reduce, rw: Rewriter) -> Value | None:
    """MEAN, SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, REDUCE_ALL, REDUCE_ANY; other sums by what they are sums of."""
    axes = axes_of(op.axes, op.input.rank)
    source, target = quant(op.input), quant(op.output)
    value = op.input
    if source is not None or target is not None:
        if source is None or target is None or op.mode not in ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"):
            return None
        if not source.per_tensor or source.storage not in (I8, UI8, I16) or source.storage != target.storage:
            return None
        if op.mode == "ReduceSum":
            need_rounding(op, rw, "exact", operator="SUM")
        else:
            need_rounding(op, rw, "double", operator="MEAN")
        if op.mode in ("ReduceMax", "ReduceMin"):
            value = retyped(rw, value, op.output.element)
    if not axes:
        if op.mode in _MODES:
            return retyped(rw, value, op.output.element)
        raise Unsupported(f"{op.mode} over no dimensions", "run the pass canonicalize before")
    if op.input.is_integer and op.mode in ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp"):
        raise Unsupported(f"LiteRT computes roots and logarithms of floats alone, and this is {op.input.element}")
    over = ints(rw, *axes)
    narrow = is_narrow(value) and op.mode not in _PICKING
    if narrow:
        value = int32(rw, value)

    def total(x: Value, name: str = "sum") -> Value:
        made = emit(rw, name, x, over, like=op.output, element=x.element if narrow else None, keep_dims=op.keepdims)
        return emit(rw, "cast", made, like=op.output) if narrow else made

    if op.mode in _MODES:
        return total(value, _MODES[op.mode])
    if op.mode == "ReduceL1":
        if value.element == I64:  # of which ABS has no kernel
            return total(emit(rw, "maximum", value, emit(rw, "neg", value, like=value), like=value))
        return total(emit(rw, "abs", value, like=value))
    if op.mode in ("ReduceL2", "ReduceSumSquare"):
        squares = emit(rw, "mul", value, value, like=value) if value.is_integer else emit(rw, "square", value, like=value)
        made = total(squares)
        return made if op.mode == "ReduceSumSquare" else emit(rw, "sqrt", made, like=made)
    if op.mode == "ReduceLogSum":
        return emit(rw, "log", total(value), like=op.output)
    return _log_sum_exp(op, rw, value, axes)


def _log_sum_exp(op: Reduce, rw: Rewriter, value: Value, axes: tuple[int, ...]) -> Value:
    """The logarithm of the sum of exponentials, of what is left of the greatest number.

    An infinity less itself would be no number. The last finite one takes its place: what is left is either nothing, or infinite
    still, and the sum with it ends where ADD does.
    """
    shape = tuple(1 if axis in axes else size for axis, size in enumerate(static_shape(value)))
    over = ints(rw, *axes)
    last = float(ml_dtypes.finfo(dtype_of(value.element)).max)
    most = emit(rw, "reduce_max", value, over, like=value, shape=shape, keep_dims=True)
    most = emit(rw, "minimum", emit(rw, "maximum", most, real(rw, -last, most), like=most), real(rw, last, most), like=most)
    powers = emit(rw, "exp", emit(rw, "sub", value, most, like=value), like=value)
    total = emit(rw, "sum", powers, over, like=value, shape=shape, keep_dims=True)
    made = emit(rw, "add", emit(rw, "log", total, like=total), most, like=total)
    return reshape(rw, made, static_shape(op.output))


@TABLE("top.Arg")
def arg(op: Arg, rw: Rewriter) -> Value:
    """ARG_MAX, ARG_MIN: the first of equal elements; the last one is the first from the end.

    LiteRT has them of no numbers of 16 bits, which are cast, quantized ones as they are stored: they have the same order; and of
    none of 64, of which the first that equals the greatest is looked for.
    """
    axis = axes_of((op.axis,), op.input.rank)[0]
    value, shape = op.input, static_shape(op.input)
    name = "arg_max" if op.mode == "ArgMax" else "arg_min"
    if (value.element if value.quant is None else value.quant.storage) in (I16, UI16):
        value = int32(rw, value)
    elif value.element == I64:
        value, name = _extremes(rw, value, axis, name.replace("arg", "reduce")), "arg_max"
    made_shape = (*shape[:axis], *shape[axis + 1 :])
    element = op.output.element if op.output.element in (I32, I64) else I32
    if op.select_last_index:
        value = emit(rw, "reverse_v2", value, ints(rw, axis), like=value)
    made = emit(rw, name, value, constant(rw, np.asarray(axis, np.int32)), like=op.output, shape=made_shape, element=element,
                output_type="INT64" if element == I64 else "INT32")
    if op.select_last_index:
        last = constant(rw, np.asarray(shape[axis] - 1, np.int64 if element == I64 else np.int32))
        made = emit(rw, "sub", last, made, like=made)
    if element != op.output.element:
        made = emit(rw, "cast", made, like=made, element=op.output.element)
    return reshape(rw, made, static_shape(op.output))


def _extremes(rw: Rewriter, value: Value, axis: int, name: str) -> Value:
    """Whether each element is the greatest, or least, along a dimension."""
    shape = static_shape(value)
    flat = (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))  # EQUAL broadcasts four dimensions
    value = reshape(rw, value, flat)
    most = emit(rw, name, value, ints(rw, 1), like=value, shape=(flat[0], 1, flat[2]), keep_dims=True)
    return reshape(rw, emit(rw, "equal", value, most, like=value, element=BOOL), shape)
