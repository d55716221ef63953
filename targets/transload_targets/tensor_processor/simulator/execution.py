"""Executing a program: the bytes of both memories, instruction by instruction, in any order that queues and waits allow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from transload.errors import ArtifactError, Finding, RunError, UsageError

from ..arithmetic import operation
from ..arithmetic.movement import gather
from ..instructions import ELEMENTS, Global, Instruction, Local, Operand, Program, invalidity
from .hazards import hazards
from .memory import Memory
from .moves import FILL, GATHER, ORDER, is_barrier, is_move, wrong_with
from .order import Order
from .overwriting import InPlace, in_place, overwriting
from .provenance import provenance
from .tensors import Assembled

__all__ = ["Operations", "Simulator", "check"]

Operations = Callable[[str], Callable[..., Any]]
"""Gives what an instruction computes, by its name, as `arithmetic.operation` does; `UsageError` where nobody knows it."""
MANY = 100
"""Findings that are looked for; a program that is wrong throughout has no more to say."""
MEMORY_LIMIT = 1 << 32
"""Bytes of memory that a machine may have to be simulated: a file says how many, and all of them are there."""

WORK_LIMIT = 1 << 28
"""Elements that a padded operand may have: they are made, whatever the result is."""


def check(program: Program, may_overwrite: InPlace = in_place) -> list[Finding]:
    """All rules of the machine that a program breaks, whatever its inputs are.

    That it is well-formed (`instructions.invalidity`); that it comes to its end; that nothing depends on which queue is faster
    (bytes and banks, `hazards`), or on how an instruction goes about it (`overwriting`: only what `may_overwrite` writes over an
    input); that all that is read was written, and is what it should be (`provenance`). As nothing depends on the order then, one
    order shows the last for all.
    """
    findings = list(islice(invalidity(program), MANY))
    if findings:
        return findings
    order = Order(program)
    findings = order.findings()
    if not findings:
        findings += islice(hazards(program, order), MANY)
        findings += islice(overwriting(program, may_overwrite), MANY)
        findings += islice(provenance(program, order), MANY)
    return findings


class Simulator:
    """A machine with a program in it.

    Its rules are checked once, here: a program that breaks one is an `ArtifactError` which lists all, by instruction and tensor.
    Then `run` executes it on inputs, as often as one likes. `operations` are what it can compute besides moves. What they give
    for a slice is what the machine computes: `operation(*arrays, dtype=of the first output, **attributes)`. `may_overwrite` says
    which of them may write over an input.
    """

    def __init__(self, program: Program, operations: Operations = operation, may_overwrite: InPlace = in_place) -> None:
        self.program = program
        self.operations: dict[str, Callable[..., Any]] = {}
        large = list(_too_large(program))
        if large:
            raise RunError(f"program {program.name!r} cannot be run here", large)
        findings = list(self._unknown(operations)) or check(program, may_overwrite)
        if findings:
            raise ArtifactError(f"program {program.name!r} breaks the rules of {program.machine.name}", findings)
        self.order = Order(program)

    def _unknown(self, operations: Operations) -> Iterator[Finding]:
        """Instructions that the machine does not have; notes down what those that it has compute."""
        for one in self.program.instructions:
            names = (one.name,) if one.name else ()
            if is_move(one):
                why = wrong_with(one)
                if why:
                    yield Finding(f"{one.label} {one.operation}", why, names)
            elif one.operation not in self.operations:
                try:
                    self.operations[one.operation] = operations(one.operation)
                except UsageError as error:
                    yield Finding(one.operation, error.message, names, error.hint)

    def run(
        self, inputs: Mapping[str, np.ndarray], seed: int | None = None, keep: bool = False,
        observe: Callable[[Instruction, tuple[np.ndarray, ...]], None] | None = None,
    ) -> dict[str, np.ndarray]:
        """The outputs by name, from inputs by name, of the shapes and types of the program's ports.

        `seed` None executes in the program's order, a number in one that is chosen by it among all that there are. With `keep`,
        every tensor of which an instruction wrote a part stands before the outputs, put together of its parts. `observe` is
        called with each instruction that ended and the arrays that it wrote. `ArtifactError` names the instruction that cannot be
        executed, and the tensor that it is for.
        """
        program, machine = self.program, self.program.machine
        memories = [Memory(machine, program.global_bytes)]
        memories += [Memory(machine, machine.lanes * machine.local_bytes) for _ in range(machine.cores)]
        self._load(memories[0], inputs)
        tensors = Assembled(program)
        for index in self.order.schedule(seed):
            one = program.instructions[index]
            if is_barrier(one):
                continue
            arrays = self._executed(one, memories[0], memories[1 + one.core])
            if observe is not None:
                observe(one, arrays)
            if keep:
                tensors.add(one, arrays)
        outputs = {port.name: memories[0].read(Global(port.address, port.shape, port.dtype)).copy() for port in program.outputs}
        return {**tensors.arrays(), **outputs}

    def _load(self, memory: Memory, inputs: Mapping[str, np.ndarray]) -> None:
        """Put weights and inputs where they lie."""
        for weights in self.program.weights:
            data = np.frombuffer(weights.data, np.uint8)
            memory.cells[weights.address : weights.address + len(data)] = data
        findings = []
        for port in self.program.inputs:
            given = inputs.get(port.name)
            if given is None:
                findings.append(Finding("input", "is not given", (port.name,)))
                continue
            array, dtype = np.asarray(given), ELEMENTS[port.dtype].dtype
            if array.shape != port.shape or array.dtype != dtype:
                findings.append(Finding(
                    "input", f"is {array.dtype} {list(array.shape)}, not {port.dtype} {list(port.shape)}", (port.name,)))
                continue
            memory.write(Global(port.address, port.shape, port.dtype), array)
        if findings:
            raise RunError(f"program {self.program.name!r} cannot be run on these inputs", findings)

    def _executed(self, one: Instruction, everywhere: Memory, local: Memory) -> tuple[np.ndarray, ...]:
        """Execute one instruction; what it wrote."""

        def memory(operand: Operand) -> Memory:
            return local if isinstance(operand, Local) else everywhere

        for operand in one.inputs:
            if isinstance(operand, Local) and operand.layout == "copies" and not local.lanes_agree(operand):
                raise _failed(one, f"an operand at {operand.address:#x} has different copies in different lanes")
        arrays = [None if operand is None else memory(operand).read(operand) for operand in one.inputs]
        results = _moved(one, arrays) if is_move(one) else self._computed(one, arrays)
        for operand, array in zip(one.outputs, results, strict=True):
            memory(operand).write(operand, array)
        return results

    def _computed(self, one: Instruction, arrays: list[np.ndarray | None]) -> tuple[np.ndarray, ...]:
        """What an operation gives, of the shapes and types that the instruction says."""
        if _padded(one, arrays) > WORK_LIMIT:
            raise _failed(one, f"cannot be computed: its pads make {_padded(one, arrays):,} elements")
        dtype = {"dtype": one.outputs[0].dtype} if one.outputs else {}
        try:
            with np.errstate(all="ignore"):
                given = self.operations[one.operation](*arrays, **dtype, **one.attributes)
        except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
            raise _failed(one, f"cannot be computed: {type(error).__name__}: {error}") from error
        results = tuple(map(np.asarray, given)) if isinstance(given, (tuple, list)) else (np.asarray(given),)
        if len(results) != len(one.outputs):
            raise _failed(one, f"gives {len(results)} results, and has {len(one.outputs)} outputs")
        for operand, array in zip(one.outputs, results, strict=True):
            if array.shape != operand.shape or array.dtype != ELEMENTS[operand.dtype].dtype:
                raise _failed(
                    one, f"gives {array.dtype} {list(array.shape)}, and its output is {operand.dtype} {list(operand.shape)}")
        return results


def _padded(one: Instruction, arrays: list[np.ndarray | None]) -> int:
    """How many elements an operation may work on that puts its `pads` (top, left, bottom, right) around images."""
    pads, image = one.attributes.get("pads"), arrays[0] if arrays else None
    if not isinstance(pads, tuple) or len(pads) != 4 or image is None or image.ndim != 4:
        return 0
    top, left, bottom, right = map(int, pads)
    n, c, h, w = image.shape
    return n * c * (h + top + bottom) * (w + left + right)


def _too_large(program: Program) -> Iterator[Finding]:
    machine = program.machine
    size = program.global_bytes + machine.cores * machine.lanes * machine.local_bytes
    if size > MEMORY_LIMIT:
        yield Finding("memory", f"the machine has {size:,} bytes of it, and {MEMORY_LIMIT:,} can be simulated",
                      hint="take a chip with fewer lanes or cores, or less memory")


def _moved(one: Instruction, arrays: list[np.ndarray | None]) -> tuple[np.ndarray, ...]:
    if one.operation == FILL:
        (destination,) = one.outputs
        dtype = ELEMENTS[destination.dtype].dtype
        with np.errstate(all="ignore"):
            return (np.full(destination.shape, np.asarray(one.attributes["value"]).astype(dtype), dtype),)
    if None in one.inputs:
        raise _failed(one, "its input is left out")
    if one.operation == GATHER:
        table, indices = map(np.asarray, arrays)
        return (gather(table, indices, dtype=one.outputs[0].dtype, axis=1),)
    order = one.attributes.get(ORDER)
    sources = [np.asarray(source) for source in arrays]
    if isinstance(order, tuple):
        sources = [source.transpose(tuple(map(int, order))) for source in sources]
    return tuple(source.reshape(destination.shape) for source, destination in zip(sources, one.outputs, strict=True))


def _failed(one: Instruction, why: str) -> ArtifactError:
    return ArtifactError("the program cannot be executed", [
        Finding(f"{one.label} {one.operation}", why, (one.name,) if one.name else ())])
