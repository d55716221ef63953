"""Reading a flatbuffer that nobody vouches for: every position is checked before it is used.

Work is bounded, too: a small file may refer to one table a million times, so the elements of vectors that
are walked are counted against the file's size.
"""

from __future__ import annotations

import struct
from typing import Any

from transload.errors import ReadError

__all__ = ["FlatBuffer", "Table"]

_U16, _U32, _I32, _U64 = struct.Struct("<H"), struct.Struct("<I"), struct.Struct("<i"), struct.Struct("<Q")


class FlatBuffer:
    """The bytes of a file, and what was read of them already."""

    def __init__(self, data: memoryview, name: str) -> None:
        self.data = data
        self.size = len(data)
        self.name = name
        self.budget = 4 * self.size + 4096
        self._strings: dict[int, str] = {}

    def fail(self, why: str) -> ReadError:
        """The error to raise."""
        return ReadError(f"{self.name} is damaged: {why}", hint="export the model again; this is no valid .tosa flatbuffer")

    def need(self, position: int, length: int, what: str) -> int:
        """`position`, if `length` bytes are there."""
        if position < 0 or length < 0 or position + length > self.size:
            raise self.fail(f"{what} lies outside the file")
        return position

    def spend(self, elements: int) -> None:
        """Count elements that are about to be walked."""
        self.budget -= elements
        if self.budget < 0:
            raise self.fail("its parts refer to each other more often than its size allows")

    def u32(self, position: int) -> int:
        return _U32.unpack_from(self.data, self.need(position, 4, "a number"))[0]

    def follow(self, position: int) -> int:
        """The place that the offset at `position` refers to."""
        return self.need(position + self.u32(position), 4, "a reference")

    def root(self) -> Table:
        return Table(self, self.follow(0))

    def string(self, position: int) -> str:
        """The string at a place."""
        text = self._strings.get(position)
        if text is None:
            length = self.u32(position)
            self.need(position + 4, length, "a string")
            try:
                text = self._strings[position] = bytes(self.data[position + 4 : position + 4 + length]).decode()
            except UnicodeDecodeError:
                raise self.fail("a string is no UTF-8") from None
        return text


class Table:
    """A table at a place; fields by number, with the schema's defaults where they are absent."""

    __slots__ = ("buffer", "fields", "position", "size")

    def __init__(self, buffer: FlatBuffer, position: int) -> None:
        self.buffer = buffer
        self.position = buffer.need(position, 4, "a table")
        vtable = buffer.need(position - _I32.unpack_from(buffer.data, position)[0], 4, "a table's description")
        length, self.size = _U16.unpack_from(buffer.data, vtable)[0], _U16.unpack_from(buffer.data, vtable + 2)[0]
        if length < 4 or length % 2 or self.size < 4:
            raise buffer.fail("a table's description makes no sense")
        buffer.need(vtable, length, "a table's description")
        buffer.need(position, self.size, "a table")
        count = (length - 4) // 2
        buffer.spend(1)
        self.fields: tuple[int, ...] = struct.unpack_from(f"<{count}H", buffer.data, vtable + 4)

    def place(self, slot: int, width: int) -> int | None:
        """Where field `slot` of `width` bytes lies, None where it is absent."""
        offset = self.fields[slot] if slot < len(self.fields) else 0
        if not offset:
            return None
        if offset < 4 or offset + width > self.size:
            raise self.buffer.fail("a field lies outside its table")
        return self.position + offset

    def _number(self, slot: int, packed: struct.Struct, default: int) -> int:
        place = self.place(slot, packed.size)
        return default if place is None else packed.unpack_from(self.buffer.data, place)[0]

    def boolean(self, slot: int, default: bool = False) -> bool:
        place = self.place(slot, 1)
        return default if place is None else bool(self.buffer.data[place])

    def byte(self, slot: int) -> int:
        place = self.place(slot, 1)
        return 0 if place is None else self.buffer.data[place]

    def int32(self, slot: int, default: int = 0) -> int:
        return self._number(slot, _I32, default)

    def uint32(self, slot: int, default: int = 0) -> int:
        return self._number(slot, _U32, default)

    def uint64(self, slot: int) -> int:
        return self._number(slot, _U64, 0)

    def target(self, slot: int) -> int | None:
        """The place that a reference leads to."""
        place = self.place(slot, 4)
        return None if place is None else self.buffer.follow(place)

    def table(self, slot: int) -> Table | None:
        target = self.target(slot)
        return None if target is None else Table(self.buffer, target)

    def string(self, slot: int) -> str | None:
        target = self.target(slot)
        return None if target is None else self.buffer.string(target)

    def _vector(self, slot: int, width: int) -> tuple[int, int]:
        """Place of the first element, and how many there are."""
        target = self.target(slot)
        if target is None:
            return 0, 0
        count = self.buffer.u32(target)
        return self.buffer.need(target + 4, count * width, "a vector"), count

    def ints(self, slot: int) -> tuple[int, ...]:
        first, count = self._vector(slot, 4)
        self.buffer.spend(count)
        return struct.unpack_from(f"<{count}i", self.buffer.data, first)

    def bytes(self, slot: int) -> memoryview | None:
        """A vector of bytes, as a view of the file; None where it is absent."""
        if self.target(slot) is None:
            return None
        first, count = self._vector(slot, 1)
        return self.buffer.data[first : first + count]

    def _targets(self, slot: int) -> list[int]:
        first, count = self._vector(slot, 4)
        self.buffer.spend(count)
        return [self.buffer.follow(first + 4 * index) for index in range(count)]

    def tables(self, slot: int) -> list[Table]:
        return [Table(self.buffer, target) for target in self._targets(slot)]

    def strings(self, slot: int) -> list[str]:
        return [self.buffer.string(target) for target in self._targets(slot)]


def describe(value: Any) -> str:
    """A name for messages, shortened."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
