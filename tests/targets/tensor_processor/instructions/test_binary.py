"""The binary: what is written is read back, another reader of flatbuffers finds the same, and hostile files are refused."""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from transload.errors import ConversionError, ReadError, TransloadError
from transload.flatbuffer import FlatFile
from transload_targets.tensor_processor.instructions import (
    ELEMENTS,
    LAYOUTS,
    QUEUES,
    Global,
    Instruction,
    Local,
    Part,
    Program,
    deserialize,
    invalidity,
    read,
    schema,
    serialize,
    write,
)
from transload_targets.tensor_processor.instructions.reader import _Reader
from transload_targets.tensor_processor.instructions.schema import ENUMERATIONS, IDENTIFIER, TABLES, fields

from .strategies import programs
from tests.targets.tensor_processor.simulator.programs import programs as written_by_hand

SCHEMA = Path(schema.__file__).with_name("program.fbs")
NAMES = ["slices", "cores", "tables"]


@given(programs())
def test_what_is_written_is_read_back(program: Program):
    data = serialize(program)
    again = _Reader(FlatFile(data, "x", strict=True)).program()  # as it stands there: not all that can be said makes sense
    assert again == program
    assert serialize(again) == data


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_read_back(name: str, tmp_path: Path):
    program = written_by_hand()[name]
    write(program, tmp_path / "x.tpu")
    assert read(tmp_path / "x.tpu") == program
    assert not list(invalidity(program))


def test_the_tables_are_those_of_the_schema():
    text = re.sub(r"//.*", "", SCHEMA.read_text(encoding="utf-8"))
    tables = {
        name: " ".join(re.sub(r"\s+", "", field) for field in body.split(";") if field.strip())
        for name, body in re.findall(r"table (\w+) \{(.*?)\}", text, re.DOTALL)}
    assert tables == TABLES
    enumerations = {
        name: tuple(re.findall(r"\w+", body)) for name, body in re.findall(r"enum (\w+) : ubyte \{(.*?)\}", text, re.DOTALL)}
    assert enumerations == ENUMERATIONS
    assert re.findall(r'file_identifier "(.*)"', text) == [IDENTIFIER.decode()]
    assert ENUMERATIONS["Queue"] == QUEUES
    assert ENUMERATIONS["Place"][1:] == LAYOUTS
    assert tuple(name.rstrip("_") for name in ENUMERATIONS["DType"]) == tuple(ELEMENTS)


def test_googles_reader_finds_the_same():
    from flatbuffers import encode, number_types, packer, table

    program = written_by_hand()["slices"]
    data = bytearray(serialize(program))
    root = table.Table(data, encode.Get(packer.uoffset, data, 0))

    def place(of: Any, name: str, field: str) -> int:
        return of.Offset(4 + 2 * fields(name)[field].number)

    def vector(of: Any, name: str, field: str) -> list[Any]:
        at = place(of, name, field)
        return [table.Table(data, of.Indirect(of.Vector(at) + 4 * i)) for i in range(of.VectorLen(at))]

    instructions = vector(root, "Program", "instructions")
    assert [one.Get(number_types.Uint32Flags, one.Pos + place(one, "Instruction", "id")) for one in instructions] == [
        one.id for one in program.instructions]
    assert [one.String(one.Pos + place(one, "Instruction", "operation")).decode() for one in instructions] == [
        one.operation for one in program.instructions]
    (weights,) = vector(root, "Program", "weights")
    at = place(weights, "Weights", "data")
    start = weights.Vector(at)
    assert data[start : start + weights.VectorLen(at)] == program.weights[0].data and start % 16 == 0


def with_first(program: Program, **changes: Any) -> Program:
    first, *rest = program.instructions
    return dataclasses.replace(program, instructions=(dataclasses.replace(first, **changes), *rest))


def output(operand: Any) -> Callable[[Program], Program]:
    return lambda p: with_first(p, outputs=(operand,))


def tensor(**changes: Any) -> Callable[[Program], Program]:
    return lambda p: dataclasses.replace(p, tensors=(*p.tensors, dataclasses.replace(p.tensors[0], **changes)))


def machine(**changes: Any) -> Callable[[Program], Program]:
    return lambda p: dataclasses.replace(p, machine=dataclasses.replace(p.machine, **changes))


def port(**changes: Any) -> Callable[[Program], Program]:
    return lambda p: dataclasses.replace(p, outputs=(dataclasses.replace(p.outputs[0], **changes),))


SMALL = (1, 6, 2, 4)
WRONG: list[tuple[Callable[[Program], Program], str]] = [
    (machine(lanes=0), "lanes is 0"),
    (machine(banks=3), "256 bytes of local memory are no 3 equal banks"),
    (machine(banks=65), "banks is 65"),
    (lambda p: dataclasses.replace(p, global_bytes=1 << 50), "global_bytes is"),
    (tensor(shape=(1,) * 17), "up to 16 dimensions"),
    (tensor(shape=(1 << 32, 1 << 20)), "can be told apart"),
    (tensor(alias=9), "is a view of %9, which does not stand before it"),
    (tensor(alias=1), "another number of elements"),
    (lambda p: with_first(p, core=1), "which the machine does not have"),
    (lambda p: with_first(p, id=2), "dma.2 load at 'factor': stands where dma.1 should"),
    (lambda p: with_first(p, wait=3), "waits for tiu.3, and there are 2"),
    (lambda p: with_first(p, queue="tiu"), "input 0 lies in global memory, where this queue does not reach"),
    (lambda p: dataclasses.replace(p, inputs=p.inputs * 2), "is there more than once"),
    (lambda p: dataclasses.replace(p, weights=p.weights * 2), "bytes from 0x60 on are of two at the start"),
    (port(address=200), "lies at 0xc8 to 0x128, and global memory ends at 0x100"),
    (port(tensor=7), "is tensor %7, and there are 3"),
    (port(tensor=1), "has not the elements of tensor %1"),
    (port(shape=(1,) * 17), "up to 16 dimensions"),
    (output(Local(0xF8, SMALL, "int8")), "output 0 lies at 0xf8 to 0x108, and local memory ends at 0x100"),
    (output(Local(0, SMALL, "int8", lane=4)), "begins in lane 4, and there are 4"),
    (output(Local(0, (6,), "int8", "copies", lane=1)), "lies in every lane"),
    (output(Local(0, SMALL, "int8", strides=(0, 8, 2))), "its elements lie on each other: a stride of 2 over 4 bytes"),
    (output(Local(0, SMALL, "int8", strides=(0, 2, 8))), "elements lie on each other"),
    (output(Local(1, SMALL, "int16")), "is not aligned to its elements of 2 bytes: it lies at 0x1"),
    (output(Local(0, (1,) * 17, "int8")), "up to 16 dimensions"),
    (output(Local(0, SMALL, "int8", part=Part(9))), "is a part of tensor %9, and there are 3"),
    (output(Local(0, SMALL, "int8", part=Part(0, (0, 0, 3, 0)))), "is [1, 6, 2, 4] at [0, 0, 3, 0] of tensor %0, beyond"),
    (output(Local(0, SMALL, "int8", part=Part(0, (0, 3)))), "begins at [0, 3] of tensor %0"),
    (output(Local(0, (48,), "int8", part=Part(0))), "which is no part of tensor %0"),
    (output(Local(0, SMALL, "int8", part=Part(0, (), (0, 16, 8, 4)))), "beyond its shape"),
    (output(Global(0, SMALL, "int8", (1, 1, 1))), "has strides [1, 1, 1], and 4 of 0 and more are needed"),
    (output(Global(0, SMALL, "int8", (96, 16, 4, 0))), "elements lie on each other"),
    (output(Global(0, (1 << 30, 1 << 30), "int8", (0, 0))), "has 1,152,921,504,606,846,976 bytes, more than there are"),
    (output(Global(0xF0, SMALL, "int8")), "global memory ends at 0x100"),
]


@pytest.mark.parametrize(("change", "why"), WRONG, ids=range(len(WRONG)))
def test_what_makes_no_sense_is_refused(change: Callable[[Program], Program], why: str):
    data = serialize(change(written_by_hand()["slices"]))
    with pytest.raises(ReadError) as caught:
        deserialize(data, "x.tpu")
    assert any(why in str(finding) for finding in caught.value.findings), str(caught.value)


def test_all_that_makes_no_sense_is_told_at_once():
    program = with_first(written_by_hand()["slices"], id=5, wait=9, outputs=(Local(0xF8, SMALL, "int8", part=Part(9)),))
    with pytest.raises(ReadError) as caught:
        deserialize(serialize(dataclasses.replace(program, inputs=program.inputs * 2)), "x.tpu")
    assert len(caught.value.findings) == 4 + 3


def test_attributes_that_no_file_holds_are_found():
    program = with_first(written_by_hand()["slices"], attributes={"a": (1, 2.0), "b": None, "c": 1 << 63})
    assert len(list(invalidity(program))) == 3
    with pytest.raises(ConversionError, match="too large for its field"):
        serialize(with_first(program, attributes={"c": 1 << 63}))


@pytest.mark.parametrize("data", [b"", b"TPU1", b"\0\0\0\0TFL3" + bytes(64), b"\xff\xff\xff\x7fTPU1" + bytes(64)])
def test_what_is_no_binary_is_refused(data: bytes):
    with pytest.raises(ReadError, match=r"x\.tpu cannot be read"):
        deserialize(data, "x.tpu")


@pytest.mark.parametrize("name", NAMES)
def test_damaged_binaries_are_refused_or_read(name: str):
    """Bytes changed at random, and files cut off: a `TransloadError`, or a program."""
    data, chance = serialize(written_by_hand()[name]), random.Random(1)
    refused = 0
    for _ in range(1500):
        damaged = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(len(data))] = chance.choice((0, 1, 127, 128, 255, chance.randrange(256)))
        if chance.random() < 0.1:
            del damaged[chance.randrange(len(data)) :]
        try:
            program = deserialize(bytes(damaged), "x.tpu")
            assert isinstance(program, Program) and all(isinstance(one, Instruction) for one in program.instructions)
        except TransloadError:
            refused += 1
    assert refused > 300
