"""Ops that read or write elements by subscripts, and ordering."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from transload.ir import I32, I64, TensorType, Value
from transload.rewrite import Rewriter, RewriteTable, Unsupported

from .common import cast, emit, ints, scalar
from .constant import reshaped

if TYPE_CHECKING:
    from transload_hub.ops.gather import CumSum, Gather, GatherElements, GatherND, OneHot, ScatterElements, ScatterND, TopK

__all__ = ["TABLE"]

TABLE = RewriteTable()


def _subscripts(rw: Rewriter, indices: Value) -> Value:
    """Subscripts as ONNX takes them: i64, or i32 where they are."""
    return indices if indices.element in (I32, I64) else cast(rw, indices, I64)


@TABLE("top.Gather")
def gather(op: Gather, rw: Rewriter) -> Value:
    """Gather; with dimensions in common, GatherND, whose subscripts are then for the dimension that follows them."""
    rank = op.input.rank
    axis = op.axis % rank
    if not op.batch_dims:
        return emit(rw, "Gather", op.input, _subscripts(rw, op.indices), like=op.result, element=op.input.element, axis=axis)
    if axis != op.batch_dims:
        raise Unsupported(f"ONNX gathers along the dimension after the {op.batch_dims} in common, not along {axis}")
    shape = (*op.indices.shape, 1)
    indices = emit(rw, "Unsqueeze", cast(rw, op.indices, I64), ints(rw, (-1,)), shape=shape)
    return emit(rw, "GatherND", op.input, indices, like=op.result, element=op.input.element, batch_dims=op.batch_dims)


@TABLE("top.GatherND")
def gather_nd(op: GatherND, rw: Rewriter) -> Value:
    return emit(rw, "GatherND", op.input, cast(rw, op.indices, I64), like=op.result, batch_dims=op.batch_dims)


@TABLE("top.GatherElements")
def gather_elements(op: GatherElements, rw: Rewriter) -> Value:
    return emit(rw, "GatherElements", op.input, _subscripts(rw, op.indices), like=op.result, axis=op.axis)


@TABLE("top.ScatterND")
def scatter_nd(op: ScatterND, rw: Rewriter) -> Value:
    return emit(rw, "ScatterND", op.input, cast(rw, op.indices, I64), op.updates, reduction=op.reduction)


@TABLE("top.ScatterElements")
def scatter_elements(op: ScatterElements, rw: Rewriter) -> Value:
    return emit(rw, "ScatterElements", op.input, _subscripts(rw, op.indices), op.updates, axis=op.axis, reduction=op.reduction)


@TABLE("top.OneHot")
def one_hot(op: OneHot, rw: Rewriter) -> Value:
    values = [reshaped(rw, value, (1,)) for value in (op.off_value, op.on_value)]
    both = emit(rw, "Concat", *values, shape=(2,), axis=0)
    return emit(rw, "OneHot", cast(rw, op.indices, I64), scalar(rw, op.depth, I64), both, like=op.result, axis=op.axis)


@TABLE("top.TopK")
def top_k(op: TopK, rw: Rewriter) -> Sequence[Value]:
    values, places = op.results
    made = rw.emit(
        "onnx.TopK", op.input, ints(rw, (op.k,)), types=[values.type, TensorType(places.tensor_type.shape, I64)], axis=op.axis,
        largest=int(op.largest), sorted=int(op.sorted))
    return made[0], cast(rw, made[1], places.element)


@TABLE("top.CumSum")
def cumulative_sum(op: CumSum, rw: Rewriter) -> Value:
    return emit(rw, "CumSum", op.input, scalar(rw, op.axis, I64), exclusive=int(op.exclusive), reverse=int(op.reverse))
