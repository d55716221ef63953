"""How the numbers of a tensor are distributed over many samples: in one pass, in fixed memory, the same in whatever order.

The width of bins is a power of two, and doubles when a number lies outside: two bins become one. A number divided by a power of
two is exact, and dropping the fraction of a half is dropping it before and after, so that bins and counts are those that one
would have begun with, had one known the range. Which samples were seen first, and by which worker, makes no difference.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from transload.errors import UsageError

__all__ = ["BINS", "ENDS", "LEAST", "MANUAL_BINS", "Histogram"]

BINS = 4096
"""Bins on either side of zero; more than half of those on the side of the number farthest from it reach no farther than it."""
MANUAL_BINS = 2048
"""Bins from zero to the number farthest from it in the TPU-MLIR manual (7.3.1)."""
ENDS = 6
"""Arrays whose farthest numbers are kept, on either side: they say how far the next array may reach."""
_BITS = BINS.bit_length() - 1
LEAST = -126 + _BITS
"""The exponent below which a bin's width would be no normal float32."""
_CHUNK = 1 << 16
"""Numbers that are counted at a time: what is made of them stays in the processor's cache."""


class _Scratch(threading.local):
    """Room for a chunk's numbers, in bins and as places: of each thread its own, and kept.

    Made anew for each chunk it goes back to the system each time where the system's allocator is told to keep nothing, as Dask
    tells it in its workers (`MALLOC_TRIM_THRESHOLD_`); fetching it again took longer than all of the counting.
    """

    def __init__(self) -> None:
        self._rooms: dict[type[np.floating], tuple[NDArray[np.floating], NDArray[np.int32], NDArray[np.intp]]] = {}

    def of(self, wide: type[np.floating]) -> tuple[NDArray[np.floating], NDArray[np.int32], NDArray[np.intp]]:
        """Three arrays of `_CHUNK` numbers: of floats of a type, of their whole parts, and of places."""
        if wide not in self._rooms:
            self._rooms[wide] = (np.empty(_CHUNK, wide), np.empty(_CHUNK, np.int32), np.empty(_CHUNK, np.intp))
        return self._rooms[wide]


_scratch = _Scratch()


class Histogram:
    """Counts of numbers in bins of one width: bin `k` has those of which `k` widths are the whole part, bin 0 from both sides.

    `counts[BINS - 1 + k]` is bin `k`'s; `low` and `high` are the least and the greatest number, `low > high` where there is none.
    """

    def __init__(self, arrays: Iterable[NDArray[np.floating]] = ()) -> None:
        self.low = np.inf
        self.high = -np.inf
        self.exponent = LEAST
        """All numbers are nearer to zero than two to this power."""
        self.counts: NDArray[np.int64] = np.zeros(2 * BINS - 1, np.int64)
        self.arrays = 0
        """How many were counted: samples, where a tensor is computed once on each."""
        self.ends: NDArray[np.float64] = np.full((2, ENDS), -np.inf)
        """Of the arrays that reach farthest below zero, and above it, how far each does, the farthest first."""
        for array in arrays:
            self.add(array)

    def add(self, array: NDArray[np.floating]) -> None:
        """Count the numbers of an array. Raises `UsageError` where one is NaN or infinite."""
        if not array.size:
            return
        low, high = float(array.min()), float(array.max())
        if not (math.isfinite(low) and math.isfinite(high)):
            raise UsageError("has numbers that are not finite", hint="look at the sample: NaN and infinity have no range")
        self.low, self.high = min(self.low, low), max(self.high, high)
        self.arrays += 1
        if -low > self.ends[0, -1] or high > self.ends[1, -1]:
            self._end([[-low], [high]])
        self._reach(math.frexp(max(-low, high))[1])
        numbers = np.ascontiguousarray(array).reshape(-1)
        wide = np.float64 if numbers.dtype == np.float64 else np.float32
        counts = self.counts[BINS - 1:] if low >= 0.0 else self.counts
        for start in range(0, numbers.size, _CHUNK):
            some = numbers[start:start + _CHUNK]
            floats, wholes, all_places = _scratch.of(wide)
            scaled, whole, places = floats[:some.size], wholes[:some.size], all_places[:some.size]
            np.multiply(some, wide(1.0 / self.width), out=scaled, dtype=wide)
            whole[:] = scaled  # drops the fraction; to 32 bits, and from there to 64, processors do many at once
            if low < 0.0:
                whole += BINS - 1
            places[:] = whole
            np.add.at(counts, places, 1)

    def join(self, other: Histogram) -> None:
        """Add what another worker counted."""
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.arrays += other.arrays
        self._end(other.ends)
        self._reach(other.exponent)
        self.counts += _folded(other.counts, self.exponent - other.exponent)

    def _end(self, others: ArrayLike) -> None:
        """Keep the farthest of these, too."""
        self.ends = -np.sort(-np.concatenate((self.ends, others), axis=1), axis=1)[:, :ENDS]

    def _reach(self, exponent: int) -> None:
        """Make bins wide enough for numbers nearer to zero than two to a power."""
        if exponent > self.exponent:
            self.counts = _folded(self.counts, exponent - self.exponent)
            self.exponent = exponent

    @property
    def width(self) -> float:
        """Of a bin."""
        return math.ldexp(1.0, self.exponent - _BITS)

    @property
    def farthest(self) -> float:
        """The greatest distance from zero; 0 where nothing was seen."""
        return max(-self.low, self.high, 0.0)

    @property
    def centers(self) -> NDArray[np.float64]:
        """The middle of each bin."""
        index = np.arange(1 - BINS, BINS, dtype=np.float64)
        return (index + 0.5 * np.sign(index)) * self.width

    def first_from(self, numbers: NDArray[np.float64]) -> NDArray[np.intp]:
        """For each number the first bin, as an index of `counts`, whose center is not below it."""
        bins = numbers / self.width
        above = bins > 0.0
        bins -= np.where(above, 0.5, -0.5)
        np.ceil(bins, out=bins)
        bins = np.where(above, np.maximum(bins, 1.0), np.minimum(bins, 0.0))
        bins += BINS - 1
        return np.minimum(np.maximum(bins, 0.0, out=bins), len(self.counts), out=bins).astype(np.intp)

    @property
    def total(self) -> int:
        """How many numbers were counted."""
        return int(self.counts.sum())

    def magnitudes(self, bins: int = MANUAL_BINS) -> NDArray[np.float64]:
        """Counts of distances from zero in as many bins as are asked for, the last of which ends at the farthest number.

        What one of our bins holds is shared among those that it reaches into.
        """
        both = self.counts[BINS - 1:].copy()
        both[1:] += self.counts[:BINS - 1][::-1]
        reached = np.concatenate(([0], np.cumsum(both)))
        edges = np.linspace(0.0, self.farthest, bins + 1) / self.width
        edges[-1] = BINS
        found: NDArray[np.float64] = np.diff(np.interp(edges, np.arange(BINS + 1), reached))
        return found

    def quantile(self, share: float) -> float:
        """The number that a share of all numbers do not exceed, to a bin's width; within what was seen."""
        place = min(int(np.searchsorted(np.cumsum(self.counts), share * self.total)), len(self.counts) - 1) - (BINS - 1)
        outer = place + (share > 0.5) if place >= 0 else place - (share <= 0.5)  # the bin's edge that keeps the share
        return float(np.clip(outer * self.width, self.low, self.high))

    def moments(self) -> tuple[float, float]:
        """Mean, and mean distance from it."""
        weights = self.counts / max(self.total, 1)
        mean = float(weights @ self.centers)
        return mean, float(weights @ np.abs(self.centers - mean))


def _folded(counts: NDArray[np.int64], doublings: int) -> NDArray[np.int64]:
    """Counts in bins that are wider by so many doublings."""
    if not doublings:
        return counts
    factor = 1 << min(doublings, _BITS)
    folded = np.zeros_like(counts)
    width = -(-BINS // factor)
    above, below = counts[BINS - 1:], counts[:BINS][::-1].copy()
    below[0] = 0  # bin 0 is above's
    folded[BINS - 1:BINS - 1 + width] = above.reshape(-1, factor).sum(axis=1)
    folded[BINS - width:BINS] += below.reshape(-1, factor).sum(axis=1)[::-1]
    return folded
