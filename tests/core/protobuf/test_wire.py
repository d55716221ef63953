"""The wire format of protocol buffers, judged by the protobuf package itself."""

from __future__ import annotations

import pytest
from google.protobuf import descriptor_pb2, unknown_fields

from transload.protobuf import cut_out, fields, read_varint, varint
from transload.protobuf.wire import FIXED64, SIZED, VARINT

# FileDescriptorProto.message_type = 4; DescriptorProto.name = 1, .field = 2; FieldDescriptorProto.default_value = 7
LAYOUT = {4: {1: None, 2: {7: None}}}
LARGE = "x" * 5000


def a_file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="f", package="p")
    file.message_type.add(name="small")
    large = file.message_type.add(name=LARGE)
    large.field.add(name="a", default_value="few")
    large.field.add(name="b", number=7, default_value="y" * 6000)
    return file


def test_large_contents_are_cut_out_and_told_by_their_places() -> None:
    file = a_file()
    data = memoryview(file.SerializeToString())
    text, cuts = cut_out(data, LAYOUT)
    assert len(text) < 100
    assert [(cut.places, bytes(cut.content)) for cut in cuts] == [((1, 0), LARGE.encode()), ((1, 1, 0), b"y" * 6000)]
    assert all(cut.content.obj is data.obj for cut in cuts), "contents are views"
    rest = descriptor_pb2.FileDescriptorProto.FromString(bytes(text))
    file.message_type[1].ClearField("name")
    file.message_type[1].field[1].ClearField("default_value")
    assert rest == file


def test_a_mark_stands_for_what_was_cut_out() -> None:
    text, cuts = cut_out(memoryview(a_file().SerializeToString()), LAYOUT, mark=5000)
    rest = descriptor_pb2.FileDescriptorProto.FromString(bytes(text))
    marks = [(field.field_number, field.data) for message in (rest.message_type[1], rest.message_type[1].field[1])
             for field in unknown_fields.UnknownFieldSet(message)]
    assert marks == [(5000, 0), (5000, 1)] and len(cuts) == 2


def test_contents_in_several_fields_stay_for_the_parser_to_join() -> None:
    message = descriptor_pb2.DescriptorProto(name=LARGE).SerializeToString()
    data = memoryview(message + message)
    assert cut_out(data, {1: None}) == (data, [])


@pytest.mark.parametrize("data", [b"", b"\x22", b"\x22\xff\xff\xff\xff\x0f", b"\xff" * 30, b"\x23\x24", b"\x22\x05\x0a\x80"])
def test_damaged_messages_come_back_as_they_are(data: bytes) -> None:
    assert cut_out(memoryview(data), LAYOUT) == (data, [])


@pytest.mark.parametrize("data", [b"\0" * 50, b"\x07\x01" * 50])
def test_there_is_no_field_0(data: bytes) -> None:
    with pytest.raises(ValueError, match="number 0"):
        list(fields(memoryview(data)))


def test_what_has_very_many_fields_is_left_to_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    data = memoryview(a_file().SerializeToString() + varint(1000 << 3 | VARINT) * 2000)
    assert cut_out(data, LAYOUT)[1]
    monkeypatch.setattr("transload.protobuf.wire._MOST_FIELDS", 1000)
    assert cut_out(data, LAYOUT) == (data, [])


def test_fields_have_numbers_wire_types_and_offsets() -> None:
    data = memoryview(b"\x08\x96\x01" + b"\x12\x02hi" + b"\x19" + bytes(8))
    assert [tuple(field) for field in fields(data)] == [(1, VARINT, 0, 1, 3), (2, SIZED, 3, 5, 7), (3, FIXED64, 7, 8, 16)]
    with pytest.raises(IndexError):
        list(fields(data[:6]))


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**32, 2**63, 2**64 - 1])
def test_numbers_of_variable_length(value: int) -> None:
    assert read_varint(memoryview(varint(value) + b"\x01"), 0) == (value, len(varint(value)))
