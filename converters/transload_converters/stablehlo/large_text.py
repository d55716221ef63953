"""MLIR text with its large constants taken out: what is left is small, however many weights there are.

    text, blobs = cut_blobs(data)

Large hexadecimal literals (`dense<"0x...">` of a constant, entries of a resource section) are found by search for their ends,
not read. In their places stand `dense_resource<key>`, whose data is in `blobs`, decoded when first asked for.
"""

from __future__ import annotations

import binascii
import mmap
import re
from typing import Any

import numpy as np

from transload.errors import ReadError
from transload.ir.constants import ArrayData, Dense, LazyData, SplatData, dtype_of
from transload.ir.types import BOOL, TensorType
from transload.text.dense_text import byte_width, from_bytes

__all__ = ["Blob", "cut_blobs"]

LARGE = 4096
"""Hexadecimal digits; shorter literals stay in the text."""
_LAZY_ABOVE = 1 << 20

_BEFORE = re.compile(rb'(?:(?:constant\s*(?:\{[^{}]*\})?|value\s*=|[:=@\w"]\s*=|\()\s*)dense<\s*$')
_ENTRY = re.compile(rb'[{,]\s*("[^"\\]*(?:\\.[^"\\]*)*"|[A-Za-z_][\w$.]*)\s*:\s*$')


class Blob:
    """Hexadecimal digits in a text. Those of a resource begin with its alignment, in four bytes."""

    __slots__ = ("data", "end", "name", "start")

    def __init__(self, data: memoryview, start: int, end: int, name: str) -> None:
        self.data = data
        self.start = start
        self.end = end
        self.name = name

    def dense(self, type_: TensorType) -> Dense:
        """The constant of a type; `ReadError` where the number of digits does not fit."""
        shape: tuple[int, ...] = type_.shape or ()  # type: ignore[assignment]
        size, count, width = (self.end - self.start) // 2, int(np.prod(shape, dtype=object)), byte_width(type_.element)
        if (self.end - self.start) % 2:
            raise ReadError(f"{self.name}: a constant has an odd number of hexadecimal digits")
        packed = type_.element == BOOL and size == (count + 7) // 8
        if size != count * width and not packed:
            if size == width and count:
                return Dense(SplatData(from_bytes(self._bytes(), TensorType((), type_.element)), shape), type_)
            raise ReadError(f"{self.name}: {type_} takes {count * width} bytes, and {size} are given")

        def make() -> np.ndarray:
            return from_bytes(self._bytes(), type_)  # type: ignore[return-value]

        if size <= _LAZY_ABOVE:
            return Dense(ArrayData(make()), type_)
        return Dense(LazyData(make, shape, dtype_of(type_.element)), type_)

    def _bytes(self) -> np.ndarray:
        try:
            return np.frombuffer(binascii.unhexlify(self.data[self.start : self.end]), np.uint8)
        except binascii.Error as error:
            raise ReadError(f"{self.name}: a constant's hexadecimal digits cannot be read: {error}") from None


def cut_blobs(data: memoryview, name: str) -> tuple[bytes, dict[str, Blob]]:
    """The text without its large literals, and those by the keys that stand in their places."""
    source: Any = data.obj  # what the view is of can search: a mapped file, or bytes
    if not isinstance(source, (bytes, bytearray, mmap.mmap)) or len(source) != len(data):
        source = bytes(data)
    find = source.find
    pieces: list[bytes] = []
    blobs: dict[str, Blob] = {}
    resources: list[tuple[int, int, str]] = []
    taken = at = 0
    while (at := find(b'"0x', at)) >= 0:
        end = find(b'"', at + 3)
        if end < 0:
            break
        if end - at - 3 < LARGE:
            at = end + 1
            continue
        before = bytes(source[max(taken, at - 200) : at])
        entry = _ENTRY.search(before)
        if _BEFORE.search(before) and bytes(source[end + 1 : end + 2]) == b">":
            key = f"cut_from_text_{len(blobs)}"
            blobs[key] = Blob(data, at + 3, end, name)
            start = at - (len(before) - before.rindex(b"dense<"))
            pieces += [bytes(source[taken:start]), b"dense_resource<", key.encode()]
            taken = end + 1
        elif entry is not None:
            key = entry[1].decode("utf-8", "replace").strip('"')
            blobs[key] = Blob(data, at + 3 + 8, end, name)
            start = at - (len(before) - entry.start(1))
            pieces.append(bytes(source[taken:start]))
            taken = end + 1
            resources.append((start, end, key))
        at = end + 1
    if not blobs:
        return bytes(data), {}
    pieces.append(bytes(source[taken:]))
    text = b"".join(pieces)
    return (_without_empty_entries(text) if resources else text), blobs


def _without_empty_entries(text: bytes) -> bytes:
    """A resource section from which entries were taken leaves commas behind."""
    at = text.rfind(b"{-#")
    head, section = text[:at], text[at:]
    section = re.sub(rb"(?:,\s*)+(?=,|\})", b"", section)
    section = re.sub(rb"\{(?:\s*,)+", b"{", section)
    return head + section
