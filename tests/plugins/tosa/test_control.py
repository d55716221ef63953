"""Control flow, variables and shape operators: kernels, files and the reference model."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from transload.engine import run_function
from transload.errors import ConversionError, RunError, VerifyError
from transload.ir import BOOL, F32, I4, I32, Block, Dense, Module, Op, Region, TensorType, new_module, set_results, verify
from transload.ir.build import Builder
from transload.ir.types import INDEX
from transload_plugins.tosa.build import const, shape_const
from transload_plugins.tosa.flatbuffer.reader import read_bytes
from transload_plugins.tosa.flatbuffer.writer import serialize
from transload_plugins.tosa.kernels.control import reset_variables

FOUR = TensorType((4,), F32)
NUMBER = TensorType((1,), I32)


def both(module: Module, inputs: list[np.ndarray], reference_model: Any, version: str = "1.0") -> list[np.ndarray]:
    """What our kernels give, after the reference model and the file read back gave the same."""
    verify(module)
    data = serialize(module, version)
    named = {f"x{index}": array for index, array in enumerate(inputs)}
    ours = list(run_function(module, named).values())
    for a, b in zip(ours, reference_model(data, inputs), strict=True):
        np.testing.assert_array_equal(a, b)
    again = read_bytes(data)
    for a, b in zip(ours, run_function(again, named).values(), strict=True):
        np.testing.assert_array_equal(a, b)
    assert serialize(read_bytes(serialize(again, version)), version) == serialize(again, version)
    return ours


def conditional(captures: bool, with_arguments: bool) -> Module:
    """`c ? x + (y or x) : x - [0 1 2 3]`."""
    module = new_module()
    function = module.add_function("main", [TensorType((1,), BOOL), FOUR, FOUR], ["x0", "x1", "x2"])
    block = function.regions[0].block
    builder = Builder(block)
    condition, x, y = block.arguments
    steps = const(builder, np.arange(4, dtype=np.float32))

    def branch(name: str, other: Any) -> Region:
        inner = Block([FOUR] if with_arguments else [])
        value = Builder(inner).emit(name, inner.arguments[0] if with_arguments else x, other)
        inner.append(Op("tosa.yield", [value]))
        return Region([inner])

    op = builder.create(
        "tosa.cond_if", [condition, *([x] if with_arguments else [])], [FOUR], {},
        [branch("tosa.add", y if captures else x), branch("tosa.sub", steps)])
    set_results(function, op.results, ["out"])
    return module


@pytest.mark.parametrize("captures", [False, True])
@pytest.mark.parametrize("with_arguments", [False, True])
@pytest.mark.parametrize("condition", [False, True])
def test_cond_if(captures: bool, with_arguments: bool, condition: bool, reference_model: Any) -> None:
    x, y = np.ones(4, np.float32), np.full(4, 3, np.float32)
    (out,) = both(conditional(captures, with_arguments), [np.array([condition]), x, y], reference_model)
    np.testing.assert_array_equal(out, x + (y if captures else x) if condition else x - np.arange(4))


@pytest.mark.parametrize("captures", [False, True])
def test_while_loop(captures: bool, reference_model: Any) -> None:
    """Sums `i` up to `n`, which is a value of the loop or one from outside."""
    module = new_module()
    function = module.add_function("main", [NUMBER] * 3, ["x0", "x1", "x2"])
    block = function.regions[0].block
    builder = Builder(block)
    i, n, total = block.arguments
    one = const(builder, np.array([1], np.int32))
    values = [i, total] if captures else [i, total, n]
    condition, body = (Block([NUMBER] * len(values)) for _ in range(2))
    goes_on = Builder(condition).emit("tosa.greater", n if captures else condition.arguments[2], condition.arguments[0])
    condition.append(Op("tosa.yield", [goes_on]))
    inner = Builder(body)
    following = [inner.emit("tosa.add", body.arguments[0], one), inner.emit("tosa.add", body.arguments[1], body.arguments[0])]
    body.append(Op("tosa.yield", following + body.arguments[2:]))
    op = builder.create("tosa.while_loop", values, [NUMBER] * len(values), {}, [Region([condition]), Region([body])])
    set_results(function, op.results[:2], ["i", "sum"])
    out = both(module, [np.array([n], np.int32) for n in (0, 10, 5)], reference_model)
    assert [int(array[0]) for array in out] == [10, 50]


def counter(initial: bool = True) -> Module:
    """A module that adds its input to a variable and gives the sum."""
    module = new_module()
    attributes: dict[str, Any] = {"sym_name": "v", "type": F32, "var_shape": Dense(np.array([3]), TensorType((1,), INDEX))}
    if initial:
        attributes["initial_value"] = Dense(np.array([1, 2, 3], np.float32))
    module.body.append(Op("tosa.variable", (), (), attributes))
    type_ = TensorType((3,), F32)
    function = module.add_function("main", [type_], ["x0"])
    block = function.regions[0].block
    builder = Builder(block)
    held = builder.create("tosa.variable_read", (), [type_], {"name": "v"}).results[0]
    total = builder.emit("tosa.add", held, block.arguments[0])
    builder.create("tosa.variable_write", [total], [], {"name": "v"})
    set_results(function, [total], ["out"])
    return module


@pytest.mark.parametrize("least", [-7, -8])
def test_variables_of_four_bits_hold_no_minus_eight(least: int) -> None:
    """TOSA's int4_t is symmetric about zero: as of constants, verified and when a file is written."""
    module = new_module()
    initial = Dense(np.array([7, least], np.int8).astype(ml_dtypes.int4), TensorType((2,), I4))
    module.body.append(Op("tosa.variable", (), (), {
        "sym_name": "v", "type": I4, "var_shape": Dense(np.array([2]), TensorType((1,), INDEX)), "initial_value": initial}))
    function = module.add_function("main", [FOUR], ["x0"])
    set_results(function, function.regions[0].block.arguments, ["out"])
    for refused, does in ((VerifyError, verify), (ConversionError, serialize)):
        with nullcontext() if least == -7 else pytest.raises(refused, match="int4_t ends at -7"):
            does(module)


def test_variables_live_on_between_runs(reference_model: Any) -> None:
    module = counter()
    ones = np.ones(3, np.float32)
    (first,) = both(module, [ones], reference_model)
    assert first.tolist() == [2, 3, 4]
    assert run_function(module, {"x0": ones})["out"].tolist() == [3, 4, 5]
    reset_variables(module)
    assert run_function(module, {"x0": ones})["out"].tolist() == [2, 3, 4]


def test_a_variable_without_value_cannot_be_read() -> None:
    with pytest.raises(RunError, match="before it is written"):
        run_function(counter(initial=False), {"x0": np.ones(3, np.float32)})


@pytest.mark.parametrize(("name", "operands"), [
    ("add", [(3, 1), (1, 5)]), ("sub", [(7, 7), (3, 1)]), ("mul", [(2, 3), (2, 2)]), ("div_ceil", [(7, 11), (2, 2)]),
    ("div_floor", [(9, 13), (2, 2)]), ("mod", [(14, 16), (10, 10)]), ("max", [(4, 2), (2, 6)]), ("min", [(4, 7), (5, 6)]),
    ("concat", [(4,), (6,)]), ("slice", [(1, 4, 6, 2), np.array([1], np.int32), np.array([2], np.int32)]),
])
def test_shape_operators(name: str, operands: list[Any], reference_model: Any) -> None:
    """Each computes the shape (4, 6) for a reshape."""
    module = new_module()
    function = module.add_function("main", [TensorType((2, 3, 4), F32)], ["x0"])
    block = function.regions[0].block
    builder = Builder(block)
    values = [const(builder, o) if isinstance(o, np.ndarray) else shape_const(builder, o) for o in operands]
    shape = builder.emit(f"tosa.{name}_shape", *values)
    out = builder.create("tosa.reshape", [block.arguments[0], shape], [TensorType((4, 6), F32)]).results
    set_results(function, out, ["out"])
    both(module, [np.arange(24, dtype=np.float32).reshape(2, 3, 4)], reference_model, "1.1")


@pytest.mark.parametrize(("name", "given", "expected"), [
    ("exp2_shape", (0, 3, 5), [1, 8, 32]), ("log2_ceil_shape", (1, 8, 9), [0, 3, 4]), ("log2_floor_shape", (1, 8, 9), [0, 3, 3]),
])
def test_shape_operators_the_reference_model_does_not_run(name: str, given: tuple[int, ...], expected: list[int]) -> None:
    module = new_module()
    function = module.add_function("main", [])
    builder = Builder(function.regions[0].block)
    shape = builder.emit(f"tosa.{name}", shape_const(builder, given))
    set_results(function, [shape], ["out"])
    assert run_function(module, {})["out"].tolist() == expected


def test_shapes_that_must_be_equal() -> None:
    module = new_module()
    function = module.add_function("main", [TensorType((2, 3), F32)], ["x0"])
    block = function.regions[0].block
    builder = Builder(block)
    size = builder.emit("tosa.dim", block.arguments[0], axis=1)
    builder.create("tosa.assert_equal_shape", [size, shape_const(builder, (4,))], [], {"allow_broadcast": False})
    set_results(function, [block.arguments[0]], ["out"])
    with pytest.raises(RunError, match="assert_equal_shape"):
        run_function(module, {"x0": np.zeros((2, 3), np.float32)})
