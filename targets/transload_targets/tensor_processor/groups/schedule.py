"""What a partition does, step by step: a step computes one part of one node; moves lie between steps, as early as memory allows.

Local memory is planned over all steps of the program, those of all groups and slices. Before step t lie the loads of slot t and
the stores of what step t - 1 computed. A load of slot t - 1 or before, of what step t needs, is done while others compute. So
"loads, computes and stores overlap" is a matter of slots: first each load goes one slot ahead, then stores wait a step, then
loads go further ahead, all of it as far as local memory has room. Without room for any of it, the steps are done one after the
other.

Each core has steps of its own. A load of what other cores give is done in the slot of the barrier behind which that is there, or
later.

Source: the manual's chapter 10.3 (memory cycles, and their correction for loads).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..regions import Box
from .commands import PLAIN, Joining, give
from .joining import join
from .keeping import keep, store_less
from .machine import Machine
from .network import Network
from .over import write_over
from .partition import Partition
from .spread import Spread, spread
from .steps import Barrier, Buffer, Load, Schedule, Step, Store, used_at
from .tail import Tail

__all__ = ["AHEAD", "schedule"]

AHEAD = 256
"""Slots that a load is done ahead at most."""
NEAR = 8
"""Steps behind a barrier whose loads of what other cores give are no commands with those that need not wait for it."""


def schedule(
    network: Network, machine: Machine, partition: Partition | Spread, share: float = 1.0, keeping: bool = True,
    over: bool = True, joining: Joining = PLAIN, core: int = 0,
) -> Schedule:
    """The steps of a partition, or of one that is spread over cores those of a core. Loads are done ahead where no more than
    this share of local memory is in use then.

    With `keeping`, groups find in local memory what lay there before, as far as there is room for it until then. With `over`,
    results are written over operands wherever that can be, else where less is needed at once then. `joining` says how loads
    become commands.
    """
    over_cores = partition if isinstance(partition, Spread) else spread(network, machine, partition)
    made = _Scheduling(over_cores, machine, core)
    for number in range(len(over_cores.groups)):
        made.group(number)
    return made.schedule(int(share * machine.local_bytes), keeping, over, joining)


class _Scheduling:
    def __init__(self, spread: Spread, machine: Machine, core: int) -> None:
        self.spread, self.network, self.machine, self.core = spread, spread.network, machine, core
        self.steps: list[Step] = []
        self.buffers: list[Buffer] = []
        self.loads: list[Load] = []
        self.barriers: list[Barrier] = []
        self.stored_at: dict[int, int] = {}
        """The last step that gives a part of a tensor to global memory."""
        self.sliding: dict[int, Buffer] = {}
        """Of the group that is added to, the buffers of tensors of which rows stay for the next slice."""
        self.urgent: set[int] = set()
        """Tensors that are loaded for the very step after that."""

    def group(self, number: int) -> None:
        """Add the core's steps of a group."""
        if number in self.spread.barriers:
            self.barriers.append(Barrier(len(self.steps), number))
        group, tail = self.spread.groups[number], self.spread.tails[number]
        stays: dict[int, Buffer] = {}
        self.sliding = {}
        for index in self.spread.slices(number, self.core):
            if tail is None:
                node = self.network.nodes[group.start]
                self.stored_at[node.result] = len(self.steps)
                self.steps.append(Step(group.start, number))
                return
            inner: dict[int, Buffer] = {}
            for each in range(group.start, group.end):
                self._step(number, tail, each, index, stays, inner)

    def _step(self, number: int, tail: Tail, each: int, index: int, stays: dict[int, Buffer], inner: dict[int, Buffer]) -> None:
        node, need = self.network.nodes[each], tail.needs[each][index]
        if need is None:  # what is needed of it is there
            self._store_what_is_there(tail, node.result, index)
            return
        self._slide(number, tail, each, index, inner)
        step = len(self.steps)
        reads: list[Buffer | None] = []
        for operand, box in zip(node.operands, need.operands, strict=True):
            if operand is None or box is None:
                reads.append(None)
                continue
            buffer = inner.get(operand) or self.sliding.get(operand)
            if buffer is None:
                buffer = self._loaded(number, tail, operand, index, stays, node.also)
                if operand in tail.loads and tail.slicing.streamed:
                    inner[operand] = buffer
            buffer.last = step
            reads.append(buffer)
        result = tail.made(node.result)[index]
        assert result is not None  # there is something that it needs
        made = inner[node.result] = inner.get(node.result) or self._buffer(node.result, result, tail)
        made.last = step
        cycles = node.cycles(node, result, need)
        made_step = Step(each, number, index, result, need, tuple(reads), made, cycles, moves=node.lanes is not None)
        if node.result in tail.stored:
            made_step.stores.append(Store(made, tail.stored[node.result][index], step))
            self.stored_at[node.result] = step
        self.steps.append(made_step)

    def _slide(self, number: int, tail: Tail, each: int, index: int, inner: dict[int, Buffer]) -> None:
        """Begin this slice's buffers of what a node gives, and reads first in it, where rows stay from the slice before."""
        node, need = self.network.nodes[each], tail.needs[each][index]
        assert need is not None  # it computes something
        read = [operand for operand, box in zip(node.operands, need.operands, strict=True) if operand in tail.loads and box]
        fresh = [tensor for tensor in dict.fromkeys((*read, node.result)) if tensor in tail.kept and tensor not in inner]
        for tensor in fresh:
            if tail.kept[tensor].made[index] is not None:
                self._carry(number, tail, each, tensor, index)
            inner[tensor] = self.sliding[tensor]
        for tensor in fresh:
            box = tail.kept[tensor].made[index]
            if tensor in read and box is not None:
                self._load(number, tail, inner[tensor], box, node.also)

    def _carry(self, number: int, tail: Tail, each: int, tensor: int, index: int) -> None:
        """Begin a slice's buffer of a tensor, with the rows that stay from the slice before."""
        kept, before, carry = tail.kept[tensor], self.sliding.get(tensor), self.network.tensors[tensor].carry
        held, box = kept.held[index], kept.carried[index]
        assert held is not None and carry is not None  # the chip can
        buffer = self.sliding[tensor] = self._buffer(tensor, held, tail)
        buffer.slides = True
        if box is not None and before is not None:
            buffer.over = before if kept.slides else None
            before.last = len(self.steps)
            self.steps.append(Step(each, number, index, box, None, (before,), buffer, carry(box), carries=True))

    def _store_what_is_there(self, tail: Tail, tensor: int, index: int) -> None:
        """Store a slice's part of a tensor of which it computes nothing, as slices before needed all of it."""
        if tensor in tail.stored:
            buffer, step = self.sliding[tensor], len(self.steps) - 1
            self.steps[-1].stores.append(Store(buffer, tail.stored[tensor][index], step))
            buffer.last, self.stored_at[tensor] = step, step

    def _loaded(
        self, number: int, tail: Tail, operand: int, index: int, stays: dict[int, Buffer], also: Sequence[int],
    ) -> Buffer:
        """The buffer of a tensor from outside: that of the slice before, where the part is the same, or a new one."""
        box = tail.boxes[operand][index]
        assert box is not None  # it is read
        held = stays.get(operand)
        if held is not None and held.box == box and not (tail.slicing.streamed and self.network.tensors[operand].constant):
            return held
        buffer = stays[operand] = self._buffer(operand, box, tail)
        self._load(number, tail, buffer, box, also)
        return buffer

    def _load(self, number: int, tail: Tail, buffer: Buffer, box: Box, also: Sequence[int]) -> None:
        """Load a part of a buffer for the next step.

        What is loaded in another layout than it is computed in has to be stored before, under the number of one of `also`.
        """
        step, operand = len(self.steps), buffer.tensor
        held_as = (operand,) if self.network.tensors[operand].constant else (operand, *also)
        earliest = max(self.stored_at.get(tensor, -2) for tensor in held_as) + 2
        self.urgent.update(tensor for tensor in held_as if self.stored_at.get(tensor, -2) + 2 > step)
        phase = self.spread.phase(number, self.core, [(operand, box), *((tensor, None) for tensor in also)])
        barrier = self.barriers[phase - 1].slot if phase else 0
        self.loads.append(Load(buffer, box, step, step, max(min(earliest, step), barrier), barrier + NEAR > step and phase > 0))

    def _buffer(self, tensor: int, box: Box, tail: Tail) -> Buffer:
        """A buffer for the next step."""
        about, step = self.network.tensors[tensor], len(self.steps)
        buffer = Buffer(tensor, box, self.machine.lane_bytes(about, box), step, step, self.machine.compact(about, box),
                        sharing=tail.cores)
        self.buffers.append(buffer)
        return buffer

    # --- slots

    def schedule(self, room: int, keeping: bool, over: bool, joining: Joining) -> Schedule:
        """Do loads ahead and stores later, as far as there is room."""
        used = self._profile()
        for load in self.loads:
            self._ahead(load, used, room, 1)
        if keeping:
            self.buffers, self.loads = join(self.steps, self.buffers, self.loads, used, room, self.machine.lanes)
            self.buffers, self.loads = keep(self.steps, self.buffers, self.loads, used, room)
            store_less(self.network, self.steps, self.loads, self.spread.read_elsewhere[self.core])
        write_over(self.network, self.steps, used, over)
        for step in self.steps:
            for store in step.stores:
                self._later(store, used, room)
        for load in self.loads:
            self._ahead(load, used, room, AHEAD)
        barriers = {barrier.slot for barrier in self.barriers}
        for command in give(self.loads, self.steps, self.machine, self._bytes, joining, barriers):
            self.steps[command.slot].commands.append(command)
        return Schedule(self.steps, self.buffers, max(self._profile(), default=0), tuple(self.barriers))

    def _bytes(self, moved: Load | Store) -> int:
        """Bytes that the DMA could move alone while it moves a part of a buffer."""
        return moved.buffer.sharing * self.machine.bytes(self.network.tensors[moved.buffer.tensor], moved.box)

    def _profile(self) -> list[int]:
        return used_at(self.buffers, len(self.steps))

    def _ahead(self, load: Load, used: list[int], room: int, most: int) -> None:
        """Do a load in an earlier slot."""
        buffer, until = load.buffer, max(load.earliest, load.need - most, 0)
        while load.slot > until:
            slot = load.slot - 1
            if slot < buffer.first:  # else its memory is there
                if used[slot] + buffer.size > room:
                    return
                used[slot] += buffer.size
                buffer.first = slot
            load.slot = slot

    def _later(self, store: Store, used: list[int], room: int) -> None:
        """Let a store be done while the next step computes."""
        buffer, slot = store.buffer, store.step + 1
        if slot >= len(self.steps) or (buffer.tensor in self.urgent and self.stored_at[buffer.tensor] == store.step):
            return
        if buffer.last < slot:
            if used[slot] + buffer.size > room:
                return
            used[slot] += buffer.size
            buffer.last = slot
        store.at_once = False
