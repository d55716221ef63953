"""When each instruction of a program starts and ends, by the cycle model: queues run side by side, waits hold them up.

It needs the program and the chip alone, so it is told of any binary. Moves take the DMA's latency and the bytes at its bandwidth;
what computes, as `rules` say. Of several cores the queues run side by side, too (`cycles.queues`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from transload.plugin_host import host

from ..chip import Chip
from ..instructions import ELEMENTS, Global, Instruction, Local, Operand, Program
from ..regions import Box, Shape, whole
from ..shapes import local_shape
from .queues import Task, run
from .rules import cycles_of, elementwise, ideal_of

__all__ = ["Span", "Timeline", "compulsory_bytes", "moved_bytes", "roofline", "shares", "timeline", "unavoidable"]


@dataclass(frozen=True)
class _Work:
    """An instruction as rules of cycles see it."""

    operand_shapes: tuple[Shape | None, ...]
    result_shape: Shape
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Span:
    """An instruction in time, in cycles; `ideal` is what it would take with all lanes full, `bytes` what it moves in global
    memory.
    """

    instruction: Instruction
    start: float
    end: float
    ideal: float
    bytes: int


@dataclass(frozen=True)
class Timeline:
    """All instructions of a program in time."""

    chip: Chip
    spans: tuple[Span, ...]
    cores: int = 1

    @cached_property
    def cycles(self) -> float:
        """The end of the last instruction."""
        return max((span.end for span in self.spans), default=0.0)

    @property
    def bytes(self) -> int:
        """Bytes read from and written to global memory."""
        return sum(span.bytes for span in self.spans)

    @property
    def ideal(self) -> float:
        """Cycles that computing takes at least, with all lanes of all cores full."""
        return sum(span.ideal for span in self.spans) / self.cores

    def busy(self, queue: str) -> float:
        """Cycles in which a queue does something, of the cores on average."""
        return sum(span.end - span.start for span in self.spans if span.instruction.queue == queue) / self.cores

    @property
    def utilisation(self) -> float:
        """Which part of what the lanes could compute they do."""
        return self.ideal / self.cycles if self.cycles else 0.0

    def of_core(self, core: int) -> Timeline:
        """What one core does; it may end before all of the program does."""
        return Timeline(self.chip, tuple(span for span in self.spans if span.instruction.core == core))


def timeline(program: Program, chip: Chip) -> Timeline:
    """The program in time, on a chip. Raises `ArtifactError` where it never comes to its end."""
    rules = host().facts("cycles")
    tasks, ideals, moved = [], [], []
    for one in program.instructions:
        cycles, ideal = _cycles(one, chip, rules.__getitem__)
        moves = one.queue == "dma"
        tasks.append(Task(one, cycles, chip.dma_latency if moves else 0.0, moves and moved_bytes(one) > 0,
                          moves and one.operation == "barrier"))
        ideals.append(ideal)
        moved.append(moved_bytes(one))
    run(tasks)
    spans = (Span(task.instruction, task.start, task.end, ideal, size)
             for task, ideal, size in zip(tasks, ideals, moved, strict=True))
    return Timeline(chip, tuple(spans), program.machine.cores)


def moved_bytes(one: Instruction) -> int:
    """Bytes of global memory that an instruction reads and writes; of a gather what is taken, not all that there is."""
    if one.queue == "dma" and one.operation == "gather":
        return 2 * _size(one.outputs[0]) + sum(_size(operand) for operand in one.inputs[1:] if operand is not None)
    return sum(_size(operand) for operand in (*one.inputs, *one.outputs) if isinstance(operand, Global))


def _size(operand: Operand) -> int:
    return ELEMENTS[operand.dtype].size(prod(operand.shape))


def _cycles(one: Instruction, chip: Chip, rule_of: Callable[[str], Any]) -> tuple[float, float]:
    """Cycles of an instruction, and those with all lanes full."""
    if one.queue == "dma":
        if not one.outputs:
            return 0.0, 0.0
        size = max(moved_bytes(one), sum(map(_size, one.outputs)))
        return chip.dma_latency + size / chip.dma_bytes, 0.0
    name = one.operation if "." in one.operation else f"tpu.{one.operation}"
    shapes = tuple(None if operand is None else _shape(operand) for operand in one.inputs)
    result = _shape(one.outputs[0])
    dtypes = tuple(operand.dtype for operand in (*one.inputs, *one.outputs) if operand is not None)
    part: Box = whole(result)
    effort = (rule_of(name) or elementwise)(_Work(shapes, result, one.attributes), part, dtypes)
    return cycles_of(chip, dtypes[0], part, effort), ideal_of(chip, dtypes[0], part, effort)


def _shape(operand: Operand) -> Shape:
    return operand.seen() if isinstance(operand, Local) and operand.layout == "channels" else local_shape(operand.shape)


def compulsory_bytes(program: Program) -> int:
    """Bytes that a program has to move, however it goes about it: weights once, of a table that is only gathered from what is
    taken, inputs and outputs.
    """
    taken: dict[int | None, int] = {}
    read: set[int | None] = set()
    for one in program.instructions:
        for place, operand in enumerate(one.inputs):
            if not isinstance(operand, Global) or operand.part is None:
                continue
            if one.operation == "gather" and place == 0:
                taken[operand.part.tensor] = taken.get(operand.part.tensor, 0) + _size(one.outputs[0])
            else:
                read.add(operand.part.tensor)
    ports = (*program.inputs, *program.outputs)
    weights = (len(held.data) if held.tensor in read else min(len(held.data), taken.get(held.tensor, len(held.data)))
               for held in program.weights)
    return sum(weights) + sum(ELEMENTS[port.dtype].size(prod(port.shape)) for port in ports)


def roofline(program: Program, made: Timeline) -> float:
    """Cycles that a program takes at least: computing with all lanes full, or moving what has to be moved, whichever is more."""
    return max(made.ideal, compulsory_bytes(program) / made.chip.dma_bytes)


def unavoidable(program: Program, made: Timeline) -> float:
    """The roofline's bound with what it leaves out and no program that computes does without: the latency of a load before
    anything is computed and of a store after it, and where computing bounds it one start.
    """
    chip = made.chip
    if not any(span.instruction.queue == "tiu" for span in made.spans):
        return roofline(program, made)
    return 2 * chip.dma_latency + max(made.ideal + chip.start_cycles, compulsory_bytes(program) / chip.dma_bytes)


def shares(made: Timeline) -> dict[str, float]:
    """Where the cycles go, of the cores on average; they add up to all. `full` is computing as with all lanes full, `lanes` what
    computing takes more than that, `starts` those of instructions; `first` is before anything is computed, `last` after it, and
    `waits` between. A core that computes nothing has not begun at the end.
    """
    each = [_shares(made.of_core(core), made.cycles) for core in range(made.cores)]
    return {share: sum(of_core[share] for of_core in each) / made.cores for share in each[0]}


def _shares(core: Timeline, cycles: float) -> dict[str, float]:
    computing = [span for span in core.spans if span.instruction.queue == "tiu"]
    if not computing:
        return {"first": cycles, "full": 0.0, "lanes": 0.0, "starts": 0.0, "waits": 0.0, "last": 0.0}
    begin, end = min(span.start for span in computing), max(span.end for span in computing)
    starts, busy = float(core.chip.start_cycles * len(computing)), core.busy("tiu")
    return {"first": begin, "full": core.ideal, "lanes": busy - starts - core.ideal, "starts": starts,
            "waits": end - begin - busy, "last": cycles - end}
