"""What is before what: the order that queues, waits and barriers make, and schedules that keep to it.

For each instruction and each queue, a *clock* says how many instructions of that queue have ended for sure when the
instruction starts (Lamport's relation, by vector clocks: F. Mattern, "Virtual Time and Global States of Distributed Systems",
1989). As each queue is in order, instruction j of queue q is before i exactly where the clock of i has at least j for q.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator

import numpy as np

from transload.errors import Finding

from ..instructions import QUEUES, Program
from .moves import is_barrier

__all__ = ["Order"]


class Order:
    """The order of a program's instructions, whose ids count from 1 in each queue.

    `queues` holds for each queue (both of core 0, both of core 1, ...) the indices of its instructions; `clocks[i, q]` is as
    above; `stuck` are the instructions that never start, as they wait for each other in a circle.
    """

    def __init__(self, program: Program) -> None:
        self.instructions = program.instructions
        self.queues: list[list[int]] = [[] for _ in range(len(QUEUES) * program.machine.cores)]
        self.queue_of = [len(QUEUES) * one.core + QUEUES.index(one.queue) for one in program.instructions]
        for index, queue in enumerate(self.queue_of):
            self.queues[queue].append(index)
        self._barriers = self._meetings()
        self._before, self._after = self._edges()
        self.clocks = np.zeros((len(program.instructions), len(self.queues)), np.int64)
        self.stuck = self._tick()

    def _meetings(self) -> dict[int, int]:
        """For each barrier, how many come before it in its queue: those of the same number meet."""
        numbers: dict[int, int] = {}
        for queue in self.queues:
            barriers = [index for index in queue if is_barrier(self.instructions[index])]
            numbers.update((index, number) for number, index in enumerate(barriers))
        return numbers

    def _edges(self) -> tuple[list[list[int]], list[list[int]]]:
        """What has to end before each instruction starts, and the reverse.

        Behind the instructions come the meetings, one for each number of a barrier: all barriers come to it, and what follows
        them waits for it.
        """
        meetings = max(self._barriers.values(), default=-1) + 1
        count = len(self.instructions)
        before: list[list[int]] = [[] for _ in range(count + meetings)]

        def end(index: int) -> int:
            """What has to happen for an instruction to be at its end."""
            return count + self._barriers[index] if index in self._barriers else index

        for queue, indices in enumerate(self.queues):
            other = self.queues[queue ^ 1]
            for position, index in enumerate(indices):
                if position:
                    before[index].append(end(indices[position - 1]))
                wait = self.instructions[index].wait
                if 0 < wait <= len(other):
                    before[index].append(end(other[wait - 1]))
        for index, number in self._barriers.items():
            before[count + number].append(index)
        after: list[list[int]] = [[] for _ in before]
        for index, sources in enumerate(before):
            for source in sources:
                after[source].append(index)
        return before, after

    def _tick(self) -> tuple[int, ...]:
        """Set the clocks; gives what never starts."""
        count = len(self.instructions)
        ended = np.zeros((len(self._before), len(self.queues)), np.int64)
        done = 0
        for index in self._sorted(None):
            sources = self._before[index]
            clock = ended[index]
            for source in sources:
                np.maximum(clock, ended[source], out=clock)
            if index < count:
                self.clocks[index] = clock
                clock[self.queue_of[index]] = self.instructions[index].id
                done += 1
        if done == count:
            return ()
        started = set(self._sorted(None))
        return tuple(index for index in range(count) if index not in started)

    def _sorted(self, seed: int | None) -> Iterator[int]:
        """Everything that can start, in an order in which it can: the first of the program next, or by chance."""
        chance = random.Random(seed)
        missing = [len(sources) for sources in self._before]
        ready: list[tuple[float, int]] = []

        def start(index: int) -> None:
            heapq.heappush(ready, (0.0 if seed is None else chance.random(), index))

        for index, count in enumerate(missing):
            if not count:
                start(index)
        while ready:
            _, index = heapq.heappop(ready)
            yield index
            for follower in self._after[index]:
                missing[follower] -= 1
                if not missing[follower]:
                    start(follower)

    def schedule(self, seed: int | None = None) -> Iterator[int]:
        """Indices of instructions in an order that queues and waits allow: the program's, or with a seed one by chance."""
        count = len(self.instructions)
        return (index for index in self._sorted(seed) if index < count)

    def concurrent(self, index: int, queue: int) -> range:
        """Which positions in another queue may be executed at the same time as an instruction."""
        first = int(self.clocks[index, queue])
        own = self.clocks[self.queues[queue], self.queue_of[index]]  # never falls, as a queue is in order
        return range(first, int(np.searchsorted(own, self.instructions[index].id)))

    def findings(self) -> list[Finding]:
        """What keeps the program from coming to its end."""
        found = []
        counts = {core: sum(is_barrier(one) and one.core == core for one in self.instructions)
                  for core in range(len(self.queues) // len(QUEUES))}
        if len(set(counts.values())) > 1:
            found.append(Finding("barrier", "cores have different numbers of barriers, and wait for ever: "
                                 + ", ".join(f"{number} on core {core}" for core, number in counts.items())))
        for index in self.stuck:
            one = self.instructions[index]
            found.append(Finding(
                f"{one.label} {one.operation}", "never starts: it waits for what waits for it",
                (one.name,) if one.name else ()))
        return found
