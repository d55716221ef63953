"""Operators that move elements: shape, order, joining, cutting, padding, space and depth.

They work on stored numbers as they are, quantized or not; where the quantized types of operands and result
differ, operands are rescaled to the result's first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import I32, FloatType, Op, QuantType, Value
from transload.rewrite import Rewriter, RewriteTable, Unsupported
from transload_hub import tables
from transload_hub.build import counted, need_place
from transload_hub.scales import quantize_float32

from ... import build
from ...dialect.base import storage_of
from ..arithmetic.rescaling import activation_range, fused_activation, quant, requantize
from .common import (
    MAX_RANK,
    along,
    binary,
    compare,
    concat,
    cut,
    filled,
    flat,
    gather_rows,
    normal_axes,
    normal_axis,
    pad,
    reshape,
    select,
    static_shape,
    transpose,
    typed,
)

if TYPE_CHECKING:
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
    from transload_hub.ops.space import BatchToSpace, Depth2Space, SpaceToBatch

__all__ = ["TABLE", "in_type"]

TABLE = RewriteTable()


def in_type(rw: Rewriter, x: Value, element: Any) -> Value:
    """`x` in the quantized type `element`; what is not quantized stays as it is."""
    if isinstance(element, QuantType) and quant(x) is not None and x.element != element:
        return requantize(rw, x, element)
    return x


# --- shape and order

@TABLE("top.Reshape", "top.Squeeze", "top.Unsqueeze")
def reshaped(op: Reshape | Squeeze | Unsqueeze, rw: Rewriter) -> Value:
    """RESHAPE to the inferred shape (tf.Reshape, lower_squeeze_op, lower_expand_dims)."""
    made = reshape(rw, op.operands[0], static_shape(op.result))
    return typed(rw, made, op.result.element)


@TABLE("top.Permute")
def permute(op: Permute, rw: Rewriter) -> Value:
    """TRANSPOSE (tf.Transpose); see `common.transpose` for high ranks."""
    made = transpose(rw, op.input, normal_axes(op.order, op.input.rank))
    return typed(rw, made, op.result.element)


@TABLE("top.Expand")
def expand(op: Expand, rw: Rewriter) -> Value:
    """RESHAPE to the result's rank, then TILE (tf.BroadcastTo has no lowering)."""
    shape = static_shape(op.result)
    x = reshape(rw, op.input, (1,) * (len(shape) - op.input.rank) + static_shape(op.input))
    made = _repeat(rw, x, [b if a == 1 else 1 for a, b in zip(static_shape(x), shape, strict=True)])
    return typed(rw, made, op.result.element)


@TABLE("top.Tile")
def tile(op: Tile, rw: Rewriter) -> Value:
    """TILE (tf.Tile)."""
    return _repeat(rw, op.input, op.tile)


def _repeat(rw: Rewriter, x: Value, multiples: Sequence[int]) -> Value:
    """`x` repeated along each dimension."""
    if x.rank <= MAX_RANK:
        return build.tile(rw, x, multiples)
    for axis, count in enumerate(multiples):
        if count != 1:
            x = along(rw, x, axis, lambda x, axis, count=count: build.tile(  # type: ignore[misc]
                rw, x, [count if dim == axis else 1 for dim in range(x.rank)]))
    return x


@TABLE("top.Reverse")
def reverse(op: Reverse, rw: Rewriter) -> Value:
    """REVERSE along each axis (lower_reversev2_op)."""
    x = op.input
    for axis in normal_axes(op.axes, x.rank):
        x = _turned(rw, x, axis)
    return typed(rw, x, op.result.element)


def _turned(rw: Rewriter, x: Value, axis: int) -> Value:
    if static_shape(x)[axis] == 1:
        return x
    return along(rw, x, axis, lambda x, axis: rw.emit("tosa.reverse", x, axis=axis))


@TABLE("top.ReverseSequence")
def reverse_sequence(op: ReverseSequence, rw: Rewriter) -> Value:
    """GATHER of row `t < length ? length - 1 - t : t` for each batch (tf.ReverseSequence has no lowering)."""
    x, rank = op.input, op.input.rank
    batch, time = normal_axis(op.batch_axis, rank), normal_axis(op.seq_axis, rank)
    shape = static_shape(x)
    order = (batch, time, *(dim for dim in range(rank) if dim not in (batch, time)))
    front = transpose(rw, x, order)
    rows = reshape(rw, front, (shape[batch], shape[time], math.prod(shape[dim] for dim in order[2:])))
    steps = build.const(rw, counted(shape[time], dtype=np.int32).reshape(1, -1))
    lengths = reshape(rw, build.cast(rw, op.lengths, I32), (shape[batch], 1))
    last = binary(rw, "sub", binary(rw, "sub", lengths, build.scalar(rw, 1, I32, 2)), steps)
    indices = select(rw, compare(rw, "Less", steps, lengths), last, steps)
    made = reshape(rw, gather_rows(rw, rows, indices), static_shape(front))
    return transpose(rw, made, [order.index(dim) for dim in range(rank)])


@TABLE("top.Roll")
def roll(op: Roll, rw: Rewriter) -> Value:
    """SLICE in two along each axis, and CONCAT the other way round."""
    x = op.input
    for axis, shift in zip(normal_axes(op.axes, x.rank), op.shifts, strict=True):
        size = static_shape(x)[axis]
        first = size - shift % size if size else 0
        if first not in (0, size):
            x = concat(rw, [cut(rw, x, axis, first, size - first), cut(rw, x, axis, 0, first)], axis)
    return x


# --- joining and cutting

@TABLE("top.Concat")
def concatenate(op: Concat, rw: Rewriter) -> Value:
    """CONCAT of all at once (lower_concatv2_op), operands of other scales rescaled, which that leaves out."""
    axis = normal_axis(op.axis, op.result.rank)
    element = op.result.element
    if isinstance(element, QuantType):
        bounds = activation_range(op)
        values = [
            requantize(rw, value, element, bounds) if _must_change(value, element, bounds) else value for value in op.inputs]
        return typed(rw, concat(rw, values, axis), element)
    return flat(rw, concat(rw, op.inputs, axis), lambda x: fused_activation(rw, x, op))


def _must_change(value: Value, element: QuantType, bounds: tuple[float, float]) -> bool:
    """Whether an operand has another quantized type than the result, or is to be clamped."""
    if element.per_tensor and not math.isinf(bounds[0]):
        return True
    held = quant(value)
    return held is not None and element.per_tensor and held != element


@TABLE("top.Pack")
def pack(op: Pack, rw: Rewriter) -> Value:
    """RESHAPE each to have the new dimension, then CONCAT (lower_pack_op joins along another one and transposes)."""
    axis = normal_axis(op.axis, op.result.rank)
    shape = list(static_shape(op.result))
    shape[axis] = 1
    values = [reshape(rw, in_type(rw, value, op.result.element), shape) for value in op.inputs]
    return typed(rw, concat(rw, values, axis), op.result.element)


def _pieces(op: Op, rw: Rewriter, x: Value, axis: int, sizes: Sequence[int]) -> list[Value]:
    """`x` cut along `axis` into pieces of these sizes."""
    made: list[Value] = []
    start = 0
    for size in sizes:
        if size:
            made.append(cut(rw, x, axis, start, size))
        else:
            shape = static_shape(x)
            made.append(filled(rw, (*shape[:axis], 0, *shape[axis + 1 :]), storage_of(x)))
        start += size
    return made


@TABLE("top.Split")
def split(op: Split, rw: Rewriter) -> list[Value]:
    """A SLICE for each piece (lower_split_op, lower_splitv_op)."""
    axis = normal_axis(op.axis, op.input.rank)
    pieces = _pieces(op, rw, op.input, axis, op.split_size)
    return [
        typed(rw, in_type(rw, piece, result.element), result.element)
        for piece, result in zip(pieces, op.results, strict=True)]


@TABLE("top.Unpack")
def unpack(op: Unpack, rw: Rewriter) -> list[Value]:
    """A SLICE of one place and a RESHAPE for each result; no transpose is needed (lower_unpack_op makes one)."""
    axis = normal_axis(op.axis, op.input.rank)
    pieces = _pieces(op, rw, op.input, axis, [1] * len(op.results))
    return [
        typed(rw, in_type(rw, reshape(rw, piece, static_shape(result)), result.element), result.element)
        for piece, result in zip(pieces, op.results, strict=True)]


@TABLE("top.Slice")
def slice_(op: Slice, rw: Rewriter) -> Value:
    """SLICE; with steps, see `_strided` (lower_strided_slice_op, which takes multiples of positive steps only)."""
    x = op.input
    shape, made = static_shape(x), static_shape(op.result)
    if 0 in made:
        return filled(rw, made, op.result.element)
    taken = [
        (min(offset, size - 1), step if count > 1 else 1)
        for size, offset, step, count in zip(shape, op.offset, op.steps, made, strict=True)]
    lows = [start if step > 0 else start + (count - 1) * step for (start, step), count in zip(taken, made, strict=True)]
    whole = [step == 1 for _, step in taken]
    if x.rank <= MAX_RANK:
        sizes = [count if all_ else size for count, size, all_ in zip(made, shape, whole, strict=True)]
        starts = [low if all_ else 0 for low, all_ in zip(lows, whole, strict=True)]
        x = build.slice_(rw, x, starts, sizes)
    else:
        for axis, count in enumerate(made):
            if whole[axis]:
                x = cut(rw, x, axis, lows[axis], count)
    for axis, ((_, step), count) in enumerate(zip(taken, made, strict=True)):
        if not whole[axis]:
            x = _strided(rw, x, axis, lows[axis], count, abs(step))
            x = _turned(rw, x, axis) if step < 0 else x
    return typed(rw, x, op.result.element)


def _strided(rw: Rewriter, x: Value, axis: int, start: int, count: int, step: int) -> Value:
    """Every `step`-th of dimension `axis`, `count` of them from `start` on.

    A window of `count * step` places is cut out, and read as rows of `step`, of which one column is taken.
    The window starts before `start` where it would end behind the dimension; where it is longer, x is padded.
    """
    shape = static_shape(x)
    if step == 1:
        return cut(rw, x, axis, start, count)
    size, window = shape[axis], count * step
    column = min(max(0, start + window - size), start, step - 1)
    first = start - column
    missing = max(0, first + window - size)
    x = pad(rw, cut(rw, x, axis, first, min(window, size - first)), axis, 0, missing, 0)
    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    rows = reshape(rw, x, (outer, count, step, inner))
    return reshape(rw, cut(rw, rows, 2, column, 1), (*shape[:axis], count, *shape[axis + 1 :]))


# --- padding

@TABLE("top.Pad")
def padding(op: Pad, rw: Rewriter) -> Value:
    """PAD with the zero point or value (tf.Pad, tf.PadV2); other modes by `_mirrored` (tf.MirrorPad has no lowering).

    Negative paddings are cut off first, but where the other end shows what they take away.
    """
    x = in_type(rw, op.input, op.result.element)
    rank = x.rank
    begins, ends = list(op.paddings[:rank]), list(op.paddings[rank:])
    for axis, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        size, first, last = static_shape(x)[axis], max(0, -begin), max(0, -end)
        begins[axis], ends[axis] = max(0, begin), max(0, end)
        if first == last == 0:
            continue
        if max(begin, end) > _shown(op.mode, size - first - last):
            x = _mirrored(rw, x, axis, begins[axis], ends[axis], op.mode)
            size, begins[axis], ends[axis] = size + begins[axis] + ends[axis], 0, 0
        x = cut(rw, x, axis, first, size - first - last)
    if op.mode == "constant":
        made = _pad_constant(op, rw, x, begins, ends)
    else:
        made = x
        for axis in range(rank):
            if begins[axis] or ends[axis]:
                made = _mirrored(rw, made, axis, begins[axis], ends[axis], op.mode)
    return typed(rw, made, op.result.element)


def _shown(mode: str, size: int) -> float:
    """By how much a mode can pad so many places."""
    return math.inf if mode == "constant" or (mode == "edge" and size) else max(size - (mode == "reflect"), 0)


def _pad_constant(op: Pad, rw: Rewriter, x: Value, begins: Sequence[int], ends: Sequence[int]) -> Value:
    number, given = _pad_number(op, rw), op.value
    if x.rank <= MAX_RANK:
        made = build.pad(rw, x, [n for pair in zip(begins, ends, strict=True) for n in pair], number or 0)
    else:
        made = x
        for axis, (before, after) in enumerate(zip(begins, ends, strict=True)):
            made = pad(rw, made, axis, before, after, number or 0)
    if number is not None or given is None:
        return made
    # The value is computed at run time: put where a constant mask says so.
    need_place(*(before + size + after for before, size, after in zip(begins, static_shape(x), ends, strict=True)))
    mask = tables.pad(tables.zeros(static_shape(x), np.bool_), list(zip(begins, ends, strict=True)), constant_values=True)
    value = reshape(rw, in_type(rw, given, op.result.element), (1,) * x.rank)
    return select(rw, build.const(rw, mask), value, made, element=made.element)


def _pad_number(op: Pad, rw: Rewriter) -> float | None:
    """The stored number to pad with; None where it is computed at run time."""
    element = op.result.element
    if op.value is None:
        return _stored_number(op.val, element)
    held = rw.constant_of(op.value)
    if held is None:
        return None
    number = held.reshape(-1)[0].item()
    own = quant(op.value)
    if own is None:
        return _stored_number(number, element) if isinstance(element, QuantType) else number
    return _stored_number((number - own.zero_point) * own.scale, element)


def _stored_number(real: float, element: Any) -> float:
    """A real number as it is stored in an element type."""
    if isinstance(element, QuantType):
        if not element.per_tensor:
            if real == 0 and not any(element.zero_points):
                return 0
            raise Unsupported("a tensor quantized per axis cannot be padded with one number other than 0")
        return quantize_float32(real, element)
    return real if isinstance(element, FloatType) else int(real)


def _mirrored(rw: Rewriter, x: Value, axis: int, before: int, after: int, mode: str) -> Value:
    """Padding along one axis by CONCAT: with REVERSEd SLICEs, or for `edge` with TILEs of the outermost places."""
    size = static_shape(x)[axis]
    if mode == "edge":
        def repeated(place: int, count: int) -> Value:
            multiples = [count if dim == axis else 1 for dim in range(x.rank)]
            return _repeat(rw, cut(rw, x, axis, place, 1), multiples)

        parts = [repeated(0, before) if before else None, x, repeated(size - 1, after) if after else None]
    else:
        skipped = 1 if mode == "reflect" else 0
        parts = [
            _turned(rw, cut(rw, x, axis, skipped, before), axis) if before else None, x,
            _turned(rw, cut(rw, x, axis, size - skipped - after, after), axis) if after else None]
    return concat(rw, [part for part in parts if part is not None], axis)


# --- space, depth and batch

@TABLE("top.Depth2Space")
def depth_to_space(op: Depth2Space, rw: Rewriter) -> Value:
    """RESHAPE, TRANSPOSE, RESHAPE (lower_depth_to_space_op, lower_space_to_depth_op; is_CRD orders the channels otherwise)."""
    n, h, w, c = static_shape(op.input)
    if op.layout == "NCHW":
        raise Unsupported("Depth2Space of layout NCHW cannot be lowered", "run the pass layout{to=NHWC} first")
    bh, bw = op.block_h, op.block_w
    if op.is_inversed:
        split_to = (n, h // bh, bh, w // bw, bw, c)
        order = (0, 1, 3, 5, 2, 4) if op.is_CRD else (0, 1, 3, 2, 4, 5)
    else:
        depth = c // (bh * bw)
        split_to = (n, h, w, depth, bh, bw) if op.is_CRD else (n, h, w, bh, bw, depth)
        order = (0, 1, 4, 2, 5, 3) if op.is_CRD else (0, 1, 3, 2, 4, 5)
    made = transpose(rw, reshape(rw, in_type(rw, op.input, op.result.element), split_to), order)
    return typed(rw, reshape(rw, made, static_shape(op.result)), op.result.element)


def _zero(x: Value) -> int:
    """The stored number that means 0."""
    type_ = quant(x)
    return 0 if type_ is None else type_.zero_point


@TABLE("top.SpaceToBatch")
def space_to_batch(op: SpaceToBatch, rw: Rewriter) -> Value:
    """PAD, RESHAPE, TRANSPOSE, RESHAPE (lower_space_to_batch_nd_op, whose third step must be a transpose)."""
    x, block = op.input, op.block_shape
    m = len(block)
    for i in range(m):
        x = pad(rw, x, 1 + i, op.pads[i], op.pads[m + i], _zero(x))
    shape = static_shape(x)
    parts = [size for i in range(m) for size in (shape[1 + i] // block[i], block[i])]
    rest = range(1 + 2 * m, len(shape) + m)
    order = (*range(2, 2 * m + 1, 2), 0, *range(1, 2 * m, 2), *rest)
    made = transpose(rw, reshape(rw, x, (shape[0], *parts, *shape[1 + m :])), order)
    return reshape(rw, made, static_shape(op.result))


@TABLE("top.BatchToSpace")
def batch_to_space(op: BatchToSpace, rw: Rewriter) -> Value:
    """RESHAPE, TRANSPOSE, RESHAPE, SLICE (lower_batch_to_space_nd_op, whose sizes of step 4 lack the tensor's own)."""
    x, block = op.input, op.block_shape
    m, shape = len(block), static_shape(x)
    batch = shape[0] // math.prod(block)
    order = (m, *(dim for i in range(m) for dim in (m + 1 + i, i)), *range(2 * m + 1, len(shape) + m))
    made = transpose(rw, reshape(rw, x, (*block, batch, *shape[1:])), order)
    made = reshape(rw, made, (batch, *(shape[1 + i] * block[i] for i in range(m)), *shape[1 + m :]))
    for i in range(m):
        made = cut(rw, made, 1 + i, op.crops[i], shape[1 + i] * block[i] - op.crops[i] - op.crops[m + i])
    return made
