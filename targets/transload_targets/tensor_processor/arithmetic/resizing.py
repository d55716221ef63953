"""Images of other sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .floats import clamped, is_float, wide

__all__ = ["OPERATIONS", "places_of", "resize"]

OPERATIONS = ("resize",)


def places_of(count: int, grid: Sequence[int], mode: str) -> tuple[np.ndarray, np.ndarray]:
    """Before which elements the places of a dimension lie, not moved onto the border yet, and by how many nths behind."""
    n, d, offset = grid
    place = np.arange(count, dtype=np.int64) * d + offset
    if mode == "nearest":
        return (2 * place + n) // (2 * n), np.zeros(count, np.int64)
    return place // n, place % n


def _between(x: np.ndarray, axis: int, count: int, grid: Sequence[int], mode: str) -> np.ndarray:
    """A dimension resampled: elements, or of whole numbers n times what lies between two."""
    first, part = places_of(count, grid, mode)
    last = x.shape[axis] - 1
    before = np.take(x, np.clip(first, 0, last), axis)
    if mode == "nearest":
        return before
    behind = np.take(x, np.clip(first + 1, 0, last), axis)
    shape = [-1 if dim == axis else 1 for dim in range(x.ndim)]
    if is_float(x):
        weight = (part.astype(np.float32) / np.float32(grid[0])).reshape(shape)
        return before * (1 - weight) + behind * weight
    weights = part.reshape(shape)
    return before * (grid[0] - weights) + behind * weights


def resize(
    x: np.ndarray, *, dtype: str, sizes: Sequence[int], rows: Sequence[int], columns: Sequence[int], mode: str,
    rounding: str = "half-away",
) -> np.ndarray:
    """`x` [N, C, H, W] at other heights and widths; see `tpu.resize`."""
    if mode == "nearest":
        return _between(_between(x, 2, sizes[0], rows, mode), 3, sizes[1], columns, mode)
    whole = wide(x) if is_float(x) else x.astype(np.int64)
    made = _between(_between(whole, 2, sizes[0], rows, mode), 3, sizes[1], columns, mode)
    if is_float(x):
        return clamped(made, dtype)
    unit = rows[0] * columns[0]
    if rounding == "half-up":
        return ((2 * made + unit) // (2 * unit)).astype(dtype)
    size = (2 * np.abs(made) + unit) // (2 * unit)
    return np.where(made < 0, -size, size).astype(dtype)
