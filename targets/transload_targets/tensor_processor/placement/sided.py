"""What a schedule takes whose buffers lie on two sides, followed in time for many ways to load and to lay them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from ..groups.commands import points_of
from ..groups.steps import Load, Schedule, Store, used_at
from .timing import Timing
from .windows import places_of

__all__ = ["HIGH", "LOW", "Facts", "Sided"]

LOW, HIGH = 1, 2
"""The two sides; what lies on both is on `LOW | HIGH`."""


class Sided(NamedTuple):
    """A way to load and to lie: the side of each place, and the commands in order, each by its first point and its slot."""

    sides: tuple[int, ...]
    starts: tuple[int, ...]
    slots: tuple[int, ...]

    def on(self, places: Iterable[int], side: int) -> Sided:
        """The same with places on a side."""
        sides = list(self.sides)
        for place in places:
            sides[place] = side
        return self._replace(sides=tuple(sides))

    def flipped(self, places: Iterable[int]) -> Sided:
        """The same with places on the other side."""
        sides = list(self.sides)
        for place in places:
            sides[place] = LOW + HIGH - sides[place]
        return self._replace(sides=tuple(sides))

    def told(self, number: int, count: int, commands: Collection[tuple[int, int]]) -> Sided:
        """The same with other commands, by start and slot, in place of so many."""
        starts, slots = list(self.starts), list(self.slots)
        starts[number:number + count] = [start for start, _ in commands]
        slots[number:number + count] = [slot for _, slot in commands]
        return self._replace(starts=tuple(starts), slots=tuple(slots))


class _Told(NamedTuple):
    """What a queue is told."""

    moves: bool
    """Whether it is the DMA."""
    cycles: float
    places: tuple[int, ...]


class _Point(NamedTuple):
    """Loads of one step."""

    need: int
    earliest: int
    cycles: float
    """Besides the latency of the command."""
    places: tuple[int, ...]


@dataclass(frozen=True)
class Facts:
    """What a schedule is, whatever its commands and sides are."""

    timing: Timing
    places: tuple[tuple[int, int, int], ...]
    """Of each place its size, its last slot, and its first one, unless it is loaded: none then."""
    place_of: tuple[int, ...]
    """Of each buffer of the schedule."""
    points: tuple[_Point, ...]
    steps: tuple[tuple[_Told, ...], ...]
    """What is told in each slot behind its loads: stores of the step before, the step, stores at once."""
    first_used: tuple[int, ...]
    """Of each place, the first step that uses it."""
    unloaded: tuple[int, ...]
    """Bytes in use at each slot, but for what is loaded."""
    loaded_bytes: tuple[tuple[int, int, int], ...]
    """Of each buffer that is loaded its point, its size and its last slot."""

    @staticmethod
    def of(timing: Timing) -> Facts:
        """Those of a schedule without barriers, in which no rows stay for the next slice."""
        made, transfer = timing.made, timing.machine.transfer
        by_buffer = places_of(made)
        numbers = {place: number for number, place in enumerate(dict.fromkeys(by_buffer.values()))}
        number_of = {buffer: numbers[place] for buffer, place in by_buffer.items()}
        points = _points(made)
        is_loaded = {load.buffer for point in points for load in point}
        loaded = {number_of[buffer] for buffer in is_loaded}

        def store(each: Store) -> _Told:
            return _Told(True, transfer(timing.size(each)), (number_of[each.buffer],))

        steps, first_used = [], [len(made.steps)] * len(numbers)
        before: list[Store] = []
        for slot, step in enumerate(made.steps):
            used = tuple({number_of[buffer] for buffer in (*step.reads, step.writes) if buffer is not None})
            for place in used:
                first_used[place] = min(first_used[place], slot)
            steps.append((*map(store, before), _Told(step.moves or step.part is None, step.cycles, used),
                          *(store(each) for each in step.stores if each.at_once)))
            before = [each for each in step.stores if not each.at_once]
        steps.append(tuple(map(store, before)))
        return Facts(
            timing, tuple((place.size, place.last, -1 if number in loaded else place.first) for place, number in numbers.items()),
            tuple(number_of[buffer] for buffer in made.buffers),
            tuple(_Point(
                point[0].need, max(load.earliest for load in point),
                sum(map(timing.size, point)) / timing.machine.bandwidth,
                tuple({number_of[load.buffer] for load in point})) for point in points),
            tuple(steps), tuple(first_used),
            tuple(used_at([buffer for buffer in made.buffers if buffer not in is_loaded], len(made.steps))),
            tuple((number, load.buffer.size, load.buffer.last) for number, point in enumerate(points) for load in point))

    @property
    def slots(self) -> int:
        """How many steps there are."""
        return len(self.steps) - 1

    @property
    def room(self) -> int:
        """Bytes alive at once as the schedule is."""
        return self.timing.made.room

    def begun(self) -> Sided:
        """The way as the schedule is, all on one side."""
        made = self.timing.made
        numbers = {load: number for number, point in enumerate(_points(made)) for load in point}
        commands = sorted((min(numbers[load] for load in command.loads), command.slot)
                          for step in made.steps for command in step.commands)
        return Sided((LOW,) * len(self.places), tuple(start for start, _ in commands), tuple(slot for _, slot in commands))

    def loads_of(self, made: Schedule) -> list[list[Load]]:
        """The loads of each point in a copy of the schedule."""
        return _points(made)

    def points_of(self, way: Sided, number: int) -> range:
        """The points of a command."""
        return range(way.starts[number], way.starts[number + 1] if number + 1 < len(way.starts) else len(self.points))

    def loaded(self, way: Sided, number: int) -> list[int]:
        """The places that a command loads."""
        return [place for point in self.points_of(way, number) for place in self.points[point].places]

    def used(self, first: int, last: int) -> list[int]:
        """The places that steps use, from one until before another."""
        return [place for step in self.steps[first:last] for told in step for place in told.places]

    def can_be(self, way: Sided) -> bool:
        """Whether commands are in order, none before memory or data are there, nor behind what needs it."""
        before = 0
        for number, (start, slot) in enumerate(zip(way.starts, way.slots, strict=True)):
            points = self.points_of(way, number)
            if not points or points.stop > len(self.points) or not before <= slot <= self.points[start].need:
                return False
            if any(self.points[point].earliest > slot for point in points):
                return False
            before = slot
        return not way.starts or way.starts[0] == 0

    def cost(self, way: Sided, near: float) -> tuple[float, int]:
        """The cycles of a way, and the bytes by which its sides together are more than a window of `near` times what is alive at
        once.
        """
        firsts = [first for _, _, first in self.places]
        slot_of = [0] * len(self.points)
        told: list[list[_Told]] = [[] for _ in self.steps]
        for number, slot in enumerate(way.slots):
            cycles = self.timing.machine.latency
            places: list[int] = []
            for point in self.points_of(way, number):
                slot_of[point] = slot
                cycles += self.points[point].cycles
                places += self.points[point].places
            for place in places:
                firsts[place] = slot if firsts[place] < 0 else min(firsts[place], slot)
            told[slot].append(_Told(True, cycles, tuple(places)))
        return self._cycles(way.sides, told), self._over(way.sides, firsts, slot_of, near)

    def _cycles(self, sides: Sequence[int], commands: Sequence[Sequence[_Told]]) -> float:
        """When both queues end, each waiting for the other's last use of the sides that it uses."""
        compute = move = 0.0
        computed, moved = [0.0] * 4, [0.0] * 4  # when each side was last used, by `LOW`, `HIGH` and both
        for loads, step in zip(commands, self.steps, strict=True):
            for each in (loads, step):
                for moves, cycles, places in each:
                    used = 0
                    for place in places:
                        used |= sides[place]
                    if moves:
                        move = max(move, computed[used]) + cycles
                        moved[LOW | HIGH] = move
                        if used & LOW:
                            moved[LOW] = move
                        if used & HIGH:
                            moved[HIGH] = move
                    else:
                        compute = max(compute, moved[used]) + cycles
                        computed[LOW | HIGH] = compute
                        if used & LOW:
                            computed[LOW] = compute
                        if used & HIGH:
                            computed[HIGH] = compute
        return max(compute, move)

    def _over(self, sides: Sequence[int], firsts: Sequence[int], slot_of: Sequence[int], near: float) -> int:
        low, high = [0] * (self.slots + 1), [0] * (self.slots + 1)
        for (size, last, _), first, side in zip(self.places, firsts, sides, strict=True):
            change = low if side == LOW else high
            change[first] += size
            change[last + 1] -= size
        loaded = [0] * (self.slots + 1)
        for point, size, last in self.loaded_bytes:
            loaded[slot_of[point]] += size
            loaded[last + 1] -= size
        alive = max(map(int.__add__, self.unloaded, accumulate(loaded)))
        grain, most = self.timing.machine.eu_bytes, self.timing.machine.local_bytes
        window = min(int(near * alive) // grain * grain, most)
        return max(max(accumulate(low)) + max(accumulate(high)) - window, 0)


def _points(made: Schedule) -> list[list[Load]]:
    """The loads of a schedule by the step that needs them first."""
    return points_of([load for step in made.steps for command in step.commands for load in command.loads])
