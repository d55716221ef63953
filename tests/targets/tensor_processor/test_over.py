"""Results lie over operands that none reads any more, in both memories; a place that is still needed is found by the checker."""

import numpy as np
import pytest

import transload
from transload_targets.tensor_processor.codegen import compile_function, lifetimes
from transload_targets.tensor_processor.groups import over
from transload_targets.tensor_processor.groups.partition import Group, Partition
from transload_targets.tensor_processor.groups.schedule import schedule
from transload_targets.tensor_processor.groups.slicing import WHOLE
from transload_targets.tensor_processor.simulator import Simulator, check

from .functions import Maker, chip
from .networks import Maker as Networks
from .networks import machine


def written_over(network):
    """Which node's result lies over which tensor."""
    made = schedule(network, machine(local_bytes=1 << 16), Partition((Group(0, len(network.nodes), WHOLE, 0.0, 0.0, 0, 0),)))
    return {step.node: step.writes.over.tensor for step in made.steps if step.writes.over is not None}, made.room


@pytest.mark.parametrize("is_read", [False, True])
def test_a_sum_lies_over_the_operand_that_ends_with_it(is_read):
    made = Networks()
    x = made.conv(made.tensor((1, 4, 8, 8)), 4, 1)
    y = made.conv(x, 4, 1)
    total = made.add(x, y)
    found, _ = written_over(made.network(made.add(total, x) if is_read else total))
    assert found == ({2: y, 3: total} if is_read else {2: x})


@pytest.mark.parametrize("stored", [False, True])
def test_what_is_just_being_stored_is_not_written_over(stored):
    made = Networks()
    x = made.conv(made.tensor((1, 4, 8, 8)), 4, 1)
    y = made.op("tpu.table", (x,), (1, 4, 8, 8))
    assert written_over(made.network(y, x) if stored else made.network(y))[0] == ({} if stored else {1: x})


@pytest.mark.parametrize(("operation", "bits"), [("tpu.cast", 8), ("tpu.cast", 32), ("tpu.max_pool2d", 8)])
def test_results_of_another_width_and_of_windows_lie_apart(operation, bits):
    made = Networks()
    x = made.conv(made.tensor((1, 4, 8, 8)), 4, 1)
    window = {"kernel": (1, 1), "strides": (1, 1), "pads": (0, 0, 0, 0)} if operation == "tpu.max_pool2d" else {}
    found, _ = written_over(made.network(made.op(operation, (x,), (1, 4, 8, 8), bits, **window)))
    assert found == ({1: x} if (operation, bits) == ("tpu.cast", 8) else {})


def test_less_is_needed_at_once_and_groups_have_fewer_slices(monkeypatch):
    made = Maker((1, 8, 32, 32))
    module = made.done(made.add(made.conv(made.input, 8, 1), made.input))

    def compiled():
        whole, cut = (compile_function(module.main, chip("tp-small", size)) for size in (None, 2560))
        return whole.schedule.room, len(cut.partition.groups[-1].slicing)

    less = compiled()
    for place in ("over", "tail"):
        monkeypatch.setattr(f"transload_targets.tensor_processor.groups.{place}.fits_over", lambda *given: False)
    more = compiled()
    assert less[0] < more[0] and less[1] < more[1]


def residual():
    made = Maker((1, 8, 12, 12))
    x = made.conv(made.input, 8, 1)
    y = made.conv(x, 8)
    return made.done(made.add(made.add(x, y), made.conv(made.add(y, x), 8, 1)))


def test_an_operand_that_is_needed_later_is_found_where_it_is_written_over(monkeypatch):
    module = residual()
    compiled = compile_function(module.main, chip("tp-small"))
    assert not check(compiled.program)
    assert any(buffer.over is not None for buffer in compiled.schedule.buffers)

    def any_operand(network, node, step, number, stored):
        return next((buffer for operand, buffer in zip(node.operands, step.reads, strict=True)
                     if buffer is not None and over.fits_over(network, node, operand, buffer.box, step.part)), None)

    monkeypatch.setattr(over, "_dying", any_operand)
    found = check(compile_function(module.main, chip("tp-small")).program)
    assert any("in place of that find" in finding.why for finding in found)


@pytest.mark.parametrize("operation", ["tpu.conv2d", "tpu.max_pool2d", "tpu.softmax"])
def test_an_operation_of_windows_over_its_operand_is_found(monkeypatch, operation):
    made = Maker((1, 8, 12, 12))
    x = made.conv(made.input, 8, 1)
    more = {"tpu.max_pool2d": lambda: made.emit(operation, x, kernel=(3, 3), strides=(1, 1), pads=(1, 1, 1, 1)),
            "tpu.softmax": lambda: made.emit(operation, x, made.constant(np.arange(256, dtype=np.int32) << 20), axis=1)}
    module = made.done(made.conv(more.get(operation, lambda: made.conv(x, 8, 3))(), 4, 1))
    monkeypatch.setattr(over, "fits_over", lambda network, node, operand, box, part: box == part)
    found = check(compile_function(module.main, chip("tp-small")).program)
    assert any("nothing says that it reads an element before it writes there" in finding.why for finding in found)


def sliced(kernel: int):
    """A table, or a convolution, of an input of which a lane holds a part."""
    made = Maker((1, 2, 64, 16))
    if kernel:
        return made.done(made.conv(made.input, 2, kernel))
    return made.done(made.emit("tpu.table", made.input, made.constant(np.arange(256).astype(np.int8))))


@pytest.mark.parametrize("kernel", [0, 1, 3, 9])
def test_slices_are_written_over_the_input_in_global_memory_where_none_reads_it_later(monkeypatch, kernel):
    module = sliced(kernel)
    compiled = compile_function(module.main, chip("tp-tiny", 1024), way="layers")
    program = compiled.program
    assert len(compiled.partition.groups[0].slicing) > 2
    inputs = {"x": np.random.default_rng(0).integers(-128, 128, (1, 2, 64, 16)).astype(np.int8)}
    np.testing.assert_array_equal(*(run["y0"] for run in (Simulator(program).run(inputs), transload.run(module, inputs))))
    over_it = program.inputs[0].address == program.outputs[0].address
    monkeypatch.setattr(lifetimes._Lives, "_is_safe", lambda *given: True)
    forced = compile_function(module.main, chip("tp-tiny", 1024), way="layers").program
    assert forced.inputs[0].address == forced.outputs[0].address
    assert over_it == (not check(forced))
    assert over_it == (kernel < 3) or kernel == 3
