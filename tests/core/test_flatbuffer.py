"""Flatbuffers: what is built is read back, aligned and shared; what is damaged ends in a `ReadError`."""

from __future__ import annotations

import random
import struct
from typing import Any

import numpy as np
import pytest

from transload.errors import ConversionError, ReadError
from transload.flatbuffer import FlatBuilder, FlatFile, Table
from transload.flatbuffer.builder import layout

NUMBERS: dict[str, Any] = {
    "b": -3, "B": 200, "?": True, "h": -300, "H": 60000, "i": -70000, "I": 4_000_000_000, "f": 1.5, "q": -(1 << 60),
    "Q": 1 << 63, "d": 0.1}


def built(root: Any, align: int = 8) -> bytes:
    builder = FlatBuilder()
    return b"".join(builder.finish(root(builder), b"TEST", align))


def every_kind(builder: FlatBuilder) -> int:
    """A table with a number of each kind, then a string, vectors of each kind, bytes, tables and strings."""
    fields = [(number, code) for number, code in enumerate(NUMBERS)]
    values: list[Any] = list(NUMBERS.values())
    inner = [builder.table(layout((0, "i")), (number,)) for number in (7, 8)]
    places = [
        builder.string("grün"), *(builder.vector(code, (value, value)) for code, value in NUMBERS.items()),
        builder.byte_vector(b"abc", 16), builder.offsets(inner), builder.strings(["x", "y", "x"]), inner[0]]
    fields += [(len(NUMBERS) + number, "O") for number in range(len(places))]
    return builder.table(layout(*fields), values + places)


def test_what_is_built_is_read_back() -> None:
    data = built(every_kind, 16)
    assert data[4:8] == b"TEST" and len(data) % 16 == 0
    table = FlatFile(data, "x").root()
    assert [table.scalar(number, code) for number, code in enumerate(NUMBERS)] == list(NUMBERS.values())
    at = len(NUMBERS)
    assert table.text(at) == "grün"
    for number, (code, value) in enumerate(NUMBERS.items(), at + 1):
        assert table.numbers(number, code) == (value, value)
        start = table.file.vector(table.file.forward(table._field(number)), 1)[0]
        assert start % struct.calcsize(code) == 0, "numbers are aligned to their size"
    last = 2 * at + 1
    assert table.data(last) == bytes(table.view(last) or b"") == b"abc"
    assert table.extent(last)[0] % 16 == 0
    assert [inner.scalar(0, "i") for inner in table.tables(last + 1)] == [7, 8]
    assert table.strings(last + 2) == ["x", "y", "x"]
    inner = table.table(last + 3)
    assert inner is not None and inner.scalar(0, "i") == 7


def test_absent_fields_have_defaults() -> None:
    table = FlatFile(built(lambda builder: builder.table(layout((3, "i")), (5,))), "x").root()
    for number in (0, 2, 4, 40):
        assert not table.has(number)
        assert table.scalar(number, "i", 9) == 9
        assert (table.text(number), table.text(number, "none"), table.data(number), table.view(number)) == ("", "none", b"", None)
        assert (table.table(number), table.tables(number), table.strings(number)) == (None, [], [])
        assert table.numbers(number, "f") == ()
    assert table.has(3) and table.scalar(3, "i") == 5


def test_what_is_equal_is_stored_once_and_signs_of_zero_differ() -> None:
    builder = FlatBuilder()
    assert builder.string("a") == builder.string("a")
    assert builder.vector("i", (1, 2)) == builder.vector("i", [1, 2]) == builder.ints((1, 2))
    assert builder.vector("f", (0.0,)) != builder.vector("f", (-0.0,))
    assert builder.vector("q", ()) != builder.vector("i", ())


def test_text_that_is_no_utf8() -> None:
    data = built(lambda builder: builder.table(layout((0, "O")), (builder.string("abcd"),))).replace(b"abcd", b"a\xff\xfed")
    assert FlatFile(data, "x").root().text(0) == "a\ufffd\ufffdd"
    with pytest.raises(ReadError, match="no UTF-8"):
        FlatFile(data, "x", strict=True).root().text(0)


def read_all(table: Table, depth: int = 0) -> None:
    """Ask for every field in every way."""
    for number in range(40):
        for ask in (table.text, table.data, table.view, table.strings):
            try:
                ask(number)
            except ReadError:
                continue
        for code in NUMBERS:
            try:
                table.scalar(number, code)
                table.numbers(number, code)
            except ReadError:
                continue
        if depth < 2:
            try:
                inner = [table.table(number), *table.tables(number)]
            except ReadError:
                continue
            for each in inner[:4]:
                if each is not None:
                    read_all(each, depth + 1)


def test_damaged_files_end_in_errors_and_never_in_others() -> None:
    whole, draw = built(every_kind, 16), random.Random(5)
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(draw.choice((1, 3, 9))):
            data[draw.randrange(len(data))] = draw.choice((0, 1, 127, 128, 255))
        del data[draw.randrange(8, len(data) + 1) :]
        try:
            read_all(FlatFile(bytes(data), "x").root())
        except ReadError:
            continue


@pytest.mark.parametrize("data", [b"", b"\0" * 7, b"\xff" * 8, b"\x08\0\0\0TEST", b"\x08\0\0\0TEST" + b"\xff" * 40])
def test_files_that_are_none(data: bytes) -> None:
    with pytest.raises(ReadError, match="x cannot be read"):
        FlatFile(data, "x").root()


def test_long_vectors_are_pieces_of_their_own_and_what_lies_between_is_joined() -> None:
    builder = FlatBuilder()
    long = [memoryview(bytes([number]) * 10_000) for number in (1, 2)]
    places: list[int] = []
    for view in long:
        places += (builder.string("name"), builder.byte_vector(view), builder.byte_vector(b"few"))
    pieces = builder.finish(builder.table(layout(*((number, "O") for number in range(6))), places), b"TEST")
    assert len(pieces) == 5 and [piece for piece in pieces if isinstance(piece, memoryview)] == long[::-1]
    table = FlatFile(b"".join(pieces), "x").root()
    assert [table.text(0), table.data(1), table.data(2), table.data(4)] == ["name", bytes(long[0]), b"few", bytes(long[1])]


def test_what_its_length_has_no_field_for_is_refused() -> None:
    with pytest.raises(ConversionError, match="no place for 4 GiB"):
        FlatBuilder().byte_vector(np.broadcast_to(np.uint8(0), (1 << 32,)))


def test_numbers_of_a_vector_come_as_an_array_too() -> None:
    table = FlatFile(built(lambda builder: builder.table(layout((0, "O")), (builder.vector("f", (0.5, -2.0)),))), "x").root()
    assert table.array(0, "f").tolist() == [0.5, -2.0] and table.count(0) == 2
    assert table.array(1, "q").tolist() == [] and table.count(1) == 0


def test_references_to_one_long_vector_are_counted() -> None:
    def many(builder: FlatBuilder) -> int:
        inner = builder.table(layout((0, "O")), (builder.vector("i", range(50_000)),))
        return builder.table(layout((0, "O")), (builder.offsets([inner] * 1000),))

    with pytest.raises(ReadError, match="more often than its size allows"):
        for table in FlatFile(built(many), "x").root().tables(0):
            table.numbers(0, "i")


def test_a_string_that_is_no_utf_8_is_spelt_out() -> None:
    """As MLIR text has names of bytes: `loc("\\FE")`."""
    data = built(lambda builder: builder.table(layout((0, "O")), (builder.string("q\udcfe"),)))
    assert b"q\\udcfe\0" in data
