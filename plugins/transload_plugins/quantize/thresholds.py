"""From the distribution of a tensor's numbers to the range that integers are to hold.

Every method is a function of a `Histogram`, a number of bits, and whether zero points are zero. It gives `(low, high)`, a range
within what was seen; numbers outside saturate. Where zero points are zero, the ends that are cut lie at one distance from zero.
The methods trade the error of saturation for the error of rounding, each by a measure of its own; `METHODS` has them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .histogram import ENDS, MANUAL_BINS, Histogram

__all__ = ["METHODS", "Fixed", "Method", "Range", "aciq", "entropy", "kl", "minmax", "mse", "percentile", "quantization_errors",
           "unseen"]

Range = tuple[float, float]
Ranges = Sequence[Range] | NDArray[np.float64]
Method = Callable[[Histogram, int, bool], Range]


class Fixed(NamedTuple):
    """A range that follows from the op alone, without its end, which no number reaches but by rounding."""

    low: float
    high: float


WIDE = 16
"""Ranges that are counted before others of the same end, the widest of them."""
SURE, NOISE = 1.5, 1e-9
"""What saturates has to be this much of the least error, and this much of all squares beside, for a range not to be counted."""
STRETCHES = tuple(1.0 + 0.05 * step for step in range(21))
"""How much farther than what is best on the samples that were seen a range may reach."""
LEAST_ENDS = 3
"""Samples that say how far others reach, at least."""
LEVELS = 128
"""Distances from zero that int8 tells apart."""


def minmax(histogram: Histogram, bits: int = 8, symmetric: bool = False) -> Range:
    """All that was seen: nothing saturates."""
    return histogram.low, histogram.high


def percentile(histogram: Histogram, bits: int = 8, symmetric: bool = False, share: float = 0.9999) -> Range:
    """What remains where `1 - share` of the numbers may saturate at either end."""
    low, high = histogram.quantile(1.0 - share), histogram.quantile(share)
    return _within(histogram, max(-low, high)) if symmetric else (low, high)


def kl(histogram: Histogram, bits: int = 8, symmetric: bool = False, bins: int = MANUAL_BINS) -> Range:
    """The cut whose int8 distribution diverges least from that of the floats (TPU-MLIR manual 7.3.1, its pseudo-code).

    Cuts are tried at every 128th of so many bins of distances from zero, for 8 bits, however many there are. Zeros are exact at
    every cut, and left out: the manual does not say so, and TPU-MLIR does it (`t[t != 0]`); we leave out the first bin. With
    them what comes out of a ReLU is cut at half of its range: half of the mass is one number, which narrow levels hold best.
    """
    return _within(histogram, _least_divergence(histogram, bins, range(LEVELS, bins, LEVELS), _spread_evenly))


def entropy(histogram: Histogram, bits: int = 8, symmetric: bool = False, bins: int = MANUAL_BINS) -> Range:
    """As `kl`, with a cut tried at every eighth bin, and the mass of a level given back to the bins that held any.

    Source: S. Migacz, "8-bit Inference with TensorRT", GTC 2017.
    """
    return _within(
        histogram, _least_divergence(histogram, bins, range(LEVELS, bins + 1, 8), _spread_where_there_was_any))


def _within(histogram: Histogram, threshold: float) -> Range:
    """What was seen, cut at a distance from zero."""
    return _cut(histogram, -threshold, threshold)


def _cut(histogram: Histogram, least: float, greatest: float) -> Range:
    """What was seen, cut at both ends."""
    low, high = min(histogram.low, histogram.high), histogram.high
    return float(min(max(low, least), greatest)), float(min(max(high, least), greatest))


Spread = Callable[[NDArray[np.float64], NDArray[np.int64]], NDArray[np.float64]]


def _least_divergence(histogram: Histogram, count: int, cuts: range, spread: Spread) -> float:
    """The threshold, of those at `cuts` of `count` bins from zero, with the least Kullback-Leibler divergence, without bin 0."""
    bins = histogram.magnitudes(count)
    bins[0] = 0.0
    width = histogram.farthest / count
    if not bins.any():
        return histogram.farthest
    best, threshold = np.inf, histogram.farthest
    for cut in cuts:
        reference = bins[:cut].copy()
        reference[-1] += bins[cut:].sum()
        level = np.arange(cut) * LEVELS // cut
        divergence = _divergence(reference, spread(bins[:cut], level))
        if divergence < best:
            best, threshold = divergence, (cut + 0.5) * width if cut < count else histogram.farthest
    return threshold


def _spread_evenly(bins: NDArray[np.float64], level: NDArray[np.int64]) -> NDArray[np.float64]:
    """The mass of each level, over all its bins alike."""
    sums = np.bincount(level, bins, LEVELS)
    return (sums / np.bincount(level, minlength=LEVELS))[level]


def _spread_where_there_was_any(bins: NDArray[np.float64], level: NDArray[np.int64]) -> NDArray[np.float64]:
    """The mass of each level, over those of its bins that held any."""
    sums, held = np.bincount(level, bins, LEVELS), np.bincount(level, bins > 0, LEVELS)
    return np.where(bins > 0, (sums / np.maximum(held, 1))[level], 0.0)


def _divergence(reference: NDArray[np.float64], candidate: NDArray[np.float64]) -> float:
    """How far the second distribution is from the first, in nats; a place where only the first has mass costs as a tiny one."""
    if not candidate.any():
        return float(np.inf)
    p, q = reference / reference.sum(), candidate / candidate.sum()
    there = p > 0
    return float(np.sum(p[there] * np.log(p[there] / np.maximum(q[there], 1e-12))))


def mse(histogram: Histogram, bits: int = 8, symmetric: bool = False) -> Range:
    """The range with the least mean squared error of rounding and saturation together, on samples seen and unseen.

    Either end is drawn in by itself, in 64 steps at first and finer around the best; a symmetric range has one end. Then the
    range is stretched as far as that saves more on other samples than it costs (`unseen`): of tensors of few numbers these few
    samples do not show the ends.
    """
    sums = _Sums(histogram)
    kept = _least_seen(sums, bits, symmetric)
    for end in range(1 if symmetric else 2):
        ranges = [_stretched(kept, stretch, end, symmetric) for stretch in STRETCHES]
        beyond = unseen(histogram, ranges, symmetric)
        if beyond[0] > beyond[-1]:
            kept = ranges[int(np.argmin(sums.errors(ranges, bits, symmetric) + beyond))]
    return kept


def _stretched(kept: Range, stretch: float, end: int, symmetric: bool) -> Range:
    """The range with one end, or both where they are one, that many times as far."""
    low, high = kept
    return (low * stretch if end == 0 else low, high * stretch if end == 1 or symmetric else high)


def _least_seen(sums: _Sums, bits: int, symmetric: bool) -> Range:
    """The range with the least mean squared error of the numbers that were seen."""
    histogram = sums.histogram
    ends = [1.0, 1.0]  # shares of low and of high that are kept
    movable = [True] if symmetric else [histogram.low < 0.0, histogram.high > 0.0]
    step, steps = 1.0 / 64, 64
    while step > 1.0 / 1024:
        for end, moves in enumerate(movable):
            if not moves:
                continue
            shares = np.unique(np.clip(ends[end] + step * np.arange(-steps, steps + 1), 1.0 / 64, 1.0))
            errors = sums.least(_drawn_in(histogram, shares, ends, end, symmetric), bits, symmetric)
            ends[end] = float(shares[errors == errors.min()].max())
        step, steps = step / 8, 8
    low, high = _drawn_in(histogram, np.array(ends[:1]), ends, 0, symmetric)[0].tolist()
    return low, high


def unseen(histogram: Histogram, ranges: Sequence[Range], symmetric: bool = False) -> NDArray[np.float64]:
    """The mean squared error that is to be expected of numbers beyond what was seen, for each of some ranges.

    How far a sample reaches beyond some end that samples seldom reach falls off like an exponential; so of the k that reach
    farthest of n, `reach_1` to `reach_k`, the mean distance beyond `reach_k` is its scale, `b`. A sample reaches beyond `end`
    with probability `k / n exp(-(end - reach_k) / b)`, and then by `2 b^2` in the mean of squares: with one number of its own.
    Ends within what was seen are taken for those; what is lost there was counted.

    Source: J. Pickands, "Statistical inference using extreme order statistics", Annals of Statistics 3 (1975).
    """
    errors = np.zeros(len(ranges))
    most = min(ENDS, histogram.arrays)
    if most < LEAST_ENDS:
        return errors
    numbers = histogram.total / histogram.arrays
    held = np.abs(np.array(ranges)).T
    held = np.broadcast_to(held.max(axis=0), held.shape) if symmetric else held
    for reach, ends in zip(histogram.ends[:, :most], held, strict=True):
        scale = float(np.mean(reach[:-1]) - reach[-1])
        if reach[0] > 0.0 and scale > 0.0:
            end = np.maximum(ends, reach[0])
            errors += most / histogram.arrays * np.exp((reach[-1] - end) / scale) * 2.0 * scale ** 2 / numbers
    return errors


def _drawn_in(
    histogram: Histogram, shares: NDArray[np.float64], ends: list[float], end: int, symmetric: bool,
) -> NDArray[np.float64]:
    """The ranges [S, 2] with some shares kept of one end; of both where they are one."""
    if symmetric:
        greatest = histogram.farthest * shares
        least = -greatest
    else:
        one = np.ones(len(shares))
        of_low, of_high = (shares, ends[1] * one) if end == 0 else (ends[0] * one, shares)
        least, greatest = min(histogram.low, 0.0) * of_low, max(histogram.high, 0.0) * of_high
    return np.stack([np.minimum(np.maximum(seen, least), greatest)
                     for seen in (min(histogram.low, histogram.high), histogram.high)], axis=1)


def quantization_errors(
    histogram: Histogram, ranges: Ranges, bits: int = 8, symmetric: bool = False,
) -> NDArray[np.float64]:
    """The mean squared error of numbers so distributed, for each of some ranges in which they are held in `bits`.

    Ranges are widened to hold zero. All numbers that a level stands for contribute by their sums alone: of their squares, of
    themselves, and their count.
    """
    return _Sums(histogram).errors(ranges, bits, symmetric)


class _Sums:
    """A histogram, and the sums by which the errors of ranges are counted (`quantization_errors`), for whoever tries many."""

    def __init__(self, histogram: Histogram) -> None:
        self.histogram = histogram
        self._total = max(histogram.total, 1)
        centers = histogram.centers
        weights = histogram.counts, histogram.counts * centers, histogram.counts * centers * centers
        self._before = np.zeros((3, len(centers) + 1))
        """Before each bin and behind the last, how many numbers there are, their sum, and that of their squares."""
        for sums, each in zip(self._before, weights, strict=True):
            np.cumsum(each, out=sums[1:])

    def least(self, ranges: NDArray[np.float64], bits: int, symmetric: bool) -> NDArray[np.float64]:
        """For each range, from narrow to wide; infinite where what saturates alone is more than the least of all.

        The wide ones are counted first, and most of the others need not be.
        """
        errors = np.full(len(ranges), np.inf)
        errors[-WIDE:] = self.errors(ranges[-WIDE:], bits, symmetric)
        narrow = ranges[:-WIDE]
        if len(narrow):
            most = SURE * errors.min() + NOISE * self._before[2, -1] / self._total
            there = np.flatnonzero(self._beyond(*self._grids(narrow, bits, symmetric)) <= most)
            errors[there] = self.errors(narrow[there], bits, symmetric)
        return errors

    def _beyond(self, scale: NDArray[np.float64], zero: NDArray[np.float64], greatest: int) -> NDArray[np.float64]:
        """The mean squared distance of numbers from the ends of what the levels reach, of those that lie beyond them."""
        low, high = (-greatest - 1 - zero) * scale, (greatest - zero) * scale
        places = self.histogram.first_from(np.concatenate((low, high), axis=1))
        below = self._before[:, places[:, 0]]
        above = self._before[:, -1:] - self._before[:, places[:, 1]]
        errors: NDArray[np.float64] = sum(
            squares - 2.0 * end[:, 0] * total + end[:, 0] ** 2 * count
            for end, (count, total, squares) in ((low, below), (high, above)))
        return errors / self._total

    @staticmethod
    def _grids(ranges: Ranges, bits: int, symmetric: bool) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
        """The scale and the zero point of each range [N, 1], and the greatest integer."""
        ends = np.asarray(ranges, np.float64).reshape(-1, 2)
        low, high = np.minimum(ends[:, :1], 0.0), np.maximum(ends[:, 1:], 0.0)
        greatest = (1 << (bits - 1)) - 1
        scale = np.maximum(-low, high) / greatest if symmetric else (high - low) / (2 * greatest + 1)
        scale = np.maximum(scale, np.finfo(np.float64).tiny)
        return scale, np.zeros_like(scale) if symmetric else np.round(-low / scale) - greatest - 1, greatest

    def errors(self, ranges: Ranges, bits: int, symmetric: bool) -> NDArray[np.float64]:
        """For each range."""
        scale, zero, greatest = self._grids(ranges, bits, symmetric)
        if bits > 8:  # more levels than bins: what is rounded is spread evenly over a step
            return self._of_saturation(scale, zero, greatest) + scale[:, 0] ** 2 / 12
        levels = (np.arange(-greatest - 1, greatest + 1) - zero) * scale
        first = np.empty((len(levels), levels.shape[1] + 1), np.intp)
        first[:, 0], first[:, -1] = 0, len(self.histogram.counts)
        first[:, 1:-1] = self.histogram.first_from(levels[:, 1:] - scale / 2)
        count, total, squares = np.diff(self._before[:, first], axis=2)
        errors: NDArray[np.float64] = np.sum(squares - 2.0 * levels * total + levels ** 2 * count, axis=1)
        return np.maximum(errors, 0.0) / self._total

    def _of_saturation(self, scale: NDArray[np.float64], zero: NDArray[np.float64], greatest: int) -> NDArray[np.float64]:
        """The mean squared distance of numbers from the nearest within what the levels reach."""
        centers = self.histogram.centers
        held = np.clip(centers, (-greatest - 1 - zero) * scale, (greatest - zero) * scale)
        errors: NDArray[np.float64] = (held - centers) ** 2 @ self.histogram.counts / self._total
        return errors


GAUSS = {2: 1.71, 3: 2.15, 4: 2.55, 5: 2.93, 6: 3.28, 7: 3.61, 8: 3.92}
LAPLACE = {2: 2.83, 3: 3.89, 4: 5.03, 5: 6.20, 6: 7.41, 7: 8.64, 8: 9.89}
"""The best cut for so many bits, in standard deviations and in mean distances from the mean."""


def aciq(histogram: Histogram, bits: int = 8, symmetric: bool = False) -> Range:
    """The cut that is best for a normal or a Laplace distribution, whichever leaves the lesser error; all for more than 8 bits.

    Source: R. Banner et al., "Post training 4-bit quantization of convolutional networks", NeurIPS 2019. A distribution that ends
    at zero, as after a ReLU, is taken for the half of one that is symmetric around it.
    """
    low, high = histogram.low, histogram.high
    if bits not in GAUSS:
        return low, high
    mean, distance = histogram.moments()
    one_sided = low >= 0.0 or high <= 0.0
    if one_sided or symmetric:
        weights = histogram.counts / max(histogram.total, 1)
        mean, distance = 0.0, float(weights @ np.abs(histogram.centers))
    variance = float(histogram.counts @ (histogram.centers - mean) ** 2) / max(histogram.total, 1)
    cuts = (GAUSS[bits] * np.sqrt(variance), LAPLACE[bits] * distance)
    ranges = [_cut(histogram, mean - cut, mean + cut) for cut in cuts]
    return ranges[int(np.argmin(quantization_errors(histogram, ranges, bits, symmetric)))]


METHODS: dict[str, Method] = {
    "minmax": minmax, "percentile": percentile, "kl": kl, "mse": mse, "aciq": aciq, "entropy": entropy,
}
"""The methods, by the names under which users ask for them."""
