"""From the distribution of a tensor's numbers to the range that integers are to hold.

Every method is a function of a `Histogram` that gives `(low, high)`, a range within what was seen; numbers outside saturate. The
methods trade the error of saturation for the error of rounding, each by a measure of its own; `METHODS` has them by name.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .histogram import BINS, Histogram

__all__ = ["METHODS", "Range", "aciq", "entropy", "kl", "minmax", "mse", "percentile", "quantization_error"]

Range = tuple[float, float]
LEVELS = 128
"""Distances from zero that int8 tells apart."""


def minmax(histogram: Histogram) -> Range:
    """All that was seen: nothing saturates."""
    return histogram.extent.low, histogram.extent.high


def percentile(histogram: Histogram, share: float = 0.9999) -> Range:
    """What remains where `1 - share` of the numbers may saturate at either end."""
    return histogram.quantile(1.0 - share), histogram.quantile(share)


def kl(histogram: Histogram) -> Range:
    """The cut whose int8 distribution diverges least from that of the floats (TPU-MLIR manual 7.3.1, its pseudo-code).

    Cuts are tried at every 128th of 2048 bins of distances from zero.
    """
    return _within(histogram, _least_divergence(histogram, range(LEVELS, BINS, LEVELS), _spread_evenly, first=0))


def entropy(histogram: Histogram) -> Range:
    """As `kl`, with a cut tried at every eighth bin, and the mass of a level given back to the bins that held any.

    What lies next to zero is exact at every cut, and is left out: after a ReLU it would drown the rest.

    Source: S. Migacz, "8-bit Inference with TensorRT", GTC 2017.
    """
    return _within(histogram, _least_divergence(histogram, range(LEVELS, BINS + 1, 8), _spread_where_there_was_any, first=1))


def _within(histogram: Histogram, threshold: float) -> Range:
    """A cut at a distance from zero, where the numbers reach so far."""
    return max(histogram.extent.low, -threshold), min(histogram.extent.high, threshold)


Spread = Callable[[NDArray[np.float64], NDArray[np.int64]], NDArray[np.float64]]


def _least_divergence(histogram: Histogram, cuts: range, spread: Spread, first: int) -> float:
    """The threshold, of those at `cuts` bins from zero, with the least Kullback-Leibler divergence of bins from `first` on."""
    bins = histogram.magnitudes().astype(np.float64)
    bins[:first] = 0.0
    if not bins.any():
        return histogram.extent.farthest
    best, threshold = np.inf, histogram.extent.farthest
    for cut in cuts:
        reference = bins[:cut].copy()
        reference[-1] += bins[cut:].sum()
        level = np.arange(cut) * LEVELS // cut
        divergence = _divergence(reference, spread(bins[:cut], level))
        if divergence < best:
            best, threshold = divergence, (cut + 0.5) * histogram.width if cut < BINS else histogram.extent.farthest
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
    """The range with the least mean squared error of rounding and saturation together.

    Either end is drawn in by itself, in 64 steps at first and finer around the best; a symmetric range has one end.
    """
    low, high = histogram.extent.low, histogram.extent.high
    ends = [1.0, 1.0]  # shares of low and of high that are kept
    movable = [True] if symmetric else [low < 0.0, high > 0.0]
    step = 1.0 / 64
    while step > 1.0 / 1024:
        for end, moves in enumerate(movable):
            if not moves:
                continue
            shares = np.clip(ends[end] + step * np.arange(-64, 65), 1.0 / 64, 1.0)
            errors = [
                quantization_error(histogram, _drawn_in(low, high, share, ends, end, symmetric), bits) for share in shares]
            ends[end] = max(float(share) for share, error in zip(shares, errors, strict=True) if error == min(errors))
        step /= 8
    return _drawn_in(low, high, ends[0], ends, 0, symmetric)


def _drawn_in(low: float, high: float, share: float, ends: list[float], end: int, symmetric: bool) -> Range:
    """The range with a share kept of one end; of both where they are one."""
    if symmetric:
        farthest = max(-low, high) * share
        return max(low, -farthest), min(high, farthest)
    return (low * share, high * ends[1]) if end == 0 else (low * ends[0], high * share)


def quantization_error(histogram: Histogram, kept: Range, bits: int = 8) -> float:
    """The mean squared error of numbers so distributed, held in `bits` over a range that is widened to hold zero."""
    low, high = min(kept[0], 0.0), max(kept[1], 0.0)
    scale = (high - low) / ((1 << bits) - 1)
    if scale <= 0.0:
        return float(histogram.counts @ histogram.centers ** 2) / max(histogram.total, 1)
    zero = np.round(-low / scale)
    centers = histogram.centers
    stored = np.clip(np.round(centers / scale) + zero, 0, (1 << bits) - 1)
    off = (stored - zero) * scale - centers
    return float(histogram.counts @ off ** 2) / max(histogram.total, 1)


GAUSS = {2: 1.71, 3: 2.15, 4: 2.55, 5: 2.93, 6: 3.28, 7: 3.61, 8: 3.92}
LAPLACE = {2: 2.83, 3: 3.89, 4: 5.03, 5: 6.20, 6: 7.41, 7: 8.64, 8: 9.89}
"""The best cut for so many bits, in standard deviations and in mean distances from the mean."""


def aciq(histogram: Histogram, bits: int = 8) -> Range:
    """The cut that is best for a normal or a Laplace distribution, whichever leaves the lesser error.

    Source: R. Banner et al., "Post training 4-bit quantization of convolutional networks", NeurIPS 2019. A distribution that ends
    at zero, as after a ReLU, is taken for the half of one that is symmetric around it.
    """
    low, high = histogram.extent.low, histogram.extent.high
    mean, distance = histogram.moments()
    one_sided = low >= 0.0 or high <= 0.0
    if one_sided:
        weights = histogram.counts / max(histogram.total, 1)
        mean, distance = 0.0, float(weights @ np.abs(histogram.centers))
    variance = float(histogram.counts @ (histogram.centers - mean) ** 2) / max(histogram.total, 1)
    cuts = (GAUSS[bits] * np.sqrt(variance), LAPLACE[bits] * distance)
    ranges = [(float(max(low, mean - cut)), float(min(high, mean + cut))) for cut in cuts]
    return min(ranges, key=lambda kept: quantization_error(histogram, kept, bits))


METHODS: dict[str, Callable[[Histogram], Range]] = {
    "minmax": minmax, "percentile": percentile, "kl": kl, "mse": mse, "aciq": aciq, "entropy": entropy,
}
"""The methods, by the names under which users ask for them."""
