"""Reading FlatBuffers that nobody vouches for.

The `flatbuffers` package trusts what it reads. Here every offset, vtable and vector is checked against
the file's size before it is followed, so that a damaged or malicious file ends in a `ReadError` which says
where, and never reads outside the file, recurses for ever or asks for more memory than the file has bytes.
"""

from __future__ import annotations

import struct
from typing import Any, NoReturn

import numpy as np

from ..errors import Finding, ReadError

__all__ = ["FlatFile", "Table"]

_U16_PAIR = struct.Struct("<HH")
_U32 = struct.Struct("<I")
_I32 = struct.Struct("<i")
_SCALARS = {code: struct.Struct(f"<{code}") for code in "bB?hHiIqQfd"}
_DTYPES = {code: np.dtype(f"<{code}") for code in "iqf"}


class FlatFile:
    """The bytes of a file, and where in it we are.

    `name` and `place` (text: `"operator 3 (CONV_2D)"`) say in every error what was being read; whoever reads
    keeps `place` up to date. The numbers in vectors may together be a few times the file's size: more can only
    come from vectors that lie over each other, made to keep a reader busy. Strings are read once each; what is no UTF-8
    in them is replaced, or, with `strict`, an error.
    """

    __slots__ = ("_allowance", "_strings", "_vtables", "data", "name", "place", "size", "strict")

    def __init__(self, data: Any, name: str, place: str = "the file's root", strict: bool = False) -> None:
        self.data = memoryview(data)
        self.size = len(self.data)
        self.name = name
        self.place = place
        self.strict = strict
        self._allowance = 8 * self.size + (1 << 20)
        self._strings: dict[int, str] = {}
        self._vtables: dict[int, tuple[int, tuple[int, ...]]] = {}

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
            self.fail("its parts refer to each other more often than its size allows: vectors lie over each other")

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

    def string(self, position: int) -> str:
        """The string at `position`."""
        text = self._strings.get(position)
        if text is None:
            start, count = self.vector(position, 1)
            self.spend(count)
            try:
                text = str(self.data[start : start + count], "utf-8", "strict" if self.strict else "replace")
            except UnicodeDecodeError:
                self.fail("a string is no UTF-8")
            self._strings[position] = text
        return text

    def vtable(self, position: int) -> tuple[int, tuple[int, ...]]:
        """The size of the tables that the vtable at `position` describes, and the offset of each field."""
        found = self._vtables.get(position)
        if found is None:
            if not 0 <= position <= self.size - 4:
                self.damaged("a table's vtable", position)
            size, table_size = _U16_PAIR.unpack_from(self.data, position)
            if size < 4 or position + size > self.size:
                self.damaged("a table's vtable", position)
            found = self._vtables[position] = table_size, struct.unpack_from(f"<{(size - 4) // 2}H", self.data, position + 4)
        return found


class Table:
    """One table of a FlatBuffer; fields are asked for by their numbers in the schema."""

    __slots__ = ("_fields", "_position", "file")

    def __init__(self, file: FlatFile, position: int) -> None:
        if position + 4 > file.size:
            file.damaged("a table", position)
        size, fields = file.vtable(position - _I32.unpack_from(file.data, position)[0])
        if position + size > file.size:
            file.damaged("a table", position)
        self.file = file
        self._position = position
        self._fields = fields

    @property
    def position(self) -> int:
        """Where in the file it lies."""
        return self._position

    def _field(self, number: int) -> int:
        """Where the field lies, or 0 where it is absent."""
        fields = self._fields
        offset = fields[number] if number < len(fields) else 0
        return self._position + offset if offset else 0

    def scalar(self, number: int, code: str, default: Any = 0) -> Any:
        """A number of `struct` format `code`, or `default` where the file leaves it out."""
        fields = self._fields
        offset = fields[number] if number < len(fields) else 0
        if not offset:
            return default
        try:
            return _SCALARS[code].unpack_from(self.file.data, self._position + offset)[0]
        except struct.error:
            self.file.damaged("a number", self._position + offset)

    def has(self, number: int) -> bool:
        """Whether the field is present."""
        return self._field(number) != 0

    def table(self, number: int) -> Table | None:
        """The table in this field."""
        position = self._field(number)
        return Table(self.file, self.file.forward(position)) if position else None

    def _references(self, number: int) -> list[int]:
        """Where the items of a vector of tables or strings lie."""
        position = self._field(number)
        if not position:
            return []
        file = self.file
        start, count = file.vector(file.forward(position), 4)
        file.spend(4 * count)
        return [start + 4 * index + offset for index, offset in enumerate(struct.unpack_from(f"<{count}I", file.data, start))]

    def tables(self, number: int) -> list[Table]:
        """The tables of a vector of them."""
        return [Table(self.file, position) for position in self._references(number)]

    def strings(self, number: int) -> list[str]:
        """The strings of a vector of them."""
        return [self.file.string(position) for position in self._references(number)]

    def numbers(self, number: int, code: str) -> tuple[Any, ...]:
        """The numbers of a vector, of `struct` format `code`."""
        fields = self._fields
        offset = fields[number] if number < len(fields) else 0
        if not offset:
            return ()
        file = self.file
        item_size = _SCALARS[code].size
        start, count = file.vector(file.forward(self._position + offset), item_size)
        file.spend(item_size * count)
        return struct.unpack_from(f"<{count}{code}", file.data, start)

    def array(self, number: int, code: str) -> np.ndarray:
        """The numbers of a vector that may be long, as an array that views the file: 32-bit or 64-bit integers, or floats."""
        position, dtype = self._field(number), _DTYPES[code]
        if not position:
            return np.empty(0, dtype)
        file = self.file
        start, count = file.vector(file.forward(position), dtype.itemsize)
        file.spend(dtype.itemsize * count)
        return np.frombuffer(file.data, dtype, count, start)

    def count(self, number: int) -> int:
        """How many items a vector has."""
        position = self._field(number)
        return self.file.vector(self.file.forward(position), 1)[1] if position else 0

    def extent(self, number: int) -> tuple[int, int]:
        """Where the bytes of a vector of bytes start, and how many there are; nothing is read."""
        position = self._field(number)
        return self.file.vector(self.file.forward(position), 1) if position else (0, 0)

    def view(self, number: int) -> memoryview | None:
        """The bytes of a vector of bytes, where they lie in the file; None where it is absent."""
        if not self._field(number):
            return None
        start, count = self.extent(number)
        return self.file.data[start : start + count]

    def data(self, number: int) -> bytes:
        """The bytes of a vector of bytes."""
        start, count = self.extent(number)
        self.file.spend(count)
        return bytes(self.file.data[start : start + count])

    def text(self, number: int, default: str = "") -> str:
        """A string, or `default` where it is absent."""
        position = self._field(number)
        return self.file.string(self.file.forward(position)) if position else default
