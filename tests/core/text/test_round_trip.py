"""Random modules survive printing and reading; mutated text gives an error or a module."""

from __future__ import annotations

import math
import random

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from transload.errors import TransloadError
from transload.ir import (
    BOOL,
    F32,
    F64,
    I8,
    I32,
    I64,
    INDEX,
    NONE,
    Block,
    BuiltinType,
    ComplexType,
    Dense,
    DenseArray,
    DialectType,
    FileLocation,
    FloatAttr,
    FloatType,
    FunctionType,
    FusedLocation,
    IntAttr,
    IntegerType,
    NamedLocation,
    Op,
    OpaqueAttr,
    OpaqueLocation,
    QuantType,
    Region,
    SplatData,
    Symbol,
    TensorType,
    TupleType,
    dtype_of,
    new_module,
)
from transload.ir.compare import difference
from transload.ir.constants import holds_float
from transload.ir.quantization import quantized_over
from transload.text import parse_module, print_module

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
words = st.from_regex(r"[a-z_][a-z0-9_$.]{0,8}", fullmatch=True)
int64 = st.integers(-(2**63), 2**63 - 1)

integer_types = st.builds(IntegerType, st.sampled_from([1, 4, 8, 16, 32, 48, 64]), st.just("")) | st.builds(
    IntegerType, st.sampled_from([8, 16, 32, 64]), st.sampled_from(["s", "u"])
)
float_types = st.sampled_from(["f16", "bf16", "f32", "f64", "f8E4M3FN", "f8E5M2"]).map(FloatType)


@st.composite
def quant_types(draw):
    storage = draw(st.sampled_from([IntegerType(4), I8, IntegerType(8, "u"), IntegerType(16), I32]))
    scale = st.floats(1e-12, 1e12)
    zero = st.integers(*storage.range)
    low, high = storage.range
    limits = draw(st.sampled_from([(None, None), (low + 1, high)]))
    form = draw(st.sampled_from(["tensor", "axis", "blocks"]))
    if form == "tensor":
        return QuantType(storage, F32, (draw(scale),), (draw(zero),), None, *limits)
    if form == "blocks":
        grid = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
        count = math.prod(grid)
        numbers = (np.array(draw(st.lists(of, min_size=count, max_size=count))).reshape(grid) for of in (scale, zero))
        sizes = draw(st.lists(st.integers(1, 64), min_size=len(grid), max_size=len(grid)))
        return quantized_over(QuantType(storage, F32, (1.0,), (0,), None, *limits), *numbers, sizes)
    size = draw(st.integers(1, 4))
    zeros = tuple(draw(st.lists(zero, min_size=size, max_size=size)))
    return QuantType(
        storage, F32, tuple(draw(st.lists(scale, min_size=size, max_size=size))), zeros, draw(st.integers(0, 3)), *limits
    )


element_types = integer_types | float_types | st.just(INDEX) | quant_types()
sizes = st.lists(st.none() | st.integers(0, 5), max_size=4).map(tuple)
tensor_types = st.builds(TensorType, st.none() | sizes, element_types)
types = st.recursive(
    tensor_types
    | element_types
    | st.sampled_from(
        [NONE, ComplexType(F32), DialectType("tosa.shape<4>"), DialectType('d.t<"a>", [1 -> 2]>'), BuiltinType("vector<4xf32>")]
    ),
    lambda inner: (
        st.builds(FunctionType, st.lists(inner, max_size=2).map(tuple), st.lists(inner, max_size=2).map(tuple))
        | st.builds(TupleType, st.lists(inner, max_size=2).map(tuple))
    ),
    max_leaves=4,
)


def _in_range(type_):
    low, high = (-(2**63), 2**63 - 1) if type_ == INDEX else type_.range
    return st.builds(IntAttr, st.integers(low, high), st.just(type_))


@st.composite
def dense(draw):
    element = draw(integer_types | float_types | st.sampled_from([ComplexType(F32), INDEX]))
    shape = draw(st.lists(st.integers(0, 5), max_size=3).map(tuple) | st.just((11, 12)))
    dtype = dtype_of(element)
    count = int(np.prod(shape))
    raw = np.random.default_rng(draw(st.integers(0, 1000))).integers(0, 256, (count, dtype.itemsize), np.uint8)
    if element == BOOL:
        array = raw[:, 0] > 127
    elif element == IntegerType(4):
        array = (raw[:, 0].view(np.int8) >> 4).astype(ml_dtypes.int4)
    elif element == IntegerType(48):
        array = raw.reshape(-1).view(np.int64) >> 16
    else:
        array = raw.reshape(-1).view(dtype)
    type_ = TensorType(shape, element)
    if count and draw(st.booleans()):
        return Dense(SplatData(array[0], shape), type_)
    return Dense(array.reshape(shape), type_)


scalars = (
    st.booleans()
    | int64
    | st.floats()
    | names
    | types
    | st.none()
    | words.map(Symbol)
    | names.map(Symbol)
    | st.sampled_from([BOOL, I8, I32, INDEX, IntegerType(8, "u")]).filter(lambda t: t not in (BOOL, I64)).flatmap(_in_range)
    | st.builds(FloatAttr, st.floats(), st.sampled_from([F32, FloatType("bf16")])).filter(
        lambda number: holds_float(number, number.type))  # others are read as MLIR reads them: as infinite
    | st.lists(int64, max_size=4).map(tuple)
    | st.builds(DenseArray, st.lists(st.booleans(), min_size=1, max_size=3), st.just(BOOL))
    | st.builds(DenseArray, st.lists(st.integers(-128, 127), max_size=3), st.just(I8))
    | st.builds(DenseArray, st.lists(st.floats(allow_nan=False), max_size=3), st.just(F64))
    | st.sampled_from(["#d.x<a -> b>", '#d<"}">', "affine_map<(d0) -> (d0 + 1)>", "#d.y"]).map(OpaqueAttr)
    | dense()
)
attributes = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names.filter(bool), inner, max_size=3), max_leaves=4
)
locations = st.recursive(
    st.none()
    | names
    | st.builds(FileLocation, names, st.integers(0, 9999), st.integers(0, 9999))
    | st.just(OpaqueLocation('callsite("a" at "b":1:2)')),
    lambda inner: (
        st.builds(FusedLocation, st.lists(inner, max_size=3).map(tuple), st.none() | names)
        | st.builds(NamedLocation, names, inner.filter(lambda v: v is not None))
    ),
    max_leaves=4,
)


@st.composite
def modules(draw):
    """Ops that no dialect declares, in nested regions, using what is visible, now and then before its definition."""
    module = new_module()

    def fill(block, visible, depth):
        visible = [*visible, *block.arguments]
        for _ in range(draw(st.integers(0, 3))):
            operands = draw(st.lists(st.sampled_from(visible), max_size=3)) if visible else []
            regions = []
            for _ in range(draw(st.integers(0, 2)) if depth < 2 else 0):
                region = Region()
                for _ in range(draw(st.integers(0, 2))):
                    fill(
                        region.add_block(Block(draw(st.lists(types, max_size=2)), draw(st.lists(locations, max_size=2)))),
                        visible,
                        depth + 1,
                    )
                regions.append(region)
            op = Op(
                draw(st.sampled_from(["test.a", "other.b", "plain", 'odd "name"'])),
                operands,
                draw(st.lists(types, max_size=3)),
                draw(st.dictionaries(names.filter(bool), attributes, max_size=4)),
                regions,
                draw(locations),
            )
            block.append(op)
            visible.extend(op.results)
        ops = list(block)
        if len(ops) > 1 and ops[-1].results and draw(st.booleans()):  # as in a graph region
            ops[0].operands = [*ops[0].operands, ops[-1].results[-1]]

    fill(module.body, [], 0)
    return module


quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@quick
@given(modules())
def test_module_survives_text(module):
    text = print_module(module)
    again = parse_module(text)
    assert difference(module, again) is None
    assert print_module(again) == text


@quick
@given(modules())
def test_resources_hold_the_same_constants(module):
    again = parse_module(print_module(module, constants="resource"))
    assert difference(module, again) is None


@quick
@given(modules())
def test_elided_text_has_the_same_structure(module):
    text = print_module(module, constants="elided", locations=False)
    assert print_module(parse_module(text), constants="elided", locations=False) == text


SEEDS = [
    """#loc1 = loc("x"("f.py":1:2))
#map = affine_map<(d0) -> (d0)>
!t = tensor<1x2xf32>
"builtin.module"() ({
  "func.func"() <{function_type = (!t) -> !t, sym_name = "main", arg_attrs = [{ml_program.identifier = "x"}]}> ({
  ^bb0(%0: !t loc("input")):
    %1 = "tosa.clamp"(%0) {min_val = 0.0 : f32, max_val = 0x7F800000 : f32} : (!t) -> tensor<1x2xf32> loc(fused<"p">["c", #loc1])
    %c = "tosa.const"() <{values = dense_resource<a> : tensor<1x2xf32>}> : () -> tensor<1x2xf32> loc(#loc1)
    %d = "tosa.const"() <{values = dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>}> : () -> tensor<2x2xi8>
    %2:2 = "tosa.cond_if"(%1, %c) ({
      "tosa.yield"(%1) : (tensor<1x2xf32>) -> ()
    }, {
    ^bb1(%a: i32):
      "tosa.yield"(%c) : (tensor<1x2xf32>) -> ()
    }) {m = #map, q = !quant.uniform<i8<-127:127>:f32:1, {0.5:1,2.0}>, s = @a::@"b c"} : (!t, !t) -> (!t, i32) loc(#later)
    "func.return"(%2#0) : (tensor<1x2xf32>) -> ()
  }) : () -> () loc(callsite("a" at unknown))
}) : () -> ()
#later = loc("later")
{-#
  dialect_resources: { builtin: { a: "0x040000000000803F00000040" } }
#-}
""",
    """%0 = "a.b"() {x = dense<"0x01020304"> : tensor<4xi8>, y = [1, 2.5, array<i32: 1, 2>, unit, "s\\22"], z = dense<(1.0,2.0)> :
  tensor<2xcomplex<f32>>, w = array<f64: 1.0>, v = dense<1.0> : tensor<3x3xbf16>} : () -> tuple<i1, () -> ()> // comment
"c.d"(%0) : (tuple<i1, () -> ()>) -> () loc("n":1:2)
""",
]
SPLICES = [
    "{",
    "}",
    "<",
    ">",
    "(",
    ")",
    "[",
    "]",
    '"',
    "\\",
    "%0",
    "%9",
    "#",
    "!",
    "@",
    "^bb",
    ":",
    ",",
    "->",
    "=",
    "loc(",
    "dense<",
    "tensor<",
    "99999999999999999999",
    "-1",
    "0x",
    "0.0",
    "e9999",
    "i99999999",
    "x",
    "\n",
    "//",
    "{-#",
    "#-}",
    "array<",
    "unit",
    "\u00e9",
    " ",
    "?x",
    "!quant.uniform<",
    "#loc1",
    "!t",
    "fused[",
    "callsite(",
    "dense_resource<a>",
    "true",
    "4294967296x4294967296x",
]


@pytest.mark.parametrize("seed", range(len(SEEDS)))
def test_mutated_text_never_crashes(seed):
    rng = random.Random(seed)
    source = SEEDS[seed]
    good = 0
    print_module(parse_module(source))
    for _ in range(1000):
        text = source
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            at = rng.randrange(len(text) + 1)
            kind = rng.randrange(4)
            if kind == 0:
                text = text[:at] + text[at + rng.randrange(1, 12) :]
            elif kind == 1:
                text = text[:at] + rng.choice(SPLICES) + text[at:]
            elif kind == 2:
                end = min(len(text), at + rng.randrange(1, 60))
                text = text[:at] + text[at:end] * 2 + text[end:]
            else:
                text = text[:at] + chr(rng.randrange(1, 256)) + text[at + 1 :]
        try:
            module = parse_module(text, name="mutant")
        except TransloadError as error:
            assert "mutant" in str(error)
            continue
        print_module(module)
        good += 1
    assert good > 20  # the mutations are not all hopeless


def test_quantized_and_dynamic_tensors_read_back():
    type_ = TensorType((1, None, 3), QuantType(IntegerType(8, "u"), F32, (0.1, 0.2, 0.3), (0, 1, 255), 2))
    assert str(type_) == "tensor<1x?x3x!quant.uniform<u8:f32:2, {0.1,0.2:1,0.3:255}>>"
    module = new_module()
    module.body.append(Op("a.b", (), [type_]))
    assert difference(module, parse_module(print_module(module))) is None
