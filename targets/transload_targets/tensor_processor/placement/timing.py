"""How long a schedule takes with its buffers at given offsets: both queues in time, each waiting for the other's banks.

What code generation makes of the schedule takes as long but for copies in global memory, whose commands it alone knows; so ways
of placing buffers are compared here, without instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ..groups.machine import Machine
from ..groups.steps import Buffer, Command, Load, Schedule, Step, Store

__all__ = ["cycles_of"]


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


def cycles_of(made: Schedule, offsets: Mapping[Buffer, int], machine: Machine, size: Callable[[Load | Store], int]) -> float:
    """The cycles of a schedule; `size` says how many bytes of global memory a load or store moves."""
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
