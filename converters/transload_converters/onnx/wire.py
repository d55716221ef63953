"""The protobuf wire format, as far as it helps: finding weights in a file without copying them.

The protobuf package copies every `bytes` field, so parsing a model holds its weights twice. Here the
large `raw_data` fields of the graph's initializers are cut out of what the parser sees; the tensors
then look into the mapped file. Whatever looks unusual is left to the parser, which says what is wrong.

Field numbers: ModelProto.graph = 7, GraphProto.initializer = 5, TensorProto.raw_data = 9 (onnx.proto).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

__all__ = ["RawData", "cut_out_raw_data", "detect"]

_GRAPH, _INITIALIZER, _RAW_DATA = 7, 5, 9
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
LARGE = 4096
"""Bytes from which a weight is cut out; smaller ones may hold shapes that shape inference needs."""

RawData = dict[int, memoryview]
"""Raw bytes by the initializer's place in the graph."""

_SECOND_FIELDS = {0x12, 0x1A, 0x22, 0x28, 0x32, 0x3A, 0x42, 0x72}
"""Tags that can follow `ir_version` in a ModelProto."""


def detect(head: bytes, path: Path | None = None) -> bool:
    """Whether a file's first bytes look like an ONNX model: `ir_version`, as writers put first, and a field of a model."""
    return len(head) > 2 and head[0] == 0x08 and 1 <= head[1] <= 64 and head[2] in _SECOND_FIELDS


def cut_out_raw_data(data: memoryview) -> tuple[bytes | memoryview, RawData]:
    """A serialized model without its large weights, and those weights as views of `data`.

    Where nothing can be cut out, or the bytes are no plain model, the data comes back as it is.
    """
    try:
        graphs = _sized_fields(data, 0, len(data), _GRAPH)
        if len(graphs) != 1:  # none, or several that a parser would merge
            return data, {}
        return _cut_graph(data, *graphs[0])
    except (IndexError, ValueError):  # damaged: the parser will say so
        return data, {}


def _cut_graph(data: memoryview, tag: int, graph_start: int, graph_end: int) -> tuple[bytes | memoryview, RawData]:
    pieces: list[bytes | memoryview] = []
    found: RawData = {}
    done, place = graph_start, 0
    for number, wire, tag_at, start, end in _fields(data, graph_start, graph_end):
        if number != _INITIALIZER or wire != _BYTES:
            continue
        raw = _raw_data_of(data, start, end) if end - start > LARGE else None
        if raw is not None:
            cut_from, raw_start, raw_end = raw
            found[place] = data[raw_start:raw_end]
            pieces += [data[done:tag_at], bytes((_INITIALIZER << 3 | _BYTES,)), _varint(end - start - (raw_end - cut_from)),
                       data[start:cut_from], data[raw_end:end]]
            done = end
        place += 1
    if not found:
        return data, {}
    graph = b"".join([*pieces, data[done:graph_end]])
    return b"".join([data[:tag], bytes((_GRAPH << 3 | _BYTES,)), _varint(len(graph)), graph, data[graph_end:]]), found


def _raw_data_of(data: memoryview, start: int, end: int) -> tuple[int, int, int] | None:
    """Where a tensor's one large `raw_data` lies: (its tag, first byte, end), or None."""
    fields = _sized_fields(data, start, end, _RAW_DATA)
    if len(fields) != 1 or fields[0][2] - fields[0][1] < LARGE:
        return None
    return fields[0]


def _sized_fields(data: memoryview, start: int, end: int, wanted: int) -> list[tuple[int, int, int]]:
    """The fields with a number and bytes of a message: (their tag, first byte, end)."""
    return [(tag, a, b) for number, wire, tag, a, b in _fields(data, start, end) if number == wanted and wire == _BYTES]


def _fields(data: memoryview, at: int, end: int) -> Iterator[tuple[int, int, int, int, int]]:
    """The fields of a message: (number, wire type, where its tag is, where its payload begins and ends)."""
    while at < end:
        tag_at = at
        tag, at = _read_varint(data, at)
        wire = tag & 7
        if wire == _VARINT:
            start = at
            _, at = _read_varint(data, at)
        elif wire == _BYTES:
            size, start = _read_varint(data, at)
            at = start + size
        elif wire in (_FIXED32, _FIXED64):
            start = at
            at += 4 if wire == _FIXED32 else 8
        else:
            raise ValueError("a wire type that protobuf no longer has")
        if at > end:
            raise IndexError("a field goes beyond its message")
        yield tag >> 3, wire, tag_at, start, at


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
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


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
