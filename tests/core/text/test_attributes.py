"""Every attribute and type of MLIR's builtin dialect, as Python and as text."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from transload.errors import InternalError, TextError
from transload.ir import (
    BF16,
    BOOL,
    F32,
    F64,
    I8,
    I16,
    I32,
    I48,
    INDEX,
    UI8,
    Blocks,
    BuiltinType,
    ComplexType,
    Dense,
    DenseArray,
    DialectType,
    FloatAttr,
    FloatType,
    FunctionType,
    IntAttr,
    IntegerType,
    Op,
    OpaqueAttr,
    QuantType,
    SplatData,
    Symbol,
    TensorType,
    TupleType,
)
from transload.ir.compare import same_attribute
from transload.text import parse_attribute, parse_type, print_attribute, print_op

ATTRIBUTES = [
    (True, "true"),
    (False, "false"),
    (3, "3 : i64"),
    (-(2**63), "-9223372036854775808 : i64"),
    (IntAttr(3, I32), "3 : i32"),
    (IntAttr(-1, INDEX), "-1 : index"),
    (IntAttr(255, UI8), "255 : ui8"),
    (1.5, "1.5 : f64"),
    (1e10, "10000000000.0 : f64"),
    (1e-5, "1.0e-05 : f64"),
    (-0.0, "-0.0 : f64"),
    (1e300, "1.0e+300 : f64"),
    (math.inf, "0x7FF0000000000000 : f64"),
    (FloatAttr(math.inf, F32), "0x7F800000 : f32"),
    (FloatAttr(-math.inf, BF16), "0xFF80 : bf16"),
    (FloatAttr(math.nan, F32), "0x7FC00000 : f32"),
    (FloatAttr(0.1, F32), "0.1 : f32"),
    ("NHWC", '"NHWC"'),
    ('q"\\\n\té', r'"q\22\\\0A\09\C3\A9"'),
    ("", '""'),
    ([], "[]"),
    ([1, 2.5, "x", [True]], '[1, 2.5, "x", [true]]'),
    ([IntAttr(1, I32)], "[1 : i32]"),
    ({"a": 1, "b": None, "odd key": {}}, '{a = 1 : i64, b, "odd key" = {}}'),
    (None, "unit"),
    ((), "array<i64>"),
    ((1, -2), "array<i64: 1, -2>"),
    (DenseArray((1,), I32), "array<i32: 1>"),
    (DenseArray((True, False), BOOL), "array<i1: true, false>"),
    (DenseArray((1.0, 2.5), F64), "array<f64: 1.0, 2.5>"),
    (DenseArray((math.inf,), F32), "array<f32: 0x7F800000>"),
    (DenseArray((), I8), "array<i8>"),
    (Symbol("main"), "@main"),
    (Symbol("a::@b c"), '@a::@"b c"'),
    (F32, "f32"),
    (TensorType((1, None), I8), "tensor<1x?xi8>"),
    (FunctionType((I8,), ()), "(i8) -> ()"),
    (OpaqueAttr("#tosa.nan_mode<PROPAGATE>"), "#tosa.nan_mode<PROPAGATE>"),
    (OpaqueAttr('#d.x<"a>b", {c = [1 -> 2]}>'),) * 2,
    (OpaqueAttr("affine_map<(d0)[s0] -> (d0 + s0)>"), "affine_map<(d0)[s0] -> (d0 + s0)>"),
    (OpaqueAttr("affine_set<(d0) : (d0 - 10 >= 0)>"), "affine_set<(d0) : (d0 - 10 >= 0)>"),
    (OpaqueAttr("sparse<[[0, 0]], 1.0> : tensor<2x2xf32>"), "sparse<[[0, 0]], 1.0> : tensor<2x2xf32>"),
    (OpaqueAttr("strided<[1, 2], offset: 3>"), "strided<[1, 2], offset: 3>"),
    (OpaqueAttr("#d.x<y> : i32"), "#d.x<y> : i32"),
    (OpaqueAttr('dense<["a", "b"]> : tensor<2x!d.str>'), 'dense<["a", "b"]> : tensor<2x!d.str>'),
    (OpaqueAttr("dense<[1, 2]> : vector<2xi32>"), "dense<[1, 2]> : vector<2xi32>"),
    (OpaqueAttr("dense<1> : memref<2xi32, strided<[?]>>"), "dense<1> : memref<2xi32, strided<[?]>>"),
    (OpaqueAttr("dense<1> : !d.array<2xi32>"), "dense<1> : !d.array<2xi32>"),
    (OpaqueAttr('"s" : !d.str'), '"s" : !d.str'),
    (OpaqueAttr('loc("a"("f":1:2))'), 'loc("a"("f":1:2))'),
    (OpaqueAttr("distinct[0]<unit>"), "distinct[0]<unit>"),
    (Dense(np.array([[1, 2], [3, -4]], np.int8)), "dense<[[1, 2], [3, -4]]> : tensor<2x2xi8>"),
    (Dense(np.float32(0.1)), "dense<0.1> : tensor<f32>"),
    (Dense(np.zeros((0, 3), np.float32)), "dense<> : tensor<0x3xf32>"),
    (Dense(SplatData(7, (4, 5), np.int16)), "dense<7> : tensor<4x5xi16>"),
    (Dense(np.array([True, False])), "dense<[true, false]> : tensor<2xi1>"),
    (Dense(np.array([1 + 2j], np.complex64)), "dense<(1.0,2.0)> : tensor<1xcomplex<f32>>"),
    (Dense(np.array([1 + 2j, -3j], np.complex64)), "dense<[(1.0,2.0), (-0.0,-3.0)]> : tensor<2xcomplex<f32>>"),
    (Dense(np.array([math.inf, 1], np.float32)), "dense<[0x7F800000, 1.0]> : tensor<2xf32>"),
    (Dense(np.array([1, 2], ml_dtypes.bfloat16)), "dense<[1.0, 2.0]> : tensor<2xbf16>"),
    (Dense(np.array([-8, 7], ml_dtypes.int4)), "dense<[-8, 7]> : tensor<2xi4>"),
    (Dense(np.array([-(2**47), 5]), TensorType((2,), I48)), "dense<[-140737488355328, 5]> : tensor<2xi48>"),
]


@pytest.mark.parametrize(("value", "text"), ATTRIBUTES, ids=lambda v: str(v)[:40])
def test_attribute_and_its_text(value, text):
    text = value.text if isinstance(text, OpaqueAttr) else text
    assert print_attribute(value) == text
    assert same_attribute(parse_attribute(text), value)


TYPES = [
    "i1",
    "si8",
    "ui16",
    "i48",
    "f32",
    "bf16",
    "tf32",
    "f8E4M3FN",
    "index",
    "none",
    "complex<f32>",
    "tensor<f32>",
    "tensor<*xf32>",
    "tensor<1x?x3xi8>",
    "tensor<0x2xf32>",
    "tuple<>",
    "tuple<i1, f32>",
    "() -> ()",
    "(i32) -> ((i32) -> i32)",
    "!d.t",
    '!d.t<"a>b", [1 -> 2]>',
    "tensor<2xf32, #d.enc<a -> b>>",
    'tensor<2xf32, "x">',
    "vector<[4]x2xf32>",
    "memref<2x?xf32, strided<[1, 2]>, 3>",
    "!quant.uniform<i8:f32, 0.5:-3>",
    "!quant.uniform<u8<1:254>:f32:1, {0.1:2,0.2}>",
    "tensor<2x!quant.uniform<i8<-127:127>:f32, 1.0e-05>>",
    "!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0, 2.0}, {3.0:1, 4.0}}>",
    "!quant.uniform<u4<1:15>:bf16:{1:32}, {{{0.5:8}, {0.25}}}>",
    "!quant.any<i8:f32>",
    "!quant.uniform<i8:f32, 0x7FF0000000000000>",
]


@pytest.mark.parametrize("text", TYPES)
def test_type_text_reads_back(text):
    assert str(parse_type(text)) == text


def test_types_mean_what_they_say():
    assert parse_type("tensor< 1 x ? x 3 x ui8 >") == TensorType((1, None, 3), IntegerType(8, "u"))
    assert parse_type("!quant.uniform<ui8:f32, 1.0>") == QuantType(UI8, F32, (1.0,), (0,))
    assert parse_type("!quant.uniform<i16:f32:0, {1.0, 2.0:3}>") == QuantType(I16, F32, (1.0, 2.0), (0, 3), 0)
    blocks = Blocks((None, 32), (1, 2))
    assert parse_type("!quant.uniform<i8:f32:{1:32}, {{1.0, 2.0:3}}>") == QuantType(I8, F32, (1.0, 2.0), (0, 3), blocks=blocks)
    assert parse_type("!quant.uniform<i8:f32:{1 : 1}, {{1.0 , 2.0}}>") == QuantType(I8, F32, (1.0, 2.0), (0, 0), 1)
    assert parse_type("!quant.uniform<i8:f32:{0:4}, {{1.0}}>") == QuantType(I8, F32, (1.0,), (0,))
    assert parse_type("!quant.uniform<u4:f32:{1:2}, {{1.0:-8, 2.0:7}}>").zero_points == (8, 7)  # as MLIR prints 8
    assert parse_type("tuple<complex<f32>, vector<2xi8>>") == TupleType((ComplexType(F32), BuiltinType("vector<2xi8>")))
    assert parse_type("!tosa.shape<4>") == DialectType("tosa.shape<4>")
    assert parse_type("f4E2M1FN") == FloatType("f4E2M1FN")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("255 : i8", IntAttr(-1, I8)),
        ("0xFF : i8", IntAttr(-1, I8)),
        ("1 : i1", True),
        ("-5", -5),
        ("2.", 2.0),
        ("1.e5", 1e5),
        ("dense<255> : tensor<2xi8>", Dense(SplatData(-1, (2,), np.int8))),
        ("dense<[]> : tensor<0xf32>", Dense(np.zeros(0, np.float32))),
        ('dense<"0x0102"> : tensor<2xi8>', Dense(np.array([1, 2], np.int8))),
        ('dense<"0x0000803F"> : tensor<4xf32>', Dense(SplatData(1, (4,), np.float32))),
        ('dense<"0x0F02"> : tensor<2xi4>', Dense(np.array([-1, 2], ml_dtypes.int4))),
        ('dense<"0xFFFFFFFFFFFF020000000000"> : tensor<2xi48>', Dense(np.array([-1, 2]), TensorType((2,), I48))),
        ('dense<"0x050A"> : tensor<10xi1>', Dense(np.array([1, 0, 1, 0, 0, 0, 0, 0, 0, 1], bool))),
    ],
)
def test_other_ways_to_write_the_same(text, value):
    assert same_attribute(parse_attribute(text), value)


@pytest.mark.parametrize("type_", ["tensor<?xi32>", "tensor<*xi32>", "memref<?xi32>"])
def test_data_that_is_only_named_may_be_of_open_sizes(type_):
    """As MLIR has it: what is named may be of any shaped type."""
    text = f"dense_resource<k> : {type_}"
    assert print_attribute(parse_attribute(text)) == text


def test_large_constant_is_hexadecimal():
    array = np.arange(101, dtype=np.int16)
    text = print_attribute(Dense(array))
    assert text.startswith('dense<"0x000001000200') and text.endswith('"> : tensor<101xi16>')
    assert np.array_equal(parse_attribute(text).numpy(), array)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("256 : i8", "out of range for i8"),
        ("-1 : ui8", "out of range"),
        ("1.0 : i8", "cannot be of type i8"),
        ("3 : f32", "decimal point"),
        ("0xFFFFFFFFFF : f32", "more bits"),
        ("[1, 2", "expected ']'"),
        ("{a = 1, a = 2}", "given twice"),
        ('"a', "expected an attribute"),
        (r'"a\q"', "unknown escape"),
        ("#x", "not defined"),
        ("!x", "not defined"),
        ("frog", "no type"),
        ("#d.x<(]>", "expected ')'"),
        ("dense<[1, [2]]> : tensor<2xi8>", "side by side"),
        ("dense<[1, 2]> : tensor<3xi8>", "shape (2,)"),
        ("dense<1> : tensor<?xi8>", "static"),
        ("dense<0> : i32", "has a shape"),
        ('dense<"0x00000000"> : i32', "has a shape"),
        ('dense<"a"> : none', "has a shape"),
        ("dense<0> : tuple<tensor<2xi32>>", "has a shape"),
        ("dense<0> : !quant.uniform<i8:f32, 1.0>", "has a shape"),
        ("dense<0> : graph<() -> ()>", "has a shape"),
        ("dense_resource<__elided__> : index", "has a shape"),
        ("dense_resource<k> : complex<f32>", "has a shape"),
        ("sparse<[[0, 0]], 1.0> : (f32) -> f32", "has a shape"),
        ("sparse<[[0, 0]], 1.0> : tensor<2x?xf32>", "static"),
        ('dense<["a"]> : tensor<?x!d.str>', "static"),
        ("dense<0> : memref<2x?xi32>", "static"),
        ("dense<0> : memref<*xi32>", "static"),
        ("dense<[1, 2]> : tensor<2xf32>", "decimal point"),
        ("dense<true> : tensor<i8>", "no integer"),
        ('dense<"0x01"> : tensor<4xi16>', "takes 8 bytes"),
        ('dense<"0x012"> : tensor<4xi8>', "two digits"),
        ("dense<0> : tensor<99999999x99999999xi8>", "at most"),
        ("array<i64: 1, x>", "no integer"),
        ("tensor<4xtensor<2xf32>>", "cannot have elements"),
        ("tensor<4x", "a type"),
        ("i0", "no type"),
        ("i99999999", "at most"),
        ("!quant.uniform<i8:i8, 1.0>", "is a float"),
        ("!quant.uniform<i8<0:999>:f32, 1.0>", "does not lie"),
        ("!quant.uniform<f8:f32, 1.0>", "storage"),
        ("!quant.uniform<i8:f32:{0:2}, {{1.0}, {1.0, 2.0}}>", "not as many in all rows"),
        ("!quant.uniform<i8:f32:{0:2}, {{1.0}, 2.0}>", "not as many in all rows"),
        ("!quant.uniform<i8:f32:{0:0}, {1.0}>", "size of 0"),
        ("!quant.uniform<i8:f32:{0:2, 0:3}, {1.0}>", "two sizes"),
        ("!quant.uniform<i8:f32:{1:2}, {1.0}>", "along dimension 1"),
        ("!quant.uniform<i8:f32:{0:2}, {{1.0, 2.0}}>", "not divided"),
        ("!quant.uniform<i8:f32:{0:2}, {}>", "a scale"),
        ("!quant.uniform<i8:f32:{0:2}, 1.0>", "'{'"),
        ("!quant.uniform<i8:f32:{0:2}, " + "{" * 500, "levels deep"),
        ("1 2", "expected the end"),
        ("dense_resource<k> : tensor<2xi8>", "no data"),
        ("[" * 500, "levels deep"),
        ("tuple<" * 500, "levels deep"),
    ],
)
def test_bad_text_says_what_is_wrong(text, message):
    with pytest.raises(TextError) as caught:
        parse_attribute(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith("<attribute>:1:")


def test_declared_attributes_are_plain_values_in_python_and_typed_in_text(tiny_dialect):
    op = Op("tiny.op", (), (), {"small": 3, "numbers": (1, 2), "ratio": 0.5, "mode": "MAX", "flag": None, "extra": 4})
    text = print_op(op)
    assert text == (
        '"tiny.op"() <{small = 3 : i32, numbers = array<i32: 1, 2>, ratio = 0.5 : f32, mode = #tiny.mode<MAX>, flag}> '
        "{extra = 4 : i64} : () -> ()"
    )
    again = tiny_dialect(text)
    assert again.attributes == op.attributes
    assert type(again.attributes["small"]) is int
    assert type(again.attributes["ratio"]) is float
    assert type(again.attributes["mode"]) is str


def test_declared_attribute_of_another_kind_is_kept_for_the_verifier(tiny_dialect):
    op = tiny_dialect('"tiny.op"() {small = "three", mode = #tiny.mode<MEDIAN>} : () -> ()')
    assert op.attributes["small"] == "three"
    assert op.attributes["mode"] == OpaqueAttr("#tiny.mode<MEDIAN>")


def test_what_has_no_text_is_an_error():
    with pytest.raises(InternalError, match="Python type set"):
        print_attribute({1, 2})
