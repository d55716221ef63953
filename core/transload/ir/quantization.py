"""Scales laid over a tensor: one for all of it, one for each index of a dimension, one for each block.

All three are a grid of scales, one block after the other along each dimension. A dimension's block size is how many
indices share a scale: None where all do, 1 where each has its own. `QuantType` holds the simplest form that says it:
nothing more for one scale, `axis` for blocks of size 1 along one dimension, `blocks` for any others. The functions here
take and give types in all forms, so that what moves numbers moves their scales the same way.

Blocks fill a dimension exactly, as MLIR wants it (quant dialect, UniformQuantizedSubChannelType). A framework whose last
block may be shorter (ONNX) has smaller blocks here, some of the same scale: `block_size_for`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .types import Blocks, QuantType

__all__ = [
    "block_size_for", "grid_of", "misfit", "permuted", "quantized_over", "reshaped", "sliced", "split_shapes", "spread",
    "with_leading",
]

Sizes = Sequence["int | None"]


def quantized_over(like: QuantType, scales: np.ndarray, zero_points: np.ndarray, sizes: Sizes) -> QuantType:
    """A type stored and expressed as `like` with a grid of scales and zero points, in the simplest form that says it.

    The arrays have the tensor's rank; `sizes` is a block's size along each dimension, None for all of it.
    """
    scales, zero_points = np.broadcast_arrays(np.asarray(scales, np.float64), np.asarray(zero_points, np.int64))
    grid = scales.shape
    divided = [dim for dim, count in enumerate(grid) if count != 1]
    numbers: dict[str, Any] = {"scales": scales.reshape(-1), "zero_points": tuple(zero_points.reshape(-1).tolist())}
    if not divided:
        return like.replace(**numbers, axis=None, blocks=None)
    if len(divided) == 1 and sizes[divided[0]] == 1:
        return like.replace(**numbers, axis=divided[0], blocks=None)
    blocks = Blocks(tuple(size if dim in divided else None for dim, size in enumerate(sizes)), grid)
    return like.replace(**numbers, axis=None, blocks=blocks)


def grid_of(type_: QuantType, rank: int) -> Blocks:
    """The blocks of a type of any form, over a tensor of `rank`."""
    if type_.blocks is not None:
        return type_.blocks
    sizes: list[int | None] = [None] * rank
    grid = [1] * rank
    if type_.axis is not None:
        sizes[type_.axis], grid[type_.axis] = 1, type_.count
    return Blocks(tuple(sizes), tuple(grid))


def _arrays(type_: QuantType, rank: int) -> tuple[np.ndarray, np.ndarray, tuple[int | None, ...]]:
    """Scales and zero points in the shape of their grid, and the sizes of the blocks."""
    sizes, grid = grid_of(type_, rank)
    return type_.scale_array.reshape(grid), np.array(type_.zero_points).reshape(grid), sizes


def misfit(type_: QuantType, shape: Sequence[int | None] | None) -> str | None:
    """Why the scales of a type do not fit a tensor of a shape; None where they do. Unknown sizes fit."""
    if type_.per_tensor or shape is None:
        return None
    rank = len(shape)
    if type_.axis is not None:
        if not 0 <= type_.axis < rank:
            return f"it is quantized along dimension {type_.axis}, and has {rank}"
        if shape[type_.axis] in (None, type_.count):
            return None
    sizes, grid = grid_of(type_, rank)
    if len(grid) != rank:
        return f"its scales have {len(grid)} dimensions, and it has {rank}"
    if type_.count != math.prod(grid):
        return f"it has {type_.count} scales for {math.prod(grid)} blocks"
    for dim, (size, block, count) in enumerate(zip(shape, sizes, grid, strict=True)):
        if size is None or block is None:
            continue
        if size % block:
            return f"dimension {dim} of size {size} is not divisible by blocks of {block}"
        if size // block != count:
            return f"dimension {dim} of size {size} has {size // block} blocks of {block}, and there are {count} scales"
    return None


def block_size_for(size: int, block: int) -> int:
    """The greatest size of blocks that fill a dimension of `size` and none of which lies in two of `block`."""
    if block >= size:
        return size or block
    return math.gcd(size, block)


def spread(values: Sequence[Any], type_: QuantType, rank: int, dtype: Any) -> np.ndarray:
    """One number for each scale, as an array that broadcasts to the tensor: `()` per tensor, of its size along blocks."""
    array = np.array(values, dtype)
    if type_.blocks is None:
        shape = [1] * rank
        if type_.axis is None:
            return array.reshape(())
        shape[type_.axis] = len(values)
        return array.reshape(shape)
    array = array.reshape(type_.blocks.grid)
    for dim, size in enumerate(type_.blocks.sizes):
        if size is not None and size > 1:
            array = np.repeat(array, size, dim)
    return array


def split_shapes(type_: QuantType, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes of twice the rank, blocks and places in them, of the tensor and of its scales, which then broadcast to it."""
    tensor: list[int] = []
    scales: list[int] = []
    for size, count in zip(shape, grid_of(type_, len(shape)).grid, strict=True):
        tensor += (count, size // count)
        scales += (count, 1)
    return tuple(tensor), tuple(scales)


# --- types of tensors whose numbers were moved


def _mapped(type_: QuantType, rank: int, move: Callable[[np.ndarray], np.ndarray], sizes: Sizes) -> QuantType:
    scales, zero_points, _ = _arrays(type_, rank)
    return quantized_over(type_, move(scales), move(zero_points), sizes)


def permuted(type_: QuantType, order: Sequence[int]) -> QuantType:
    """The type of a tensor whose dimensions were put into `order`."""
    if type_.per_tensor:
        return type_
    sizes = grid_of(type_, len(order)).sizes
    return _mapped(type_, len(order), lambda array: array.transpose(order), [sizes[dim] for dim in order])


def with_leading(type_: QuantType, added: int) -> QuantType:
    """The type of a tensor that got so many dimensions in front."""
    if type_.blocks is not None:
        sizes, grid = type_.blocks
        return type_.replace(blocks=Blocks((None,) * added + sizes, (1,) * added + grid))
    return type_ if type_.axis is None else type_.replace(axis=type_.axis + added)


def sliced(type_: QuantType, rank: int, axis: int, places: range) -> QuantType | None:
    """The type of a tensor of which these places of a dimension were taken; None where there are none, or no scales for them.

    Where blocks are cut, the parts are blocks of a smaller size, some of the same scale.
    """
    size = grid_of(type_, rank).sizes[axis]
    if size is None:
        return type_
    owners = np.asarray(places) // size
    if not owners.size or owners.max() >= grid_of(type_, rank).grid[axis]:
        return None
    edges = np.flatnonzero(np.diff(owners)) + 1
    lengths = np.diff([0, *edges, len(places)])
    common = math.gcd(*lengths.tolist())
    taken = owners[::common]
    sizes = list(grid_of(type_, rank).sizes)
    sizes[axis] = common
    return _mapped(type_, rank, lambda array: array.take(taken, axis), sizes)


def reshaped(type_: QuantType, before: Sequence[int], after: Sequence[int]) -> QuantType | None:
    """The type of a tensor that was given another shape; None where its blocks are none of the new shape.

    Each dimension is so many blocks times so many places. In a dimension of the new shape, whole blocks stand before places.
    """
    if type_.per_tensor or 0 in before:
        return type_
    grid = grid_of(type_, len(before)).grid
    # factors of the shape, outer ones first, and whether each counts blocks
    factors = [part for size, count in zip(before, grid, strict=True) for part in ((count, True), (size // count, False))]
    pending = [factor for factor in factors if factor[0] != 1][::-1]
    sizes: list[int | None] = []
    made: list[int] = []
    for size in after:
        blocks = places = 1
        while blocks * places != size:
            n, counts = pending.pop() if pending else (0, False)
            rest = size // (blocks * places)
            if n > rest and n % rest == 0:
                pending.append((n // rest, counts))
                n = rest
            if not n or size % (blocks * places * n) or (counts and places != 1):
                return None
            blocks, places = (blocks * n, places) if counts else (blocks, places * n)
        sizes.append(places if blocks != 1 else None)
        made.append(blocks)
    return None if pending else _mapped(type_, len(before), lambda array: array.reshape(made), sizes)
