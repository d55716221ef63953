"""Which grid of TPU-MLIR's `Interp` reads what an `Interp` of the hub does.

Source: `Interp.cpp` of TPU-MLIR's Top dialect, of models whose platform is ONNX. It knows linear interpolation between places
that are moved onto the border, by centres of pixels or by corners; it reads none of the hub's other attributes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from transload_hub.kernels.resize import coordinates, taps

if TYPE_CHECKING:
    from transload_hub.ops.resize import Interp

__all__ = ["grid_of", "matrix", "places", "scale_of"]

_NEAR = 1e-5
"""How near weights are of places that are computed in floats of 32 bits."""


def places(op: Interp, i: int, size: int) -> np.ndarray:
    """Which element each place of spatial dimension `i` is, of a resize to the nearest."""
    where: np.ndarray = taps(op, i, size)[0][:, 0]
    return where


def matrix(op: Interp, i: int, size: int) -> np.ndarray:
    """The weights `[made, size]` of the elements of spatial dimension `i`, of which its places are made."""
    if not op.antialias and np.array_equal(coordinates(op, i, size), np.arange(size)):
        return np.eye(size, dtype=np.float32)
    where, weights = taps(op, i, size)
    made = np.zeros((len(where), size))
    np.add.at(made, (np.arange(len(where))[:, None], where), weights)
    return made.astype(np.float32)


def grid_of(matrices: tuple[np.ndarray, np.ndarray]) -> str | None:
    """The `coord_mode` by which TPU-MLIR makes places of these weights; None where it has none."""
    for mode in ("half_pixel", "align_corners"):
        if all(np.allclose(made, _linear(mode, *made.shape), atol=_NEAR) for made in matrices):
            return mode
    return None


def scale_of(size: int, made: int) -> float:
    """A scale from which TPU-MLIR, which cuts off its product with the size, finds how many places are made."""
    scale = made / size
    return scale if math.floor(size * scale) == made else math.nextafter(scale, math.inf)


def _linear(mode: str, made: int, size: int) -> np.ndarray:
    """The weights of a grid of TPU-MLIR's."""
    place = np.arange(made)
    if mode == "align_corners":
        x = place * (size - 1) / max(made - 1, 1)
    else:
        x = np.clip((place + 0.5) * size / made - 0.5, 0, size - 1)
    return np.maximum(1 - np.abs(x[:, None] - np.arange(size)), 0).astype(np.float32)
