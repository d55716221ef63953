"""Buffers of small networks on two sides of a border of banks, with loads at times that go with it."""

from dataclasses import replace

import pytest

from transload_targets.tensor_processor.codegen import compile_function, timed
from transload_targets.tensor_processor.groups.partition import partition
from transload_targets.tensor_processor.groups.reading import machine_of, read
from transload_targets.tensor_processor.groups.schedule import schedule
from transload_targets.tensor_processor.placement.local import place_by_banks, place_by_sides, place_densely
from transload_targets.tensor_processor.placement.sided import HIGH, LOW, Facts
from transload_targets.tensor_processor.placement.sides import is_small
from transload_targets.tensor_processor.placement.windows import places_of

from .functions import Maker, chip, network
from .test_codegen import check


def weights_of_one_layer_after_the_other(layers=5):
    """A network that loads weights while it computes: those of now, those of next and what is computed want three banks."""
    made = Maker((1, 64, 12, 12))
    x = made.input
    for _ in range(layers):
        x = made.conv(x, 64, 3)
    return made.done(x)


def timing_of(module, name="tp-large", halos="recomputed"):
    """What tells the cycles of a schedule, as it is before places are looked for."""
    reading, machine = read(module.main, chip(name)), machine_of(chip(name))
    made = schedule(reading.network, machine, partition(reading.network, machine, halos=halos))
    return timed(reading, machine, made)


def test_sides_keep_queues_apart_in_as_few_bytes_as_are_alive_at_once():
    timing = timing_of(weights_of_one_layer_after_the_other())
    banks, dense = place_by_banks(timing.made, timing.machine, timing), place_densely(timing.made, timing.machine, timing)
    found = place_by_sides(timing)
    assert banks is not None and found is not None
    made, local = found
    assert local.peak <= 1.02 * local.bound and local.bound == made.room
    assert local.cycles <= dense.cycles and local.cycles <= 1.1 * banks.cycles
    places = places_of(made)
    spans = {place: local.offsets[buffer] for buffer, place in places.items()}
    for one, low in spans.items():
        for other, start in spans.items():
            if one is not other and one.first <= other.last and other.first <= one.last:
                assert low + one.size <= start or start + other.size <= low


def test_the_same_sides_are_found_each_time_and_the_schedule_given_stays():
    timing = timing_of(weights_of_one_layer_after_the_other(3))
    told = [type(each) for each in timing.made.told()]
    first, second = (place_by_sides(timing) for _ in range(2))
    assert first is not None and second is not None
    assert list(first[1].offsets.values()) == list(second[1].offsets.values()) and first[1].cycles == second[1].cycles
    assert [type(each) for each in timing.made.told()] == told
    assert not {buffer for buffer in first[0].buffers if buffer in timing.made.buffers}


@pytest.mark.parametrize("seed", range(6))
def test_cycles_by_sides_are_those_of_two_banks(seed):
    timing = timing_of(network(seed))
    facts = Facts.of(timing)
    way = facts.begun()
    sides = [LOW if number % 3 else HIGH for number in range(len(way.sides))]
    cycles, _ = facts.cost(way.on([number for number, side in enumerate(sides) if side == HIGH], HIGH), 1.02)
    lane = timing.machine.local_bytes
    two = replace(timing, machine=replace(timing.machine, local_bytes=2 * lane, banks=2))
    offsets = {buffer: lane * (sides[place] == HIGH) for buffer, place in zip(timing.made.buffers, facts.place_of, strict=True)}
    assert cycles == pytest.approx(two(offsets))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("banked", [True, False])
def test_programs_of_small_networks_are_right_and_dense(seed, banked):
    module = network(seed)
    compiled = compile_function(module.main, chip("tp-large"), banked=banked)
    check(module, compiled)
    assert banked or compiled.is_dense


def test_sides_are_not_looked_for_of_many_places_or_rows_that_stay():
    assert is_small(timing_of(weights_of_one_layer_after_the_other()).made)
    assert not is_small(timing_of(weights_of_one_layer_after_the_other(60)).made)
    kept = Maker((1, 16, 48, 48))
    x = kept.input
    for _ in range(3):
        x = kept.conv(x, 16, 3)
    timing = timing_of(kept.done(x), "tp-tiny", halos="kept")
    assert any(step.carries for step in timing.made.steps) and not is_small(timing.made)
    assert place_by_sides(timing) is None
