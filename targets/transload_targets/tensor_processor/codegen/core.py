"""Instructions of one core: what its schedule tells the queues, with operands, ids and waits."""

from __future__ import annotations

from collections.abc import Hashable
from math import prod
from typing import Any

from transload.ir import Op, Value

from ..groups.copies import Copies, row_major
from ..groups.forms import dtype_name, sizes_of
from ..groups.lanes import KEPT
from ..groups.reading import machine_of
from ..groups.steps import Barrier, Buffer, Command, Load, Step, Store
from ..instructions import ELEMENTS, Global, Instruction, Local, Part
from ..regions import Box
from .operands import global_part, image_of, in_rank, indices, local_part, own_shape, part_of
from .planning import CorePlan
from .tensors import Tensors
from .waits import Emitter

__all__ = ["CoreCode"]


class CoreCode:
    """The instructions of a core, from one barrier to the next, each with the group for which it computes or moves."""

    def __init__(self, tensors: Tensors, plan: CorePlan, core: int) -> None:
        self.tensors, self.reading, self.plan = tensors, tensors.reading, plan
        self.numbers, self.bases, self.everywhere = tensors.numbers, tensors.bases, tensors.everywhere
        self.machine = machine_of(tensors.chip)
        self.emitter = Emitter(self.machine, core)
        self.phases: list[list[tuple[Instruction, int]]] = [[]]
        for what in plan.schedule.told():
            group = self._tell(what)
            self.phases[-1] += [(one, group) for one in self.emitter.taken()]
            if isinstance(what, Barrier):
                self.phases.append([])

    def _tell(self, what: Command | Store | Step | Barrier) -> int:
        """Emit what the queues are told; gives the group that it is for."""
        steps = self.plan.schedule.steps
        match what:
            case Barrier():
                self.emitter.emit("dma", "barrier", [], [])
                return what.group
            case Command():
                self._load(what.loads)
                return steps[what.loads[0].need].group
            case Store():
                self._store(what)
                return steps[what.step].group
        self._compute(what)
        return what.group

    def _load(self, loads: list[Load]) -> None:
        """One command that loads some parts of buffers."""
        sources, targets = [], []
        for load in loads:
            buffer = load.buffer
            held = self.reading.held[buffer.tensor]
            key = self.tensors.base(held)
            part = part_of(held, load.box, self.numbers[key], self.bases[key])
            sources.append(global_part(self.everywhere.addresses[key], held, load.box, part))
            targets.append(local_part(self.plan.local.offsets[buffer], buffer, held, load.box, self.machine, part))
        self.emitter.emit("dma", "load", sources, targets, name=self.reading.network.tensors[loads[0].buffer.tensor].name)

    def _store(self, store: Store) -> None:
        buffer = store.buffer
        held = self.reading.held[buffer.tensor]
        key = self.tensors.base(held)
        part = part_of(held, store.box, self.numbers[key], self.bases[key])
        source = local_part(self.plan.local.offsets[buffer], buffer, held, store.box, self.machine, part)
        target = global_part(self.everywhere.addresses[key], held, store.box, part)
        self.emitter.emit("dma", "store", [source], [target], name=self.reading.network.tensors[buffer.tensor].name)

    def _compute(self, step: Step) -> None:
        if step.carries:
            self._carry(step)
            return
        node = self.reading.network.nodes[step.node]
        form = self.reading.forms[step.node]
        if isinstance(form, Copies):
            if step.part is None:
                self._move(step.node, form)
            else:
                self._copy(step)
            return
        assert step.need is not None and step.writes is not None and step.part is not None  # it computes
        operands = [
            None if buffer is None or box is None or operand is None else self._operand(operand, buffer, box)
            for operand, buffer, box in zip(node.operands, step.reads, step.need.operands, strict=True)]
        inputs = []
        for how in form.inputs:
            operand = None if how is None else operands[how.held]
            base = () if how is None else self.tensors.shape(form.tensors[how.held])
            inputs.append(None if operand is None or how is None else image_of(operand, how, self.machine, base))
        output = self._operand(node.result, step.writes, step.part)
        if form.own:
            output = own_shape(output, self.tensors.shape(self.reading.held[node.result]))
        self.emitter.emit("tiu", node.operation, inputs, [output], {**node.attributes, **step.need.attributes}, node.name)

    def _carry(self, step: Step) -> None:
        """Copy rows that stay from the slice before: a cast to the type that they have."""
        (before,), made = step.reads, step.writes
        assert before is not None and made is not None and step.part is not None  # it copies from one to the other
        source, target = (self._operand(made.tensor, buffer, step.part) for buffer in (before, made))
        self.emitter.emit("tiu", "cast", [source], [target], name=self.reading.network.tensors[made.tensor].name)

    def _move(self, number: int, copies: Copies) -> None:
        """Copies within global memory, and what is filled before them."""
        if copies.same:
            return
        op = self.reading.ops[number]
        (result,) = op.results
        held = self.reading.held[self.reading.network.nodes[number].result]  # where it is joined, if it is
        dtype, target, first = dtype_name(result), self.tensors.base(held), held.first
        if copies.fill is not None:
            into = Global(self.everywhere.addresses[target], self.bases[target], dtype, part=Part(self.numbers[target]))
            self.emitter.emit("dma", "fill", [], [into], {"value": copies.fill}, op.origin or "")
        if copies.gather is not None:
            self._gather(op, copies.gather)
            return
        sources = copies.sources or op.operands
        asked = [(self.reading.root(sources[copy.operand]), copy) for copy in copies.copies if prod(copy.shape)]
        if asked:
            taken = [self._strided(source, dtype, copy.shape, copy.source, copy.source_steps) for source, copy in asked]
            put = [self._strided(target, dtype, copy.shape, first + copy.target, copy.target_steps) for _, copy in asked]
            self.emitter.emit("dma", "copy", taken, put, name=op.origin or "")

    def _copy(self, step: Step) -> None:
        """Copies in the lanes, those with their dimensions in the same order as one command."""
        node, made = self.reading.network.nodes[step.node], step.writes
        lanes = node.lanes
        assert lanes is not None and made is not None and step.part is not None  # it moves in the lanes
        if lanes.fill is not None:
            self.emitter.emit("dma", "fill", [], [self._operand(node.result, made, step.part)], {"value": lanes.fill}, node.name)
        commands: dict[tuple[int, ...], list[tuple[Local, Local]]] = {}
        for copy in lanes.within(step.part):
            tensor, buffer = node.operands[copy.operand], step.reads[copy.operand]
            assert tensor is not None and buffer is not None  # it is needed
            source, target = self._operand(tensor, buffer, copy.source), self._operand(node.result, made, copy.target)
            if lanes.ranks is not None:
                source, target = map(in_rank, (source, target), lanes.ranks)
            commands.setdefault(copy.order, []).append((source, target))
        for order, pairs in commands.items():
            sources, targets = zip(*pairs, strict=True)
            self.emitter.emit(
                "dma", "copy", sources, targets, {} if order == KEPT else {"order": order}, node.name)

    def _gather(self, op: Op, sizes: tuple[int, int, int]) -> None:
        """One move of parts by indices."""
        lead, _, rest = sizes
        count = prod(sizes_of(op.operands[1]))
        if not lead * count * rest:
            return

        def whole(value: Value, shape: tuple[int, ...]) -> Global:
            key = self.reading.root(value)
            part = Part(self.numbers[key], (), row_major(shape))
            return Global(self.everywhere.addresses[key], shape, dtype_name(value), part=part)

        table, indices = op.operands
        self.emitter.emit(
            "dma", "gather", [whole(table, sizes), whole(indices, (count,))], [whole(op.results[0], (lead, count, rest))],
            name=op.origin or "")

    def _strided(self, key: Hashable, dtype: str, shape: tuple[int, ...], first: int, steps: tuple[int, ...]) -> Global:
        size = ELEMENTS[dtype].size(1)
        part = Part(self.numbers[key], indices(first, self.bases[key]), steps)
        return Global(self.everywhere.addresses[key] + first * size, shape, dtype, tuple(step * size for step in steps), part)

    def _operand(self, tensor: int, buffer: Buffer, box: Box) -> Any:
        held = self.reading.held[tensor]
        key = self.tensors.base(held)
        part = part_of(held, box, self.numbers[key], self.bases[key])
        return local_part(self.plan.local.offsets[buffer], buffer, held, box, self.machine, part)
