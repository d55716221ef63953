"""The wire format: a message's fields without a schema, and large fields cut out of what a parser sees.

The protobuf package copies every `bytes` and packed field, so parsing a model holds its weights twice. A reader cuts them
out first (`cut_out`), parses the small rest, and looks at the weights where they lie, in the mapped file. Whatever looks
unusual is left to the parser, which says what is wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

__all__ = ["FIXED32", "FIXED64", "SIZED", "VARINT", "Cut", "Field", "Layout", "cut_out", "fields", "read_varint", "varint"]

VARINT, FIXED64, SIZED, FIXED32 = 0, 1, 2, 5
"""Wire types; that of messages, strings, bytes and packed numbers is `SIZED`."""

Layout = Mapping[int, "Layout | None"]
"""Where large contents lie: by a message's field numbers, the layouts of the messages in them; None is a content itself."""
_MOST_FIELDS = 1 << 20
"""Fields that are looked at in one file, a second: networks have thousands. What has more is the parser's, which is fast."""


class Field(NamedTuple):
    """A field: its number and wire type, the offsets of its tag, of its payload and of what comes behind it."""

    number: int
    wire: int
    tag_at: int
    start: int
    end: int


class Cut(NamedTuple):
    """A content that was cut out: `places` counts, at each level, the fields of its number before it in their message; `field` is
    its own number."""

    places: tuple[int, ...]
    content: memoryview
    field: int


def cut_out(
    data: memoryview, layout: Layout, *, large: int = 4096, mark: int | None = None,
) -> tuple[bytes | memoryview, list[Cut]]:
    """A serialized message without its large contents, and those contents, as views of `data`.

    layout: for example `{7: {5: {9: None}}}`, the `raw_data` (9) of the initializers (5) of an ONNX model's graph (7).
    large: the bytes from which a content is cut out.
    mark: the number of an integer field that stands for a content, of a reader's own schema: it holds the place in the list.
    A file may hold such fields by itself, so a reader checks that a mark is in the list.
    A content that its message has in several fields, of one number or of others, which a parser would join or choose from,
    stays. Where nothing can be cut out, or the bytes are no plain message, the data comes back as it is.
    """
    cutter = _Cutter(data, large, mark)
    try:
        pieces = cutter.cut(0, len(data), layout, ())
    except (IndexError, ValueError):  # damaged, as the parser will say, or of too many fields
        return data, []
    return (b"".join(pieces), cutter.cuts) if cutter.cuts else (data, [])


class _Cutter:
    """What was cut out of one file so far."""

    def __init__(self, data: memoryview, large: int, mark: int | None) -> None:
        self.data, self.large, self.mark = data, large, mark
        self.cuts: list[Cut] = []
        self.left = _MOST_FIELDS

    def cut(self, begin: int, end: int, layout: Layout, places: tuple[int, ...]) -> list[bytes | memoryview]:
        """What the message between two offsets becomes, in pieces."""
        pieces: list[bytes | memoryview] = []
        wanted = []
        for field in fields(self.data, begin, end):
            self.left -= 1
            if self.left < 0:
                raise ValueError("more fields than are looked at")
            if field.number in layout:
                wanted.append(field)
        contents = sum(layout[field.number] is None for field in wanted)
        seen: Counter[int] = Counter()
        done = begin
        for field in wanted:
            here = (*places, seen[field.number])
            seen[field.number] += 1
            if field.wire != SIZED or field.end - field.start < self.large:
                continue
            new = self._cut_field(field, layout[field.number], here, contents == 1)
            if new is not None:
                pieces += [self.data[done:field.tag_at], *new]
                done = field.end
        return [*pieces, self.data[done:end]]

    def _cut_field(
        self, field: Field, layout: Layout | None, places: tuple[int, ...], alone: bool,
    ) -> list[bytes | memoryview] | None:
        """What a large field becomes, or None where it stays as it is."""
        if layout is not None:
            before = len(self.cuts)
            inner = self.cut(field.start, field.end, layout, places)
            if len(self.cuts) == before:
                return None
            return [varint(field.number << 3 | SIZED), varint(sum(map(len, inner))), *inner]
        if not alone:
            return None
        self.cuts.append(Cut(places, self.data[field.start:field.end], field.number))
        return [] if self.mark is None else [varint(self.mark << 3 | VARINT), varint(len(self.cuts) - 1)]


def fields(data: memoryview, start: int = 0, end: int | None = None) -> Iterator[Field]:
    """The fields of the message in `data[start:end]`, in the file's order.

    Raises IndexError where one goes beyond the message, ValueError for groups, and for tags that protobuf does not have.
    """
    at, end = start, len(data) if end is None else end
    while at < end:
        tag_at = at
        tag, at = read_varint(data, at)
        wire = tag & 7
        if tag < 8:
            raise ValueError("a field of number 0")
        start = at
        if wire == VARINT:
            _, at = read_varint(data, at)
        elif wire == SIZED:
            size, start = read_varint(data, at)
            at = start + size
        elif wire == FIXED32:
            at += 4
        elif wire == FIXED64:
            at += 8
        else:
            raise ValueError("a wire type that protobuf no longer has")
        if at > end:
            raise IndexError("a field goes beyond its message")
        yield Field(tag >> 3, wire, tag_at, start, at)


def read_varint(data: memoryview, at: int) -> tuple[int, int]:
    """The number of variable length at an offset, and the offset behind it. Raises IndexError, ValueError."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number longer than 64 bits")


def varint(value: int) -> bytes:
    """A number that is not negative, in as few bytes as it takes."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
