"""Ops that read or write elements by subscripts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import I32, DialectType, Op, QuantType, TensorType, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.scatter import scattered, sparse_to_dense, unsorted_segments

from .common import axis_of, constant_ints, emit_like, scalar, static_shape
from .storage import moves_stored

TABLE = RewriteTable()


@TABLE("tfl.gather")
@moves_stored
def gather(op: Op, rw: Rewriter) -> Value:
    """GATHER."""
    batch_dims, axis = op.attribute("batch_dims"), op.attribute("axis")
    if batch_dims < 0:
        batch_dims += op.operands[1].rank
    return emit_like(rw, op, "top.Gather", *op.operands, axis=axis, batch_dims=batch_dims)


@TABLE("tfl.gather_nd")
@moves_stored
def gather_nd(op: Op, rw: Rewriter) -> Value:
    """GATHER_ND."""
    return emit_like(rw, op, "top.GatherND", *op.operands)


@TABLE("tfl.embedding_lookup")
@moves_stored
def embedding_lookup(op: Op, rw: Rewriter) -> Value:
    """EMBEDDING_LOOKUP: rows of a table; a quantized table is dequantized where the result is float."""
    lookup, table = op.operands
    if table.element != op.results[0].element:
        table = rw.emit("top.Cast", table, element=op.results[0].element)
    return rw.emit("top.Gather", table, lookup, axis=0)


def _scatter(op: Op, rw: Rewriter, shape: tuple[int, ...], start: Any, indices: Value, updates: Value, reduction: str) -> Value:
    """Updates written or combined into a tensor that holds `start` everywhere."""
    return scattered(rw, shape, start, indices, updates, reduction, op.results[0].element)


def _meet(indices: np.ndarray) -> bool:
    """Whether two places are one; of no subscripts at all each is the whole."""
    count, depth = math.prod(indices.shape[:-1]), indices.shape[-1]
    return count > 1 if depth == 0 else len(np.unique(indices.reshape(count, depth), axis=0)) < count


@TABLE("tfl.scatter_nd")
@moves_stored
def scatter_nd(op: Op, rw: Rewriter) -> Value:
    """SCATTER_ND: added to zeros, so that what goes to one place twice is summed.

    Of a quantized tensor the stored numbers are taken, and written to stored zeros: their sums have no meaning.
    """
    indices, updates, shape = op.operands
    wanted = constant_ints(rw, shape, "the shape of the result")
    quantized = isinstance(updates.element, QuantType)
    held = rw.constant_of(indices)
    if quantized and held is not None and held.ndim and _meet(held):
        raise Unsupported(
            "it writes quantized numbers to one place twice, and LiteRT adds what is stored", "dequantize them first")
    return _scatter(op, rw, wanted, 0, indices, updates, "none" if quantized else "add")


@TABLE("tfl.sparse_to_dense")
@moves_stored
def sparse_to_dense_(op: Op, rw: Rewriter) -> Value:
    """SPARSE_TO_DENSE: values written into a tensor of a default value."""
    indices, shape, values, default = op.operands
    wanted = constant_ints(rw, shape, "the shape of the result")
    static_shape(indices, "the indices")
    return sparse_to_dense(rw, indices, wanted, values, default, op.results[0].element)


_SEGMENTS = {
    "tfl.unsorted_segment_sum": "add", "tfl.unsorted_segment_prod": "mul", "tfl.unsorted_segment_max": "max",
    "tfl.unsorted_segment_min": "min",
}


@TABLE(*_SEGMENTS)
def unsorted_segment(op: Op, rw: Rewriter) -> Value:
    """UNSORTED_SEGMENT_SUM, _PROD, _MAX, _MIN: slices combined by id; a segment without slices has the neutral element."""
    value, ids, count = op.operands
    static_shape(value, "the input")
    static_shape(ids, "the segment ids")
    total = axis_of(rw, count, "the number of segments")
    return unsorted_segments(rw, value, ids, total, _SEGMENTS[op.name], op.results[0].element)


@TABLE("tfl.segment_sum")
def segment_sum(op: Op, rw: Rewriter) -> Value:
    """SEGMENT_SUM: ids are constant, because the number of segments is the last one's plus 1."""
    value, ids = op.operands
    numbers = constant_ints(rw, ids, "the segment ids, on which the size of the result depends,")
    shape = (max(numbers, default=-1) + 1, *static_shape(value, "the input", least=1)[1:])
    return _scatter(op, rw, shape, 0, rw.emit("top.Unsqueeze", ids, axes=(-1,)), value, "add")


@TABLE("tfl.hashtable_lookup")
def hashtable_lookup(op: Op, rw: Rewriter) -> Any:
    """HASHTABLE_LOOKUP: the row of each key, zeros for a key that there is none of; and which there were."""
    lookup, keys, values = op.operands
    rank = len(static_shape(values, "the table", least=1))
    there = static_shape(keys, "the keys", least=1)
    if not isinstance(values.type, TensorType) or isinstance(values.element, DialectType) or 0 in there:
        raise Unsupported(f"it looks up rows of {values.type}", "move the look-up of what is no number in front of the model")
    held = rw.constant_of(keys)
    if held is not None and np.any(np.diff(held.astype(np.int64)) <= 0):
        raise Unsupported("its keys are not in order, or occur twice: LiteRT's kernel finds some of them, which it does not say")
    equal = rw.emit("top.Compare", rw.emit("top.Unsqueeze", lookup, axes=(-1,)), keys, mode="Equal")
    places = rw.emit("top.Arg", rw.emit("top.Cast", equal, element=I32), axis=-1, keepdims=False, mode="ArgMax", element=I32)
    found = rw.emit("top.Reduce", equal, axes=(-1,), keepdims=False, mode="ReduceAny")
    rows = rw.emit("top.Gather", values, places, axis=0)
    nothing = rw.constant(np.zeros((), dtype_of(values.element)), element=values.element)
    each = rw.emit("top.Reshape", found, shape=(*found.shape, *(1,) * (rank - 1)))
    return rw.emit("top.Where", each, rows, nothing), rw.emit("top.Cast", found, element=op.results[1].element)


def _need_in_order(places: np.ndarray, sums: tuple[int, ...], combiner: str) -> None:
    """Refuse subscripts that LiteRT's kernel does not take for what they say.

    It (`tensorflow/lite/kernels/embedding_lookup_sparse.cc`) counts places in the flattened result, and divides by the weights
    where the next place comes, also where one comes again.
    """
    if places.size and bool(((places < 0) | (places >= np.array(sums))).any()):
        raise Unsupported(f"a subscript lies outside the dense shape, whose first sizes are {list(sums)}")
    flat = np.ravel_multi_index(tuple(places.T), sums) if places.size else np.zeros(0, np.int64)
    if combiner != "SUM" and bool((np.diff(flat) < 0).any()):
        raise Unsupported("its subscripts are not in order, and LiteRT divides by the weights where a place ends",
                          hint="sort the subscripts, with their ids and weights")


@TABLE("tfl.embedding_lookup_sparse")
def embedding_lookup_sparse(op: Op, rw: Rewriter) -> Value:
    """EMBEDDING_LOOKUP_SPARSE: weighted rows of a table, summed where their subscripts, less the last, are the same.

    MEAN divides by the sum of the weights, SQRTN by the root of the sum of their squares.
    """
    ids, indices, dense_shape, weights, table = op.operands
    sums = constant_ints(rw, dense_shape, "the dense shape")[:-1]
    width = static_shape(table, "the table", least=1)[1:]
    count = static_shape(ids, "the ids", 1)[0]
    if indices.shape != (count, len(sums) + 1) or weights.shape != (count,):
        raise Unsupported(f"{count} ids have subscripts of shape {list(indices.shape)} and weights of {list(weights.shape)}")
    if not (ids.is_integer and indices.is_integer):
        raise Unsupported(f"its ids are {ids.type} and its subscripts {indices.type}, and both are integers")
    known = rw.constant_of(indices)
    if known is not None:
        _need_in_order(np.asarray(known)[:, :-1].astype(np.int64), sums, op.attribute("combiner"))
    column = rw.emit("top.Reshape", weights, shape=(count, *(1,) * len(width)))
    rows = rw.emit("top.Mul", rw.emit("top.Gather", table, ids, axis=0), column)
    places = rw.emit("top.Slice", indices, offset=(0, 0), ends=(count, len(sums)), steps=(1, 1))

    def summed(value: Value, inner: tuple[int, ...]) -> Value:
        if not sums:
            return rw.emit("top.Reduce", value, axes=(0,), keepdims=False, mode="ReduceSum")
        ground = rw.emit("top.Fill", scalar(rw, 0.0), shape=(*sums, *inner))
        return rw.emit("top.ScatterND", ground, places, value, reduction="add")

    total = summed(rows, width)
    combiner = op.attribute("combiner")
    if combiner == "SUM":
        return total
    shares = summed(weights if combiner == "MEAN" else rw.emit("top.Square", weights), ())
    shares = shares if combiner == "MEAN" else rw.emit("top.Sqrt", shares)
    empty = rw.emit("top.Compare", shares, scalar(rw, 0.0), mode="Equal")
    shares = rw.emit("top.Where", empty, scalar(rw, 1.0), shares)
    return rw.emit("top.Div", total, rw.emit("top.Reshape", shares, shape=(*sums, *(1,) * len(width))))
