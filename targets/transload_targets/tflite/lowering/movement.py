"""Shape, order, joining, splitting, padding: ops that compute nothing.

LiteRT's kernels of these copy stored numbers, whatever they mean: operands of another quantized type than the result's are
requantized before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, F32, I8, I32, I64, UI8, UI16, IntegerType, Op, QuantType, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.build import counted

from .common import (
    activated_wholly,
    axes_of,
    constant,
    emit,
    int32,
    ints,
    quant,
    real,
    reshape,
    retyped,
    static_shape,
    transpose,
    widened,
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
        Squeeze,
        Tile,
        Unsqueeze,
    )
    from transload_hub.ops.space import BatchToSpace, Depth2Space, SpaceToBatch

__all__ = ["TABLE", "moved"]

TABLE = RewriteTable()


def moved(rw: Rewriter, op: Op) -> Value:
    """The first operand in the quantized type of the (first) result, as what only moves numbers gives it."""
    value, target = op.operands[0], op.results[0].element
    source = quant(value)
    if source is not None and isinstance(target, QuantType) and (not source.per_tensor or not target.per_tensor):
        return value  # scales along a dimension move with it
    return retyped(rw, value, target)


@TABLE("top.Reshape", "top.Squeeze", "top.Unsqueeze")
def reshaped(op: Reshape | Squeeze | Unsqueeze, rw: Rewriter) -> Value:
    """RESHAPE."""
    return reshape(rw, moved(rw, op), static_shape(op.output))


@TABLE("top.Permute")
def permute(op: Permute, rw: Rewriter) -> Value:
    """TRANSPOSE."""
    return transpose(rw, moved(rw, op), axes_of(op.order, len(static_shape(op.input))))


@TABLE("top.Expand")
def expand(op: Expand, rw: Rewriter) -> Value:
    """BROADCAST_TO."""
    shape = static_shape(op.output)
    value = moved(rw, op)
    return value if value.shape == shape else emit(rw, "broadcast_to", value, ints(rw, *shape), like=op.output)


@TABLE("top.Tile")
def tile(op: Tile, rw: Rewriter) -> Value:
    """TILE."""
    return emit(rw, "tile", moved(rw, op), ints(rw, *op.tile), like=op.output)


@TABLE("top.Concat")
def concat(op: Concat, rw: Rewriter) -> Value:
    """CONCATENATION, of operands in the type of the result; of u16, of which it has no kernel, as int32."""
    target = quant(op.output)
    axis = axes_of((op.axis,), op.output.rank)[0]
    values = [value for value in op.inputs if not value.shape or value.shape[axis] != 0] or [op.inputs[0]]
    if target is None or target.storage != UI8:  # LiteRT's kernel of uint8, alone, looks at scales
        values = [retyped(rw, value, op.output.element) for value in values]
    if op.output.element == UI16 and len(values) > 1:
        made = emit(rw, "concatenation", *(int32(rw, value) for value in values), like=op.output, element=I32, axis=axis)
        return activated_wholly(op, rw, widened(rw, made, UI16))
    made = emit(rw, "concatenation", *values, like=op.output, axis=axis) if len(values) > 1 else values[0]
    return activated_wholly(op, rw, made)


@TABLE("top.Pack")
def pack(op: Pack, rw: Rewriter) -> Value:
    """PACK; of truth values, for which LiteRT lacks it, CONCATENATION."""
    values = [retyped(rw, value, op.output.element) for value in op.inputs]
    if op.output.element == BOOL:
        shape, axis = list(static_shape(op.output)), axes_of((op.axis,), op.output.rank)[0]
        shape[axis] = 1
        return emit(rw, "concatenation", *(reshape(rw, value, shape) for value in values), like=op.output, axis=axis)
    return emit(rw, "pack", *values, like=op.output, axis=axes_of((op.axis,), op.output.rank)[0], values_count=len(values))


# --- padding, order

_MOST_PADDED = 5
"""Dimensions that PAD has (`pad.cc`, PadKernelMaxDimensionCount)."""


@TABLE("top.Pad")
def pad(op: Pad, rw: Rewriter) -> Value:
    """PAD, PADV2, MIRROR_PAD, of more than five dimensions one after the other; negative padding is sliced off, and edges are
    repeated by GATHER."""
    n = op.input.rank
    pairs = [(op.paddings[axis], op.paddings[n + axis]) for axis in range(n)]
    value = _grown(rw, op, moved(rw, op), [(max(before, 0), max(after, 0)) for before, after in pairs])
    if all(min(pair) >= 0 for pair in pairs):
        return value
    begins = [max(-before, 0) for before, _ in pairs]  # behind: what is mirrored may be what is taken away at the other end
    return emit(rw, "slice", value, ints(rw, *begins), ints(rw, *static_shape(op.output)), like=op.output)


def _grown(rw: Rewriter, op: Pad, value: Value, pairs: list[tuple[int, int]]) -> Value:
    """What is padded, by no negative numbers."""
    if not any(before or after for before, after in pairs):
        return value
    if op.mode == "edge":
        return _with_edges(rw, value, pairs)
    if op.input.rank <= _MOST_PADDED:
        return _padded(rw, op, value, pairs)
    for axis, pair in enumerate(pairs):
        if any(pair):
            now = static_shape(value)
            one = reshape(rw, value, (math.prod(now[:axis]), now[axis], math.prod(now[axis + 1:])))
            one = _padded(rw, op, one, [(0, 0), pair, (0, 0)])
            value = reshape(rw, one, (*now[:axis], now[axis] + sum(pair), *now[axis + 1:]))
    return value


def _padded(rw: Rewriter, op: Pad, value: Value, pairs: Sequence[tuple[int, int]]) -> Value:
    """One operator, of as many dimensions as it takes."""
    shape = [before + size + after for size, (before, after) in zip(static_shape(value), pairs, strict=True)]
    paddings = constant(rw, np.array(pairs, np.int32))
    if op.mode != "constant":
        return emit(rw, "mirror_pad", value, paddings, like=op.output, shape=shape, mode=op.mode.upper())
    if op.value is None and op.val == 0.0:
        return emit(rw, "pad", value, paddings, like=op.output, shape=shape)
    return emit(rw, "padv2", value, paddings, _limit(rw, op, value), like=op.output, shape=shape)


def _limit(rw: Rewriter, op: Pad, value: Value) -> Value:
    """What is padded with, as a scalar in the type of the result."""
    if op.value is not None:
        return reshape(rw, retyped(rw, op.value, op.output.element), ())
    if isinstance(value.element, QuantType) or value.is_float:
        return real(rw, op.val, value)
    return constant(rw, np.asarray(int(op.val), dtype_of(value.element)), value.element)


def _with_edges(rw: Rewriter, value: Value, pairs: list[tuple[int, int]]) -> Value:
    """The outermost elements repeated, one dimension after the other."""
    for axis, (before, after) in enumerate(pairs):
        if before or after:
            shape = list(static_shape(value))
            places = np.clip(counted(-before, shape[axis] + after), 0, shape[axis] - 1)
            shape[axis] += before + after
            value = emit(rw, "gather", value, ints(rw, *places.tolist()), like=value, shape=shape, axis=axis)
    return value


@TABLE("top.Reverse")
def reverse(op: Reverse, rw: Rewriter) -> Value:
    """REVERSE_V2, which turns one dimension, or several side by side, round: here one after the other."""
    value = moved(rw, op)
    for axis in axes_of(op.axes, op.input.rank):
        value = emit(rw, "reverse_v2", value, ints(rw, axis), like=op.output)
    return value


@TABLE("top.ReverseSequence")
def reverse_sequence(op: ReverseSequence, rw: Rewriter) -> Value:
    """REVERSE_SEQUENCE, of truth values and small integers as int32: LiteRT's kernel has few types."""
    seq, batch = axes_of((op.seq_axis, op.batch_axis), op.input.rank)
    value = moved(rw, op)
    stored = value.element
    held = stored.storage if isinstance(stored, QuantType) else stored
    wide = int32(rw, value) if isinstance(held, IntegerType) and held in (BOOL, I8, UI16) else value
    made = emit(rw, "reverse_sequence", wide, op.lengths, like=wide, seq_dim=seq, batch_dim=batch)
    return made if wide is value else emit(rw, "cast", made, like=op.output)


@TABLE("top.Roll")
def roll(op: Roll, rw: Rewriter) -> Value:
    """GATHER of places that are moved on."""
    value = moved(rw, op)
    for axis, shift in zip(axes_of(op.axes, op.input.rank), op.shifts, strict=True):
        size = static_shape(value)[axis]
        if size and shift % size:
            places = (counted(size) - shift) % size
            value = emit(rw, "gather", value, ints(rw, *places.tolist()), like=value, axis=axis)
    return value


# --- space

_OF_BLOCKS = (F32, I8, UI8, I32, I64)
"""What DEPTH_TO_SPACE and SPACE_TO_DEPTH move (`depth_to_space.cc`, Prepare)."""


@TABLE("top.Depth2Space")
def depth_to_space(op: Depth2Space, rw: Rewriter) -> Value:
    """DEPTH_TO_SPACE and SPACE_TO_DEPTH of square blocks; of others, with channels outermost, and of 16 bits, by TRANSPOSE."""
    if op.layout != "NHWC":
        raise Unsupported("TFLite's blocks are of channels last", "run the pass layout{to=NHWC} first")
    value = moved(rw, op)
    held = value.element.storage if isinstance(value.element, QuantType) else value.element
    if op.block_h == op.block_w and not op.is_CRD and held in _OF_BLOCKS:
        name = "space_to_depth" if op.is_inversed else "depth_to_space"
        return emit(rw, name, value, like=op.output, block_size=op.block_h)
    n, h, w, c = static_shape(op.output if op.is_inversed else op.input)
    a, b = op.block_h, op.block_w
    depth = c // (a * b)
    apart = (n, h, w, depth, a, b) if op.is_CRD else (n, h, w, a, b, depth)
    order = (0, 1, 4, 2, 5, 3) if op.is_CRD else (0, 1, 3, 2, 4, 5)
    if op.is_inversed:
        split = tuple(apart[axis] for axis in order)
        back = tuple(int(axis) for axis in np.argsort(order))
        return reshape(rw, transpose(rw, reshape(rw, value, split), back), static_shape(op.output))
    return reshape(rw, transpose(rw, reshape(rw, value, apart), order), static_shape(op.output))


@TABLE("top.SpaceToBatch")
def space_to_batch(op: SpaceToBatch, rw: Rewriter) -> Value:
    """SPACE_TO_BATCH_ND."""
    return _blocked(rw, op, "space_to_batch_nd", op.pads)


@TABLE("top.BatchToSpace")
def batch_to_space(op: BatchToSpace, rw: Rewriter) -> Value:
    """BATCH_TO_SPACE_ND."""
    return _blocked(rw, op, "batch_to_space_nd", op.crops)


def _blocked(rw: Rewriter, op: BatchToSpace | SpaceToBatch, name: str, borders: tuple[int, ...]) -> Value:
    n = len(op.block_shape)
    pairs = np.array([(borders[i], borders[n + i]) for i in range(n)], np.int32)
    return emit(rw, name, moved(rw, op), ints(rw, *op.block_shape), constant(rw, pairs), like=op.output)
