"""Constants put into bytecode that was written with stand-ins, so that large ones never go through a compiler's memory.

A portable artifact holds a constant as an attribute of VHLO: its type, and its bytes behind their number. Where all elements are
the same, the bytes are those of one. So a program is written with such a *stand-in*, another one for each large constant, of its
very type; here the entry of each gets the constant's own bytes, and the table of sizes, the lengths of sections and the padding
that aligns them follow (mlir.llvm.org/docs/BytecodeFormat).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from transload.ir.types import Type
from transload.pieces import spelled_out

from . import entries_of
from .container import ENTRIES, OFFSETS, Container, take_section
from .cursor import PADDING, Cursor
from .entries import Entries, EntryCursor
from .vhlo import TENSOR

__all__ = ["Strange", "spliced"]


class Strange(Exception):
    """A stand-in is not there, or there more than once: the program holds the same constant itself."""


def spliced(artifact: bytes, constants: Mapping[tuple[Type, bytes], np.ndarray]) -> Iterator[bytes | memoryview]:
    """An artifact in pieces, with each stand-in replaced: `constants` has them by type and bytes, arrays of any strides.

    Raises `Strange`, before any piece, where not every stand-in is there once.
    """
    container = Container(memoryview(artifact))
    entries = entries_of(container)
    found = _places(container, entries, constants)
    if sorted(map(id, found.values())) != sorted(map(id, constants.values())):
        raise Strange
    return _pieces(artifact, container, found)


def _places(container: Container, entries: Entries, constants: Mapping[tuple[Type, bytes], np.ndarray]) -> dict[int, np.ndarray]:
    """The constants by the number of the attribute that stands for each; a stand-in that is there twice is so here."""
    sizes = {len(data) for _, data in constants}
    found: dict[int, np.ndarray] = {}
    for number, entry in enumerate(container.attributes):
        if entry.dialect != "vhlo" or not entry.encoded or entry.end - entry.start > 64:
            continue
        cursor = EntryCursor(entries, entry, "attribute")
        if cursor.varint() != TENSOR:
            continue
        type_ = cursor.type()
        data = bytes(cursor.blob())
        if len(data) in sizes and (type_, data) in constants:
            found[number] = constants[type_, data]
    return found


def _pieces(artifact: bytes, container: Container, found: Mapping[int, np.ndarray]) -> Iterator[bytes | memoryview]:
    heads = {number: _head(container, number, array.nbytes) for number, array in found.items()}
    grown = {number: len(head) + found[number].nbytes for number, head in heads.items()}
    cursor = Cursor(artifact)
    cursor.take(4)
    cursor.varint()
    cursor.c_string()
    yield artifact[: cursor.pos]
    written = cursor.pos
    while not cursor.at_end:
        begin = cursor.pos
        kind, start, end = take_section(cursor)
        alignment = _alignment(artifact, begin)
        content: Sequence[Any] = [memoryview(artifact)[start:end]]
        if kind == ENTRIES:
            content = _entries(artifact, container, heads, found, start, end)
        elif kind == OFFSETS:
            content = [_offsets(artifact, start, end, grown)]
        length = sum(piece.nbytes if isinstance(piece, np.ndarray) else len(piece) for piece in content)
        head = bytes([artifact[begin]]) + varint(length)
        if alignment is not None:
            head += varint(alignment)
            head += bytes([PADDING]) * (-(written + len(head)) % alignment)
        yield head
        written += len(head) + length
        yield from spelled_out(content)


def _alignment(artifact: bytes, begin: int) -> int | None:
    """What the section that begins there is aligned to, if to anything."""
    if not artifact[begin] & 0x80:
        return None
    cursor = Cursor(artifact, begin + 1)
    cursor.varint()
    return cursor.varint()


def _head(container: Container, number: int, size: int) -> bytes:
    """An entry up to its bytes, of which there are `size` now."""
    entry = container.attributes[number]
    cursor = Cursor(container.data, entry.start, entry.end)
    cursor.varint()
    cursor.varint()
    return bytes(container.data[entry.start : cursor.pos]) + varint(size)


def _entries(
    artifact: bytes, container: Container, heads: Mapping[int, bytes], found: Mapping[int, np.ndarray], start: int, end: int,
) -> list[Any]:
    """The section of attributes and types: what stays in one piece, heads and arrays between."""
    pieces: list[Any] = []
    for number in sorted(found):
        entry = container.attributes[number]
        pieces += [memoryview(artifact)[start : entry.start], heads[number], found[number]]
        start = entry.end
    return [*pieces, memoryview(artifact)[start:end]]


def _offsets(artifact: bytes, start: int, end: int, grown: Mapping[int, int]) -> bytes:
    """The table of sizes, with those of the attributes that grew."""
    cursor = Cursor(artifact, start, end, "section of offsets")
    attributes, types = cursor.varint(), cursor.varint()
    parts = [varint(attributes), varint(types)]
    number = 0
    while not cursor.at_end:
        dialect, group = cursor.varint(), cursor.varint()
        parts += [varint(dialect), varint(group)]
        for _ in range(group):
            flagged = cursor.varint()
            size = grown.get(number, flagged >> 1) if number < attributes else flagged >> 1
            parts.append(varint(size << 1 | flagged & 1))
            number += 1
    return b"".join(parts)


def varint(value: int) -> bytes:
    """An unsigned number as bytecode writes it: its first byte ends in as many zeros as bytes follow."""
    for more in range(8):
        if value < 1 << 7 * (more + 1):
            return ((value << 1 | 1) << more).to_bytes(more + 1, "little")
    return b"\0" + value.to_bytes(8, "little")
