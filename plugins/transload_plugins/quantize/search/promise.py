"""What a search has to keep to: a promise of quality, judged with a margin by confidence, and limits of what it may spend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from transload.errors import UsageError
from transload.evaluation.intervals import interval
from transload.evaluation.scores import estimate, find_scores
from transload.plugin import Score, resolve

__all__ = ["Kept", "Promise", "Quality", "least_drop", "promise_of"]

_Z = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class Kept:
    """A score over samples, where it surely lies (97.5 %), and whether that keeps a promise."""

    score: str
    value: float
    sure: float
    """The least that it is with other samples, or the greatest drop."""
    kept: bool
    few: int = 0
    """How many samples there were, where so few cannot promise so small a drop, whatever they show."""

    @property
    def text(self) -> str:
        told = f"{self.score} {self.value:.5g}, surely {self.sure:.5g}"
        return f"{told}: {self.few} samples tell no more" if self.few else told


@dataclass(frozen=True)
class Quality:
    """A score with the least that it may be, or the most by which it may be worse than the float model's."""

    score: str
    least: float | None = None
    most_drop: float | None = None

    @property
    def needs_label(self) -> bool:
        return "label" in self._score.needs or not self._score.needs

    @property
    def text(self) -> str:
        return f"{self.score} at least {_told(self.least)}" if self.most_drop is None else \
            f"{self.score} at most {_told(self.most_drop)} worse"

    @property
    def _score(self) -> Score:
        return find_scores([self.score])[self.score]

    def measure(self, outputs: Any, label: Any, reference: Any) -> list[Any]:
        """What is measured of a sample: of the quantized outputs, and of the float ones where these are scored, too."""
        def measure(of: Any) -> Any:
            row = resolve(self._score.measure)(of, label, reference)
            return float(np.mean(row)) if self._score.by_row else row  # a batch is one sample, whose rows may be alike

        rows = [measure(outputs)]
        return rows if self.most_drop is None else [*rows, measure(reference)]

    def judged(self, rows: Sequence[Sequence[Any]]) -> Kept:
        """Whether what was measured of samples keeps the promise, for other samples of their kind, too."""
        if self.most_drop is None:
            assert self.least is not None
            found = estimate(self._score, [row[0] for row in rows])
            sure = found.value if found.low is None else found.low
            return Kept(self.score, found.value, sure, bool(sure >= self.least))
        drop, sure = self._drop(rows)
        few = _are_lumps(rows) and least_drop(len(rows)) > self.most_drop
        kept = drop <= 0.0 if few else sure <= self.most_drop
        return Kept(f"drop of {self.score}", drop, sure, bool(kept), len(rows) if few else 0)

    def short(self, found: Kept) -> float | None:
        """By how many decibels of noise a promise is missed, less than 0 where it is kept; None where decibels do not say it."""
        if self.least is None or not np.isfinite(found.sure):
            return None
        if self._score.unit == "dB":
            return self.least - found.sure
        if self.score == "cos" and self.least < 1.0:  # 1 - cos is half the noise, relative to the signal
            return float(10 * np.log10(max(1.0 - found.sure, 1e-12) / (1.0 - self.least)))
        return None

    def _drop(self, rows: Sequence[Sequence[Any]]) -> tuple[float, float]:
        """By how much the quantized model is worse, and by how much at most: both scored on the same samples, drawn anew."""
        score = self._score
        total = resolve(score.total) if score.total is not None else lambda some: float(np.mean(some))
        sign = 1.0 if score.better == "higher" else -1.0

        def drop(places: Sequence[int]) -> float:
            quantized, floats = ([rows[place][which] for place in places] for which in (0, 1))
            return sign * float(total(floats) - total(quantized))

        value = drop(range(len(rows)))
        if len(rows) < 2:
            return value, value
        if _are_lumps(rows) and score.total is None:
            pairs = [(sign * row[0], sign * row[1]) for row in rows]
            worse, better = sum(held < exact for held, exact in pairs), sum(held > exact for held, exact in pairs)
            return value, max(value, _sure_drop(worse, better, len(rows)))
        return value, max(value, interval(drop, len(rows), _are_lumps(rows))[1])


def _are_lumps(rows: Sequence[Sequence[Any]]) -> bool:
    """Whether samples are right or wrong, and nothing between."""
    return all(not isinstance(number, list) and number in (0.0, 1.0) for row in rows for number in row)


def least_drop(count: int) -> float:
    """The least drop that so many samples can promise: where none is worse, and none better."""
    return _sure_drop(0, 0, count)


def _sure_drop(worse: int, better: int, count: int) -> float:
    """The upper end of the 95 % interval of a difference of two shares, of pairs of which so many are worse and better.

    It is the greatest difference that would not give fewer that are worse in more than 97.5 of 100 cases, by its score. Samples
    drawn anew from those of which none is worse have none either: the bootstrap would say that none ever is.

    Source: T. Tango, "Equivalence test and confidence interval for the difference in proportions for the paired-sample design",
    Statistics in Medicine 17 (1998), formula 5.
    """
    def is_possible(drop: float) -> bool:
        a, b, c = 2.0 * count, (2 * count - worse + better) * drop - worse - better, -better * drop * (1.0 - drop)
        share = (math.sqrt(max(b * b - 4.0 * a * c, 0.0)) - b) / (2.0 * a)  # of those that are better, with this drop
        return count * drop - (worse - better) <= _Z * math.sqrt(max(count * (2.0 * share + drop * (1.0 - drop)), 0.0))

    low, high = max((worse - better) / count, 0.0), 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if is_possible(middle) else (low, middle)
    return high


@dataclass(frozen=True)
class Promise:
    """Qualities that all have to be kept, and limits of what is spent, which are never passed."""

    qualities: tuple[Quality, ...] = ()
    max_float: float | None = None
    """The greatest share of all operations that may be computed with floats."""
    max_cycles: float | None = None
    """The most cycles that `target` may report."""
    target: str | None = None

    @property
    def text(self) -> str:
        limits = [] if self.max_float is None else [f"at most {self.max_float:.2%} of the operations in floats"]
        limits += [] if self.max_cycles is None else [f"at most {self.max_cycles:,.0f} cycles of {self.target}"]
        return ", ".join([each.text for each in self.qualities] + limits)


def promise_of(
    *, min_cos: float | None = None, min_sqnr: float | None = None, max_drop: Any = None, metric: str | None = None,
    max_float: Any = None, max_cycles: float | None = None, target: str | None = None,
) -> Promise:
    """The promise that is asked for; shares may be text as `0.5%`, and what may not drop is `top1` where no metric is said.

    Raises `UsageError` where nothing is promised, or what cannot be, and where a metric or a target is said of no promise.
    """
    least = {"cos": min_cos, "sqnr": min_sqnr}
    qualities = [Quality(score, least=float(limit)) for score, limit in least.items() if limit is not None]
    if max_drop is not None:
        qualities.append(Quality(metric or "top1", most_drop=_share("max_drop", max_drop)))
    if min_cos is not None and not -1.0 <= min_cos <= 1.0:
        raise UsageError(f"a cosine of {min_cos:g} there is none", hint="--min-cos 0.99")
    if min_sqnr is not None and math.isnan(min_sqnr):
        raise UsageError("a ratio of nan decibels there is none", hint="--min-sqnr 30")
    if max_cycles is not None and not max_cycles >= 0.0:
        raise UsageError(f"{max_cycles:g} cycles there are none", hint="--max-cycles 1000000")
    if max_cycles is not None and target is None:
        raise UsageError("cycles are those of a target", hint="--max-cycles 1000000 --target ethos-u85-256")
    if metric is not None and max_drop is None:
        raise UsageError("a metric is said of what may drop, and nothing may", hint=f"--max-drop 0.5% --metric {metric}")
    if target is not None and max_cycles is None:
        raise UsageError("a target is said of cycles, and none are promised", hint=f"--max-cycles 1000000 --target {target}")
    limit = None if max_float is None else _share("max_float", max_float)
    if not qualities and limit is None and max_cycles is None:
        raise UsageError("a search needs something to promise",
                         hint="--min-cos 0.99, --min-sqnr 30, --max-drop 0.5%, --max-float 5%, or --max-cycles N --target NAME")
    find_scores([each.score for each in qualities])
    return Promise(tuple(qualities), limit, max_cycles, target)


def _told(number: float | None) -> str:
    """A number in few digits, where these are the number, else in as many as it has."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


def _share(name: str, given: Any) -> float:
    """A number, or text with a percent sign."""
    text = str(given).strip()
    try:
        number = float(text[:-1]) / 100.0 if text.endswith("%") else float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= 1.0:
        raise UsageError(f"{name} is a share from 0 to 1, or up to 100%, and not {text!r}",
                         hint=f"--{name.replace('_', '-')} 0.5%")
    return number
