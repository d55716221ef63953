"""Loads are joined to the commands with which computing ends first: no other way of joining them does better."""

import random
from itertools import combinations, pairwise

import pytest

from transload_targets.tensor_processor.groups.commands import give
from transload_targets.tensor_processor.groups.steps import Buffer, Load, Step
from transload_targets.tensor_processor.regions import whole

from .networks import machine

BOX = whole((1, 1, 1, 1))


def case(seed):
    """Steps of random length, some of which need a load, and the bytes of each load."""
    chance = random.Random(seed)
    steps = [Step(number, 0, part=whole((1, 1, 1, 1)), cycles=chance.choice((5, 40, 300, 1200))) for number in range(7)]
    sizes = {number: chance.choice((64, 800, 6000, 40000)) for number in sorted(chance.sample(range(7), 5))}
    loads = [Load(Buffer(number, BOX, 64, number, number), BOX, number, 0, 0) for number in sizes]
    return steps, loads, sizes


def ended(steps, sizes, commands, chip):
    """When the last step ends, the loads of each step coming with one of the commands: tuples of the steps that need them."""
    free, time, ready = 0.0, 0.0, {}
    for needs in commands:
        free += chip.transfer(sum(sizes[need] for need in needs))
        ready.update(dict.fromkeys(needs, free))
    for number, step in enumerate(steps):
        time = max(time, ready.get(number, 0.0)) + step.cycles
    return time


@pytest.mark.parametrize("latency", [0.0, 100.0, 700.0])
@pytest.mark.parametrize("seed", range(25))
def test_no_other_way_of_joining_loads_ends_earlier(seed, latency):
    steps, loads, sizes = case(seed)
    chip = machine(latency=latency)
    needs = sorted(sizes)
    given = give(loads, steps, chip, lambda moved: sizes[moved.buffer.tensor])
    commands = [tuple(load.need for load in command.loads) for command in given]
    assert [need for command in commands for need in command] == needs
    cuts = (borders for many in range(len(needs)) for borders in combinations(range(1, len(needs)), many))
    ways = ([needs[first:last] for first, last in pairwise((0, *borders, len(needs)))] for borders in cuts)
    assert ended(steps, sizes, commands, chip) == pytest.approx(min(ended(steps, sizes, way, chip) for way in ways))


def test_loads_for_which_memory_is_free_at_different_times_come_with_different_commands():
    steps, loads, sizes = case(3)
    late = loads[-1]
    late.slot = late.earliest = late.need  # its memory is in use until then
    given = give(loads, steps, machine(latency=5000.0), lambda moved: sizes[moved.buffer.tensor])
    assert [len(command.loads) for command in given] == [4, 1]
    assert given[-1].slot == late.need == late.buffer.first
