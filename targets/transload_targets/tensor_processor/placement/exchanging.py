"""Places that lie densely, exchanged until queues share fewer banks.

A placement in few bytes that knows no banks (`transload.memory`) makes queues wait for each other. Here places of one are moved
one by one within its window: a place goes to another offset, and what lies there goes to the holes in which it shares the fewest
banks. Changes are made by chance, and one for the worse is kept the less often the longer that goes on (simulated annealing, as
in `placement.sides`). What is counted are the bytes that are moved while something computes in the same bank: other than cycles,
these are known of one place without following queues in time, so thousands of buffers are no hindrance.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import exp
from random import Random

from ..groups.machine import Machine
from .windows import KNOWN, Asked, Met, Place, Window, asked, holes, offers, places_asked

__all__ = ["exchanged"]

HOT, COLD = 0.3, 0.01
"""By how much more than now a change is kept about every third time, in terms of what a place counts on average: at the beginning
and at the end.
"""
IDLE = 0.3
"""How often a place that shares no bank is moved, too, for the sake of others."""
INTO_HOLES = 0.5
"""How often a place goes to a hole, in place of anywhere."""
EJECTED = 6
"""Places that may lie where one goes."""



def exchanged(met: Met, offsets: Mapping[Place, int], machine: Machine, window: Window, changes: int) -> dict[Place, int]:
    """Offsets within the window after so many changes that were tried: those that share the fewest banks, the given ones where
    none share fewer. The same each time.
    """
    begun = tuple(offsets[place] for place in met)
    return dict(zip(met, _answer(asked(met), begun, machine, window, changes), strict=True))


@lru_cache(maxsize=KNOWN)
def _answer(question: Asked, begun: tuple[int, ...], machine: Machine, window: Window, changes: int) -> tuple[int, ...]:
    met = places_asked(question)
    found = _Exchanging(met, dict(zip(met, begun, strict=True)), machine, window).run(changes)
    return tuple(found[place] for place in met)


class _Exchanging:
    """A placement that changes."""

    def __init__(self, met: Met, offsets: Mapping[Place, int], machine: Machine, window: Window) -> None:
        self.met, self.offsets, self.window = met, dict(offsets), window
        self.bank, self.grain = machine.local_bytes // machine.banks, machine.eu_bytes
        self.places = list(met)
        self.beside = _beside(self.places)
        self.random = Random(0)
        self.undo: list[tuple[Place, int]] = []
        """Places that moved since the fewest banks were shared, with their offsets before."""

    def run(self, changes: int) -> dict[Place, int]:
        now = least = sum(self._shared(place, self.offsets[place]) for place in self.places) / 2
        heat, cooling = HOT * now / max(len(self.places), 1), (COLD / HOT) ** (1 / max(changes, 1))
        for _ in range(changes):
            if least <= 0:
                break
            heat *= cooling
            place = self.random.choice(self.places)
            if not self._shared(place, self.offsets[place]) and self.random.random() >= IDLE:
                continue
            now += self._change(place, heat)
            if now < least:
                least = now
                self.undo.clear()
        self.offsets.update(reversed(self.undo))
        return self.offsets

    def _change(self, place: Place, heat: float) -> float:
        """Move a place; gives how much more is shared then, 0 where all stays as it was."""
        offset = self._anywhere(place)
        there = [other for other in self.beside[place]
                 if self.offsets[other] < offset + place.size and self.offsets[other] + other.size > offset]
        if len(there) > EJECTED:
            return 0.0
        before = {each: self.offsets[each] for each in (place, *there)}
        more = 0.0
        for each in before:
            more -= self._shared(each, self.offsets.pop(each))
        more += self._shared(place, offset)
        self.offsets[place] = offset
        for other in sorted(there, key=lambda each: -each.size):
            found = self._least(other)
            if found is None:
                more = float("inf")
                break
            more += found[0]
            self.offsets[other] = found[1]
        if more > 0 and self.random.random() >= exp(-more / heat):
            self.offsets.update(before)
            return 0.0
        self.undo += before.items()
        return more

    def _anywhere(self, place: Place) -> int:
        """An offset by chance, or at an end of a hole or a border of banks in one."""
        if self.random.random() < INTO_HOLES:
            found = self._offers(place)
            if found:
                return self.random.choice(found)
        room = self.window.high - self.window.low - place.size
        return self.window.low + self.grain * self.random.randrange(room // self.grain + 1)

    def _least(self, place: Place) -> tuple[float, int] | None:
        """How much is shared where that is least, and the offset; None where there is no hole."""
        return min(((self._shared(place, offset), offset) for offset in self._offers(place)), default=None)

    def _offers(self, place: Place) -> list[int]:
        taken = sorted((self.offsets[other], self.offsets[other] + other.size)
                       for other in self.beside[place] if other in self.offsets)
        return [offset for low, high in holes(taken, place.size, self.window, self.grain)
                for offset in sorted(offers(low, high, place.size, self.bank, self.grain))]

    def _shared(self, place: Place, offset: int) -> float:
        """Bytes moved beside computing in a bank in which the place lies."""
        first, last = self._banks(place, offset)
        shared = 0.0
        for other, weight in self.met[place].items():
            at = self.offsets.get(other)
            if at is not None:
                start, stop = self._banks(other, at)
                if start <= last and stop >= first:
                    shared += weight
        return shared

    def _banks(self, place: Place, offset: int) -> tuple[int, int]:
        return offset // self.bank, (offset + max(place.size, 1) - 1) // self.bank


def _beside(places: list[Place]) -> dict[Place, list[Place]]:
    """Of each place those that are there at the same time."""
    beside: dict[Place, list[Place]] = {place: [] for place in places}
    there: list[Place] = []
    for place in sorted(places, key=lambda each: each.first):
        there = [other for other in there if other.last >= place.first]
        for other in there:
            beside[other].append(place)
        beside[place] += there
        there.append(place)
    return beside
