"""Ops that move elements between the spatial dimensions and the channels or the batch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from transload.ir import Value
from transload.ir.build import Builder
from transload.rewrite import Rewriter, RewriteTable

from .. import build
from .common import activated, static_shape
from .movement import repeated

if TYPE_CHECKING:
    from transload_hub.ops.resize import Upsample
    from transload_hub.ops.space import BatchToSpace, Depth2Space, SpaceToBatch

__all__ = ["TABLE"]

TABLE = RewriteTable()


def _rearranged(rw: Builder, x: Value, split: list[int], order: list[int], shape: tuple[int, ...]) -> Value:
    """`x` reshaped, its dimensions permuted, and reshaped to its final shape."""
    return build.reshape(rw, build.transpose(rw, build.reshape(rw, x, split), order), shape)


@TABLE("top.Depth2Space")
def depth_to_space(op: Depth2Space, rw: Rewriter) -> Value:
    """Blocks of channels to blocks of pixels, or back: reshape, transpose, reshape.

    Dimensions are named n, c (what is left of the channels), r and s (a block's rows and columns), h and w.
    """
    shape, made = static_shape(op.input), static_shape(op.result)
    small, large = (made, shape) if op.is_inversed else (shape, made)
    last = op.layout == "NHWC"
    rows = 1 if last else 2
    sizes = {
        "n": small[0], "c": large[3 if last else 1], "r": op.block_h, "s": op.block_w, "h": small[rows],
        "w": small[rows + 1]}  # fmt: skip
    channels = "crs" if op.is_CRD else "rsc"
    deep = f"nhw{channels}" if last else f"n{channels}hw"
    spread = "nhrwsc" if last else "nchrws"
    before, after = (spread, deep) if op.is_inversed else (deep, spread)
    return _rearranged(rw, op.input, [sizes[d] for d in before], [before.index(d) for d in after], made)


@TABLE("top.SpaceToBatch")
def space_to_batch(op: SpaceToBatch, rw: Rewriter) -> Value:
    """Padding; then each spatial dimension is split into places and blocks, and the blocks' go in front of the batch."""
    n, block = len(op.block_shape), op.block_shape
    rank = op.input.rank
    rest = rank - 1 - n
    zero = build.scalar(rw, 0, op.input.element)
    x = build.pad(rw, op.input, [0, *op.pads[:n], *[0] * rest], [0, *op.pads[n:], *[0] * rest], zero)
    shape = static_shape(x)
    split = [shape[0]]
    for i in range(n):
        split += [shape[1 + i] // block[i], block[i]]
    split += shape[1 + n :]
    order = [*range(2, 2 * n + 1, 2), 0, *range(1, 2 * n + 1, 2), *range(2 * n + 1, 2 * n + 1 + rest)]
    return _rearranged(rw, x, split, order, static_shape(op.result))


@TABLE("top.BatchToSpace")
def batch_to_space(op: BatchToSpace, rw: Rewriter) -> Value:
    """The reverse: places of blocks go behind the spatial dimensions, which are then cropped."""
    n, block = len(op.block_shape), op.block_shape
    shape = static_shape(op.input)
    split = [*block, shape[0] // math.prod(block), *shape[1:]]
    order = [n, *(axis for i in range(n) for axis in (n + 1 + i, i)), *range(2 * n + 1, len(split))]
    grown = (split[n], *(shape[1 + i] * block[i] for i in range(n)), *shape[1 + n :])
    y = _rearranged(rw, op.input, split, order, grown)
    starts = [0, *op.crops[:n], *[0] * (len(shape) - 1 - n)]
    made = static_shape(op.result)
    return build.slice_(rw, y, starts, [start + size for start, size in zip(starts, made, strict=True)])


@TABLE("top.Upsample")
def upsample(op: Upsample, rw: Rewriter) -> Value:
    """Each pixel repeated."""
    times = (1, op.scale_h, op.scale_w, 1) if op.layout == "NHWC" else (1, 1, op.scale_h, op.scale_w)
    return activated(rw, op, repeated(rw, op.input, times, inner=True))
