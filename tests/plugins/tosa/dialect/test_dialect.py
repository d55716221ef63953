"""Declarations: inference, constraints, data types, and MLIR's own opinion of the ops we print."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from transload.errors import ShapeError, VerifyError
from transload.ir import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I48,
    Module,
    Op,
    QuantType,
    TensorType,
    Value,
    new_module,
    set_results,
    verify,
)
from transload.ir.attributes import FloatAttr, IntAttr
from transload.ir.build import Builder
from transload.ir.verify import check
from transload.text import parse_module, print_module
from transload_plugins.tosa import build
from transload_plugins.tosa.dialect import TOSA
from transload_plugins.tosa.dialect.base import F8E4M3, F8E5M2, element_types

Q8 = QuantType(I8, F32, (0.5,), (3,))


@pytest.fixture
def graph() -> tuple[Builder, Callable[..., Value]]:
    """A builder, and a function that makes values of a shape and element type."""
    module = new_module()
    function = module.add_function("main", [])
    block = function.regions[0].block

    def value(*shape: int | None, element: Any = F32) -> Value:
        return block.add_argument(TensorType(shape, element))

    return Builder(block), value


def test_tosa_opt_takes_every_op_we_print(cases: list[Any], built: Any, tosa_opt: str) -> None:
    """The generic text of each case of the catalogue, in one run of MLIR's own parser and verifier."""
    texts = [print_module(built(case)[0]) for case in cases]
    ran = subprocess.run(
        [tosa_opt, "--split-input-file", "-", "-o", "-", "--mlir-print-op-generic"], input="\n// -----\n".join(texts),
        capture_output=True,
        text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr[:4000]
    assert ran.stdout.count('"func.func"') == len(cases)


def test_every_op_has_a_case_or_a_test_of_its_own(cases: list[Any]) -> None:
    elsewhere = {
        "custom", "cond_if", "while_loop", "yield", "variable", "variable_read", "variable_write", "const", "const_shape",
        "apply_scale",
        "avg_pool2d_adaptive", "dim", "assert_equal_shape", *(name[5:] for name in TOSA.ops if name.endswith("_shape"))}
    assert set(TOSA.ops) - {f"tosa.{name}" for name in elsewhere} == {case.op for case in cases}


def test_every_op_is_documented() -> None:
    for declaration in TOSA.ops.values():
        assert len(declaration.doc) > 10, declaration.name
        for slot in (*declaration.operands, *declaration.results):
            assert slot.doc, f"{declaration.name} {slot.name}"


def emit(builder: Builder, name: str, *operands: Value, **attributes: Any) -> Value:
    return builder.emit(f"tosa.{name}", *operands, **attributes)


@pytest.mark.parametrize(("element", "expected"), [(I8, I32), (Q8, I32), (I16, I48), (F16, F16), (BF16, BF16), (F32, F32)])
def test_convolutions_give_the_accumulator(graph: Any, element: Any, expected: Any) -> None:
    builder, value = graph
    zero = value(1, element=element)
    out = emit(
        builder, "conv2d", value(1, 8, 9, 3, element=element), value(5, 3, 3, 3, element=element), value(5, element=expected),
        zero,
               zero, pad=(1, 1, 1, 1), stride=(1, 2), dilation=(1, 1), acc_type=I32)
    assert out.type == TensorType((1, 8, 5, 5), expected)


def test_windows_must_end_with_the_padded_input(graph: Any) -> None:
    builder, value = graph
    with pytest.raises(ShapeError, match="not a multiple of stride 2"):
        emit(builder, "max_pool2d", value(1, 8, 8, 3), kernel=(3, 3), stride=(2, 2), pad=(0, 0, 0, 0))


def test_unknown_sizes_pass_through(graph: Any) -> None:
    builder, value = graph
    assert emit(builder, "add", value(None, 3), value(1, 3)).shape == (None, 3)
    assert emit(builder, "add", value(None, 3), value(4, 3)).shape == (4, 3)
    assert emit(builder, "max_pool2d", value(None, 8, None, 3), kernel=(2, 2), stride=(2, 2), pad=(0,) * 4).shape == (
        None, 4, None, 3)
    assert emit(builder, "concat", value(2, None), value(2, 3), axis=1).shape == (2, None)
    assert emit(builder, "transpose", value(None, 2, 3), perms=(2, 0, 1)).shape == (3, None, 2)
    assert build.reshape(builder, value(None, 4), (None, 2, 2)).shape == (None, 2, 2)


@pytest.mark.parametrize(("sizes", "fits"), [("0x1", False), ("0x3", False), ("4x1", True), ("?x3", True), ("4x5", False)])
def test_sizes_that_do_not_broadcast_are_refused_where_the_result_is_unknown(sizes: str, fits: bool) -> None:
    module = parse_module(f"""
        func.func @main(%x: tensor<4x3xf32>, %y: tensor<{sizes}xf32>) -> tensor<?x?xf32> {{
          %z = "tosa.add"(%x, %y) : (tensor<4x3xf32>, tensor<{sizes}xf32>) -> tensor<?x?xf32>
          return %z : tensor<?x?xf32>
        }}""")
    with nullcontext() if fits else pytest.raises(VerifyError, match="broadcast"):
        verify(module)


@pytest.mark.parametrize(("make", "message"), [
    (lambda b, v: emit(b, "add", v(2, 3), v(3)), "rank 2 and 1"),
    (lambda b, v: emit(b, "add", v(2, 3), v(2, 4)), "do not broadcast"),
    (lambda b, v: emit(b, "matmul", v(1, 2, 3), v(1, 4, 5), v(1), v(1)), "rows of 3 times columns of 4"),
    (lambda b, v: emit(b, "reduce_sum", v(2, 3), axis=-1), "axis -1"),
    (lambda b, v: emit(b, "concat", v(2, 3), v(3, 3), axis=1), "sizes 2 and 3"),
    (lambda b, v: emit(b, "transpose", v(2, 3), perms=(0, 0)), "no order"),
    (lambda b, v: build.reshape(b, v(2, 3), (4,)), "has 6 elements"),
    (lambda b, v: build.slice_(b, v(2, 3), (1, 0), (2, 3)), "not inside"),
    (lambda b, v: build.pad(b, v(2, 3), (1, 1, 1), 0), "padding"),
    (lambda b, v: emit(b, "gather", v(2, 3, 4), v(1, 5, element=I32)), "must be equal"),
    (lambda b, v: emit(b, "conv2d", v(1, 4, 4, 1, element=I32), v(1, 1, 1, 1), v(1), v(1), v(1), pad=(0,) * 4, stride=(1, 1),
                       dilation=(1, 1), acc_type=I32), "no convolution of i32"),
    (lambda b, v: emit(b, "max_pool2d", v(1, 4, 4, 1), kernel=(2,), stride=(1, 1), pad=(0,) * 4), "kernel has 1 numbers"),
])
def test_shapes_that_do_not_fit_are_refused_when_built(graph: Any, make: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        make(*graph)


@pytest.mark.parametrize(("name", "operands", "result", "attributes", "message"), [
    ("clamp", [(4, F32)], (4, F32), {"min_val": FloatAttr(1.0, F32), "max_val": FloatAttr(0.0, F32)}, "min_val is not above"),
    ("clamp", [(4, I8)], (4, I8), {"min_val": IntAttr(1, I32), "max_val": IntAttr(3, I32)}, "a bound is i32"),
    ("clamp", [(4, F32)], (4, F32), {"min_val": 1.0, "max_val": 2.0}, "a bound is f64"),
    ("abs", [(4, F32)], (5, F32), {}, "the operand's shape"),
    ("abs", [(4, F32)], (4, F16), {}, "element type of the first operand"),
    ("add", [(4, F32), (4, I32)], (4, F32), {}, "same element type"),
    ("select", [(4, F32), (4, F32), (4, F32)], (4, F32), {}, "condition is i1"),
    ("table", [(4, I8), (200, I8)], (4, I8), {}, "200 entries"),
    ("argmax", [(4, F32)], (4, I32), {"axis": 3}, "axis 3 of a tensor of rank 1"),
    ("reduce_max", [(4, F32)], (4, F32), {"axis": 0}, "size 1 along the axis"),
])
def test_constraints_say_what_is_wrong(name: str, operands: Any, result: Any, attributes: Any, message: str) -> None:
    def type_of(shape: Any) -> TensorType:
        return TensorType((shape[0],), shape[1])

    module = new_module()
    function = module.add_function("main", [type_of(o) for o in operands])
    block = function.regions[0].block
    op = block.append(Op(f"tosa.{name}", block.arguments, [type_of(result)], attributes))
    set_results(function, op.results)
    with pytest.raises(VerifyError, match=message):
        verify(module)


@pytest.mark.parametrize(("numbers", "fits"), [("[-7, 0, 7]", True), ("[-7, -8, 7]", False), ("-8", False)])
@pytest.mark.parametrize(("op", "name"), [("tosa.const", "values"), ("tosa030.const", "value")])
def test_constants_of_four_bits_hold_no_minus_eight(op: str, name: str, numbers: str, fits: bool) -> None:
    """TOSA's int4_t is symmetric about zero."""
    module = parse_module(f"""
        func.func @main() -> tensor<3xi4> {{
          %y = "{op}"() <{{{name} = dense<{numbers}> : tensor<3xi4>}}> : () -> tensor<3xi4>
          return %y : tensor<3xi4>
        }}""")
    with nullcontext() if fits else pytest.raises(VerifyError, match="int4_t ends at -7"):
        verify(module)


@pytest.mark.parametrize(("element", "shift", "fits"), [
    ("i32", 0, True), ("i32", 63, True), ("i32", 64, False), ("i32", -2, False), ("i16", 0, True), ("i16", 1, False)])
def test_products_of_i32_are_shifted_by_what_64_bits_have(element: str, shift: int, fits: bool) -> None:
    module = parse_module(f"""
        func.func @main(%x: tensor<4x{element}>) -> tensor<4xi32> {{
          %shift = "tosa.const"() <{{values = dense<{shift}> : tensor<1xi8>}}> : () -> tensor<1xi8>
          %y = "tosa.mul"(%x, %x, %shift) : (tensor<4x{element}>, tensor<4x{element}>, tensor<1xi8>) -> tensor<4xi32>
          return %y : tensor<4xi32>
        }}""")
    findings = [str(finding) for finding in check(module)]
    assert not findings if fits else f"{shift} for {element}" in findings[0]


@pytest.mark.parametrize(("changes", "message"), [
    ({"scale32": False}, "multipliers are i32 with scale32"),
    ({"per_channel": True}, "one for each index of the last dimension"),
    ({"input_unsigned": True, "output_unsigned": True}, "both sides"),
])
def test_rescales_that_are_not_allowed(graph: Any, changes: Any, message: str) -> None:
    builder, value = graph
    out = build.rescale(builder, value(2, 3, element=I8), [1 << 30], [30], 0, 0, I16)
    out.op.attributes.update(changes)
    with pytest.raises(VerifyError, match=message):
        verify(out.op)


def test_quantized_types_stay_legal_while_lowering(graph: Any) -> None:
    builder, value = graph
    other = QuantType(I8, F32, (0.25,), (0,))
    out = build.rescale(builder, value(2, 3, element=Q8), [1 << 30], [30], 3, 0, other)
    assert out.element == other
    out = build.transpose(builder, build.clamp(builder, out, -5, 300), (1, 0))
    assert out.type == TensorType((3, 2), other)
    for op in builder.block:
        assert not [why for why in [_refusal(op)] if why]


def _refusal(op: Op) -> str | None:
    datatypes = getattr(op.declaration.definition, "datatypes", None)
    return datatypes.refuse(op) if datatypes is not None else None


def test_supported_data_types(graph: Any) -> None:
    builder, value = graph
    assert _refusal(emit(builder, "add", value(2, element=I32), value(2, element=I32)).op) is None
    assert "input1 i8" in str(_refusal(emit(builder, "add", value(2, element=I8), value(2, element=I8)).op))
    mixed = emit(builder, "concat", value(2, element=I16), value(2, element=I32), axis=0)
    assert "input1 i32, output i16" in str(_refusal(mixed.op))


def test_the_verifier_refuses_other_types_at_every_operand_and_result_of_every_op(cases: list[Any], built: Any) -> None:
    """No mode of any operator is of f64."""
    looked = set()
    for case in cases:
        module = built(case)[0]
        op = next(op for op in module.body_of_main if op.name == case.op)
        for value in (*op.operands, *op.results):
            if isinstance(value.type, TensorType) and getattr(op.declaration.definition, "datatypes", None) is not None:
                old, value.type = value.type, value.type.with_element(F64)
                assert check(op), f"{op} with {value.type}"
                value.type = old
                looked.add(op.name)
        assert not check(op)
    tables = {name for name, declared in TOSA.ops.items() if hasattr(declared.definition, "datatypes")}
    assert looked >= tables - {"tosa.const", "tosa.avg_pool2d_adaptive"}


def test_every_op_on_tensors_has_a_table_of_types() -> None:
    free = {"custom", "cond_if", "while_loop", "yield", "variable", "variable_write", "variable_read", "const_shape",
            "apply_scale", "dim", "assert_equal_shape", *(name[5:] for name in TOSA.ops if name.endswith("_shape"))}
    assert {name[5:] for name, declared in TOSA.ops.items() if not hasattr(declared.definition, "datatypes")} <= free
    assert all(any(rule.check is element_types.check for rule in declared.constraints)
               for declared in TOSA.ops.values() if hasattr(declared.definition, "datatypes"))


def test_small_floats_and_integers_are_cast_by_way_of_f32(graph: Any) -> None:
    builder, value = graph
    for source, target in itertools.product((F8E4M3, F8E5M2, I8, I16, I32, F16, BF16, F32, BOOL), repeat=2):
        build.cast(builder, value(3, element=source), target)
    for op in builder.block:
        assert not check(op)


def test_helpers_leave_out_what_does_nothing(graph: Any) -> None:
    builder, value = graph
    x = value(2, 3)
    assert build.reshape(builder, x, (2, 3)) is x
    assert build.transpose(builder, x, (0, 1)) is x
    assert build.slice_(builder, x, (0, 0), (2, 3)) is x
    assert build.pad(builder, x, (0, 0, 0, 0), 1) is x
    assert build.tile(builder, x, (1, 1)) is x
    assert build.concat(builder, [x], 0) is x
    assert build.cast(builder, x, F32) is x
    assert not len(builder.block)


def test_clamp_of_i32_is_made_of_maximum_and_minimum(graph: Any) -> None:
    builder, value = graph
    build.clamp(builder, value(2, 3, element=I32), -5, 5)
    assert [op.name for op in builder.block] == ["tosa.const", "tosa.maximum", "tosa.const", "tosa.minimum"]


def test_casts_without_a_way_of_their_own() -> None:
    """bool to float, float to bool and f16 to bf16 take more than one op."""
    from transload.engine import run_function
    from transload.ir import BOOL

    module: Module = new_module()
    function = module.add_function("main", [TensorType((3,), BOOL), TensorType((3,), F16)], ["c", "x"])
    block = function.regions[0].block
    builder = Builder(block)
    c, x = block.arguments
    set_results(
        function, [build.cast(builder, c, F32), build.cast(builder, x, BOOL), build.cast(builder, x, BF16)], ["a", "b", "d"])
    assert all(_refusal(op) is None for op in block if op.dialect == "tosa")
    out = run_function(module, {"c": np.array([True, False, True]), "x": np.array([0, 1.5, -2], np.float16)})
    assert out["a"].tolist() == [1, 0, 1] and out["b"].tolist() == [False, True, True] and out["d"].astype(float).tolist() == [
        0, 1.5, -2]
