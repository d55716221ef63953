"""Measures of how near two tensors are. All take `(reference, actual)` and compute in float64.

A complex number counts as two: its real part and its imaginary one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

__all__ = ["as_numbers", "comparable", "cosine", "euclid", "max_abs", "same_infinities", "sqnr"]


_PART = 1 << 20
"""Numbers that are compared at a time."""
_FARTHEST = float(np.finfo(np.float32).max)


def comparable(reference: np.ndarray, actual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both as vectors, without what is the same infinity in both, or NaN in both: they agree there, and no sum says it.

    The greatest float32 stands for infinity where the other is infinite: runtimes mask with either.
    """
    a, b = as_numbers(reference, actual)
    same = same_infinities(a, b) | (np.isnan(a) & np.isnan(b))
    return (a[~same], b[~same]) if same.any() else (a, b)


def same_infinities(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Where two vectors have the same infinity, or one has it and the other the greatest float32 that there is."""
    mixed = (np.isinf(a) ^ np.isinf(b)) & (np.sign(a) == np.sign(b)) & (np.minimum(np.abs(a), np.abs(b)) >= _FARTHEST)
    return (np.isinf(a) & (a == b)) | mixed


def as_numbers(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Arrays as vectors of float64; where one has complex numbers, of both parts of each."""
    if any(np.asarray(each).dtype.kind == "c" for each in arrays):
        return tuple(np.ascontiguousarray(each, np.complex128).ravel().view(np.float64) for each in arrays)
    return tuple(np.asarray(each, np.float64).ravel() for each in arrays)


def _parts(reference: np.ndarray, actual: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Both, comparable, a part after the other: in float64 all at once takes many times the memory that they have."""
    for a, b in _cut(reference, actual):
        yield comparable(a, b)


def _scaled(reference: np.ndarray, actual: np.ndarray, apart: bool = False) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """`_parts`, times a power of two by which the greatest number is near 1: squares of others overflow or vanish.

    Both times the same one, or each times its own (`apart`), where only their directions are compared.
    """
    greatest = np.zeros(2)
    for part in _parts(reference, actual):
        greatest = np.maximum(greatest, [np.abs(each).max(initial=0.0) for each in part])
    if not apart:
        greatest[:] = greatest.max()
    ours, theirs = (-math.frexp(each)[1] if math.isfinite(each) else 0 for each in greatest)
    for a, b in _parts(reference, actual):
        yield np.ldexp(a, ours), np.ldexp(b, theirs)


def _cut(reference: np.ndarray, actual: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    a, b = np.asarray(reference).ravel(), np.asarray(actual).ravel()
    if a.size != b.size:
        raise ValueError(f"{a.size} and {b.size} numbers cannot be compared")
    for first in range(0, a.size, _PART):
        yield a[first : first + _PART], b[first : first + _PART]


def _whole_type(reference: np.ndarray, actual: np.ndarray) -> np.dtype | None:
    """The type of integers that holds both; None of others."""
    types = [np.asarray(each).dtype for each in (reference, actual)]
    both = np.result_type(*types) if all(each.kind in "iu" for each in types) else None
    return both if both is not None and both.kind in "iu" else None


def _apart(a: np.ndarray, b: np.ndarray) -> int:
    """The greatest difference of integers of one type, which floats do not hold where they have 64 bits."""
    most, least = (choose(a, b).astype(np.uint64) for choose in (np.maximum, np.minimum))
    return int((most - least).max(initial=0))


@np.errstate(all="ignore")  # NaN is told as such
def cosine(reference: np.ndarray, actual: np.ndarray) -> float:
    """Cosine of the angle between two tensors as vectors, 1 where both are zero, NaN where only one is finite."""
    sums = np.zeros(3)
    for x, y in _scaled(reference, actual, apart=True):
        sums += np.dot(x, y), np.dot(x, x), np.dot(y, y)
    if not sums[1:].any():
        return 1.0
    norms = math.sqrt(sums[1] * sums[2])  # of the product: its root is the very sum where both are the same
    return float(sums[0]) / norms if norms else 0.0


@np.errstate(all="ignore")  # NaN is told as such
def euclid(reference: np.ndarray, actual: np.ndarray) -> float:
    """`1 - |a - b| / |a|`: 1 where equal (TPU-MLIR manual, chapter 3, similarity of tensors)."""
    size, distance = np.sqrt(_squares(reference, actual))
    return float(1.0 - distance / size) if size else float(distance == 0.0)


@np.errstate(all="ignore")  # NaN is told as such
def max_abs(reference: np.ndarray, actual: np.ndarray) -> float:
    """Greatest absolute difference; equal infinities and NaNs in the same place differ by 0."""
    whole = _whole_type(reference, actual)
    if whole is not None:
        return float(max((_apart(a.astype(whole), b.astype(whole)) for a, b in _cut(reference, actual)), default=0))
    greatest = 0.0
    for a, b in _parts(reference, actual):
        difference = np.abs(a - b)
        difference[(a == b) | (np.isnan(a) & np.isnan(b))] = 0.0
        greatest = float(np.max([greatest, difference.max(initial=0.0)]))
    return greatest


@np.errstate(all="ignore")  # NaN is told as such
def sqnr(reference: np.ndarray, actual: np.ndarray) -> float:
    """`10 log10(|a|^2 / |a - b|^2)` in dB: infinite where equal."""
    signal, noise = _squares(reference, actual)
    if noise == 0.0:
        return float("inf")
    return float(10.0 * np.log10(signal / noise)) if signal else float("-inf")


def _squares(reference: np.ndarray, actual: np.ndarray) -> np.ndarray:
    """The sums of the squares of the one, and of the difference, both over the same number."""
    sums = np.zeros(2)
    for a, b in _scaled(reference, actual):
        difference = a - b
        sums += np.dot(a, a), np.dot(difference, difference)
    return sums
