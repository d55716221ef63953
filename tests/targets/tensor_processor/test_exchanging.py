"""Dense placements that know no banks, exchanged until queues share fewer of these."""

import random
from itertools import islice

import pytest

from transload import memory
from transload_targets.tensor_processor.codegen import compile_function
from transload_targets.tensor_processor.placement import exchanging, windows
from transload_targets.tensor_processor.placement.exchanging import exchanged
from transload_targets.tensor_processor.placement.windows import Place, Window
from transload_targets.tensor_processor.simulator import check

from .functions import Maker, chip
from .networks import machine
from .test_windows import met_by, overlapping

BANK = 1024
"""Bytes of a bank of `machine(local_bytes=8192)`."""


def drawn(seed, count=60):
    """Places of all lengths, of which pairs that are there at the same time should share no bank; and a dense placement."""
    chance = random.Random(seed)
    places = []
    for _ in range(count):
        first = chance.randrange(40)
        places.append(Place(32 * chance.randint(1, 12), first, first + chance.randint(0, 12)))
    pairs = [(one, other) for number, one in enumerate(places) for other in places[:number]
             if one.first <= other.last and other.first <= one.last and chance.random() < 0.2]
    asked = [memory.Buffer(number, place.first, place.last + 1, place.size) for number, place in enumerate(places)]
    plan = memory.plan(asked, seconds=1, alignment=32)
    return places, met_by(*pairs, places=places), {place: plan.offsets[number] for number, place in enumerate(places)}, plan.peak


def shared(met, offsets):
    """How many pairs share a bank."""
    banks = {place: set(range(offset // BANK, (offset + place.size - 1) // BANK + 1)) for place, offset in offsets.items()}
    return sum(bool(banks[one] & banks[other]) for one, others in met.items() for other in others) // 2


@pytest.mark.parametrize("seed", range(6))
def test_places_are_exchanged_within_their_window_until_fewer_share_banks(seed):
    places, met, begun, peak = drawn(seed)
    figures = machine(local_bytes=8192)
    size = int(1.02 * peak) // figures.eu_bytes * figures.eu_bytes
    found = exchanged(met, begun, figures, Window(0, size), 2000)
    assert found.keys() == set(places) and not overlapping(found)
    assert all(0 <= offset <= size - place.size and offset % figures.eu_bytes == 0 for place, offset in found.items())
    assert shared(met, found) < shared(met, begun)
    assert exchanged(met, begun, figures, Window(0, size), 2000) == found  # the same each time


def test_two_that_lie_the_wrong_way_round_change_places():
    figures = machine(local_bytes=8192)
    one, other, third = Place(BANK, 0, 3), Place(BANK // 2, 0, 3), Place(BANK // 2, 0, 3)
    met = met_by((other, third), places=[one, other, third])
    begun = {one: BANK, other: 0, third: BANK // 2}
    found = exchanged(met, begun, figures, Window(0, 2 * BANK), 500)
    assert shared(met, begun) == 1 and shared(met, found) == 0 and not overlapping(found)


def test_nothing_is_changed_where_no_bank_is_shared():
    place = Place(64, 0, 1)
    assert exchanged({place: {}}, {place: 128}, machine(), Window(0, 1024), 100) == {place: 128}
    assert exchanged({}, {}, machine(), Window(0, 1024), 100) == {}


@pytest.mark.parametrize(("layers", "channels", "size", "local_bytes"), [(30, 8, 16, 1024), (20, 8, 40, 4096)])
def test_memory_is_dense_where_no_window_is_found_bank_by_bank(layers, channels, size, local_bytes):
    made = Maker((1, channels, size, size))
    x = made.input
    for number in range(layers):
        x = made.conv(made.conv(x, channels + 8 * (number % 3), 1), channels, 3)
    compiled = compile_function(made.done(x).main, chip("tp-small", local_bytes))
    assert compiled.is_dense and compiled.local.banked
    assert not check(compiled.program)


@pytest.mark.parametrize(("layers", "channels", "step", "size", "local_bytes"), [(20, 12, 8, 12, 4096), (14, 32, 16, 16, 8192)])
def test_less_is_loaded_ahead_where_no_placement_is_dense(layers, channels, step, size, local_bytes):
    """Weights that are there long before they are needed leave holes that nothing else fits into."""
    made = Maker((1, channels, size, size))
    x = made.input
    for number in range(layers):
        x = made.conv(made.conv(x, channels + step * (number % 3), 1), channels, 3)
    compiled = compile_function(made.done(x).main, chip("tp-small", local_bytes))
    assert compiled.is_dense and compiled.local.banked
    assert not check(compiled.program)


def test_parts_that_lie_alike_are_placed_once(monkeypatch):
    """Steps of a recurrent layer are parts whose places have the same sizes and times, and are other objects."""
    runs = []
    monkeypatch.setattr(exchanging._Exchanging, "run", lambda self, changes: runs.append(changes) or self.offsets)
    monkeypatch.setattr(windows, "_given", lambda met, *rest: runs.append(rest) or dict.fromkeys(met, 0))
    figures, answers, ways = machine(local_bytes=8192), [], []
    for _ in range(2):
        _, met, begun, peak = drawn(917)
        answers.append(list(exchanged(met, begun, figures, Window(0, peak), 917).values()))
        ways.append([list(offsets.values()) for offsets in islice(windows.within(met, figures, peak, 917), 3)])
    assert answers[0] == answers[1] and ways[0] == ways[1]
    assert len(runs) == 1 + 3
