"""From which command of the DMA to which a tensor is there in global memory, and which one it is written over.

The DMA alone uses global memory, one command after the other: a tensor is there from the first that writes to it to the last that
reads of it. Of two of the same size one may be written over the other though that is still being read, where no part is read
after its bytes were written: slice by slice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from transload import memory

from ..groups.forms import Held
from ..groups.network import Network
from ..groups.steps import Schedule, Step
from ..regions import Box, whole

__all__ = ["lifetimes"]


@dataclass
class _Life:
    """Of a tensor: its first and last command, and which parts which command reads and writes, by the tensor's number."""

    first: int
    last: int
    reads: list[tuple[int, int, Box]] = field(default_factory=list)
    writes: list[tuple[int, int, Box]] = field(default_factory=list)


class _Lives:
    def __init__(self, network: Network, held: Iterable[Held], key: Callable[[Held], Hashable]) -> None:
        self.network, self.held = network, tuple(held)
        self.keys = [key(each) for each in self.held]
        self.found: dict[Hashable, _Life] = {}
        self.command = 0

    def read(self, tensor: int, box: Box | None = None) -> None:
        life = self.found.get(self.keys[tensor])
        if life is not None:  # else it is a constant, which is always there
            life.last = self.command
            life.reads.append((self.command, tensor, box or whole(self.network.tensors[tensor].shape)))

    def write(self, tensor: int, box: Box | None = None) -> None:
        life = self.found.setdefault(self.keys[tensor], _Life(self.command, self.command))
        life.last = max(life.last, self.command)
        life.writes.append((self.command, tensor, box or whole(self.network.tensors[tensor].shape)))

    def follow(self, steps: list[Step]) -> None:
        """Go through the commands in the order in which they are given."""
        before: Step | None = None
        for step in steps:
            for command in step.commands:
                self.command += 1
                for load in command.loads:
                    self.read(load.buffer.tensor, load.buffer.box)
            if before is not None:
                self._stores(before, False)
            node = self.network.nodes[step.node]
            if step.part is None:
                self.command += 1
                for operand in node.operands:
                    if operand is not None:
                        self.read(operand)
                self.write(node.result)
            self._stores(step, True)
            before = step
        if before is not None:
            self._stores(before, False)

    def _stores(self, step: Step, at_once: bool) -> None:
        for store in step.stores:
            if store.at_once == at_once:
                self.command += 1
                self.write(store.buffer.tensor, store.box)

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
            read >= write and _meet(part, made) for write, _, made in life.writes for read, _, part in other.reads)


def _meet(one: Box, other: Box) -> bool:
    return all(low < stop and start < high for (low, high), (start, stop) in zip(one, other, strict=True))


def lifetimes(
    network: Network, steps: Schedule, held: Iterable[Held], key: Callable[[Held], Hashable], size: Callable[[Hashable], int],
    inputs: Iterable[Hashable], outputs: Iterable[Hashable],
) -> list[memory.Buffer]:
    """What is to be placed in global memory beside constants, by commands of the DMA. `key` says which tensor of the program one
    of the network is, `size` how many bytes that has.
    """
    lives = _Lives(network, held, key)
    for each in inputs:
        lives.found[each] = _Life(0, 0)
    lives.follow(steps.steps)
    for each in outputs:
        lives.found.setdefault(each, _Life(0, 0)).last = lives.command + 1
    shares = dict(lives.over(size))
    return [memory.Buffer(
        each, life.first if each not in shares else lives.found[shares[each]].last + 1, life.last + 1, size(each),
        shares=shares.get(each)) for each, life in lives.found.items()]
