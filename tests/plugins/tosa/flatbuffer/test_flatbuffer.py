"""`.tosa` files: names, data, versions, and what a damaged file must not do."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from transload.engine import run_function
from transload.errors import ConversionError, ReadError, TransloadError, UsageError
from transload.ir import (
    BOOL,
    F16,
    F32,
    I4,
    I8,
    I32,
    I48,
    Block,
    Dense,
    Module,
    Op,
    Packed4Data,
    Region,
    SplatData,
    TensorType,
    Type,
    Value,
    new_module,
    output_names,
    set_results,
)
from transload.ir.build import Builder
from transload.ir.types import NONE, UI8, FloatType
from transload.plugin import Source
from transload_plugins.tosa.build import clamp, const, rescale, reshape, zero_point
from transload_plugins.tosa.flatbuffer.reader import detect, read, read_bytes
from transload_plugins.tosa.flatbuffer.values import decode, encode
from transload_plugins.tosa.flatbuffer.writer import serialize, write


def convolution() -> Module:
    """int8 convolution, rescale, clamp and reshape: one op of each kind of attribute."""
    module = new_module()
    function = module.add_function("main", [TensorType((1, 8, 8, 3), I8)], ["image"])
    block = function.regions[0].block
    builder = Builder(block)
    rng = np.random.default_rng(0)
    weight = const(builder, rng.integers(-127, 127, (4, 3, 3, 3)).astype(np.int8))
    bias = const(builder, rng.integers(-1000, 1000, 4).astype(np.int32))
    value = builder.emit(
        "tosa.conv2d", block.arguments[0], weight, bias, zero_point(builder, 3, I8), zero_point(builder, 0, I8), pad=(1, 1, 1, 1),
        stride=(1, 1), dilation=(1, 1), acc_type=I32, location="conv/out")
    value = rescale(builder, value, [1 << 30] * 4, [36] * 4, 0, 3, I8, per_channel=True)
    value = reshape(builder, clamp(builder, value, -100, 100), (1, 256))
    set_results(function, [value], ["scores"])
    return module


def function_of(inputs: dict[str, Type], make: Any) -> Module:
    """A module whose function gives what `make(builder, *arguments)` returns: a dict from name to value."""
    module = new_module()
    function = module.add_function("main", list(inputs.values()), list(inputs))
    block = function.regions[0].block
    outputs = make(Builder(block), *block.arguments)
    set_results(function, list(outputs.values()), list(outputs))
    return module


def test_names_are_kept() -> None:
    again = read_bytes(serialize(convolution()))
    assert [argument.name for argument in again.body_of_main.arguments] == ["image"]
    assert output_names(again.main) == ["scores"]
    assert any(op.origin == "conv/out" for op in again.ops())


def test_outputs_that_need_an_op_of_their_own(reference_model: Any) -> None:
    """An output that is an input, a constant, or another output too."""
    type_ = TensorType((2,), F32)

    def make(builder: Builder, x: Any) -> dict[str, Any]:
        value = builder.emit("tosa.abs", x)
        return {"a": value, "b": value, "same": x, "fixed": const(builder, np.array([5, 6], np.float32))}

    module = function_of({"x": type_}, make)
    x = np.array([-1, 2], np.float32)
    data = serialize(module)
    theirs = reference_model(data, [x])
    assert [array.tolist() for array in theirs] == [[1, 2], [1, 2], [-1, 2], [5, 6]]
    assert output_names(read_bytes(data).main) == ["a", "b", "same", "fixed"]


def test_names_that_clash_are_made_unique() -> None:
    type_ = TensorType((2,), F32)
    module = function_of({"x": type_, "y": type_}, lambda builder, x, y: {"x": builder.emit("tosa.add", x, y)})
    again = read_bytes(serialize(module))
    assert [argument.name for argument in again.body_of_main.arguments] == ["x", "y"]
    assert output_names(again.main) == ["x_1"]


def test_constants_that_nothing_uses_are_left_out() -> None:
    def make(builder: Builder, x: Any) -> dict[str, Any]:
        const(builder, np.zeros(1000, np.float32))
        return {"y": builder.emit("tosa.abs", x)}

    assert len(serialize(function_of({"x": TensorType((2,), F32)}, make))) < 1000


@pytest.mark.parametrize(("dense", "size"), [
    (Dense(np.array([1, -2, 7], np.int8).astype(ml_dtypes.int4), TensorType((3,), I4)), 2),
    (Dense(Packed4Data(np.array([0xE1, 0x07], np.uint8), (3,)), TensorType((3,), I4)), 2),
    (Dense(np.array([1, -2, 2**46, -(2**47)]), TensorType((4,), I48)), 24),
    (Dense(np.array([True, False, True])), 3),
    (Dense(np.array(3.5, np.float32)), 4),
    (Dense(np.array([1.5, -2, np.inf], np.float16)), 6),
    (Dense(np.array([1.5, -2, 0], ml_dtypes.bfloat16)), 6),
    (Dense(np.array([1.5, -2, 448], ml_dtypes.float8_e4m3fn)), 3),
    (Dense(SplatData(np.int8(3), (5, 7))), 35),
    (Dense(np.zeros((0, 4), np.float32)), 0),
])
def test_constants_of_every_type(dense: Dense, size: int) -> None:
    data = bytes(encode(dense))
    assert len(data) == -(-size // 8) * 8
    back = decode(memoryview(data), dense.shape, dense.type.element)
    assert back is not None and back.type == dense.type
    np.testing.assert_array_equal(back.numpy(), dense.numpy())
    assert decode(memoryview(data), (*dense.shape, 90), dense.type.element) is None or 0 in dense.shape


def four_bits(*numbers: int) -> Module:
    """A constant of i4, packed, and odd in number: the last byte's upper half is none of it."""
    dense = Dense(Packed4Data.of(np.array(numbers, np.int8)), TensorType((len(numbers),), I4))
    return function_of({}, lambda builder: {"y": builder.emit("tosa.identity", builder.constant(dense, dialect="tosa"))})


@pytest.mark.parametrize("numbers", [(-8, 1, 2), (1, -8, 2), (1, 2, -8)])
def test_minus_eight_is_neither_written_nor_read_in_four_bits(numbers: tuple[int, ...]) -> None:
    with pytest.raises(ConversionError, match="int4_t ends at -7"):
        serialize(four_bits(*numbers))
    data = serialize(four_bits(3, 3, 3))
    wrong = bytes(encode(Dense(Packed4Data.of(np.array(numbers, np.int8)), TensorType((3,), I4))))
    with pytest.raises(ReadError, match="rules of TOSA") as refused:
        read_bytes(data.replace(bytes([0x33, 0x03]) + bytes(6), wrong))
    assert "int4_t ends at -7" in str(refused.value)


def test_padding_of_four_bits_is_no_number() -> None:
    data = serialize(four_bits(3, 3, 3)).replace(bytes([0x33, 0x03]) + bytes(6), bytes([0x33, 0x83]) + bytes(6))
    assert read_bytes(data)


def test_data_is_not_copied() -> None:
    module = convolution()
    data = serialize(module)
    again = read_bytes(data)
    constants = [op.attributes["values"] for op in again.ops() if op.name == "tosa.const"]
    weight = next(dense for dense in constants if dense.shape == (4, 3, 3, 3))
    assert not weight.numpy().flags.owndata and not weight.numpy().flags.writeable


@pytest.mark.parametrize("many", [(1, 1 << 30), (3, 1 << 28)])
def test_constants_that_offsets_do_not_span_are_refused_before_they_are_made(many: tuple[int, int]) -> None:
    count, size = many

    def make(builder: Builder) -> dict[str, Any]:
        return {f"y{place}": const(builder, np.broadcast_to(np.float32(place + 1), (size,))) for place in range(count)}

    with pytest.raises(ConversionError, match=r"would have .* or more, and flatbuffers end at 2,147,483,647"):
        serialize(function_of({}, make))


def test_everything_that_cannot_be_written_is_named() -> None:
    def make(builder: Builder, x: Any, y: Any) -> dict[str, Any]:
        return {"a": builder.create("top.Foo", [x], [x.type], location="foo").results[0], "b": builder.emit("tosa.abs", y)}

    module = function_of({"x": TensorType((2,), UI8), "y": TensorType((None,), F32)}, make)
    with pytest.raises(ConversionError) as error:
        serialize(module)
    text = str(error.value)
    assert "top.Foo" in text and "ui8" in text and "dynamic shape" in text


@pytest.mark.parametrize("shape", [(0,), (1, 0, 1)])
def test_tensors_without_elements_are_refused(shape: tuple[int, ...]) -> None:
    """TOSA's reference model crashed on the file."""
    module = new_module()
    type_ = TensorType(shape, F32)
    module.add_function("main", [type_], ["x"])
    block = module.body_of_main
    set_results(module.main, [Builder(block, None, "y").emit("tosa.abs", block.arguments[0])], ["y"])
    with pytest.raises(ConversionError, match="no tensor without elements"):
        serialize(module)


def test_versions(tmp_path: Path) -> None:
    module = function_of({"x": TensorType((1, 2, 3), F32), "y": TensorType((1, 4, 3), F32)}, lambda builder, x, y: {
        "z": builder.emit(
            "tosa.matmul_t", x, y, const(builder, np.zeros(1, np.float32)), const(builder, np.zeros(1, np.float32)))})
    with pytest.raises(ConversionError, match=r"came with TOSA 1\.1"):
        write(module, tmp_path / "m.tosa")
    assert not list(tmp_path.iterdir())
    write(module, tmp_path / "m.tosa", tosa_version="1.1")
    assert detect((tmp_path / "m.tosa").read_bytes()[:64])
    with pytest.raises(UsageError, match=r"1\.0, 1\.1"):
        serialize(module, "0.80")


def test_files_of_other_versions_are_refused() -> None:
    data = bytearray(serialize(convolution(), "1.0"))
    # The version table holds 1, 0, 0: make it 0.80 wherever it lies.
    needle = (1).to_bytes(4, "little") + bytes(8)
    while (place := data.find(needle)) >= 0:
        data[place : place + 8] = (0).to_bytes(4, "little") + (80).to_bytes(4, "little")
    with pytest.raises(ReadError, match=r"0\.80"):
        read_bytes(bytes(data))


@pytest.mark.parametrize("data", [b"", b"x", bytes(100), b"\x08\0\0\0TOSA", b"\xff\xff\xff\xffTOSA" + bytes(40)])
def test_what_is_no_file_of_ours(data: bytes) -> None:
    with pytest.raises(ReadError):
        read_bytes(data)


def test_input_shapes_of_the_file_stay() -> None:
    data = serialize(convolution())
    source = Source(None, data, "m.tosa")
    assert read(source, {"image": TensorType((1, 8, 8, 3), NONE)})
    with pytest.raises(UsageError, match="the model fixes it to 8"):
        read(source, {"image": TensorType((1, 9, 9, 3), NONE)})
    with pytest.raises(UsageError, match="no input"):
        read(source, {"img": TensorType((1, 8, 8, 3), NONE)})


def test_unknown_sizes_become_those_the_user_gives() -> None:
    """Other tools write files with dynamic shapes (-1)."""
    def make(builder: Builder, x: Any) -> dict[str, Any]:
        return {"y": builder.emit("tosa.concat", x, builder.emit("tosa.abs", x), axis=1)}

    data = serialize(function_of({"x": TensorType((7, 4), F32)}, make))
    for shape in ((7, 4), (7, 8)):
        written = b"".join(number.to_bytes(4, "little") for number in (2, *shape))
        assert data.count(written) == 1
        data = data.replace(written, (2).to_bytes(4, "little") + b"\xff" * 4 + shape[1].to_bytes(4, "little"))
    module = read_bytes(data)
    assert module.body_of_main.arguments[0].shape == (None, 4)
    fixed = read(Source(None, data, "m.tosa"), {"x": TensorType((3, 4), NONE)})
    assert fixed.body_of_main.terminator.operands[0].shape == (3, 8)
    assert read_bytes(serialize(fixed)).body_of_main.arguments[0].shape == (3, 4)


def test_operators_are_read_in_any_order() -> None:
    """The file lists operators in an order of its own; ours follow what they need."""
    def make(builder: Builder, x: Any) -> dict[str, Any]:
        value = x
        for _ in range(6):
            value = builder.emit("tosa.add", builder.emit("tosa.abs", value), value)
        return {"y": value}

    data = bytearray(serialize(function_of({"x": TensorType((2,), F32)}, make)))
    expected = run_function(read_bytes(bytes(data)), {"x": np.array([1, -2], np.float32)})["y"]
    reversed_ = _reverse_longest_vector(data, 12)
    out = run_function(read_bytes(bytes(reversed_)), {"x": np.array([1, -2], np.float32)})["y"]
    np.testing.assert_array_equal(out, expected)


def _reverse_longest_vector(data: bytearray, count: int) -> bytearray:
    """The file with the vector of `count` references in opposite order."""
    for place in range(0, len(data) - 4 - 4 * count, 4):
        if int.from_bytes(data[place : place + 4], "little") == count:
            first = place + 4
            targets = [first + 4 * i + int.from_bytes(data[first + 4 * i : first + 4 * i + 4], "little") for i in range(count)]
            if all(place < target < len(data) for target in targets):
                for index, target in enumerate(reversed(targets)):
                    data[first + 4 * index : first + 4 * index + 4] = (target - first - 4 * index).to_bytes(4, "little")
                return data
    raise AssertionError("the vector of operators is not found")


def damaged(whole: bytes, draw: random.Random) -> bytes:
    """The file with some bytes changed, numbers replaced by great ones, or its end cut off."""
    data = bytearray(whole)
    for _ in range(draw.choice((1, 1, 2, 4, 16))):
        action = draw.random()
        place = draw.randrange(len(data))
        if action < 0.5:
            data[place] = draw.randrange(256)
        elif action < 0.7:
            data[place] ^= 1 << draw.randrange(8)
        elif action < 0.85:
            place &= ~3
            data[place : place + 4] = draw.choice((0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 0x80000000, len(data))).to_bytes(4, "little")
        elif action < 0.95:
            del data[draw.randrange(12, max(13, len(data))) :]
        else:
            other = draw.randrange(len(data))
            data[place : place + 8] = data[other : other + 8]
    return bytes(data)


def test_two_thousand_damaged_files(cases: list[Any], built: Any) -> None:
    """A damaged file gives a `TransloadError` or a module that is valid; never another error, never a hang."""
    draw = random.Random(20240)
    chosen = [serialize(convolution())] * 3
    seen = set()
    for case in cases:
        if case.op not in seen:
            seen.add(case.op)
            chosen.append(serialize(built(case)[0], "1.1"))
    outcomes = {"module": 0, "error": 0}
    for turn in range(2000):
        data = damaged(chosen[turn % len(chosen)], draw)
        try:
            serialize(read_bytes(data), "1.1")
            outcomes["module"] += 1
        except TransloadError:
            outcomes["error"] += 1
    assert outcomes["error"] > 200 and outcomes["module"] > 50


def test_a_small_file_cannot_ask_for_much_work() -> None:
    """Thousands of references to one long vector are refused before they are walked."""
    from transload.flatbuffer.builder import FlatBuilder, layout

    buffer = FlatBuilder()
    names = buffer.strings(["x"] * 20000)
    attributes = buffer.table(layout(), ())
    operator = buffer.table(layout((0, "I"), (1, "B"), (2, "O"), (3, "O"), (4, "O")), (14, 14, attributes, names, names))
    operators = buffer.offsets([operator] * 20000)
    empty = buffer.offsets([])
    name = buffer.string("main")
    block = buffer.table(layout(*((slot, "O") for slot in range(6))), (name, operators, empty, empty, empty, empty))
    region = buffer.table(layout((0, "O"), (1, "O")), (name, buffer.offsets([block])))
    version = buffer.table(layout((0, "i"), (1, "i"), (2, "i")), (1, 0, 0))
    root = buffer.table(layout((0, "O"), (1, "O")), (version, buffer.offsets([region])))
    with pytest.raises(ReadError, match="more often than its size allows"):
        read_bytes(b"".join(buffer.finish(root, b"TOSA")))


def nested(depth: int) -> Module:
    """Choices in each other: as many sines of the input as it is deep, by a condition that is given."""
    type_ = TensorType((4,), F32)

    def fill(builder: Builder, condition: Value, x: Value, left: int) -> Value:
        if not left:
            return x
        parts = [Block(), Block()]
        inner = Builder(parts[0])
        parts[0].append(Op("tosa.yield", [fill(inner, condition, inner.emit("tosa.sin", x), left - 1)]))
        parts[1].append(Op("tosa.yield", [x]))
        return builder.create("tosa.cond_if", [condition], [type_], {}, [Region([part]) for part in parts]).results[0]

    module = new_module()
    function = module.add_function("main", [TensorType((1,), BOOL), type_], ["asked", "x"])
    builder = Builder(function.regions[0].block)
    set_results(function, [fill(builder, *builder.block.arguments, depth)], ["out"])
    return module


def test_graphs_in_each_other_are_read_as_deep_as_they_are_written() -> None:
    """A file that was written with 33 of them was said to have one that contains itself."""
    x = np.arange(4, dtype=np.float32)
    back = read_bytes(serialize(nested(99)))
    sines = x
    for _ in range(99):
        sines = np.sin(sines)
    for asked, want in ((True, sines), (False, x)):
        np.testing.assert_allclose(run_function(back, {"asked": np.array([asked]), "x": x})["out"], want, rtol=1e-4)
    read_bytes(serialize(nested(100)))
    with pytest.raises(ConversionError, match=r"graphs of a .tosa file lie at most 100 deep in each other"):
        serialize(nested(101))


def test_graphs_that_lie_too_deep_are_told_from_one_that_contains_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transload_plugins.tosa.flatbuffer.reader.MAX_DEPTH", 5)
    read_bytes(serialize(nested(5)))
    with pytest.raises(ReadError, match="graphs lie more than 5 deep in each other"):
        read_bytes(serialize(nested(6)))


def test_floats_keep_their_bits(reference_model: Any) -> None:
    """Clamp's bounds and constants in narrow floats."""
    def make(builder: Builder, x: Any) -> dict[str, Any]:
        return {"y": builder.emit("tosa.add", clamp(builder, x, -1.25, 2.5), const(builder, np.array([0.1, 0.2], np.float16)))}

    module = function_of({"x": TensorType((2,), F16)}, make)
    x = np.array([-3, 3], np.float16)
    np.testing.assert_array_equal(reference_model(serialize(module), [x])[0], np.array([-1.25, 2.5], np.float16) + np.array(
        [0.1, 0.2], np.float16))


def test_booleans_and_tiny_floats_as_inputs() -> None:
    module = function_of({"c": TensorType((2,), BOOL), "x": TensorType((2,), FloatType("f8E5M2"))}, lambda builder, c, x: {
        "a": builder.emit("tosa.logical_not", c), "b": builder.emit("tosa.cast", x, element=F32)})
    out = run_function(read_bytes(serialize(module)), {
        "c": np.array([True, False]), "x": np.array([1.5, -2], ml_dtypes.float8_e5m2)})
    assert out["a"].tolist() == [False, True] and out["b"].tolist() == [1.5, -2]
