"""Sparse constants, made dense when they are read.

A sparse tensor is a tree: a level for each dimension, in some order, and for each dimension within blocks. A node of a
dense level has a child for every index; of a sparse level, children for the indices that a list names (as the rows of a
compressed sparse matrix). The leaves, from left to right, are the numbers that are stored; all others are zero.

Source: the TFLite schema, tables `SparsityParameters` and `DimensionMetadata`;
`tensorflow/lite/kernels/internal/utils/sparsity_format_converter.cc`.
"""

from __future__ import annotations

import math

import numpy as np

from transload.flatbuffer import FlatFile, Table

from .schema import numbers

__all__ = ["leaf_places", "row_block"]

_ORDER, _BLOCKS, _LEVELS = numbers("SparsityParameters", "traversal_order", "block_map", "dim_metadata")
_FORMAT, _SIZE, _SEGMENTS_TYPE, _SEGMENTS, _INDICES_TYPE, _INDICES = numbers(
    "DimensionMetadata", "format", "dense_size", "array_segments_type", "array_segments", "array_indices_type", "array_indices")
_CODES = {1: "i", 2: "H", 3: "B"}  # members of the union `SparseIndexVector`: vectors of int32, uint16, uint8
_VALUES, = numbers("Int32Vector", "values")  # as of the other two

_FEW, _RATIO = 1 << 20, 4096
"""A tensor is not larger than this, or this many times as large as what is stored of it: else a few bytes fill the memory."""


def leaf_places(table: Table, shape: tuple[int, ...], name: str, n_stored: int) -> np.ndarray:
    """Where in the flattened dense tensor each stored number belongs; `ReadError` where the structure does not hold."""
    file = table.file
    order, blocks, levels = table.numbers(_ORDER, "i"), table.numbers(_BLOCKS, "i"), table.tables(_LEVELS)
    rank = len(shape)
    if math.prod(shape) > max(_FEW, _RATIO * n_stored):
        file.fail(f"sparse constant {name!r} of shape {list(shape)} stores {n_stored} numbers only")
    if sorted(order) != list(range(rank + len(blocks))) or len(levels) != len(order) or sorted(order[:rank]) != list(range(rank)):
        file.fail(f"sparse constant {name!r} has levels {list(order)} for {rank} dimensions and {len(blocks)} in blocks")
    if len(set(blocks)) != len(blocks) or not all(0 <= dimension < rank for dimension in blocks):
        file.fail(f"sparse constant {name!r} has blocks along the dimensions {list(blocks)}")
    inner = [1] * rank
    for place, level in zip(order, levels, strict=True):
        if place >= rank:
            inner[blocks[place - rank]] = level.scalar(_SIZE, "i")
    if any(size < 1 or whole % size for size, whole in zip(inner, shape, strict=True)):
        file.fail(f"sparse constant {name!r} of shape {list(shape)} has blocks of {inner}")
    strides = [math.prod(shape[axis + 1 :]) for axis in range(rank)]
    places, count = np.zeros(1, np.int64), 1
    for place, level in zip(order, levels, strict=True):
        axis = place if place < rank else blocks[place - rank]
        size, step = (shape[axis] // inner[axis], strides[axis] * inner[axis]) if place < rank else (inner[axis], strides[axis])
        parents, indices = _children(file, level, count, size, name)
        places, count = places[parents] + indices * step, len(indices)
        if count > math.prod(shape):
            file.fail(f"sparse constant {name!r} has more numbers than its shape {list(shape)} has room for")
    if count != n_stored:
        file.fail(f"sparse constant {name!r} stores {n_stored} numbers; its structure has {count}")
    return places


def row_block(table: Table) -> int:
    """How many numbers of a row stand together in a matrix of which every row is a list of such blocks; 1 of other structures."""
    order, blocks, levels = table.numbers(_ORDER, "i"), table.numbers(_BLOCKS, "i"), table.tables(_LEVELS)
    in_rows = (list(order), list(blocks)) == ([0, 1, 2], [1]) and [level.scalar(_FORMAT, "b") for level in levels] == [0, 1, 0]
    return int(levels[2].scalar(_SIZE, "i")) if in_rows else 1


def _children(file: FlatFile, level: Table, count: int, size: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """For each node below `count` ones its parent and its index, of which there are `size`."""
    if level.scalar(_FORMAT, "b") == 0:
        if level.scalar(_SIZE, "i") != size:
            file.fail(f"sparse constant {name!r} has a dense level of {level.scalar(_SIZE, 'i')} indices where there are {size}")
        return np.repeat(np.arange(count), size), np.tile(np.arange(size, dtype=np.int64), count)
    segments, indices = (_numbers(file, level, *slots) for slots in ((_SEGMENTS_TYPE, _SEGMENTS), (_INDICES_TYPE, _INDICES)))
    lengths = np.diff(segments)
    if len(segments) != count + 1 or segments[0] or segments[-1] != len(indices) or (lengths < 0).any():
        file.fail(f"sparse constant {name!r} has segments that do not divide its {len(indices)} indices among {count} nodes")
    if len(indices) and not 0 <= indices.min() <= indices.max() < size:
        file.fail(f"sparse constant {name!r} has an index outside 0 to {size - 1}")
    return np.repeat(np.arange(count), lengths), indices


def _numbers(file: FlatFile, level: Table, type_slot: int, slot: int) -> np.ndarray:
    """A list of indices, of one of three widths."""
    code, table = _CODES.get(level.scalar(type_slot, "B")), level.table(slot)
    if code is None or table is None:
        file.fail("a sparse level has no list of indices, or one of an unknown type")
    return np.asarray(table.numbers(_VALUES, code), np.int64)
