"""From which command of the DMA to which a tensor is there in global memory, and which one it is written over.

The DMA alone uses global memory, one command after the other: a tensor is there from the first that writes to it to the last that
reads of it. Of two of the same size one may be written over the other though that is still being read, where no part is read
after its bytes were written: slice by slice.

Between two barriers nothing orders the commands of several cores. Where one core alone moves, its commands count one by one;
else all between the barriers are at one time. A part may be written over what the same core read before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from transload import memory

from ..groups.forms import Held
from ..groups.network import Network
from ..groups.steps import Barrier, Command, Schedule, Step, Store
from ..regions import Box, whole
from ..regions.boxes import meet

__all__ = ["lifetimes"]


class _Time(NamedTuple):
    """When a command is executed: behind so many barriers, by a core, as its command of that number."""

    phase: int
    core: int
    command: int

    def may_follow(self, other: _Time) -> bool:
        """Whether nothing says that it has ended before the other one starts."""
        return self.phase > other.phase or (
            self.phase == other.phase and (self.core != other.core or self.command >= other.command))


@dataclass
class _Life:
    """Of a tensor: its first and last time, and which parts which command reads and writes, by the tensor's number."""

    first: int
    last: int
    reads: list[tuple[_Time, int, Box]] = field(default_factory=list)
    writes: list[tuple[_Time, int, Box]] = field(default_factory=list)


class _Lives:
    def __init__(self, network: Network, held: Iterable[Held], key: Callable[[Held], Hashable]) -> None:
        self.network, self.held = network, tuple(held)
        self.keys = [key(each) for each in self.held]
        self.found: dict[Hashable, _Life] = {}
        self.end = 0

    def follow(self, schedules: Sequence[Schedule]) -> None:
        """Go through the commands of all cores, phase by phase."""
        phases: list[list[tuple[_Time, Command | Store | Step]]] = []
        for core, schedule in enumerate(schedules):
            for time, what in _commands(schedule, core):
                phases += [[] for _ in range(time.phase + 1 - len(phases))]
                phases[time.phase].append((time, what))
        for commands in phases:
            several = len({time.core for time, _ in commands}) > 1
            for number, (time, what) in enumerate(commands, 1):
                self._note(what, time, self.end + (1 if several else number))
            self.end += 1 if several else len(commands)

    def _note(self, what: Command | Store | Step, time: _Time, now: int) -> None:
        """Note down what a command reads and writes."""
        match what:
            case Command():
                for load in what.loads:
                    self._read(load.buffer.tensor, load.box, time, now)
            case Store():
                self._write(what.buffer.tensor, what.box, time, now)
            case Step():
                node = self.network.nodes[what.node]
                for operand in node.operands:
                    if operand is not None:
                        self._read(operand, None, time, now)
                self._write(node.result, None, time, now)

    def _read(self, tensor: int, box: Box | None, time: _Time, now: int) -> None:
        life = self.found.get(self.keys[tensor])
        if life is not None:  # else it is a constant, which is always there
            life.last = max(life.last, now)
            life.reads.append((time, tensor, box or whole(self.network.tensors[tensor].shape)))

    def _write(self, tensor: int, box: Box | None, time: _Time, now: int) -> None:
        life = self.found.setdefault(self.keys[tensor], _Life(now, now))
        life.last = max(life.last, now)
        life.writes.append((time, tensor, box or whole(self.network.tensors[tensor].shape)))

    def over(self, size: Callable[[Hashable], int]) -> Iterator[tuple[Hashable, Hashable]]:
        """Tensors that are written over another while that is still being read, each with the other."""
        taken: set[Hashable] = set()
        by_end = sorted(self.found.items(), key=lambda item: item[1].last)
        ends = [life.last for _, life in by_end]
        for key, life in self.found.items():
            for other, before in by_end[bisect_left(ends, life.first):bisect_left(ends, life.last)]:
                if before.first < life.first and other not in taken and size(other) == size(key) and self._is_safe(life, before):
                    taken.add(other)
                    yield key, other
                    break

    def _is_safe(self, life: _Life, other: _Life) -> bool:
        """Whether no part of the other is read after a part of this one took its bytes: as far as both are seen alike."""
        numbers = {number for _, number, _ in (*life.reads, *life.writes, *other.reads, *other.writes)}
        alike = {(self.held[number].shape, self.held[number].steps, self.held[number].first) for number in numbers}
        return len(alike) == 1 and bool(life.writes) and not any(
            read.may_follow(write) and meet(part, made) for write, _, made in life.writes for read, _, part in other.reads)


def _commands(schedule: Schedule, core: int) -> Iterator[tuple[_Time, Command | Store | Step]]:
    """What a core's DMA does in global memory, in order."""
    phase = command = 0
    for what in schedule.told():
        if isinstance(what, Barrier):
            phase += 1
        elif not isinstance(what, Step) or what.part is None:
            command += 1
            yield _Time(phase, core, command), what


def lifetimes(
    network: Network, schedules: Sequence[Schedule], held: Iterable[Held], key: Callable[[Held], Hashable],
    size: Callable[[Hashable], int], inputs: Iterable[Hashable], outputs: Iterable[Hashable],
) -> list[memory.Buffer]:
    """What is to be placed in global memory beside constants, by commands of the DMA of all cores. `key` says which tensor of
    the program one of the network is, `size` how many bytes that has.
    """
    lives = _Lives(network, held, key)
    for each in inputs:
        lives.found[each] = _Life(0, 0)
    lives.follow(schedules)
    for each in outputs:
        lives.found.setdefault(each, _Life(0, 0)).last = lives.end + 1
    shares = dict(lives.over(size))
    return [memory.Buffer(
        each, life.first if each not in shares else lives.found[shares[each]].last + 1, life.last + 1, size(each),
        shares=shares.get(each)) for each, life in lives.found.items()]
