"""Modules as text: regions, names, locations, constants in their three places, errors with their place."""

from __future__ import annotations

import io

import ml_dtypes
import numpy as np
import pytest

from transload.errors import ReadError, TextError, UsageError
from transload.ir import (
    F32,
    I8,
    Dense,
    FileLocation,
    FusedLocation,
    NamedLocation,
    Op,
    OpaqueLocation,
    QuantType,
    SplatData,
    TensorType,
    new_module,
    set_results,
    verify,
)
from transload.ir.compare import difference
from transload.ir.constants import LazyData, MmapData
from transload.text import parse_file, parse_module, print_module, print_op, write_module

T = TensorType((2,), F32)


def with_constants(*arrays):
    """A module that holds some constants, named w0, w1, ..."""
    module = new_module()
    main = module.add_function("main", [], [])
    values = [
        main.regions[0]
        .block.append(Op("tosa.const", (), [TensorType(a.shape, Dense(a).type.element)], {"values": Dense(a)}, (), f"w/{i}"))
        .result
        for i, a in enumerate(arrays)
    ]
    set_results(main, values)
    return module


def constants_of(module):
    return [op.attributes["values"] for op in module.ops() if op.name == "tosa.const"]


ARRAYS = [
    np.random.default_rng(0).standard_normal((40, 50)).astype(np.float32),
    np.arange(300, dtype=np.int8).reshape(3, 100),
    np.linspace(-4, 4, 200).astype(ml_dtypes.bfloat16),
    np.arange(-100, 100).astype(np.int8).astype(ml_dtypes.int4),
    np.arange(200) % 3 == 0,
    np.arange(3, dtype=np.int32),
]


def test_values_are_named_in_order():
    module = new_module()
    main = module.add_function("main", [T, T], ["x", None])
    body = main.regions[0].block
    two = body.append(Op("a.two", body.arguments, [T, T]))
    one = body.append(Op("a.one", [two.results[1]], [T], location="name"))
    set_results(main, [one.result, two.results[0]])
    assert (
        print_module(module, locations=False)
        == """"builtin.module"() ({
  "func.func"() <{sym_name = "main", function_type = (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>), \
arg_attrs = [{ml_program.identifier = "x"}, {}]}> ({
  ^bb0(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>):
    %0:2 = "a.two"(%arg0, %arg1) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    %1 = "a.one"(%0#1) : (tensor<2xf32>) -> tensor<2xf32>
    "func.return"(%1, %0#0) : (tensor<2xf32>, tensor<2xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""
    )
    verify(parse_module(print_module(module)))


@pytest.mark.parametrize(
    ("location", "text"),
    [
        ("conv1", '"conv1"'),
        ('a "b"', r'"a \22b\22"'),
        (FileLocation("f.py", 1, 2), '"f.py":1:2'),
        (FusedLocation(("a", "b")), 'fused["a", "b"]'),
        (FusedLocation(("a",), "part"), 'fused<"part">["a"]'),
        (NamedLocation("x", FileLocation("f", 1, 2)), '"x"("f":1:2)'),
        (OpaqueLocation('callsite("a" at "b")'), 'callsite("a" at "b")'),
        (FusedLocation((None, "a")), 'fused[unknown, "a"]'),
        (OpaqueLocation('fused<{k = 1 : i64}>["a"]'), 'fused<{k = 1 : i64}>["a"]'),
        (OpaqueLocation('"f":1:2 to 3:4'), '"f":1:2 to 3:4'),
    ],
)
def test_locations(location, text):
    module = new_module()
    module.body.append(Op("a.b", (), [T], location=location))
    printed = print_module(module)
    assert f"loc({text})\n" in printed
    assert difference(module, parse_module(printed)) is None
    assert "loc(" not in print_module(module, locations=False)


def test_location_aliases_may_come_later_and_in_each_other():
    module = parse_module(""""a.b"() : () -> () loc(#loc2)
"a.b"() : () -> () loc(fused[#loc1, "y"])
"a.b"() : () -> () loc(callsite(#loc1 at #loc3))
#loc1 = loc("x")
#loc2 = loc("name"(#loc3))
#loc3 = loc("f.py":1:2)
""")
    named, fused, call = (op.location for op in module.body)
    assert named == "name" and named.child == FileLocation("f.py", 1, 2)
    assert fused == FusedLocation(("x", "y"))
    assert call == OpaqueLocation('callsite("x" at "f.py":1:2)')


def test_forward_references_and_nested_regions():
    module = parse_module(""""g.graph"() ({
  %0 = "a.b"(%1#1) : (tensor<2xf32>) -> tensor<2xf32>
  "a.if"(%0) ({
    %2 = "a.use"(%0, %1) : (tensor<2xf32>, i32) -> i8
  }, {
  ^bb0(%2: f32):
    "a.use"(%2) : (f32) -> ()
  }) : (tensor<2xf32>) -> ()
  %1:2 = "a.c"() : () -> (i32, tensor<2xf32>)
}) : () -> ()
""")
    first, _, last = module.body.first.regions[0].block
    assert first.operands[0] is last.results[1]
    assert difference(module, parse_module(print_module(module))) is None


def test_names_do_not_cross_the_border_of_a_function():
    parse_module(""""func.func"() <{sym_name = "f", function_type = () -> ()}> ({
  %0 = "a.b"() : () -> i32
  "func.return"() : () -> ()
}) : () -> ()
"func.func"() <{sym_name = "g", function_type = () -> ()}> ({
  %0 = "a.b"() : () -> f32
  "a.b"(%0) : (f32) -> ()
  "func.return"() : () -> ()
}) : () -> ()
""")


# --- constants


def test_inline_constants_read_back():
    module = with_constants(*ARRAYS)
    assert difference(module, parse_module(print_module(module))) is None


def test_resources_read_back_and_are_decoded_when_asked_for():
    module = with_constants(*ARRAYS, np.zeros((200, 200), np.float32) + np.eye(200, dtype=np.float32))
    text = print_module(module, constants="resource")
    assert text.count("dense_resource<w_0>") == 1 and '      w_0: "0x10000000' in text
    again = parse_module(text)
    large = constants_of(again)[-1]
    assert isinstance(large.data, LazyData) and large.data._array is None
    assert difference(module, again) is None
    assert print_module(again, constants="resource") == text


def test_shared_data_is_printed_once():
    shared = Dense(np.arange(1000, dtype=np.int32))
    module = new_module()
    for name in ("a", "b"):
        module.body.append(Op("tosa.const", (), [shared.type], {"values": shared}, (), name))
    text = print_module(module, constants="resource")
    assert text.count("dense_resource<a>") == 2
    first, second = (op.attributes["values"] for op in parse_module(text).body)
    assert np.shares_memory(first.numpy(), second.numpy())


def test_side_file(tmp_path):
    module = with_constants(*ARRAYS)
    text = print_module(module, constants="file", npz_path=tmp_path / "w.npz")
    assert len(text) < 2000
    with np.load(tmp_path / "w.npz") as saved:
        assert np.array_equal(saved["w_0"], ARRAYS[0])
        arrays = dict(saved)
    again = parse_module(text, constants=tmp_path / "w.npz")
    assert isinstance(constants_of(again)[0].data, MmapData)
    assert difference(module, again) is None
    assert difference(module, parse_module(text, constants=arrays)) is None
    np.savez_compressed(tmp_path / "small.npz", **arrays)
    assert difference(module, parse_module(text, constants=tmp_path / "small.npz")) is None


def test_side_file_that_does_not_fit(tmp_path):
    module = with_constants(ARRAYS[0])
    path = tmp_path / "w.npz"
    text = print_module(module, constants="file", npz_path=path)
    with pytest.raises(TextError, match="no data for 1 resource"):
        parse_module(text)
    with pytest.raises(TextError, match="is of shape"):
        parse_module(text, constants={"w_0": ARRAYS[0].T})
    with pytest.raises(TextError, match="holds float64"):
        parse_module(text, constants={"w_0": ARRAYS[0].astype(np.float64)})
    with pytest.raises(ReadError, match="there is no such file"):
        parse_module(text, constants=tmp_path / "none.npz")
    data = path.read_bytes()
    for damaged in (data[:100], data[: len(data) // 2], b"PK\3\4" + data[90:], b""):
        path.write_bytes(damaged)
        with pytest.raises(ReadError):
            parse_module(text, constants=path)
    np.savez(path, w_0=np.array([object()]))
    with pytest.raises(ReadError, match="Python objects"):
        parse_module(text, constants=path)


def test_elided_constants_keep_their_place_and_have_no_data():
    module = with_constants(*ARRAYS)
    text = print_module(module, constants="elided")
    assert "dense_resource<__elided__> : tensor<40x50xf32>" in text and "dense<[0, 1, 2]> : tensor<3xi32>" in text
    again = parse_module(text)
    assert print_module(again, constants="elided") == text
    assert print_module(again) == text
    with pytest.raises(ReadError, match="left out"):
        constants_of(again)[0].numpy()
    assert constants_of(again)[0] != constants_of(parse_module(text))[0]


def test_written_in_pieces(tmp_path):
    module = with_constants(np.random.default_rng(1).integers(-99, 99, (700, 3000), np.int8), *ARRAYS)
    pieces: list[str] = []

    class Sink(io.StringIO):
        def write(self, text):
            pieces.append(text)
            return len(text)

    write_module(module, Sink())
    assert max(map(len, pieces)) < 2_500_000 < len("".join(pieces))
    assert "".join(pieces) == print_module(module)
    assert difference(module, parse_module("".join(pieces))) is None


def test_quantized_constant_holds_its_storage():
    type_ = TensorType((2,), QuantType(I8, F32, (0.5,), (3,)))
    module = new_module()
    module.body.append(Op("tosa.const", (), [type_], {"values": Dense(SplatData(1, (2,), np.int8))}))
    text = print_module(module)
    assert "dense<1> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 0.5:3>>" in text
    assert difference(module, parse_module(text)) is None


def test_modes_must_be_known():
    with pytest.raises(UsageError, match="inline, elided"):
        print_module(new_module(), constants="zip")
    with pytest.raises(UsageError, match="npz_path"):
        print_module(new_module(), constants="file")


def test_one_op_in_one_line():
    module = with_constants(ARRAYS[0])
    assert print_op(module.main) == '"func.func"() <{sym_name = "main", function_type = () -> tensor<40x50xf32>}> : () -> ()'
    assert "__elided__" in print_op(module.body_of_main.first)


# --- errors


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("module {\n  acme.mix %0\n}", "2:3", "no plugin says how acme.mix is written"),
        ('"builtin.module"() ({\n  func.func @main() {\n', "2:21", "never closed"),
        ("%0 = stablehlo.add %1, %2", "1:6", "generic form"),
        ('"a.b"(%0) : (i32) -> ()', "1:7", "'%0' is not defined"),
        ('"a.b"() : (i32) -> ()', "1:7", "0 operands and 1 types"),
        ('%0 = "a.b"() : () -> i32\n"a.b"(%0) : (f32) -> ()', "2:7", "of type i32 where it is defined"),
        ('%0 = "a.b"() : () -> i32\n%0 = "a.b"() : () -> i32', "2:1", "defined twice"),
        ('%0:2 = "a.b"() : () -> i32', "1:1", "1 results"),
        ('%0 = "a.b"() : () -> i32\n"a.b"(%0#1) : (i32) -> ()', "2:7", "has 1 result(s)"),
        ('"a.b"() : () -> tensor<2xmemref<2xf32>>', "1:26", "a tensor cannot have elements of type memref<2xf32>"),
        ('%0:2 = "a.b"() : () -> (i32, i32)\n"a.b"(%0#2) : (i32) -> ()', "2:7", "has 2 result(s)"),
        ('"a.b"() ({\n "a.b"() : () -> ()', "1:10", "never closed"),
        ('"a.b"()[^bb1] : () -> ()', "1:8", "structured control flow"),
        ('"a.b"() {x = 1, x = 2} : () -> ()', "1:16", "given twice"),
        ('"a.b"() <{x = 1}> {x = 2} : () -> ()', "1:27", "given twice"),
        ('"a.b"() : () -> () loc(#x)', "1:24", "not defined"),
        ('#x = loc("a"(#x))\n"a.b"() : () -> () loc(#x)', "1:14", "by itself"),
        ("#x = 1\n#x = 2", "2:1", "defined twice"),
        ("}", "1:1", "closes nothing"),
        ('"builtin.module"() : () -> ()', "1:1", "one region"),
        ('"a.b"() ({^bb0(%0: i32, %0: i32):}) : () -> ()', "1:25", "defined twice"),
        (
            '"a.b"() {x = dense_resource<k> : tensor<2xi8>} : () -> ()\n'
            '{-# dialect_resources: { builtin: { k: "0x0300000000" } } #-}',
            "2:43",
            "no power of two",
        ),
        (
            '"a.b"() {x = dense_resource<k> : tensor<3xi8>} : () -> ()\n'
            '{-# dialect_resources: { builtin: { k: "0x040000000000" } } #-}',
            "1:29",
            "takes 3 bytes; 2 are given",
        ),
    ],
)
def test_errors_name_the_place(text, place, message):
    with pytest.raises(TextError) as caught:
        parse_module(text, name="m.mlir")
    assert str(caught.value).startswith(f"m.mlir:{place}: "), str(caught.value)
    assert message in str(caught.value)


def test_files_that_are_no_text(tmp_path):
    path = tmp_path / "m.mlirbc"
    path.write_bytes(b"ML\xefR\x06\0\0")
    with pytest.raises(ReadError, match="bytecode"):
        parse_file(path)
    with pytest.raises(ReadError, match="zero byte"):
        parse_module(b"abc\0def")
    with pytest.raises(ReadError, match="there is no such file"):
        parse_file(tmp_path / "none.mlir")


def test_aliases_that_stand_for_too_much_are_refused():
    doubling = {
        "!": ["!t0 = i32", *(f"!t{i} = tuple<!t{i - 1}, !t{i - 1}>" for i in range(1, 60))],
        "#": ["#t0 = #d.x", *(f"#t{i} = #d.x<#t{i - 1}, #t{i - 1}>" for i in range(1, 60))],
        "loc": [
            '#t0 = loc("x")',
            *(f"#t{i} = loc(fused[#t{i - 1}, #t{i - 1}])" for i in range(1, 60)),
            '"a.b"() : () -> () loc(#t59)',
        ],
    }
    for lines in doubling.values():
        with pytest.raises(TextError, match="stand for"):
            parse_module("\n".join(lines))


@pytest.mark.models
def test_models_in_pretty_form_say_how_to_get_the_generic_one(models):
    paths = sorted((models / "stablehlo").glob("*/*.mlir"))
    assert paths
    for path in paths:
        with pytest.raises(TextError, match="--mlir-print-op-generic"):
            parse_file(path)


def test_a_single_result_may_be_named_by_its_number() -> None:
    module = parse_module('%0 = "a.b"() : () -> i32\n"a.b"(%0#0, %0#00, %1#0) : (i32, i32, i32) -> ()\n%1 = "a.b"() : () -> i32')
    first, user, last = module.body
    assert list(user.operands) == [first.results[0], first.results[0], last.results[0]]
    module = parse_module('"a.b"(%0, %0#0, %0#1) : (i32, i32, i32) -> ()\n%0:2 = "a.b"() : () -> (i32, i32)')
    user, owner = module.body
    assert list(user.operands) == [owner.results[0], owner.results[0], owner.results[1]]
