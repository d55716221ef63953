"""What is said of ops that only move numbers is true of their kernels, and all who ask go by it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transload.analysis.movement import Moves, index_operands, moved, moves_of, origins
from transload.api import run
from transload.ir import F32, I8, I32, I64, Module, QuantType, TensorType, Value, element_type_of
from transload.ir.build import Builder, constant_of
from transload.plugin_host import host
from transload.testing.models import build_module
from transload.verification.fineness import output_steps
from transload.verification.inputs import random_inputs

SHUFFLED = np.random.default_rng(0)


def numbers(*shape: int) -> np.ndarray:
    """Different numbers that are nowhere else."""
    return SHUFFLED.permutation(np.arange(1, 1 + int(np.prod(shape))) + 1000 * SHUFFLED.integers(1, 1000)).reshape(
        shape).astype(np.float32)


IMAGE, MATRIX = (numbers(1, 4, 4, 8), ), (numbers(3, 4),)
ROWS, PLACES = np.array([2, 0], np.int32), np.array([[0], [2]], np.int32)
CASES: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "BatchToSpace": [((numbers(4, 2, 2, 3),), {"block_shape": (2, 2), "crops": (0, 1, 0, 0)})],
    "Clip": [(MATRIX, {"min": 2.0, "max": 5.0})],
    "Concat": [((numbers(3, 4), numbers(2, 4)), {"axis": 0}), ((-numbers(3, 4), numbers(2, 4)), {"axis": 0, "do_relu": True})],
    "Depth2Space": [(IMAGE, {"block_h": 2, "block_w": 2, "layout": "NHWC"}),
                    (IMAGE, {"block_h": 2, "block_w": 2, "layout": "NHWC", "is_inversed": True})],
    "Expand": [((numbers(3, 1),), {"shape": (2, 3, 4)})],
    "Fill": [((numbers(),), {"shape": (2, 3)})],
    "Gather": [((numbers(3, 4), ROWS), {"axis": 0})],
    "GatherElements": [((numbers(3, 4), np.array([[2, 0, 1, 1]], np.int32)), {"axis": 0})],
    "GatherND": [((numbers(3, 4), PLACES), {})],
    "Input": [(MATRIX, {})],
    "Interp": [(IMAGE, {"sizes": (7, 3), "mode": "nearest", "layout": "NHWC"})],
    "Max": [((numbers(3, 4), numbers(4)), {})],
    "MaxPool": [(IMAGE, {"kernel_shape": (2, 2), "strides": (2, 2), "pads": (1, 1, 0, 0), "layout": "NHWC"})],
    "Min": [((numbers(3, 4), numbers(4)), {})],
    "OneHot": [((np.array([1, 5], np.int32), numbers(), numbers()), {"depth": 3})],
    "Pack": [((numbers(3, 4), numbers(3, 4)), {"axis": 1})],
    "Pad": [(MATRIX, {"paddings": (1, 0, 0, 2), "val": 7.5}), ((numbers(3, 4), numbers()), {"paddings": (1, 0, 0, 2)}),
            (MATRIX, {"paddings": (1, 0, 0, 2), "mode": "reflect"})],
    "Permute": [((numbers(2, 3, 4),), {"order": (2, 0, 1)})],
    "Reduce": [(MATRIX, {"axes": (0,), "mode": "ReduceMax"}), (MATRIX, {"axes": (1,), "mode": "ReduceMin", "keepdims": True})],
    "Relu": [((-numbers(3, 4),), {}), (MATRIX, {"relu_limit": 3.0})],
    "Reshape": [(MATRIX, {"shape": (2, 6)})],
    "Reverse": [(MATRIX, {"axes": (1,)})],
    "ReverseSequence": [((numbers(3, 4), np.array([1, 3, 2], np.int32)), {"seq_axis": 1, "batch_axis": 0})],
    "Roll": [(MATRIX, {"shifts": (1,), "axes": (1,)})],
    "ScatterElements": [((numbers(3, 4), np.array([[2, 0, 1, 1]], np.int32), numbers(1, 4)), {"axis": 0})],
    "ScatterND": [((numbers(3, 4), PLACES, numbers(2, 4)), {}), ((numbers(3, 4), PLACES, numbers(2, 4)), {"reduction": "max"})],
    "Slice": [(MATRIX, {"offset": (0, 3), "ends": (3, -1), "steps": (2, -1)})],
    "SpaceToBatch": [((numbers(1, 3, 4, 3),), {"block_shape": (2, 2), "pads": (1, 0, 0, 0)})],
    "Split": [(MATRIX, {"axis": 1, "split_size": (1, 3)})],
    "Squeeze": [((numbers(3, 1, 4),), {"axes": (1,)})],
    "Tile": [(MATRIX, {"tile": (2, 1)})],
    "Trilu": [((numbers(4, 4),), {})],
    "Unpack": [(MATRIX, {"axis": 0})],
    "Unsqueeze": [(MATRIX, {"axes": (0, 2)})],
    "Upsample": [(IMAGE, {"scale_h": 2, "scale_w": 3, "layout": "NHWC"})],
    "Where": [((numbers(3, 4) > 6, numbers(3, 4), numbers(1, 4)), {})],
}


def test_every_op_of_which_it_is_said_has_a_case():
    assert {f"top.{name}" for name in CASES} == set(host().facts("moves").of_dialect("top"))


@pytest.mark.parametrize("name", CASES)
def test_results_hold_elements_of_the_operands_that_move(name: str):
    for arrays, attributes in CASES[name]:
        made: list[Any] = []

        def build(b: Builder, *values: Value, attributes: dict[str, Any] = attributes, made: list[Any] = made) -> Any:
            results = b.emit(f"top.{name}", *values, **attributes)
            made.append((results if isinstance(results, Value) else results[0]).op)
            return results

        types = [TensorType(array.shape, element_type_of(array.dtype))
                 for array in arrays]
        module = build_module(types, build)
        outputs = list(run(module, {f"x{i}": array for i, array in enumerate(arrays)}).values())
        (op,) = made
        moves = moves_of(op)
        assert moves is not None
        places = range(len(arrays)) if moves.data is None else moves.data
        elements = {float(x) for place in places if place < len(arrays) for x in arrays[place].ravel()} | set(moves.constants)
        assert {float(x) for output in outputs for x in output.ravel()} <= elements
        if moves.keeps_order:
            np.testing.assert_array_equal(outputs[0].ravel(), arrays[0].ravel())
        if moves.keeps_dimensions:
            sizes = [sorted(n for n in array.shape if n != 1) for array in (arrays[0], outputs[0])]
            assert sizes[0] == sizes[1] and sorted(outputs[0].ravel()) == sorted(arrays[0].ravel())
        if moves.by_value:  # what keeps the order of numbers may be done before or behind
            twice = list(run(module, {f"x{i}": array * 2 if i in places else array for i, array in enumerate(arrays)}).values())
            if not moves.constants:
                np.testing.assert_array_equal(twice[0], outputs[0] * 2)
        elif not moves.constants:  # and here whatever is done to each
            turned = list(run(module, {f"x{i}": -array if i in places else array for i, array in enumerate(arrays)}).values())
            for was, now in zip(outputs, turned, strict=True):
                np.testing.assert_array_equal(now, -was)


def test_kernels_on_stored_integers_are_of_ops_that_move_them():
    """Where an op works on stored integers because it only moves numbers, that is said of it, and not of the kernel alone."""
    kernels = host().facts("kernel").of_dialect("top")
    storage = {name for name, (_, quantized) in kernels.items() if quantized == "storage"}
    assert storage - {"top.Shape"} <= set(host().facts("moves").of_dialect("top"))


def test_elements_are_followed_to_their_origins():
    made: dict[str, Any] = {}

    def build(b: Builder, x: Value, y: Value) -> Any:
        made.update(x=x, sum=b.emit("top.Add", y, y))
        both = b.emit("top.Concat", b.emit("top.Reshape", x, shape=(4,)), made["sum"], axis=0)
        made["max"] = b.emit("top.Max", both, b.constant(np.zeros(8, np.float32)))
        made["padded"] = b.emit("top.Pad", both, paddings=(1, 1), val=1.0)
        return made["max"], made["padded"]

    build_module([TensorType((2, 2), F32), TensorType((4,), F32)], build)
    assert set(origins(made["padded"])) == {made["x"], made["sum"]}
    assert origins(made["padded"], constants=False) == [made["padded"]]
    assert origins(made["max"], by_value=False) == [made["max"]]
    assert {value for value in origins(made["max"]) if constant_of(value) is None} == {made["x"], made["sum"]}
    assert moved(made["sum"].op) == () and moved(made["max"].op, by_value=False) == ()


# --- those who ask

STEP = QuantType(I8, F32, (0.5,), (3,))


@pytest.mark.parametrize("move", [
    lambda b, x: b.emit("top.Gather", x, b.constant(ROWS), axis=0),
    lambda b, x: b.emit("top.Tile", x, tile=(2, 1)),
    lambda b, x: b.emit("top.Concat", x, b.emit("top.Reverse", x, axes=(0,)), axis=0),
    lambda b, x: b.emit("top.Unpack", x, axis=0)[0],
    lambda b, x: b.emit("top.Where", b.emit("top.Compare", x, x, mode="Less"), x, x),
    lambda b, x: b.emit("top.Pad", x, paddings=(1, 1, 1, 1)),
    lambda b, x: b.emit("top.Reduce", x, axes=(0,), mode="ReduceMax"),
], ids=["gather", "tile", "concat", "unpack", "where", "pad", "maximum"])
def test_an_output_that_was_moved_after_it_was_dequantized_is_judged_by_its_step(move: Any):
    def build(b: Builder, x: Value) -> Any:
        return move(b, b.emit("top.Cast", x, element=F32))

    assert output_steps(build_module([TensorType((3, 4), STEP)], build)) == [0.5]


def test_an_output_that_was_computed_has_no_step():
    def build(b: Builder, x: Value, y: Value) -> Any:
        real = b.emit("top.Cast", x, element=F32)
        return b.emit("top.Concat", real, y, axis=0), b.emit("top.Mul", real, real)

    assert output_steps(build_module([TensorType((3, 4), STEP), TensorType((3, 4), F32)], build)) == [None, None]


def drawn(build: Any, *types: TensorType) -> np.ndarray:
    """Numbers that verification gives the last input."""
    module: Module = build_module(list(types), build)
    return list(random_inputs(module, module, seed=3).values())[-1]


def test_random_indices_lie_inside_what_they_index():
    table, many = TensorType((9, 1, 9), F32), TensorType((200, 2), I64)
    assert drawn(lambda b, x, i: b.emit("top.GatherND", x, i), table, many).max() == 0
    elements = drawn(lambda b, x, u, i: b.emit("top.ScatterElements", x, i, u, axis=0),
                     TensorType((1, 9), F32), TensorType((1, 9), F32), TensorType((1, 9), I64))
    assert elements.max() == 0
    rows = drawn(lambda b, x, u, i: b.emit("top.ScatterND", x, i, u), TensorType((9, 9), F32),
                 TensorType((200, 9), F32), TensorType((200, 1), I64))
    assert rows.max() == 8


def test_an_index_that_is_computed_says_nothing_of_what_it_is_computed_from():
    """A mask of which a sum is taken holds 0 and 1, however many positions there are."""
    def positions(b: Builder, x: Value, mask: Value) -> Any:
        return b.emit("top.Gather", x, b.emit("top.CumSum", mask, axis=0), axis=0)

    assert drawn(positions, TensorType((50, 3), F32), TensorType((40,), I64)).max() == 1

    def moved_ids(b: Builder, x: Value, ids: Value) -> Any:
        return b.emit("top.Gather", x, b.emit("top.Cast", b.emit("top.Reshape", ids, shape=(4, 10)), element=I32), axis=0)

    assert drawn(moved_ids, TensorType((50, 3), F32), TensorType((40,), I64)).max() > 30


def test_index_operands():
    made: list[Any] = []

    def build(b: Builder, x: Value, i: Value) -> Any:
        made.append(b.emit("top.GatherND", x, i, batch_dims=1))
        return made[0]

    build_module([TensorType((2, 7, 5), F32), TensorType((2, 3, 2), I64)], build)
    ((place, index),) = index_operands(made[0].op).items()
    assert (place, index.size(made[0].op), index.lies_inside) == (1, 5, True)
    assert Moves() == moves_of(made[0].op)
