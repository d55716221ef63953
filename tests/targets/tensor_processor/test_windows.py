"""Local memory in as few bytes as are alive at once, over the borders of banks."""

from dataclasses import dataclass

import pytest

from transload_targets.tensor_processor.codegen import compile_function, timed
from transload_targets.tensor_processor.cycles.timeline import timeline
from transload_targets.tensor_processor.groups.reading import machine_of
from transload_targets.tensor_processor.placement.local import LocalPlan, narrowed, place_by_banks, place_densely
from transload_targets.tensor_processor.placement.timing import Timing
from transload_targets.tensor_processor.placement.windows import Place, within
from transload_targets.tensor_processor.simulator import check

from .functions import Maker, chip, network
from .networks import machine


def overlapping(offsets):
    found = list(offsets.items())
    return [(one, other) for number, (one, low) in enumerate(found) for other, start in found[:number]
            if one.first <= other.last and other.first <= one.last and low < start + other.size and start < low + one.size]


def met_by(*pairs, places):
    met = {place: {} for place in places}
    for one, other in pairs:
        met[one][other] = met[other][one] = 1.0
    return met


def test_the_border_of_two_banks_goes_through_what_is_less_than_a_bank():
    places = [Place(32, 0, 3), Place(64, 1, 4), Place(32, 2, 3)]
    met = met_by((places[0], places[1]), (places[1], places[2]), places=places)
    found = list(within(met, machine(local_bytes=8192), 128, 1000))  # banks of 1,024
    assert found and not any(overlapping(offsets) for offsets in found)
    for offsets in found:
        assert max(offsets[place] + place.size for place in places) - min(offsets.values()) <= 128
    assert any({offsets[place] // 1024 for place in places[::2]} & {offsets[places[1]] // 1024} == set() for offsets in found)


def test_a_place_that_finds_no_hole_is_given_first():
    places = [Place(32, 0, 1), Place(16, 0, 3), Place(48, 2, 3), Place(32, 0, 1), Place(16, 2, 3)]
    found = list(within(met_by(places=places), machine(), 80, 1000))
    assert found and not any(overlapping(offsets) for offsets in found)


def test_what_does_not_fit_is_not_placed_and_no_more_is_tried_than_asked():
    places = [Place(64, 0, 3) for _ in range(3)]
    assert not list(within(met_by(places=places), machine(), 128, 1000))
    assert len(list(within(met_by(places=places[:2]), machine(), 128, 4))) == 2


def lanes(name):
    made = Maker((1, 16, 24, 24))
    x = made.input
    for _ in range(4):
        x = made.conv(made.conv(x, 24, 1), 16, 3)
    module = made.done(x)
    return compile_function(module.main, chip(name))


@pytest.mark.parametrize("name", ["tp-small", "tp-large"])
def test_a_smaller_window_takes_no_more_cycles_and_dense_is_dense(name):
    compiled = lanes(name)
    figures = machine_of(compiled.chip)
    how_long = timed(compiled.reading, figures, compiled.schedule)
    apart = place_by_banks(compiled.schedule, figures, how_long)
    assert apart is not None
    schedule, found = narrowed([(compiled.schedule, apart, how_long)], figures)
    assert schedule is compiled.schedule
    assert found.cycles <= 1.1 * apart.cycles and found.bound <= found.peak < apart.peak
    dense = place_densely(compiled.schedule, figures, how_long)
    assert dense.peak <= 1.02 * dense.bound
    assert found.cycles <= dense.cycles


@dataclass(frozen=True)
class Slower(Timing):
    """So many times the cycles wherever fewer bytes are needed than apart."""

    apart: LocalPlan
    times: float

    def __call__(self, offsets):
        size = max(offset + buffer.size for buffer, offset in offsets.items()) - min(offsets.values())
        return self.apart.cycles * (self.times if size < self.apart.peak else 1.0)


def test_a_few_cycles_more_are_taken_for_as_few_bytes_as_are_alive_at_once():
    compiled = lanes("tp-large")
    figures = machine_of(compiled.chip)
    how_long = timed(compiled.reading, figures, compiled.schedule)
    apart = place_by_banks(compiled.schedule, figures, how_long)
    assert apart is not None

    def slower(times):
        return Slower(how_long.made, figures, how_long.size, apart, times)

    _, near = narrowed([(compiled.schedule, apart, slower(1.08))], figures)
    assert near.peak <= 1.02 * near.bound
    _, wide = narrowed([(compiled.schedule, apart, slower(1.12))], figures)
    assert wide is apart
    made, near = narrowed([(compiled.schedule, apart, slower(1.12))], figures, [(compiled.schedule, slower(1.0))])
    assert made is compiled.schedule and near is apart  # it was seen already


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("name", "local_bytes"), [
    ("tp-small", None), ("tp-small", 1024), ("tp-large", 2048), ("tp-large", None)])
def test_cycles_that_are_told_without_instructions_are_those_with_them(name, local_bytes, seed):
    module = network(seed)
    for banked in (True, False):
        compiled = compile_function(module.main, chip(name, local_bytes), banked=banked)
        assert not check(compiled.program)
        if all(step.part is not None for step in compiled.schedule.steps):
            assert compiled.local.cycles == pytest.approx(timeline(compiled.program, compiled.chip).cycles, rel=1e-3)
