"""Measures of how near two tensors are. All take `(reference, actual)` and compute in float64."""

from __future__ import annotations

import numpy as np

__all__ = ["comparable", "cosine", "euclid", "max_abs", "sqnr"]


_FARTHEST = float(np.finfo(np.float32).max)


def comparable(reference: np.ndarray, actual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both as vectors, without what is the same infinity in both, or NaN in both: they agree there, and no sum says it.

    The greatest float32 stands for infinity where the other is infinite: runtimes mask with either.
    """
    a, b = np.asarray(reference, np.float64).ravel(), np.asarray(actual, np.float64).ravel()
    same = ~np.isfinite(a) & ((a == b) | (np.isnan(a) & np.isnan(b)))
    same |= (np.isinf(a) ^ np.isinf(b)) & (np.sign(a) == np.sign(b)) & (np.minimum(np.abs(a), np.abs(b)) >= _FARTHEST)
    return (a[~same], b[~same]) if same.any() else (a, b)


@np.errstate(all="ignore")  # NaN is told as such
def cosine(reference: np.ndarray, actual: np.ndarray) -> float:
    """Cosine of the angle between two tensors as vectors, 1 where both are zero, NaN where only one is finite."""
    a, b = comparable(reference, actual)
    scale = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    if scale == 0.0:
        return 1.0
    a, b = a / scale, b / scale  # so that squares neither overflow nor vanish
    norms = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.dot(a, b)) / norms if norms else 0.0


@np.errstate(all="ignore")  # NaN is told as such
def euclid(reference: np.ndarray, actual: np.ndarray) -> float:
    """`1 - |a - b| / |a|`: 1 where equal (TPU-MLIR manual, chapter 3, similarity of tensors)."""
    a, b = comparable(reference, actual)
    size, distance = float(np.linalg.norm(a)), float(np.linalg.norm(a - b))
    return 1.0 - distance / size if size else float(distance == 0.0)


@np.errstate(all="ignore")  # NaN is told as such
def max_abs(reference: np.ndarray, actual: np.ndarray) -> float:
    """Greatest absolute difference; equal infinities and NaNs in the same place differ by 0."""
    a, b = comparable(reference, actual)
    difference = np.abs(a - b)
    difference[(a == b) | (np.isnan(a) & np.isnan(b))] = 0.0
    return float(difference.max(initial=0.0))


@np.errstate(all="ignore")  # NaN is told as such
def sqnr(reference: np.ndarray, actual: np.ndarray) -> float:
    """`10 log10(|a|^2 / |a - b|^2)` in dB: infinite where equal."""
    a, b = comparable(reference, actual)
    noise = float(np.sum((a - b) ** 2))
    signal = float(np.sum(a**2))
    if noise == 0.0:
        return float("inf")
    return float(10.0 * np.log10(signal / noise)) if signal else float("-inf")
