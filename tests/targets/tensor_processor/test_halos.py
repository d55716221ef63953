"""Rows that neighbouring slices need in common: kept in local memory or computed again, the bits are the kernels'."""

import random
from dataclasses import replace

import numpy as np
import pytest

import transload
from transload.errors import PlacementError
from transload_targets.tensor_processor.codegen import compile_function
from transload_targets.tensor_processor.cycles.timeline import timeline
from transload_targets.tensor_processor.groups.halos import kept_parts
from transload_targets.tensor_processor.regions import volume
from transload_targets.tensor_processor.simulator import Simulator

from .functions import Maker, chip
from tests.support.sampling import sampled


def network(seed):
    """Windows of all kinds one after the other, some with results that are given out, too, or added to what was before."""
    chance = random.Random(seed)
    made = Maker((chance.choice((1, 1, 2)), chance.choice((3, 8)), chance.choice((24, 33, 40)), chance.choice((8, 17))), seed)
    x, given = made.input, []
    for _ in range(chance.randint(3, 6)):
        x = windowed(made, x, chance)
        if chance.random() < 0.2:
            given.append(x)
    return made.done(x, *(each for each in given[:1] if each is not x))


def windowed(made, x, chance):
    """One more op, by chance."""
    channels, rows, columns = x.shape[1:]
    match chance.choice(("conv", "deep", "strided", "dilated", "pool", "mean", "resize", "residual", "table")):
        case "deep":
            return made.conv(x, channels, chance.choice((3, 5)), groups=channels)
        case "strided" if rows > 12:
            return made.conv(x, 8, 3, 2, pads=(1, 0, 0, 1))
        case "dilated" if rows > 12:
            return made.conv(x, 8, 3, dilations=(2, 2), pads=(2, 2, 2, 2))
        case "pool" if rows > 12:
            return made.emit("tpu.max_pool2d", x, kernel=(3, 2), strides=(2, 1), pads=(1, 0, 1, 1))
        case "mean":
            return made.emit("tpu.avg_pool2d", x, kernel=(3, 3), pads=(1, 0, 0, 1), padded=(0, 1, 1, 0), input_zero=3)
        case "resize" if rows < 30:
            mode = chance.choice(("nearest", "linear"))
            return made.emit("tpu.resize", x, sizes=(2 * rows, columns), rows=(1, 2, 0), columns=(1, 1, 0), mode=mode)
        case "residual":
            return made.add(x, made.conv(made.conv(x, channels), channels))
        case "table":
            return made.emit("tpu.table", x, made.constant(made.random.integers(-128, 128, 256).astype(np.int8)))
    return made.conv(x, chance.choice((4, 8, 12)))


def compare(module, compiled):
    """The simulator, which checks all rules, beside the kernels, in order and in one by chance."""
    inputs = {name: np.random.default_rng(1).integers(-128, 128, type_.shape).astype(np.int8)
              for name, type_ in module.inputs.items()}
    expected = transload.run(module, inputs)
    simulator = Simulator(compiled.program)
    for seed in (None, 7):
        for one, other in zip(simulator.run(inputs, seed).values(), expected.values(), strict=True):
            np.testing.assert_array_equal(one, other)


def kept_groups(compiled):
    return [group for group in compiled.partition.groups if group.slicing.kept]


CHIPS = [("tp-tiny", 3072, 1), ("tp-tiny", 6144, 1), ("tp-small", 768, 1), ("tp-small", 2048, 3)]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", sampled(range(30), range(0, 30, 3)))
@pytest.mark.parametrize("name, local_bytes, cores", CHIPS)
def test_kept_or_computed_again_the_bits_are_the_kernels(name, local_bytes, cores, seed):
    module, target = network(seed), replace(chip(name, local_bytes), cores=cores)
    cycles = {}
    for halos in ("recomputed", "kept", "best"):
        try:
            compiled = compile_function(module.main, target, halos=halos)
        except PlacementError:
            continue
        compare(module, compiled)
        assert halos != "recomputed" or not kept_groups(compiled)
        cycles[halos] = timeline(compiled.program, target).cycles
    if "best" in cycles:
        assert cycles["best"] <= cycles.get("recomputed", cycles["best"])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(8))
def test_halos_are_not_kept_where_more_is_moved_for_it(seed):
    module, target = network(seed), chip("tp-tiny", 6144)
    best, again = (timeline(compile_function(module.main, target, halos=halos).program, target)
                   for halos in ("best", "recomputed"))
    assert best.cycles <= again.cycles and best.bytes <= again.bytes


def deep(rows=48):
    made = Maker((1, 8, rows, 48))
    x = made.input
    for _ in range(4):
        x = made.conv(x, 8)
    return made.done(x)


def test_no_row_is_computed_or_loaded_twice_where_halos_are_kept():
    module, target = deep(), chip("tp-small", 2560)
    kept, again = (compile_function(module.main, target, halos=halos) for halos in ("kept", "recomputed"))
    compare(module, kept)
    assert len(kept_groups(kept)) == len(kept.partition.groups) == 1
    once, twice = (sum(volume(step.part) for step in compiled.schedule.steps if not step.carries) for compiled in (kept, again))
    assert twice > once == sum(int(np.prod(op.results[0].shape)) for op in kept.reading.ops)
    assert kept.partition.bytes < again.partition.bytes
    assert timeline(kept.program, target).cycles < timeline(again.program, target).cycles


def test_each_core_computes_anew_what_its_first_slice_needs():
    module, target = deep(96), replace(chip("tp-small", 2560), cores=2)
    compiled = compile_function(module.main, target, halos="kept")
    assert any(group.cores == 2 for group in kept_groups(compiled))
    compare(module, compiled)
    for number, core in enumerate(compiled.plan.cores):
        carrying = [step for step in core.schedule.steps if step.carries]
        assert carrying and all(step.slice > compiled.plan.spread.slices(step.group, number)[0] for step in carrying)


def test_a_chip_that_cannot_copy_in_its_lanes_computes_halos_again():
    target = chip("tp-small", 2560)
    without = replace(target, operations={name: types for name, types in target.operations.items() if name != "cast"})
    assert not kept_groups(compile_function(deep().main, without, halos="kept"))


# --- parts

def boxes(*rows, images=(0, 1), columns=(0, 8)):
    return [None if each is None else (images, (0, 4), each, columns) for each in rows]


def rows_of(parts):
    return [None if part is None else part[2] for part in parts]


def test_slices_add_what_is_new_and_carry_what_stays():
    kept = kept_parts(boxes((0, 6), (4, 11), (9, 16)), [range(3)], True)
    assert rows_of(kept.made) == [(0, 6), (6, 11), (11, 16)]
    assert rows_of(kept.carried) == [None, (4, 6), (9, 11)]
    assert kept.slides and rows_of(kept.held) == [(0, 7), (4, 11), (9, 16)]  # all of one size
    assert rows_of(kept_parts(boxes((0, 6), (4, 11), (9, 16)), [range(3)], False).held) == [(0, 6), (4, 11), (9, 16)]


def test_rows_that_would_be_moved_over_themselves_are_moved_elsewhere():
    kept = kept_parts(boxes((0, 6), (1, 7), (2, 8)), [range(3)], True)
    assert rows_of(kept.carried) == [None, (1, 6), (2, 7)] and not kept.slides


def test_a_slice_that_needs_nothing_new_reads_what_is_there():
    kept = kept_parts(boxes((0, 6), (2, 6), None, (4, 9)), [range(4)], True)
    assert rows_of(kept.made) == [(0, 6), None, None, (6, 9)]
    assert rows_of(kept.carried) == [None, None, None, (4, 6)]


def test_another_core_another_image_and_what_does_not_go_on_begin_anew():
    rows = ((0, 6), (4, 11), (9, 16))
    assert rows_of(kept_parts(boxes(*rows), [range(2), range(2, 3)], True).made) == [(0, 6), (6, 11), (9, 16)]
    two = boxes(*rows[:2]) + boxes(*rows[:2], images=(1, 2))
    assert rows_of(kept_parts(two, [range(4)], True).made) == [(0, 6), (6, 11), (0, 6), (6, 11)]
    assert rows_of(kept_parts(boxes((0, 6), (4, 8), (9, 12), (11, 14)), [range(4)], True).made) == [
        (0, 6), (6, 8), (9, 12), (12, 14)]


def test_what_shares_no_rows_is_not_kept():
    assert kept_parts(boxes((0, 6), (6, 12)), [range(2)], True) is None
    assert kept_parts(boxes((0, 6), (0, 6)), [range(2)], True) is None
    assert kept_parts(boxes((4, 10), (0, 6)), [range(2)], True) is None


def test_columns_are_kept_as_rows_are():
    across = [((0, 1), (0, 4), (0, 8), each) for each in ((0, 6), (4, 11))]
    kept = kept_parts(across, [range(2)], True)
    assert [part[3] for part in kept.made] == [(0, 6), (6, 11)] and kept.carried[1][3] == (4, 6)
