"""What the catalogue of operators leaves out: parameters computed at run time, control flow, state, shapes, names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import (
    BOOL,
    F32,
    I8,
    I16,
    I32,
    I48,
    I64,
    Block,
    Dense,
    Module,
    Op,
    Region,
    TensorType,
    initial_states,
    new_module,
    set_results,
)
from transload.ir.build import Builder
from transload.ir.types import INDEX, QuantType
from transload_plugins.tosa.build import const, reshape, shape_const, zero_point

RNG = np.random.default_rng(5)


def function_of(*types: TensorType) -> tuple[Module, Op, Builder, list[Any]]:
    """A module with a function of these arguments, x0, x1, ...; what to build with, and the arguments."""
    module = new_module()
    function = module.add_function("main", list(types), [f"x{i}" for i in range(len(types))])
    block = function.regions[0].block
    return module, function, Builder(block), list(block.arguments)


def finish(module: Module, function: Op, *values: Any) -> Module:
    set_results(function, values, [f"y{i}" for i in range(len(values))])
    return module


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("rounding", ["SINGLE_ROUND", "DOUBLE_ROUND"])
def test_scales_computed_at_run_time(per_channel: bool, rounding: str, check: Any) -> None:
    count = 5 if per_channel else 1
    module, function, builder, (x, multiplier, shift, zero_in, zero_out) = function_of(
        TensorType((4, 5), I8), TensorType((count,), I32), TensorType((count,), I8), TensorType((1,), I8), TensorType((1,), I8))
    made = builder.emit(
        "tosa.rescale", x, multiplier, shift, zero_in, zero_out, element=I8, scale32=True, rounding_mode=rounding,
        per_channel=per_channel, input_unsigned=False, output_unsigned=False)
    check(finish(module, function, made), {
        "x0": RNG.integers(-128, 128, (4, 5)).astype(np.int8),
        "x1": RNG.integers(1 << 28, 1 << 31, count).astype(np.int32), "x2": RNG.integers(29, 40, count).astype(np.int8),
        "x3": np.array([-7], np.int8), "x4": np.array([19], np.int8)})


@pytest.mark.parametrize("shift", [0, 1, 17, 31, 62])
def test_a_shift_of_products_computed_at_run_time(shift: int, check: Any) -> None:
    module, function, builder, (a, b, bits) = function_of(TensorType((64,), I32), TensorType((64,), I32), TensorType((1,), I8))
    numbers = RNG.integers(-(1 << 20), 1 << 20, (2, 64)).astype(np.int32)
    made = builder.emit("tosa.mul", a, b, bits)
    small = 1 if shift else 1 << 16
    inputs = {"x0": numbers[0] // small, "x1": numbers[1] // small, "x2": np.array([shift], np.int8)}
    check(finish(module, function, made), inputs)


def test_zero_points_computed_at_run_time(check: Any) -> None:
    module, function, builder, (x, w, a, b) = function_of(
        TensorType((1, 4, 6), I8), TensorType((1, 6, 3), I8), TensorType((1,), I8), TensorType((1,), I8))
    product = builder.emit("tosa.matmul", x, w, a, b)
    negative = builder.emit("tosa.negate", x, a, b)
    check(finish(module, function, product, negative), {
        "x0": RNG.integers(-128, 128, (1, 4, 6)).astype(np.int8), "x1": RNG.integers(-128, 128, (1, 6, 3)).astype(np.int8),
        "x2": np.array([-128], np.int8), "x3": np.array([127], np.int8)})


def test_tables_and_weights_computed_at_run_time(check: Any) -> None:
    module, function, builder, (x, table, y, wide) = function_of(
        TensorType((300,), I8), TensorType((256,), I8), TensorType((300,), I16), TensorType((513,), I16))
    made = [builder.emit("tosa.table", x, table), builder.emit("tosa.table", y, wide)]
    check(finish(module, function, *made), {
        "x0": RNG.integers(-128, 128, 300).astype(np.int8), "x1": RNG.integers(-128, 128, 256).astype(np.int8),
        "x2": RNG.integers(-(1 << 15), 1 << 15, 300).astype(np.int16),
        "x3": np.cumsum(RNG.integers(0, 120, 513)).astype(np.int16)})


@pytest.mark.parametrize("kind", ["avg", "max"])
def test_adaptive_pools(kind: str, check: Any) -> None:
    module, function, builder, (x, y) = function_of(TensorType((2, 9, 8, 3), I8), TensorType((2, 9, 8, 3), F32))
    made = []
    for value in (x, y):
        points = [zero_point(builder, -3 if value is x else 0, value.element)] * 2 if kind == "avg" else []
        more = {"acc_type": I32 if value is x else F32} if kind == "avg" else {}
        window = [shape_const(builder, sizes) for sizes in ((3, 2), (2, 2), (1, 1, 0, 0))]
        made.append(builder.emit(f"tosa.{kind}_pool2d_adaptive", value, *points, *window, **more))
    check(finish(module, function, *made), {
        "x0": RNG.integers(-128, 128, (2, 9, 8, 3)).astype(np.int8), "x1": RNG.standard_normal((2, 9, 8, 3)).astype(np.float32)})


def test_shape_operators(check: Any) -> None:
    """Sizes computed from shapes are attributes in the end; a wrong statement about them is refused."""
    module, function, builder, (x,) = function_of(TensorType((4, 6), F32))
    rows, columns = (builder.emit("tosa.dim", x, axis=axis) for axis in (0, 1))
    both = builder.emit("tosa.concat_shape", builder.emit("tosa.mul_shape", rows, columns), shape_const(builder, [1]))
    builder.create("tosa.assert_equal_shape", (rows, shape_const(builder, [4])), (), {"allow_broadcast": False})
    flat = builder.emit("tosa.reshape", x, both, types=[TensorType((24, 1), F32)])
    made = check(finish(module, function, flat), {"x0": RNG.standard_normal((4, 6)).astype(np.float32)})
    assert not any(op.name.startswith("tosa.") for op in made.walk())


def test_a_statement_about_shapes_that_does_not_hold(to_stablehlo: Any) -> None:
    module, function, builder, (x,) = function_of(TensorType((4, 6), F32))
    rows = builder.emit("tosa.dim", x, axis=0)
    builder.create("tosa.assert_equal_shape", (rows, shape_const(builder, [5])), (), {"allow_broadcast": False})
    with pytest.raises(ConversionError, match=r"assert_equal_shape[\s\S]*\[4\] and \[5\]"):
        to_stablehlo(finish(module, function, x))


# --- control flow


def graph_region(arguments: list[TensorType], make: Callable[..., Any]) -> Region:
    block = Block(arguments)
    made = make(Builder(block), *block.arguments)
    block.append(Op("tosa.yield", made if isinstance(made, list) else [made]))
    return Region([block])


@pytest.mark.parametrize("condition", [False, True])
@pytest.mark.parametrize("with_arguments", [False, True])
def test_branches(condition: bool, with_arguments: bool, check: Any) -> None:
    four = TensorType((4,), F32)
    module, function, builder, (which, x, y) = function_of(TensorType((1,), BOOL), four, four)
    regions = [
        graph_region([four] if with_arguments else [], lambda b, *v, name=name: b.emit(name, v[0] if v else x, y))
        for name in ("tosa.add", "tosa.sub")]
    made = builder.create("tosa.cond_if", [which, *([x] if with_arguments else [])], [four], {}, regions)
    check(finish(module, function, *made.results), {
        "x0": np.array([condition]), "x1": np.ones(4, np.float32), "x2": np.arange(4, dtype=np.float32)})


def test_loops_in_loops(check: Any) -> None:
    """`while i < n: for j in 0..i: total += j * x`: the inner loop sees values around it."""
    one, total = TensorType((1,), I32), TensorType((3,), I32)
    module, function, builder, (n, x) = function_of(one, total)

    def number(b: Builder, value: int) -> Any:
        return const(b, np.array([value], np.int32))

    def inner_body(b: Builder, j: Any, end: Any, sums: Any) -> list[Any]:
        product = b.emit("tosa.mul", j, x, zero_point(b, 0, I8))
        return [b.emit("tosa.add", j, number(b, 1)), end, b.emit("tosa.add", sums, product)]

    def outer_body(b: Builder, i: Any, sums: Any) -> list[Any]:
        kinds = [one, one, total]
        loop = b.create("tosa.while_loop", [number(b, 0), i, sums], kinds, {}, [
            graph_region(kinds, lambda c, j, end, s: c.emit("tosa.greater", end, j)), graph_region(kinds, inner_body)])
        return [b.emit("tosa.add", i, number(b, 1)), loop.results[2]]

    kinds = [one, total]
    zeros = const(builder, np.zeros(3, np.int32))
    loop = builder.create("tosa.while_loop", [number(builder, 0), zeros], kinds, {}, [
        graph_region(kinds, lambda b, i, sums: b.emit("tosa.greater", n, i)), graph_region(kinds, outer_body)])
    check(finish(module, function, *loop.results), {"x0": np.array([6], np.int32), "x1": np.array([1, -2, 3], np.int32)})


# --- state


def counter(inside: bool = False) -> Module:
    """Adds its input to a variable, and gives the sum."""
    module, function, builder, (x,) = function_of(TensorType((2,), F32))
    module.body.insert(Op("tosa.variable", (), (), {
        "sym_name": "state", "var_shape": Dense(np.array([2]), TensorType((1,), INDEX)), "type": F32,
        "initial_value": Dense(np.array([10, 20], np.float32))}), module.body.first)
    held = builder.create("tosa.variable_read", (), [TensorType((2,), F32)], {"name": "state"}).results[0]
    total = builder.emit("tosa.add", held, x)
    if inside:
        kind = TensorType((2,), F32)

        def write(b: Builder) -> Any:
            b.create("tosa.variable_write", (total,), (), {"name": "state"})
            return total

        regions = [graph_region([], write), graph_region([], lambda b: total)]
        which = const(builder, np.array([True]))
        total = builder.create("tosa.cond_if", [which], [kind], {}, regions).results[0]
    else:
        builder.create("tosa.variable_write", (total,), (), {"name": "state"})
    return finish(module, function, total)


def test_variables_become_states(to_stablehlo: Any) -> None:
    made = to_stablehlo(counter())
    state = initial_states(made)["state"]
    for step in range(3):
        outputs = transload.run(made, {"x0": np.full(2, step, np.float32), "state": state})
        assert list(outputs) == ["y0", "state_next"]
        state = outputs["state_next"]
    np.testing.assert_array_equal(state, [13, 23])


def test_variables_in_branches_are_refused(to_stablehlo: Any) -> None:
    with pytest.raises(ConversionError, match=r"variable 'state' is used inside of a branch"):
        to_stablehlo(counter(inside=True))


# --- types and names


def test_48_bits_are_64(check: Any) -> None:
    """Sums of int16 products: nothing of 48 bits is left, and a result of that type is i64."""
    module, function, builder, (x,) = function_of(TensorType((1, 5, 5, 8), I16))
    weight = const(builder, RNG.integers(-127, 128, (4, 3, 3, 8)).astype(np.int8))
    bias = const(builder, RNG.integers(-(1 << 40), 1 << 40, 4), I48)
    points = [zero_point(builder, 0, element) for element in (I16, I8)]
    made = builder.emit(
        "tosa.conv2d", x, weight, bias, *points, pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1), acc_type=I48)
    out = check(finish(module, function, made), {"x0": RNG.integers(-(1 << 15), 1 << 15, (1, 5, 5, 8)).astype(np.int16)})
    assert out.main.regions[0].block.terminator.operands[0].element == I64


def test_quantized_types_become_their_storage(to_stablehlo: Any) -> None:
    kind = QuantType(I8, F32, (0.5,), (3,))
    module, function, builder, (x,) = function_of(TensorType((2, 3), kind))
    made = to_stablehlo(finish(module, function, reshape(builder, x, (6,))))
    assert str(made.main.attributes["function_type"]) == "(tensor<2x3xi8>) -> tensor<6xi8>"


def test_results_keep_the_names_of_tensors(to_stablehlo: Any) -> None:
    module, function, builder, (x,) = function_of(TensorType((4,), I8))
    table = const(builder, np.arange(-128, 128).astype(np.int8)[::-1])
    looked_up = builder.emit("tosa.table", x, table, location="activation")
    made = to_stablehlo(finish(module, function, builder.emit("tosa.reverse", looked_up, axis=0, location="turned")))
    kept = transload.run(made, {"x0": np.array([1, 2, 3, 4], np.int8)}, keep=True)
    np.testing.assert_array_equal(kept["activation"], [-2, -3, -4, -5])
    np.testing.assert_array_equal(kept["turned"], [-5, -4, -3, -2])


def test_a_custom_operator_is_a_call(to_stablehlo: Any) -> None:
    module, function, builder, (x,) = function_of(TensorType((4,), F32))
    made = builder.create("tosa.custom", (x,), [TensorType((2,), F32)], {
        "operator_name": "sort2", "domain_name": "acme", "implementation_attrs": "k=2"})
    out = to_stablehlo(finish(module, function, *made.results))
    (call,) = [op for op in out.walk() if op.name == "stablehlo.custom_call"]
    assert (call.call_target_name, call.backend_config) == ("acme.sort2", "k=2")


def test_large_weights_stay_narrow(to_stablehlo: Any) -> None:
    """int8 weights are widened by an op: a module of i32 constants would be four times the size."""
    module, function, builder, (x,) = function_of(TensorType((1, 8, 8, 16), I8))
    weight = const(builder, RNG.integers(-127, 128, (16, 3, 3, 16)).astype(np.int8))
    bias = const(builder, np.zeros(16, np.int32))
    points = [zero_point(builder, value, I8) for value in (-5, 0)]
    made = to_stablehlo(finish(module, function, builder.emit(
        "tosa.conv2d", x, weight, bias, *points, pad=(1, 1, 1, 1), stride=(1, 1), dilation=(1, 1), acc_type=I32)))
    held = [op.output.type for op in made.walk() if op.name == "stablehlo.constant" and op.value.nbytes > 64]
    assert held == [weight.type]


def test_tensors_without_elements(check: Any) -> None:
    """Which TOSA does not have, and lowerings of models with empty tensors make all the same."""
    empty, row = TensorType((0, 3), F32), TensorType((2, 3), F32)
    module, function, builder, (x, y, z, indices) = function_of(
        empty, row, TensorType((1, 4, 0), I8), TensorType((1, 5), I32))
    rescaled = builder.emit(
        "tosa.rescale", z, const(builder, np.array([1 << 30], np.int32)), const(builder, np.array([31], np.int8)),
        zero_point(builder, 0, I8), zero_point(builder, 0, I8), element=I8, scale32=True, rounding_mode="DOUBLE_ROUND",
        per_channel=False, input_unsigned=False, output_unsigned=False)
    values = [
        builder.emit("tosa.add", x, x), builder.emit("tosa.concat", x, y, axis=0), builder.emit("tosa.reduce_sum", x, axis=0),
        builder.emit("tosa.tile", x, shape_const(builder, (2, 2))), builder.emit("tosa.reverse", x, axis=0),
        builder.emit("tosa.pad", x, shape_const(builder, (1, 1, 0, 0)), const(builder, np.array([7], np.float32))),
        builder.emit("tosa.transpose", x, perms=(1, 0)), reshape(builder, x, (3, 0)), builder.emit("tosa.gather", z, indices),
        builder.emit("tosa.table", z, const(builder, np.arange(-128, 128).astype(np.int8))), rescaled]
    check(finish(module, function, *values), {
        "x0": np.zeros((0, 3), np.float32), "x1": RNG.standard_normal((2, 3)).astype(np.float32),
        "x2": np.zeros((1, 4, 0), np.int8), "x3": np.array([[0, 3, 1, 2, 0]], np.int32)})
