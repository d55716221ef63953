"""Reading and writing elements by subscripts."""

from __future__ import annotations

import math

import numpy as np

from transload.errors import Unsupported
from transload.ir import I64, Op, Value
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import counted, need_place

from .table import OnnxTable, attr, axis_of, cast, choice, need, operand, reshape, shape_of

TABLE = OnnxTable()


@TABLE("onnx.Gather", stored="carried")
def gather(op: Op, rw: Rewriter) -> Value:
    """Gather."""
    value = need(op, 0)
    return gathered(rw, value, need(op, 1), axis_of(attr(op, "axis", 0), len(shape_of(value))))


def gathered(rw: Rewriter, value: Value, indices: Value, axis: int) -> Value:
    """Places of `value` along a dimension; constant negative indices are counted from the front, which every target can."""
    constant = rw.constant_of(indices)
    if constant is not None and constant.size and constant.min() < 0:
        indices = rw.constant(np.where(constant < 0, constant + shape_of(value)[axis], constant).astype(constant.dtype))
    return rw.emit("top.Gather", value, indices, axis=axis)


@TABLE("onnx.GatherElements", stored="carried")
def gather_elements(op: Op, rw: Rewriter) -> Value:
    """GatherElements."""
    value = need(op, 0)
    return rw.emit("top.GatherElements", value, need(op, 1), axis=axis_of(attr(op, "axis", 0), len(shape_of(value))))


@TABLE("onnx.GatherND", stored="carried")
def gather_nd(op: Op, rw: Rewriter) -> Value:
    """GatherND."""
    return rw.emit("top.GatherND", need(op, 0), need(op, 1), batch_dims=attr(op, "batch_dims", 0) or None)


@TABLE("onnx.ScatterElements", "onnx.Scatter", stored="carried")
def scatter_elements(op: Op, rw: Rewriter) -> Value:
    """ScatterElements, and Scatter as it was called before opset 11."""
    value = need(op, 0)
    axis = axis_of(attr(op, "axis", 0), len(shape_of(value)))
    return rw.emit("top.ScatterElements", value, need(op, 1), need(op, 2), axis=axis, reduction=attr(op, "reduction"))


@TABLE("onnx.ScatterND", stored="carried")
def scatter_nd(op: Op, rw: Rewriter) -> Value:
    """ScatterND."""
    return rw.emit("top.ScatterND", need(op, 0), need(op, 1), need(op, 2), reduction=attr(op, "reduction"))


@TABLE("onnx.Compress", stored="carried")
def compress(op: Op, rw: Rewriter) -> Value:
    """Compress by a constant condition: a Gather."""
    value = need(op, 0)
    condition = np.asarray(rw.need_constant(need(op, 1), "the condition (it makes the result's shape)")).reshape(-1).astype(bool)
    axis = attr(op, "axis")
    if axis is None:
        value, axis = reshape(rw, value, (math.prod(shape_of(value)),)), 0
    axis = axis_of(axis, len(shape_of(value)))
    places = np.flatnonzero(condition[: shape_of(value)[axis]]).astype(np.int64)  # what a longer one says is of nothing
    return rw.emit("top.Gather", value, rw.constant(places), axis=axis)


@TABLE("onnx.TensorScatter", stored="carried")
def tensor_scatter(op: Op, rw: Rewriter) -> Value:
    """TensorScatter: a cache with new entries written at a place per batch (linear, or wrapping round)."""
    cache, update = need(op, 0), need(op, 1)
    sizes, new = shape_of(cache), shape_of(update)
    axis, mode = axis_of(attr(op, "axis", -2), len(sizes)), choice(op, "mode", ("linear", "circular"), "linear")
    others = [size for place, size in enumerate(sizes) if place != axis]
    if len(new) != len(sizes) or axis == 0 or new[axis] > sizes[axis] or [*new[:axis], *new[axis + 1:]] != others:
        raise Unsupported(f"a cache {list(sizes)} does not take {list(new)} along dimension {axis}")
    batch, length, starts = sizes[0], sizes[axis], operand(op, 2)
    need_place(*new)
    along = [new[axis] if i == axis else 1 for i in range(len(sizes))]
    known = tables.zeros(batch, np.int64) if starts is None else rw.constant_of(starts)
    if (starts is not None and math.prod(shape_of(starts)) != batch) or (known is not None and (known < 0).any()):
        told = f"of shape {list(shape_of(need(op, 2)))}" if known is None else known.tolist()
        raise Unsupported(f"write_indices {told} are not one place for each of {batch} sequences")
    if known is None:
        indices = _computed_places(rw, need(op, 2), along, length if mode == "circular" else None)
        return rw.emit("top.ScatterElements", cache, rw.emit("top.Expand", indices, shape=new), update, axis=axis)
    places = known.reshape(-1, 1) + counted(new[axis])
    places = places % length if mode == "circular" else places
    if places.size and places.max() >= length:
        raise Unsupported("writes beyond the end of the cache")
    table = np.ascontiguousarray(np.broadcast_to(places.reshape([batch, *along[1:]]), new)).astype(np.int64)
    return rw.emit("top.ScatterElements", cache, rw.constant(table), update, axis=axis)


def _computed_places(rw: Rewriter, starts: Value, along: list[int], length: int | None) -> Value:
    """The places [batch, 1.., count, ..1] from starts [batch] on, `along` saying where the count is; round a cache of a length.

    As runtimes want it, none is below zero or, without a length, behind the end of the cache.
    """
    count = counted(math.prod(along)).astype(np.int64).reshape(along)
    first = reshape(rw, cast(rw, starts, I64), (math.prod(shape_of(starts)), *(1 for _ in along[1:])))
    places = rw.emit("top.Add", first, rw.constant(count))
    return places if length is None else rw.emit("top.FloorMod", places, rw.constant(np.array(length, np.int64)))
