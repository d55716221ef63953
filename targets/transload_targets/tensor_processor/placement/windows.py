"""Places within a window of local memory: as few bytes as may be, laid over the borders of banks so that queues wait least.

What moves while something computes has to lie in another bank than what that uses. A bank may be larger than all that is alive;
but where a window lies is free, so the border of two banks goes through it where that is of most use. Places are given one by
one, by several orders, and one that finds no hole is given before all others the next time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from threading import Lock

import numpy as np

from transload.forks import in_forked

from ..groups.machine import Machine
from ..groups.steps import Buffer, Schedule

__all__ = [
    "KNOWN", "Asked", "Met", "Place", "Window", "asked", "given", "holes", "offers", "places_asked", "places_of", "windows",
    "within"]

AGAIN = 3
"""Times that an order is changed for a place that found no hole."""
BORDERS = tuple(part / 16 for part in (0, 8, 4, 12, 2, 6, 10, 14, 1, 3, 5, 7, 9, 11, 13, 15))
"""Parts of a window, of a bank at most, that lie before the first border; 0: the window begins where memory does."""
FIRST = 4
"""How many of them are tried with all orders before the others."""


@dataclass(eq=False)
class Place:
    """Where a buffer lies, and those that are written over it, from slot `first` to slot `last`."""

    size: int
    first: int
    last: int
    moved: bool = False
    """Whether it is loaded."""


Met = Mapping[Place, Mapping[Place, float]]
"""With which places each should share no bank, and how many bytes are moved meanwhile."""


Asked = tuple[tuple[int, int, int, bool, tuple[tuple[int, float], ...]], ...]
"""Of each place its figures, and with which others, by their number, it should share no bank."""
KNOWN = 64
"""Questions whose answers are known yet."""


@dataclass(frozen=True)
class Window:
    """A range of local memory."""

    low: int
    high: int


@dataclass
class _Work:
    """How many places may be given yet, besides those of the first order."""

    left: int


def places_of(made: Schedule) -> dict[Buffer, Place]:
    """The place of each buffer: that of the one which it is written over, or one of its own."""
    places: dict[Buffer, Place] = {}
    for buffer in sorted(made.buffers, key=lambda each: (each.over is not None, each.first)):  # the one written over comes first
        place = places[buffer] = Place(buffer.size, buffer.first, buffer.last) if buffer.over is None else places[buffer.over]
        place.last = max(place.last, buffer.last)
    for load in (load for step in made.steps for command in step.commands for load in command.loads):
        places[load.buffer].moved = True
    return places


def given(places: Sequence[Place], machine: Machine, window: Window, work: int) -> dict[Place, int] | None:
    """Offsets of places within a window, whatever banks they share; None where none are found until so many were given."""
    met: Met = {place: {} for place in places}
    left = _Work(work)
    for key, apart in _ways(met):
        offsets = _given(met, machine, window, sorted(places, key=key), apart, left)
        if offsets is not None or left.left <= 0:
            return offsets
    return None


def within(met: Met, machine: Machine, size: int, work: int) -> Iterator[dict[Place, int]]:
    """Offsets of all places within windows of so many bytes, until so many places were given."""
    for offsets in _answer(asked(met), machine, size, work):
        yield dict(zip(met, offsets, strict=True))


def asked(met: Met) -> Asked:
    """What is asked of places, by their number: the same of parts of a model that lie alike, as steps of a recurrent layer do."""
    number = {place: index for index, place in enumerate(met)}
    others = {place: tuple(sorted((number[other], weight) for other, weight in each.items())) for place, each in met.items()}
    return tuple((place.size, place.first, place.last, place.moved, others[place]) for place in met)


def places_asked(asked: Asked) -> Met:
    """Places of which that is asked."""
    places = [Place(size, first, last, moved) for size, first, last, moved, _ in asked]
    return {place: {places[other]: weight for other, weight in others} for place, (*_, others) in zip(places, asked, strict=True)}


@lru_cache(maxsize=KNOWN)
def _answer(asked: Asked, machine: Machine, size: int, work: int) -> Iterable[tuple[int, ...]]:
    return _Remembered(_within(places_asked(asked), machine, size, work))


in_forked(_answer.cache_clear)  # what another thread looks for just then would never be found


def _within(met: Met, machine: Machine, size: int, work: int) -> Iterator[tuple[int, ...]]:
    left = _Work(work)
    for borders in (BORDERS[:FIRST], BORDERS[FIRST:]):
        for key, apart in _ways(met):
            order = sorted(met, key=key)
            for window in windows(machine, size, borders):
                offsets = _given(met, machine, window, order, apart, left)
                if offsets is not None:
                    yield tuple(offsets[place] for place in met)
                if left.left <= 0:
                    return


class _Remembered:
    """What an iterator gives, as far as it was ever asked for, again from the first on."""

    def __init__(self, found: Iterator[tuple[int, ...]]) -> None:
        self._found, self._known, self._lock = found, list[tuple[int, ...]](), Lock()

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        for index in count():
            with self._lock:  # conversions in several threads ask the same
                if index == len(self._known):
                    more = next(self._found, None)
                    if more is None:
                        return
                    self._known.append(more)
            yield self._known[index]


def windows(machine: Machine, size: int, borders: Iterable[float] = BORDERS[:FIRST]) -> Iterator[Window]:
    """Windows of so many bytes of which such parts lie before the first border."""
    bank = machine.local_bytes // machine.banks
    for border in borders:
        low = bank - int(border * min(size, bank)) // machine.eu_bytes * machine.eu_bytes if border else 0
        if low + size <= machine.local_bytes:
            yield Window(low, low + size)


def _ways(met: Met) -> Iterator[tuple[Callable[[Place], tuple[float, ...]], bool]]:
    """Orders in which places are given, those first that most often do well, and whether what is loaded lies apart."""
    def in_time(place: Place) -> tuple[float, ...]:
        return place.first, place.first - place.last, -place.size

    def by_banks(place: Place) -> tuple[float, ...]:
        return -sum(met[place].values()), place.first

    def by_size(place: Place) -> tuple[float, ...]:
        return -place.size, place.first - place.last, place.first

    def by_span(place: Place) -> tuple[float, ...]:
        return -place.size * (place.last - place.first + 1), place.first

    others = by_banks, by_size, by_span
    yield from ((in_time, False), (in_time, True), *((key, apart) for apart in (False, True) for key in others))


def _given(
    met: Met, machine: Machine, window: Window, order: Sequence[Place], apart: bool, left: _Work,
) -> dict[Place, int] | None:
    """Offsets by an order, which is changed for places that find no hole; None where that does not help."""
    order = list(order)
    for _ in range(AGAIN):
        giving = _Giving(met, machine, window, apart)
        missing = next((place for place in order if not giving.give(place)), None)
        left.left -= len(giving.offsets)
        if missing is None:
            return giving.offsets
        if left.left <= 0:
            return None
        order.remove(missing)
        order.insert(0, missing)
    return None


class _Giving:
    """Places given one by one, each where it shares the fewest banks; with `apart` what is loaded high, all else low."""

    def __init__(self, met: Met, machine: Machine, window: Window, apart: bool) -> None:
        self.met, self.window, self.apart = met, window, apart
        self.bank, self.grain = machine.local_bytes // machine.banks, machine.eu_bytes
        self.offsets: dict[Place, int] = {}
        self.given = np.empty((4, len(met)), np.int64)
        """Of the places that were given, in order: first and last slot, where they begin and end."""

    def give(self, place: Place) -> bool:
        """Give a place; False where it finds no hole."""
        met = self.met[place]
        others = [(*self._banks(other, self.offsets[other]), weight) for other, weight in met.items() if other in self.offsets]
        best: tuple[float, int, int] | None = None
        for low, high in self._holes(place):
            for offset in offers(low, high, place.size, self.bank, self.grain):
                first, last = self._banks(place, offset)
                cost = sum(weight for start, stop, weight in others if start <= last and stop >= first)
                rank = cost, -offset if self.apart and place.moved else offset, offset
                if best is None or rank < best:
                    best = rank
        if best is None:
            return False
        self.given[:, len(self.offsets)] = place.first, place.last, best[2], best[2] + place.size
        self.offsets[place] = best[2]
        return True

    def _banks(self, place: Place, offset: int) -> tuple[int, int]:
        return offset // self.bank, (offset + max(place.size, 1) - 1) // self.bank

    def _holes(self, place: Place) -> list[tuple[int, int]]:
        """Ranges of offsets at which it fits between what is there at the same time."""
        firsts, lasts, starts, stops = self.given[:, :len(self.offsets)]
        there = np.flatnonzero((firsts <= place.last) & (lasts >= place.first))
        taken = sorted(zip(starts[there].tolist(), stops[there].tolist(), strict=True))
        return holes(taken, place.size, self.window, self.grain)


def holes(taken: Iterable[tuple[int, int]], size: int, window: Window, grain: int) -> list[tuple[int, int]]:
    """Ranges of offsets at which so many bytes fit between what is taken, which is sorted."""
    found, low = [], window.low
    for start, stop in taken:
        if low + size <= start:
            found.append((low, start - size))
        low = max(low, -(-stop // grain) * grain)
    if low + size <= window.high:
        found.append((low, window.high - size))
    return found


def offers(low: int, high: int, size: int, bank: int, grain: int) -> set[int]:
    """Offsets to try in a hole: its ends, and where one begins or ends at a border of banks."""
    if high // grain * grain <= low:
        return {low}
    ends = range(-(-(low + size) // bank) * bank, high + size + 1, bank)
    return {low, high // grain * grain, *range(-(-low // bank) * bank, high + 1, bank),
            *(end - size for end in ends if not size % grain)}
