"""Files changed at the numbers that our own reader reads in them: FlatBuffers, and bytecode.

A reader that is watched tells where each number of a valid file lies; another number of the same width takes its place.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any
from unittest.mock import patch

from transload.api import load
from transload.errors import TransloadError
from transload.flatbuffer import Table
from transload_converters.stablehlo.bytecode.cursor import Cursor

from tests.fuzz.numbers import other_integer, other_number

__all__ = ["mutate_bytecode", "mutate_flatbuffer"]

Place = tuple[int, str]
"""Where a number lies, and its format: of `struct`, or `v` and the count of bytes of a number in bytecode."""


def mutate_flatbuffer(dice: random.Random, content: bytes) -> bytes:
    """A `.tosa` file with one to four numbers, flags, references or letters changed."""
    return _mutate(dice, content, _places(content, "tosa"))


def mutate_bytecode(dice: random.Random, content: bytes) -> bytes:
    """A file of MLIR bytecode with one to four numbers changed."""
    return _mutate(dice, content, _places(content, "stablehlo"))


def _mutate(dice: random.Random, content: bytes, places: tuple[Place, ...]) -> bytes:
    data = bytearray(content)
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 4))):
        at, code = dice.choice(places)
        if code[0] == "v":
            data[at : at + int(code[1:])] = _number(dice, bytes(data[at : at + int(code[1:])]))
        elif code == "s":
            struct.pack_into("<I", data, at, max(0, struct.unpack_from("<I", data, at)[0] - dice.randrange(1, 4)))
        else:
            struct.pack_into(f"<{code}", data, at, other_number(dice, code, struct.unpack_from(f"<{code}", data, at)[0]))
    return bytes(data)


def _number(dice: random.Random, old: bytes) -> bytes:
    """Another number of bytecode that takes as many bytes."""
    size = len(old)
    if size > 8:
        return b"\0" + (other_integer(dice, int.from_bytes(old[1:], "little"), 64, True)).to_bytes(8, "little")
    value = int.from_bytes(old, "little") >> size
    new = other_integer(dice, value, 7 * size, True)
    return ((new << size | 1 << (size - 1)) & ((1 << 8 * size) - 1)).to_bytes(size, "little")


@lru_cache(maxsize=256)
def _places(content: bytes, format: str) -> tuple[Place, ...]:
    """Where the numbers of a valid file lie."""
    found: dict[Place, None] = {}
    with _watched(lambda at, code: found.setdefault((at, code)), format), suppress(TransloadError):
        load(text=content, format=format)
    return tuple(place for place in found if place[0] + 1 < len(content))


@contextmanager
def _watched(tell: Callable[[int, str], Any], format: str) -> Iterator[None]:
    """Have the readers tell `(place, format)` of each number that they read."""
    scalar, numbers, extent, varint = Table.scalar, Table.numbers, Table.extent, Cursor.varint

    def watched_scalar(self: Any, number: int, code: str, default: Any = 0) -> Any:
        if (at := self._field(number)):
            tell(at, code)
        return scalar(self, number, code, default)

    def watched_numbers(self: Any, number: int, code: str) -> Any:
        if (at := self._field(number)):
            start, count = self.file.vector(self.file.forward(at), struct.calcsize(code))
            tell(start - 4, "s")
            for index in range(count):
                tell(start + index * struct.calcsize(code), code)
        return numbers(self, number, code)

    def watched_extent(self: Any, number: int) -> Any:
        start, count = extent(self, number)
        for at in range(start, start + min(count, 64)):
            tell(at, "B")
        return start, count

    def watched_varint(self: Any) -> int:
        start = self.pos
        value = varint(self)
        tell(start, f"v{self.pos - start}")
        return value

    if format == "tosa":
        with patch.multiple(Table, scalar=watched_scalar, numbers=watched_numbers, extent=watched_extent):
            yield
    else:
        with patch.object(Cursor, "varint", watched_varint):
            yield
