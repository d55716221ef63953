"""Ops that move elements and compute nothing: shape, order, joining, splitting, padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from transload.ir import BOOL, I32, I64, FloatType, Type, Value
from transload.ir.build import Builder
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.ops.movement import slice_range

from .. import build
from ..build import binary, compare, select
from .common import activated, normal_axes, normal_axis, static_shape
from .gather import take_along

if TYPE_CHECKING:
    from transload_hub.ops.constant import Input
    from transload_hub.ops.movement import (
        Concat,
        Expand,
        Pack,
        Pad,
        Permute,
        Reshape,
        Reverse,
        ReverseSequence,
        Roll,
        Slice,
        Split,
        Squeeze,
        Tile,
        Unpack,
        Unsqueeze,
    )

__all__ = ["TABLE", "padded"]

TABLE = RewriteTable()


@TABLE("top.Input")
def identity(op: Input, rw: Rewriter) -> Value:
    return op.input


@TABLE("top.Reshape", "top.Squeeze", "top.Unsqueeze")
def reshape(op: Reshape | Squeeze | Unsqueeze, rw: Rewriter) -> Value:
    return build.reshape(rw, op.input, static_shape(op.result))


@TABLE("top.Permute")
def permute(op: Permute, rw: Rewriter) -> Value:
    return build.transpose(rw, op.input, normal_axes(op.order, op.input.rank))


@TABLE("top.Expand")
def expand(op: Expand, rw: Rewriter) -> Value:
    return build.broadcast(rw, op.input, static_shape(op.result))


@TABLE("top.Tile")
def tile(op: Tile, rw: Rewriter) -> Value:
    return repeated(rw, op.input, op.tile)


def repeated(rw: Builder, x: Value, times: Sequence[int], inner: bool = False) -> Value:
    """`x` repeated along each dimension: as a whole, or (`inner`) each element by itself."""
    shape = static_shape(x)
    if all(number == 1 for number in times):
        return x
    pairs = [(size, number) if inner else (number, size) for size, number in zip(shape, times, strict=True)]
    wide = [size for pair in pairs for size in pair]
    y = build.spread(rw, x, wide, [2 * axis + (0 if inner else 1) for axis in range(len(shape))])
    return build.reshape(rw, y, [a * b for a, b in pairs])


# --- joining and splitting


@TABLE("top.Concat")
def concat(op: Concat, rw: Rewriter) -> Value:
    """concatenate, empty operands left out."""
    axis = normal_axis(op.axis, op.inputs[0].rank)
    parts = [value for value in op.inputs if static_shape(value)[axis]] or [op.inputs[0]]
    parts = [build.convert(rw, part, op.result.element) for part in parts]
    return activated(rw, op, build.concat(rw, parts, axis))


@TABLE("top.Split")
def split(op: Split, rw: Rewriter) -> list[Value]:
    axis = normal_axis(op.axis, op.input.rank)
    starts = [sum(op.split_size[:i]) for i in range(len(op.split_size))]
    return [build.cut(rw, op.input, axis, start, size) for start, size in zip(starts, op.split_size, strict=True)]


@TABLE("top.Pack")
def pack(op: Pack, rw: Rewriter) -> Value:
    shape = static_shape(op.inputs[0])
    axis = normal_axis(op.axis, len(shape) + 1)
    parts = [build.reshape(rw, value, (*shape[:axis], 1, *shape[axis:])) for value in op.inputs]
    return build.concat(rw, parts, axis)


@TABLE("top.Unpack")
def unpack(op: Unpack, rw: Rewriter) -> list[Value]:
    shape = static_shape(op.input)
    axis = normal_axis(op.axis, len(shape))
    rest = shape[:axis] + shape[axis + 1 :]
    return [build.reshape(rw, build.cut(rw, op.input, axis, i, 1), rest) for i in range(shape[axis])]


@TABLE("top.Slice")
def slice_(op: Slice, rw: Rewriter) -> Value:
    """slice; along dimensions with a negative step the same elements from the front, then reversed."""
    shape = static_shape(op.input)
    taken = [slice_range(*part) for part in zip(shape, op.offset, op.ends, op.steps, strict=True)]
    forward = [part if part.step > 0 else part[::-1] for part in taken]
    starts = [part.start if part else 0 for part in forward]
    limits = [part[-1] + 1 if part else 0 for part in forward]
    y = build.slice_(rw, op.input, starts, limits, [part.step if len(part) > 1 else 1 for part in forward])
    return build.reverse(rw, y, [axis for axis, part in enumerate(taken) if part.step < 0])


# --- padding


def number_of(real: float, element: Type) -> float | int | bool:
    """A real number as one of an element type, as a cast gives it."""
    if isinstance(element, FloatType):
        return real
    return bool(real) if element == BOOL else int(real)


@TABLE("top.Pad")
def pad(op: Pad, rw: Rewriter) -> Value:
    x, n = op.input, op.input.rank
    low, high = op.paddings[:n], op.paddings[n:]
    if op.mode != "constant":
        return padded(rw, x, low, high, op.mode)
    if op.value is None:
        return build.pad(rw, x, low, high, build.scalar(rw, number_of(op.val, x.element), x.element))
    value = build.convert(rw, build.reshape(rw, op.value, ()), x.element)
    return build.pad(rw, x, low, high, value)


def padded(rw: Builder, x: Value, low: Sequence[int], high: Sequence[int], mode: str) -> Value:
    """`x` with its own elements around it: `edge` the outermost, `reflect` and `symmetric` mirrored, without and with it."""
    for axis in range(x.rank):
        size = static_shape(x)[axis]
        parts = [x]
        for side, count in enumerate((low[axis], high[axis])):
            if count <= 0:
                continue
            if mode == "edge":
                outer = build.cut(rw, x, axis, 0 if side == 0 else size - 1, 1)
                shape = list(static_shape(outer))
                shape[axis] = count
                border = build.broadcast(rw, outer, shape)
            else:
                border = _mirrored(rw, x, axis, count, side, 1 if mode == "reflect" else 0)
            parts.insert(0 if side == 0 else len(parts), border)
        x = build.concat(rw, parts, axis)
    cut_low, cut_high = [-min(count, 0) for count in low], [-min(count, 0) for count in high]
    limits = [size - count for size, count in zip(static_shape(x), cut_high, strict=True)]
    return build.slice_(rw, x, cut_low, limits)


def _mirrored(rw: Builder, x: Value, axis: int, count: int, side: int, gap: int) -> Value:
    """`count` elements from a side on, in reverse order, the first `gap` of them left out."""
    start = gap if side == 0 else static_shape(x)[axis] - gap - count
    return build.reverse(rw, build.cut(rw, x, axis, start, count), (axis,))


# --- order


@TABLE("top.Reverse")
def reverse(op: Reverse, rw: Rewriter) -> Value:
    return build.reverse(rw, op.input, normal_axes(op.axes, op.input.rank))


@TABLE("top.ReverseSequence")
def reverse_sequence(op: ReverseSequence, rw: Rewriter) -> Value:
    """Elements taken from place `length - 1 - t` where t is below the length, from t elsewhere."""
    shape = static_shape(op.input)
    seq, batch = normal_axis(op.seq_axis, len(shape)), normal_axis(op.batch_axis, len(shape))
    lengths = build.convert(rw, op.lengths, I64)
    lengths = build.spread(rw, build.clamp(rw, lengths, 0, shape[seq]), shape, (batch,))
    return take_along(rw, op.input, reversed_places(rw, shape, seq, lengths), seq)


def reversed_places(rw: Builder, shape: Sequence[int], seq: int, lengths: Value) -> Value:
    """For each element, the place along `seq` that takes its own when the first `lengths` are turned round."""
    time = build.iota(rw, shape, seq, lengths.element)
    turned = binary(rw, "subtract", binary(rw, "subtract", lengths, 1), time)
    places = select(rw, compare(rw, "LT", time, lengths), turned, time)
    return build.convert(rw, places, I32) if lengths.element == I64 and shape[seq] < 1 << 31 else places


@TABLE("top.Roll")
def roll(op: Roll, rw: Rewriter) -> Value:
    """The last elements in front of the others, along each axis."""
    x = op.input
    for shift, axis in zip(op.shifts, normal_axes(op.axes, x.rank), strict=True):
        size = static_shape(x)[axis]
        moved = shift % size if size else 0
        if moved:
            tail, head = build.cut(rw, x, axis, size - moved, moved), build.cut(rw, x, axis, 0, size - moved)
            x = build.concat(rw, (tail, head), axis)
    return x
