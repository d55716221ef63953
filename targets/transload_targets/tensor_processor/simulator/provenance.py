"""What each byte holds: which element of which tensor, and whether it was ever written.

Elements of all tensors are numbered through, from 2 on; a byte's cell holds the number of the element that it is of, 1 where
nobody said what was written, and 0 where nothing was. An instruction that reads a part of a tensor must find the elements of this
part. So an operand that lies elsewhere than where its tensor was written is found whatever numbers lie there.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from transload.errors import Finding

from ..instructions import ELEMENTS, Element, Global, Local, Operand, Part, Port, Program, Tensor, Weights
from .memory import Memory, Piece, pieces, seen
from .order import Order
from .tensors import elements_of

__all__ = ["Provenance", "provenance"]

UNWRITTEN, UNKNOWN, FIRST = 0, 1, 2


def provenance(program: Program, order: Order) -> Iterator[Finding]:
    """All reads of what was never written, or is not what it should be: by instructions, and by who takes the outputs."""
    held = Provenance(program)
    for index in order.schedule():
        one = program.instructions[index]
        names = (one.name,) if one.name else ()
        for number, operand in enumerate(one.inputs):
            why = operand is not None and held.wrong(operand, one.core)
            if why:
                yield Finding(f"{one.label} {one.operation}", f"input {number} {why}", names)
        for operand in one.outputs:
            held.write(operand, one.core)
    for port in program.outputs:
        why = held.wrong(_of_port(port), 0)
        if why:
            yield Finding("output", why, (port.name,))


def _of_port(port: Port | Weights) -> Global:
    part = None if port.tensor is None else Part(port.tensor)
    if isinstance(port, Port):
        return Global(port.address, port.shape, port.dtype, part=part)
    element = ELEMENTS[port.dtype]
    count = len(port.data) * 8 // element.bits
    return Global(port.address, (count,), port.dtype, part=part)


class Provenance:
    """The cells of all memories of a program, as they are before its first instruction."""

    def __init__(self, program: Program) -> None:
        machine = program.machine
        self.program = program
        self.everywhere = Memory(machine, program.global_bytes, np.uint32)
        self.cores = [Memory(machine, machine.lanes * machine.local_bytes, np.uint32) for _ in range(machine.cores)]
        self.first = _numbering(program.tensors)
        for weights in program.weights:
            self._fill(weights)
        for port in program.inputs:
            self.write(_of_port(port), 0)

    def _fill(self, weights: Weights) -> None:
        """Mark bytes that lie in global memory at the start; elements of four bits fill theirs to the end."""
        operand = _of_port(weights)
        if weights.tensor is not None:
            tensor = self.program.tensors[weights.tensor]
            if prod(tensor.shape) <= operand.shape[0]:
                operand = Global(weights.address, tensor.shape, weights.dtype, part=operand.part)
        cells = self.everywhere.cells[weights.address : weights.address + len(weights.data)]
        cells[:] = UNKNOWN
        self.write(operand, 0)

    def _memory(self, operand: Operand, core: int) -> Memory:
        return self.cores[core] if isinstance(operand, Local) else self.everywhere

    def write(self, operand: Operand, core: int) -> None:
        """Say that an operand's bytes hold the part of the tensor that it is."""
        if not all(operand.shape):
            return
        memory, element, marks = self._memory(operand, core), ELEMENTS[operand.dtype], self.marks(operand)
        for piece, part in _with_marks(operand, memory, marks):
            _bytes(memory, piece, element)[...] = UNKNOWN if part is None else part[..., None]

    def wrong(self, operand: Operand, core: int) -> str:
        """What is wrong with reading an operand; nothing where it holds what it should."""
        if not all(operand.shape):
            return ""
        memory, element, marks = self._memory(operand, core), ELEMENTS[operand.dtype], self.marks(operand)
        count, first = 0, (0, 0)
        for piece, part in _with_marks(operand, memory, marks):
            cells = _bytes(memory, piece, element)
            wanted = np.uint32(UNWRITTEN) if part is None else part[..., None]
            bad = cells == UNWRITTEN if part is None else cells != wanted
            if bad.any():
                at = int(np.argmax(bad))
                first = first if count else (int(np.broadcast_to(wanted, cells.shape).flat[at]), int(cells.flat[at]))
                count += int(np.count_nonzero(bad))
        return self._say(*first, count) if count else ""

    def _say(self, wanted: int, found: int, count: int) -> str:
        """Why so many bytes are wrong, the first of which should hold one element and holds another."""
        many = f"{count:,} bytes" if count > 1 else "a byte"
        if found == UNWRITTEN:
            return f"reads {many} to which nothing was written{f': {self._name(wanted)}' if wanted else ''}"
        return f"reads {many} that should hold {self._name(wanted)}, and in place of that find {self._name(found)}"

    def _name(self, number: int) -> str:
        """Which element of which tensor a number stands for."""
        for tensor, first in zip(self.program.tensors, self.first, strict=True):
            if tensor.alias is None and first <= number < first + prod(tensor.shape):
                index = tuple(map(int, np.unravel_index(number - first, tensor.shape))) if tensor.shape else ()
                return f"element {index} of {tensor.name!r}".replace(",)", ")")
        return "what nobody named"

    def marks(self, operand: Operand) -> np.ndarray | None:
        """The numbers of an operand's elements, in its shape; None where nobody says of which tensor it is."""
        if operand.part is None:
            return None
        return (elements_of(operand, self.program.tensors) + self.first[operand.part.tensor]).astype(np.uint32)


def _numbering(tensors: tuple[Tensor, ...]) -> list[int]:
    """The number of each tensor's first element; a view has that of what it views."""
    first: list[int] = []
    free = FIRST
    for tensor in tensors:
        if tensor.alias is not None:
            first.append(first[tensor.alias])
        else:
            first.append(free)
            free += prod(tensor.shape)
    return first


def _with_marks(operand: Operand, memory: Memory, marks: np.ndarray | None) -> Iterator[tuple[Piece, np.ndarray | None]]:
    """The pieces of an operand, each with the marks of its elements in the piece's shape: of packed ones, the first of a byte."""
    element = ELEMENTS[operand.dtype]
    for piece in pieces(operand, memory.machine):
        if marks is None:
            yield piece, None
        elif isinstance(operand, Global):
            shown = marks.reshape(operand.seen()[0])
            yield piece, shown[..., ::2] if element.packed else shown
        else:
            n, c, h, w = operand.seen()
            shown = seen(marks, operand).reshape((n, c, h * w) if element.packed else (n, c, h, w))
            shown = shown[..., ::2] if element.packed else shown
            part = shown[:, piece.start : piece.stop]
            yield piece, part.reshape(n, piece.shape[1], -1, *part.shape[2:])


def _bytes(memory: Memory, piece: Piece, element: Element) -> np.ndarray:
    """The cells of all bytes of a piece's elements, which are its last dimension."""
    width = 1 if element.packed else element.size(1)
    return memory.view(piece._replace(shape=(*piece.shape, width), steps=(*piece.steps, 1)))
