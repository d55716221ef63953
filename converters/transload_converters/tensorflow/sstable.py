"""Sorted string tables, the file format of the index of a checkpoint (and of LevelDB).

Blocks of keys that share prefixes with the one before, a block that says where the blocks are, and a footer that says where that
one is. Every block has a CRC-32C, and may be compressed by Snappy.

Source: tensorflow/core/lib/io/format.cc, table_builder.cc, block.cc; https://github.com/google/snappy/blob/main/format_description.txt
"""

from __future__ import annotations

from collections.abc import Iterator

from transload.errors import ReadError
from transload.protobuf import read_varint

from .crc32c import crc32c, masked

__all__ = ["table_of"]

_MAGIC, _FOOTER, _TRAILER = 0xDB4775248B80FB57, 48, 5
_STORED, _SNAPPY = 0, 1
_DAMAGED = "the file is damaged, or was cut short"
_LARGEST = 1 << 28
"""Bytes that a compressed block may be, and keys and values together: an index of a million tensors is smaller."""
_LONGEST_KEY = 1 << 16
"""Bytes of a key, which is the name of a tensor: seven bytes of an entry can repeat all of the key before it."""


def table_of(data: memoryview) -> dict[bytes, bytes]:
    """The entries of a table. Raises ReadError, or IndexError and ValueError of what is no table at all."""
    if len(data) < _FOOTER or int.from_bytes(data[-8:], "little") != _MAGIC:
        raise ReadError("is no index of a checkpoint", hint=_DAMAGED)
    at = len(data) - _FOOTER
    for _ in range(2):  # where the meta index is, and how long
        _, at = read_varint(data, at)
    found: dict[bytes, bytes] = {}
    behind = held = 0
    for _, handle in _entries(_block(data, *_place(data[at:]))):
        start, end = _place(memoryview(handle))
        if start < behind:
            raise ReadError("is damaged: its blocks overlap, or do not follow each other", hint=_DAMAGED)
        behind = end
        for key, value in _entries(_block(data, start, end)):
            held += len(key) + len(value)
            if held > _LARGEST:
                raise ReadError(f"is damaged: its keys and values take more than {_LARGEST:,} bytes", hint=_DAMAGED)
            found[key] = value
    return found


def _place(handle: memoryview) -> tuple[int, int]:
    """Where the block that a handle points to begins and ends: the handle has its beginning and its size."""
    start, at = read_varint(handle, 0)
    size, _ = read_varint(handle, at)
    return start, start + size


def _block(data: memoryview, start: int, end: int) -> memoryview:
    """The block from start to end. Behind it stand how it is compressed, and its checksum."""
    if end + _TRAILER > len(data):
        raise ReadError("is damaged: a block lies beyond its end", hint=_DAMAGED)
    if masked(crc32c(data[start:end + 1])) != int.from_bytes(data[end + 1:end + _TRAILER], "little"):
        raise ReadError("is damaged: the checksum of a block does not fit", hint=_DAMAGED)
    if data[end] == _STORED:
        return data[start:end]
    if data[end] != _SNAPPY:
        raise ReadError(f"has blocks compressed by method {data[end]}, which is not known", hint="save the checkpoint anew")
    return memoryview(_unpacked(data[start:end]))


def _entries(block: memoryview) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of a block. A key is given by how much of the last one it shares, and the rest."""
    if len(block) < 4:
        raise ValueError("a block without an end")
    end = len(block) - 4 * (int.from_bytes(block[-4:], "little") + 1)
    if end < 0:
        raise ValueError("a block that is all restarts")
    at, key = 0, b""
    while at < end:
        shared, at = read_varint(block, at)
        rest, at = read_varint(block, at)
        size, at = read_varint(block, at)
        if shared > len(key) or at + rest + size > end:
            raise ValueError("an entry that goes beyond its block")
        if shared + rest > _LONGEST_KEY:
            raise ValueError(f"a key of {shared + rest:,} bytes")
        key = key[:shared] + bytes(block[at:at + rest])
        yield key, bytes(block[at + rest:at + rest + size])
        at += rest + size


def _unpacked(data: memoryview) -> bytes:
    """What Snappy compressed: its size, then bytes as they are, in turn with copies of what came before."""
    size, at = read_varint(data, 0)
    if size > _LARGEST:
        raise ValueError(f"a block of {size:,} bytes")
    made = bytearray()
    while at < len(data):
        tag, at = data[at], at + 1
        kind, length = tag & 3, tag >> 2
        if kind == 0:  # bytes as they are; of a long run, the length follows
            if length >= 60:
                wide = length - 59
                length, at = int.from_bytes(data[at:at + wide], "little"), at + wide
            made += data[at:at + length + 1]
            at += length + 1
        else:
            wide = (1, 2, 4)[kind - 1]
            offset, at = int.from_bytes(data[at:at + wide], "little"), at + wide
            if kind == 1:
                offset, length = (tag >> 5) << 8 | offset, length & 7
            length += 4 if kind == 1 else 1
            if not 0 < offset <= len(made):
                raise ValueError("a copy from before the beginning")
            for _ in range(length):  # a copy may reach into itself
                made.append(made[-offset])
        if len(made) > size:
            break
    if len(made) != size:
        raise ValueError("a block of another size than it says")
    return bytes(made)
