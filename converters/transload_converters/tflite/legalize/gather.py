"""Ops that read or write elements by subscripts."""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import FloatType, IntegerType, Op, QuantType, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable

from .common import axis_of, constant_ints, emit_like, scalar, static_shape

TABLE = RewriteTable()


@TABLE("tfl.gather")
def gather(op: Op, rw: Rewriter) -> Value:
    """GATHER."""
    batch_dims, axis = op.attribute("batch_dims"), op.attribute("axis")
    if batch_dims < 0:
        batch_dims += op.operands[1].rank
    return emit_like(rw, op, "top.Gather", *op.operands, axis=axis, batch_dims=batch_dims)


@TABLE("tfl.gather_nd")
def gather_nd(op: Op, rw: Rewriter) -> Value:
    """GATHER_ND."""
    return emit_like(rw, op, "top.GatherND", *op.operands)


@TABLE("tfl.embedding_lookup")
def embedding_lookup(op: Op, rw: Rewriter) -> Value:
    """EMBEDDING_LOOKUP: rows of a table; a quantized table is dequantized where the result is float."""
    lookup, table = op.operands
    if table.element != op.results[0].element:
        table = rw.emit("top.Cast", table, element=op.results[0].element)
    return rw.emit("top.Gather", table, lookup, axis=0)


def _scatter(op: Op, rw: Rewriter, shape: tuple[int, ...], start: Any, indices: Value, updates: Value, reduction: str) -> Value:
    """Updates written or combined into a tensor that holds `start` everywhere."""
    element = op.results[0].element
    ground = rw.emit("top.Fill", rw.constant(np.asarray(start, dtype_of(element)), element=element), shape=shape)
    return emit_like(rw, op, "top.ScatterND", ground, indices, updates, reduction=reduction)


@TABLE("tfl.scatter_nd")
def scatter_nd(op: Op, rw: Rewriter) -> Value:
    """SCATTER_ND: added to zeros, so that what goes to one place twice is summed.

    Of a quantized tensor the stored numbers are taken, and written to stored zeros: their sums have no meaning.
    """
    indices, updates, shape = op.operands
    wanted = constant_ints(rw, shape, "the shape of the result")
    quantized = isinstance(updates.element, QuantType)
    held = rw.constant_of(indices)
    if quantized and held is not None and len(np.unique(held.reshape(-1, held.shape[-1]), axis=0)) < held.size // held.shape[-1]:
        raise Unsupported(
            "it writes quantized numbers to one place twice, and LiteRT adds what is stored", "dequantize them first")
    return _scatter(op, rw, wanted, 0, indices, updates, "none" if quantized else "add")


@TABLE("tfl.sparse_to_dense")
def sparse_to_dense(op: Op, rw: Rewriter) -> Value:
    """SPARSE_TO_DENSE: values written into a tensor of a default value."""
    indices, shape, values, default = op.operands
    wanted = constant_ints(rw, shape, "the shape of the result")
    rank = indices.rank
    if rank < 2:  # one subscript, or a list of places in a vector
        indices = rw.emit("top.Reshape", indices, shape=(-1, 1))
    count = static_shape(indices, "the indices", 2)[0]
    if values.rank == 0:
        values = rw.emit("top.Expand", values, shape=(count,))
    ground = rw.emit("top.Fill", rw.emit("top.Reshape", default, shape=()), shape=wanted)
    return emit_like(rw, op, "top.ScatterND", ground, indices, values)


_SEGMENTS = {
    "tfl.unsorted_segment_sum": "add", "tfl.unsorted_segment_prod": "mul", "tfl.unsorted_segment_max": "max",
    "tfl.unsorted_segment_min": "min",
}


@TABLE(*_SEGMENTS)
def unsorted_segment(op: Op, rw: Rewriter) -> Value:
    """UNSORTED_SEGMENT_SUM, _PROD, _MAX, _MIN: slices combined by id; a segment without slices has the neutral element."""
    value, ids, count = op.operands
    reduction = _SEGMENTS[op.name]
    sizes, held = static_shape(value, "the input"), static_shape(ids, "the segment ids")
    n_segments = axis_of(rw, count, "the number of segments")
    shape = (n_segments, *sizes[len(held) :])
    numbers = rw.constant_of(ids)
    neutral = _neutral(op, reduction)
    if numbers is not None and np.all(numbers >= 0):
        return _scatter(op, rw, shape, neutral, rw.emit("top.Unsqueeze", ids, axes=(-1,)), value, reduction)
    # Slices of a negative id are left out: they go to a segment behind the last one, which is cut off.
    outside = rw.emit("top.Compare", ids, scalar(rw, 0, ids.element), mode="Less")
    ids = rw.emit("top.Where", outside, scalar(rw, n_segments, ids.element), ids)
    places = rw.emit("top.Unsqueeze", ids, axes=(-1,))
    whole = _scatter(op, rw, (n_segments + 1, *shape[1:]), neutral, places, value, reduction)
    return emit_like(rw, op, "top.Slice", whole, offset=(0,) * len(shape), ends=shape, steps=(1,) * len(shape))


def _neutral(op: Op, reduction: str) -> Any:
    """What changes nothing when it is combined."""
    element = op.results[0].element
    if reduction in ("add", "mul"):
        return 0 if reduction == "add" else 1
    if isinstance(element, IntegerType):
        return element.range[0 if reduction == "max" else 1]
    if isinstance(element, FloatType):
        limits = np.finfo(dtype_of(element))
        return limits.min if reduction == "max" else limits.max
    raise Unsupported(f"segments of {element} are not supported")


@TABLE("tfl.segment_sum")
def segment_sum(op: Op, rw: Rewriter) -> Value:
    """SEGMENT_SUM: ids are constant, because the number of segments is the last one's plus 1."""
    value, ids = op.operands
    numbers = constant_ints(rw, ids, "the segment ids, on which the size of the result depends,")
    shape = (max(numbers, default=-1) + 1, *static_shape(value, "the input", least=1)[1:])
    return _scatter(op, rw, shape, 0, rw.emit("top.Unsqueeze", ids, axes=(-1,)), value, "add")
