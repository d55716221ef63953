"""Slices as TensorFlow, TFLite and Python have them: begins, ends, strides and masks, some numbers known only at run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from transload.errors import Unsupported
from transload.ir import Type, Value, dtype_of
from transload.ir.build import Builder, constant_of
from transload_hub import tables
from transload_hub.build import counted

__all__ = ["Entry", "Masks", "Strided", "entries", "plain_slice", "resolved", "strided_slice", "update_slice"]

Entry = int | Value
"""One number of a begin or end: known, or a tensor of one integer that is computed at run time."""


@dataclass(frozen=True)
class Masks:
    """Bit i of each says something of entry i of a slice."""

    begin: int = 0
    """Its begin is left open."""
    end: int = 0
    """Its end is left open."""
    ellipsis: int = 0
    """It stands for all dimensions that the others leave."""
    new_axis: int = 0
    """It adds a dimension of size 1."""
    shrink_axis: int = 0
    """It takes one element, and the dimension goes."""


@dataclass(frozen=True)
class Strided:
    """The numbers of a strided slice; with `from_begin`, an end is a length that counts from its begin (LiteRT's `offset`)."""

    begins: Sequence[Entry]
    ends: Sequence[Entry]
    strides: Sequence[int]
    masks: Masks
    from_begin: bool = False

    def has(self, mask: str, index: int) -> bool:
        return bool(getattr(self.masks, mask) >> index & 1)


def entries(build: Builder, value: Value, what: str) -> list[Entry]:
    """The numbers of a vector one by one; those of a vector that is put together may be known each by itself."""
    held = constant_of(value)
    if held is not None:
        array = np.asarray(held.numpy())
        if array.dtype.kind not in "iu":
            raise Unsupported(f"{what} must be integers, and are {array.dtype}")
        return list(array.reshape(-1).tolist())
    maker = value.op
    if maker is not None and maker.name == "top.Pack" and value.rank == 1:
        known = (constant_of(operand) for operand in maker.operands)
        return [operand if dense is None else int(dense.numpy()) for dense, operand in zip(known, maker.operands, strict=True)]
    shape = value.known_shape
    if shape is None or len(shape) != 1:
        raise Unsupported(f"{what} must be a vector, and is {value.type}")
    return [build.emit("top.Slice", value, offset=(i,), ends=(i + 1,), steps=(1,)) for i in range(shape[0])]


def plain_slice(
    build: Builder, value: Value, begins: Sequence[Entry], wanted: Sequence[int], element: Type | None = None,
) -> Value:
    """So many elements of each dimension from a begin; -1 is all that follows. A begin known at run time needs a number.

    Raises `Unsupported` for what reaches outside. The result has the element type `element`, where one is given.
    """
    sizes = value.tensor_type.static_shape
    if len(begins) != len(sizes) or len(wanted) != len(sizes):
        raise Unsupported(f"begin of {len(begins)} and size of {len(wanted)} do not fit a tensor of shape {list(sizes)}")
    starts: dict[int, tuple[Value, int]] = {}
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
    part = build.emit("top.Slice", value, offset=tuple(known), ends=ends, steps=(1,) * len(sizes), element=element)
    return _gathered(build, part, starts, element)


def strided_slice(build: Builder, value: Value, given: Strided, element: Type | None = None) -> Value:
    """A slice with masks: one of each dimension, then a reshape where dimensions come or go; `Unsupported` for what is none."""
    sizes = value.tensor_type.static_shape
    if not len(given.begins) == len(given.ends) == len(given.strides):
        raise Unsupported(
            f"begin, end and strides of the slice have {len(given.begins)}, {len(given.ends)} and {len(given.strides)} numbers")
    if given.from_begin and any(isinstance(number, Value) for number in (*given.begins, *given.ends)):
        raise Unsupported("the begin and the length of the slice must be constants, and are computed at run time")
    taken, shape = resolved(given, sizes)
    ranges = [range(size) if isinstance(part, Value) else part for part, size in zip(taken, sizes, strict=True)]
    part = value
    if any(kept != range(size) for kept, size in zip(ranges, sizes, strict=True)):
        part = build.emit(
            "top.Slice", value, offset=tuple(kept.start for kept in ranges), ends=tuple(kept.stop for kept in ranges),
            steps=tuple(kept.step for kept in ranges), element=element)
    starts = {axis: (start, 1) for axis, start in enumerate(taken) if isinstance(start, Value)}
    part = _gathered(build, part, starts, element)
    if shape == tuple(1 if axis in starts else len(kept) for axis, kept in enumerate(ranges)):
        return part
    return build.emit("top.Reshape", part, shape=shape, element=element)


def _gathered(build: Builder, value: Value, starts: Mapping[int, tuple[Value, int]], element: Type | None) -> Value:
    """Of some dimensions, so many elements from a start that is computed at run time."""
    for axis, (start, count) in starts.items():
        first = build.emit("top.Reshape", start, shape=(1,))
        places = first
        if count > 1:
            places = build.emit("top.Add", first, build.constant(counted(count, dtype=dtype_of(start.element))))
        value = build.emit("top.Gather", value, places, axis=axis, element=element)
    return value


def resolved(given: Strided, sizes: Sequence[int]) -> tuple[list[range | Value], tuple[int, ...]]:
    """For each dimension of the input what is taken of it, or the one place of it, and the result's shape.

    Entry i of the specification is for the next dimension of the input, unless a mask says that it stands for
    all dimensions the others leave (`ellipsis`), or adds a dimension (`new_axis`). What is left out at the end
    is taken whole. Source: `tensorflow/lite/kernels/strided_slice.cc` and `strided_slice_logic.h`.
    """
    n = len(given.begins)
    if sum(given.has("ellipsis", i) for i in range(n)) > 1:
        raise Unsupported("the ellipsis mask has more than one bit")
    used = sum(not given.has("ellipsis", i) and not given.has("new_axis", i) for i in range(n))
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
        if given.has("ellipsis", i):
            whole(len(sizes) - used)
        elif given.has("new_axis", i):
            shape.append(1)
        else:
            size, begin, end, opened = sizes[len(ranges)], given.begins[i], given.ends[i], given.has("begin", i)
            if given.from_begin and not given.has("shrink_axis", i):
                begin, end = _from_length(size, begin, end, given.strides[i], opened, given.has("end", i))  # type: ignore[arg-type]
                opened = False
            taken = _taken(size, begin, end, given.strides[i], opened, given.has("end", i), given.has("shrink_axis", i))
            ranges.append(taken)
            if not given.has("shrink_axis", i):
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
            raise Unsupported(f"one element is taken by steps of {stride}, which is read from outside the tensor")
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


def update_slice(build: Builder, value: Value, update: Value, start: Value, element: Type | None = None) -> Value:
    """A tensor with a part written anew; its start [rank] is moved so that the update fits. `Unsupported` where it never does."""
    sizes, part = value.tensor_type.static_shape, update.tensor_type.static_shape
    if len(sizes) != len(part) or any(small > size for small, size in zip(part, sizes, strict=True)):
        raise Unsupported(f"an update of shape {list(part)} does not fit into {list(sizes)}")
    room = np.asarray([size - small for size, small in zip(sizes, part, strict=True)])
    dtype = np.int64 if str(start.element) == "i64" else np.int32
    below = build.emit("top.Min", start, build.constant(room.astype(dtype)))
    inside = build.emit("top.Max", below, build.constant(np.zeros_like(room, dtype)))
    grid = np.stack(tables.meshgrid(*map(np.arange, part), indexing="ij"), axis=-1).astype(dtype)
    places = build.emit("top.Add", inside, build.constant(grid))
    return build.emit("top.ScatterND", value, places, update, element=element)
