"""Between what a total of samples lies, had other samples of the kind been taken: the bootstrap.

Few samples seldom hold the rare ones that most of a total comes of: of eight images of a face detector, whose noise is that of
some that saturate, plain percentiles hold the total of all 75 to 82 times of 100 where 95 is said. So totals of few are
*studentized*: each of those drawn anew is measured in its own standard error, and what is far in these is as far in the standard
error of what was measured.

Where few samples have most of what is lost, those that have more were seldom among them, whose absence no draw of them shows:
of 50 samples of a network that finds words in sound, t intervals promised too much 8 to 20 times of 100, for 2.5 that are said.
So losses, which a mean is taken of, are continued beyond the greatest as these go (`mean_at_most`).

Source: T. Hesterberg, "What teachers should know about the bootstrap", The American Statistician 69 (2015), 5; the standard error
is the jackknife's (B. Efron, "Bootstrap methods: another look at the jackknife", 1979); how the greatest go on is by B. Hill, "A
simple general approach to inference about the tail of a distribution", The Annals of Statistics 3 (1975).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import NormalDist

import numpy as np

__all__ = ["interval", "mean_at_most"]

RESAMPLES = 400
"""How often the samples are drawn anew; half as often where each is measured in its standard error."""
FEW = 64
"""Of how many samples, at most, totals are studentized: this takes so many totals for each that is drawn."""
LEAST = 0.1
"""Of the standard error of all samples, that of a draw at least: one that lacks the rare samples has none that means anything."""
OUTSIDE = 0.025
"""The share that lies beyond either end."""
GREATEST, GREATEST_SHARE = 5, 0.1
"""By how many of the losses, at least, and by what share of them it is judged how those go on that are greater."""
SLOWEST = 0.95
"""The inverse of the exponent, at most: how slowly these get rarer. From 1 on there is no mean."""
_Z = NormalDist().inv_cdf(1.0 - OUTSIDE)

Total = Callable[[Sequence[int]], float]
"""The total of the samples at these places, some of them several times."""


def interval(total: Total, count: int, lumps: bool = False, error: Total | None = None) -> tuple[float, float]:
    """The ends of a 95 % interval of the total of `count` samples, at least two; always the same for the same samples.

    `lumps` says that samples have few values, as right and wrong are: many draws have no spread then to measure in. `error` is
    the standard error of a total, where there is a shorter way to it than leaving samples out.
    """
    value = total(range(count))
    few = count <= FEW and not lumps and np.isfinite(value)
    studentized = _studentized(total, count, value, error or partial(_error, total)) if few else None
    return studentized or _percentiles(total, count, value)


def mean_at_most(losses: np.ndarray) -> float:
    """What the mean of losses, from 0 on, may come to where the greatest of them go on as they begin: as Pareto's distribution.

    Its exponent is Hill's, of the greatest losses, at the end of its own interval. Never less than their mean, and no more where
    so few lose anything that nothing says how these go on. No bound that always holds: docs/search.md has how often it does.
    """
    count, ordered = len(losses), np.sort(np.asarray(losses, np.float64))
    many = min(max(GREATEST, int(GREATEST_SHARE * count)), count // 2)
    mean = float(ordered.mean())
    if many < 2 or not np.isfinite(mean) or ordered[-many - 1] <= 0.0:
        return mean
    begin = ordered[-many - 1]
    slow = min(float(np.log(ordered[-many:] / begin).mean()) * (1.0 + _Z / many**0.5), SLOWEST)
    return max(mean, float(ordered[:-many].sum() + begin / (1.0 - slow) * many) / count)


def _studentized(total: Total, count: int, value: float, error: Total) -> tuple[float, float] | None:
    """The bootstrap's t interval; None where too few totals are finite, or there is no spread to measure in."""
    own = error(range(count))
    if not np.isfinite(own) or own == 0.0:
        return None
    draw = np.random.default_rng(0)
    far = []
    for _ in range(RESAMPLES // 2):
        places = draw.integers(count, size=count).tolist()
        apart = error(places)
        if np.isfinite(apart) and np.isfinite(drawn := total(places)):
            far.append((drawn - value) / max(apart, LEAST * own))
    if len(far) < RESAMPLES // 4:
        return None
    least, most = np.percentile(far, (100.0 * OUTSIDE, 100.0 * (1.0 - OUTSIDE)))
    return float(value - most * own), float(value - least * own)


def _error(total: Total, places: Sequence[int]) -> float:
    """The standard error of a total, by leaving out one sample after the other."""
    count = len(places)
    without = np.array([total([*places[:at], *places[at + 1:]]) for at in range(count)])
    if not np.isfinite(without).all():
        return float("inf")
    return float(np.sqrt((count - 1) / count * np.sum((without - without.mean()) ** 2)))


def _percentiles(total: Total, count: int, value: float) -> tuple[float, float]:
    """Between what the middle of the totals of samples drawn anew lies, expanded: of few samples less is outside.

    Drawn from `count` samples totals spread less than those of other samples do, by `sqrt(1 - 1 / count)`, and nobody knows how
    far these spread: the ends are those of Student's distribution, by the expansion 26.7.5 of M. Abramowitz and I. Stegun.
    """
    degrees, z = count - 1, _Z
    terms = (z, (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384)
    quantile = sum(term / degrees**power for power, term in enumerate(terms))
    outside = 100.0 * NormalDist().cdf(-quantile * (count / degrees) ** 0.5)
    draw = np.random.default_rng(0)
    drawn = [total(draw.integers(count, size=count).tolist()) for _ in range(RESAMPLES)]
    finite = [each for each in drawn if np.isfinite(each)]
    low, high = np.percentile(finite, (outside, 100.0 - outside)) if finite else (value, value)
    return float(low), float(high)
