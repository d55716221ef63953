"""SLICE, STRIDED_SLICE, SPLIT, SPLIT_V, UNPACK."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import BOOL, F32, F64, I8, I16, I32, UI8, UI16, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.ops.movement import slice_range

from .common import axes_of, constant, emit, ints, reshape, static_shape
from .movement import moved

if TYPE_CHECKING:
    from transload_hub.ops.movement import Slice, Split, Unpack

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("top.Slice")
def slice_(op: Slice, rw: Rewriter) -> Value:
    """SLICE, or with steps STRIDED_SLICE, of up to 5 dimensions; more, one after the other by GATHER where they are stepped."""
    value, shape = moved(rw, op), static_shape(op.input)
    taken = [slice_range(*each) for each in zip(shape, op.offset, op.ends, op.steps, strict=True)]
    begins, sizes = [places.start for places in taken], [len(places) for places in taken]
    if all(places.step == 1 or len(places) <= 1 for places in taken):
        begins = [places[0] if len(places) else 0 for places in taken]
        return emit(rw, "slice", value, ints(rw, *begins), ints(rw, *sizes), like=op.output)
    if len(shape) <= 5:
        end_mask = sum(1 << axis for axis, places in enumerate(taken) if places.step < 0 and places.stop < 0)
        ends, steps = ints(rw, *(max(places.stop, 0) for places in taken)), ints(rw, *op.steps)
        return emit(rw, "strided_slice", value, ints(rw, *begins), ends, steps, like=op.output, end_mask=end_mask)
    for axis, places in enumerate(taken):
        if places != range(shape[axis]):
            made = (*static_shape(value)[:axis], len(places), *shape[axis + 1 :])
            value = emit(rw, "gather", value, ints(rw, *places), like=value, shape=made, axis=axis)
    return value


@TABLE("top.Split")
def split(op: Split, rw: Rewriter) -> Any:
    """SPLIT into equal pieces, SPLIT_V into others; SLICE of what those have no kernels of."""
    axis = axes_of((op.axis,), op.input.rank)[0]
    sizes, types = tuple(op.split_size), [result.type for result in op.outputs]
    value, dim = moved(rw, op), constant(rw, np.asarray(axis, np.int32))
    if len(types) == 1:
        return value
    if op.input.element in (BOOL, UI16, F64):
        starts = accumulate(sizes[:-1], initial=0)
        return [_piece(rw, value, axis, start, result) for start, result in zip(starts, op.outputs, strict=True)]
    if len(set(sizes)) == 1:
        return rw.emit("tfl.split", dim, value, types=types, num_splits=len(sizes))
    return rw.emit("tfl.split_v", value, ints(rw, *sizes), dim, types=types, num_splits=len(sizes))


_UNPACKED = (F32, I8, UI8, I16, I32, BOOL)
"""What UNPACK has kernels of (`unpack.cc`, Eval)."""


@TABLE("top.Unpack")
def unpack(op: Unpack, rw: Rewriter) -> Any:
    """UNPACK; of what that has no kernel of, as subscripts of 64 bits, SLICE and RESHAPE."""
    axis = axes_of((op.axis,), op.input.rank)[0]
    value, types = moved(rw, op), [result.type for result in op.outputs]
    if op.input.quant is not None or op.input.element in _UNPACKED:
        return rw.emit("tfl.unpack", value, types=types, axis=axis, num=len(types))
    shape = static_shape(op.input)
    sizes, pieces = ints(rw, *shape[:axis], 1, *shape[axis + 1 :]), []
    for place, result in enumerate(op.outputs):
        begins = ints(rw, *(place if dim == axis else 0 for dim in range(len(shape))))
        piece = emit(rw, "slice", value, begins, sizes, like=result, shape=(*shape[:axis], 1, *shape[axis + 1 :]))
        pieces.append(reshape(rw, piece, static_shape(result)))
    return pieces


def _piece(rw: Rewriter, value: Value, axis: int, start: int, like: Value) -> Value:
    begins = [start if place == axis else 0 for place in range(value.rank)]
    return emit(rw, "slice", value, ints(rw, *begins), ints(rw, *static_shape(like)), like=like)
