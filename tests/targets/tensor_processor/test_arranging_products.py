"""Slices of products, weights in fewer bits, rows of slices of what is loaded: the same numbers, fewer copies or bytes."""

from types import SimpleNamespace

import numpy as np
import pytest

import transload
from transload.ir import F32, I8, QuantType
from transload.ir.build import Builder
from transload_targets.tensor_processor.chip import load_chip
from transload_targets.tensor_processor.codegen import compile_function
from transload_targets.tensor_processor.codegen.generate import _is_better
from transload_targets.tensor_processor.cycles.timeline import timeline
from transload_targets.tensor_processor.simulator import Simulator

from .test_arranging import Function, arranged, ops


def weights_of(module):
    """The stored types of what products multiply by."""
    return [str(op.operands[1].stored_element) for op in module.main.regions[0].block
            if op.name in ("tpu.conv2d", "tpu.matmul")]


def cell(element, gates=4, width=128, whole=False):
    """Gates of a recurrent cell: slices of a sum of two products of the input, each with a function of its own."""
    made, random = Function((1, 64), element), np.random.default_rng(0)
    if element == I8:
        def product():
            rows = gates * width
            constants = [np.zeros(rows, np.int32), np.full(rows, 1 << 30, np.int32), np.full(rows, 38, np.int32)]
            return made.emit("matmul", made.x, made.constant(random.integers(-127, 128, (rows, 64)).astype(np.int8)),
                             *map(made.constant, constants), transposed=True)
        total = made.emit("add", product(), product(), multiplier=1 << 30, shift=31)
    else:
        def product():
            return made.emit("matmul", made.x, made.constant(random.standard_normal((gates * width, 64)).astype(np.float32)),
                             transposed=True)
        bias = made.constant(random.standard_normal((1, gates * width)).astype(np.float32))
        total = made.emit("add", made.emit("add", product(), product()), bias)
    parts = [made.emit("slice", total, starts=(0, gate * width), sizes=(1, width), steps=(1, 1)) for gate in range(gates)]
    if element == I8:
        return made.done(*parts, *([total] if whole else []))
    functions = ("sigmoid", "tanh", "exp", "square")
    return made.done(*(made.emit("unary", part, function=functions[gate % 4]) for gate, part in enumerate(parts)),
                     *([total] if whole else []))


@pytest.mark.parametrize("element", [I8, F32])
def test_slices_of_products_are_products_of_slices(element):
    module = cell(element)
    before = timeline(compile_function(cell(element).main, load_chip("tp-large")).program, load_chip("tp-large"))
    assert arranged(module)
    made = ops(module)
    assert "slice" not in made and made.count("matmul") == 8 and made.count("add") == (4 if element == I8 else 8)
    compiled = compile_function(module.main, load_chip("tp-large"))
    after = timeline(compiled.program, compiled.chip)
    assert after.cycles < before.cycles and after.bytes <= before.bytes
    assert not any(span.instruction.operation == "copy" for span in after.spans)
    ((name, type_),) = module.inputs.items()
    x = np.random.default_rng(1).integers(-9, 9, type_.shape).astype(np.int8 if element == I8 else np.float32)
    for one, other in zip(
            Simulator(compiled.program).run({name: x}).values(), transload.run(module, {name: x}).values(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_slices_stay_where_others_read_all_or_products_of_parts_take_longer():
    assert "slice" in ops_after(cell(F32, whole=True))
    assert "slice" in ops_after(cell(F32, gates=24, width=3))  # a start for each costs more than its copy


def ops_after(module):
    arranged(module)
    return ops(module)


def test_slices_over_a_stack_of_matrices_or_of_groups_stay():
    made, random = Function((1, 4, 3, 8), F32), np.random.default_rng(0)
    total = made.emit("matmul", made.x, made.constant(random.standard_normal((4, 8)).astype(np.float32)), transposed=True)
    parts = [made.emit("slice", total, starts=(0, start, 0, 0), sizes=(1, 2, 3, 4), steps=(1,) * 4) for start in (0, 2)]
    assert "slice" in ops_after(made.done(*(made.emit("unary", part, function="tanh") for part in parts)))
    made = Function((1, 64, 3, 3), F32)
    total = made.emit("conv2d", made.x, made.constant(random.standard_normal((64, 32, 1, 1)).astype(np.float32)), groups=2)
    parts = [made.emit("slice", total, starts=(0, start, 0, 0), sizes=(1, 32, 3, 3), steps=(1,) * 4) for start in (0, 32)]
    assert "slice" in ops_after(made.done(*(made.emit("unary", part, function="tanh") for part in parts)))


def test_weights_with_a_scale_for_each_channel_are_sliced_as_they_are_stored():
    made, random = Function((1, 64, 3, 3), I8), np.random.default_rng(0)
    scales = QuantType(I8, F32, tuple((0.1 + np.arange(128) / 1000).tolist()), (0,) * 128, axis=0)
    block = made.main.regions[0].block
    weights = Builder(block, location="op").constant(random.integers(-9, 9, (128, 64, 1, 1)).astype(np.int8), element=scales)
    constants = [np.zeros(128, np.int32), np.full(128, 1 << 30, np.int32), np.full(128, 36, np.int32)]
    total = made.emit("conv2d", made.x, weights, *map(made.constant, constants))
    parts = [made.emit("slice", total, starts=(0, start, 0, 0), sizes=(1, 64, 3, 3), steps=(1,) * 4) for start in (0, 64)]
    assert ops_after(made.done(*parts)).count("conv2d") == 2


def test_cells_that_are_unrolled_share_the_slices_of_their_weights():
    made, random = Function((1, 64), F32), np.random.default_rng(0)
    weights = made.constant(random.standard_normal((128, 64)).astype(np.float32) / 8)
    x = made.x
    for _ in range(3):
        total = made.emit("matmul", x, weights, transposed=True)
        low, high = (made.emit("slice", total, starts=(0, start), sizes=(1, 64), steps=(1, 1)) for start in (0, 64))
        x = made.emit("mul", made.emit("unary", low, function="sigmoid"), made.emit("unary", high, function="tanh"))
    module = made.done(x)
    assert arranged(module) and "slice" not in ops(module)
    products = [op for op in module.main.regions[0].block if op.name == "tpu.matmul"]
    assert len(products) == 6 and len({op.operands[1] for op in products}) == 2


def floats(array):
    made = Function((1, 16, 4, 4), F32)
    return made.done(made.emit("conv2d", made.x, made.constant(np.asarray(array, np.float32)), groups=1))


def test_weights_that_are_whole_numbers_are_held_in_8_bits_and_give_the_same():
    whole = np.random.default_rng(0).integers(-128, 128, (8, 16, 1, 1))
    assert not arranged(floats(whole), "tp-tiny")  # which cannot multiply by them
    module = floats(whole)
    assert arranged(module) and weights_of(module) == ["i8"]
    compiled, wide = (compile_function(each.main, load_chip("tp-large")) for each in (module, floats(whole)))
    assert timeline(compiled.program, compiled.chip).bytes < timeline(wide.program, wide.chip).bytes
    x = np.random.default_rng(1).standard_normal((1, 16, 4, 4)).astype(np.float32)
    (found,), (wanted,) = (Simulator(each.program).run({"x": x}).values() for each in (compiled, wide))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("other", [0.5, 128.0, -129.0, np.nan, np.inf, -0.0])
def test_other_weights_stay_floats(other):
    array = np.ones((8, 16, 1, 1))
    array[3, 5] = other
    module = floats(array)
    arranged_here = arranged(module) if np.isfinite(other) else None
    assert not arranged_here and weights_of(module) == ["f32"]


@pytest.mark.parametrize("index", [0, 1])
def test_a_row_of_a_slice_of_what_is_loaded_is_read_by_strides(index):
    made = Function((1, 2, 64, 2), F32)
    taken = made.emit("slice", made.x, starts=(0, index, 3, 1), sizes=(1, 1, 20, 1), steps=(1, 1, 3, 1))
    module = made.done(made.emit("unary", made.emit("reshape", taken, shape=(1, 20)), function="tanh"))
    assert arranged(module)
    compiled = compile_function(module.main, load_chip("tp-large"))
    assert not any(each.operation == "copy" for each in compiled.program.instructions)
    x = np.random.default_rng(1).standard_normal((1, 2, 64, 2)).astype(np.float32)
    (found,), (wanted,) = Simulator(compiled.program).run({"x": x}).values(), transload.run(module, {"x": x}).values()
    np.testing.assert_array_equal(found, wanted)


def program(monkeypatch, cycles, moved, dense):
    """Stands for a compiled program, of which three figures are asked."""
    return SimpleNamespace(program=SimpleNamespace(cycles=cycles, bytes=moved), is_dense=dense)


@pytest.mark.parametrize(("kept", "again", "better"), [
    ((99, 10, True), (100, 10, True), True),
    ((100, 10, True), (100, 10, True), False),
    ((90, 11, True), (100, 10, True), False),  # more bytes
    ((95, 10, False), (100, 10, True), False),  # faster, by less than density is worth
    ((90, 10, False), (100, 10, True), True),
    ((95, 10, False), (100, 10, False), True),
    ((101, 10, True), (100, 10, False), False),
])
def test_the_denser_of_two_programs_is_taken_unless_the_other_is_faster_by_more_than_that_is_worth(
    monkeypatch, kept, again, better,
):
    monkeypatch.setattr("transload_targets.tensor_processor.codegen.generate.timeline", lambda program, chip: program)
    assert _is_better(*(program(monkeypatch, *each) for each in (kept, again)), load_chip("tp-small")) is better
