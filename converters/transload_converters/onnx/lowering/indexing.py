"""Ops that read or write elements by subscripts, and ordering."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from transload.ir import BOOL, F16, F32, F64, I32, I64, FloatType, TensorType, Type, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables

from .common import broadcast, cast, constant, emit, ints, ordered, scalar, static_shape, transposed, unordered, wider
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
    """Gather; with dimensions in common, GatherND."""
    rank = op.input.rank
    axis = op.axis % rank
    if not op.batch_dims:
        return emit(rw, "Gather", op.input, _subscripts(rw, op.indices), like=op.result, element=op.input.element, axis=axis)
    return _gathered_in_common(op, rw, axis)


def _gathered_in_common(op: Gather, rw: Rewriter, axis: int) -> Value:
    """GatherND, whose indexed dimension follows those in common: it is moved there, and what is read moved back."""
    common, x = op.batch_dims, op.input
    indices = emit(rw, "Unsqueeze", cast(rw, op.indices, I64), ints(rw, (-1,)), shape=(*op.indices.shape, 1))
    if axis == common:
        return emit(rw, "GatherND", x, indices, like=op.result, element=x.element, batch_dims=common)
    rank, between, read = op.result.rank, axis - common, op.indices.rank - common
    last = range(common + read + between, rank)
    front = transposed(rw, x, [*range(common), axis, *range(common, axis), *range(axis + 1, x.rank)])
    back = [*range(common), *range(common + read, common + read + between), *range(common, common + read), *last]
    shape: list[int | None] = [None] * rank
    for place, size in zip(back, op.result.shape, strict=True):
        shape[place] = size
    made = emit(rw, "GatherND", front, indices, shape=shape, element=x.element, batch_dims=common)
    return emit(rw, "Transpose", made, like=op.result, element=x.element, perm=tuple(back))


@TABLE("top.GatherND")
def gather_nd(op: GatherND, rw: Rewriter) -> Value:
    return emit(rw, "GatherND", op.input, cast(rw, op.indices, I64), like=op.result, batch_dims=op.batch_dims)


@TABLE("top.GatherElements")
def gather_elements(op: GatherElements, rw: Rewriter) -> Value:
    return emit(rw, "GatherElements", op.input, _subscripts(rw, op.indices), like=op.result, axis=op.axis)


@TABLE("top.ScatterND")
def scatter_nd(op: ScatterND, rw: Rewriter) -> Value:
    return _scattered(op, rw, "ScatterND", cast(rw, op.indices, I64))


_REDUCED_AS: dict[Type, Type] = {F16: F32, BOOL: I32}


def _scattered(op: ScatterElements | ScatterND, rw: Rewriter, name: str, places: Value, **attributes: Any) -> Value:
    """The operator; what runtimes do not reduce, halves and truth values, as f32 and i32."""
    element = op.input.element
    computed = _REDUCED_AS.get(element, element) if op.reduction != "none" else element
    x, updates = (cast(rw, value, computed) for value in (op.input, op.updates))
    return cast(rw, emit(rw, name, x, places, updates, reduction=op.reduction, **attributes), element)


@TABLE("top.ScatterElements")
def scatter_elements(op: ScatterElements, rw: Rewriter) -> Value:
    return _scattered(op, rw, "ScatterElements", _subscripts(rw, op.indices), axis=op.axis)


@TABLE("top.OneHot")
def one_hot(op: OneHot, rw: Rewriter) -> Value:
    """OneHot, which takes no single number: it is a vector of one, and the result's dimension of 1 goes.

    onnxruntime takes no depth of 0, and has none of f64, which chooses by one of integers.
    """
    element = op.result.element
    if not op.depth:
        return constant(rw, tables.full(static_shape(op.result), 0, dtype_of(element)), element)
    off, on = (reshaped(rw, value, (1,)) for value in (op.off_value, op.on_value))
    if element == F64:
        chosen = _one_hot(op, rw, constant(rw, [0, 1], I64))
        return broadcast(rw, "Where", cast(rw, chosen, BOOL), on, off, element=element)
    both = emit(rw, "Concat", off, on, shape=(2,), axis=0)
    return cast(rw, _one_hot(op, rw, cast(rw, both, element if isinstance(element, FloatType) else I64)), element)


def _one_hot(op: OneHot, rw: Rewriter, both: Value) -> Value:
    """The operator, of the values elsewhere and at the place in a type that runtimes have it of."""
    places, depth = cast(rw, op.indices, I64), scalar(rw, op.depth, I64)
    if op.indices.tensor_type.rank == 0:
        made = emit(rw, "OneHot", reshaped(rw, places, (1,)), depth, both, shape=(1, op.depth), element=both.element, axis=-1)
        return reshaped(rw, made, (op.depth,))
    return emit(rw, "OneHot", places, depth, both, like=op.result, element=both.element, axis=op.axis)


@TABLE("top.TopK")
def top_k(op: TopK, rw: Rewriter) -> Sequence[Value]:
    values, places = op.results
    x = ordered(rw, op.input)
    element = wider("TopK", x.element) or x.element
    made = rw.emit(
        "onnx.TopK", cast(rw, x, element), ints(rw, (op.k,)),
        types=[values.tensor_type.with_element(element), TensorType(places.tensor_type.shape, I64)], axis=op.axis,
        largest=int(op.largest), sorted=int(op.sorted))
    return unordered(rw, made[0], values.element), cast(rw, made[1], places.element)


@TABLE("top.CumSum")
def cumulative_sum(op: CumSum, rw: Rewriter) -> Value:
    return emit(rw, "CumSum", op.input, scalar(rw, op.axis, I64), exclusive=int(op.exclusive), reverse=int(op.reverse))
