"""What TensorFlow's registry says of its ops: arguments, results, attributes. The table is made by `make tensorflow-tables`.

It is a file of a line an op, of which only the lines that are asked for are read: a model has few kinds of ops.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Argument", "AttributeDef", "OpDef", "definition", "names"]


@dataclass(frozen=True)
class Argument:
    """An input or output. Its type is a type's name, or what an attribute says: one type, or a list of them."""

    name: str
    type: str = ""
    """The type's name in TensorFlow (`float`), where it is always the same."""
    type_attr: str = ""
    number_attr: str = ""
    """The attribute that says how many of one type there are."""
    type_list_attr: str = ""
    is_ref: bool = False


@dataclass(frozen=True)
class AttributeDef:
    """An attribute: its kind as TensorFlow says it (`list(int)`), and what is known of its values."""

    name: str
    kind: str
    has_default: bool = False
    default: Any = None
    """In JSON's types; types by their TensorFlow names, shapes as lists (None: unknown rank)."""
    allowed: tuple[str, ...] = ()
    minimum: int | None = None


@dataclass(frozen=True)
class OpDef:
    """An op of TensorFlow's registry."""

    name: str
    inputs: tuple[Argument, ...] = ()
    outputs: tuple[Argument, ...] = ()
    attributes: Mapping[str, AttributeDef] = field(default_factory=dict)
    stateful: bool = False

    @property
    def derived(self) -> frozenset[str]:
        """The attributes that operands and results tell, in types and numbers: an op in the IR has none of them."""
        return frozenset(
            name for argument in (*self.inputs, *self.outputs)
            for name in (argument.type_attr, argument.number_attr, argument.type_list_attr) if name)


@cache
def definition(name: str) -> OpDef | None:
    """What is known of an op by its name, None where TensorFlow has no such op."""
    start = _text().find(f'\n"{name}": ') if name.isidentifier() else -1
    if start < 0:
        return None
    start += len(name) + 5
    return _op_def(name, json.loads(_text()[start:_text().index("\n", start)].rstrip(",")))


def names() -> Iterator[str]:
    """The names of all ops, sorted."""
    for line in _text().splitlines():
        if line.startswith('"'):
            yield line[1:line.index('"', 1)]


@cache
def _text() -> str:
    return Path(__file__).with_name("opdefs.json").read_text("utf-8")


def _op_def(name: str, entry: Mapping[str, Any]) -> OpDef:
    attributes = {
        key: AttributeDef(key, value["kind"], "default" in value, value.get("default"), tuple(value.get("allowed", ())),
                          value.get("minimum"))
        for key, value in entry.get("attributes", {}).items()}
    inputs, outputs = (
        tuple(_argument(text, attributes) for text in entry.get(key, ())) for key in ("inputs", "outputs"))
    return OpDef(name, inputs, outputs, attributes, entry.get("stateful", False))


def _argument(text: str, attributes: Mapping[str, Any]) -> Argument:
    name, _, type_ = text.partition(":")
    is_ref = type_.endswith("&")
    number, star, type_ = type_.rstrip("&").rpartition("*")
    if star and not number:
        return Argument(name, type_list_attr=type_, is_ref=is_ref)
    named = type_ in attributes
    return Argument(name, "" if named else type_, type_ if named else "", number, is_ref=is_ref)
