"""Binaries changed as a compiler's mistakes would: a dependency gone, an operand elsewhere, instructions in another order, a
result where an input lies.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator

from transload_targets.tensor_processor.instructions import Instruction, Local, Operand, Program

KINDS = ("dependency removed", "dependency moved", "address moved", "instructions swapped", "written over an input")


def mutations(program: Program, count: int, seed: int) -> Iterator[tuple[str, Program]]:
    """So many programs that differ from this one in one thing, and which kind of thing it is."""
    chance = random.Random(seed)
    while count:
        kind = chance.choice(KINDS)
        changed = _mutated(kind, program, chance)
        if changed is not None and changed != program:
            yield kind, changed
            count -= 1


def _mutated(kind: str, program: Program, chance: random.Random) -> Program | None:
    instructions = list(program.instructions)
    at = chance.randrange(len(instructions))
    one = instructions[at]
    if kind == "dependency removed":
        instructions[at] = dataclasses.replace(one, wait=0)
    elif kind == "dependency moved":
        instructions[at] = dataclasses.replace(one, wait=max(one.wait + chance.choice((-2, -1, 1, 2)), 0))
    elif kind == "address moved":
        operands = [*one.inputs, *one.outputs]
        places = [number for number, operand in enumerate(operands) if operand is not None]
        if not places:
            return None
        place = chance.choice(places)
        operands[place] = _elsewhere(operands[place], chance)
        instructions[at] = dataclasses.replace(
            one, inputs=tuple(operands[: len(one.inputs)]), outputs=tuple(operands[len(one.inputs) :]))  # type: ignore[arg-type]
    elif kind == "written over an input":
        inputs = [operand.address for operand in one.inputs if isinstance(operand, Local)]
        if not inputs or not one.outputs or not isinstance(one.outputs[0], Local):
            return None
        first = dataclasses.replace(one.outputs[0], address=chance.choice(inputs))
        instructions[at] = dataclasses.replace(one, outputs=(first, *one.outputs[1:]))
    else:
        others = [number for number, other in enumerate(instructions)
                  if number != at and (other.queue, other.core) == (one.queue, one.core)]
        if not others:
            return None
        other = chance.choice(others)
        instructions[at], instructions[other] = _as(instructions[other], one), _as(one, instructions[other])
    return dataclasses.replace(program, instructions=tuple(instructions))


def _as(one: Instruction, other: Instruction) -> Instruction:
    """An instruction in the place of another: with its number, and what that waited for."""
    return dataclasses.replace(one, id=other.id, wait=other.wait)


def _elsewhere(operand: Operand | None, chance: random.Random) -> Operand:
    """The operand at another address, near or far, or from another lane on."""
    assert operand is not None
    if isinstance(operand, Local) and operand.layout != "copies" and chance.random() < 0.15:
        return dataclasses.replace(operand, lane=operand.lane + 1)
    step = chance.choice((1, 2, 4, 8, 16, 32, 64, 128, 256, 1024)) * chance.choice((-1, 1))
    return dataclasses.replace(operand, address=max(operand.address + step, 0))
