"""Operations that only move elements, which the DMA does between places in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .floats import dtype_named

__all__ = ["OPERATIONS", "concat", "gather", "pad", "permute", "reshape", "slice"]

OPERATIONS = ("concat", "gather", "pad", "permute", "reshape", "slice")


def reshape(x: np.ndarray, *, dtype: str, shape: Sequence[int]) -> np.ndarray:
    """The same elements, row-major, in another shape."""
    return x.reshape(tuple(shape))


def permute(x: np.ndarray, *, dtype: str, order: Sequence[int]) -> np.ndarray:
    """Dimensions in another order: dimension i of the result is `order[i]` of `x`."""
    return np.ascontiguousarray(x.transpose(tuple(order))) if x.ndim else x


def concat(*parts: np.ndarray, dtype: str, axis: int) -> np.ndarray:
    """Tensors one after the other along a dimension."""
    return np.concatenate(parts, axis)


def slice(x: np.ndarray, *, dtype: str, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]) -> np.ndarray:
    """`sizes[i]` elements of dimension i from `starts[i]` on, each `steps[i]` from the one before; a step may be negative."""
    index = tuple(
        start + step * np.arange(size) for start, size, step in zip(starts, sizes, steps, strict=True))
    return x[np.ix_(*index)] if x.ndim else x


def pad(x: np.ndarray, *, dtype: str, pads: Sequence[int], value: float = 0.0) -> np.ndarray:
    """`x` with `value` around: `pads` are what is before each dimension, then what is behind each."""
    widths = tuple(zip(pads[: x.ndim], pads[x.ndim :], strict=True))
    kind = dtype_named(dtype)
    return np.pad(x, widths, constant_values=np.array(value).astype(kind)) if x.ndim else x


def gather(x: np.ndarray, indices: np.ndarray, *, dtype: str, axis: int = 0) -> np.ndarray:
    """The parts of `x` along a dimension that indices name, negative ones from its end; one beyond the ends is moved to them."""
    size, places = x.shape[axis], indices.astype(np.int64)
    return np.take(x, np.clip(np.where(places < 0, places + size, places), 0, size - 1), axis)
