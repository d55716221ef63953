"""Operators that move elements: concat, pad, reshape, reverse, slice, tile, transpose, gather, scatter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from transload.engine.tiled import tiled
from transload.errors import RunError
from transload.ir import Op

from .base import kernel, result_dtype

if TYPE_CHECKING:
    from ..dialect.conversion import Identity
    from ..dialect.movement import Concat, Gather, Pad, Reshape, Reverse, RowGather, Scatter, Slice, Tile, Transpose


@kernel("tosa.concat")
def concat(op: Concat, *parts: np.ndarray) -> np.ndarray:
    return np.concatenate(parts, axis=op.attributes["axis"])


@kernel("tosa.pad")
def pad(op: Pad, x: np.ndarray, padding: np.ndarray, value: np.ndarray) -> np.ndarray:
    """`x` inside a tensor filled with `value`."""
    pairs = [tuple(map(int, pair)) for pair in padding.reshape(-1, 2)]
    shape = [size + before + after for size, (before, after) in zip(x.shape, pairs, strict=True)]
    out = np.empty(shape, x.dtype)
    out[...] = value.reshape(-1)[0].astype(x.dtype)
    out[tuple(slice(before, before + size) for size, (before, _) in zip(x.shape, pairs, strict=True))] = x
    return out


@kernel("tosa.reshape")
def reshape(op: Reshape, x: np.ndarray, shape: np.ndarray) -> np.ndarray:
    return x.reshape(tuple(map(int, shape)))


@kernel("tosa.reverse")
def reverse(op: Reverse, x: np.ndarray) -> np.ndarray:
    return np.flip(x, op.attributes["axis"])


@kernel("tosa.slice")
def slice_(op: Slice, x: np.ndarray, start: np.ndarray, size: np.ndarray) -> np.ndarray:
    """The box; a size of -1 reaches to the end."""
    return x[tuple(
        slice(int(a), None if n < 0 else int(a) + int(n)) for a, n in zip(start, size, strict=True))]


@kernel("tosa.tile")
def tile(op: Tile, x: np.ndarray, multiples: np.ndarray) -> np.ndarray:
    return tiled(x, multiples.tolist())


@kernel("tosa.transpose")
def transpose(op: Transpose, x: np.ndarray) -> np.ndarray:
    # Copied here once, because what follows reads it in order, often more than once.
    return np.ascontiguousarray(x.transpose(op.attributes["perms"]))


@kernel("tosa.identity")
def identity(op: Identity, x: np.ndarray) -> np.ndarray:
    return x


def _checked(op: Op, indices: np.ndarray, count: int) -> np.ndarray:
    """Indices, all inside; TOSA makes others unpredictable, and here they are an error."""
    if indices.size and (indices.min() < 0 or indices.max() >= count):
        raise RunError(
            f"{op.called}: indices from {indices.min()} to {indices.max()} into {count} rows",
            hint="TOSA does not define what comes of an index out of range; check the model's input")
    return indices


@kernel("tosa.gather")
def gather(op: Gather, values: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """`output[n, w, :] = values[n, indices[n, w], :]`."""
    return values[np.arange(values.shape[0])[:, None], _checked(op, indices, values.shape[1])]


@kernel("tosa.row_gather")
def row_gather(op: RowGather, values: np.ndarray, indices: np.ndarray, row_count: np.ndarray) -> np.ndarray:
    """From each index on, `row_count` rows."""
    count = int(row_count.reshape(-1)[0])
    rows = (indices[:, :, None].astype(np.int64) + np.arange(count)).reshape(indices.shape[0], -1)
    return values[np.arange(values.shape[0])[:, None], _checked(op, rows, values.shape[1])]


@kernel("tosa.scatter")
def scatter(op: Scatter, values: np.ndarray, indices: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """`values` with the rows at `indices` replaced."""
    out = values.astype(result_dtype(op), copy=True)
    out[np.arange(values.shape[0])[:, None], _checked(op, indices, values.shape[1])] = rows
    return out
