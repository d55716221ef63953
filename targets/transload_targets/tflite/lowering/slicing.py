"""SLICE, STRIDED_SLICE, SPLIT, SPLIT_V."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import BOOL, F64, UI16, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.ops.movement import slice_range

from .common import axes_of, constant, emit, ints, static_shape
from .movement import moved

if TYPE_CHECKING:
    from transload_hub.ops.movement import Slice, Split

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


def _piece(rw: Rewriter, value: Value, axis: int, start: int, like: Value) -> Value:
    begins = [start if place == axis else 0 for place in range(value.rank)]
    return emit(rw, "slice", value, ints(rw, *begins), ints(rw, *static_shape(like)), like=like)
