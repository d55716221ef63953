"""SLICE, STRIDED_SLICE and DYNAMIC_UPDATE_SLICE."""

from __future__ import annotations

import math

import numpy as np

from transload.errors import Unsupported
from transload.ir import Op, Value
from transload.rewrite import Rewriter, RewriteTable

from .common import constant_ints, emit_like, limited, static_shape

TABLE = RewriteTable()


@TABLE("tfl.slice")
def slice_(op: Op, rw: Rewriter) -> Value:
    """SLICE: a size of -1 is all that follows."""
    value = op.operands[0]
    sizes = static_shape(value, "the input")
    begins = constant_ints(rw, op.operands[1], "the begin of the slice")
    wanted = constant_ints(rw, op.operands[2], "the size of the slice")
    if len(begins) != len(sizes) or len(wanted) != len(sizes):
        raise Unsupported(f"begin {list(begins)} and size {list(wanted)} do not fit a tensor of shape {list(sizes)}")
    ends = tuple(size if want == -1 else begin + want for size, begin, want in zip(sizes, begins, wanted, strict=True))
    if any(not 0 <= begin <= end <= size for begin, end, size in zip(begins, ends, sizes, strict=True)):
        raise Unsupported(f"begin {list(begins)} and size {list(wanted)} reach outside a tensor of shape {list(sizes)}")
    return emit_like(rw, op, "top.Slice", value, offset=begins, ends=ends, steps=(1,) * len(sizes))


@TABLE("tfl.strided_slice")
def strided_slice(op: Op, rw: Rewriter) -> Value:
    """STRIDED_SLICE with all its masks: a slice of each dimension, then a reshape where dimensions come or go."""
    value = op.operands[0]
    sizes = static_shape(value, "the input")
    begins, ends, strides = (
        constant_ints(rw, operand, f"the {what} of the slice")
        for operand, what in zip(op.operands[1:], ("begin", "end", "stride"), strict=True))
    if not len(begins) == len(ends) == len(strides):
        raise Unsupported(f"begin {list(begins)}, end {list(ends)} and strides {list(strides)} differ in length")
    if op.attribute("offset"):
        ends = tuple(begin + length for begin, length in zip(begins, ends, strict=True))
    ranges, shape = _resolve(op, sizes, begins, ends, strides)
    part = value
    if any(taken != range(size) for taken, size in zip(ranges, sizes, strict=True)):
        part = emit_like(
            rw, op, "top.Slice", value, offset=tuple(taken.start for taken in ranges), ends=tuple(taken.stop for taken in ranges),
            steps=tuple(taken.step for taken in ranges))
    if shape == tuple(len(taken) for taken in ranges):
        return part
    return emit_like(rw, op, "top.Reshape", part, shape=shape)


def _resolve(
    op: Op, sizes: tuple[int, ...], begins: tuple[int, ...], ends: tuple[int, ...], strides: tuple[int, ...],
) -> tuple[list[range], tuple[int, ...]]:
    """For each dimension of the input what is taken of it, and the result's shape.

    Entry i of the specification is for the next dimension of the input, unless a mask says that it stands for
    all dimensions the others leave (`ellipsis`), or adds a dimension (`new_axis`). What is left out at the end
    is taken whole. Source: `tensorflow/lite/kernels/strided_slice.cc` and `strided_slice_logic.h`.
    """
    masks = {name: op.attribute(f"{name}_mask") for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")}

    def has(mask: str, index: int) -> bool:
        return bool(masks[mask] >> index & 1)

    n = len(begins)
    ellipses = [i for i in range(n) if has("ellipsis", i)]
    if len(ellipses) > 1:
        raise Unsupported("the ellipsis mask has more than one bit")
    used = sum(not has("ellipsis", i) and not has("new_axis", i) for i in range(n))
    if used > len(sizes):
        raise Unsupported(f"the slice has {used} entries for the {len(sizes)} dimensions of its input")
    ranges: list[range] = []
    shape: list[int] = []

    def whole(count: int) -> None:
        for _ in range(count):
            size = sizes[len(ranges)]
            ranges.append(range(size))
            shape.append(size)

    for i in range(n):
        if has("ellipsis", i):
            whole(len(sizes) - used)
        elif has("new_axis", i):
            shape.append(1)
        else:
            taken = _taken(
                sizes[len(ranges)], begins[i], ends[i], strides[i], has("begin", i), has("end", i), has("shrink_axis", i))
            ranges.append(taken)
            if not has("shrink_axis", i):
                shape.append(len(taken))
    whole(len(sizes) - len(ranges))
    return ranges, tuple(shape)


def _taken(size: int, begin: int, end: int, stride: int, open_begin: bool, open_end: bool, shrink: bool) -> range:
    """The subscripts that one entry takes; Python's slice rules, negative subscripts counting from the end."""
    if shrink:
        place = begin + size if begin < 0 else begin
        if not 0 <= place < size:
            raise Unsupported(f"element {begin} is outside a dimension of size {size}")
        return range(place, place + 1, 1)
    if stride == 0:
        raise Unsupported("a stride is 0")
    start, stop, step = slice(None if open_begin else begin, None if open_end else end, stride).indices(size)
    return range(max(start, 0), stop, step) if len(range(start, stop, step)) else range(0, 0, 1)


@TABLE("tfl.dynamic_update_slice")
def dynamic_update_slice(op: Op, rw: Rewriter) -> Value:
    """DYNAMIC_UPDATE_SLICE: the start is moved so that the update fits, then its elements are written one by one."""
    value, update, start = op.operands
    sizes, part = static_shape(value, "the operand"), static_shape(update, "the update")
    if len(sizes) != len(part) or any(small > size for small, size in zip(part, sizes, strict=True)):
        raise Unsupported(f"an update of shape {list(part)} does not fit into {list(sizes)}")
    limited(math.prod(part), "the size of the update")
    room = np.asarray([size - small for size, small in zip(sizes, part, strict=True)])
    dtype = np.int64 if str(start.element) == "i64" else np.int32
    below = rw.emit("top.Min", start, rw.constant(room.astype(dtype)))
    inside = rw.emit("top.Max", below, rw.constant(np.zeros_like(room, dtype)))
    grid = np.stack(np.meshgrid(*map(np.arange, part), indexing="ij"), axis=-1).astype(dtype)
    places = rw.emit("top.Add", inside, rw.constant(grid))
    return emit_like(rw, op, "top.ScatterND", value, places, update)
