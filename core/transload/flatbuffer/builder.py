"""Building a flatbuffer, back to front.

Offsets in a flatbuffer point forward, so what is referred to is made first and lies further back. Pieces
are kept in a list and joined once, so large constants are copied once. A *place* is a distance from the
end of the buffer, which stays the same while things are put in front.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

import numpy as np

from ..errors import ConversionError
from ..escapes import spelt

__all__ = ["FlatBuilder", "Layout", "layout"]

_LENGTH = struct.Struct("<I").pack
_NOTHING = _LENGTH(0)
_SMALL = 1 << 12
"""Bytes up to which joining them with what stands around them costs less than a piece of their own."""
_SIZES = {code: struct.calcsize(code.replace("O", "I")) for code in "bB?hHiIfOqQd"}


class Layout:
    """Where the fields of a kind of table lie, for one set of fields present; made by `layout`."""

    __slots__ = ("align", "arrange", "pack", "references", "size", "vtable")

    def __init__(self, fields: tuple[tuple[int, str], ...]) -> None:
        order = sorted(range(len(fields)), key=lambda i: -_SIZES[fields[i][1]])
        self.align = 8 if any(_SIZES[kind] == 8 for _, kind in fields) else 4
        position, text = 4, "<i"
        positions = [0] * len(fields)
        for index in order:
            kind = fields[index][1]
            gap = -position % _SIZES[kind]
            text += f"{gap}x" if gap else ""
            position += gap
            positions[index] = position
            text += "I" if kind == "O" else kind
            position += _SIZES[kind]
        gap = -position % self.align
        self.size = position + gap
        packer = struct.Struct(text + (f"{gap}x" if gap else ""))
        self.pack = packer.pack
        self.references = [(index, positions[index]) for index in order if fields[index][1] == "O"]
        """Which of the fields refer to a place, and where in the table they lie."""
        self.arrange = None if order == list(range(len(fields))) else itemgetter(*order)
        """Brings values of the fields into the order of the table, where that is another."""
        places = [0] * (max((number for number, _ in fields), default=-1) + 1)
        for (number, _), position in zip(fields, positions, strict=True):
            places[number] = position
        self.vtable = struct.pack(f"<{2 + len(places)}H", 4 + 2 * len(places), self.size, *places)


@lru_cache(maxsize=4096)
def layout(*fields: tuple[int, str]) -> Layout:
    """The layout of tables with these fields present: (field number, kind) each.

    A kind is a number's code in `struct` (`B` one byte, `i` int32, ...), or `O` for a reference to a place.
    """
    return Layout(fields)


@lru_cache(maxsize=256)
def _words(count: int) -> Callable[..., bytes]:
    """What packs so many unsigned numbers of 32 bits."""
    return struct.Struct(f"<{count}I").pack


_LONGEST = (1 << 32) - 1
"""How many bytes the field for a vector's length can count."""
_OTHERWISE = "write another kind of file, as .mlir"


def _no_place(values: Sequence[Any], error: struct.error) -> ConversionError:
    """What is raised where the fields of a file are narrower than what they are to hold."""
    shown = ", ".join(map(str, values[:8])) + (", ..." if len(values) > 8 else "")
    return ConversionError(
        f"a file of this kind has no place for {shown}: a number is too large for its field ({error})",
        hint=_OTHERWISE)


class FlatBuilder:
    """A buffer in the making; every method that adds something returns its place.

    Raises `ConversionError` where a number is beyond the type of the field that is to hold it.
    """

    def __init__(self) -> None:
        self.pieces: list[Any] = []
        self.size = 0
        self._large: list[int] = []  # the places in that list of what is not to be copied
        self._vtables: dict[bytes, int] = {}
        self._strings: dict[str, int] = {}
        self._vectors: dict[tuple[int, bytes], int] = {}

    def _put(self, piece: Any, length: int) -> int:
        self.pieces.append(piece)
        self.size += length
        return self.size

    def _align(self, to: int, upcoming: int) -> None:
        gap = -(self.size + upcoming) % to
        if gap:
            self._put(bytes(gap), gap)

    def string(self, text: str) -> int:
        """A string; equal ones are stored once. What is no character in it is spelt out: strings are UTF-8."""
        place = self._strings.get(text)
        if place is None:
            data = spelt(text).encode()
            end = 1 + -(self.size + len(data) + 1) % 4  # a zero byte ends a string
            place = self._strings[text] = self._put(_LENGTH(len(data)) + data + bytes(end), 4 + len(data) + end)
        return place

    def ints(self, values: Sequence[int]) -> int:
        """A vector of int32; equal ones are stored once."""
        return self.vector("i", values)

    def vector(self, code: str, values: Sequence[Any]) -> int:
        """A vector of numbers of `struct` format `code`; equal ones are stored once."""
        count, size = len(values), _SIZES[code]
        try:
            data = struct.pack(f"<I{count}{code}", count, *values)
        except struct.error as error:
            raise _no_place(values, error) from None
        place = self._vectors.get((size, data))
        if place is None:
            self._align(max(4, size), count * size)
            place = self._vectors[size, data] = self._put(data, len(data))
        return place

    def byte_vector(self, data: Any, align: int = 8) -> int:
        """A vector of bytes, the first of which is aligned. An array that does not lie in one piece stays an array (`pieces`)."""
        if (len(data) if isinstance(data, bytes | bytearray) else data.nbytes) > _LONGEST:
            raise ConversionError("a file of this kind has no place for 4 GiB or more in one piece", hint=_OTHERWISE)
        if isinstance(data, np.ndarray) and not data.flags.c_contiguous and data.nbytes > _SMALL:
            self._align(align, data.nbytes)
            self._large.append(len(self.pieces))
            self._put(data, data.nbytes)
            return self._put(_LENGTH(data.nbytes), 4)
        view = memoryview(data).cast("B") if not isinstance(data, bytes) else data
        length = len(view)
        if length <= _SMALL:
            gap = -(self.size + length) % align
            return self._put(b"".join((_LENGTH(length), view, bytes(gap))), 4 + length + gap)
        self._align(align, length)
        self._large.append(len(self.pieces))
        self._put(view, length)
        return self._put(_LENGTH(length), 4)

    def offsets(self, places: Sequence[int]) -> int:
        """A vector of references to what lies at these places."""
        if self.size & 3:
            self._align(4, 0)
        if not places:
            return self._put(_NOTHING, 4)
        at = self.size + 4 * len(places)
        self.size = at + 4
        items = [len(places)]
        for place in places:
            items.append(at - place)
            at -= 4
        self.pieces.append(_words(len(items))(*items))
        return self.size

    def strings(self, texts: Iterable[str]) -> int:
        """A vector of strings."""
        known, string = self._strings, self.string
        return self.offsets([known.get(text) or string(text) for text in texts])

    def table(self, shape: Layout, values: Sequence[Any]) -> int:
        """A table: `values` are what the fields of the layout hold, in its order."""
        vtable = self._vtables.get(shape.vtable)
        if vtable is None:
            self._align(4, len(shape.vtable))
            vtable = self._vtables[shape.vtable] = self._put(shape.vtable, len(shape.vtable))
        gap = -(self.size + shape.size) % shape.align
        if gap:
            self._put(bytes(gap), gap)
        place = self.size = self.size + shape.size
        if shape.references:
            values = list(values)
            for index, position in shape.references:
                values[index] = place - position - values[index]
        if shape.arrange is not None:
            values = shape.arrange(values)
        try:
            self.pieces.append(shape.pack(vtable - place, *values))
        except struct.error as error:
            raise _no_place(values, error) from None
        return place

    def finish(self, root: int, identifier: bytes, align: int = 8) -> list[Any]:
        """The whole buffer, as pieces from first to last; `align` is the greatest alignment in it.

        Long vectors of bytes are pieces of their own, what lies between them is joined.
        """
        self._align(align, 8)
        total = self.size + 8
        self._put(struct.pack("<I4s", total - root, identifier), 8)
        backwards, start = self.pieces[::-1], 0
        joined: list[Any] = []
        for large in reversed(self._large):
            at = len(backwards) - 1 - large
            joined += (b"".join(backwards[start:at]), backwards[at])
            start = at + 1
        return [*joined, b"".join(backwards[start:])]
