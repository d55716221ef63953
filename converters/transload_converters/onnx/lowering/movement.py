"""Ops that move elements and compute nothing: shape, order, joining, splitting, padding, blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from transload.ir import I64, FloatType, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable

from .common import cast, constant, emit, finish, ints, need_channels_second, static_shape, transposed
from .constant import reshaped

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

__all__ = ["TABLE"]

TABLE = RewriteTable()

PAST_THE_FRONT = -(1 << 63)
"""The end of a slice that goes down to element 0, which ONNX would otherwise count from the end."""
PAST_THE_END = (1 << 63) - 1


@TABLE("top.Reshape")
def reshape(op: Reshape, rw: Rewriter) -> Value:
    wanted = tuple(op.attribute("shape"))
    return emit(rw, "Reshape", op.input, ints(rw, wanted), like=op.result, element=op.input.element,
                allowzero=1 if 0 in wanted else None)


@TABLE("top.Squeeze")
def squeeze(op: Squeeze, rw: Rewriter) -> Value:
    return emit(rw, "Squeeze", op.input, ints(rw, op.axes), like=op.result)


@TABLE("top.Unsqueeze")
def unsqueeze(op: Unsqueeze, rw: Rewriter) -> Value:
    return emit(rw, "Unsqueeze", op.input, ints(rw, op.axes), like=op.result)


@TABLE("top.Permute")
def permute(op: Permute, rw: Rewriter) -> Value:
    rank = len(op.order)
    return transposed(rw, op.input, [axis % rank for axis in op.order])


@TABLE("top.Expand")
def expand(op: Expand, rw: Rewriter) -> Value:
    return emit(rw, "Expand", op.input, ints(rw, op.attribute("shape")), like=op.result)


@TABLE("top.Tile")
def tile(op: Tile, rw: Rewriter) -> Value:
    return emit(rw, "Tile", op.input, ints(rw, op.tile), like=op.result)


@TABLE("top.Concat")
def concat(op: Concat, rw: Rewriter) -> Value:
    return finish(rw, op, emit(rw, "Concat", *op.inputs, like=op.result, axis=op.axis))


@TABLE("top.Split")
def split(op: Split, rw: Rewriter) -> Sequence[Value]:
    return _pieces(rw, op.input, op.split_size, op.axis, op.results)


def _pieces(rw: Rewriter, x: Value, sizes: Sequence[int], axis: int, results: Sequence[Value]) -> Sequence[Value]:
    made = rw.emit("onnx.Split", x, ints(rw, sizes), types=[result.type for result in results], axis=axis)
    return (made,) if isinstance(made, Value) else made


@TABLE("top.Pack")
def pack(op: Pack, rw: Rewriter) -> Value:
    axis = op.axis % (op.inputs[0].rank + 1)
    shape = tuple(1 if place == axis else size for place, size in enumerate(op.result.shape))
    parts = [emit(rw, "Unsqueeze", value, ints(rw, (axis,)), shape=shape) for value in op.inputs]
    return emit(rw, "Concat", *parts, like=op.result, axis=axis)


@TABLE("top.Unpack")
def unpack(op: Unpack, rw: Rewriter) -> Sequence[Value]:
    shape = op.input.shape
    axis = op.axis % len(shape)
    thin = (*shape[:axis], 1, *shape[axis + 1 :])
    made = rw.emit(
        "onnx.Split", op.input, ints(rw, (1,) * len(op.results)),
        types=[result.tensor_type.with_shape(thin) for result in op.results], axis=axis)
    parts = (made,) if isinstance(made, Value) else made
    return [emit(rw, "Squeeze", part, ints(rw, (axis,)), like=result) for part, result in zip(parts, op.results, strict=True)]


@TABLE("top.Slice")
def slice_(op: Slice, rw: Rewriter) -> Value:
    ends = [PAST_THE_FRONT if step < 0 and end < 0 else end for end, step in zip(op.ends, op.steps, strict=True)]
    return _sliced(rw, op.input, op.offset, ends, range(len(op.offset)), op.steps, like=op.result)


def _sliced(
    rw: Rewriter, x: Value, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int], *,
    like: Value | None = None, shape: Sequence[int | None] | None = None,
) -> Value:
    where = [ints(rw, each) for each in (starts, ends, axes, steps)]
    return emit(rw, "Slice", x, *where, like=like, shape=shape, element=x.element)


@TABLE("top.Pad")
def pad(op: Pad, rw: Rewriter) -> Value:
    half = len(op.paddings) // 2
    off = [axis for axis in range(half) if min(op.paddings[axis], op.paddings[half + axis]) < 0]
    if off and op.mode != "constant":
        return _cut(op, rw, _padded(op, rw, [max(number, 0) for number in op.paddings]), off)
    return _padded(op, rw, op.paddings)


def _cut(op: Pad, rw: Rewriter, x: Value, axes: Sequence[int]) -> Value:
    """What negative padding leaves of `x`, which is padded: what is mirrored may be what is taken away at the other end."""
    half = len(op.paddings) // 2
    starts = [max(-op.paddings[axis], 0) for axis in axes]
    ends = [min(op.paddings[half + axis], 0) or PAST_THE_END for axis in axes]
    return _sliced(rw, x, starts, ends, axes, (1,) * len(axes), like=op.result)


def _padded(op: Pad, rw: Rewriter, paddings: Sequence[int]) -> Value:
    if op.mode == "symmetric":
        return _mirrored(op.input, rw, paddings)
    half = len(paddings) // 2
    sizes = op.input.tensor_type.shape or (None,) * half
    shape = [None if size is None else before + size + after
             for before, size, after in zip(paddings[:half], sizes, paddings[half:], strict=True)]
    value = None
    if op.mode == "constant":
        value = constant(rw, op.val, op.input.element) if op.value is None else reshaped(rw, op.value, ())
    return emit(rw, "Pad", op.input, ints(rw, paddings), value, like=op.result, shape=shape, mode=op.mode)


def _mirrored(x: Value, rw: Rewriter, paddings: Sequence[int]) -> Value:
    """Mirrored with the outermost element, which no mode of ONNX does: what is read backwards is joined at either end."""
    half = len(paddings) // 2
    for axis, (before, after) in enumerate(zip(paddings[:half], paddings[half:], strict=True)):
        shape = x.shape
        parts = [x]
        if before:
            sizes = (*shape[:axis], before, *shape[axis + 1 :])
            parts.insert(0, _sliced(rw, x, (before - 1,), (PAST_THE_FRONT,), (axis,), (-1,), shape=sizes))
        if after:
            sizes = (*shape[:axis], after, *shape[axis + 1 :])
            parts.append(_sliced(rw, x, (-1,), (-after - 1,), (axis,), (-1,), shape=sizes))
        if len(parts) > 1:
            size = shape[axis]
            grown = None if size is None else before + size + after
            x = emit(rw, "Concat", *parts, shape=(*shape[:axis], grown, *shape[axis + 1 :]), element=x.element, axis=axis)
    return x


@TABLE("top.Reverse")
def reverse(op: Reverse, rw: Rewriter) -> Value:
    n = len(op.axes)
    return _sliced(rw, op.input, (-1,) * n, (PAST_THE_FRONT,) * n, op.axes, (-1,) * n, like=op.result)


@TABLE("top.ReverseSequence")
def reverse_sequence(op: ReverseSequence, rw: Rewriter) -> Value:
    """ReverseSequence, whose two dimensions are the first ones: others are moved there."""
    rank = op.input.rank
    time, batch = op.seq_axis % rank, op.batch_axis % rank
    lengths = cast(rw, op.lengths, I64)
    if {time, batch} == {0, 1}:
        return emit(rw, "ReverseSequence", op.input, lengths, time_axis=time, batch_axis=batch)
    order = [time, batch, *(axis for axis in range(rank) if axis not in (time, batch))]
    made = emit(rw, "ReverseSequence", transposed(rw, op.input, order), lengths, time_axis=0, batch_axis=1)
    return emit(rw, "Transpose", made, like=op.result, perm=tuple(order.index(axis) for axis in range(rank)))


@TABLE("top.Roll")
def roll(op: Roll, rw: Rewriter) -> Value:
    """Along each dimension the end before the beginning."""
    x = op.input
    shape = static_shape(x)
    for axis, shift in zip(op.axes, op.shifts, strict=True):
        axis %= len(shape)
        cut = -shift % shape[axis] if shape[axis] else 0
        if cut:
            sizes = [(*shape[:axis], size, *shape[axis + 1 :]) for size in (shape[axis] - cut, cut)]
            tail = _sliced(rw, x, (cut,), (shape[axis],), (axis,), (1,), shape=sizes[0])
            head = _sliced(rw, x, (0,), (cut,), (axis,), (1,), shape=sizes[1])
            x = emit(rw, "Concat", tail, head, shape=shape, axis=axis)
    return x


# --- blocks


@TABLE("top.Depth2Space")
def depth_to_space(op: Depth2Space, rw: Rewriter) -> Value:
    """DepthToSpace; the reverse, blocks that are not square, and wide integers: dimensions taken apart and permuted."""
    need_channels_second(op)
    has_kernel = isinstance(op.input.element, FloatType) or dtype_of(op.input.element).itemsize == 1
    if not op.is_inversed and op.block_h == op.block_w and has_kernel:
        return emit(rw, "DepthToSpace", op.input, like=op.result, blocksize=op.block_h, mode="CRD" if op.is_CRD else "DCR")
    batch, channels, rows, columns = static_shape(op.input)
    high, wide = op.block_h, op.block_w
    if op.is_inversed:
        apart = reshaped(rw, op.input, (batch, channels, rows // high, high, columns // wide, wide))
        order = (0, 1, 3, 5, 2, 4) if op.is_CRD else (0, 3, 5, 1, 2, 4)
        return reshaped(rw, transposed(rw, apart, order), static_shape(op.result))
    depth = channels // (high * wide)
    if op.is_CRD:
        apart, order = reshaped(rw, op.input, (batch, depth, high, wide, rows, columns)), (0, 1, 4, 2, 5, 3)
    else:
        apart, order = reshaped(rw, op.input, (batch, high, wide, depth, rows, columns)), (0, 3, 4, 1, 5, 2)
    return reshaped(rw, transposed(rw, apart, order), static_shape(op.result))


@TABLE("top.SpaceToBatch")
def space_to_batch(op: SpaceToBatch, rw: Rewriter) -> Value:
    """Padded, each spatial dimension taken apart, and the places in a block before the batch."""
    shape, blocks = static_shape(op.input), tuple(op.block_shape)
    n = len(blocks)
    rest = shape[1 + n :]
    none = (0,) * len(rest)
    padded = (shape[0], *(size + op.pads[i] + op.pads[n + i] for i, size in enumerate(shape[1 : 1 + n])), *rest)
    x = op.input
    if padded != shape:
        pads = ints(rw, (0, *op.pads[:n], *none, 0, *op.pads[n:], *none))
        x = emit(rw, "Pad", x, pads, constant(rw, 0, x.element), shape=padded)
    apart = [size for i, block in enumerate(blocks) for size in (padded[1 + i] // block, block)]
    x = reshaped(rw, x, (shape[0], *apart, *rest))
    order = (*range(2, 2 * n + 1, 2), 0, *range(1, 2 * n + 1, 2), *range(2 * n + 1, 2 * n + 1 + len(rest)))
    return reshaped(rw, transposed(rw, x, order), static_shape(op.result))


@TABLE("top.BatchToSpace")
def batch_to_space(op: BatchToSpace, rw: Rewriter) -> Value:
    """The reverse, then what is cropped."""
    shape, blocks = static_shape(op.input), tuple(op.block_shape)
    n, images = len(blocks), shape[0]
    for block in blocks:
        images //= block
    rest = shape[1 + n :]
    x = reshaped(rw, op.input, (*blocks, images, *shape[1:]))
    pairs = [axis for i in range(n) for axis in (n + 1 + i, i)]
    x = transposed(rw, x, (n, *pairs, *range(2 * n + 1, 2 * n + 1 + len(rest))))
    whole = tuple(size * block for size, block in zip(shape[1 : 1 + n], blocks, strict=True))
    x = reshaped(rw, x, (images, *whole, *rest))
    if not any(op.crops):
        return x
    ends = [size - op.crops[n + i] for i, size in enumerate(whole)]
    return _sliced(rw, x, op.crops[:n], ends, range(1, 1 + n), (1,) * n, like=op.result)
