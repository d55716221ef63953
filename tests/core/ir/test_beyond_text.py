"""What Python can put into a module, and text or an engine cannot take: `emit` refuses it, or checking finds it."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

import transload
from transload.errors import ConversionError, ShapeError
from transload.ir import (
    F16,
    F32,
    Block,
    DenseArray,
    FloatAttr,
    Module,
    Op,
    Region,
    TensorType,
    Value,
    new_module,
    set_results,
)
from transload.ir.build import Builder
from transload.ir.verify import check
from transload.text import parse_module, print_module

T = TensorType((4,), F32)


def started() -> tuple[Module, Builder, Value]:
    module = new_module()
    function = module.add_function("main", [T], ["x"])
    return module, Builder(function.regions[0].block), function.regions[0].block.arguments[0]


def emitted(name: str, count: int = 1, **attributes: Any) -> Value:
    value = Value(T, Block(), 0)
    made = Builder(Block()).emit(name, *[value] * count, **attributes)
    assert isinstance(made, Value)
    return made


@pytest.mark.parametrize(("name", "attributes", "why"), [
    ("top.Softmax", {"axis": 1 << 63}, r"'axis' must be integer \(i64\), and is 9223372036854775808"),
    ("top.Softmax", {"axis": -(1 << 63) - 1}, r"must be integer \(i64\)"),
    ("top.Reshape", {"shape": (4, 1 << 63)}, r"'shape' must be integers \(i64\)"),
    ("top.Reshape", {"shape": (4, 10**5000)}, r"'shape' must be integers \(i64\), and has an integer of 16,610 bits"),
    ("tosa.argmax", {"axis": 1 << 31}, r"must be integer \(i32\)"),
    ("top.LeakyRelu", {"alpha": 10**400}, r"must be float \(f64\), and is an integer of 1,329 bits"),
    ("top.LeakyRelu", {"alpha": 10**5000}, r"and is an integer of 16,610 bits"),
])
def test_numbers_that_an_attributes_type_does_not_hold_are_refused(name: str, attributes: dict[str, Any], why: str) -> None:
    """Text of them did not parse, and floats of them raised OverflowError where they were printed."""
    with pytest.raises(ShapeError, match=why):
        emitted(name, **attributes)


@pytest.mark.parametrize("alpha", [(1 << 63) - 1, -(1 << 63), 10**300, 1e308, float("inf")])
def test_numbers_at_the_border_are_taken(alpha: float) -> None:
    module, build, x = started()
    y = build.emit("top.LeakyRelu", x, alpha=alpha)
    set_results(module.main, [y], ["y"])
    again = parse_module(print_module(module))
    assert [op.attributes["alpha"] for op in again.body_of_main if op.name == "top.LeakyRelu"] == [float(alpha)]


@pytest.mark.parametrize("name", ["caffe.Filter", "caffe.Eltwise"])
def test_layers_without_bottoms_are_refused_in_words(name: str) -> None:
    """A bare IndexError came."""
    with pytest.raises(ShapeError, match="has no bottoms"):
        emitted(name, 0)


def test_an_absent_value_is_no_output() -> None:
    """The engine was told as defective."""
    module, build, _ = started()
    set_results(module.main, [build.none()], ["y"])
    with pytest.raises(ConversionError, match="the results of @main, are values"):
        transload.run(module, {"x": [0, 1, 2, 3]})


def test_nothing_stands_behind_what_ends_a_block() -> None:
    """The engine ended there, with other results than those of the function."""
    module, build, x = started()
    build.emit("top.Yield", x, types=[])
    set_results(module.main, [build.emit("top.Relu", x)], ["y"])
    (found,) = check(module)
    assert found.what == "top.Yield" and found.why == "ends a block, and top.Relu stands behind it"


def test_a_location_that_is_none_is_found() -> None:
    module, build, x = started()
    y = build.emit("top.Relu", x)
    set_results(module.main, [y], ["y"])
    assert y.op is not None
    y.op.location = 5
    (found,) = check(module)
    assert found.why == "has a location that is none: 5 (int)"


@pytest.mark.parametrize(("value", "why"), [
    (FloatAttr(1e39, F32), r"is 1e\+39 \(float\), which no f32 is"),
    (DenseArray((0.5, 7e4), F16), r"has 70000.0 \(float\) in it, which no f16 is"),
])
def test_a_float_beyond_its_type_is_found(value: Any, why: str) -> None:
    module, builder, x = started()
    builder.emit("other.op", x, types=[T], x=value)
    assert any(re.search(why, str(finding)) for finding in check(module))


def test_text_beyond_a_type_is_read_as_mlir_reads_it() -> None:
    module = parse_module("builtin.module attributes {a.x = 1.0e39 : f32, a.y = array<f16: 1.0e6, 0.1>} {}")
    assert module.attributes["a.x"] == math.inf and list(module.attributes["a.y"]) == [math.inf, 0.1]
    assert not check(module) and parse_module(print_module(module)).attributes == module.attributes


def test_a_module_has_one_block() -> None:
    assert "one block" in str(check(Op("builtin.module", regions=[Region()]))[0])
