"""Reading FlatBuffers that nobody vouches for.

The `flatbuffers` package trusts what it reads. Here every offset, vtable and vector is checked against
the file's size before it is followed, so that a damaged or malicious file ends in a `ReadError` which says
where, and never reads outside the file, recurses for ever or asks for more memory than the file has bytes.

Source: FlatBuffers internals, https://flatbuffers.dev/internals. All numbers are little-endian. A table starts
with a signed offset back to its vtable, which holds its own size, the table's size, and for each field, at the
*slot* that the schema gives it, the field's offset in the table or 0. Strings, vectors and tables inside a table
are unsigned offsets forward.
"""

from __future__ import annotations

import struct
from typing import Any, NoReturn

from transload.errors import Finding, ReadError

__all__ = ["FlatFile", "Table"]

_U16_PAIR = struct.Struct("<HH")
_U16 = struct.Struct("<H")
_U32 = struct.Struct("<I")
_I32 = struct.Struct("<i")
_SCALARS = {
    "b": struct.Struct("<b"), "B": struct.Struct("<B"), "?": struct.Struct("<?"), "h": struct.Struct("<h"),
    "H": _U16, "i": _I32, "I": _U32, "q": struct.Struct("<q"), "Q": struct.Struct("<Q"),
    "f": struct.Struct("<f"), "d": struct.Struct("<d"),
}


class FlatFile:
    """The bytes of a file, and where in it we are.

    `name` and `place` (text: `"operator 3 (CONV_2D)"`) say in every error what was being read; whoever reads
    keeps `place` up to date. The numbers in vectors may together be a few times the file's size: more can only
    come from vectors that lie over each other, made to keep a reader busy.
    """

    __slots__ = ("_allowance", "data", "name", "place", "size")

    def __init__(self, data: Any, name: str, place: str = "the file's root") -> None:
        self.data = memoryview(data)
        self.size = len(self.data)
        self.name = name
        self.place = place
        self._allowance = 8 * self.size + (1 << 20)

    def fail(self, why: str, hint: str = "") -> NoReturn:
        """Raise the `ReadError` for something that is wrong at the present place."""
        raise ReadError(f"{self.name} cannot be read", [Finding(self.place, why, (), hint)])

    def damaged(self, what: str, position: int) -> NoReturn:
        """Raise the `ReadError` for a structure that lies outside the file."""
        self.fail(f"the file is damaged or cut off: {what} at byte {position} of {self.size}")

    def root(self) -> Table:
        """The file's root table."""
        if self.size < 8:
            self.fail(f"the file has {self.size} bytes and cannot hold a model")
        return Table(self, _U32.unpack_from(self.data, 0)[0])

    def spend(self, n_bytes: int) -> None:
        """Count bytes of vectors that were read; see the class."""
        self._allowance -= n_bytes
        if self._allowance < 0:
            self.fail("the file's vectors hold more than the file has bytes: they lie over each other")

    def forward(self, position: int) -> int:
        """Follow the unsigned offset stored at `position`."""
        if position + 4 > self.size:
            self.damaged("an offset", position)
        return position + _U32.unpack_from(self.data, position)[0]

    def vector(self, position: int, item_size: int) -> tuple[int, int]:
        """Where the items of the vector at `position` start, and how many there are; all lie in the file."""
        if position + 4 > self.size:
            self.damaged("a vector", position)
        count = _U32.unpack_from(self.data, position)[0]
        if position + 4 + count * item_size > self.size:
            self.damaged(f"a vector of {count} items", position)
        return position + 4, count


class Table:
    """One table of a FlatBuffer; fields are asked for by their slot."""

    __slots__ = ("_position", "_vtable", "_vtable_size", "file")

    def __init__(self, file: FlatFile, position: int) -> None:
        data, size = file.data, file.size
        if position + 4 > size:
            file.damaged("a table", position)
        vtable = position - _I32.unpack_from(data, position)[0]
        if not 0 <= vtable <= size - 4:
            file.damaged("a table's vtable", vtable)
        vtable_size, table_size = _U16_PAIR.unpack_from(data, vtable)
        if vtable_size < 4 or vtable + vtable_size > size or position + table_size > size:
            file.damaged("a table", position)
        self.file = file
        self._position = position
        self._vtable = vtable
        self._vtable_size = vtable_size

    def _field(self, slot: int) -> int:
        """Where the field lies, or 0 where it is absent."""
        if slot + 2 > self._vtable_size:
            return 0
        offset = _U16.unpack_from(self.file.data, self._vtable + slot)[0]
        return self._position + offset if offset else 0

    def scalar(self, slot: int, code: str, default: Any = 0) -> Any:
        """A number of `struct` format `code`, or `default` where the file leaves it out."""
        position = self._field(slot)
        if not position:
            return default
        try:
            return _SCALARS[code].unpack_from(self.file.data, position)[0]
        except struct.error:
            self.file.damaged("a number", position)

    def has(self, slot: int) -> bool:
        """Whether the field is present."""
        return self._field(slot) != 0

    def table(self, slot: int) -> Table | None:
        """The table in this field."""
        position = self._field(slot)
        return Table(self.file, self.file.forward(position)) if position else None

    def tables(self, slot: int) -> list[Table]:
        """The tables of a vector of them."""
        position = self._field(slot)
        if not position:
            return []
        file = self.file
        start, count = file.vector(file.forward(position), 4)
        file.spend(4 * count)
        return [Table(file, file.forward(start + 4 * index)) for index in range(count)]

    def numbers(self, slot: int, code: str) -> tuple[Any, ...]:
        """The numbers of a vector, of `struct` format `code`."""
        position = self._field(slot)
        if not position:
            return ()
        file = self.file
        item_size = _SCALARS[code].size
        start, count = file.vector(file.forward(position), item_size)
        file.spend(item_size * count)
        return struct.unpack_from(f"<{count}{code}", file.data, start)

    def extent(self, slot: int) -> tuple[int, int]:
        """Where the bytes of a vector of bytes start, and how many there are; nothing is read."""
        position = self._field(slot)
        return self.file.vector(self.file.forward(position), 1) if position else (0, 0)

    def data(self, slot: int) -> bytes:
        """The bytes of a vector of bytes."""
        start, count = self.extent(slot)
        self.file.spend(count)
        return bytes(self.file.data[start : start + count])

    def text(self, slot: int) -> str:
        """A string; what is not UTF-8 in it is replaced."""
        return self.data(slot).decode("utf-8", "replace")
