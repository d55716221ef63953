"""Constants, shapes, and ops that make tensors from little."""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, I32, Op, QuantType, Value, dtype_of
from transload.rewrite import CHANGED, Rewriter, RewriteTable
from transload_hub import tables
from transload_hub.build import compared_not

from .common import axis_of, constant_ints, emit_like, limited, static_shape
from .storage import moves_stored

TABLE = RewriteTable()
_MOST = (1 << 31) - 1
"""The greatest size."""


@TABLE("tfl.pseudo_const", "tfl.pseudo_qconst")
def constant(op: Op, rw: Rewriter) -> Any:
    """A constant; the state of a variable is its first one, zeros, for every run."""
    data, result = op.attributes["value"], op.results[0]
    if data.type.shape != result.tensor_type.shape or data.type.element != result.stored_element:
        return rw.constant(data, element=result.element, location=op.location)
    op.name, op.attributes = "top.Weight", {"value": data}
    return CHANGED


@TABLE("tfl.no_value")
def no_value(op: Op, rw: Rewriter) -> Value:
    """An absent operand."""
    return rw.none("top")


@TABLE("tfl.densify")
def densify(op: Op, rw: Rewriter) -> Value:
    """DENSIFY: sparse constants are made dense when they are read."""
    rw.need_constant(op.operands[0], "a sparse tensor")
    return op.operands[0]


@TABLE("tfl.shape")
def shape(op: Op, rw: Rewriter) -> Value:
    """SHAPE."""
    return emit_like(rw, op, "top.Shape", op.operands[0])


@TABLE("tfl.rank")
def rank(op: Op, rw: Rewriter) -> Value:
    """RANK."""
    return rw.constant(np.asarray(op.operands[0].rank, np.int32), element=I32)


@TABLE("tfl.fill")
def fill(op: Op, rw: Rewriter) -> Value:
    """FILL."""
    return emit_like(rw, op, "top.Fill", op.operands[1], shape=constant_ints(rw, op.operands[0], "the shape to fill"))


@TABLE("tfl.zeros_like")
def zeros_like(op: Op, rw: Rewriter) -> Value:
    """ZEROS_LIKE: zeros as real numbers."""
    element = op.results[0].element
    stored = element.zero_points[0] if isinstance(element, QuantType) else 0
    zero = rw.constant(np.asarray(stored, dtype_of(element)), element=element)
    return rw.emit("top.Fill", zero, shape=static_shape(op.operands[0], "the input"))


@TABLE("tfl.range")
def range_(op: Op, rw: Rewriter) -> Value:
    """RANGE."""
    return emit_like(rw, op, "top.Range", *op.operands)


@TABLE("tfl.broadcast_args")
def broadcast_args(op: Op, rw: Rewriter) -> Value:
    """BROADCAST_ARGS: the shape that two constant shapes broadcast to."""
    first, second = (constant_ints(rw, operand, "the shapes to broadcast") for operand in op.operands)
    try:
        joined = np.broadcast_shapes(first, second)
    except ValueError:
        raise Unsupported(f"the shapes {list(first)} and {list(second)} do not broadcast") from None
    if max(joined, default=0) > _MOST:
        raise Unsupported(f"a size of {max(joined)}, where LiteRT counts sizes in 32 bits")
    return rw.constant(np.asarray(joined, dtype_of(op.results[0].element)))


@TABLE("tfl.one_hot")
@moves_stored
def one_hot(op: Op, rw: Rewriter) -> Value:
    """ONE_HOT as a comparison with 0 .. depth-1: an index outside, negative ones too, is nowhere on."""
    indices, depth, on_value, off_value = op.operands
    sizes = static_shape(indices, "the indices")
    axis = op.attribute("axis")
    axis = len(sizes) if axis == -1 else axis
    if not 0 <= axis <= len(sizes):
        raise Unsupported(f"axis {axis} does not fit indices of shape {list(sizes)}")
    places = tables.arange(limited(axis_of(rw, depth, "the depth"), "the depth")).astype(dtype_of(indices.element))
    grid = rw.constant(places.reshape((-1,) + (1,) * (len(sizes) - axis)))
    found = rw.emit("top.Compare", rw.emit("top.Unsqueeze", indices, axes=(axis,)), grid, mode="Equal")
    return emit_like(rw, op, "top.Where", found, on_value, off_value)


@TABLE("tfl.matrix_diag")
@moves_stored
def matrix_diag(op: Op, rw: Rewriter) -> Value:
    """MATRIX_DIAG: each vector on the diagonal of a matrix of zeros."""
    value = op.operands[0]
    size = limited(static_shape(value, "the diagonals", least=1)[-1], "the size of a diagonal", 1 << 12)
    mask = rw.constant(tables.eye(size, dtype=np.bool_), element=BOOL)
    rows = rw.emit("top.Unsqueeze", value, axes=(-1,))
    zero = rw.constant(np.zeros((), dtype_of(value.element)), element=value.element)
    return emit_like(rw, op, "top.Where", mask, rows, zero)


@TABLE("tfl.matrix_set_diag")
@moves_stored
def matrix_set_diag(op: Op, rw: Rewriter) -> Value:
    """MATRIX_SET_DIAG: the main diagonal, which has as many elements as the shorter side."""
    value, diagonal = op.operands
    *outer, height, width = static_shape(value, "the matrices", least=2)
    if static_shape(diagonal, "the diagonals") != (*outer, min(height, width)):
        raise Unsupported(f"diagonals of shape {diagonal.shape} are not those of matrices of shape {value.shape}")
    sizes = height, width
    n_rows, n_columns = (limited(size, "the size of a matrix", 1 << 12) for size in sizes)
    mask = rw.constant(tables.eye(n_rows, n_columns, dtype=np.bool_), element=BOOL)
    along = rw.emit("top.Unsqueeze", diagonal, axes=(-1,) if n_rows <= n_columns else (-2,))
    return emit_like(rw, op, "top.Where", mask, along, value)


@TABLE("tfl.where")
def where(op: Op, rw: Rewriter) -> Value:
    """WHERE: the subscripts of what is true; only of constants, because their number must be known."""
    condition = rw.need_constant(op.operands[0], "the condition, on which the size of the result depends,")
    return rw.constant(np.argwhere(condition).astype(dtype_of(op.results[0].element)))


@TABLE("tfl.unique")
def unique(op: Op, rw: Rewriter) -> tuple[Value, Value]:
    """UNIQUE: the different elements in the order of their first ones; only of constants, because their number must be known."""
    array = rw.constant_of(op.operands[0])
    if array is None:
        raise Unsupported(
            "the size of its result depends on the data, and a compiled model has static shapes",
            "move it out of the model, into the program that uses the result")
    values, firsts, places = np.unique(np.reshape(array, -1), return_index=True, return_inverse=True)
    order = np.argsort(firsts, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    found, indices = op.results
    made = rw.constant(values[order], element=found.element)
    return made, rw.constant(rank[places].astype(dtype_of(indices.element)), element=indices.element)


@TABLE("tfl.bucketize")
def bucketize(op: Op, rw: Rewriter) -> Value:
    """BUCKETIZE: how many boundaries are not greater than each element, of NaN all; an integer reaches the integer above one."""
    dtype = dtype_of(op.operands[0].element)
    boundaries = np.asarray(op.attribute("boundaries"), np.float32)
    if dtype.kind in "iu":
        boundaries = np.clip(np.ceil(boundaries.astype(np.float64)), np.iinfo(dtype).min, np.iinfo(dtype).max)
    boundaries = boundaries.astype(dtype)
    apart = rw.emit("top.Unsqueeze", op.operands[0], axes=(-1,))
    reached = compared_not(rw, apart, rw.constant(boundaries), "Less")
    ones = rw.emit("top.Cast", reached, element=I32)
    return rw.emit("top.Reduce", ones, axes=(-1,), keepdims=False, mode="ReduceSum")
