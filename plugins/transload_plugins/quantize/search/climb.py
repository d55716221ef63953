"""The way of a search: from all layers in 8 bits to as few more bits as keep a promise, and back where there were too many.

The simulation says which layer is the next to be given up (`choosing`), and about how far one has to go; whether the promise is
kept is judged of the quantized module itself, on samples that are held apart. Where it is not, the way goes on until the
simulation says that the noise is less by as many decibels as were missed, or, of a metric that says no decibels, by one, then by
two, by four. Where it is, the first such choice of that stretch is found by halves, and the plain way is tried as far as it costs
less: of a score that few samples decide, the simulation may say little. Then layers are taken back for as long as the simulation
says no more noise than there may be; what comes of that is judged anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from transload.errors import UsageError

from .choosing import by_interaction, by_sensitivity, decibels, sensitivities, taken_back
from .measuring import Measured, Measuring
from .promise import Kept, Promise
from .real import Real
from .spending import Assignment, Spending

__all__ = ["Climb", "Point"]

SPARED = 0.25
"""The share of the way between what failed and what was kept, in decibels, to which layers are taken back at first."""
SURE = 0.2
"""Decibels that have to be left where layers are taken back, for the simulation to be believed."""
NOTHING = 0.05
"""Decibels that are not worth a layer, where nothing is promised and a limit alone ends the way."""


@dataclass(frozen=True)
class Point:
    """A choice of types, what it spends, and what is known of it."""

    assignment: dict[str, str]
    floats: float
    wide: float
    price: float
    loss: float
    """By the simulation: the noise of the outputs relative to what they are."""
    judged: list[Kept] = field(default_factory=list)
    cycles: float | None = None
    kept: bool = False

    @property
    def decibels(self) -> float:
        return decibels(self.loss)


class Climb:
    """One search. `run` goes the way; `best` is where it ends."""

    def __init__(
        self, measuring: Measuring, spending: Spending, real: Real, promise: Promise, modes: Sequence[str], base: Assignment,
        free: Sequence[str], say: Callable[[str, float | None], None],
    ) -> None:
        self._measuring, self._spending, self._real, self._promise = measuring, spending, real, promise
        self._modes, self._base, self._free = modes, dict(base), free
        self._say = say
        self.losses: dict[str, float] = {}
        self.points: dict[str, Point] = {}
        self.first: Point
        self.best: Point

    def run(self, losses: bool = False) -> None:
        """Look for the best choice; with `losses` each layer is measured even where nothing has to be looked for.

        Raises `UsageError` where the limits cannot be kept even by all layers in 8 bits.
        """
        self._tell("judging", None)
        self.first = self.best = self.judged(self._base)
        self._need_limits()
        if self._promise.qualities and self.best.kept:
            if losses:
                self._look_alone()
            return
        alone = self._look_alone()
        way = by_interaction(
            self._measuring, self._spending, self._free, self._modes, self._base, alone, self._affordable)
        if not self._promise.qualities:
            self._spend(way)
            return
        self._reach(way)
        if self.best.kept:
            self._go_plainly(list(by_sensitivity(alone, self._base, self._modes[-1])))
            self._save(by_sensitivity(alone, self._base, self._modes[-1]))

    def curve(self) -> list[Point]:
        """The points that none surpasses, from the least price on."""
        found: list[Point] = []
        for point in sorted(self.points.values(), key=lambda each: (each.price, each.loss)):
            if not found or point.loss < found[-1].loss:
                found.append(point)
        return found

    # --- steps

    def _look_alone(self) -> dict[str, Measured]:
        self._tell("measuring each layer", None)
        alone = sensitivities(self._measuring, self._free, self._modes, self._base)
        self.losses = {unit: found.loss for unit, found in alone.items()}
        return alone

    def _reach(self, way: Iterator[dict[str, str]]) -> None:
        """Go on until the promise is kept, or there is nothing left to give up."""
        failed = self.first
        goal = failed.decibels + (self._short(failed) or 0.0)
        step, seems = 1.0, self._short(failed) is not None
        passed: list[dict[str, str]] = []
        for chosen in way:
            point = self._point(chosen)
            passed.append(chosen)
            self._tell(f"{len(chosen)} layers with more bits, {point.decibels:.1f} dB", None)
            if point.decibels < goal or not (seems or self._seems_kept(chosen)):
                continue
            judged = self.judged(chosen)
            if judged.kept:
                self._failed, self.best = self._between(failed, passed[:-1], judged)
                return
            failed, seems = judged, True
            passed.clear()
            goal = point.decibels + max(self._short(judged) or 0.0, step)
            step *= 2.0
        last = self.judged(self._last)
        if last.kept:
            self._failed, self.best = self._between(failed, passed[:-1], last)
        else:
            self._failed, self.best = failed, last if self._is_better(last, self.best) else self.best

    def _between(self, failed: Point, choices: Sequence[Assignment], kept: Point) -> tuple[Point, Point]:
        """Of choices in a row between one that failed and one that kept the promise two neighbours of that kind, by halves."""
        low, high = -1, len(choices)
        while high - low > 1:
            middle = (low + high) // 2
            point = self.judged(choices[middle])
            if point.kept:
                kept, high = point, middle
            else:
                failed, low = point, middle
        return failed, kept

    def along(self, way: Sequence[Assignment]) -> tuple[Point, Point]:
        """The choice of a way with which the promise begins to be kept, and what failed before it; where none keeps it, the last.

        Whether one does is tried after 1, 2, 4, ... steps, and then between the last two by halves: more bits are never worse by
        much.
        """
        failed, before, here = self.first, 0, 0
        while not (judged := self.judged(way[here])).kept and here < len(way) - 1:
            failed, before, here = judged, here + 1, min(2 * here + 1, len(way) - 1)
        return self._between(failed, way[before:here], judged) if judged.kept else (failed, judged)

    def _go_plainly(self, plain: Sequence[dict[str, str]]) -> None:
        """Where the plain way keeps the promise for less, that is where to begin to take back."""
        price = self.best.price
        cheaper = [chosen for chosen in plain if self._spending.price(chosen) < price and self._affordable(chosen)]
        if cheaper:
            self._tell("the plain way", None)
            failed, found = self.along(cheaper)
            if found.kept:
                self._failed, self.best = failed, found

    def _short(self, judged: Point) -> float | None:
        """The decibels of noise by which a promise is missed, or more than kept (negative), where decibels say it."""
        each = [quality.short(found) for quality, found in zip(self._promise.qualities, judged.judged, strict=True)]
        known = [one for one in each if one is not None]
        return max(known) if known and len(known) == len(each) else None

    def _save(self, plain: Iterator[dict[str, str]]) -> None:
        """Take layers back, from where the way ended, and from where the plain way is as good."""
        top, short = self.best.decibels, self._short(self.best)
        low = min(self._failed.decibels, top)
        spared = low + SPARED * (top - low) if short is None else max(low, top + short + SURE)
        starts = [self.best.assignment]
        starts += [chosen for chosen in [self._plain(plain, top)] if chosen is not None]
        for level in sorted({min(spared, top), top}):
            self._tell("taking layers back", None)
            fewer = [taken_back(self._measuring, self._spending, self._modes, self._base, chosen, partial(_is_as_good, level))
                     for chosen in starts]
            cheapest = min(fewer, key=self._spending.price)
            if self._spending.price(cheapest) < self.best.price:
                judged = self.judged(cheapest)
                if judged.kept:
                    self.best = judged
                    return

    def _plain(self, plain: Iterator[dict[str, str]], level: float) -> dict[str, str] | None:
        """Where the plain way is as good by the simulation, if that is within the limits."""
        for chosen in plain:
            if not self._affordable(chosen):
                return None
            if self._point(chosen).decibels >= level:
                return chosen
        return None

    def _spend(self, way: Iterator[dict[str, str]]) -> None:
        """With a limit alone: the best that it allows."""
        chosen = [dict(self._base)]
        for each in way:
            self._tell(f"{len(each)} layers with more bits, {self._point(each).decibels:.1f} dB", None)
            if self._promise.max_cycles is not None and self._real.cycles(each) > self._promise.max_cycles:
                break
            chosen.append(each)
        found = min((self._point(each) for each in chosen), key=lambda point: point.loss)
        left = taken_back(
            self._measuring, self._spending, self._modes, self._base, found.assignment,
            partial(_is_as_good, found.decibels - NOTHING))
        judged = self.judged(left)
        self.best = judged if judged.kept and self._is_better(judged, self.first) else self.first

    # --- what is known of a choice

    def _point(self, chosen: Assignment) -> Point:
        self._last = dict(chosen)
        key = str(sorted(chosen.items()))
        if key not in self.points:
            spending = self._spending
            costs = (spending.floats(chosen), spending.wide(chosen), spending.price(chosen))
            self.points[key] = Point(dict(chosen), *costs, self._measuring(chosen).loss)
        return self.points[key]

    def judged(self, chosen: Assignment) -> Point:
        """The same, with what the quantized module is worth on the samples that are held apart."""
        point = self._point(chosen)
        judged = self._real.judged(chosen)
        cycles = self._real.cycles(chosen) if self._promise.max_cycles is not None else None
        kept = all(each.kept for each in judged) and self._affordable(chosen) and (
            cycles is None or self._promise.max_cycles is None or cycles <= self._promise.max_cycles)
        found = replace(point, judged=judged, cycles=cycles, kept=kept)
        self.points[str(sorted(chosen.items()))] = found
        return found

    def _affordable(self, chosen: Assignment) -> bool:
        return self._promise.max_float is None or self._spending.floats(chosen) <= self._promise.max_float

    def _seems_kept(self, chosen: Assignment) -> bool:
        """Whether the promise is kept by the simulation, as the figures themselves say, on the samples that choose."""
        found = self._measuring(chosen).rows
        return all(
            kept.value >= quality.least if quality.least is not None else kept.value <= (quality.most_drop or 0.0)
            for quality, rows in zip(self._promise.qualities, found, strict=True) for kept in [quality.judged(rows)])

    def _is_better(self, one: Point, other: Point) -> bool:
        """Whether a choice is within the limits and nearer to the float model where it is judged."""
        if not self._affordable(one.assignment) or (
                self._promise.max_cycles is not None and (one.cycles or 0.0) > self._promise.max_cycles):
            return False
        first, second = one.judged[0], other.judged[0]
        lower = first.score.startswith("drop")
        return first.value < second.value if lower else first.value > second.value

    def _need_limits(self) -> None:
        limit, most = self._promise.max_float, self._promise.max_cycles
        if limit is not None and self.first.floats > limit:
            raise UsageError(
                f"{self.first.floats:.2%} of the operations have no form in integers, or are float by the table that is given; "
                f"{limit:.2%} are allowed", hint=f"--max-float {100 * self.first.floats:.1f}%")
        cycles = self.first.cycles or 0.0
        if most is not None and cycles > most:
            raise UsageError(
                f"with all layers in 8 bits {self._promise.target} takes {cycles:,.0f} cycles, and {most:,.0f} are allowed",
                hint="a faster target, or more cycles")

    def _tell(self, stage: str, share: float | None) -> None:
        self._say(stage, share)


def _is_as_good(level: float, found: Measured) -> bool:
    """Whether there are so many decibels."""
    return decibels(found.loss) >= level
