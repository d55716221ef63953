"""Names of values in text: where they are defined and used, before their definition too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..ir.core import Block, Op, Value
from ..ir.types import Type
from .location_parser import LocationParser
from .strings import SUFFIX_NAME

__all__ = ["ValueParser"]

_result = re.compile(rf"(%{SUFFIX_NAME})(?::(\d+))?").fullmatch
_use = re.compile(rf"%{SUFFIX_NAME}(?:#\d+)?").fullmatch


class ValueParser(LocationParser):
    """Knows which value a name stands for."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.values: dict[str, Value] = {}
        self.forward: dict[str, tuple[Value, int]] = {}  # used and not yet defined: stand-in, first use
        self.defined: list[str] = []  # in the region being read
        self.op_at = 0  # where the op begins that is being read in its dialect's own form

    def operands_named(self, names: str, types: tuple[Type, ...], op_name: str, at: int) -> list[Value]:
        """The values of names with commas between, of these types; one that is not defined yet is a stand-in."""
        values = self.values
        operands = []
        count = 0
        if names and not names.isspace():
            for name in names.split(","):
                value = values.get(name)
                if value is None:
                    name = name.strip()
                    value = values.get(name)
                    if value is None:
                        if count >= len(types):
                            break
                        value = self._forward_reference(name, types[count], at)
                operands.append(value)
                count += 1
            count = names.count(",") + 1
        self._check_types(operands, types, op_name, count, at)
        return operands

    def expect_types(self, values: Sequence[Value], types: Sequence[Type], op_name: str) -> None:
        """Complain where values are of other types than those that were read for them."""
        self._check_types(values, types, op_name, len(values), self.op_at)

    def _check_types(self, values: Sequence[Value], types: Sequence[Type], op_name: str, count: int, at: int) -> None:
        if count != len(types):
            self.error(f"{op_name} has {count} operands and {len(types)} types for them", at)
        for value, type_ in zip(values, types, strict=True):
            if value.type is not type_ and value.type != type_:
                self.error(f"an operand of {op_name} is of type {value.type} where it is defined, and of {type_} here", at)

    def _forward_reference(self, name: str, type_: Type, at: int) -> Value:
        """A stand-in for a value that is used before its definition."""
        match = _use(name)
        if match is None:
            self.error(f"{name[:40]!r} names no value", at)
        base, _, number = name.partition("#")
        if base in self.values and base not in self.forward:
            owner = self.values[base].owner
            count = len(owner.results) if isinstance(owner, Op) else 1
            if count == 1 and number.strip("0") == "":  # `%0#0` of a single result
                return self.values[base]
            self.error(f"{name!r} is not defined: {base!r} has {count} result(s)", at)
        if number:
            if len(number) > 9:
                self.error(f"{name[:40]!r} names no value", at)
            name = f"{base}#{int(number)}"
        value = Value(type_, Block(), 0)
        self.forward[name] = (value, at)
        self.values[name] = value
        return value

    def define(self, name: str, value: Value, at: int) -> None:
        """Let a name stand for a value from here on, and before where it is used there."""
        if self.forward and name in self.forward:
            standin = self.forward.pop(name)[0]
            if standin.type != value.type:
                self.error(f"{name!r} is of type {value.type} where it is defined, and of {standin.type} where it is used", at)
            standin.replace_all_uses_with(value)
        elif name in self.values:
            self.error(f"{name!r} is defined twice", at)
        self.values[name] = value
        self.defined.append(name)

    def define_results(self, names: str, op: Op, at: int, which: Sequence[int] | None = None) -> None:
        """Let names with commas between, `%a, %b:2`, stand for an op's results, or for some of them."""
        results = op.results if which is None else [op.results[i] for i in which]
        if len(results) == 1 and names not in self.values and _result(names) and ":" not in names:
            self.values[names] = results[0]
            self.defined.append(names)
            if self.forward:
                self._define_group(names, results, at)
            return
        position = 0
        for part in names.split(","):
            match = _result(part.strip())
            if match is None:
                self.error(f"{part.strip()[:40]!r} names no value", at)
            count = 1 if match[2] is None else int(match[2]) if len(match[2]) < 9 else 1 << 30
            if count < 1 or position + count > len(results):
                break
            self.define(match[1], results[position], at)
            self._define_group(match[1], results[position : position + count], at)
            position += count
        else:
            if position == len(results):
                return
        self.error(f"{op.name} has {len(results)} results; {names.strip()[:60]!r} names another number of them", at)

    def _define_group(self, base: str, results: list[Value], at: int) -> None:
        """`%0#1` of `%0:2`."""
        if len(results) > 1 or self.forward:
            for number, result in enumerate(results):
                name = f"{base}#{number}"
                if number or len(results) > 1 or name in self.forward:
                    self.define(name, result, at)

    def end_scope(self) -> None:
        """Complain of values that are used and never defined."""
        if self.forward:
            name, (_, at) = next(iter(self.forward.items()))
            more = f" (nor are {len(self.forward) - 1} others)" if len(self.forward) > 1 else ""
            self.error(f"{name!r} is not defined{more}", at)
