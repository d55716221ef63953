"""What sizes, ranks and scales a module that was read may have, whatever its format: one set of limits for all readers.

Everything behind the readers relies on it: products of sizes fit into 64 bits, and no type is so large that it stands for
nothing that can be computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from .budget import text_fault
from .errors import Finding, ReadError, merge_findings
from .ir import (
    BuiltinType,
    DialectType,
    FileLocation,
    FusedLocation,
    Module,
    NamedLocation,
    Op,
    OpaqueAttr,
    OpaqueLocation,
    QuantType,
    TensorType,
    Type,
    Value,
)
from .ir.locations import without_places

__all__ = ["MAX_ELEMENTS", "MAX_NAME", "MAX_RANK", "beyond", "check_limits", "forget_places", "text_length", "text_lengths"]

MAX_RANK = 64
"""Dimensions of a tensor: numpy's limit."""
MAX_ELEMENTS = 1 << 36
"""Elements of a tensor: of bytes, 64 GB."""
MAX_NAME = 1 << 16
"""Characters of a tensor's name."""


def check_limits(module: Module, name: str, size: int = 0) -> None:
    """Raise `ReadError` with every value of a module, read from the file `name`, whose type or name is beyond the limits.

    All names together have a limit, too (`Allowance.text`), and four times the `size` of the file where that is more: a file
    may hold one name, and give it to every value. Where names and attributes alone are within it, the places in a program that
    its ops come from are what is too long: JAX gives each a stack of calls. Nothing needs them, and they are left out.
    """
    findings: list[Finding] = []

    def look(value: Value, what: str) -> None:
        why = beyond(value.type)
        if why:
            findings.append(Finding(what, why, (value.name,) if value.name else ()))

    for op in module.walk():
        if isinstance(op.location, str) and len(op.location) > MAX_NAME:
            findings.append(Finding(op.name, f"has a name of {len(op.location):,} characters; {MAX_NAME:,} are the limit"))
        for value in op.results:
            look(value, op.name)
        for region in op.regions:
            for block in region.blocks:
                for value in block.arguments:
                    look(value, f"an argument of {op.name}")
    if findings:
        raise ReadError(f"{name}: {len(findings)} value(s) are beyond what can be computed", merge_findings(findings))
    length = text_length(module)
    if text_fault(length, size)[0] and forget_places(module):
        length = text_length(module)
        module.notes = (*module.notes, "the places in a program that its ops come from are too long together, and left out")
    why, hint = text_fault(length, size)
    if why:
        raise ReadError(f"{name}: {why}", hint=hint)


def forget_places(root: Op) -> bool:
    """Leave the names in the locations of an op and all within, and no files, lines and calls; whether there were some."""
    was = False
    known: dict[int, Any] = {}
    for op in root.walk():
        held: Any  # an op, or an argument of a block
        for held in (op, *(argument for region in op.regions for block in region.blocks for argument in block.arguments)):
            names = without_places(held.location, known)
            was = was or names is not held.location
            held.location = names
    return was


def text_lengths(ops: Iterable[Op]) -> Iterator[int]:
    """About how many characters the names, attributes and types of each op are when they are written out, without ops inside.

    Copies share them (`Op.clone`), and so may files; text, artifacts and reports spell each of them. What ops share is gone
    through once: each of the thousand parts that a split becomes refers to the thousand names of the split.
    """
    known: dict[int, int] = {}
    for op in ops:
        length = _length(op.location, known)
        for value in op.attributes.values():
            length += _length(value, known)
        for result in op.results:
            length += _length(result.type, known)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    length += _length(argument.location, known) + _length(argument.type, known)
        yield length


def text_length(root: Op) -> int:
    """The same of an op and all within, together."""
    return sum(text_lengths(root.walk()))


def _length(value: Any, known: dict[int, int]) -> int:
    """The same of an attribute, a location or a type: what is short and no list counts for nothing.

    `known` are the lengths of lists and locations by their identity: all of them are held by ops meanwhile.
    """
    if isinstance(value, str):
        return len(value) + (_length(value.child, known) if isinstance(value, NamedLocation) else 0)
    if isinstance(value, TensorType):
        value = value.element
    if isinstance(value, QuantType):
        return value.count
    if isinstance(value, OpaqueLocation | OpaqueAttr | DialectType | BuiltinType):
        return len(value.text)
    if isinstance(value, FileLocation):
        return len(value.file)
    if isinstance(value, list | tuple | dict | FusedLocation):
        length = known.get(id(value))
        if length is None:
            length = known[id(value)] = _length_of_parts(value, known)
        return length
    return 0


def _length_of_parts(value: list[Any] | tuple[Any, ...] | dict[str, Any] | FusedLocation, known: dict[int, int]) -> int:
    if isinstance(value, dict):
        return sum(len(key) + _length(held, known) for key, held in value.items())
    if isinstance(value, FusedLocation):
        return _length(value.locations, known) + len(value.metadata or "")
    return len(value) + sum(_length(held, known) for held in value)


def beyond(type_: Type) -> str:
    """What about a type is beyond the limits; nothing where it is within them."""
    if not isinstance(type_, TensorType):
        return ""
    element = type_.element
    if isinstance(element, QuantType):
        if not element.has_sound_scales:
            return f"has a scale that is negative or not finite: {str(type_)[:120]}"
        least, most = element.storage.range
        if not least <= element.storage_min <= element.storage_max <= most:
            numbers = f"{element.storage_min} to {element.storage_max}"
            return f"stores numbers from {numbers}, and {element.storage} has {least} to {most}"
    shape = type_.shape
    if shape is None or (len(shape) <= MAX_RANK and None not in shape and 0 < math.prod(shape) <= MAX_ELEMENTS):  # type: ignore[arg-type]
        return ""
    if len(shape) > MAX_RANK:
        return f"has {len(shape)} dimensions; {MAX_RANK} are the limit"
    known = [size for size in shape if size is not None]
    if max(known, default=0) > MAX_ELEMENTS or math.prod(filter(None, known)) > MAX_ELEMENTS:
        return f"has {' x '.join('?' if size is None else str(size) for size in shape)} elements; {MAX_ELEMENTS:,} are the limit"
    return ""
