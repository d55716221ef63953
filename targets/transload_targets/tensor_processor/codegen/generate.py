"""The whole way from a function of dialect `tpu` to a program: network, groups, schedule, addresses, instructions."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from transload.errors import PlacementError
from transload.ir import Op, QuantType, TensorType, Value
from transload.ir.build import constant_of

from ..chip import Chip
from ..groups.commands import PLAIN, Joining
from ..groups.copies import Copies, row_major
from ..groups.forms import Held, dtype_name, sizes_of
from ..groups.lanes import KEPT
from ..groups.machine import Machine as Planned
from ..groups.partition import Partition, partition
from ..groups.reading import Reading, machine_of, read
from ..groups.schedule import schedule
from ..groups.steps import Buffer, Schedule, Step
from ..instructions import ELEMENTS, Global, Local, Machine, Part, Port, Program, Tensor, Weights
from ..placement.everywhere import GlobalPlan, place_global
from ..placement.local import Cycles, Found, LocalPlan, narrowed, place_by_banks, place_densely, place_tightly
from ..placement.timing import cycles_of
from ..regions import Box
from .lifetimes import lifetimes
from .operands import global_part, image_of, in_rank, indices, loaded_part, local_part, own_shape, part_of
from .waits import Emitter

__all__ = ["Compiled", "compile_function", "timed"]

SHARES = (1.0, 0.95, 0.9, 0.8, 0.65, 0.5, 0.25, 0.0)
"""Shares of local memory that loads done ahead may fill, tried one after the other until buffers can be placed."""
SMALLER = (1.0, 0.95, 0.85, 0.7, 0.5)
"""Shares of local memory that groups are made for, where buffers of those before could not be placed."""

MANY = 400
"""Buffers beyond which one way is tried, for what that takes."""
VERY_MANY, FEW_SHARES = 20_000, (1.0, 0.8, 0.5, 0.0)
"""Buffers beyond which these shares alone are tried, and places with more pains at the last of them."""


@dataclass(frozen=True)
class Compiled:
    """A program, and what it was made of."""

    program: Program
    reading: Reading
    partition: Partition
    schedule: Schedule
    local: LocalPlan
    everywhere: GlobalPlan
    chip: Chip
    group_of: tuple[int, ...] = ()
    """Of each instruction, the group for which it computes or moves."""


def compile_function(
    function: Op, chip: Chip, name: str = "main", way: str = "best", h_slice: bool = False, banked: bool = True,
) -> Compiled:
    """Compile a function whose ops are all of the chip.

    `way` and `h_slice` are those of `groups.partition`; without `banked` local memory is filled as densely as can be. Raises
    `PlacementError` where an op or the tensors do not fit into memory.
    """
    reading = read(function, chip)
    made, steps, local = _planned(reading, chip, way, h_slice, banked)
    generating = _Generating(reading, chip, made, steps, local)
    return Compiled(generating.program(name), reading, made, steps, local, generating.everywhere, chip,
                    tuple(generating.group_of))


def _planned(reading: Reading, chip: Chip, way: str, h_slice: bool, banked: bool) -> tuple[Partition, Schedule, LocalPlan]:
    """Groups, steps and local addresses, with less ahead and smaller groups where the addresses cannot be had otherwise."""
    machine, keeping = machine_of(chip), way != "layers"  # op by op, all goes through global memory
    for share in SMALLER:
        made = partition(reading.network, replace(machine, local_bytes=int(share * chip.local_bytes)), way, h_slice)
        found: list[Found] = []
        buffers = sum(len(group.slicing) * (group.end - group.start) for group in made.groups)
        shares = SHARES if buffers <= VERY_MANY else FEW_SHARES
        for ahead in shares if banked else ():
            some = list(_by_banks(reading, machine, made, ahead, keeping))
            if not some and (shares is SHARES or ahead == shares[-1]):
                found += _by_banks(reading, machine, made, ahead, keeping, place_tightly)
            found += some
            if some:
                break
        if found:
            return made, *narrowed(found, machine)
        for ahead in SHARES if not banked else SHARES[-1:]:
            ways = [schedule(reading.network, machine, made, ahead, keeping, True, joining) for joining in JOININGS]
            try:
                dense = [(steps, place_densely(steps, machine, timed(reading, machine, steps), ahead == SHARES[-1]))
                         for steps in ways]
                return made, *min(dense, key=lambda each: each[1].cycles)
            except PlacementError as error:
                failed = error
    raise failed


JOININGS = (PLAIN, Joining(32, 1.0), Joining(32, 4.0))
"""Ways to join loads that are tried."""


def _by_banks(
    reading: Reading, machine: Planned, made: Partition, ahead: float, keeping: bool, place: Any = place_by_banks,
) -> Iterator[Found]:
    """Steps whose buffers find places in banks, and these: with results over operands wherever that can be, and where less is
    needed at once then, and with loads joined in several ways.
    """
    ways = [(True, joining) for joining in JOININGS[:1 if place is place_tightly else None]]
    for over, joining in (*ways, (False, JOININGS[0])):
        steps = schedule(reading.network, machine, made, ahead, keeping, over, joining)
        cycles = timed(reading, machine, steps)
        local = place(steps, machine, cycles)
        if local is not None:
            yield steps, local, cycles
        if len(steps.buffers) > MANY:
            return


def timed(reading: Reading, machine: Planned, steps: Schedule) -> Cycles:
    """What tells the cycles of a schedule by the offsets of its buffers."""
    def size(buffer: Buffer) -> int:
        return machine.bytes(reading.network.tensors[buffer.tensor], buffer.box)

    return lambda offsets: cycles_of(steps, offsets, machine, size)


class _Generating:
    """Instructions of a schedule."""

    def __init__(self, reading: Reading, chip: Chip, made: Partition, steps: Schedule, local: LocalPlan) -> None:
        self.reading, self.chip, self.partition, self.steps, self.local = reading, chip, made, steps, local
        self.machine = machine_of(chip)
        self.emitter = Emitter(self.machine)
        self.group_of: list[int] = []
        self.tensors: list[Tensor] = []
        self.numbers: dict[Hashable, int] = {}
        self.bases: dict[Hashable, tuple[int, ...]] = {}
        self.constants: dict[Hashable, tuple[str, Any, str]] = {}
        self._number()
        self.everywhere = self._place()

    # --- tensors

    def base(self, held: Held) -> Hashable:
        """The tensor of the program that a tensor of the network is a view of."""
        return id(held.data) if held.value is None else self.reading.root(held.value)

    def _number(self) -> None:
        """Number the tensors of the program, and collect constants."""
        for about, held in zip(self.reading.network.tensors, self.reading.held, strict=True):
            key = self.base(held)
            if key in self.numbers:
                continue
            shape = self._shape(held) if held.value is None else sizes_of(self.reading.root(held.value))
            self.numbers[key], self.bases[key] = len(self.tensors), shape
            self.tensors.append(Tensor(about.name, shape))
            if about.constant:
                data = held.data if held.data is not None or held.value is None else constant_of(self.reading.root(held.value))
                self.constants[key] = about.name, data, held.dtype

    def _place(self) -> GlobalPlan:
        outputs = [key for key in map(self.reading.root, self.reading.outputs) if key not in self.constants]
        buffers = lifetimes(
            self.reading.network, self.steps, self.reading.held, self.base, self._bytes,
            map(self.reading.root, self.reading.inputs), outputs)
        weights = [(key, self._bytes(key)) for key in self.constants]
        return place_global(weights, buffers, self.chip.alignment, self.chip.weight_alignment, self.chip.global_bytes)

    def _bytes(self, key: Hashable) -> int:
        dtype = self.constants[key][2] if key in self.constants else dtype_name(key)  # type: ignore[arg-type]
        return ELEMENTS[dtype].size(prod(self.bases[key]))

    # --- instructions

    def program(self, name: str) -> Program:
        """The program."""
        for number, step in enumerate(self.steps.steps):
            for command in step.commands:
                self._load([load.buffer for load in command.loads])
                self._mark(self.steps.steps[command.loads[0].need])
            if number:
                self._stores(self.steps.steps[number - 1], at_once=False)
                self._mark(self.steps.steps[number - 1])
            self._compute(step)
            self._stores(step, at_once=True)
            self._mark(step)
        if self.steps.steps:
            self._stores(self.steps.steps[-1], at_once=False)
            self._mark(self.steps.steps[-1])
        chip = self.chip
        machine = Machine(chip.name, chip.lanes, chip.local_bytes, chip.banks, chip.eu_bytes, chip.cores)
        return Program(
            machine, tuple(self.emitter.instructions), tuple(map(self._port, self.reading.input_names, self.reading.inputs)),
            tuple(map(self._port, self.reading.output_names, self.reading.outputs)), tuple(self._weights()), tuple(self.tensors),
            self.everywhere.bytes, name)

    def _mark(self, step: Step) -> None:
        """Note down that the instructions since the last time are for a step's group."""
        self.group_of += [step.group] * (len(self.emitter.instructions) - len(self.group_of))

    def _load(self, buffers: list[Buffer]) -> None:
        """One command that loads some buffers."""
        sources, targets = [], []
        for buffer in buffers:
            held = self.reading.held[buffer.tensor]
            key = self.base(held)
            part = part_of(held, buffer.box, self.numbers[key], self.bases[key])
            sources.append(global_part(self.everywhere.addresses[key], held, buffer.box, part))
            targets.append(loaded_part(self.local.offsets[buffer], buffer, held, part))
        self.emitter.emit("dma", "load", sources, targets, name=self.reading.network.tensors[buffers[0].tensor].name)

    def _stores(self, step: Step, at_once: bool) -> None:
        for store in step.stores:
            if store.at_once != at_once:
                continue
            buffer = store.buffer
            held = self.reading.held[buffer.tensor]
            key = self.base(held)
            part = part_of(held, store.box, self.numbers[key], self.bases[key])
            source = local_part(self.local.offsets[buffer], buffer, held, store.box, self.machine, part)
            target = global_part(self.everywhere.addresses[key], held, store.box, part)
            self.emitter.emit("dma", "store", [source], [target], name=self.reading.network.tensors[buffer.tensor].name)

    def _compute(self, step: Step) -> None:
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
            base = () if how is None else self._shape(form.tensors[how.held])
            inputs.append(None if operand is None or how is None else image_of(operand, how, self.machine, base))
        output = self._operand(node.result, step.writes, step.part)
        if form.own:
            output = own_shape(output, self._shape(self.reading.held[node.result]))
        self.emitter.emit("tiu", node.operation, inputs, [output], {**node.attributes, **step.need.attributes}, node.name)

    def _shape(self, held: Held) -> tuple[int, ...]:
        """The dimensions that a tensor has of its own."""
        return sizes_of(held.value) if held.value is not None else np.asarray(held.data).shape

    def _move(self, number: int, copies: Copies) -> None:
        """Copies within global memory, and what is filled before them."""
        if copies.same:
            return
        op = self.reading.ops[number]
        (result,) = op.results
        held = self.reading.held[self.reading.network.nodes[number].result]  # where it is joined, if it is
        dtype, target, first = dtype_name(result), self.base(held), held.first
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
        key = self.base(held)
        part = part_of(held, box, self.numbers[key], self.bases[key])
        return local_part(self.local.offsets[buffer], buffer, held, box, self.machine, part)

    # --- ports and weights

    def _port(self, name: str, value: Value) -> Port:
        root = self.reading.root(value)
        element = value.type.element if isinstance(value.type, TensorType) else None
        scale, zero = (float(element.scales[0]), int(element.zero_points[0])) if isinstance(element, QuantType) else (0.0, 0)
        number = self.numbers[root]
        return Port(name, self.everywhere.addresses[root], sizes_of(value), dtype_name(value), number, scale, zero)

    def _weights(self) -> Iterator[Weights]:
        for key, (name, data, dtype) in self.constants.items():
            array = data if isinstance(data, np.ndarray) else data.numpy()
            yield Weights(self.everywhere.addresses[key], np.ascontiguousarray(array).tobytes(), name, self.numbers[key], dtype)
