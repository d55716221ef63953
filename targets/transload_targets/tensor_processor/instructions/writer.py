"""Writing a program as a binary: the flatbuffer of `program.fbs`."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

from transload.errors import ConversionError
from transload.files import atomic_path
from transload.flatbuffer.builder import FlatBuilder, layout

from .elements import ELEMENTS
from .operands import Global, Operand
from .program import QUEUES, Attribute, Instruction, Machine, Port, Program, Tensor, Weights
from .schema import IDENTIFIER, KINDS, PLACES, fields

__all__ = ["serialize", "write"]

_DTYPES = {name: number for number, name in enumerate(ELEMENTS)}
SIZE_LIMIT = (1 << 31) - 1
"""Bytes that a flatbuffer's offsets can span."""
ALIGNMENT = 16
"""Of weights in the file, so that they can be mapped."""


def write(program: Program, path: str | Path) -> None:
    """Write the binary of a program: all of it, or nothing."""
    data = _pieces(program)
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        file.writelines(data)


def serialize(program: Program) -> bytes:
    """The bytes of the binary. `ConversionError` where a number is beyond what its field holds."""
    return b"".join(_pieces(program))


def _pieces(program: Program) -> list[Any]:
    writer = _Writer()
    try:
        root = writer.program(program)
        pieces = writer.buffer.finish(root, IDENTIFIER, ALIGNMENT)
    except (struct.error, OverflowError) as error:
        raise ConversionError(
            f"program {program.name!r} cannot be written: a number is too large for its field: {error}") from error
    if writer.buffer.size > SIZE_LIMIT:
        raise ConversionError(
            f"the binary would have {writer.buffer.size:,} bytes, and flatbuffers end at {SIZE_LIMIT:,}",
            hint="quantize the weights, or cut the model into parts")
    return pieces


class _Writer:
    """A binary in the making; operands and attributes that are equal are written once."""

    def __init__(self) -> None:
        self.buffer = FlatBuilder()
        self.operands: dict[Operand, int] = {}
        self.attributes: dict[Hashable, int] = {}
        self.operand_places: list[int] = []
        self.attribute_places: list[int] = []

    def table(self, table: str, /, **values: Any) -> int:
        """A table of the schema with these fields, the others at their defaults; numbers, or places of what is no number."""
        known = fields(table)
        held = [(known[key], value) for key, value in values.items() if value is not None]
        shape = layout(*((field.number, "O" if field.vector else field.code) for field, _ in held))
        return self.buffer.table(shape, [value for _, value in held])

    def program(self, program: Program) -> int:
        buffer = self.buffer
        instructions = [self.instruction(one) for one in program.instructions]
        return self.table(
            "Program", name=buffer.string(program.name), machine=self.machine(program.machine),
            global_bytes=program.global_bytes, tensors=buffer.offsets([self.tensor(one) for one in program.tensors]),
            operands=buffer.offsets(self.operand_places), attributes=buffer.offsets(self.attribute_places),
            instructions=buffer.offsets(instructions), inputs=buffer.offsets([self.port(one) for one in program.inputs]),
            outputs=buffer.offsets([self.port(one) for one in program.outputs]),
            weights=buffer.offsets([self.weights(one) for one in program.weights]))

    def machine(self, machine: Machine) -> int:
        numbers = {name: getattr(machine, name) for name in ("lanes", "local_bytes", "banks", "eu_bytes", "cores")}
        return self.table("Machine", name=self.buffer.string(machine.name), **numbers)

    def tensor(self, tensor: Tensor) -> int:
        return self.table(
            "Tensor", name=self.buffer.string(tensor.name), shape=self.buffer.vector("Q", tensor.shape), alias=tensor.alias)

    def port(self, port: Port) -> int:
        return self.table(
            "Port", name=self.buffer.string(port.name), address=port.address, shape=self.buffer.vector("Q", port.shape),
            dtype=_DTYPES[port.dtype], tensor=port.tensor, scale=port.scale, zero_point=port.zero_point)

    def weights(self, weights: Weights) -> int:
        data = self.buffer.byte_vector(weights.data, ALIGNMENT)
        return self.table(
            "Weights", name=self.buffer.string(weights.name), address=weights.address, dtype=_DTYPES[weights.dtype],
            tensor=weights.tensor, data=data)

    def instruction(self, one: Instruction) -> int:
        buffer = self.buffer
        inputs = [0 if operand is None else self.operand(operand) + 1 for operand in one.inputs]
        outputs = [self.operand(operand) + 1 for operand in one.outputs]
        attributes = [self.attribute(name, value) for name, value in one.attributes.items()]
        return self.table(
            "Instruction", queue=QUEUES.index(one.queue), id=one.id, wait=one.wait, operation=buffer.string(one.operation),
            inputs=buffer.vector("I", inputs), outputs=buffer.vector("I", outputs), attributes=buffer.vector("I", attributes),
            core=one.core, name=buffer.string(one.name))

    def operand(self, operand: Operand) -> int:
        """The number of an operand in the binary."""
        number = self.operands.get(operand)
        if number is None:
            number = self.operands[operand] = len(self.operand_places)
            local = {} if isinstance(operand, Global) else {"lane": operand.lane}
            place = 0 if isinstance(operand, Global) else PLACES.index(operand.layout)
            part = operand.part
            of = {} if part is None else {
                "tensor": part.tensor, "offset": self._numbers(part.offset), "steps": self._numbers(part.steps)}
            self.operand_places.append(self.table(
                "Operand", place=place, address=operand.address, shape=self.buffer.vector("Q", operand.shape),
                dtype=_DTYPES[operand.dtype], strides=self._numbers(operand.strides), **local, **of))
        return number

    def _numbers(self, numbers: Sequence[int] | None) -> int | None:
        return None if numbers is None else self.buffer.vector("q", numbers)

    def attribute(self, name: str, value: Attribute) -> int:
        """The number of an attribute in the binary."""
        kind = kind_of(value)
        key = name, kind, value if kind not in ("real", "reals") else str(value)  # 0.0 and -0.0 are equal, and not the same
        number = self.attributes.get(key)
        if number is None:
            number = self.attributes[key] = len(self.attribute_places)
            held: dict[str, Any] = {"text": self.buffer.string(value)} if isinstance(value, str) else {}
            if not isinstance(value, str):
                values = value if isinstance(value, tuple) else (value,)
                reals = kind in ("real", "reals")
                held["reals" if reals else "integers"] = self.buffer.vector("d" if reals else "q", values)
            self.attribute_places.append(self.table(
                "Attribute", name=self.buffer.string(name), kind=KINDS.index(kind), **held))
        return number


def kind_of(value: Attribute) -> str:
    """What an attribute is: of `schema.KINDS`. A tuple with a float in it is of floats."""
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "real"
    if isinstance(value, str):
        return "text"
    return "reals" if any(isinstance(one, float) for one in value) else "integers"
