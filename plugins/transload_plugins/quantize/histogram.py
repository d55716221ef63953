"""How the numbers of a tensor are distributed over many samples, in fixed memory.

Two passes over the samples: the first finds the least and the greatest number, the second counts. Counts are integers and bins
depend on the range alone, so that the result is the same in whatever order, and by however many workers, samples are seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transload.errors import UsageError

__all__ = ["BINS", "Extent", "Histogram"]

BINS = 2048
"""Bins from zero to the number farthest from it (TPU-MLIR manual 7.3.1)."""
SMALLEST = float(np.finfo(np.float32).tiny)
"""The width of bins where all numbers are zero."""


@dataclass(frozen=True)
class Extent:
    """The least and the greatest number seen, and how many there were; nothing seen yet: `low > high`."""

    low: float = np.inf
    high: float = -np.inf
    count: int = 0

    def seen(self, array: NDArray[np.floating]) -> Extent:
        """With the numbers of another array. Raises `UsageError` where one is NaN or infinite."""
        if not array.size:
            return self
        low, high = float(array.min()), float(array.max())
        if not np.isfinite(low) or not np.isfinite(high):
            raise UsageError("has numbers that are not finite", hint="look at the sample: NaN and infinity have no range")
        return Extent(min(self.low, low), max(self.high, high), self.count + array.size)

    def joined(self, other: Extent) -> Extent:
        """What two workers saw together."""
        return Extent(min(self.low, other.low), max(self.high, other.high), self.count + other.count)

    @property
    def farthest(self) -> float:
        """The greatest distance from zero."""
        return max(abs(self.low), abs(self.high)) if self.count else 0.0


class Histogram:
    """Counts of numbers in bins of one width, with an edge at zero: bin `i` begins at `(first + i) * width`.

    The bins reach over the extent, `BINS` of them from zero to its farther end; numbers outside count in the outermost.
    """

    def __init__(self, extent: Extent, counts: NDArray[np.int64] | None = None) -> None:
        self.extent = extent
        self.width = extent.farthest / BINS or SMALLEST
        self.first = min(int(np.floor(min(extent.low, 0.0) / self.width)), 0) if extent.count else 0
        last = max(int(np.ceil(max(extent.high, 0.0) / self.width)), 1) if extent.count else 1
        self.counts: NDArray[np.int64] = np.zeros(last - self.first, np.int64) if counts is None else counts

    def add(self, array: NDArray[np.floating]) -> None:
        """Count the numbers of an array."""
        places = np.floor(array.reshape(-1) / self.width).astype(np.int64) - self.first
        np.clip(places, 0, len(self.counts) - 1, out=places)
        self.counts += np.bincount(places, minlength=len(self.counts))

    def join(self, other: Histogram) -> None:
        """Add the counts of another worker, of the same extent."""
        self.counts += other.counts

    @property
    def centers(self) -> NDArray[np.float64]:
        """The middle of each bin."""
        return (np.arange(len(self.counts), dtype=np.float64) + self.first + 0.5) * self.width

    @property
    def total(self) -> int:
        """How many numbers were counted."""
        return int(self.counts.sum())

    def magnitudes(self) -> NDArray[np.int64]:
        """Counts of distances from zero, in `BINS` bins of the same width."""
        folded = np.zeros(BINS, np.int64)
        below = self.counts[: -self.first][::-1] if self.first else self.counts[:0]
        above = self.counts[-self.first:] if self.first else self.counts
        folded[: len(below)] += below[:BINS]
        folded[: len(above)] += above[:BINS]
        return folded

    def quantile(self, share: float) -> float:
        """The number that a share of all numbers do not exceed, to a bin's width; within the extent."""
        reached = np.searchsorted(np.cumsum(self.counts), share * self.total)
        edge = (self.first + min(int(reached), len(self.counts) - 1) + (share > 0.5)) * self.width
        return float(np.clip(edge, self.extent.low, self.extent.high))

    def moments(self) -> tuple[float, float]:
        """Mean, and mean distance from it."""
        weights = self.counts / max(self.total, 1)
        mean = float(weights @ self.centers)
        return mean, float(weights @ np.abs(self.centers - mean))
