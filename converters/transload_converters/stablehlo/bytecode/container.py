"""The outer form of MLIR bytecode: its sections, strings, dialects, resources and properties.

Source: mlir.llvm.org/docs/BytecodeFormat. Versions 0 to 6 of the format are read.
"""

from __future__ import annotations

from dataclasses import dataclass

from .cursor import Cursor, UnknownConstruct

__all__ = ["ENTRIES", "MAGIC", "OFFSETS", "Container", "Dialect", "Entry", "OpName", "take_section"]

MAGIC = b"ML\xefR"
NEWEST = 6

# Versions of the format that changed what is written.
DIALECT_VERSIONS, LAZY_REGIONS, USE_LISTS, ELIDED_LOCATIONS, PROPERTIES, SPARSE_SEGMENTS = 1, 2, 3, 4, 5, 6

_STRING, _DIALECT, ENTRIES, OFFSETS, IR, _RESOURCE, _RESOURCE_OFFSETS, _VERSIONS, _PROPERTIES = range(9)
_NEEDED = {_STRING: "strings", _DIALECT: "dialects", ENTRIES: "attributes", OFFSETS: "offsets", IR: "operations"}
_BLOB = 0
MAX_NAME = 4096


@dataclass
class Dialect:
    """A dialect that the file names; `version` is what it says of itself, if anything."""

    name: str
    version: Cursor | None = None


@dataclass
class OpName:
    """An operation that the file names."""

    name: str
    dialect: str
    registered: bool


@dataclass
class Entry:
    """Where an attribute or type lies, whose dialect wrote it, and whether in that dialect's own encoding (else as text)."""

    dialect: str
    start: int
    end: int
    encoded: bool


def take_section(cursor: Cursor) -> tuple[int, int, int]:
    """The next section: its kind, and where its content begins and ends."""
    kind = cursor.byte()
    length = cursor.varint()
    if kind & 0x80:
        cursor.align(cursor.varint())
    start = cursor.pos
    if length > cursor.left:
        cursor.error(f"a section claims {length} bytes, and {cursor.left} are left")
    cursor.pos = start + length
    return kind & 0x7F, start, start + length


class Container:
    """The parts of a file.

    `data` is a view of all of it; `sections` maps kinds to places. Raises `BytecodeError` where the file is
    damaged, `UnknownConstruct` where its version of the format is newer.
    """

    def __init__(self, data: memoryview) -> None:
        self.data = data
        cursor = Cursor(data, what="bytecode")
        if bytes(cursor.take(4)) != MAGIC:
            cursor.error("it does not begin as bytecode does")
        self.version = cursor.varint()
        self.producer = cursor.c_string().decode("utf-8", "replace")
        if self.version > NEWEST:
            raise UnknownConstruct(f"the bytecode is of version {self.version} of MLIR's format; versions 0 to {NEWEST} are read")
        self.sections: dict[int, tuple[int, int]] = {}
        while not cursor.at_end:
            kind, start, end = take_section(cursor)
            if kind > _PROPERTIES:
                raise UnknownConstruct(f"section {kind} of bytecode is not known")
            if kind in self.sections:
                cursor.error(f"section {kind} is there twice")
            self.sections[kind] = (start, end)
        missing = [name for kind, name in _NEEDED.items() if kind not in self.sections]
        if missing:
            cursor.error(f"the section of {', '.join(missing)} is missing")
        self.strings = self._read_strings()
        self.dialects: list[Dialect] = []
        self.ops: list[OpName] = []
        self._read_dialects()
        self.attributes: list[Entry] = []
        self.types: list[Entry] = []
        self._read_entries()
        self.resources: list[tuple[str, memoryview | None]] = []
        self._read_resources()
        self.properties = self._read_properties()

    def cursor(self, kind: int, what: str) -> Cursor:
        """At the beginning of a section that is there."""
        start, end = self.sections[kind]
        return Cursor(self.data, start, end, what)

    def string_at(self, cursor: Cursor, index: int) -> str:
        if index >= len(self.strings):
            cursor.error(f"string {index} of {len(self.strings)}")
        return self.strings[index].decode("utf-8", "surrogateescape")

    def _read_strings(self) -> list[bytes]:
        """Strings lie after their lengths, which stand in reverse order."""
        cursor = self.cursor(_STRING, "section of strings")
        lengths = [cursor.varint() for _ in range(cursor.count("strings"))]
        lengths.reverse()
        strings = []
        for length in lengths:
            if length < 1:
                cursor.error("a string has no end")
            text = bytes(cursor.take(length))
            if text[-1]:
                cursor.error("a string is not ended")
            strings.append(text[:-1])
        cursor.need_end()
        return strings

    def _dialect(self, cursor: Cursor) -> Dialect:
        index = cursor.varint()
        if index >= len(self.dialects):
            cursor.error(f"dialect {index} of {len(self.dialects)}")
        return self.dialects[index]

    def _read_dialects(self) -> None:
        cursor = self.cursor(_DIALECT, "section of dialects")
        for _ in range(cursor.count("dialects")):
            if self.version < DIALECT_VERSIONS:
                self.dialects.append(Dialect(self.string_at(cursor, cursor.varint())))
                continue
            name, versioned = cursor.flagged()
            dialect = Dialect(self.string_at(cursor, name))
            if versioned:
                _, start, end = take_section(cursor)
                dialect.version = Cursor(self.data, start, end, "version of a dialect")
            self.dialects.append(dialect)
        if self.version >= ELIDED_LOCATIONS:
            cursor.count("operations")
        while not cursor.at_end:
            dialect = self._dialect(cursor)
            for _ in range(cursor.count("operations")):
                registered = True
                if self.version >= PROPERTIES:
                    name, registered = cursor.flagged()
                else:
                    name = cursor.varint()
                op = self.string_at(cursor, name)
                self.ops.append(OpName(f"{dialect.name}.{op}" if dialect.name else op, dialect.name, registered))

    def _read_entries(self) -> None:
        """Attributes and types lie one after the other; a table beside them has their sizes, dialect by dialect."""
        cursor = self.cursor(OFFSETS, "section of offsets")
        wanted = (cursor.count("attributes"), cursor.count("types"))
        start, end = self.sections[ENTRIES]
        position = start
        for number, entries in zip(wanted, (self.attributes, self.types), strict=True):
            while len(entries) < number:
                dialect = self._dialect(cursor).name
                group = cursor.varint()
                if not 0 < group <= number - len(entries):
                    cursor.error(f"a group of {group} entries")
                for _ in range(group):
                    size, encoded = cursor.flagged()
                    if size > end - position:
                        cursor.error("an entry lies outside of its section")
                    entries.append(Entry(dialect, position, position + size, encoded))
                    position += size
        cursor.need_end()

    def _read_resources(self) -> None:
        """Blobs of dialects, in the order in which attributes refer to them; those of others are passed over."""
        if _RESOURCE_OFFSETS not in self.sections:
            return
        cursor = self.cursor(_RESOURCE_OFFSETS, "section of resource offsets")
        content = self.cursor(_RESOURCE, "section of resources") if _RESOURCE in self.sections else Cursor(b"", what="resources")
        for _ in range(cursor.count("groups of resources")):
            self.string_at(cursor, cursor.varint())
            self._read_group(cursor, content, keep=False)
        while not cursor.at_end:
            self._dialect(cursor)
            self._read_group(cursor, content, keep=True)

    def _read_group(self, cursor: Cursor, content: Cursor, keep: bool) -> None:
        for _ in range(cursor.count("resources")):
            key = self.string_at(cursor, cursor.varint())
            size = cursor.varint()
            kind = cursor.byte()
            start = content.pos
            content.take(size)
            blob: memoryview | None = None
            if keep and size and kind == _BLOB:
                inner = Cursor(self.data, start, content.pos, f"resource {key!r:.60}")
                alignment, length = inner.varint(), inner.varint()
                inner.align(alignment)
                blob = memoryview(inner.take(length))
            if keep:
                self.resources.append((key, blob))

    def _read_properties(self) -> list[tuple[int, int]]:
        """Where the properties of operations lie."""
        if _PROPERTIES not in self.sections:
            return []
        cursor = self.cursor(_PROPERTIES, "section of properties")
        places = []
        for _ in range(cursor.count("properties")):
            size = cursor.varint()
            start = cursor.pos
            cursor.take(size)
            places.append((start, cursor.pos))
        cursor.need_end()
        return places
