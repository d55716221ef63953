"""GATHER, GATHER_ND, ONE_HOT, TOPK_V2, CUMSUM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, I16, I32, I64, UI16, IntegerType, QuantType, TensorType, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables
from transload_hub.build import whole_for_each

from .common import axes_of, constant, emit, int32, quantized_result, reshape, retyped, static_shape, transpose, widened, wider
from .movement import moved

if TYPE_CHECKING:
    from transload_hub.ops.gather import CumSum, Gather, GatherElements, GatherND, OneHot, TopK

__all__ = ["TABLE", "element_places", "subscripts"]

TABLE = RewriteTable()


def _indices(rw: Rewriter, value: Value, size: int | np.ndarray) -> Value:
    """Indices as int32, or int64 where they are computed, none of them negative: those count from the end.

    `size` is that of the dimension, or, of subscripts, those of the dimensions [K] that the last dimension of `value` stands for.
    """
    array = rw.constant_of(value)
    if array is not None:
        counted = np.where(array < 0, array + size, array)
        return value if value.element == I32 and (counted == array).all() else constant(rw, counted.astype(np.int32))
    if value.element not in (I32, I64):
        value = int32(rw, value)
    if (isinstance(value.element, IntegerType) and value.element.unsigned) or _is_counted(rw, value, size):
        return value
    moved_on = emit(rw, "add", value, constant(rw, np.asarray(size, dtype_of(value.element))), like=value)
    negative = emit(rw, "less", value, constant(rw, np.asarray(0, dtype_of(value.element))), like=value, element=BOOL)
    return emit(rw, "select_v2", negative, moved_on, value, like=value)


def _is_counted(rw: Rewriter, value: Value, size: int | np.ndarray) -> bool:
    """Whether indices are counted from the front already, as those of a file are that was written here."""
    while value.op is not None and value.op.name in ("tfl.reshape", "tfl.cast") and (
            value.op.operands[0].shape[-1:] == value.shape[-1:]):
        value = value.op.operands[0]
    parts = [] if value.op is None or value.op.name != "tfl.select_v2" else list(value.op.operands)
    makers = [part.op for part in parts[:2]]
    if len(makers) < 2 or makers[0] is None or makers[1] is None or (makers[0].name, makers[1].name) != ("tfl.less", "tfl.add"):
        return False
    if any(maker.operands[0] is not parts[2] for maker in makers if maker is not None):
        return False
    zero, added = (rw.constant_of(maker.operands[1]) for maker in makers if maker is not None)
    return zero is not None and added is not None and not zero.any() and bool(np.all(added == size))


@TABLE("top.Gather")
def gather(op: Gather, rw: Rewriter) -> Value:
    """GATHER."""
    axis = axes_of((op.axis,), op.input.rank)[0]
    indices = _indices(rw, op.indices, static_shape(op.input)[axis])
    return _taken(rw, op, "gather", indices, axis=axis, batch_dims=op.batch_dims)


def _taken(rw: Rewriter, op: Gather | GatherElements | GatherND, name: str, places: Value, **attributes: Any) -> Value:
    """What GATHER or GATHER_ND takes; of u16, of which they have no kernels, as int32."""
    value, wanted = moved(rw, op), op.output.element
    element = I32 if wanted == UI16 else wanted
    return widened(rw, emit(rw, name, widened(rw, value, element), places, like=op.output, element=element, **attributes), wanted)


@TABLE("top.GatherND")
def gather_nd(op: GatherND, rw: Rewriter) -> Value:
    """GATHER_ND, which has no dimensions in common: those are subscripts that count up. LiteRT's kernel takes one or more."""
    shape, common = static_shape(op.input), op.batch_dims
    if static_shape(op.indices)[-1] == 0:
        return whole_for_each(rw, moved(rw, op), static_shape(op.indices)[:-1], common, op.output.element)
    places = subscripts(rw, op.indices, shape[common:])
    if common:
        sizes = static_shape(op.indices)[:-1]
        grid = constant(rw, np.stack(list(tables.indices(sizes))[:common], -1).astype(np.int32))
        places = emit(rw, "concatenation", grid, int32(rw, places), shape=(*sizes, common + static_shape(places)[-1]),
                      element=I32, axis=len(sizes))
    return _taken(rw, op, "gather_nd", places)


def subscripts(rw: Rewriter, value: Value, shape: tuple[int, ...]) -> Value:
    """Subscripts [.., n] of the first n dimensions of a shape, none of them negative."""
    return _indices(rw, value, np.array(shape[: static_shape(value)[-1]], np.int64))


def element_places(rw: Rewriter, indices: Value, shape: tuple[int, ...], axis: int) -> Value:
    """The subscripts [.., rank] of elements, of which `indices` are those of dimension `axis` and the others count up."""
    axis = axes_of((axis,), len(shape))[0]
    sizes = static_shape(indices)
    grids = list(tables.indices(sizes))
    held = rw.constant_of(indices)
    if held is not None:
        counted = held.astype(np.int64)
        grids[axis] = np.where(counted < 0, counted + shape[axis], counted)
        return constant(rw, np.stack(grids, -1).astype(np.int32))
    computed = int32(rw, _indices(rw, indices, shape[axis]))
    parts = [reshape(rw, computed, (*sizes, 1)) if place == axis else constant(rw, grid.astype(np.int32)[..., None])
             for place, grid in enumerate(grids)]
    return emit(rw, "concatenation", *parts, shape=(*sizes, len(shape)), element=I32, axis=len(sizes))


@TABLE("top.GatherElements")
def gather_elements(op: GatherElements, rw: Rewriter) -> Value:
    """GATHER_ND by the subscripts of each element."""
    return _taken(rw, op, "gather_nd", element_places(rw, op.indices, static_shape(op.input), op.axis))


@TABLE("top.OneHot")
def one_hot(op: OneHot, rw: Rewriter) -> Value:
    """ONE_HOT; of quantized numbers of 16 bits, of which LiteRT's kernel makes none, of the stored ones."""
    indices = _indices(rw, op.indices, op.depth)
    depth = constant(rw, np.asarray(op.depth, np.int32))
    target = op.output.element
    on, off = (reshape(rw, retyped(rw, value, target), ()) for value in (op.on_value, op.off_value))
    axis = axes_of((op.axis,), op.output.rank)[0]
    if isinstance(target, QuantType) and target.storage == I16:
        made = emit(rw, "one_hot", indices, depth, int32(rw, on), int32(rw, off), like=op.output, element=I32, axis=axis)
        return emit(rw, "cast", made, like=op.output)
    return emit(rw, "one_hot", indices, depth, on, off, like=op.output, axis=axis)


@TABLE("top.TopK")
def top_k(op: TopK, rw: Rewriter) -> Any:
    """TOPK_V2 along the last dimension; the least numbers are the greatest of those in the other order."""
    shape = static_shape(op.input)
    axis = axes_of((op.axis,), len(shape))[0]
    order = (*(i for i in range(len(shape)) if i != axis), axis)
    value = transpose(rw, op.input, order)
    if not op.largest:
        if quantized_result(op) is not None:
            raise Unsupported("LiteRT finds the greatest numbers; the least only of what is not quantized")
        value = _turned(rw, value)
    made_shape = (*static_shape(value)[:-1], op.k)
    types = [TensorType(made_shape, value.element), TensorType(made_shape, I32)]
    values, indices = rw.emit("tfl.topk_v2", value, constant(rw, np.asarray(op.k, np.int32)), types=types)
    if not op.largest:
        values = widened(rw, _turned(rw, values), op.values.element)
    back = tuple(int(i) for i in np.argsort(order))
    values, indices = transpose(rw, values, back), transpose(rw, indices, back)
    if op.indices.element != I32:
        indices = emit(rw, "cast", indices, like=op.indices)
    return values, indices


def _turned(rw: Rewriter, value: Value) -> Value:
    """The same numbers in the other order: negative ones; of integers, which are made signed, what they lack to -1."""
    if not isinstance(value.element, IntegerType):
        return emit(rw, "neg", value, like=value)
    value = widened(rw, value, wider(value.element) or value.element)
    return emit(rw, "sub", constant(rw, np.asarray(-1, dtype_of(value.element))), value, like=value)


@TABLE("top.CumSum")
def cumsum(op: CumSum, rw: Rewriter) -> Value | None:
    """CUMSUM, of floats, and of signed integers of 32 and 64 bits."""
    if quantized_result(op) is not None:
        return None
    axis = constant(rw, np.asarray(axes_of((op.axis,), op.input.rank)[0], np.int32))
    element = wider(op.output.element)
    value = op.input if element is None else emit(rw, "cast", op.input, like=op.input, element=element)
    made = emit(rw, "cumsum", value, axis, like=op.output, element=value.element, exclusive=op.exclusive, reverse=op.reverse)
    return made if element is None else emit(rw, "cast", made, like=op.output)
