"""How a tensor of any rank lies in the four dimensions (n, c, h, w) of the chip.

| rank | tensor | (n, c, h, w) |
|---|---|---|
| 0 | a number | (1, 1, 1, 1) |
| 1 | [C] | (1, C, 1, 1) |
| 2 | [M, K] | (1, K, M, 1) |
| 3 | [B, M, K] | (B, K, M, 1) |
| 4 | [N, C, H, W] | (N, C, H, W) |
| 5 and more | [.., C, H, W] | (all before, C, H, W) |

The features of a matrix, its last dimension, are channels, and so spread over the lanes; its rows are those of an image that is
one wide. So a matrix product is a convolution of one by one, and what follows a convolution in a bias follows a product likewise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

__all__ = ["from_local", "local_shape", "places_of_rank", "to_local"]


def local_shape(shape: Sequence[int]) -> tuple[int, int, int, int]:
    """The dimensions (n, c, h, w) of a tensor of this shape."""
    rank = len(shape)
    if rank >= 4:
        return (math.prod(shape[:-3]), shape[-3], shape[-2], shape[-1])
    if rank >= 2:
        return (shape[0] if rank == 3 else 1, shape[-1], shape[-2], 1)
    return (1, shape[0] if shape else 1, 1, 1)


def places_of_rank(rank: int) -> tuple[int, ...] | None:
    """Which of (n, c, h, w) each dimension of a tensor of this rank is; None where several are one, or there is none."""
    return {1: (1,), 2: (2, 1), 3: (0, 2, 1), 4: (0, 1, 2, 3)}.get(rank)


def to_local(array: np.ndarray) -> np.ndarray:
    """A tensor as an array of its four dimensions in the chip; a view."""
    shape = local_shape(array.shape)
    if array.ndim in (2, 3):
        return array.reshape(shape[0], shape[2], shape[1], 1).transpose(0, 2, 1, 3)
    return array.reshape(shape)


def from_local(array: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """The tensor of this shape of which `array` holds the four dimensions: what `to_local` made of it, turned back."""
    if len(shape) in (2, 3):
        array = array.transpose(0, 2, 1, 3)
    return array.reshape(shape)
