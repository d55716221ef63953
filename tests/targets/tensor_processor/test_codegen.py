"""Programs give what the kernels of their functions give, to the last bit, and break no rule of the machine."""

from dataclasses import replace

import numpy as np
import pytest

import transload
from transload.errors import PlacementError, TargetError
from transload.ir import FloatType, TensorType
from transload.memory import Buffer
from transload_targets.tensor_processor.codegen import compile_function
from transload_targets.tensor_processor.cycles.timeline import compulsory_bytes
from transload_targets.tensor_processor.groups.partition import Partitioning, partition
from transload_targets.tensor_processor.groups.reading import machine_of, read
from transload_targets.tensor_processor.instructions import Global, Local
from transload_targets.tensor_processor.placement.everywhere import place_global
from transload_targets.tensor_processor.simulator import Simulator

from .functions import Maker, chip, network
from tests.support.sampling import sampled


def check(module, compiled):
    random = np.random.default_rng(1)
    inputs = {name: random.integers(-128, 128, type_.shape).astype(np.int8) for name, type_ in module.inputs.items()}
    expected = list(transload.run(module, inputs).values())
    simulator = Simulator(compiled.program)  # checks all rules
    for seed in (None, 7):
        given = list(simulator.run(inputs, seed).values())
        assert len(given) == len(expected)
        for one, other in zip(given, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    return expected


@pytest.mark.parametrize("way", ["best", "greedy", "layers"])
@pytest.mark.parametrize("seed", sampled(range(6), [0, 4]))
@pytest.mark.parametrize("name, local_bytes", [("tp-tiny", None), ("tp-tiny", 3328), ("tp-small", 1024), ("tp-large", 2048)])
def test_programs_give_what_kernels_give(name, local_bytes, seed, way):
    module, target = network(seed), chip(name, local_bytes)
    compiled = compile_function(module.main, target, way=way, banked=seed % 2 == 0)
    result, *_ = check(module, compiled)
    assert len(np.unique(result)) > 8  # scales are such that there is something to compare
    assert compiled.local.bound <= compiled.local.peak <= target.local_bytes
    if way == "layers":
        assert len(compiled.partition.groups) == len(compiled.reading.network.nodes)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", [(5, 24), (2, 5, 24)])
@pytest.mark.parametrize("local_bytes", [None, 1024])
def test_products_of_matrices_are_convolutions_of_one_by_one(shape, transposed, local_bytes):
    made = Maker(shape)
    module = made.done(made.matmul(made.matmul(made.input, 40, transposed), 7, not transposed))
    check(module, compile_function(module.main, chip("tp-tiny", local_bytes)))


def test_small_local_memory_makes_slices_and_moves_are_done_while_others_compute():
    made = Maker((1, 8, 48, 48))
    x = made.input
    for _ in range(4):
        x = made.conv(x, 8)
    module = made.done(x)
    compiled = compile_function(module.main, chip("tp-small", 2560), halos="recomputed")
    check(module, compiled)
    assert any(len(group.slicing) > 1 for group in compiled.partition.groups)
    assert [load for step in compiled.schedule.steps for command in step.commands for load in command.loads if load.slot <
    load.need] # A load that is ahead and shares no bank with what computes then waits for nothing of it.
    assert any(one.queue == "dma" and one.operation == "load" and not one.wait for one in compiled.program.instructions[4:])


def test_stores_are_done_while_the_next_step_computes_unless_it_needs_them():
    made = Maker((1, 8, 24, 24))
    one, other = made.conv(made.input, 8), made.conv(made.input, 4)
    module = made.done(made.conv(other, 4), one)
    compiled = compile_function(module.main, chip("tp-small"), way="layers")
    check(module, compiled)
    stores = [store.at_once for step in compiled.schedule.steps for store in step.stores]
    assert stores == [False, True, True]  # the second is loaded at once, and after the third nothing is computed


def test_a_network_that_no_slice_fits_is_refused_by_the_names_of_its_ops():
    made = Maker((1, 64, 8, 8))
    module = made.done(made.conv(made.conv(made.input, 64), 64))
    with pytest.raises(PlacementError) as error:
        compile_function(module.main, chip("tp-tiny", 256))
    assert [finding.names for finding in error.value.findings] == [("conv2d5",), ("conv2d10",)]


def test_what_is_told_to_be_too_large_is_what_no_slicing_makes_fit(monkeypatch):
    made = Maker((1, 5, 5, 4))
    x = made.conv(made.conv(made.input, 8), 8, 5, 2, groups=8)
    x = made.emit("tpu.max_pool2d", made.add(x, made.conv(x, 8, 1)), kernel=(2, 2), pads=(1, 0, 0, 1))
    module = made.done(made.emit("tpu.softmax", x, made.constant(np.arange(256, dtype=np.int32) << 20), axis=2))
    network = read(module.main, chip("tp-tiny")).network
    told = []
    for quick in (True, False):
        if not quick:
            monkeypatch.setattr(Partitioning, "_too_large", lambda self, number: False)
        for local_bytes in range(16, 144, 16):
            try:
                partition(network, machine_of(chip("tp-tiny", local_bytes)), "layers")
                told.append([])
            except PlacementError as error:
                told.append([finding.names for finding in error.findings])
    assert told[:8] == told[8:] and len({len(names) for names in told}) > 3


def test_weights_lie_at_their_alignment_and_tensors_reuse_places():
    module, target = network(3), chip("tp-small", 1024)
    compiled = compile_function(module.main, target, way="layers")
    assert all(held.address % target.weight_alignment == 0 for held in compiled.program.weights)
    given = sum(np.prod(op.results[0].shape) for op in compiled.reading.ops)
    assert compiled.everywhere.peak < given
    assert compiled.everywhere.peak <= 1.02 * compiled.everywhere.bound


def test_moves_that_change_no_byte_are_none_and_strides_are_read_where_they_lie():
    made = Maker((1, 12, 10, 6))
    x = made.emit("tpu.permute", made.input, order=(0, 3, 1, 2))  # as pictures come, read by strides
    x = made.conv(x, 8)
    x = made.emit("tpu.avg_pool2d", x, kernel=(12, 10))
    x = made.emit("tpu.reshape", made.emit("tpu.permute", x, order=(0, 2, 3, 1)), shape=(1, 8))
    module = made.done(made.matmul(x, 5, True))
    compiled = compile_function(module.main, chip("tp-small"))
    check(module, compiled)
    assert len(compiled.partition.groups) == 1
    assert not [one for one in compiled.program.instructions if one.operation == "copy"]


@pytest.mark.parametrize("local_bytes", [None, 2048])
def test_moves_of_all_kinds_give_what_kernels_give(local_bytes):
    made = Maker((1, 6, 8, 8))
    x, y = made.conv(made.input, 6), made.conv(made.input, 10)
    x = made.emit("tpu.concat", x, y, axis=1)
    x = made.emit("tpu.pad", x, pads=(0, 0, 1, 2, 0, 0, 0, 1), value=3.0)
    x = made.conv(x, 4)
    x = made.emit("tpu.slice", x, starts=(0, 3, 8, 0), sizes=(1, 2, 3, 5), steps=(1, -1, -2, 2))
    x = made.emit("tpu.permute", x, order=(0, 2, 1, 3))
    module = made.done(made.emit("tpu.reshape", x, shape=(3, 10)), y)
    check(module, compile_function(module.main, chip("tp-tiny", local_bytes)))


def test_a_reshape_in_the_midst_is_a_copy_in_the_lanes():
    made = Maker((2, 4, 6, 6))
    x = made.emit("tpu.reshape", made.conv(made.input, 4), shape=(2, 144))
    x = made.matmul(x, 8, False)
    x = made.emit("tpu.reshape", x, shape=(4, 4))
    module = made.done(made.emit("tpu.softmax", x, made.constant(np.arange(256, dtype=np.int32) << 20), axis=1), x)
    compiled = compile_function(module.main, chip("tp-tiny"))
    check(module, compiled)
    assert moved_in(compiled, Global) == 0 and moved_in(compiled, Local) == 1  # the other is given out, and read from there


def moved_in(compiled, memory):
    """How many instructions copy within a memory."""
    return sum(one.operation == "copy" and isinstance(one.outputs[0], memory) for one in compiled.program.instructions)


def joined(made):
    """Two convolutions, one after the other in channels, with a border, turned, and every row but the first and last of it."""
    x, y = made.conv(made.input, 6), made.conv(made.input, 10)
    x = made.emit("tpu.concat", x, y, axis=1)
    x = made.emit("tpu.pad", x, pads=(0, 0, 1, 2, 0, 1, 0, 1), value=3.0)
    x = made.emit("tpu.permute", x, order=(0, 2, 1, 3))
    return made.emit("tpu.slice", x, starts=(0, 1, 2, 1), sizes=(1, 7, 15, 9), steps=(1, 1, 1, 1)), y


@pytest.mark.parametrize("name", ["tp-tiny", "tp-small", "tp-large"])
def test_what_moves_stays_in_the_lanes_between_what_computes(name):
    made = Maker((1, 6, 8, 8))
    x, _ = joined(made)
    module = made.done(made.conv(x, 4))
    compiled = compile_function(module.main, chip(name))
    check(module, compiled)
    assert len(compiled.partition.groups) == 1 and moved_in(compiled, Global) == 0
    assert compiled.partition.bytes <= compulsory_bytes(compiled.program)  # of what is sliced off nothing is computed


@pytest.mark.one_in(3)
@pytest.mark.parametrize("way", ["best", "greedy", "layers"])
@pytest.mark.parametrize("local_bytes", [384, 512, 768, 1024, 2048, 4096])
def test_slices_of_what_moves_are_moved_alone(local_bytes, way):
    made = Maker((2, 6, 16, 16))
    x, y = made.conv(made.input, 6), made.conv(made.input, 10)
    x = made.conv(made.emit("tpu.concat", x, y, x, axis=1), 8)
    x = made.emit("tpu.pad", x, pads=(0, 0, 1, 2, 0, 1, 0, 1), value=3.0)
    x = made.emit("tpu.permute", made.conv(x, 5), order=(0, 1, 3, 2))
    module = made.done(made.conv(x, 3), y)
    check(module, compile_function(module.main, chip("tp-small", local_bytes), way=way))


@pytest.mark.parametrize("local_bytes", [None, 1024, 4096])
def test_what_is_taken_in_turn_of_two_tensors_is_one_copy(local_bytes):
    made = Maker((1, 6, 8, 8))
    x, y = made.conv(made.input, 6), made.conv(made.input, 6)
    halves = [made.emit("tpu.concat", *(
        made.emit("tpu.slice", each, starts=(0, first, 0, 0), sizes=(1, 3, 8, 8), steps=(1, 2, 1, 1)) for each in (x, y)), axis=1)
        for first in range(2)]
    module = made.done(made.conv(halves[0], 4), made.conv(halves[1], 4))
    compiled = compile_function(module.main, chip("tp-small", local_bytes))
    check(module, compiled)
    copies = [one for one in compiled.program.instructions if one.operation == "copy"]
    assert {len(one.inputs) for one in copies} <= {2, 6} and not [one for one in copies if len(one.inputs) < 2]
    if local_bytes is None:
        assert len(copies) == 2 and moved_in(compiled, Global) == 0


@pytest.mark.parametrize(("name", "local_bytes"), [("tp-small", 2048), ("tp-large", 1024), ("tp-tiny", 2304)])
def test_rows_that_slices_make_are_put_together_in_local_memory(name, local_bytes):
    made = Maker((1, 6, 64, 16))
    x = made.emit("tpu.max_pool2d", made.conv(made.conv(made.input, 6), 8), kernel=(4, 4), strides=(4, 4))
    module = made.done(made.matmul(made.emit("tpu.reshape", made.conv(x, 4), shape=(4, 64)), 3, False))
    compiled = compile_function(module.main, chip(name, local_bytes), halos="recomputed")
    check(module, compiled)
    joined = {one.writes.tensor for one in compiled.schedule.steps if one.writes is not None and one.writes.box != one.part}
    moved = {load.buffer.tensor for step in compiled.schedule.steps for command in step.commands for load in command.loads}
    assert joined and not joined & moved


def test_what_is_joined_is_stored_where_it_is_joined():
    made = Maker((1, 6, 8, 8))
    x, y = made.conv(made.input, 6), made.conv(made.input, 10)
    both = made.emit("tpu.concat", x, y, axis=1)
    turned = made.emit("tpu.permute", made.conv(x, 4), order=(0, 2, 3, 1))
    module = made.done(made.emit("tpu.concat", both, made.input, axis=1), turned, both)
    compiled = compile_function(module.main, chip("tp-small"), way="layers")
    check(module, compiled)
    held = [one for one in compiled.program.instructions if one.operation == "copy"]
    assert [len(one.inputs) for one in held] == [2]  # the input, and what is an output of its own; nothing else


@pytest.mark.parametrize("way", ["layers", "best"])
@pytest.mark.parametrize("first", ["computed", "an input", "a reshape", "a reshape, twice"])
def test_what_is_joined_and_joined_again_lies_in_the_outermost(first, way):
    made = Maker((1, 6, 8, 8))
    x, y = made.input if first == "an input" else made.conv(made.input, 6), made.conv(made.input, 10)
    if "reshape" in first:
        x = made.emit("tpu.reshape", x, shape=(1, 6, 8, 8))
    x = made.emit("tpu.concat", x, y, axis=1)
    if "twice" in first:
        x = made.emit("tpu.concat", made.conv(made.input, 2), made.emit("tpu.reshape", x, shape=(1, 16, 8, 8)), axis=1)
    module = made.done(made.emit("tpu.concat", x, made.conv(made.input, 4), axis=1))
    compiled = compile_function(module.main, chip("tp-small"), way=way)
    check(module, compiled)
    assert moved_in(compiled, Global) == (first == "an input")


def test_one_tensor_given_twice_is_two_outputs_by_the_names_of_the_module():
    made = Maker((1, 4, 6, 6))
    x = made.conv(made.input, 4)
    module = made.done(x, made.emit("tpu.reshape", x, shape=(4, 36)), made.input, x)
    compiled = compile_function(module.main, chip("tp-small"))
    check(module, compiled)
    assert [port.name for port in compiled.program.outputs] == list(module.outputs) == ["y0", "y1", "y2", "y3"]
    assert [port.name for port in compiled.program.inputs] == ["x"]


@pytest.mark.parametrize("seed", range(4))
def test_memory_is_filled_densely_where_it_is_not_filled_by_banks(seed):
    module = network(seed)
    compiled = compile_function(module.main, chip("tp-small"), banked=False)
    check(module, compiled)
    assert compiled.local.peak <= 1.02 * compiled.local.bound


def test_global_memory_is_as_small_as_it_can_be_though_there_is_more_of_it():
    chunks = [(0, 3, 128), (0, 1, 128), (0, 3, 128), (0, 5, 64), (0, 3, 128), (0, 5, 64), (2, 5, 256), (3, 5, 320)]
    tensors = [Buffer(number, start, end, size) for number, (start, end, size) in enumerate(chunks)]
    plan = place_global([("weights", 100)], tensors, 64, 4096, 1 << 20)
    assert plan.weights == 4096 and plan.peak == plan.bound == 768
    with pytest.raises(PlacementError, match=r"global memory is too small: .* do not fit into 704 bytes") as caught:
        place_global([], tensors, 64, 64, 704)
    assert "global_bytes" in caught.value.hint
    with pytest.raises(PlacementError, match=r"global memory is too small: weights take 8,192 of its 5,000 bytes"):
        place_global([("weights", 100), ("more", 4000)], tensors, 64, 4096, 5000)


ODD = (
    {"vector_bytes": 1}, {"vector_bytes": 2, "lanes": 5}, {"vector_bytes": 4, "banks": 1}, {"lanes": 3, "banks": 1},
    {"lanes": 7, "local_bytes": 7 * 32 * 64, "banks": 7}, {"dma_latency": 0, "start_cycles": 0}, {"dma_latency": 10**6},
    {"dma_bytes": 1, "cores": 3, "lanes": 3}, {"dma_bytes": 2**47}, {"alignment": 1, "weight_alignment": 1},
    {"alignment": 4096, "weight_alignment": 1}, {"macs": {}}, {"cores": 2, "banks": 1})
"""What is other than usual of a chip."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("odd", ODD, ids=lambda odd: ",".join(odd))
def test_a_chip_may_be_odd(odd, seed):
    module = network(seed)
    check(module, compile_function(module.main, replace(chip("tp-small"), **odd)))


def test_a_constant_in_another_shape_is_read_where_it_lies():
    """What gives the same bytes in another shape was no constant any more, and had no place."""
    made = Maker((2, 4, 8))
    weights = made.constant(made.random.integers(-127, 128, (1, 2, 8, 5)).astype(np.int8))
    stack = made.emit("tpu.reshape", weights, shape=(2, 8, 5))
    module = made.done(made.emit("tpu.matmul", made.input, stack, *made.constants(5, 8), transposed=False))
    compiled = compile_function(module.main, chip("tp-large"))
    check(module, compiled)


def test_numbers_that_no_instruction_has_are_refused():
    made = Maker((2, 3))
    made.main.regions[0].block.arguments[0].type = TensorType((2, 3), FloatType("f8E4M3FNUZ"))
    module = made.done(made.input)
    with pytest.raises(TargetError, match="a tensor holds float8_e4m3fnuz, and the chip tp-small has numbers of"):
        compile_function(module.main, chip("tp-small"))


def test_tensors_of_no_elements_are_refused():
    made = Maker((1, 4, 0, 3))
    module = made.done(made.emit("tpu.table", made.input, made.constant(np.zeros(256, np.int8))))
    with pytest.raises(TargetError, match="has no elements"):
        compile_function(module.main, chip("tp-small"))


@pytest.mark.parametrize("shape", [(2, 9, 12), (18, 12), (2, 9, 3, 4)])
def test_a_part_of_what_lies_in_global_memory_is_read_there_though_a_reshape_names_it_anew(shape):
    made = Maker((2, 12, 9))
    x = made.emit("tpu.permute", made.input, order=(0, 2, 1))
    x = made.emit("tpu.concat", made.emit("tpu.table", x, made.constant(np.arange(256).astype(np.int8))), x, axis=2)
    x = made.emit("tpu.slice", x, starts=(0, 0, 5), sizes=(2, 9, 12), steps=(1, 1, 1))
    x = made.emit("tpu.reshape", x, shape=shape)
    module = made.done(made.emit("tpu.table", x, made.constant(np.arange(256)[::-1].astype(np.int8))))
    compiled = compile_function(module.main, chip("tp-small"), way="layers")
    check(module, compiled)
    copies = [one for one in compiled.program.instructions if one.operation == "copy"]
    assert len(copies) == (2 if shape == (2, 9, 12) else 3)
