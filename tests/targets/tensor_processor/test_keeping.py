"""What stays in local memory from one group to the next is neither loaded again, nor stored for these alone."""

import pytest

from transload_targets.tensor_processor.groups.partition import Group, Partition
from transload_targets.tensor_processor.groups.schedule import schedule
from transload_targets.tensor_processor.groups.slicing import WHOLE, Slicing

from .networks import Maker, machine


def borrowing():
    """Three convolutions in line; the last op reads what the first makes, and all three have one filter."""
    made = Maker()
    first = x = made.conv(made.tensor((1, 8, 8, 8)), 8)
    for _ in range(2):
        x = made.op("tpu.conv2d", (x, *made.nodes[0].operands[1:]), (1, 8, 8, 8), **made.nodes[0].attributes)
    return made.network(made.add(x, first))


def each_alone(network):
    return Partition(tuple(Group(number, number + 1, WHOLE, 0.0, 0.0, 0, 0) for number in range(len(network.nodes))))


def moved(network, made):
    commands = [command for step in made.steps for command in step.commands]
    return ([network.tensors[load.buffer.tensor].name for command in commands for load in command.loads],
            [network.tensors[store.buffer.tensor].name for step in made.steps for store in step.stores])


def test_what_there_is_room_for_is_moved_once():
    network = borrowing()
    made = schedule(network, machine(local_bytes=1 << 16), each_alone(network))
    loads, stores = moved(network, made)
    outside = {about.name for number, about in enumerate(network.tensors) if about.constant or number not in network.producer}
    assert sorted(loads) == sorted(outside)
    assert stores == [network.tensors[number].name for number in network.outputs]
    for step in made.steps:
        assert all(buffer is None or (buffer in made.buffers and buffer.first <= buffer.last) for buffer in step.reads)


@pytest.mark.parametrize("room", [400, 500, 600, 700, 800, 900])
def test_no_more_is_kept_than_there_is_room_for(room):
    network = borrowing()
    made = schedule(network, machine(local_bytes=room), each_alone(network))
    loads, stores = moved(network, made)
    assert made.room <= max(room, schedule(network, machine(local_bytes=0), each_alone(network)).room)
    for number, step in enumerate(made.steps):  # what is read lies there, and was stored where it is loaded
        assert all(buffer is None or buffer.first <= number <= buffer.last for buffer in step.reads)
    computed = {network.tensors[node.result].name for node in network.nodes}
    assert set(loads) & computed <= set(stores)


def test_less_room_is_more_loads():
    network = borrowing()
    counts = [len(moved(network, schedule(network, machine(local_bytes=room), each_alone(network)))[0])
              for room in (0, 400, 500, 600, 1 << 16)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == 11 and counts[-1] == 3 and len(set(counts)) > 2


def test_parts_that_differ_are_stored_at_once_and_loaded():
    network = borrowing()
    groups = [Group(0, 1, Slicing((1, 1, 2, 1)), 0.0, 0.0, 0, 0), *each_alone(network).groups[1:]]
    made = schedule(network, machine(local_bytes=1 << 16), Partition(tuple(groups)))
    first = network.nodes[0].result
    assert network.tensors[first].name in moved(network, made)[0]
    at_once = [store.at_once for step in made.steps for store in step.stores if store.buffer.tensor == first]
    assert at_once == [False, True]  # the next step needs both, and can wait for one meanwhile
