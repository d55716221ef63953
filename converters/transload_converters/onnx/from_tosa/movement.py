"""Operators that move elements, look them up or reduce dimensions (2.9 to 2.12)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import BOOL, F32, I8, I16, I32, I64, FloatType, TensorType, Value
from transload.rewrite import CHANGED, Rewriter, RewriteTable
from transload_hub import tables

from ..lowering.common import cast, constant, emit, ints, static_shape
from ..lowering.movement import PAST_THE_FRONT
from ..lowering.reduce import product_along
from .common import broadcast, held, passes_nans, reshaped, sizes, turned, wide, without_nans
from .narrow import is_narrow, reduced_sum

if TYPE_CHECKING:
    from transload.ir import Op

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("tosa.const")
def const(op: Op, rw: Rewriter) -> Value:
    """A constant; its numbers are not copied."""
    return rw.constant(op.attributes["values"], held(op.results[0].element), dialect="onnx")


@TABLE("tosa.const_shape")
def const_shape(op: Op, rw: Rewriter) -> Any:
    """Sizes stay for those who read them here; nothing uses them when all else is converted, and DCE removes them then."""
    return CHANGED


@TABLE("tosa.identity")
def identity(op: Op, rw: Rewriter) -> Value:
    return op.operands[0]


@TABLE("tosa.reshape")
def reshape(op: Op, rw: Rewriter) -> Value:
    return reshaped(rw, op.operands[0], static_shape(op.results[0]))


@TABLE("tosa.transpose")
def transpose(op: Op, rw: Rewriter) -> Value:
    return turned(rw, op.operands[0], op.attributes["perms"])


@TABLE("tosa.concat")
def concat(op: Op, rw: Rewriter) -> Value:
    return emit(rw, "Concat", *op.operands, like=op.results[0], element=op.operands[0].element, axis=op.attributes["axis"])


@TABLE("tosa.pad")
def pad(op: Op, rw: Rewriter) -> Value:
    """Pad, which onnxruntime has not for i16."""
    x, padding, value = op.operands
    places = sizes(padding, "the padding")
    element = I32 if x.element == I16 else x.element
    made = emit(
        rw, "Pad", cast(rw, x, element), ints(rw, (*places[::2], *places[1::2])), reshaped(rw, cast(rw, value, element), ()),
        like=op.results[0], element=element)
    return cast(rw, made, x.element)


@TABLE("tosa.reverse")
def reverse(op: Op, rw: Rewriter) -> Value:
    axis = op.attributes["axis"]
    return emit(rw, "Slice", op.operands[0], ints(rw, (-1,)), ints(rw, (PAST_THE_FRONT,)), ints(rw, (axis,)), ints(rw, (-1,)))


@TABLE("tosa.slice")
def slice_(op: Op, rw: Rewriter) -> Value:
    x = op.operands[0]
    start, size = sizes(op.operands[1], "where a slice begins"), sizes(op.operands[2], "the size of a slice")
    axes = [axis for axis, whole in enumerate(static_shape(x)) if size[axis] != whole]
    if not axes:
        return x
    ends = ints(rw, [start[axis] + size[axis] for axis in axes])
    return emit(rw, "Slice", x, ints(rw, [start[axis] for axis in axes]), ends, ints(rw, axes), shape=size)


@TABLE("tosa.tile")
def tile(op: Op, rw: Rewriter) -> Value:
    x = op.operands[0]
    return emit(rw, "Tile", x, ints(rw, sizes(op.operands[1], "the multiples of a tile")), shape=static_shape(op.results[0]))


@TABLE("tosa.gather")
def gather(op: Op, rw: Rewriter) -> Value:
    """`output[n, w, :] = values[n, indices[n, w], :]`."""
    return _gathered(rw, *op.operands)


@TABLE("tosa.row_gather")
def row_gather(op: Op, rw: Rewriter) -> Value:
    """From each index on, a run of rows."""
    values, indices, _ = op.operands
    batches, starts = static_shape(indices)
    count = static_shape(op.results[0])[1] // starts if starts else 0
    first = reshaped(rw, cast(rw, indices, I64), (batches, starts, 1))
    rows = broadcast(rw, "Add", first, constant(rw, tables.arange(count), I64))
    return _gathered(rw, values, reshaped(rw, rows, (batches, starts * count)))


def _gathered(rw: Rewriter, values: Value, indices: Value) -> Value:
    """Rows of `values` N,K,C at `indices` N,W."""
    batches, _, width = static_shape(values)
    rows = static_shape(indices)[1]
    shape = (batches, rows, width)
    if width == 1:
        return emit(rw, "GatherElements", values, reshaped(rw, indices, shape), shape=shape, axis=1)
    if batches == 1:
        return emit(rw, "Gather", values, reshaped(rw, indices, (rows,)), shape=shape, axis=1)
    places = reshaped(rw, cast(rw, indices, I64), (batches, rows, 1))
    return emit(rw, "GatherND", values, places, shape=shape, batch_dims=1)


@TABLE("tosa.scatter")
def scatter(op: Op, rw: Rewriter) -> Value:
    """ScatterND at the batch and the row."""
    values, indices, given = op.operands
    batches, rows = static_shape(indices)
    batch = constant(rw, tables.repeat(tables.arange(batches), rows).reshape(batches, rows, 1), I64)
    places = reshaped(rw, cast(rw, indices, I64), (batches, rows, 1))
    both = emit(rw, "Concat", batch, places, shape=(batches, rows, 2), axis=2)
    return emit(rw, "ScatterND", values, both, given)


REDUCED = {
    "tosa.reduce_max": "ReduceMax", "tosa.reduce_min": "ReduceMin", "tosa.reduce_sum": "ReduceSum",
    "tosa.reduce_product": "ReduceProd", "tosa.reduce_all": "ReduceMin", "tosa.reduce_any": "ReduceMax"}


@TABLE(*REDUCED)
def reduce(op: Op, rw: Rewriter) -> Value:
    """Truth is 0 or 1 of i32."""
    x = op.operands[0]
    if passes_nans(op):
        return without_nans(rw, x, -np.inf if op.name == "tosa.reduce_max" else np.inf, lambda x: _reduced(rw, op, x))
    x = cast(rw, x, I32) if x.element == BOOL else x if x.element == I8 else wide(rw, x)
    if op.name == "tosa.reduce_sum" and is_narrow(rw) and x.element == I32:
        return reduced_sum(rw, x, op.attributes["axis"], static_shape(op.results[0]))
    if op.name == "tosa.reduce_product" and x.element == I32:
        return cast(rw, product_along(rw, x, op.attributes["axis"]), op.results[0].element)
    if op.name == "tosa.reduce_sum" and x.element == I32:
        x = cast(rw, x, I64)  # as in `lowering.reduce`
    made = _reduced(rw, op, x)
    if isinstance(x.element, FloatType) and op.name in ("tosa.reduce_max", "tosa.reduce_min"):
        made = _with_nans(rw, op, x, made)
    return cast(rw, made, op.results[0].element)


def _with_nans(rw: Rewriter, op: Op, x: Value, made: Value) -> Value:
    """An extreme, and NaN where one is among `x`, which onnxruntime keeps or loses by where it stands; a sum of absolute values
    keeps it, and has no other."""
    axes = ints(rw, (op.attributes["axis"],))
    total = emit(rw, "ReduceL1", x, axes, shape=static_shape(op.results[0]), keepdims=1)
    return emit(rw, "Where", emit(rw, "IsNaN", total, element=BOOL), total, made, like=made)


def _reduced(rw: Rewriter, op: Op, x: Value) -> Value:
    return emit(rw, REDUCED[op.name], x, ints(rw, (op.attributes["axis"],)), shape=static_shape(op.results[0]), keepdims=1)


@TABLE("tosa.argmax")
def argmax(op: Op, rw: Rewriter) -> Value:
    """ArgMax, the first of equal ones; of floats see `_argmax_of_floats`."""
    x = op.operands[0]
    places = _argmax_of_floats(op, rw, cast(rw, x, F32)) if isinstance(x.element, FloatType) else (
        _places(rw, op, wide(rw, x) if x.element == I16 else x))
    return cast(rw, places, op.results[0].element)


def _argmax_of_floats(op: Op, rw: Rewriter, x: Value) -> Value:
    """The first NaN where there is one, as it is greater than infinity.

    Where NaNs are passed over, the first number that is none where all others are negative infinity.
    """
    shape, missing = static_shape(op.results[0]), emit(rw, "IsNaN", x, element=BOOL)
    least, axes = constant(rw, -np.inf, F32), ints(rw, (op.attributes["axis"],))
    if passes_nans(op):
        marks = cast(rw, emit(rw, "Not", missing), F32)
        x = emit(rw, "Where", missing, least, x, like=x)
        special, number = x, least
    else:
        marks = cast(rw, missing, F32)
        special, number = marks, constant(rw, 1.0, F32)
    greatest = emit(rw, "ReduceMax", special, axes, shape=shape, keepdims=0)
    found = emit(rw, "Equal", greatest, number, element=BOOL)
    return broadcast(rw, "Where", found, _places(rw, op, marks), _places(rw, op, x), element=I64)


def _places(rw: Rewriter, op: Op, x: Value) -> Value:
    return rw.emit(
        "onnx.ArgMax", x, types=[TensorType(static_shape(op.results[0]), I64)], axis=op.attributes["axis"], keepdims=0)
