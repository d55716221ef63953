"""What a schedule is made of: buffers in local memory, loads and stores of them, and steps that compute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from ..regions import Box, Need

__all__ = ["Barrier", "Buffer", "Command", "Load", "Schedule", "Step", "Store", "used_at"]


@dataclass(eq=False)
class Buffer:
    """A part of a tensor in local memory, from slot `first` to slot `last`, both included; `size` bytes of each lane."""

    tensor: int
    box: Box
    size: int
    first: int
    last: int
    compact: bool = False
    """Whether its channels lie without gaps."""
    over: Buffer | None = None
    """The buffer in whose place it is written, by the step that reads that last."""
    slides: bool = False
    """Whether it holds what a slice needs of a tensor of which rows stay for the next slice."""
    sharing: int = 1
    """Cores of its group, which move their parts at the same time and share the bandwidth of global memory."""


@dataclass(eq=False)
class Load:
    """The load of a part of a buffer, needed at step `need`, done in slot `slot`, not before slot `earliest`."""

    buffer: Buffer
    box: Box
    need: int
    slot: int
    earliest: int
    barred: bool = False
    """Whether it has to stand behind a barrier that is not far before."""


@dataclass(eq=False)
class Command:
    """Loads that the DMA does in one go, given in slot `slot`; step `until` is the last that runs meanwhile, as far as is
    known.
    """

    loads: list[Load]
    slot: int
    until: int = 0
    begin: float = 0.0
    end: float = 0.0


@dataclass(eq=False)
class Store:
    """The store of a part of a buffer: in the slot after that of step `step`, or at once, before that slot's loads."""

    buffer: Buffer
    box: Box
    step: int
    at_once: bool = True


@dataclass(eq=False)
class Step:
    """One part of a node: which buffers it reads, by operand, and writes. A node that moves in global memory has no part."""

    node: int
    group: int
    slice: int = 0
    part: Box | None = None
    need: Need | None = None
    reads: tuple[Buffer | None, ...] = ()
    writes: Buffer | None = None
    cycles: float = 0.0
    carries: bool = False
    """Whether it copies rows that stay for this slice, from the buffer of the slice before."""
    moves: bool = False
    """Whether it is the DMA that takes these cycles: it moves in the lanes."""
    commands: list[Command] = field(default_factory=list)
    """What the DMA is told to load in this slot, in order."""
    stores: list[Store] = field(default_factory=list)
    """Stores of what this step computes."""


@dataclass(frozen=True)
class Barrier:
    """Where a core waits for all others: before slot `slot`, for the sake of group `group`."""

    slot: int
    group: int


@dataclass(frozen=True)
class Schedule:
    """All steps of a core, and all buffers."""

    steps: list[Step]
    buffers: list[Buffer]
    room: int
    """Bytes of a lane that buffers take at most at any slot."""
    barriers: tuple[Barrier, ...] = ()

    def told(self) -> Iterator[Command | Store | Step | Barrier]:
        """What the queues are told, in order: a slot's loads, what the step before gives, the step, what is stored at once.

        A barrier stands behind what was given before, and in front of its slot's loads.
        """
        waiting = list(reversed(self.barriers))
        before: list[Store] = []
        for number, step in enumerate(self.steps):
            if waiting and waiting[-1].slot == number:
                yield from before
                before = []
                while waiting and waiting[-1].slot == number:
                    yield waiting.pop()
            yield from step.commands
            yield from before
            yield step
            yield from (store for store in step.stores if store.at_once)
            before = [store for store in step.stores if not store.at_once]
        yield from before
        yield from reversed(waiting)


def used_at(buffers: Iterable[Buffer], slots: int) -> list[int]:
    """Bytes of a lane that buffers take at each of so many slots; what is written over another takes none while that is read."""
    change = [0] * (slots + 1)
    for buffer in buffers:
        change[buffer.first + (buffer.over is not None)] += buffer.size
        change[buffer.last + 1] -= buffer.size
    return list(accumulate(change[:-1]))
