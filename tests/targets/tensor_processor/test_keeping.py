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


def in_two_slices():
    network = borrowing()
    return network, Partition((Group(0, 1, Slicing((1, 1, 2, 1)), 0.0, 0.0, 0, 0), *each_alone(network).groups[1:]))


def test_parts_for_which_there_is_no_room_together_are_stored_at_once_and_loaded():
    network, partition = in_two_slices()
    made = schedule(network, machine(local_bytes=0), partition)
    first = network.nodes[0].result
    assert network.tensors[first].name in moved(network, made)[0]
    at_once = [store.at_once for step in made.steps for store in step.stores if store.buffer.tensor == first]
    assert at_once == [True, True]


@pytest.mark.parametrize("room", range(400, 1600, 100))
def test_slices_of_a_group_are_put_together_for_those_after_it(room):
    network, partition = in_two_slices()
    made = schedule(network, machine(local_bytes=room), partition)
    first = network.nodes[0].result
    loads, _ = moved(network, made)
    written = [step.writes for step in made.steps if step.node == 0]
    assert made.room <= max(room, schedule(network, machine(local_bytes=0), partition).room)
    assert (network.tensors[first].name in loads) == (written[0] is not written[1])
    for number, step in enumerate(made.steps):
        assert all(buffer is None or buffer.first <= number <= buffer.last for buffer in (*step.reads, step.writes))
    if room == 1500:
        assert written[0] is written[1] and written[0].box == ((0, 1), (0, 8), (0, 8), (0, 8))
        assert not [store for step in made.steps for store in step.stores if store.buffer.tensor == first]  # none reads it there


def test_parts_that_the_group_itself_reads_are_not_put_together():
    network = borrowing()
    groups = (Group(0, 2, Slicing((1, 1, 2, 1)), 0.0, 0.0, 0, 0), *each_alone(network).groups[2:])
    made = schedule(network, machine(local_bytes=1 << 16), Partition(groups))
    written = [step.writes for step in made.steps if step.node == 0]
    assert written[0] is not written[1]  # the last op needs all of it, and the second op parts with a halo
    assert network.tensors[network.nodes[0].result].name in moved(network, made)[0]
