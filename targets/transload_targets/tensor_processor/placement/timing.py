"""How long a schedule takes with its buffers at given offsets: both queues in time, each waiting for the other's banks.

What code generation makes of the schedule takes as long but for copies in global memory, whose commands it alone knows; so ways
of placing buffers are compared here, without instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from ..groups.machine import Machine
from ..groups.steps import Buffer, Command, Load, Schedule, Step, Store
from .windows import places_of

__all__ = ["Size", "Timing", "cycles_of"]

Size = Callable[[Load | Store], int]
"""How many bytes of global memory a load or store moves."""


@dataclass(frozen=True)
class Timing:
    """What tells the cycles of a schedule by the offsets of its buffers."""

    made: Schedule
    machine: Machine
    size: Size

    def __call__(self, offsets: Mapping[Buffer, int]) -> float:
        return cycles_of(self.made, offsets, self.machine, self.size)

    def unhindered(self) -> float:
        """The cycles if each place were a bank of its own: no placement takes fewer."""
        places = places_of(self.made)
        lane, number_of = self.machine.local_bytes, {place: number for number, place in enumerate(dict.fromkeys(places.values()))}
        machine = replace(self.machine, local_bytes=lane * max(len(number_of), 1), banks=max(len(number_of), 1))
        return cycles_of(self.made, {buffer: lane * number_of[place] for buffer, place in places.items()}, machine, self.size)


class _Queues:
    """When each queue is free, and when it last used each bank."""

    def __init__(self, banks: int) -> None:
        self.free = {"tiu": 0.0, "dma": 0.0}
        self.used = {queue: [0.0] * banks for queue in self.free}

    def run(self, queue: str, banks: Iterable[int], cycles: float) -> None:
        """Let an instruction start as soon as its queue is free and the other one is done with its banks."""
        banks = list(banks)
        others = self.used["dma" if queue == "tiu" else "tiu"]
        end = self.free[queue] = max([self.free[queue], *(others[bank] for bank in banks)]) + cycles
        own = self.used[queue]
        for bank in banks:
            own[bank] = end


def cycles_of(made: Schedule, offsets: Mapping[Buffer, int], machine: Machine, size: Size) -> float:
    """The cycles of a schedule."""
    bank = machine.local_bytes // machine.banks
    spans = {buffer: range(offset // bank, (offset + max(buffer.size, 1) - 1) // bank + 1) for buffer, offset in offsets.items()}
    queues = _Queues(machine.banks)

    for each in made.told():
        match each:
            case Command():
                banks = {bank for load in each.loads for bank in spans[load.buffer]}
                queues.run("dma", banks, machine.transfer(sum(map(size, each.loads))))
            case Store():
                queues.run("dma", spans[each.buffer], machine.transfer(size(each)))
            case Step():
                used = {bank for buffer in (*each.reads, each.writes) if buffer is not None for bank in spans[buffer]}
                queues.run("dma" if each.moves or each.part is None else "tiu", used, each.cycles)
    return max(queues.free.values())
