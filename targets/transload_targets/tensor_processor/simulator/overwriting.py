"""What an instruction writes over its own inputs.

Nothing says in which order an instruction reads and writes. Operations of which a fact `in-place` says that they read an element
before they write at its place may have an output where an input is, element for element; all other outputs, those of moves too,
share no byte with an input of their instruction. What others find overwritten that they read later, `provenance` tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from transload.errors import Finding

from ..in_place import in_place
from ..instructions import ELEMENTS, Instruction, Local, Machine, Operand, Program
from .footprint import Footprint

__all__ = ["InPlace", "in_place", "overwriting"]

InPlace = Callable[[str], bool]
"""Says whether an operation may write over an input, by its name, as `in_place.in_place` does."""


def overwriting(program: Program, allowed: InPlace) -> Iterator[Finding]:
    """Every instruction that writes over an input and must not."""
    known: dict[Operand, Footprint] = {}

    def footprint(operand: Operand) -> Footprint:
        if operand not in known:
            known[operand] = Footprint(operand, program.machine)
        return known[operand]

    for one in program.instructions:
        for number, given in enumerate(one.inputs):
            for made in one.outputs:
                if given is None or type(given) is not type(made) or not footprint(given).overlaps(footprint(made)):
                    continue
                why = _wrong(one, given, made, program.machine, allowed)
                if why:
                    yield Finding(
                        f"{one.label} {one.operation}", f"writes over its input {number} at {given.address:#x}: {why}",
                        (one.name,) if one.name else (), "results lie apart from what they are computed of")


def _wrong(one: Instruction, given: Operand, made: Operand, machine: Machine, allowed: InPlace) -> str:
    """Why an output must not lie where an input does; nothing where it may."""
    if one.queue == "dma" or not allowed(one.operation):
        return "nothing says that it reads an element before it writes there"
    if not isinstance(given, Local) or not isinstance(made, Local) or not _alike(given, made, machine):
        return "their elements do not lie at the same places"
    return ""


def _alike(given: Local, made: Local, machine: Machine) -> bool:
    """Whether each element of one lies where that of the other does, as wide."""
    one, other = ELEMENTS[given.dtype], ELEMENTS[made.dtype]
    if "copies" in (given.layout, made.layout) or one.packed or other.packed or one.bits != other.bits:
        return False
    return (given.address, given.lane, given.seen(), given.steps(machine.lanes, machine.eu_bytes)) == (
        made.address, made.lane, made.seen(), made.steps(machine.lanes, machine.eu_bytes))
