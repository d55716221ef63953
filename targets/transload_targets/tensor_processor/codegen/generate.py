"""The whole way from a function of dialect `tpu` to a program: network, groups, schedule, addresses, instructions.

Of a chip of several cores programs are made for one, two, four and so on of them, and the fastest by the cycle model is taken:
so more cores are never slower. So it is of programs whose groups keep halos, beside those that compute them again.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from transload.errors import PlacementError
from transload.ir import Op

from ..chip import Chip
from ..cycles.timeline import timeline
from ..groups.partition import Partition, core_counts
from ..groups.reading import Reading, read
from ..groups.steps import Schedule
from ..instructions import Instruction, Machine, Program
from ..placement.everywhere import GlobalPlan
from ..placement.local import NEAR, SLOWER_NEAR, LocalPlan
from .core import CoreCode
from .planning import Plan, Planning, timed
from .tensors import Tensors

__all__ = ["Compiled", "compile_function", "timed"]


@dataclass(frozen=True)
class Compiled:
    """A program, and what it was made of."""

    program: Program
    reading: Reading
    plan: Plan
    everywhere: GlobalPlan
    chip: Chip
    group_of: tuple[int, ...] = ()
    """Of each instruction, the group for which it computes or moves."""

    @property
    def is_dense(self) -> bool:
        """Whether local memory is as dense as is looked for, on each core."""
        return all(core.local.peak <= NEAR * core.local.bound for core in self.plan.cores)

    @property
    def partition(self) -> Partition:
        """The groups."""
        return self.plan.partition

    @property
    def schedule(self) -> Schedule:
        """What the first core does."""
        return self.plan.cores[0].schedule

    @property
    def local(self) -> LocalPlan:
        """Where buffers lie in the local memory of the core that needs most of it."""
        return max((core.local for core in self.plan.cores), key=lambda local: local.peak)


def compile_function(
    function: Op, chip: Chip, name: str = "main", way: str = "best", h_slice: bool = False, banked: bool = True,
    halos: str = "best",
) -> Compiled:
    """Compile a function whose ops are all of the chip.

    `way`, `h_slice` and `halos` are those of `groups.partition`, where `best` keeps halos if the program is faster for it and
    moves no more bytes.
    Without `banked` local memory is filled as densely as can be. Raises `PlacementError` where an op or the tensors do not fit
    into memory.
    """
    reading = read(function, chip)
    planning = Planning(reading, chip, way, h_slice, banked, halos)
    made: list[Compiled] = []
    for cores in core_counts(chip.cores) if way == "best" else [1]:
        tried = _programs(reading, chip, name, planning, cores, not made)
        if len(tried) == 2:
            kept, again = tried
            tried = [kept if _is_better(kept, again, chip) else again]
        made += tried
    return made[0] if len(made) == 1 else min(made, key=lambda each: timeline(each.program, chip).cycles)


def _is_better(kept: Compiled, again: Compiled, chip: Chip) -> bool:
    """Whether a program that keeps halos is faster than one without, and moves no more bytes, and is as dense in local memory, or
    faster by more than that is worth.
    """
    one, other = (timeline(each.program, chip) for each in (kept, again))
    worth = SLOWER_NEAR if again.is_dense and not kept.is_dense else 1.0
    return worth * one.cycles < other.cycles and one.bytes <= other.bytes


def _programs(reading: Reading, chip: Chip, name: str, planning: Planning, cores: int, needed: bool) -> list[Compiled]:
    """Programs for so many cores: by the groups of the least cost, and where these keep halos by the best that do not, as far as
    it is not known before which of the two is the faster.

    Raises `PlacementError` where one is `needed` and nothing fits.
    """
    made: list[Compiled] = []
    failed: PlacementError | None = None
    for kept in planning.ways(cores):
        if made and not any(group.slicing.kept for group in made[0].partition.groups):
            break
        try:
            made.append(_compiled(reading, chip, name, planning.planned(cores, kept)))
        except PlacementError as error:  # what is spread over cores takes more of global memory
            failed = failed or error
    if needed and not made and failed is not None:
        raise failed
    return made


def _compiled(reading: Reading, chip: Chip, name: str, plan: Plan) -> Compiled:
    tensors = Tensors(reading, chip, [core.schedule for core in plan.cores])
    codes = [CoreCode(tensors, core, number).phases for number, core in enumerate(plan.cores)]
    codes += [[[(Instruction("dma", phase + 1, 0, "barrier", core=idle), group)]
               for phase, group in enumerate(plan.spread.barriers)] for idle in range(len(plan.cores), chip.cores)]
    instructions = [each for phase in zip_longest(*codes, fillvalue=()) for code in phase for each in code]
    machine = Machine(chip.name, chip.lanes, chip.local_bytes, chip.banks, chip.eu_bytes, chip.cores)
    program = Program(
        machine, tuple(one for one, _ in instructions), tuple(map(tensors.port, reading.input_names, reading.inputs)),
        tuple(map(tensors.port, reading.output_names, reading.outputs)), tuple(tensors.weights()), tuple(tensors.tensors),
        tensors.everywhere.bytes, name)
    return Compiled(program, reading, plan, tensors.everywhere, chip, tuple(group for _, group in instructions))
