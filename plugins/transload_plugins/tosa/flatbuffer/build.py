"""Building a flatbuffer, back to front.

Offsets in a flatbuffer point forward, so what is referred to is made first and lies further back. Pieces
are kept in a list and joined once, so large constants are copied once. A *place* is a distance from the
end of the buffer, which stays the same while things are put in front.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["FlatBuilder"]

_SIZES = {"B": 1, "i": 4, "I": 4, "O": 4, "Q": 8}


class _Layout:
    """Where the fields of a kind of table lie, for one set of fields present."""

    __slots__ = ("align", "offsets", "pack", "size", "vtable")

    def __init__(self, slots: tuple[tuple[int, str], ...]) -> None:
        order = sorted(range(len(slots)), key=lambda i: -_SIZES[slots[i][1]])
        self.align = 8 if any(kind == "Q" for _, kind in slots) else 4
        position, text = 4, "<i"
        positions = [0] * len(slots)
        for index in order:
            kind = slots[index][1]
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
        self.offsets = [(index, positions[index] if slots[index][1] == "O" else -1) for index in order]
        places = [0] * (max((slot for slot, _ in slots), default=-1) + 1)
        for (slot, _), position in zip(slots, positions, strict=True):
            places[slot] = position
        self.vtable = struct.pack(f"<{2 + len(places)}H", 4 + 2 * len(places), self.size, *places)


class FlatBuilder:
    """A buffer in the making; every method that adds something returns its place."""

    def __init__(self) -> None:
        self.pieces: list[Any] = []
        self.size = 0
        self._layouts: dict[tuple[tuple[int, str], ...], _Layout] = {}
        self._vtables: dict[bytes, int] = {}
        self._strings: dict[str, int] = {}
        self._vectors: dict[tuple[str, tuple[int, ...]], int] = {}

    def _put(self, piece: Any, length: int) -> int:
        self.pieces.append(piece)
        self.size += length
        return self.size

    def _align(self, to: int, upcoming: int) -> None:
        gap = -(self.size + upcoming) % to
        if gap:
            self._put(bytes(gap), gap)

    def string(self, text: str) -> int:
        """A string; equal ones are stored once."""
        place = self._strings.get(text)
        if place is None:
            data = text.encode()
            length = 4 + len(data) + 1
            self._align(4, length)
            place = self._strings[text] = self._put(struct.pack(f"<I{len(data)}sx", len(data), data), length)
        return place

    def ints(self, values: Sequence[int]) -> int:
        """A vector of int32; equal ones are stored once."""
        key = ("i", tuple(values))
        place = self._vectors.get(key)
        if place is None:
            self._align(4, 0)
            place = self._vectors[key] = self._put(struct.pack(f"<I{len(values)}i", len(values), *values), 4 + 4 * len(values))
        return place

    def byte_vector(self, data: Any) -> int:
        """A vector of bytes, the first of which is aligned to 8."""
        view = memoryview(data).cast("B") if not isinstance(data, bytes) else data
        length = len(view)
        self._align(8, length)
        self._put(view, length)
        return self._put(struct.pack("<I", length), 4)

    def offsets(self, places: Sequence[int]) -> int:
        """A vector of references to what lies at these places."""
        count = len(places)
        self._align(4, 0)
        place = self.size + 4 + 4 * count
        first = place - 4
        return self._put(
            struct.pack(f"<I{count}I", count, *[first - 4 * index - target for index, target in enumerate(places)]),
            4 + 4 * count)

    def strings(self, texts: Iterable[str]) -> int:
        """A vector of strings."""
        return self.offsets([self.string(text) for text in texts])

    def table(self, slots: tuple[tuple[int, str], ...], values: Sequence[int]) -> int:
        """A table: `slots` are (field number, kind) of the fields present, `values` what they hold.

        Kinds: `B` one byte, `i` int32, `I` uint32, `Q` uint64, `O` a reference to a place.
        """
        layout = self._layouts.get(slots)
        if layout is None:
            layout = self._layouts[slots] = _Layout(slots)
        vtable = self._vtables.get(layout.vtable)
        if vtable is None:
            self._align(4, len(layout.vtable))
            vtable = self._vtables[layout.vtable] = self._put(layout.vtable, len(layout.vtable))
        self._align(layout.align, layout.size)
        place = self.size + layout.size
        fields = [values[index] if position < 0 else place - position - values[index] for index, position in layout.offsets]
        return self._put(layout.pack(vtable - place, *fields), layout.size)

    def finish(self, root: int, identifier: bytes) -> list[Any]:
        """The whole buffer, as pieces from first to last."""
        self._align(8, 8)
        total = self.size + 8
        self._put(struct.pack("<I4s", total - root, identifier), 8)
        return self.pieces[::-1]
