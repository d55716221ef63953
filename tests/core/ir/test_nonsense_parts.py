"""Nonsense in each part of types, constants, attributes, ops and modules: refused in words, or taken and harmless later."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transload.errors import BuildError, TransloadError
from transload.ir import (
    F32,
    I8,
    I32,
    ArrayData,
    Block,
    BuiltinType,
    ComplexType,
    Dense,
    DenseArray,
    DialectType,
    ElidedData,
    FileLocation,
    FloatAttr,
    FloatType,
    FunctionType,
    FusedLocation,
    IntAttr,
    IntegerType,
    LazyData,
    MmapData,
    Module,
    Op,
    OpaqueAttr,
    OpaqueLocation,
    Packed4Data,
    QuantType,
    Region,
    SplatData,
    State,
    TensorType,
    TupleType,
    Type,
    add_state,
    asked_inputs,
    dtype_of,
    element_type_of,
    initial_states,
    input_names,
    input_types,
    is_absent,
    new_module,
    note_elements,
    noted_elements,
    output_names,
    output_types,
    set_results,
    update_function_types,
)
from transload.ir.build import Builder
from transload.ir.verify import check
from transload.text import parse_module, print_module

from tests.core.ir.relu import VECTOR, relu_module

FLOATS = np.zeros(4, np.float32)


class Strange:
    """What nothing is made of."""

    def __repr__(self) -> str:
        return "<strange>"


NONSENSE = [
    None, 3, -1, 2.5, "x", b"x", np.zeros(3), np.array([object()]), [1], [None], (), ("a",), {"a": 1}, {1: 2}, object(), VECTOR,
    F32, True, math.nan, int, lambda: 0, Strange()]


def main_with(attribute: str) -> Callable[[Any], Module]:
    """A module whose main function has an attribute."""
    def make(value: Any) -> Module:
        made = relu_module()
        made.main.attributes[attribute] = value
        return made
    return make


# --- what is done with what was made


def look_at(made: Module) -> None:
    """All that tells of a module: its text, for people and for tools, what is wrong with it, a copy."""
    repr(made)
    made._repr_html_()
    check(made)
    made.clone()
    text = print_module(made)
    if not check(made):
        parse_module(text)
    assert isinstance(made.functions, dict) and isinstance(made.inputs, dict) and isinstance(made.outputs, dict)


def use_type(type_: Type) -> None:
    repr(type_), hash(type_), type_ == VECTOR
    made = new_module()
    main = made.add_function("main", [type_], ["x"])
    set_results(main, [main.regions[0].block.arguments[0]], ["y"])
    look_at(made)


def use_element(element: Type) -> None:
    use_type(TensorType((4,), element))


def use_attribute(value: Any) -> None:
    made = relu_module()
    op = next(made.ops())
    op.attributes["acme.x"] = value
    repr(op), repr(value)
    look_at(made)
    op.attributes["relu_limit"] = value
    check(made)


def use_constant(data: Any) -> None:
    dense = Dense(data)
    repr(dense), dense.numpy(), dense.digest(), dense.key(), dense.sample(), dense.splat_value(), dense.nbytes
    use_attribute(dense)


def use_op(op: Op) -> None:
    repr(op)
    made = relu_module()
    made.body_of_main.insert(op, made.body_of_main.terminator)
    look_at(made)


def use_location(location: Any) -> None:
    repr(location), location == "x"
    op = Op("acme.op", location=location)
    assert op.origin is None or op.origin
    use_op(op)


def use_block(block: Block) -> None:
    repr(block)
    use_op(Op("acme.op", regions=[Region([block])]))


def use_region(region: Region) -> None:
    repr(region)
    use_op(Op("acme.op", regions=[region]))


def nothing(made: Any) -> None:
    """What it gives is of no concern."""


def attached(maker: Any, *parts: Any) -> Any:
    """What a method changes: `attached(Block, Block.add_argument)` is a function that gives the block."""
    method, *given = parts
    def make(*arguments: Any) -> Any:
        made = maker(*given)
        method(made, *arguments)
        return made
    return make


CASES: dict[str, tuple[Callable[..., Any], list[Any], Callable[[Any], Any]]] = {
    "TensorType": (TensorType, [(4,), F32, None], use_type),
    "IntegerType": (IntegerType, [8, ""], use_element),
    "FloatType": (FloatType, ["f32"], use_element),
    "ComplexType": (ComplexType, [F32], use_element),
    "DialectType": (DialectType, ["acme.t"], use_type),
    "BuiltinType": (BuiltinType, ["vector<4xf32>"], use_type),
    "QuantType": (QuantType, [I8, F32, (1.0,), (0,), None, None, None, None], use_element),
    "TupleType": (TupleType, [(F32,)], use_type),
    "FunctionType": (FunctionType, [(F32,), (F32,)], use_type),
    "with_shape": (VECTOR.with_shape, [(3,)], use_type),
    "with_element": (VECTOR.with_element, [F32], use_type),
    "an attribute": (lambda value: value, [3], use_attribute),
    "IntAttr": (IntAttr, [3, I32], use_attribute),
    "FloatAttr": (FloatAttr, [3.0, F32], use_attribute),
    "DenseArray": (DenseArray, [(1,), I32], use_attribute),
    "OpaqueAttr": (OpaqueAttr, ["#acme.a"], use_attribute),
    "ArrayData": (ArrayData, [FLOATS], use_constant),
    "MmapData": (MmapData, [__file__, 0, (2,), np.uint8], use_constant),
    "LazyData": (LazyData, [lambda: FLOATS, (4,), np.float32], use_constant),
    "Packed4Data": (Packed4Data, [np.zeros(2, np.uint8), (4,), True], use_constant),
    "Packed4Data.of": (Packed4Data.of, [np.zeros(4, np.int8), True], use_constant),
    "SplatData": (SplatData, [1.0, (3,), np.float32], use_constant),
    "ElidedData": (ElidedData, [(3,), np.float32], nothing),
    "Dense": (Dense, [FLOATS, VECTOR], use_constant),
    "Op": (Op, ["acme.op", (), (VECTOR,), {}, (), None], use_op),
    "Block": (Block, [(VECTOR,), ("x",)], use_block),
    "Region": (Region, [(Block(),)], use_region),
    "add_region": (attached(Op, Op.add_region, "acme.op"), [Region()], use_op),
    "add_block": (attached(Region, Region.add_block), [Block()], use_region),
    "add_argument": (attached(Block, Block.add_argument), [VECTOR, "x"], use_block),
    "erase_argument": (attached(Block, Block.erase_argument, [VECTOR]), [0], use_block),
    "append": (attached(Block, Block.append), [Op("acme.op")], nothing),
    "remove": (lambda op: relu_module().body_of_main.remove(op), [Op("acme.op")], nothing),
    "operand": (lambda name: next(relu_module().ops()).operand(name), ["input"], nothing),
    "attribute": (lambda name: next(relu_module().ops()).attribute(name), ["relu_limit"], nothing),
    "clone": (lambda mapping: relu_module().clone(mapping), [{}], nothing),
    "replace_all_uses_with": (
        lambda value: relu_module().body_of_main.arguments[0].replace_all_uses_with(value), [Block([VECTOR]).arguments[0]],
        nothing),
    "is_absent": (is_absent, [None], nothing),
    "Module": (Module, [{}, None], lambda made: (repr(made), check(made), print_module(made), made.clone())),
    "add_function": (attached(relu_module, Module.add_function), ["more", [VECTOR], ["x"], None], look_at),
    "function": (lambda name: relu_module().function(name), ["main"], nothing),
    "become": (lambda other: relu_module().become(other), [relu_module()], nothing),
    "res_attrs": (main_with("res_attrs"), [[{}]], look_at),
    "arg_attrs": (main_with("arg_attrs"), [[{}]], look_at),
    "sym_name": (main_with("sym_name"), ["main"], look_at),
    "function_type": (main_with("function_type"), [FunctionType((VECTOR,), (VECTOR,))], look_at),
    "set_results": (lambda names: set_results(relu_module().add_function("more", []), [], names), [[]], nothing),
    "add_state": (lambda *parts: add_state(relu_module(), *parts), ["s", VECTOR, Dense(FLOATS)], nothing),
    "State": (State, ["x", "y", Dense(FLOATS)], nothing),
    "note_elements": (lambda *parts: note_elements(relu_module().main, *parts), [[I8], [I8]], nothing),
    "FusedLocation": (FusedLocation, [("a",), None], use_location),
    "FileLocation": (FileLocation, ["f", 1, 2], use_location),
    "OpaqueLocation": (OpaqueLocation, ['callsite("a" at "b")'], use_location),
    "create": (
        lambda *parts: Builder(Block()).create(*parts), ["acme.op", (), (VECTOR,), {}, (), None], lambda op: use_op(op.clone())),
    "emit types": (lambda types: Builder(Block()).emit("acme.op", types=types), [[VECTOR]], nothing),
    "constant": (Builder(Block()).constant, [FLOATS, F32, "top", "x"], nothing),
    "none": (Builder(Block()).none, ["top"], nothing),
    **{each.__name__: (each, [relu_module().main], nothing)
       for each in (input_names, output_names, input_types, output_types, noted_elements)},
    **{each.__name__: (each, [relu_module()], nothing) for each in (asked_inputs, initial_states, update_function_types)},
}


@pytest.mark.parametrize("name", CASES)
def test_nonsense_ends_in_words(name: str) -> None:
    """Every part in turn is replaced by what it cannot be; where that is taken, nothing that is done with it raises for it."""
    make, parts, use = CASES[name]
    raw = []
    for place in range(len(parts)):
        for given in NONSENSE:
            arguments = [*parts[:place], given, *parts[place + 1 :]]
            try:
                use(make(*arguments))
            except TransloadError as error:
                assert str(error)
            except Exception as error:
                raw.append((place, given, repr(error)))
    assert raw == []


@pytest.mark.parametrize(("make", "said"), [
    (lambda: TensorType(3, F32), r"TensorType takes a tuple of sizes as shape, and was given 3 \(int\) \("),  # type: ignore[arg-type]
    (lambda: TensorType((1.5,), F32), r"TensorType takes a tuple of sizes as shape, and was given \(1.5,\) \(tuple\)"),  # type: ignore
    (lambda: TensorType((1,), "f32"), r"TensorType takes a type as element, and was given 'f32' \(str\)"),  # type: ignore[arg-type]
    (lambda: FloatType("float32"), r"FloatType takes a format's name in MLIR as name, and was given 'float32'"),
    (lambda: IntegerType(8, "unsigned"), r"as signedness, and was given 'unsigned'"),
    (lambda: QuantType(I8, F32, 1.0, 0), r"QuantType takes a tuple of numbers as scales, and was given 1.0"),  # type: ignore[arg-type]
    (lambda: ArrayData(None), r"ArrayData takes an array as array, and was given None"),  # type: ignore[arg-type]
    (lambda: Dense(object()), r"Dense takes numbers as its data, and was given <object"),
    (lambda: Dense(FLOATS, F32), r"Dense takes a tensor's type as type, and was given f32 \(FloatType\)"),  # type: ignore[arg-type]
    (lambda: Op("acme.op", attributes=3), r"acme.op takes a dictionary as attributes, and was given 3"),  # type: ignore[arg-type]
    (lambda: Op("acme.op", result_types=[None]), r"acme.op takes a type as type, and was given None"),  # type: ignore[list-item]
    (lambda: Op("acme.op", regions=[Block()]), r"takes a region in the tuple that it takes as regions"),  # type: ignore[list-item]
    (lambda: output_names(main_with("res_attrs")([{}, {}]).main), r"func.func takes a list of 1 dictionaries as res_attrs"),
    (lambda: dtype_of("f32"), r"dtype_of\(\) takes a type as element, and was given 'f32'"),  # type: ignore[arg-type]
    (lambda: element_type_of("float33"), r"element_type_of\(\) takes a numpy dtype as dtype, and was given 'float33'"),
    (lambda: Block([VECTOR]).erase_argument(1), r"takes the number of one of 1 arguments as index, and was given 1"),
])
def test_what_is_wanted_and_what_was_given_is_said(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(BuildError, match=said) as caught:
        make()
    assert caught.value.place.startswith(f"{Path(__file__).parent.name}/{Path(__file__).name}:"), "the line that asked"


def test_what_nearly_is_a_shape_or_a_number_becomes_one() -> None:
    assert TensorType([1, np.int64(3)], F32) == TensorType((1, 3), F32)  # type: ignore[arg-type]
    assert str(TensorType((np.int32(2), None), F32)) == "tensor<2x?xf32>"
    assert QuantType(I8, F32, [1], (np.int8(3),)) == QuantType(I8, F32, (1.0,), (3,))  # type: ignore[arg-type]


def test_refused_operands_leave_those_that_were() -> None:
    """An operand that was held twice is counted twice after what no op can have was refused."""
    made = relu_module()
    value = made.body_of_main.arguments[0]
    add = Builder(made.body_of_main, made.body_of_main.terminator).emit("top.Add", value, value).op
    with pytest.raises(BuildError):
        add.operands = (value, 3)
    assert add.operands == (value, value) and value.uses[add] == 2
