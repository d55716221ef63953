"""Reading a binary that nobody vouches for: its structure is checked here, what it says by `validity`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from transload.files import bytes_of
from transload.flatbuffer import FlatFile, Table

from .elements import ELEMENTS
from .operands import LAYOUTS, Global, Local, Operand, Part
from .program import QUEUES, Attribute, Instruction, Machine, Port, Program, Tensor, Weights
from .schema import IDENTIFIER, KINDS, PLACES, Field, fields
from .validity import need_valid

__all__ = ["deserialize", "read"]

_DTYPES = tuple(ELEMENTS)


def read(path: str | Path) -> Program:
    """The program of a binary; `ReadError` lists everything that is wrong with it."""
    return deserialize(bytes_of(path), str(path))


def deserialize(data: Any, name: str = "the binary") -> Program:
    """The program in the bytes of a binary, of which its weights are views; `name` is used in messages.

    Raises `ReadError` where the bytes are no binary, are damaged, or hold what is no program: all that is wrong with it at once.
    """
    file = FlatFile(data, name, strict=True)
    if bytes(file.data[4:8]) != IDENTIFIER:
        file.fail(f"it is no binary of the tensor processor: bytes 4 to 8 are {bytes(file.data[4:8])!r}, not {IDENTIFIER!r}")
    program = _Reader(file).program()
    need_valid(program, name)
    return program


class _Reader:
    """A binary being read; what stands in it once is made once."""

    def __init__(self, file: FlatFile) -> None:
        self.file = file
        self.operands: list[Operand] = []
        self.attributes: list[tuple[str, Attribute]] = []

    def program(self) -> Program:
        root = _Row(self.file.root(), "Program")
        machine = root.row("machine", "Machine")
        if machine is None:
            self.file.fail("has no machine")
        self.operands = self._all(root, "operands", "Operand", self.operand)
        self.attributes = self._all(root, "attributes", "Attribute", self.attribute)
        return Program(
            self.machine(machine), self._all(root, "instructions", "Instruction", self.instruction),
            self._all(root, "inputs", "Port", self.port), self._all(root, "outputs", "Port", self.port),
            self._all(root, "weights", "Weights", self.weights), self._all(root, "tensors", "Tensor", self.tensor),
            root.number("global_bytes"), root.text("name"))

    def _all(self, root: _Row, field: str, table: str, make: Callable[[_Row], Any]) -> Any:
        """What the tables of a vector stand for."""
        made = []
        for number, one in enumerate(root.tables(field)):
            self.file.place = f"{field} {number}"
            made.append(make(_Row(one, table)))
        self.file.place = "the file's root"
        return tuple(made)

    def _choice(self, row: _Row, field: str, choices: tuple[str, ...]) -> str:
        number: int = row.number(field)
        if number >= len(choices):
            self.file.fail(f"{field} {number} is not known: there are {len(choices)}", "a newer version may know it")
        return choices[number]

    def machine(self, row: _Row) -> Machine:
        return Machine(row.text("name"), *map(row.number, ("lanes", "local_bytes", "banks", "eu_bytes", "cores")))

    def tensor(self, row: _Row) -> Tensor:
        return Tensor(row.text("name"), row.numbers("shape"), row.reference("alias"))

    def port(self, row: _Row) -> Port:
        return Port(
            row.text("name"), row.number("address"), row.numbers("shape"), self._choice(row, "dtype", _DTYPES),
            row.reference("tensor"), row.number("scale"), row.number("zero_point"))

    def weights(self, row: _Row) -> Weights:
        view = row.view("data")
        return Weights(
            row.number("address"), b"" if view is None else view, row.text("name"), row.reference("tensor"),
            self._choice(row, "dtype", _DTYPES))

    def operand(self, row: _Row) -> Operand:
        tensor = row.reference("tensor")
        part = None if tensor is None else Part(tensor, row.numbers("offset"), row.optional("steps"))
        address, shape, dtype = row.number("address"), row.numbers("shape"), self._choice(row, "dtype", _DTYPES)
        place, strides = self._choice(row, "place", PLACES), row.optional("strides")
        if place not in LAYOUTS:
            return Global(address, shape, dtype, strides, part)
        if strides is not None and len(strides) != 3:
            self.file.fail(f"has {len(strides)} strides, and an operand in local memory has three: of n, c and h")
        return Local(address, shape, dtype, place, strides, row.number("lane"), part)

    def attribute(self, row: _Row) -> tuple[str, Attribute]:
        name, kind = row.text("name"), self._choice(row, "kind", KINDS)
        if kind == "text":
            return name, row.text("text")
        values = row.numbers("reals" if kind in ("real", "reals") else "integers")
        if kind in ("integers", "reals"):
            return name, values
        if len(values) != 1:
            self.file.fail(f"attribute {name!r} has {len(values)} values, and is one {kind}")
        return name, bool(values[0]) if kind == "truth" else values[0]

    def instruction(self, row: _Row) -> Instruction:
        attributes = dict(self._pick(self.attributes, number, "attribute") for number in row.numbers("attributes"))
        if len(attributes) < row.count("attributes"):
            self.file.fail("has an attribute twice")
        return Instruction(
            self._choice(row, "queue", QUEUES), row.number("id"), row.number("wait"), row.text("operation"),
            tuple(self._pick(self.operands, number - 1, "operand") if number else None for number in row.numbers("inputs")),
            tuple(self._pick(self.operands, number - 1, "operand") for number in row.numbers("outputs")),
            attributes, row.number("core"), row.text("name"))

    def _pick(self, among: Any, number: int, what: str) -> Any:
        if not 0 <= number < len(among):
            self.file.fail(f"refers to {what} {number}, and there are {len(among)}")
        return among[number]


class _Row:
    """A table of the file whose fields are asked for by name."""

    def __init__(self, table: Table, name: str) -> None:
        self.table = table
        self.fields: dict[str, Field] = fields(name)

    def number(self, name: str) -> Any:
        field = self.fields[name]
        return self.table.scalar(field.number, field.code, field.default)

    def reference(self, name: str) -> int | None:
        """A number that refers to something; None where it is the default, -1."""
        number: int = self.number(name)
        return None if number == -1 else number

    def numbers(self, name: str) -> tuple[Any, ...]:
        field = self.fields[name]
        return self.table.numbers(field.number, field.code)

    def optional(self, name: str) -> tuple[Any, ...] | None:
        """A vector, None where it is absent."""
        return self.numbers(name) if self.table.has(self.fields[name].number) else None

    def count(self, name: str) -> int:
        return self.table.count(self.fields[name].number)

    def text(self, name: str) -> str:
        return self.table.text(self.fields[name].number)

    def view(self, name: str) -> memoryview | None:
        return self.table.view(self.fields[name].number)

    def tables(self, name: str) -> list[Table]:
        return self.table.tables(self.fields[name].number)

    def row(self, name: str, table: str) -> _Row | None:
        found = self.table.table(self.fields[name].number)
        return None if found is None else _Row(found, table)
