"""Attributes and types of a bytecode file: decoded when first asked for, then shared.

An entry names others by number. The numbers can be wrong, lead in a circle, or make forty entries stand for more than
there is memory: all of that is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from transload.ir.attributes import Attribute, OpaqueAttr
from transload.ir.locations import Location
from transload.ir.types import Type
from transload.text import parse_attribute, parse_type
from transload.text.attribute_text import location_text

from .container import Container, Entry
from .cursor import BytecodeError, Cursor, UnknownConstruct

__all__ = ["Decoder", "Entries", "EntryCursor"]

MAX_DEPTH = 100
MAX_WEIGHT = 1 << 24
"""How many entries all entries together may stand for, each counted with everything inside of it."""

MAX_OF_OP, MAX_OF_OPS = 1 << 17, 1 << 22
"""The same of the attributes of one operation, and of all: whoever goes through the operations goes through these each time."""


class EntryCursor(Cursor):
    """A cursor inside of one entry, which also reads what names other entries."""

    __slots__ = ("entries", "weight")

    def __init__(self, entries: Entries, entry: Entry, what: str) -> None:
        super().__init__(entries.container.data, entry.start, entry.end, what)
        self.entries = entries
        self.weight = 1

    def string(self) -> str:
        text = self.entries.container.string_at(self, self.varint())
        self.weight += len(text) >> 6
        return text

    def attribute(self) -> Attribute:
        index = self.varint()
        value = self.entries.attribute(index, self)
        self.weight += self.entries.weights["attribute", index]
        return value

    def type(self) -> Type:
        index = self.varint()
        value = self.entries.type(index, self)
        self.weight += self.entries.weights["type", index]
        return value

    def location(self) -> Location:
        index = self.varint()
        value = self.entries.location(index, self)
        self.weight += self.entries.weights["location", index]
        return value

    def optional(self) -> Attribute:
        """An attribute that may be missing (`ABSENT`)."""
        index, present = self.flagged()
        return self.entries.attribute(index, self) if present else ABSENT

    def attributes(self) -> list[Attribute]:
        return [self.attribute() for _ in range(self.count("attributes"))]

    def types(self) -> tuple[Type, ...]:
        return tuple(self.type() for _ in range(self.count("types")))

    def boolean(self) -> bool:
        """A byte that is 0 or 1."""
        return bool(self.byte())

    def blob(self) -> memoryview:
        """Bytes behind their number; a view of the file."""
        return memoryview(self.take(self.varint()))

    def integer(self, width: int) -> int:
        """The bits of a number of known width, unsigned."""
        mask = (1 << width) - 1
        if width <= 8:
            return self.byte() & mask
        if width <= 64:
            return self.signed() & mask
        words = b"".join((self.signed() & (1 << 64) - 1).to_bytes(8, "little") for _ in range(self.count("words of a number")))
        return int.from_bytes(words, "little") & mask

    def enum(self, names: dict[int, str], what: str) -> str:
        """The name of a number."""
        code = self.varint()
        if code not in names:
            raise UnknownConstruct(f"{what} {code} is not known")
        return names[code]


ABSENT: Any = object()
PASSED_OVER = OpaqueAttr("#sdy.not_read")
"""An attribute that says nothing about what a program computes: dictionaries leave it out."""

Decoder = Callable[[EntryCursor, int], Any]
"""Reads what follows the code of an attribute or type in its dialect's encoding; `UnknownConstruct` for other codes."""


class Entries:
    """All attributes and types. `decoders` has, by dialect, how to read attributes and types; `locations` reads
    locations; `resources` has data that is not in the file, by its key."""

    def __init__(
        self, container: Container, decoders: dict[str, tuple[Decoder, Decoder]], locations: Decoder, resources: Mapping[str, Any]
    ) -> None:
        self.container = container
        self.resources = resources
        self.decoders = decoders
        self.locations = locations
        self.weights: dict[tuple[str, int], int] = {}
        self.known: dict[tuple[str, int], Any] = {}
        self.total = 0
        self.used = 0
        self.depth = 0

    def attributes_of_op(self, index: int, at: Cursor) -> Attribute:
        """Attribute number `index` as what an operation has."""
        value = self.attribute(index, at)
        weight = self.weights["attribute", index]
        self.used += weight
        if weight > MAX_OF_OP or self.used > MAX_OF_OPS:
            raise BytecodeError("the attributes of its operations stand for more than can be read")
        return value

    def attribute(self, index: int, at: Cursor) -> Attribute:
        """Attribute number `index`; lists and dictionaries are shared: copy them before changing them."""
        try:
            return self.known["attribute", index]
        except KeyError:
            return self._decode("attribute", index, at)

    def type(self, index: int, at: Cursor) -> Type:
        try:
            return self.known["type", index]
        except KeyError:
            return self._decode("type", index, at)

    def location(self, index: int, at: Cursor) -> Location:
        """The location that attribute number `index` is."""
        try:
            return self.known["location", index]
        except KeyError:
            return self._decode("location", index, at)

    def _decode(self, kind: str, index: int, at: Cursor) -> Any:
        key = (kind, index)
        entries = self.container.types if kind == "type" else self.container.attributes
        if index >= len(entries):
            at.error(f"{kind} {index} of {len(entries)}")
        if key in self.weights:
            at.error(f"{kind} {index} is inside of itself")
        if self.depth >= MAX_DEPTH:
            at.error(f"attributes and types lie more than {MAX_DEPTH} deep in each other")
        self.weights[key] = 0
        self.depth += 1
        cursor = EntryCursor(self, entries[index], f"{kind} {index}")
        value = self._read(kind, entries[index], cursor)
        self.depth -= 1
        self.weights[key] = cursor.weight
        self.total += cursor.weight
        if self.total > MAX_WEIGHT:
            raise BytecodeError("its attributes and types stand for more than can be read")
        self.known[key] = value
        return value

    def _read(self, kind: str, entry: Entry, cursor: EntryCursor) -> Any:
        if not entry.encoded:
            return self._read_text(kind, cursor)
        value = self._decoder(kind, entry, cursor)(cursor, cursor.varint())
        cursor.need_end()
        return value

    def _decoder(self, kind: str, entry: Entry, cursor: EntryCursor) -> Decoder:
        """What reads an entry in its dialect's own encoding."""
        if kind == "location":
            if entry.dialect != "builtin":
                cursor.error(f"an attribute of {entry.dialect} is no location")
            return self.locations
        decoders = self.decoders.get(entry.dialect)
        if decoders is None:
            raise UnknownConstruct(f"the {kind}s of dialect {entry.dialect!r} in bytecode are not known")
        return decoders[kind == "type"]

    def _read_text(self, kind: str, cursor: EntryCursor) -> Any:
        text = bytes(cursor.take(cursor.left))
        if not text.endswith(b"\0"):
            cursor.error("its text is not ended")
        decoded = text[:-1].decode("utf-8", "surrogateescape")
        cursor.weight += len(decoded) >> 6
        if kind == "type":
            return parse_type(decoded)
        value = parse_attribute(decoded)
        if kind == "location":
            cursor.error("a location in a form that is not known")
        return value

    def attribute_of_location(self, cursor: EntryCursor, code: int) -> OpaqueAttr:
        """A location that is the value of an attribute, as its text."""
        return OpaqueAttr(f"loc({location_text(self.locations(cursor, code))})")
