"""SLICE, STRIDED_SLICE and DYNAMIC_UPDATE_SLICE."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from transload.errors import Unsupported
from transload.ir import Op, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable

from .common import constant_ints, emit_like, limited, static_shape
from .storage import moves_stored

TABLE = RewriteTable()


Entry = int | Value
"""One number of a begin or end: known, or a tensor of one integer that is computed at run time."""


def _entries(rw: Rewriter, value: Value, what: str) -> list[Entry]:
    """The numbers of a vector one by one; those of a vector that is put together may be known each by itself."""
    if rw.constant_of(value) is not None:
        return list(constant_ints(rw, value, what))
    maker = value.op
    if maker is not None and maker.name == "top.Pack" and value.rank == 1:
        held = (rw.constant_of(operand) for operand in maker.operands)
        return [operand if array is None else int(array) for array, operand in zip(held, maker.operands, strict=True)]
    [count] = static_shape(value, what, 1)
    return [rw.emit("top.Slice", value, offset=(i,), ends=(i + 1,), steps=(1,)) for i in range(count)]


def _gathered(op: Op, rw: Rewriter, value: Value, starts: dict[int, tuple[Value, int]]) -> Value:
    """Of some dimensions, so many elements from a start that is computed at run time."""
    for axis, (start, count) in starts.items():
        first = rw.emit("top.Reshape", start, shape=(1,))
        places = rw.emit("top.Add", first, rw.constant(np.arange(count, dtype=dtype_of(start.element)))) if count > 1 else first
        value = emit_like(rw, op, "top.Gather", value, places, axis=axis)
    return value


@TABLE("tfl.slice")
@moves_stored
def slice_(op: Op, rw: Rewriter) -> Value:
    """SLICE: a size of -1 is all that follows. A begin that is computed at run time needs a size that is not."""
    value = op.operands[0]
    sizes = static_shape(value, "the input")
    begins = _entries(rw, op.operands[1], "the begin of the slice")
    wanted = constant_ints(rw, op.operands[2], "the size of the slice")
    if len(begins) != len(sizes) or len(wanted) != len(sizes):
        raise Unsupported(f"begin of {len(begins)} and size of {len(wanted)} do not fit a tensor of shape {list(sizes)}")
    starts = {}
    for axis, (size, begin, want) in enumerate(zip(sizes, begins, wanted, strict=True)):
        if isinstance(begin, Value):
            if want == -1:
                raise Unsupported("the begin of the slice must be a constant where its size is all that follows")
            if want != size:  # of all elements, the begin can only be 0
                starts[axis] = (begin, want)
    known = [0 if isinstance(begin, Value) else begin for begin in begins]
    ends = tuple(
        size if want == -1 or axis in starts else begin + want
        for axis, (size, begin, want) in enumerate(zip(sizes, known, wanted, strict=True)))
    if any(not 0 <= begin <= end <= size for begin, end, size in zip(known, ends, sizes, strict=True)) or any(
            not 0 <= count <= sizes[axis] for axis, (_, count) in starts.items()):
        raise Unsupported(f"begin {known} and size {list(wanted)} reach outside a tensor of shape {list(sizes)}")
    part = emit_like(rw, op, "top.Slice", value, offset=tuple(known), ends=ends, steps=(1,) * len(sizes))
    return _gathered(op, rw, part, starts)


@TABLE("tfl.strided_slice")
@moves_stored
def strided_slice(op: Op, rw: Rewriter) -> Value:
    """STRIDED_SLICE with all its masks: a slice of each dimension, then a reshape where dimensions come or go."""
    value = op.operands[0]
    sizes = static_shape(value, "the input")
    begins = _entries(rw, op.operands[1], "the begin of the slice")
    ends = _entries(rw, op.operands[2], "the end of the slice")
    strides = constant_ints(rw, op.operands[3], "the stride of the slice")
    if not len(begins) == len(ends) == len(strides):
        raise Unsupported(f"begin, end and strides of the slice have {len(begins)}, {len(ends)} and {len(strides)} numbers")
    if op.attribute("offset") and any(isinstance(number, Value) for number in (*begins, *ends)):
        raise Unsupported("the begin and the length of the slice must be constants, and are computed at run time")
    taken, shape = _resolve(op, sizes, begins, ends, strides)
    ranges = [range(size) if isinstance(part, Value) else part for part, size in zip(taken, sizes, strict=True)]
    part = value
    if any(kept != range(size) for kept, size in zip(ranges, sizes, strict=True)):
        part = emit_like(
            rw, op, "top.Slice", value, offset=tuple(kept.start for kept in ranges), ends=tuple(kept.stop for kept in ranges),
            steps=tuple(kept.step for kept in ranges))
    starts = {axis: (start, 1) for axis, start in enumerate(taken) if isinstance(start, Value)}
    part = _gathered(op, rw, part, starts)
    if shape == tuple(1 if axis in starts else len(kept) for axis, kept in enumerate(ranges)):
        return part
    return emit_like(rw, op, "top.Reshape", part, shape=shape)


def _resolve(
    op: Op, sizes: tuple[int, ...], begins: Sequence[Entry], ends: Sequence[Entry], strides: Sequence[int],
) -> tuple[list[range | Value], tuple[int, ...]]:
    """For each dimension of the input what is taken of it, or the one place of it, and the result's shape.

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
    ranges: list[range | Value] = []
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
            size, begin, end, opened = sizes[len(ranges)], begins[i], ends[i], has("begin", i)
            if op.attribute("offset") and not has("shrink_axis", i):
                begin, end = _from_length(size, begin, end, strides[i], opened, has("end", i))  # type: ignore[arg-type]
                opened = False
            taken = _taken(size, begin, end, strides[i], opened, has("end", i), has("shrink_axis", i))
            ranges.append(taken)
            if not has("shrink_axis", i):
                shape.append(len(taken))  # type: ignore[arg-type]
    whole(len(sizes) - len(ranges))
    return ranges, tuple(shape)


def _from_length(size: int, begin: int, length: int, stride: int, open_begin: bool, open_end: bool) -> tuple[int, int]:
    """Begin and end of an entry that gives its length for its end.

    LiteRT reads what was never written for those that reach outside, run the other way, or have an open end: they are refused.
    """
    if open_begin:
        begin = 0 if stride > 0 else size - 1
    first = begin + size if begin < 0 else begin
    last = first + length
    if open_end or length * stride <= 0 or not (0 <= first <= size and 0 <= last <= size):
        raise Unsupported(f"begin {begin} and length {length} by steps of {stride} are no part of a dimension of size {size}")
    return first, last


def _taken(size: int, begin: Entry, end: Entry, stride: int, open_begin: bool, open_end: bool, shrink: bool) -> range | Value:
    """The subscripts that one entry takes; Python's slice rules, negative subscripts counting from the end."""
    if shrink:
        if stride < 1:
            raise Unsupported(f"one element is taken by steps of {stride}, which LiteRT reads from outside the tensor")
        if isinstance(begin, Value):
            return begin
        place = begin + size if begin < 0 else begin
        if not 0 <= place < size:
            raise Unsupported(f"element {begin} is outside a dimension of size {size}")
        return range(place, place + 1, 1)
    if stride == 0:
        raise Unsupported("a stride is 0")
    for number, open_side, what in ((begin, open_begin, "begin"), (end, open_end, "end")):
        if isinstance(number, Value) and not open_side:
            raise Unsupported(f"the {what} of the slice must be a constant, and is computed at run time")
    start, stop, step = slice(None if open_begin else begin, None if open_end else end, stride).indices(size)
    return range(max(start, 0), stop, step) if len(range(start, stop, step)) else range(0, 0, 1)


@TABLE("tfl.dynamic_update_slice")
@moves_stored
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
