"""Instructions with ids and waits: what may run at the same time uses different banks, all else is in order.

Instructions are given in an order in which each could be executed after the other. Queues keep the order within them, so one
has to wait for the other queue where that used a bank of its own before: the latest such instruction is enough, as all before
it have ended then. Bytes that overlap lie in one bank, so that bytes need no look of their own. Global memory is used by one
queue of a core alone; what another core gives in it stands behind a barrier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..groups.machine import Machine
from ..instructions import Attribute, Instruction, Local, Operand

__all__ = ["Emitter"]

OTHER = {"tiu": "dma", "dma": "tiu"}


class Emitter:
    """Takes a core's instructions in order."""

    def __init__(self, machine: Machine, core: int = 0) -> None:
        self.machine, self.core = machine, core
        self.instructions: list[Instruction] = []
        self.ids = {"tiu": 0, "dma": 0}
        self.waited = {"tiu": 0, "dma": 0}
        """The latest instruction of the other queue that each queue has waited for."""
        self.users = {queue: [0] * machine.banks for queue in OTHER}
        """The latest instruction of each queue that uses a bank."""

    def emit(
        self, queue: str, operation: str, inputs: Sequence[Operand | None], outputs: Sequence[Operand],
        attributes: Mapping[str, Attribute] | None = None, name: str = "",
    ) -> None:
        """Add an instruction."""
        banks = {bank for operand in (*inputs, *outputs) if isinstance(operand, Local) for bank in self._banks(operand)}
        self.ids[queue] += 1
        others = self.users[OTHER[queue]]
        wait = max((others[bank] for bank in banks), default=0)
        if wait <= self.waited[queue]:
            wait = 0
        else:
            self.waited[queue] = wait
        for bank in banks:
            self.users[queue][bank] = self.ids[queue]
        self.instructions.append(Instruction(
            queue, self.ids[queue], wait, operation, tuple(inputs), tuple(outputs), dict(attributes or {}), self.core, name))

    def taken(self) -> list[Instruction]:
        """The instructions since the last time."""
        made, self.instructions = self.instructions, []
        return made

    def _banks(self, operand: Local) -> range:
        size = operand.size(self.machine.lanes, self.machine.eu_bytes)
        bank = self.machine.local_bytes // self.machine.banks
        return range(operand.address // bank, (operand.address + max(size, 1) - 1) // bank + 1)
