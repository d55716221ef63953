"""The pass `arrange-for-lanes`: the same numbers, of fewer ops, fewer copies in the lanes and shorter reductions."""

import numpy as np
import pytest

import transload
from transload.ir import F32, I8, I32, QuantType, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload.ir.verify import verify
from transload_targets.tensor_processor.arranging import arrange_for_lanes
from transload_targets.tensor_processor.arranging.moves import _sliced_before
from transload_targets.tensor_processor.chip import load_chip
from transload_targets.tensor_processor.codegen import compile_function
from transload_targets.tensor_processor.cycles.timeline import compulsory_bytes, timeline
from transload_targets.tensor_processor.simulator import Simulator

from .functions import network


class Function:
    """A function of one input, made op by op."""

    def __init__(self, shape, element):
        self.module = new_module()
        self.main = self.module.add_function("main", [TensorType(shape, element)], ["x"])
        self.x = self.main.regions[0].block.arguments[0]

    def emit(self, name, *operands, **attributes):
        return Builder(self.main.regions[0].block, location="op").emit(f"tpu.{name}", *operands, **attributes)

    def constant(self, array):
        return Builder(self.main.regions[0].block, location="op").constant(np.asarray(array))

    def done(self, *results):
        set_results(self.main, list(results), [f"y{number}" for number in range(len(results))])
        return self.module


def ops(module):
    return [op.name.removeprefix("tpu.") for op in module.main.regions[0].block if op.dialect == "tpu"]


def arranged(module, chip="tp-large"):
    """Arrange a module; it gives what it gave, of all stored numbers where there are 256."""
    ((name, type_),) = module.inputs.items()
    random = np.random.default_rng(0)
    if type_.element == I8:
        x = random.integers(-128, 128, type_.shape).astype(np.int8)
    else:
        x = (random.standard_normal(type_.shape) * 50).astype(np.float32)
    wanted = list(transload.run(module, {name: x}).values())
    changed = arrange_for_lanes(module, chip)
    verify(module)
    for one, other in zip(transload.run(module, {name: x}).values(), wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not arrange_for_lanes(module, chip)  # once is enough
    return changed


def hard_swish(function, x):
    """x * clamp(x + 3, 0, 6), in floats between casts."""
    real = function.emit("cast", x, element=F32, scale=0.05, zero=3)
    more = function.emit("unary", function.emit("add", real, function.constant(np.full((1, 1, 1, 1), 3, np.float32))),
                         function="identity", low=0.0, high=6.0)
    return function.emit("cast", function.emit("mul", real, more), element=I8, scale=0.1, zero=-7)


def test_several_ops_of_one_number_of_8_bits_are_one_table():
    function = Function((1, 4, 8, 8), I8)
    module = function.done(hard_swish(function, function.x))
    assert arranged(module)
    assert ops(module) == ["table"]


def test_what_others_read_stays_beside_the_table():
    function = Function((1, 4, 8, 8), I8)
    real = function.emit("cast", function.x, element=F32, scale=0.05, zero=3)
    root = function.emit("unary", real, function="sigmoid")
    back = function.emit("cast", root, element=I8, scale=0.01, zero=0)
    module = function.done(back, function.emit("unary", real, function="square"))
    assert arranged(module)
    assert sorted(ops(module)) == ["cast", "table", "unary"]


def test_a_chip_without_tables_keeps_the_ops(tmp_path):
    from transload_targets.tensor_processor.chip.reading import FOLDER
    text = (FOLDER / "tp-large.toml").read_text()
    file = tmp_path / "bare.toml"
    file.write_text("\n".join(line for line in text.splitlines() if not line.startswith("table")))
    function = Function((1, 4, 8, 8), I8)
    module = function.done(hard_swish(function, function.x))
    arrange_for_lanes(module, str(file))
    assert "table" not in ops(module)


def test_sums_of_two_tensors_are_no_table():
    function = Function((1, 4, 8, 8), I8)
    other = function.emit("max_pool2d", function.x, kernel=(3, 3), pads=(1, 1, 1, 1))
    real = function.emit("cast", function.emit("maximum", function.x, other), element=F32, scale=0.1, zero=0)
    both = function.emit("cast", real, element=I8, scale=0.2, zero=1)
    module = function.done(both)
    assert arranged(module)
    assert sorted(ops(module)) == ["max_pool2d", "maximum", "table"]


@pytest.mark.parametrize("move", [("permute", {"order": (0, 3, 1, 2)}), ("reshape", {"shape": (1, 2, 49, 10)})])
def test_moves_of_what_an_input_becomes_are_done_by_the_load(move):
    function = Function((1, 49, 10, 2), F32)
    name, how = move
    number = function.emit("reduce", function.emit("unary", function.x, function="abs"), function="max", axes=(1, 2, 3))
    scaled = function.emit("mul", function.x, number)
    result = function.emit(name, function.emit("add", scaled, function.constant(np.full((1, 1, 1, 1), 2, np.float32))), **how)
    module = function.done(function.emit("max_pool2d", result, kernel=(3, 3)))
    assert arranged(module)
    assert ops(module)[0] == name  # before all else
    program = compile_function(module.main, load_chip("tp-large")).program
    assert not [one for one in program.instructions if one.operation == "copy"]


def test_a_number_of_the_input_that_members_read_is_of_what_is_moved():
    """It comes before the members, and so does what is moved, of which it is made then."""
    function = Function((1, 8, 8, 2), F32)
    number = function.emit("reduce", function.x, function="max", axes=(1, 2, 3))
    scaled = function.emit("add", function.emit("mul", function.x, number), number)
    module = function.done(function.emit("max_pool2d", function.emit("permute", scaled, order=(0, 3, 1, 2)), kernel=(3, 3)))
    assert arranged(module)
    assert ops(module)[:2] == ["permute", "reduce"]


def test_constants_by_channel_are_permuted_along():
    function = Function((1, 16, 16, 3), F32)
    means = function.constant(np.arange(3, dtype=np.float32).reshape(1, 1, 1, 3))
    module = function.done(function.emit("max_pool2d", function.emit(
        "permute", function.emit("add", function.x, means, subtract=True), order=(0, 3, 1, 2)), kernel=(2, 2)))
    assert arranged(module)
    assert ops(module)[0] == "permute"


def test_a_move_stays_where_it_leaves_most_lanes_empty():
    function = Function((1, 192, 192, 3), F32)
    x = function.x
    for _ in range(8):
        x = function.emit("unary", x, function="exp" if _ % 2 else "tanh")
    module = function.done(function.emit("max_pool2d", function.emit("permute", x, order=(0, 3, 1, 2)), kernel=(2, 2)))
    arranged(module)
    assert ops(module)[0] == "unary"  # 8 functions in 3 of 64 lanes take longer than a copy


def test_what_is_wider_is_moved_and_made_late():
    function = Function((1, 8, 16, 16), I8)
    pooled = function.emit("max_pool2d", function.x, kernel=(1, 1))
    wide = function.emit("cast", pooled, element=F32, scale=0.1, zero=0)
    last = function.emit("max_pool2d", pooled, kernel=(2, 2))
    turned = function.emit("permute", wide, order=(0, 2, 3, 1))
    result = function.emit("max_pool2d", function.emit("unary", turned, function="exp"), kernel=(2, 2))
    module = function.done(result, last)
    assert arranged(module)
    assert ops(module) == ["max_pool2d", "permute", "max_pool2d", "cast", "unary", "max_pool2d"]


def test_a_slice_goes_to_the_front_and_under_a_reshape():
    function = Function((1, 50, 91), I8)
    pooled = function.emit("concat", function.x, function.x, axis=1)
    wide = function.emit("cast", pooled, element=F32, scale=0.1, zero=0)
    flat = function.emit("reshape", wide, shape=(100, 91))
    sliced = function.emit("slice", flat, starts=(0, 1), sizes=(100, 90), steps=(1, 1))
    module = function.done(function.emit("reduce", sliced, function="sum", axes=(1,)))
    assert arranged(module)
    assert ops(module) == ["concat", "slice", "reshape", "cast", "reduce"]


def shuffled(x):
    """Both halves of channels that are taken in turn from one half and from the other of `x` [1, 48, 6, 6], as reshapes do it."""
    function, x = x
    pairs = function.emit("reshape", function.emit("reshape", x, shape=(24, 2, 36)), shape=(24, 2, 1, 6, 6))
    for half in range(2):
        taken = function.emit("slice", pairs, starts=(0, half, 0, 0, 0), sizes=(24, 1, 1, 6, 6), steps=(1,) * 5)
        yield function.emit("reshape", function.emit("reshape", taken, shape=(24, 1, 6, 6)), shape=(1, 24, 6, 6))


def test_every_second_channel_is_a_slice_and_stays_in_the_lanes():
    function = Function((1, 48, 6, 6), F32)
    one, other = shuffled((function, function.emit("unary", function.x, function="tanh")))
    module = function.done(function.emit("max_pool2d", one, kernel=(3, 3)), function.emit("max_pool2d", other, kernel=(2, 2)))
    assert arranged(module)
    assert set(ops(module)) == {"unary", "slice", "reshape", "max_pool2d"}
    steps = [op.attribute("steps") for op in module.main.regions[0].block if op.name == "tpu.slice"]
    assert steps == [(1, 2, 1, 1)] * 2
    compiled = compile_function(module.main, load_chip("tp-large"))
    program = compiled.program
    assert timeline(program, compiled.chip).bytes == compulsory_bytes(program)
    x = np.random.default_rng(1).standard_normal((1, 48, 6, 6)).astype(np.float32)
    for name, array in transload.run(module, {"x": x}).items():
        np.testing.assert_array_equal(Simulator(program).run({"x": x})[name], array)


@pytest.mark.parametrize(("before", "after", "taken", "asked"), [
    ((1, 48, 44, 44), (24, 2, 1936), [(0, 24, 1), (1, 1, 1), (0, 1936, 1)], [(0, 1, 1), (1, 24, 2), (0, 44, 1), (0, 44, 1)]),
    ((12,), (3, 4), [(1, 2, 1), (0, 4, 1)], [(4, 8, 1)]),
    ((12,), (3, 4), [(0, 3, 1), (1, 2, 2)], [(1, 6, 2)]),
    ((12,), (3, 4), [(0, 3, 1), (0, 3, 1)], None),  # 0 1 2 4 5 6 8 ..
    ((12,), (3, 4), [(0, 2, 2), (0, 2, 2)], None),  # 0 2 8 10
    ((12,), (3, 4), [(2, 3, -1), (0, 1, 1)], None),
    ((3, 4), (12,), [(0, 8, 1)], None),  # two rows of three: two dimensions
    ((1, 5, 1), (5, 1, 1, 1), [(1, 3, 1), (0, 1, 1), (0, 1, 1), (0, 1, 1)], [(0, 1, 1), (1, 3, 1), (0, 1, 1)]),
    ((), (1, 1), [(0, 1, 1), (0, 1, 1)], []),
    ((0, 4), (4, 0), [(0, 4, 1), (0, 0, 1)], None)])
def test_a_slice_of_a_reshape_is_what_it_takes_of_each_dimension_before(before, after, taken, asked):
    assert _sliced_before(before, after, taken) == asked
    if asked is not None:
        array = np.arange(int(np.prod(before))).reshape(before)
        of, was = (tuple(slice(start, start + (count - 1) * step + 1, step) for start, count, step in each)
                   for each in (taken, asked))
        np.testing.assert_array_equal(array.reshape(after)[of].reshape(-1), array[was].reshape(-1))


@pytest.mark.parametrize(("start", "count", "step", "left"), [
    (0, 5, 1, []),  # all of the first
    (9, 4, -1, ["slice"]),  # backwards, of the second
    (1, 4, 2, ["slice", "slice", "concat"])])  # of both
def test_a_slice_of_what_is_joined_is_one_of_the_tensor_that_has_it(start, count, step, left):
    function = Function((1, 5, 4, 4), F32)
    joined = function.emit("concat", *(function.emit("unary", function.x, function=name) for name in ("tanh", "exp")), axis=1)
    taken = function.emit("slice", joined, starts=(0, start, 0, 0), sizes=(1, count, 4, 4), steps=(1, step, 1, 1))
    module = function.done(function.emit("max_pool2d", taken, kernel=(2, 2)))
    arranged(module)
    assert [name for name in ops(module) if name in ("concat", "slice")] == left


PADDED = [
    (F32, "max_pool2d", {"kernel": (3, 3), "strides": (2, 2)}, -np.inf, {"pads": (1, 2, 0, 1)}),
    (I8, "max_pool2d", {"kernel": (3, 3), "pads": (0, 0, 1, 0)}, -128, {"pads": (1, 2, 1, 1)}),
    (F32, "avg_pool2d", {"kernel": (3, 3)}, 0.0, {"padded": (1, 2, 0, 1), "pads": (0, 0, 0, 0)}),
    (I8, "avg_pool2d", {"kernel": (3, 3), "input_zero": 5}, 5, {"padded": (1, 2, 0, 1)}),
    (F32, "conv2d", {"strides": (2, 2)}, 0.0, {"pads": (1, 2, 0, 1)}),
    (I8, "conv2d", {"input_zero": -7}, -7, {"pads": (1, 2, 0, 1)})]


def padded_window(element, name, how, value, pads=(0, 0, 1, 2, 0, 0, 0, 1), before=None):
    function = Function((1, 4, 8, 8), element)
    x = function.x if before is None else function.emit("unary", function.x, function="identity", **before)
    x = function.emit("pad", x, pads=pads, value=float(value))
    filters = np.random.default_rng(0).integers(-9, 9, (6, 4, 3, 3)).astype(np.float32 if element is F32 else np.int8)
    filters = filters / np.float32(4) if element is F32 else filters
    operands = [function.constant(filters)] if name == "conv2d" else []
    if name == "conv2d" and element is I8:
        operands += [function.constant(np.full(6, number, np.int32)) for number in (100, 1 << 30, 38)]
    return function.done(function.emit(name, x, *operands, **how))


@pytest.mark.parametrize(("element", "name", "how", "value", "become"), PADDED)
def test_pads_in_front_of_windows_are_the_windows_own(element, name, how, value, become):
    module = padded_window(element, name, how, value)
    assert arranged(module)
    assert ops(module) == [name]
    (window,) = (op for op in module.main.regions[0].block if op.dialect == "tpu")
    assert {key: window.attribute(key) for key in become} == become


@pytest.mark.parametrize(("element", "name", "how", "value", "become"), PADDED)
def test_pads_that_hold_another_number_stay(element, name, how, value, become):
    assert not arranged(padded_window(element, name, how, 3.0))
    assert not arranged(padded_window(element, name, how, value, (0, 0, 9, 0, 0, 0, 0, 0)))  # windows of padding alone
    assert not arranged(padded_window(element, name, how, value, (1, 0, 0, 0, 0, 0, 0, 0)))  # an image more


def test_a_pad_that_is_less_than_all_that_a_maximum_sees_is_its_own():
    how = {"kernel": (3, 3)}
    assert arranged(padded_window(F32, "max_pool2d", how, -5.0, before={"low": -4.0}))
    assert not arranged(padded_window(F32, "max_pool2d", how, -3.0, before={"low": -4.0}))
    assert not arranged(padded_window(F32, "max_pool2d", how, -3.4e38))  # an element could be less, or infinite


def quantized_as_it_runs(function, fraction, away, half=None):
    """`round(x / 2^fraction)` of 32-bit integers, as hybrid operators of TFLite are written out."""
    def number(of):
        return function.constant(np.full((1, 1, 1, 1), of, np.int32))

    whole = function.emit("cast", function.x, element=I32, mode="half-even", wrap=True)
    half = number((1 << (fraction - 1)) if half is None else half)
    if away:
        half = function.emit("add", function.emit("binary", whole, number(31), function="shift_right"), half)
    return function.emit("binary", function.emit("add", whole, half), number(fraction), function="shift_right")


@pytest.mark.parametrize("away", [False, True])
@pytest.mark.parametrize("fraction", [1, 8, 23])
def test_what_is_rounded_off_a_fraction_is_one_cast(fraction, away):
    function = Function((1, 4, 4, 8), F32)
    rounded = quantized_as_it_runs(function, fraction, away)
    module = function.done(function.emit("cast", rounded, element=F32, mode="truncate"), rounded)
    x = (np.linspace(-4, 4, 128).astype(np.float32).reshape(1, 4, 4, 8) * np.float32(2.0**fraction))
    x.reshape(-1)[:9] = [np.nan, np.inf, -np.inf, 2.0**31, -2.0**31, 3e9, 2.0**23 - 0.5, 0.5 - 2.0**23, -0.5]
    wanted = transload.run(module, {"x": x})
    assert arranged(module)
    assert ops(module) == ["cast", "cast"]
    simulator = Simulator(compile_function(module.main, load_chip("tp-large")).program)
    for found in (transload.run(module, {"x": x}), simulator.run({"x": x})):
        for name, array in found.items():
            np.testing.assert_array_equal(array, wanted[name])


def test_a_shift_that_rounds_no_fraction_off_stays():
    for half in (1, 1 << 8):
        function = Function((1, 4, 4, 8), F32)
        assert not arranged(function.done(quantized_as_it_runs(function, 8, False, half)))
    function = Function((1, 4, 4, 8), F32)
    whole = function.emit("cast", function.x, element=I32, mode="half-even", scale=0.5)
    total = function.emit("add", whole, function.constant(np.full((1, 1, 1, 1), 128, np.int32)))
    assert not arranged(function.done(function.emit(
        "binary", total, function.constant(np.full((1, 1, 1, 1), 8, np.int32)), function="shift_right")))


def test_reductions_over_all_are_done_within_lanes_first():
    function = Function((1, 64, 25, 5), F32)
    size = function.emit("unary", function.x, function="abs")
    module = function.done(function.emit("reduce", size, function="max", axes=(1, 2, 3)))
    chip = load_chip("tp-large")
    before = timeline(compile_function(module.main, chip).program, chip).cycles
    assert arranged(module)
    assert ops(module) == ["unary", "reduce", "reduce"]
    assert timeline(compile_function(module.main, chip).program, chip).cycles < before - 400


def test_a_sum_of_floats_keeps_its_order():
    function = Function((1, 64, 25, 5), F32)
    size = function.emit("unary", function.x, function="abs")
    module = function.done(function.emit("reduce", size, function="sum", axes=(1, 2, 3)))
    assert not arranged(module)


def test_bounds_are_those_of_the_op_before():
    function = Function((1, 4, 8, 8), F32)
    total = function.emit("add", function.x, function.constant(np.full((1, 4, 1, 1), 0.5, np.float32)))
    module = function.done(function.emit("unary", total, function="identity", low=0.0))
    assert arranged(module)
    assert ops(module) == ["add"]


@pytest.mark.parametrize("seed", range(6))
def test_networks_give_the_same(seed):
    arranged(network(seed))


@pytest.mark.parametrize("left", [False, True])
def test_a_number_that_bounds_a_reduction_is_its_bound(left):
    function = Function((1, 64, 25, 5), F32)
    greatest = function.emit("reduce", function.x, function="max", axes=(2, 3))
    pair = greatest, function.constant(np.full((1, 1, 1, 1), 140.0, np.float32))
    module = function.done(function.emit("maximum", *pair[::-1 if left else 1]))
    assert arranged(module)
    assert ops(module) == ["reduce"]


def test_a_bound_below_stays_behind_one_above():
    function = Function((1, 4, 8, 8), F32)
    total = function.emit("add", function.x, function.constant(np.full((1, 4, 1, 1), 0.5, np.float32)), high=-3.0)
    module = function.done(function.emit("maximum", total, function.constant(np.full((1, 1, 1, 1), 2.0, np.float32))))
    assert not arranged(module)
    function = Function((1, 4, 8, 8), F32)
    total = function.emit("mul", function.x, function.x, low=900.0)
    module = function.done(function.emit("minimum", total, function.constant(np.full((1, 1, 1, 1), 2.0, np.float32))))
    assert arranged(module)
    assert ops(module) == ["mul"]


def dynamic_product(function, channels=5, bounds=None, bias=True, shape=(1, 1, 1, 1)):
    """A convolution of what is quantized as it runs, scaled by what that was worth, with a bias: a hybrid operator of TFLite."""
    random = np.random.default_rng(1)
    size = function.emit("unary", function.x, function="abs")
    most = function.emit("reduce", size, function="max", axes=(0, 1, 2, 3))
    full = function.constant(np.full((1, 1, 1, 1), 127 * 2.0**24, np.float32))
    spread = function.emit("mul", function.x, function.emit("binary", full, most, function="div"))
    x = function.emit("cast", spread, element=F32, mode="half-even", wrap=True, fraction=24)
    worth = function.emit("binary", most, function.constant(np.full((1, 1, 1, 1), 127, np.float32)), function="div")
    factor = function.emit("mul", function.constant(random.uniform(0.001, 0.01, shape).astype(np.float32)), worth)
    weights = function.constant(random.integers(-127, 128, (channels, 4, 3, 3)).astype(np.float32))
    sums = function.emit("conv2d", x, weights, pads=(1, 1, 1, 1))
    x = function.emit("mul", sums, factor, **(bounds or {}))
    if bias:
        x = function.emit("add", function.constant(random.normal(0, 20, (1, channels, 1, 1)).astype(np.float32)), x, low=0.0)
    return x, sums


@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (1, 5, 1, 1)])
@pytest.mark.parametrize("name", ["tp-small", "tp-large"])
def test_what_is_quantized_as_it_runs_is_a_cast_and_a_product(name, shape):
    function = Function((1, 4, 6, 8), F32)
    result, _ = dynamic_product(function, shape=shape)
    module = function.done(result)
    x = np.random.default_rng(0).normal(0, 3, (1, 4, 6, 8)).astype(np.float32)
    (wanted,) = transload.run(module, {"x": x}).values()
    assert arranged(module, name)
    assert ops(module) == ["unary", "reduce", "reduce", "cast", "binary", "mul", "conv2d"]
    (found,) = Simulator(compile_function(module.main, load_chip(name)).program).run({"x": x}).values()
    assert found.tobytes() == wanted.tobytes()
    assert len(np.unique(wanted)) > 50  # of both sides of the bound


def test_sums_are_multiplied_alone_where_others_read_them_or_bounds_lie_between():
    function = Function((1, 4, 6, 8), F32)
    module = function.done(*dynamic_product(function))
    assert arranged(module)  # the cast
    assert ops(module)[-3:] == ["conv2d", "mul", "add"]
    function = Function((1, 4, 6, 8), F32)
    result, _ = dynamic_product(function, bounds={"low": -1.0, "high": 0.0})
    module = function.done(result)
    assert arranged(module)
    assert ops(module)[-2:] == ["conv2d", "add"]


def test_a_factor_for_each_place_is_none_of_a_sum():
    function = Function((1, 4, 6, 8), F32)
    weights = function.constant(np.random.default_rng(1).normal(size=(5, 4, 1, 1)).astype(np.float32))
    sums = function.emit("conv2d", function.x, weights)
    assert not arranged(function.done(function.emit("mul", sums, function.constant(np.full((1, 1, 6, 8), 0.5, np.float32)))))


def test_products_of_matrices_are_multiplied_by_column():
    function = Function((3, 16), F32)
    random = np.random.default_rng(1)
    sums = function.emit("matmul", function.x, function.constant(random.normal(size=(16, 70)).astype(np.float32)))
    scaled = function.emit("mul", function.constant(random.normal(size=(1, 70)).astype(np.float32)), sums)
    module = function.done(function.emit("add", scaled, function.constant(np.full((1, 1), 2, np.float32))))
    x = random.normal(size=(3, 16)).astype(np.float32)
    (wanted,) = transload.run(module, {"x": x}).values()
    assert arranged(module)
    assert ops(module) == ["matmul"]
    (found,) = Simulator(compile_function(module.main, load_chip("tp-large")).program).run({"x": x}).values()
    np.testing.assert_array_equal(found, wanted)


def heads(function, name="table", element=I8):
    """Two heads of a detector: convolutions of which each is turned, flattened, requantized, and joined with the other."""
    made, random, x = [], np.random.default_rng(1), function.x
    for boxes in (3, 2):
        weights = function.constant(random.integers(-127, 128, (boxes * 7, 4, 1, 1)).astype(np.int8))
        rest = [function.constant(np.full(boxes * 7, number, np.int32)) for number in (0, 1 << 30, 38)]
        each = function.emit("permute", function.emit("conv2d", x, weights, *rest), order=(0, 2, 3, 1))
        each = function.emit("reshape", each, shape=(1, each.shape[1] * each.shape[2] * boxes, 7))
        table = [function.constant(random.integers(-128, 128, 256).astype(np.int8))] if name == "table" else []
        made.append(function.emit(name, each, *table, element=element))
        x = function.emit("max_pool2d", x, kernel=(2, 2), strides=(2, 2))
    return function.emit("concat", *made, axis=1)


@pytest.mark.parametrize("name", ["tp-small", "tp-large"])
def test_heads_of_detectors_are_stored_where_they_are_joined(name):
    function = Function((1, 4, 8, 6), I8)
    module = function.done(heads(function))
    x = np.random.default_rng(0).integers(-128, 128, (1, 4, 8, 6)).astype(np.int8)
    (wanted,) = transload.run(module, {"x": x}).values()
    assert arranged(module, name)
    assert [op for op in ops(module) if op != "max_pool2d"] == ["conv2d", "table", "permute", "reshape"] * 2 + ["concat"]
    program = compile_function(module.main, load_chip(name)).program
    (found,) = Simulator(program).run({"x": x}).values()
    np.testing.assert_array_equal(found, wanted)
    assert not [one for one in program.instructions if one.operation == "copy"]


def test_moves_stay_in_front_of_what_makes_numbers_wider():
    function = Function((1, 4, 8, 6), I8)
    module = function.done(heads(function, "cast", F32))
    arranged(module)
    assert [op for op in ops(module) if op != "max_pool2d"] == [*["conv2d", "permute", "reshape"] * 2, "cast", "cast", "concat"]


def test_a_move_of_what_is_given_out_comes_last():
    function = Function((1, 4, 8, 6), I8)
    turned = function.emit("permute", function.emit("max_pool2d", function.x, kernel=(2, 2)), order=(0, 2, 3, 1))
    module = function.done(function.emit("cast", turned, element=I8))
    assert arranged(module)
    assert ops(module) == ["max_pool2d", "cast", "permute"]
    program = compile_function(module.main, load_chip("tp-large")).program
    assert not [one for one in program.instructions if one.operation == "copy"]


@pytest.mark.parametrize("late", [False, True])
def test_reshapes_that_read_bits_as_other_numbers_stay(late):
    """They are no moves: what an op in front of one gives is of its own type. TFLite's CAST of quantized integers is one."""
    quantized = QuantType(I8, F32, (0.5,), (3,))
    function = Function((2, 8, 4), I8)
    number = function.emit("cast", function.x, element=I8, mode="truncate", wrap=True)
    read = function.emit("reshape", number, shape=(8, 8), element=quantized)
    if late:
        back = function.emit("reshape", read, shape=(8, 8), element=I8)
        read = function.emit("cast", back, element=F32, mode="truncate", wrap=True)
        read = function.emit("cast", read, element=I8, mode="truncate", wrap=False)
        read = function.emit("reshape", read, shape=(8, 8), element=quantized)
    module = function.done(read)
    arranged(module)
    assert str(read.element) == str(next(iter(module.outputs.values())).element) == str(quantized)


def test_tensors_of_unknown_sizes_stay_as_they_are(tmp_path):
    """What a file leaves open is told with the way out, by the target's check."""
    text = """
        func.func @main(%x: tensor<4x?xui8>) -> tensor<4x?xui8> {
          %0 = stablehlo.convert %x : (tensor<4x?xui8>) -> tensor<4x?xi32>
          %1 = stablehlo.abs %0 : tensor<4x?xi32>
          %2 = stablehlo.convert %1 : (tensor<4x?xi32>) -> tensor<4x?xui8>
          return %2 : tensor<4x?xui8>
        }"""
    module = transload.load(text=text, format="stablehlo")
    with pytest.raises(transload.TransloadError) as refused:
        transload.convert(module, "tp-small", tmp_path / "out")
    assert "by --shape" in str(refused.value)
