"""What is left of outputs beside their large numbers.

Boxes in pixels beside chances, logits beside the -10000 of a mask, one channel that is a thousand times the others: where numbers
of one output are of several sizes, a cosine and a distance beside its size measure the large ones alone, and all that is small
may have the wrong sign. So the numbers are counted by their size, in powers of two, and a difference is measured beside the small
ones, too: those below each power, on their own.

Small numbers may be what is left of large ones, and are rounded as these are: by units in the last place of the largest. A
network that rounds by more does so to the numbers of the next sizes, too. And a number far out that many places have is of a
mask, with which none of the others was computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..metrics import comparable
from .offsets import is_real, rounded_by, thinned, unit_of

__all__ = ["Scales", "is_rounded", "largest_of", "measure_scales"]

_POWERS = 64
"""How many powers of two below the largest number are told apart."""
_NEXT = 4
"""The powers above small numbers whose roundings are as theirs."""
_TIMES = 4.0
"""How many times as large as these the roundings of the small numbers may be, by chance."""
_FEWEST = 8
"""Small numbers whose size is looked at: of few it is what is left by chance."""
_FAR = 64.0
"""How many times the next number one of a mask is: what is nearer may be where numbers are cut off."""
_FILLS = 4
"""Masks of different numbers that are looked for."""


@dataclass(frozen=True)
class Scales:
    """How far the numbers of each size are from their reference, beside the largest that was computed."""

    counts: tuple[int, ...]
    """How many are between `2**-i` and half of that; the least in the last place, zeros among them."""
    squares: tuple[float, ...]
    """The sums of their squares."""
    apart: tuple[float, ...]
    """The sums of the squares of their differences."""
    fills: float = 0.0
    """How far the numbers of masks are from their reference, beside these."""

    def near(self, unit: float) -> float:
        """`1 - apart / size` of the small numbers, or of masks, where it is least, but for roundings by `unit`: 1 where they are
        within these."""
        rounded, worst = rounded_by(unit), self.fills
        for first in range(len(self.counts)):
            count, apart, size = (sum(each[first:]) for each in (self.counts, self.apart, self.squares))
            if count < _FEWEST or not apart > max(rounded**2, _TIMES**2 * self._next(first)) * count:
                continue
            worst = max(worst, math.sqrt(apart / size) if size else math.inf)
        return 1.0 - worst

    def _next(self, first: int) -> float:
        """The mean square of the differences of the numbers that are of the next sizes above a power."""
        count, apart = (sum(each[max(0, first - _NEXT):first]) for each in (self.counts, self.apart))
        return apart / count if count else 0.0


def measure_scales(reference: np.ndarray, actual: np.ndarray) -> Scales | None:
    """How far two arrays of floats of a shape are apart by the sizes of their numbers.

    None where they are no floats, where roundings of float32 explain all of it, and where a difference is not finite, which other
    metrics tell.
    """
    if not is_real(reference) or actual.dtype.kind == "c" or not reference.size:
        return None
    reference, actual = thinned(reference), thinned(actual)
    with np.errstate(all="ignore"):
        if is_rounded(reference, actual):
            return None
        a, b = comparable(reference, actual)
        sizes = np.abs(a)
        largest, fills, where = largest_of(a, b, sizes)
        if not 0.0 < largest < math.inf:
            return None
        if where is not None:
            a, b, sizes = a[where], b[where], sizes[where]
        apart = ((b - a) / largest) ** 2
        sizes /= largest
        powers = np.minimum(-np.frexp(sizes)[1] + 1, _POWERS)
        powers[sizes == 0.0] = _POWERS
        counts = np.bincount(powers)
        if not np.isfinite(apart).all():
            return None
        return Scales(tuple(counts.tolist()), tuple(np.bincount(powers, sizes**2).tolist()),
                      tuple(np.bincount(powers, apart).tolist()), fills)


def is_rounded(reference: np.ndarray, actual: np.ndarray) -> bool:
    """Whether no two numbers are farther apart than roundings of float32 are, beside a largest one that is of no mask: most right
    results, found without much work."""
    a, b = (each.astype(np.promote_types(each.dtype, np.float32), copy=False) for each in (reference, actual))
    apart, sizes = float(np.abs(b - a).max()), np.abs(a)
    largest = float(sizes.max())
    if not apart <= rounded_by(unit_of(np.dtype(np.float32))) * largest:  # nor where one is NaN
        return False
    return bool(((sizes >= largest / _FAR) & (sizes < largest)).any())


def largest_of(a: np.ndarray, b: np.ndarray, sizes: np.ndarray) -> tuple[float, float, np.ndarray | None]:
    """The largest number but for those of masks, how far these are apart, and where all others are; None: everywhere."""
    where, fills, kept = None, 0.0, sizes
    largest = float(sizes.max(initial=0.0))
    for _ in range(_FILLS):
        is_next = kept < largest
        below = float(kept[is_next].max(initial=0.0))
        if not below * _FAR < largest or kept.size - np.count_nonzero(is_next) < 2 or below == 0.0:
            break
        same = sizes == largest
        fills = max(fills, float(np.abs(a[same] - b[same]).max()) / largest)
        where = ~same if where is None else where & ~same
        kept, largest = kept[is_next], below
    return largest, fills, where
