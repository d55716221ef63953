"""Which loads are one command of the DMA, and at which slot it is given.

The latency is a command's, whatever number of parts it moves: few commands move in less time. But what a command loads is there
when all of it is. So which loads are joined decides when what needs them can begin: where the DMA takes longer than computing,
many are joined, else few. It is found by dynamic programming over the loads in the order in which they are needed: after some of
them, all that matters is when the DMA is free and how far computing has come, and of two ways of which one is later in both, the
other is kept.

A command is given when the DMA comes to it, not when memory would allow it: what computes before then must not wait for it
because of a bank that both use. So both queues are followed in time, as if no bank were in the way.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

from .machine import Machine
from .steps import Command, Load, Step, Store

__all__ = ["PLAIN", "Joining", "begin", "give", "points_of"]


class Joining(NamedTuple):
    """How loads are joined: for how many steps one command may bring them at most, and how many times its own a command's latency
    counts.

    The time that joining takes grows with the number of steps. A command keeps all banks that it writes to from what computes
    until it ends, which is not seen here: so it may be better to join more than would be best otherwise, or less.
    """

    steps: int
    latency: float


PLAIN = Joining(8, 1.0)
"""The first to be tried."""

Size = Callable[[Load | Store], int]
"""How many bytes the DMA could move alone while it does a load or store."""

KEPT = 4
"""Ways of having loaded the first loads that are kept."""


def give(
    loads: Sequence[Load], steps: Sequence[Step], machine: Machine, size: Size, how: Joining = PLAIN,
    barriers: Collection[int] = (),
) -> list[Command]:
    """The commands that the loads become, in order; each load's slot, and its buffer's first, is that of its command.

    `barriers` are slots before which the core waits for others: what need not stand behind one is loaded by other commands.
    """
    counted = replace(machine, latency=how.latency * machine.latency)
    commands = _Joining(loads, steps, counted, size, how.steps).commands()
    _follow(commands, steps, machine, size, barriers)
    for command in commands:
        for load in command.loads:
            load.slot = command.slot
    begin(loads, steps)
    return commands


def begin(loads: Sequence[Load], steps: Sequence[Step]) -> None:
    """Let buffers begin with what is first put into them: a load, or rows that stay from the slice before."""
    for load in loads:
        load.buffer.first = load.slot
    for number, step in enumerate(steps):
        if step.carries and step.writes is not None:
            step.writes.first = min(step.writes.first, number)


def points_of(loads: Iterable[Load]) -> list[list[Load]]:
    """Loads by the step that needs them, those that have to stand behind a barrier apart."""
    points: list[list[Load]] = []
    for load in sorted(loads, key=_order):
        if not points or _order(points[-1][0]) != _order(load):
            points.append([])
        points[-1].append(load)
    return points


def _order(load: Load) -> tuple[int, bool]:
    """Loads of one command have the same; they are done in this order."""
    return load.need, load.barred


@dataclass(frozen=True)
class _Way:
    """How the loads of the steps before a point were joined: the DMA is free at `free`, what computes before it ends at `end`.

    `begin` is when the steps of its last command begin, the first of them being `first`.
    """

    free: float
    end: float
    first: int = 0
    begin: float = 0.0
    start: int = 0
    """The first of the points that its last command is for."""
    slot: int = 0
    before: _Way | None = None


class _Joining:
    """Loads of each step that needs some, a *point*, joined to commands for several points."""

    def __init__(
        self, loads: Sequence[Load], steps: Sequence[Step], machine: Machine, size: Size, most: int,
    ) -> None:
        self.machine, self.most = machine, most
        self.points = points_of(loads)
        self.bytes = [sum(size(load) for load in point) for point in self.points]
        self.slots = [max(load.slot for load in point) for point in self.points]
        self.needs = [*(point[0].need for point in self.points), len(steps)]
        self.done = list(accumulate((step.cycles for step in steps), initial=0.0))
        """Cycles of all steps before each."""
        self.stored = list(accumulate(
            (sum(machine.transfer(size(store)) for store in step.stores) for step in steps), initial=0.0))
        """Cycles of all stores before each step."""

    def commands(self) -> list[Command]:
        """The commands, by the way in which computing ends first."""
        if not self.points:
            return []
        first = self.done[self.needs[0]]
        ways: list[list[_Way]] = [[_Way(0.0, first)], *([] for _ in self.points)]
        for start in range(len(self.points)):
            for way in ways[start]:
                for stop, longer in self._longer(way, start):
                    _keep(ways[stop], longer)
        best: _Way | None = min(ways[-1], key=lambda way: (way.end, way.free))
        made: list[Command] = []
        stop = len(self.points)
        while best is not None and best.before is not None:
            made.append(Command([load for point in self.points[best.start:stop] for load in point], best.slot))
            stop, best = best.start, best.before
        return made[::-1]

    def _longer(self, way: _Way, start: int) -> Iterator[tuple[int, _Way]]:
        """Ways with one more command, for the points from `start` until before the one given with it."""
        size = slot = 0
        for stop in range(start + 1, min(start + self.most, len(self.points)) + 1):
            size += self.bytes[stop - 1]
            slot = max(slot, self.slots[stop - 1])
            if slot > self.needs[start]:  # memory is not there when the first of them is needed
                return
            begin = max(way.free, self._ended(way, slot - 1))
            free = begin + self.machine.transfer(size)
            at = max(free, way.end)
            first, last = self.needs[start], self.needs[stop]
            end = at + self.done[last] - self.done[first]
            free += self.stored[last] - self.stored[first]
            yield stop, _Way(free, end, first, at, start, slot, way)

    def _ended(self, way: _Way, step: int) -> float:
        """When a step has ended."""
        held: _Way | None = way
        while held is not None and held.first > step:
            held = held.before
        return 0.0 if held is None or step < 0 else held.begin + self.done[step + 1] - self.done[held.first]


def _keep(ways: list[_Way], new: _Way) -> None:
    """Keep a way unless another is as early in both; and those that it does not beat so, the first to end."""
    if any(way.free <= new.free and way.end <= new.end for way in ways):
        return
    ways[:] = sorted((*(way for way in ways if way.free < new.free or way.end < new.end), new), key=lambda way: way.end)[:KEPT]


def _follow(
    commands: Sequence[Command], steps: Sequence[Step], machine: Machine, size: Size,
    barriers: Collection[int],
) -> None:
    """Set each command's slot to the step that runs when the DMA comes to it, and `until` to the one that runs when it ends."""
    followed = _Following(steps, machine, size, barriers)
    followed.run(commands)
    for command in commands:
        running = bisect_right(followed.starts, command.begin) - 1
        command.slot = min(max(command.slot, running), command.loads[0].need)
        command.until = max(command.slot, bisect_right(followed.starts, command.end - 1e-6) - 1)


class _Following:
    """Both queues in time. What a step is to be told, the DMA is told in order; where it would wait for computing, to store or
    to move in the lanes, it first does loads of later steps, as far as memory is there.
    """

    def __init__(
        self, steps: Sequence[Step], machine: Machine, size: Size, barriers: Collection[int] = (),
    ) -> None:
        self.steps, self.machine, self.size, self.barriers = steps, machine, size, barriers
        self.starts, self.ends = [0.0] * len(steps), [0.0] * (len(steps) + 1)
        self.ready = [0.0] * len(steps)
        self.free = 0.0

    def run(self, commands: Sequence[Command]) -> None:
        """Go through the steps, the commands being in the order in which they are needed."""
        waiting = deque(commands)
        for number, step in enumerate(self.steps):
            before = self.ends[number - 1] if number else 0.0
            if number in self.barriers:  # what was stored until then was computed
                self._meanwhile(waiting, number - 1, before)
                self.free = max(self.free, before)
            while waiting and waiting[0].loads[0].need <= number:
                self._load(waiting.popleft())
            if step.moves:
                self._meanwhile(waiting, number, before)
            begin = max(before, self.ready[number], self.free if step.moves else 0.0)
            self.starts[number], self.ends[number] = begin, begin + step.cycles
            if step.moves:
                self.free = self.ends[number]
            if step.stores:
                self._meanwhile(waiting, number, self.ends[number])
                self.free = max(self.free, self.ends[number]) + sum(
                    self.machine.transfer(self.size(store)) for store in step.stores)

    def _meanwhile(self, waiting: deque[Command], number: int, until: float) -> None:
        """Loads that begin before then: the DMA has nothing else to do, and the memory is there when step `number` runs."""
        while waiting and self.free < until and waiting[0].slot <= number and self._begin(waiting[0]) < until:
            self._load(waiting.popleft())

    def _begin(self, command: Command) -> float:
        return max(self.free, self.ends[command.slot - 1] if command.slot else 0.0)

    def _load(self, command: Command) -> None:
        command.begin = self._begin(command)
        self.free = command.end = command.begin + self.machine.transfer(sum(self.size(load) for load in command.loads))
        for load in command.loads:
            self.ready[load.need] = max(self.ready[load.need], self.free)
