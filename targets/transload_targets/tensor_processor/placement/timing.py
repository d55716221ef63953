"""How long a schedule takes with its buffers at given offsets: both queues in time, each waiting for the other's banks.

What code generation makes of the schedule takes as long but for copies in global memory, whose commands it alone knows; so ways
of placing buffers are compared here, without instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ..groups.machine import Machine
from ..groups.steps import Buffer, Schedule, Step

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


def cycles_of(made: Schedule, offsets: Mapping[Buffer, int], machine: Machine, size: Callable[[Buffer], int]) -> float:
    """The cycles of a schedule; `size` says how many bytes of global memory a buffer is."""
    bank = machine.local_bytes // machine.banks
    spans = {buffer: range(offset // bank, (offset + max(buffer.size, 1) - 1) // bank + 1) for buffer, offset in offsets.items()}
    queues = _Queues(machine.banks)

    def store(step: Step, at_once: bool) -> None:
        for each in step.stores:
            if each.at_once == at_once:
                queues.run("dma", spans[each.buffer], machine.transfer(size(each.buffer)))

    before: Step | None = None
    for step in made.steps:
        for command in step.commands:
            buffers = [load.buffer for load in command.loads]
            queues.run("dma", {each for buffer in buffers for each in spans[buffer]}, machine.transfer(sum(map(size, buffers))))
        if before is not None:
            store(before, False)
        used = {each for buffer in (*step.reads, step.writes) if buffer is not None for each in spans[buffer]}
        queues.run("dma" if step.moves or step.part is None else "tiu", used, step.cycles)
        store(step, True)
        before = step
    if before is not None:
        store(before, False)
    return max(queues.free.values())
