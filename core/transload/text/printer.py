"""Printing IR as MLIR text in generic form."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from ..errors import UsageError
from ..ir import registry
from ..ir.attributes import Attribute, DenseArray, IntAttr
from ..ir.constants import Dense, ElidedData, SplatData
from ..ir.core import Block, Op, Region, Value
from ..ir.declare import AttributeKind
from ..ir.types import I64, FunctionType
from ..kinds import need
from .attribute_text import AttributeFormatter, attribute_text, location_text
from .dense_text import dense_pieces, to_bytes
from .resources import ELIDED, ResourceKeys, save_constants
from .strings import quote, word_or_string

__all__ = ["CONSTANT_MODES", "print_attribute", "print_module", "print_op", "write_module"]

CONSTANT_MODES = ("inline", "elided", "resource", "file")
"""Ways to print constants: in place, left out, in a section at the end of the text, in a `.npz` beside it."""

SMALL = 16
"""Constants of no more elements are printed in place in every mode: shapes, scales, paddings."""

print_attribute = attribute_text

_DIRECT_BYTES = 1 << 16  # a larger constant is written piece by piece, not made one string with its op
_ALIGNMENT = 16
_CHUNK = 1 << 20
_Plan = tuple[str, dict[str, tuple[str, Callable[[Attribute], str]]], bool]
_mark = re.compile("\0(\\d+)\0")


def _plain(value: Attribute) -> Attribute:
    """Numbers of a kind that are `i64` in text, whatever type they were given with: who reads them is not told another."""
    if isinstance(value, DenseArray):
        return tuple(map(int, value))
    return int(value) if isinstance(value, IntAttr) else value


_ISOLATED = ("builtin.module", "func.func")


def print_module(
    op: Op, *, constants: str = "inline", locations: bool = True, npz_path: str | Path | None = None,
) -> str:
    """The text of a module (or any op), see `write_module`."""
    need(op, Op, "print_module", "module, or an op")
    parts: list[str] = []
    _Printer(parts.append, constants, locations, npz_path).print(op)
    return "".join(parts)


def write_module(
    op: Op, file: TextIO, *, constants: str = "inline", locations: bool = True, npz_path: str | Path | None = None,
    keys: ResourceKeys | None = None,
) -> None:
    """Write the text of a module (or any op) to a file that is open for text.

    `constants` is one of `CONSTANT_MODES`; with `"file"`, the data goes to `npz_path` and
    `parse_module(text, constants=npz_path)` finds it there; several texts that are given the same `keys` share the data, which
    the caller then writes. `locations=False` leaves out where ops come from, the original tensor names among it. Large
    constants are written piece by piece.
    """
    _Printer(file.write, constants, locations, npz_path, keys).print(op)


def print_op(op: Op) -> str:
    """One op in one line for a message: no data, no locations, no regions' insides."""
    parts: list[str] = []
    printer = _Printer(parts.append, "elided", False, None)
    printer.skip_regions = True
    printer.print(op)
    return "".join(parts).rstrip("\n")


class _Printer:
    """Prints ops through `write`, naming values as it comes to them."""

    def __init__(
        self, write: Callable[[str], Any], constants: str, locations: bool, npz_path: str | Path | None,
        keys: ResourceKeys | None = None,
    ) -> None:
        if constants not in CONSTANT_MODES:
            raise UsageError(f"constants can be printed as {', '.join(CONSTANT_MODES)}, not {constants!r}")
        if (constants == "file") != (npz_path is not None or keys is not None):
            raise UsageError("npz_path is where constants='file' writes the data: give both or neither")
        self.write = write
        self.mode = constants
        self.locations = locations
        self.npz_path = npz_path
        self.skip_regions = False
        self.names: dict[Value, str] = {}
        self.n_results = 0
        self.n_arguments = 0
        self.keys = ResourceKeys() if keys is None else keys
        self.large: list[Dense] = []
        self.op: Op | None = None
        self.formatter = AttributeFormatter(self._dense)
        self.plans: dict[str, _Plan] = {}

    def print(self, op: Op) -> None:
        """Print an op, and what it needs behind it."""
        self._op(op, "")
        if self.mode == "file":
            if self.npz_path is not None:
                save_constants(self.npz_path, self.keys.constants)
        elif self.keys.constants:
            self._resources()

    # --- ops

    def _block(self, block: Block, indent: str) -> None:
        op = block.first
        leaf = self._leaf
        parts: list[str] = []
        while op is not None:
            if op.regions or self.large:
                self._emit("".join(parts))
                parts = []
                self._op(op, indent)
            else:
                parts.append(leaf(op, indent))
            op = op.next
        self._emit("".join(parts))

    def _emit(self, text: str) -> None:
        """Write text, with large constants where their marks are."""
        if not self.large:
            self.write(text)
            return
        position = 0
        for match in _mark.finditer(text):
            self.write(text[position : match.start()])
            for piece in dense_pieces(self.large[int(match[1])]):
                self.write(piece)
            position = match.end()
        self.write(text[position:])
        self.large = []

    def _leaf(self, op: Op, indent: str) -> str:
        """The line of an op without regions."""
        head, tail = self._head(op), self._tail(op)
        if not op.attributes:
            return f"{indent}{head}{tail}"
        properties, others = self._attributes(op)
        return f"{indent}{head}{properties}{others}{tail}"

    def _op(self, op: Op, indent: str) -> None:
        if not op.regions or self.skip_regions:
            self._emit(self._leaf(op, indent))
            return
        head = self._head(op)
        properties, others = self._attributes(op) if op.attributes else ("", "")
        self._emit(f"{indent}{head}{properties} (")
        counts = self.n_results, self.n_arguments
        if op.name in _ISOLATED:
            self.n_results = self.n_arguments = 0
        for number, region in enumerate(op.regions):
            self.write("{\n" if number == 0 else ", {\n")
            self._region(region, indent)
            self.write(f"{indent}}}")
        if op.name in _ISOLATED:
            self.n_results, self.n_arguments = counts
        self._emit(f"){others}{self._tail(op)}")

    def _region(self, region: Region, indent: str) -> None:
        for number, block in enumerate(region.blocks):
            if block.arguments or number or block.first is None or len(region.blocks) > 1:
                arguments = ", ".join([self._argument(value) for value in block.arguments])
                self.write(f"{indent}^bb{number}{f'({arguments})' if arguments else ''}:\n")
            self._block(block, indent + "  ")

    def _argument(self, value: Value) -> str:
        name = self.names.get(value)
        if name is None:
            name = self.names[value] = f"%arg{self.n_arguments}"
            self.n_arguments += 1
        location = f" loc({location_text(value.location)})" if self.locations and value.location is not None else ""
        return f"{name}: {value.type}{location}"

    def _head(self, op: Op) -> str:
        """`%0:2 = "name"(%a, %b)`."""
        results, names = op.results, self.names
        if results and results[0] not in names:
            self._name_results(op)
        operands = op._operands
        try:
            uses = ", ".join([names[operand] for operand in operands])
        except KeyError:  # used before its definition
            uses = ", ".join([names.get(operand) or self._name_unseen(operand) for operand in operands])
        plan = self.plans.get(op.name)
        if plan is None:
            plan = self._plan(op.name)
        if not results:
            return f"{plan[0]}({uses})"
        if len(results) == 1:
            return f"{names[results[0]]} = {plan[0]}({uses})"
        return f"{names[results[0]].partition('#')[0]}:{len(results)} = {plan[0]}({uses})"

    def _name_results(self, op: Op) -> None:
        name = f"%{self.n_results}"
        self.n_results += 1
        results = op.results
        if len(results) == 1:
            self.names[results[0]] = name
        else:
            for index, result in enumerate(results):
                self.names[result] = f"{name}#{index}"

    def _name_unseen(self, value: Value) -> str:
        if isinstance(value.owner, Op):
            self._name_results(value.owner)
        else:
            self.names[value] = f"%arg{self.n_arguments}"
            self.n_arguments += 1
        return self.names[value]

    def _tail(self, op: Op) -> str:
        """` : (types) -> type loc(...)` and the end of the line."""
        inputs = ", ".join([str(operand.type) for operand in op._operands])
        results = op.results
        if len(results) == 1 and not isinstance(results[0].type, FunctionType):
            outputs = str(results[0].type)
        else:
            outputs = f"({', '.join([str(result.type) for result in results])})"
        location = op.location
        if location is None or not self.locations:
            return f" : ({inputs}) -> {outputs}\n"
        return f" : ({inputs}) -> {outputs} loc({location_text(location)})\n"

    # --- attributes

    def _plan(self, name: str) -> _Plan:
        """An op's name as text, for each declared attribute its key as text and how its values are printed, and whether they are
        properties."""
        declaration = registry.lookup(name)
        text = self.formatter.text

        def through(wrap: Callable[[Attribute], Attribute]) -> Callable[[Attribute], str]:
            def wrapped(value: Attribute) -> str:
                with suppress(TypeError, ValueError, AttributeError):  # not of the declared kind: print what is there
                    value = wrap(value)
                return text(value)

            return wrapped

        def printed(kind: AttributeKind[Any], exact: bool) -> Callable[[Attribute], str]:
            plain = _plain if kind.text_type == I64 and not exact else None
            return text if (wrap := kind.wrap or plain) is None else through(wrap)

        declared = {} if declaration is None else {
            key: (word_or_string(key), printed(member.kind, declaration.exact))
            for key, member in declaration.attributes.items()}
        dialect = registry.dialect(name.partition(".")[0]) if declared else None
        plan = self.plans[name] = (quote(name), declared, dialect is None or dialect.properties)
        return plan

    def _attributes(self, op: Op) -> tuple[str, str]:
        """` <{declared}>` and ` {others}`."""
        self.op = op
        _, declared, as_properties = self.plans[op.name]
        properties: list[str] = []
        others: list[str] = []
        for key, value in op.attributes.items():
            known = declared.get(key)
            if known is None:
                others.append(self.formatter.entry(key, value))
            else:
                (properties if as_properties else others).append(known[0] if value is None else f"{known[0]} = {known[1](value)}")
        return f" <{{{', '.join(properties)}}}>" if properties else "", f" {{{', '.join(others)}}}" if others else ""

    def _dense(self, dense: Dense) -> str:
        """A constant, the way that was asked for."""
        data = dense.data
        if isinstance(data, ElidedData):
            return f"dense_resource<{ELIDED}> : {dense.type}"
        count = math.prod(data.shape)
        if self.mode == "inline" or count <= SMALL or isinstance(data, SplatData):
            if count * data.dtype.itemsize <= _DIRECT_BYTES or isinstance(data, SplatData):
                return "".join(dense_pieces(dense))
            self.large.append(dense)
            return f"\0{len(self.large) - 1}\0"
        if self.mode == "elided":
            return f"dense_resource<{ELIDED}> : {dense.type}"
        return f"dense_resource<{self.keys.key(dense, self.op)}> : {dense.type}"

    def _resources(self) -> None:
        """`{-# dialect_resources: ... #-}`."""
        write = self.write
        write("\n{-#\n  dialect_resources: {\n    builtin: {\n")
        separator, alignment = "", _ALIGNMENT.to_bytes(4, "little").hex()
        for key, dense in self.keys.constants.items():
            write(f'{separator}      {word_or_string(key)}: "0x{alignment}')
            separator = ",\n"
            raw = to_bytes(dense)
            for start in range(0, raw.size, _CHUNK):
                write(raw[start : start + _CHUNK].tobytes().hex().upper())
            write('"')
        write("\n    }\n  }\n#-}\n")
