"""Which core computes which slices of a partition, and before which groups cores wait for each other.

Cores share global memory alone: what one gives and another needs is stored and loaded. Between the two all cores have to meet
at a barrier. So a group stands behind one where a core needs a part that another core gave after the barrier before. The
groups between two barriers are a *phase*: in it no core reads what another one writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ..regions import Box
from ..regions.boxes import hull, meet
from .machine import Machine
from .network import Network
from .partition import Group, Partition
from .tail import Memo, Tail

__all__ = ["Spread", "spread"]

Read = tuple[int, int, Box | None]
"""What is read in global memory: by which core, of which tensor which part; None is any."""
Given = dict[int, tuple[int, Box | None]]
"""Of each core, the last phase in which it gives parts of a tensor, and a box around these; None where that may be anywhere."""


@dataclass(frozen=True)
class Spread:
    """A partition on so many cores."""

    network: Network
    groups: tuple[Group, ...]
    tails: tuple[Tail | None, ...]
    """Of each group what its slices need; None where it moves in global memory."""
    barriers: tuple[int, ...]
    """The groups before which all cores wait for each other."""
    phases: tuple[dict[Read, int], ...]
    """For each group from which phase on a core finds in global memory what other cores give of a part that it reads."""
    cores: int

    def slices(self, number: int, core: int) -> range:
        """The slices of a group that a core computes. What moves in global memory is one slice, of the first core."""
        tail = self.tails[number]
        runs = [range(1)] if tail is None else tail.runs
        return runs[core] if core < len(runs) else range(0)

    def phase(self, number: int, core: int, parts: Iterable[tuple[int, Box | None]]) -> int:
        """From which phase on a core finds parts of tensors in global memory that it reads for a group."""
        known = self.phases[number]
        return max((known.get((core, tensor, box), 0) for tensor, box in parts), default=0)

    @cached_property
    def read_elsewhere(self) -> tuple[frozenset[int], ...]:
        """For each core the tensors of which other cores read parts in global memory."""
        read: list[set[int]] = [set() for _ in range(self.cores)]
        for number, group in enumerate(self.groups):
            here = set(_read(self.network, group))
            for core in range(self.cores):
                if self.slices(number, core):
                    for other in range(self.cores):
                        read[other] |= here if other != core else set()
        return tuple(map(frozenset, read))


def spread(network: Network, machine: Machine, partition: Partition, cores: int = 1) -> Spread:
    """Spread the groups of a partition over cores, each over as many as it says."""
    memo = Memo()
    tails = tuple(_tail(network, machine, group, memo) for group in partition.groups)
    given: dict[int, Given] = {}
    barriers: list[int] = []
    phases: list[dict[Read, int]] = []
    alone = True  # whether the first core alone did something since the last barrier
    for number, (group, tail) in enumerate(zip(partition.groups, tails, strict=True)):
        node = network.nodes[group.start]
        phases.append({})
        if tail is None and node.moves_nothing:
            given[node.result] = _joined([given.get(operand, {}) for operand in node.operands if operand is not None])
            continue
        phases[-1] = {read: _phase(given, *read) for read in _needs(network, group, tail)}
        if max(phases[-1].values(), default=0) > len(barriers) or (not alone and _stores_again(network, tail)):
            barriers.append(number)
            alone = True
        alone = alone and group.cores == 1
        for core, tensor, box in _gives(network, group, tail):
            held = given.setdefault(tensor, {})
            _, before = held.get(core, (0, box))
            held[core] = len(barriers), None if box is None or before is None else hull(before, box)
    return Spread(network, partition.groups, tails, tuple(barriers), tuple(phases), cores)


def _tail(network: Network, machine: Machine, group: Group, memo: Memo) -> Tail | None:
    if group.end - group.start == 1 and network.nodes[group.start].moved is not None:
        return None
    tail = Tail(network, machine, group.end, group.slicing, memo, group.cores)
    while tail.start > group.start:
        tail.extend()
    return tail


def _read(network: Network, group: Group) -> Iterator[int]:
    """Tensors that a group reads in global memory, under all their names."""
    computed: set[int] = set()
    for node in network.nodes[group.start:group.end]:
        yield from (operand for operand in node.operands if operand is not None and operand not in computed)
        yield from node.also
        computed.add(node.result)


def _needs(network: Network, group: Group, tail: Tail | None) -> Iterator[Read]:
    """What each core reads in global memory of what is written there."""
    for tensor in dict.fromkeys(_read(network, group)):
        boxes = None if tail is None or tensor not in tail.boxes else tail.made(tensor)
        for core, run in enumerate([range(1)] if tail is None else tail.runs):
            parts = [None] if boxes is None else dict.fromkeys(boxes[run.start:run.stop])
            yield from ((core, tensor, box) for box in parts if boxes is None or box is not None)


def _gives(network: Network, group: Group, tail: Tail | None) -> Iterator[Read]:
    """What each core writes to global memory."""
    if tail is None:
        yield 0, network.nodes[group.start].result, None
        return
    for tensor, parts in tail.stored.items():
        for core, run in enumerate(tail.runs):
            yield from ((core, tensor, part) for part in parts[run.start:run.stop])


def _stores_again(network: Network, tail: Tail | None) -> bool:
    """Whether a group stores bytes that are in global memory, under another name: others may be reading them."""
    return tail is not None and any(node.moves_nothing and node.result in tail.stored
                                    for node in network.nodes[tail.start:tail.end])


def _joined(parts: Iterable[Given]) -> Given:
    """What is given under one name, of what was under others."""
    joined: Given = {}
    for part in parts:
        for core, (phase, _) in part.items():
            joined[core] = max(phase, joined.get(core, (0, None))[0]), None
    return joined


def _phase(given: dict[int, Given], core: int, tensor: int, box: Box | None) -> int:
    return max((phase + 1 for other, (phase, part) in given.get(tensor, {}).items()
                if other != core and (box is None or part is None or meet(box, part))), default=0)
