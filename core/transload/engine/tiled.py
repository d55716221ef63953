"""Arrays side by side, as TILE of every dialect has them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["tiled"]


def tiled(x: np.ndarray, counts: Sequence[int]) -> np.ndarray:
    """`numpy.tile(x, counts)`, which takes no place but that of the result.

    numpy's own repeats one axis after the other: of `(2**31, 0)` copies, which have no element, it makes the first 2**31.
    """
    x = np.asarray(x)
    counts = (1,) * (x.ndim - len(counts)) + tuple(int(count) for count in counts)
    sizes = (1,) * (len(counts) - x.ndim) + x.shape
    apart = tuple(part for size in sizes for part in (1, size))
    beside = tuple(part for pair in zip(counts, sizes, strict=True) for part in pair)
    result = tuple(count * size for count, size in zip(counts, sizes, strict=True))
    return np.broadcast_to(x.reshape(apart), beside).reshape(result)
