"""Slices cover what a group gives, its figures are those of a recount, and no partition found is beaten by a plainer one."""

from itertools import combinations, pairwise

import pytest

from transload.errors import PlacementError
from transload_targets.tensor_processor.groups import partition as groups
from transload_targets.tensor_processor.groups.partition import partition
from transload_targets.tensor_processor.groups.slicing import WHOLE, Slicing
from transload_targets.tensor_processor.groups.tail import Memo, Tail
from transload_targets.tensor_processor.regions import volume, whole
from transload_targets.tensor_processor.regions.boxes import inside

from .networks import Maker, chain, machine, residual


def tail_of(network, chip, start, end, slicing):
    tail = Tail(network, chip, end, slicing, Memo())
    while tail.start > start:
        if not tail.extend():
            return None
    return tail


def recount(network, chip, tail):
    """Bytes moved, and the most bytes of a lane in use at once, counted anew by walking over all slices."""
    moved, profile, here = 0, {}, {}
    steps = [(index, number) for index in range(len(tail.slicing)) for number in range(tail.start, tail.end)]
    inner = {network.nodes[number].result for number in range(tail.start, tail.end)}
    lives: dict = {}
    for index, number in steps:
        node = network.nodes[number]
        for operand in {each for each in node.operands if each is not None}:
            key = operand, index if operand in inner else None
            lives.setdefault(key, []).append((index, number))
            if operand not in inner and here.get(operand) != (tail.boxes[operand][index], tail.slicing.streamed and index):
                here[operand] = tail.boxes[operand][index], tail.slicing.streamed and index
                moved += chip.bytes(network.tensors[operand], tail.boxes[operand][index])
        lives.setdefault((node.result, index), []).append((index, number))
    for tensor, parts in tail.stored.items():
        moved += sum(chip.bytes(network.tensors[tensor], part) for part in parts)
    for (tensor, index), at in lives.items():
        for index_ in range(len(tail.slicing)):
            boxes = tail.boxes[tensor]
            uses = [step for step in at if step[0] == index_]
            if not uses or (index is not None and index != index_):
                continue
            stays = index is None and len(tail.slicing) > 1 and len(set(boxes)) == 1 and not tail.slicing.streamed
            first, last = (tail.start, tail.end - 1) if stays else (min(uses)[1], max(uses)[1])
            size = max(chip.lane_bytes(network.tensors[tensor], box) for box in boxes)
            for number in range(first, last + 1):
                profile[index_, number] = profile.get((index_, number), 0) + size
    for index, number in steps:
        if over(network, tail, number, inner):
            profile[index, number] -= max(chip.lane_bytes(network.tensors[network.nodes[number].result], box)
                                          for box in tail.boxes[network.nodes[number].result])
    return moved, max(profile.values())


def over(network, tail, number, inner):
    """Whether a node's result lies over an operand: one of the same parts that ends there, and is not just being stored."""
    node = network.nodes[number]
    return node.in_place and any(
        tail.boxes[operand] == tail.boxes[node.result] and (operand in inner or len(tail.slicing) == 1 or len(set(
            tail.boxes[operand])) > 1)
        and not any(operand in network.nodes[later].operands for later in range(number + 1, tail.end))
        and not (operand in tail.stored and operand == network.nodes[number - 1].result)
        for operand in node.operands)


NETWORKS = {"chain": chain(5), "residual": residual(4), "narrow": chain(4, channels=6, kernel=5)}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("slicing", [WHOLE, Slicing((1, 1, 2, 1)), Slicing((1, 1, 3, 1)), Slicing((1, 1, 2, 2))], ids=str)
def test_slices_give_all_of_a_result_once_and_compute_what_they_need(name, slicing):
    network, chip = NETWORKS[name], machine()
    for end in range(1, len(network.nodes) + 1):
        for start in range(end):
            tail = tail_of(network, chip, start, end, slicing)
            if tail is None:
                continue
            for tensor, parts in tail.stored.items():
                assert sum(map(volume, parts)) == volume(whole(network.tensors[tensor].shape))
            for number, needs in tail.needs.items():
                node = network.nodes[number]
                for index, need in enumerate(needs):
                    for operand, box in zip(node.operands, need.operands, strict=True):
                        assert inside(box, tail.boxes[operand][index])
            moved, peak = recount(network, chip, tail)
            assert (tail.bytes, tail.peak) == (moved, peak)


@pytest.mark.parametrize("network", [chain(6), residual(2), residual(3, size=16)], ids=["chain", "residual", "small"])
@pytest.mark.parametrize("local_bytes", [2048, 4096, 16384])
def test_no_partition_into_such_groups_is_cheaper(network, local_bytes):
    chip = machine(local_bytes=local_bytes)
    found = partition(network, chip)
    count = len(network.nodes)
    alone = partition(network, chip, "layers")
    costs = {(group.start, group.end): group.cost for group in alone.groups}
    ladder = [Slicing((1, 1, parts, 1), streamed=streamed) for parts in (1, 2, 3, 4, 6, 8, 12, 16, 24)
              for streamed in (False, True) if not streamed or 1 < parts <= 4]
    for end in range(1, count + 1):
        for slicing in ladder:
            tail = Tail(network, chip, end, slicing, Memo())
            while tail.start and tail.extend() and tail.peak <= local_bytes:
                key = tail.start, end
                costs[key] = min(costs.get(key, float("inf")), tail.compute + tail.transfer)
    best = min(
        sum(costs.get(pair, float("inf")) for pair in zip((0, *borders), (*borders, count), strict=True))
        for many in range(count) for borders in combinations(range(1, count), many))
    assert found.cost == pytest.approx(best)


@pytest.mark.parametrize("network", [chain(9, 32, 32), residual(6, 16, 48)], ids=["chain", "residual"])
@pytest.mark.parametrize("local_bytes", [3072, 8192, 1 << 16])
def test_groups_cover_all_nodes_and_are_never_worse_than_plainer_ones(network, local_bytes):
    chip = machine(local_bytes=local_bytes)
    ways = {way: partition(network, chip, way) for way in ("best", "greedy", "layers")}
    for made in ways.values():
        borders = [(group.start, group.end) for group in made.groups]
        assert borders[0][0] == 0 and borders[-1][1] == len(network.nodes)
        assert all(before[1] == after[0] for before, after in pairwise(borders))
        assert all(group.peak <= local_bytes for group in made.groups)
    assert ways["best"].cost <= min(ways["greedy"].cost, ways["layers"].cost)


def test_memory_for_all_makes_one_group_that_moves_what_has_to_be_moved():
    network, chip = residual(4), machine(local_bytes=1 << 20)
    made = partition(network, chip)
    compulsory = sum(chip.bytes(tensor, whole(tensor.shape)) for number, tensor in enumerate(network.tensors)
                     if tensor.constant or number not in network.producer or number in network.outputs)
    assert len(made.groups) == 1 and made.bytes == compulsory


def test_a_filter_that_does_not_fit_is_cut_by_channels_and_loaded_once():
    made = Maker()
    x = made.tensor((1, 64, 1, 1))
    network = made.network(made.conv(x, 1024, 1))
    group, = partition(network, machine(local_bytes=4096)).groups
    assert group.slicing.counts[1] > 1
    assert group.bytes == 64 + 1024 + 1024 * 64 + 1024 * 4


def test_the_rule_of_the_manual_refuses_slices_that_share_more_than_half():
    network = chain(8, channels=4, size=16, kernel=5)
    chip = machine(local_bytes=600, latency=2000.0)
    free, ruled = partition(network, chip, "greedy"), partition(network, chip, "greedy", h_slice=True)
    shared = []
    for made in (free, ruled):
        most = 0
        for group in made.groups:
            tail = tail_of(network, chip, group.start, group.end, group.slicing)
            for tensor in tail.loads:
                rows = [box[2] for box in tail.boxes[tensor]]
                if not network.tensors[tensor].constant and group.end - group.start > 1:
                    most = max([most, *(before[1] - after[0] for before, after in pairwise(rows))])
        shared.append(most)
    assert shared[0] > 8 >= shared[1]


def test_what_no_slice_makes_fit_is_said_of_all_ops_at_once():
    made = Maker()
    x = made.conv(made.tensor((1, 512, 4, 4)), 4, 3)
    x = made.conv(made.conv(x, 512, 1), 8, 3)
    with pytest.raises(PlacementError) as error:
        partition(made.network(x), machine(local_bytes=1024))
    assert [finding.where for finding in error.value.findings] and len(error.value.findings) == 2


def test_long_groups_end_where_the_least_lies_between_nodes():
    made, ends = Maker(), []
    x = made.tensor((1, 4, 8, 8))
    for _ in range(30):
        for channels in (16, 16, 4, 8, 16, 16, 16):
            x = made.conv(x, channels, 1)
            if channels == 4:
                ends.append(len(made.nodes))
    found = partition(made.network(x), machine(local_bytes=1 << 20))
    assert len(found.groups) < 4  # 210 nodes, of which a group has 192 at most
    assert all(group.end in ends for group in found.groups[:-1])


def test_what_is_looked_at_is_bounded_however_many_slices_a_huge_image_takes(monkeypatch):
    looked = 0
    extend = Tail.extend

    def counting(self):
        nonlocal looked
        looked += len(self.slicing)
        return extend(self)

    made = Maker()
    x = made.tensor((3, 4, 1 << 14, 1))
    for _ in range(24):
        x = made.add(x, x)
    network, chip = made.network(x), machine(local_bytes=1 << 9)
    monkeypatch.setattr(Tail, "extend", counting)
    monkeypatch.setattr(groups, "LOOKS", 1 << 16)
    monkeypatch.setattr(groups, "LOOKS_EACH", 1 << 8)
    monkeypatch.setattr(groups, "LOOKS_ALONE", 1 << 9)
    alone = groups.partition(network, chip, "layers")
    of_layers, looked = looked, 0
    assert groups.partition(network, chip).cost < 0.2 * alone.cost
    assert of_layers <= len(network.nodes) * (groups.LOOKS_ALONE + 2 * groups.FINEST)
    assert looked - of_layers <= 2 * (groups.LOOKS + groups.LOOKS_EACH * len(network.nodes))  # greedy, then all
