"""Constants, absent operands, and ops that make tensors from little."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from transload.errors import Unsupported
from transload.ir import NONE, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables

from .common import constant, emit, ints, real, retyped, static_shape

if TYPE_CHECKING:
    from transload_hub.ops.constant import Absent, EyeLike, Fill, Input, Range, Shape, Trilu, Weight

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("top.Weight")
def weight(op: Weight, rw: Rewriter) -> Value:
    """A constant, its numbers where they are."""
    return constant(rw, op.value, op.output.element)


@TABLE("top.None")
def absent(op: Absent, rw: Rewriter) -> Value:
    """Tensor number -1."""
    return rw.create("tfl.no_value", (), (NONE,), {"value": None}).results[0]


@TABLE("top.Input")
def input_(op: Input, rw: Rewriter) -> Value:
    """The value itself."""
    return op.input


@TABLE("top.Fill")
def fill(op: Fill, rw: Rewriter) -> Value:
    """FILL."""
    value = retyped(rw, op.value, op.output.element)
    if value.rank:
        value = emit(rw, "reshape", value, constant(rw, np.zeros(0, np.int32)), like=value, shape=())
    return emit(rw, "fill", ints(rw, *op.shape), value, like=op.output)


@TABLE("top.Shape")
def shape(op: Shape, rw: Rewriter) -> Value:
    """The sizes, which are known."""
    return constant(rw, np.array(static_shape(op.input), dtype_of(op.output.element)), op.output.element)


@TABLE("top.EyeLike")
def eye(op: EyeLike, rw: Rewriter) -> Value:
    """The diagonal, which is known."""
    element = op.output.element
    if op.output.quant is not None:
        raise Unsupported("a diagonal of quantized ones", "leave it float")
    rows, columns = static_shape(op.output)
    return constant(rw, tables.eye(rows, columns, op.k, dtype_of(element)), element)


@TABLE("top.Trilu")
def triangle(op: Trilu, rw: Rewriter) -> Value:
    """SELECT_V2 by a constant triangle."""
    value, shape = retyped(rw, op.input, op.output.element), static_shape(op.input)
    below = tables.tri(shape[-2], shape[-1], op.k - 1 if op.upper else op.k, bool)
    kept = constant(rw, below != op.upper)
    return emit(rw, "select_v2", kept, value, real(rw, 0.0, value), like=op.output)


@TABLE("top.Range")
def range_(op: Range, rw: Rewriter) -> Value:
    """RANGE."""
    return emit(rw, "range", op.start, op.limit, op.delta, like=op.output)
