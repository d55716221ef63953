"""Outputs that are the same on all inputs tried, though these differ, or so nearly that one constant would pass on all of them.

A picture made black and white at 128 is black wherever noise around zero is, and what a network makes of it is its biases. A
classifier that is sure of one class says it of all noise. Limits that are measured by the size of an output leave room for all
that varies of it, where that is little: a temperature of 293 kelvin, give or take 2. There what varies is judged alone: how far
the result goes on each input, from where it was on the first, beside how far the source does.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..ir import Module, Op, Value
from .differences import difference, in_view_of
from .kinds import OutputKinds
from .offsets import Offset, is_real, rounded_by, thinned

__all__ = ["Steady", "always_same", "between"]

_FOLLOWS = 0.5
"""How near (`euclid`) what varies is to be, where limits are wide or steps are rounded: a constant in place of it is at 0."""
_TWICE = 2.0
"""How many times as far as what is as right a right result may be: two that are both off at random are often not as far."""


@dataclass
class _Variation:
    """Sums of squares over all inputs after the first: of the numbers, where those were larger of the first ones, of how far they
    went from these, and of how far the result went elsewhere; and the farthest of both."""

    size: float = 0.0
    varying: float = 0.0
    apart: float = 0.0
    went: float = 0.0
    strayed: float = 0.0

    def add(self, before: tuple[np.ndarray, np.ndarray], now: tuple[np.ndarray, np.ndarray]) -> None:
        """Take in what the source and the result gave on the first inputs, and `now`."""
        with np.errstate(all="ignore"):
            old, was, new, made = (thinned(array).astype(np.float64) for array in (*before, *now))
            largest, gone, elsewhere = np.maximum(np.abs(old), np.abs(new)), new - old, (made - was) - (new - old)
            finite = np.isfinite(largest**2) & np.isfinite(elsewhere**2)
        for name, array in (("size", largest), ("varying", gone), ("apart", elsewhere)):
            setattr(self, name, getattr(self, name) + float(np.square(array[finite]).sum()))
        self.went = max(self.went, float(np.abs(gone[finite]).max(initial=0.0)))
        self.strayed = max(self.strayed, float(np.abs(elsewhere[finite]).max(initial=0.0)))

    def near(self, unit: float, floor: float) -> float | None:
        """How near the result is to what varies; None where that is no more than roundings by `unit`, or by `floor`."""
        if not self.went > 2 * floor or not self.varying > rounded_by(unit) ** 2 * self.size:
            return None
        if self.strayed <= 2 * floor:
            return 1.0
        return Offset(math.sqrt(self.apart / self.size), (math.sqrt(self.varying / self.size),)).near(unit)


class Steady:
    """Which outputs of a model, of those that are computed of its inputs, one constant would pass for on all inputs so far."""

    def __init__(self, hub: Module | None, kinds: OutputKinds) -> None:
        """Where there is no `hub`, nothing is known of any output."""
        self._asked = [] if hub is None else _arguments_of_outputs(hub)
        self._kinds = kinds
        self._first = dict[int, tuple[Sequence[np.ndarray], np.ndarray, np.ndarray]]()
        self._again = dict[int, _Variation]()
        """By place of the output that was always steady, on two or more inputs that differ in what it is computed of."""
        self.apart = set[int]()
        """The places of the outputs of which no constant is near enough to what they were on two of the inputs."""

    def note(
        self, given: Sequence[np.ndarray], outputs: Sequence[np.ndarray], actual: Sequence[np.ndarray],
        left_out: Collection[int] = (),
    ) -> None:
        """Take in what a model gave, and its result: arrays of the inputs and of the outputs, in order, of any type."""
        for place, (new, made, asked) in enumerate(zip(outputs, actual, self._asked, strict=False)):
            if place in self.apart or place in left_out:
                continue
            new, made = np.asarray(new), in_view_of(np.asarray(made), np.asarray(new))
            if place not in self._first:
                self._first[place] = given, new, made
                continue
            inputs, old, was = self._first[place]
            if all(number >= len(given) or _same(inputs[number], given[number]) for number in asked):
                continue
            if old.shape != new.shape or self._is_apart(place, old, new):
                self.apart.add(place)
                self._again.pop(place, None)
                del self._first[place]
                continue
            variation = self._again.setdefault(place, _Variation())
            if is_real(new) and was.shape == made.shape == new.shape:
                variation.add((old, was), (new, made))

    def _is_apart(self, place: int, old: np.ndarray, new: np.ndarray) -> bool:
        """Whether what is midway between two outputs is too far from them, and so is any other constant from one of both."""
        if _same(old, new):
            return False
        middle = between(old, new, place in self._kinds.chosen)
        return bool(self._kinds.limits_broken_at(place, difference("", new, middle), len(self._asked)))

    @property
    def places(self) -> set[int]:
        """The places of the outputs that say nothing: of which a constant would pass, and not for its roundings alone."""
        return {place for place in self._again if not (near := self._near(place)) or near < _FOLLOWS}

    def broken(self) -> set[int]:
        """The places of the outputs that do not follow what varies."""
        return {place for place in self._again if not self._follows(place, self._near(place))}

    def said(self, place: int, name: str) -> str:
        """What is wrong with the output at a place, of this name, that is `broken`."""
        return (f"{name}: euclid {self._near(place):g} of what varies from input to input, allowed "
                f"{self._kinds.least_of_varying(place):g}: beside what is always there that does not show")

    def is_as_near(self, place: int, others: Iterable[tuple[np.ndarray, np.ndarray]]) -> bool:
        """Whether an output that is `broken` is no more than `_TWICE` as far from what varies as are others, each given with the
        source's own, which do not follow it either."""
        first, variation = self._first[place][1], _Variation()
        for own, other in others:
            variation.add((first, first), (own, other))
        near, theirs = self._near(place), self._near_of(variation)
        return not self._follows(place, theirs) and near is not None and theirs is not None and 1 - near <= _TWICE * (1 - theirs)

    def _follows(self, place: int, near: float | None) -> bool:
        least = self._kinds.least_of_varying(place)
        return near is None or least is None or near >= least

    def _near(self, place: int) -> float | None:
        return self._near_of(self._again[place])

    def _near_of(self, variation: _Variation) -> float | None:
        return variation.near(self._kinds.unit or 0.0, self._kinds.tolerance.floor)


def always_same(given: Sequence[Sequence[np.ndarray]], outputs: Sequence[Sequence[np.ndarray]]) -> set[int]:
    """The places of the outputs that are the same in all runs, as many as there are arrays `given` and of `outputs`, where the
    inputs are not."""
    if all(_same(*both) for each in given[1:] for both in zip(given[0], each, strict=True)):
        return set()
    first, *others = outputs
    return {place for place, array in enumerate(first) if all(_same(array, each[place]) for each in others)}


def between(old: np.ndarray, new: np.ndarray, chosen: bool = False) -> np.ndarray:
    """An array midway between two of a shape: of truths and those `chosen`, it has every other one that differs of each."""
    if chosen or new.dtype == bool:
        middle = new.copy()
        differing = np.flatnonzero(old != new)[::2]
        middle.reshape(-1)[differing] = old.reshape(-1)[differing]
        return middle
    if new.dtype.kind in "iu":  # halves are rounded down and up in turn
        ups = np.arange(new.size, dtype=new.dtype).reshape(new.shape) & 1
        return (old & new) + ((old ^ new) >> 1) + ((old ^ new) & ups)
    with np.errstate(all="ignore"):
        wide = np.complex128 if new.dtype.kind == "c" else np.float64
        return ((old.astype(wide) + new.astype(wide)) / 2).astype(new.dtype)


def _same(old: np.ndarray, new: np.ndarray) -> bool:
    old, new = np.asarray(old), np.asarray(new)
    return old.shape == new.shape and bool(((old == new) | ((old != old) & (new != new))).all())


def _arguments_of_outputs(hub: Module) -> list[frozenset[int]]:
    """The arguments, by number, of which each output is computed."""
    body = hub.body_of_main
    known = {argument: frozenset((number,)) for number, argument in enumerate(body.arguments)}
    for op in body:
        asked = frozenset[int]().union(*(known.get(value, frozenset()) for value in _taken(op)))
        known.update(dict.fromkeys(op.results, asked))
    return [known.get(value, frozenset()) for value in body.terminator.operands]


def _taken(op: Op) -> list[Value]:
    """All values that an op takes, or ops in its regions."""
    return [value for each in op.walk() for value in each.operands]
