"""Lists of tensors (TensorList, of TensorFlow 2) and TensorArrays (of TensorFlow 1) as one tensor, whose first dimension counts.

A TensorArray's value is its flow; the handle is nothing. Where a list does not say what its elements' shape is, it has the first
element's; until then it is a tensor without numbers. In a loop its type then changes after the first step, so that the loop is
written out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, DialectType, Op, Type, Value
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import reshape, slice_along, splat

from ..types import held_by
from ..types import shape_of as shape_attribute_of
from .table import TfTable, attr, constant_array, constant_count, constant_int, constant_ints, need_place, shape_of

__all__ = ["TABLE"]

TABLE = TfTable()


def _empty(rw: Rewriter, size: int, element_shape: Sequence[int | None] | None, element: Type | None) -> Value:
    """A list of elements that are zero, or of none that are known: `element_shape` has None or -1 where it does not say."""
    if element is None or isinstance(element, DialectType):
        raise Unsupported(f"makes a list of {element or 'elements without a type'}")
    if element_shape is None or any(n is None or n < 0 for n in element_shape):
        return splat(rw, 0, (size, 0), element)
    return splat(rw, 0, (size, *(int(n) for n in element_shape if n is not None)), element)


def _is_open(values: Value) -> bool:
    """Whether a list has elements of a shape that is not known yet."""
    return shape_of(values)[1:] == (0,)


def _write(rw: Rewriter, values: Value, index: Value, item: Value, grows: bool = True) -> Value:
    """A list with another element at an index; a constant one behind its end makes it longer, where it `grows`."""
    size, shape = shape_of(values, least=1, what="a list")[0], shape_of(item)
    if _is_open(values) and shape != (0,):
        values = splat(rw, 0, (size, *shape), item.element)
    if shape_of(values)[1:] != shape:
        raise Unsupported(f"writes an element of shape {list(shape)} into a list of {list(shape_of(values)[1:])}",
                          "a list whose elements have several shapes is no tensor")
    known = rw.constant_of(index)
    if known is not None and not (int(known) >= 0 and (grows or int(known) < size)):
        raise Unsupported(f"writes element {int(known)} of a list of {size} elements" + " that does not grow" * (not grows))
    if known is not None and int(known) >= size:
        values, size = _grown(rw, values, int(known) + 1), int(known) + 1
    if known is None and not size:
        raise Unsupported("writes into a list that grows at a subscript that is known only at run time")
    if known is not None and size == 1:
        return reshape(rw, item, (1, *shape))
    if item.element == BOOL:
        raise Unsupported("a list of truth values is changed at a subscript that is known only at run time")
    return rw.emit("top.ScatterND", values, reshape(rw, index, (1, 1)), reshape(rw, item, (1, *shape)))


def _grown(rw: Rewriter, values: Value, size: int) -> Value:
    """A list with as many zeros behind its elements as make it so long."""
    sizes = shape_of(values, least=1)
    need_place(size, *sizes[1:])
    more = splat(rw, 0, (size - sizes[0], *sizes[1:]), values.element)
    return rw.emit("top.Concat", values, more, axis=0) if sizes[0] else more


def _read(rw: Rewriter, values: Value, index: Value) -> Value:
    shape_of(values, least=1, what="a list")
    if _is_open(values):
        raise Unsupported("reads an element of a list that has none yet")
    return rw.emit("top.Gather", values, reshape(rw, index, ()), axis=0)


# --- lists

@TABLE("TensorListFromTensor", anything=True)
def from_tensor(op: Op, rw: Rewriter) -> Value:
    """The list of a tensor's slices is the tensor."""
    return op.operands[0]


@TABLE("TensorListReserve", "EmptyTensorList", anything=True)
def reserve(op: Op, rw: Rewriter) -> Value:
    """A list of zeros."""
    shape = constant_ints(rw, op.operands[0], "the shape of elements")
    if constant_array(rw, op.operands[0], "the shape of elements").shape == ():
        shape = (-1,)
    size = constant_count(rw, op.operands[1], "the number of elements") if op.name == "tf.TensorListReserve" else 0
    return _empty(rw, size, shape, op.attribute("element_dtype") or held_by(op.result.element))


@TABLE("TensorListGetItem", anything=True)
def get_item(op: Op, rw: Rewriter) -> Value:
    """The element at an index."""
    return _read(rw, op.operands[0], op.operands[1])


@TABLE("TensorListSetItem", anything=True)
def set_item(op: Op, rw: Rewriter) -> Value:
    """The list with another element at an index, which makes it longer where the op says so, and it is constant."""
    return _write(rw, op.operands[0], op.operands[1], op.operands[2], bool(attr(op, "resize_if_index_out_of_bounds", False)))


@TABLE("TensorListStack", anything=True)
def stack(op: Op, rw: Rewriter) -> Value:
    """All elements, one behind the other."""
    return op.operands[0]


@TABLE("TensorListGather", anything=True)
def gather(op: Op, rw: Rewriter) -> Value:
    """The elements at some indices."""
    return rw.emit("top.Gather", op.operands[0], op.operands[1], axis=0)


@TABLE("TensorListLength", anything=True)
def length(op: Op, rw: Rewriter) -> Value:
    """How many elements there are."""
    return rw.constant(np.array(shape_of(op.operands[0], least=1)[0], np.int32))


@TABLE("TensorListPushBack", anything=True)
def push_back(op: Op, rw: Rewriter) -> Value:
    """The list with one element more."""
    values, item = op.operands
    new = reshape(rw, item, (1, *shape_of(item)))
    return new if shape_of(values, least=1)[0] == 0 else rw.emit("top.Concat", values, new, axis=0)


@TABLE("TensorListPopBack", anything=True)
def pop_back(op: Op, rw: Rewriter) -> tuple[Value, Value]:
    """The list without its last element, and that element."""
    values = op.operands[0]
    size = shape_of(values, least=1)[0]
    if not size:
        raise Unsupported("takes the last element of a list that has none")
    return slice_along(rw, values, 0, 0, size - 1), _read(rw, values, rw.constant(np.array(size - 1, np.int32)))


@TABLE("TensorListResize", anything=True)
def resize(op: Op, rw: Rewriter) -> Value:
    """The list with so many elements: the last ones go, or zeros come."""
    values, size = op.operands[0], constant_count(rw, op.operands[1], "the number of elements")
    sizes = shape_of(values, least=1)
    return slice_along(rw, values, 0, 0, size) if size <= sizes[0] else _grown(rw, values, size)


@TABLE("TensorListConcat", "TensorListConcatV2", anything=True)
def concat(op: Op, rw: Rewriter) -> tuple[Value, Value]:
    """All elements joined along their first dimension, and how long each is there."""
    shape = shape_of(op.operands[0], least=2)
    lengths = rw.constant(tables.full(shape[0], shape[1], np.int64))
    return reshape(rw, op.operands[0], (math.prod(shape[:2]), *shape[2:])), lengths


@TABLE("TensorListConcatLists", anything=True)
def concat_lists(op: Op, rw: Rewriter) -> Value:
    """The elements of two lists."""
    filled = [values for values in op.operands[:2] if shape_of(values, least=1)[0]]
    return op.operands[0] if not filled else rw.emit("top.Concat", *filled, axis=0) if len(filled) > 1 else filled[0]


@TABLE("TensorListSplit", anything=True)
def split(op: Op, rw: Rewriter) -> Value:
    """The list of a tensor's parts along its first dimension, of equal length."""
    return _parted(rw, op.operands[0], op.operands[2])


def _parted(rw: Rewriter, values: Value, lengths: Value) -> Value:
    sizes, shape = constant_ints(rw, lengths, "the lengths of the parts"), shape_of(values, least=1)
    if len(set(sizes)) > 1 or sum(sizes) != shape[0]:
        raise Unsupported(f"takes {shape[0]} rows apart into parts of {list(sizes)}",
                          "a list whose elements have several shapes is no tensor")
    return reshape(rw, values, (len(sizes), *sizes[:1], *shape[1:]))


@TABLE("TensorListScatter", "TensorListScatterV2", "TensorListScatterIntoExistingList", anything=True)
def scatter(op: Op, rw: Rewriter) -> Value:
    """A list, a new one or one that is there, with a tensor's slices at some indices."""
    if op.name == "tf.TensorListScatterIntoExistingList":
        values, items, indices = op.operands
        return _scattered(rw, values, indices, items)
    items, indices = op.operands[:2]
    known = np.asarray(rw.need_constant(indices, "the subscripts"))
    wanted = constant_int(rw, op.operands[3], "the number of elements") if op.name == "tf.TensorListScatterV2" else -1
    size = max(int(known.max(initial=-1)) + 1, wanted)
    need_place(size, *shape_of(items, least=1)[1:])
    return _scattered(rw, splat(rw, 0, (size, *shape_of(items)[1:]), items.element), indices, items)


def _scattered(rw: Rewriter, values: Value, indices: Value, items: Value) -> Value:
    known = rw.constant_of(indices)
    size, shape = shape_of(values, least=1, what="a list")[0], shape_of(items, least=1)
    if known is not None and np.array_equal(known.reshape(-1), tables.arange(size)) and shape[0] == size:
        return items
    if _is_open(values):
        values = splat(rw, 0, (size, *shape[1:]), items.element)
    return rw.emit("top.ScatterND", values, reshape(rw, indices, (shape[0], 1)), items)


@TABLE("TensorListElementShape", anything=True)
def element_shape(op: Op, rw: Rewriter) -> Value:
    """The shape of an element."""
    dtype = np.int64 if str(op.result.element) == "i64" else np.int32
    return rw.constant(np.array(shape_of(op.operands[0], least=1)[1:], dtype))


# --- TensorArrays: (handle, ..., flow)

@TABLE("TensorArrayV3", anything=True)
def array(op: Op, rw: Rewriter) -> tuple[Value, Value]:
    """A TensorArray of zeros: a handle, which says nothing, and its flow."""
    size = constant_count(rw, op.operands[0], "the number of elements")
    element = op.attribute("dtype")
    return rw.constant(np.zeros((), np.int32)), _empty(rw, size, shape_attribute_of(op.attribute("element_shape")), element)


@TABLE("TensorArrayWriteV3", anything=True)
def array_write(op: Op, rw: Rewriter) -> Value:
    """The flow with another element at an index."""
    _, index, item, flow = op.operands
    return _write(rw, flow, index, item)


@TABLE("TensorArrayReadV3", anything=True)
def array_read(op: Op, rw: Rewriter) -> Value:
    """The element at an index."""
    _, index, flow = op.operands
    return _read(rw, flow, index)


@TABLE("TensorArrayGatherV3", anything=True)
def array_gather(op: Op, rw: Rewriter) -> Value:
    """The elements at some indices, one behind the other."""
    _, indices, flow = op.operands
    return rw.emit("top.Gather", flow, indices, axis=0)


@TABLE("TensorArrayScatterV3", anything=True)
def array_scatter(op: Op, rw: Rewriter) -> Value:
    """The flow with other elements at some indices."""
    _, indices, items, flow = op.operands
    return _scattered(rw, flow, indices, items)


@TABLE("TensorArraySplitV3", anything=True)
def array_split(op: Op, rw: Rewriter) -> Value:
    """The flow of a tensor's parts along its first dimension, of equal length."""
    return _parted(rw, op.operands[1], op.operands[2])


@TABLE("TensorArrayConcatV3", anything=True)
def array_concat(op: Op, rw: Rewriter) -> tuple[Value, Value]:
    """All elements joined along their first dimension, and how long each is there."""
    shape = shape_of(op.operands[1], least=2)
    need_place(shape[0])
    lengths = rw.constant(tables.full(shape[0], shape[1], np.int64))
    return reshape(rw, op.operands[1], (math.prod(shape[:2]), *shape[2:])), lengths


@TABLE("TensorArraySizeV3", anything=True)
def array_size(op: Op, rw: Rewriter) -> Value:
    """How many elements there are."""
    return rw.constant(np.array(shape_of(op.operands[1], least=1)[0], np.int32))


@TABLE("TensorArrayCloseV3", anything=True)
def array_close(op: Op, rw: Rewriter) -> tuple[Value, ...]:
    """There is nothing to close."""
    return ()


