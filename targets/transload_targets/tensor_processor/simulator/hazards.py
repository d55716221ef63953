"""Hazards: instructions that nothing orders, and that use the same bytes, one of them writing, or the same bank.

What two queues do at the same time must not depend on who is first. In local memory the queues of a core meet, in global memory
the moving queues of several cores. A bank serves one queue at a time: what computes and what moves at the same time has to
use different ones.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from transload.errors import Finding

from ..instructions import QUEUES, Global, Instruction, Local, Operand, Program
from .footprint import Footprint
from .order import Order

__all__ = ["hazards"]


class _Uses:
    """What the instructions of one queue use of one memory, a row a use, in the order of the queue."""

    def __init__(self, program: Program, indices: list[int], memory: type, known: dict[Operand, Footprint]) -> None:
        self.instructions = [program.instructions[index] for index in indices]
        self.footprints: list[Footprint] = []
        rows: list[tuple[int, bool, int, int]] = []
        for position, one in enumerate(self.instructions):
            for writes, operands in ((False, one.inputs), (True, one.outputs)):
                for operand in operands:
                    if operand is None or not isinstance(operand, memory):
                        continue
                    footprint = known.get(operand)
                    if footprint is None:
                        footprint = known[operand] = Footprint(operand, program.machine)
                    if footprint.high > footprint.low:
                        self.footprints.append(footprint)
                        rows.append((position, writes, footprint.low, footprint.high))
        self.positions, self.writes, self.lows, self.highs = np.array(rows, np.int64).reshape(-1, 4).T
        local = memory is Local
        self.banks = np.array([one.banks for one in self.footprints] if local else [0] * len(rows), np.uint64)

    def at(self, positions: range) -> slice:
        """The uses of the instructions at these positions."""
        first, last = np.searchsorted(self.positions, (positions.start, positions.stop))
        return slice(int(first), int(last))


def hazards(program: Program, order: Order) -> Iterator[Finding]:
    """Every pair of instructions that may run at the same time and must not, and why."""
    known: dict[Operand, Footprint] = {}
    width, queues = len(QUEUES), len(order.queues)
    for first in range(0, queues, width):
        yield from _between(program, order, first, first + 1, Local, known)
        for second in range(first + width, queues, width):
            yield from _between(program, order, first + 1, second + 1, Global, known)


def _between(
    program: Program, order: Order, first: int, second: int, memory: type, known: dict[Operand, Footprint],
) -> Iterator[Finding]:
    """The hazards between two queues in one memory, one for each pair of instructions."""
    ours, theirs = (_Uses(program, order.queues[queue], memory, known) for queue in (first, second))
    for position, index in enumerate(order.queues[first]):
        there = theirs.at(order.concurrent(index, second))
        if there.start < there.stop:
            yield from _of_one(ours, position, theirs, there)


def _of_one(ours: _Uses, position: int, theirs: _Uses, there: slice) -> Iterator[Finding]:
    """The hazards of one instruction with those of the other queue that may run at the same time."""
    one = ours.instructions[position]
    races: dict[int, Finding] = {}
    clashes: dict[int, Finding] = {}
    uses = ours.at(range(position, position + 1))
    for use in range(uses.start, uses.stop):
        footprint = ours.footprints[use]
        touching = (theirs.lows[there] < footprint.high) & (theirs.highs[there] > footprint.low)
        racing = touching & ((theirs.writes[there] | ours.writes[use]) != 0)
        sharing = (theirs.banks[there] & ours.banks[use]) != 0
        for at in (np.flatnonzero(racing | sharing) + there.start).tolist():
            number = int(theirs.positions[at])
            other = theirs.instructions[number]
            if racing[at - there.start] and footprint.overlaps(theirs.footprints[at]):
                races.setdefault(number, _race(one, bool(ours.writes[use]), other, bool(theirs.writes[at]), footprint.low))
            elif sharing[at - there.start]:
                clashes.setdefault(number, _clash(one, other, int(theirs.banks[at] & ours.banks[use])))
    yield from (clashes | races).values()


def _race(one: Instruction, writes: bool, other: Instruction, other_writes: bool, address: int) -> Finding:
    doing, others = ("writes" if writes else "reads"), ("writing" if other_writes else "reading")
    return Finding(
        f"{one.label} {one.operation}",
        f"{doing} bytes at {address:#x} while {_named(other)} may be {others} them: nothing says which is first",
        (one.name,) if one.name else (), "one has to wait for the other")


def _clash(one: Instruction, other: Instruction, banks: int) -> Finding:
    bank = (banks & -banks).bit_length() - 1
    return Finding(
        f"{one.label} {one.operation}", f"uses bank {bank} while {_named(other)} may be using it",
        (one.name,) if one.name else (), "one has to wait for the other, or to use another bank")


def _named(one: Instruction) -> str:
    return f"{one.label} {one.operation}" + (f" (for {one.name!r})" if one.name else "")
