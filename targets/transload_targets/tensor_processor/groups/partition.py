"""The partition of a network into groups: the best by dynamic programming over their cost, and the manual's greedy one from the
tail.

The cost of a group is the cycles of all that it computes and moves, none of it at the same time: what groups save (moves, loads
of weights, commands) and what they spend (rows computed twice, lanes left empty) count in one unit, and costs add up over groups.

Dynamic programming: `best[j]`, the cost of the first j nodes, is the least over i of `best[i]` and the cost of nodes i to j as
a group. Groups that end at j are looked at by growing them towards the front, once for each way of slicing, on one core and on
several. The greedy partition's groups are among the candidates, so that its cost is never less.

Source: the manual's chapter 10.5 (from the tail to the head; N first, then H; `h_slice`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from transload.errors import Finding, PlacementError

from ..regions import Box, whole
from .machine import Machine
from .network import Network
from .over import fits_over
from .slicing import WHOLE, Slicing
from .tail import Memo, Tail

__all__ = ["Group", "Partition", "Partitioning", "core_counts", "partition"]

WINDOW = 192
"""Nodes of a group at most: what makes the time grow with the number of nodes, and not with its square."""
SHORT = 32
"""Nodes of a group at most that ends elsewhere than where the least lies between nodes: few long groups are worth a look."""
STRETCH = 12
"""Of so many neighbouring ends it is one at which long groups end."""
STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""Numbers of parts along a dimension that are tried."""
WORSE = 1.5
"""A group that costs so many times what its nodes cost one by one is not grown further."""


@dataclass(frozen=True)
class Group:
    """Nodes `start` until before `end`, computed slice by slice."""

    start: int
    end: int
    slicing: Slicing
    compute: float
    """Cycles of computing."""
    transfer: float
    """Cycles of moving."""
    bytes: int
    """Bytes moved between global and local memory."""
    peak: int
    """The most bytes of a lane in use at once."""
    cores: int = 1
    """Cores that its slices are spread over, a run of neighbouring ones for each."""

    @property
    def cost(self) -> float:
        """Cycles, where nothing is done at the same time, but for what several cores do."""
        return self.compute + self.transfer


@dataclass(frozen=True)
class Partition:
    """Groups in order, and what they cost."""

    groups: tuple[Group, ...]

    @property
    def cost(self) -> float:
        """The sum of the groups' costs."""
        return sum(group.cost for group in self.groups)

    @property
    def bytes(self) -> int:
        """Bytes moved between global and local memory."""
        return sum(group.bytes for group in self.groups)


def partition(
    network: Network, machine: Machine, way: str = "best", h_slice: bool = False, cores: int = 1, halos: str = "best",
) -> Partition:
    """Cut a network into groups, by `way`: `best` (dynamic programming), `greedy` (from the tail) or `layers` (each node alone).

    With `best` a group's slices are spread over up to so many `cores`, where that costs less than on one.
    `halos` says of rows that neighbouring slices need in common whether each computes and loads them (`recomputed`) or they stay
    (`kept`), or for each group whichever costs less (`best`); by other ways than `best` each computes them.
    With `h_slice` groups are refused of which neighbouring slices share more than half of an input's rows, as the manual does.
    Raises `PlacementError` with a finding for each node that no slicing makes fit.
    """
    return Partitioning(network, machine, h_slice, halos).by(way, cores)


FINEST = 1024
"""Into how many slices groups of several nodes are cut, at most: each slice of each node is looked at for every group."""
USELESS = 6
"""Ways of slicing in a row that reach no farther than those before, after which no more are tried."""
LOOKS, LOOKS_EACH = 1 << 19, 1 << 11
"""Slices of nodes that are looked at for groups of several nodes: at most so many, and so many more for each node. One end takes
half of what is left at most, so that huge images leave something for those after it; ordinary networks take a tenth of it.
"""
LOOKS_ALONE = 1 << 15
"""Slices looked at for one node by itself, after which the best way that fits is taken."""


class Partitioning:
    """Partitions of one network, by several ways and for several numbers of cores; what is found for one serves the next."""

    def __init__(self, network: Network, machine: Machine, h_slice: bool = False, halos: str = "best") -> None:
        self.network, self.machine, self.h_slice, self.halos = network, machine, h_slice, halos
        self.memo = Memo()
        self.cheapest: dict[tuple[int, int], dict[tuple[int, bool], Group]] = {}
        """By an end and the number of cores, the cheapest group from each start, of those whose halos are computed again and of
        those that keep them.
        """
        self.looked = 0
        """Slices of nodes looked at so far."""
        self.most_looks = 0
        self.narrow = _narrow(network, machine)
        self.carries = any(tensor.carry is not None for tensor in network.tensors)
        self.alone = [self._alone(number) for number in range(len(network.nodes))]
        findings = [
            Finding(node.operation, f"its smallest slices take more than the {machine.local_bytes} bytes of a lane", (node.name,),
                    hint="take a chip with more `local_bytes`, or leave it to the host: without it in [operations]")
            for node, group in zip(network.nodes, self.alone, strict=True) if group is None]
        if findings:
            raise PlacementError("ops do not fit into local memory", findings)

    # --- ways

    def by(self, way: str, cores: int = 1, kept: bool = True) -> Partition:
        """The partition by a way; with `best`, a group's slices are spread over up to so many cores, and groups may be among it
        that keep halos, unless not `kept`.
        """
        if way == "best":
            return self.best(cores, kept)
        found: Partition = getattr(self, way)()
        return found

    def layers(self) -> Partition:
        """Each node alone."""
        return Partition(tuple(group for group in self.alone if group is not None))

    def greedy(self) -> Partition:
        """From the tail to the head: as many nodes as can be, in as few slices as that takes."""
        groups: list[Group] = []
        end = len(self.network.nodes)
        allowed = self._allowed()
        while end:
            group = self._single(end - 1)
            self._allow_half(allowed)
            for slicing in self._ladder(end):
                for longer in self._grown(self._tail(end, slicing), WINDOW):
                    if longer.start < group.start:
                        group = longer
            groups.append(group)
            end = group.start
        return Partition(tuple(reversed(groups)))

    def best(self, cores: int = 1, kept: bool = True) -> Partition:
        """By dynamic programming, for up to so many cores, with groups that keep halos or without."""
        count = len(self.network.nodes)
        cost = [0.0] + [float("inf")] * count
        chosen: list[Group | None] = [None] * (count + 1)
        greedy: dict[int, list[Group]] = {}
        for group in self.greedy().groups if not self.cheapest else ():
            greedy.setdefault(group.end, []).append(group)
        allowed = self._allowed()
        for end in range(1, count + 1):
            self._allow_half(allowed)
            for each in core_counts(cores):
                for group in self._found(end, each, greedy.get(end, [])):
                    if group.slicing.kept and not kept:
                        continue
                    total = cost[group.start] + group.cost
                    if total < cost[end]:
                        cost[end], chosen[end] = total, group
        groups: list[Group] = []
        end = count
        while end:
            best = chosen[end]
            assert best is not None  # each node alone is a candidate
            groups.append(best)
            end = best.start
        return Partition(tuple(reversed(groups)))

    # --- candidates

    def _allowed(self) -> int:
        """How many slices of nodes will have been looked at, at most, when groups of a whole partition were."""
        return self.looked + LOOKS + LOOKS_EACH * len(self.network.nodes)

    def _allow_half(self, allowed: int) -> None:
        """Let the groups of one end take half of what is left."""
        self.most_looks = self.looked + max(allowed - self.looked, 0) // 2

    def _extended(self, tail: Tail) -> bool:
        """`tail.extend()`, counted."""
        self.looked += len(tail.slicing)
        return tail.extend()

    def _found(self, end: int, cores: int, others: Sequence[Group]) -> Iterator[Group]:
        """Groups that end there, on so many cores; once they were found, the cheapest from each start, of either kind."""
        known = self.cheapest.get((end, cores))
        if known is not None:
            yield from known.values()
            return
        known = self.cheapest[end, cores] = {}
        for group in self._candidates(end, others) if cores == 1 else self._spread(end, cores):
            key = group.start, group.slicing.kept
            if key not in known or group.cost < known[key].cost:
                known[key] = group
            yield group

    def _candidates(self, end: int, others: Sequence[Group]) -> Iterator[Group]:
        yield self._single(end - 1)
        yield from others
        farthest, useless = end, 0
        kept_farthest, kept_useless = end, 0
        most = self._most(end)
        for slicing in self._ladder(end):
            reach, kept_reach = end, end
            for group in self._each_way(end, slicing, most, keeping=kept_useless < USELESS):
                reach = min(reach, group.start)
                kept_reach = min(kept_reach, group.start if group.slicing.kept else end)
                yield group
            kept_useless = 0 if kept_reach < kept_farthest else kept_useless + (kept_farthest < end)
            kept_farthest = min(kept_farthest, kept_reach)
            useless = 0 if reach < farthest else useless + (farthest < end)
            farthest = min(farthest, reach)
            barred = reach == 0 or self.network.nodes[reach - 1].alone or reach == end - most
            if (slicing == WHOLE and barred) or useless == USELESS:
                return

    def _most(self, end: int) -> int:
        """How many nodes groups have at most that end there."""
        return WINDOW if end in self.narrow else SHORT

    def _spread(self, end: int, cores: int) -> Iterator[Group]:
        """Groups that end there with their slices spread over cores."""
        alone = self._alone(end - 1, cores)
        if alone is not None:
            yield alone
        if self.network.nodes[end - 1].alone:
            return
        units = -(-self.network.nodes[end - 1].result_shape[1] // self.machine.lanes)
        channels = [Slicing((1, parts, 1, 1)) for parts in _steps(units)]
        tried = 0
        for slicing in (*channels, *self._ladder(end)):
            if len(slicing) % cores or tried == USELESS:
                continue
            grown = False
            for group in self._each_way(end, slicing, self._most(end), cores):
                grown = grown or group.end - group.start > 1
                yield group
            tried += grown

    def _ladder(self, end: int) -> Iterator[Slicing]:
        """Ways to cut the result of the last node, from few to many slices: n first, then rows."""
        n, _, h, _ = self.network.nodes[end - 1].result_shape
        for parts in _steps(n):
            if parts <= FINEST:
                yield Slicing((parts, 1, 1, 1))
        for parts in _steps(h):
            if 1 < parts <= FINEST // n:
                yield Slicing((n, 1, parts, 1))
                if n * parts <= 4:
                    yield Slicing((n, 1, parts, 1), streamed=True)

    def _tail(self, end: int, slicing: Slicing, cores: int = 1) -> Tail:
        return Tail(self.network, self.machine, end, slicing, self.memo, cores)

    def _each_way(self, end: int, slicing: Slicing, most: int, cores: int = 1, keeping: bool = True) -> Iterator[Group]:
        """Groups that end there and are cut so, with rows that slices need in common computed again and kept."""
        tail = self._tail(end, slicing, cores)
        made = list(self._grown(tail, most))
        if not tail.halos or not self.carries or self.halos != "kept":
            yield from made
        if keeping and tail.halos and self.carries and self.halos != "recomputed":
            other = self._tail(end, replace(slicing, kept=True), cores)
            yield from (group for group in self._grown(other, most) if other.kept)

    def _grown(self, tail: Tail, most: int) -> Iterator[Group]:
        """Longer and longer groups, as far as they fit and are of use."""
        end, slicing, alone = tail.end, tail.slicing, 0.0
        while tail.start and end - tail.start < most:
            if self.network.nodes[tail.start - 1].alone or self.looked + len(slicing) > self.most_looks:
                return
            if not self._extended(tail) or tail.peak > self.machine.local_bytes:
                return
            if self.h_slice and _shares_much(tail):
                return
            group = _group_of(tail)
            single = self.alone[tail.start] if tail.start < len(self.alone) else None
            alone += single.cost if single is not None else 0.0
            if group.end - group.start > 1 or self.network.nodes[group.start].moved is None:
                yield group
            if single is not None and group.cost > WORSE * alone:
                return

    def _single(self, number: int) -> Group:
        group = self.alone[number]
        assert group is not None  # those that cannot be were reported
        return group

    def _alone(self, number: int, cores: int = 1) -> Group | None:
        """The cheapest way to compute a node alone; None where none fits."""
        moved = self.network.nodes[number].moved
        if moved is not None and cores > 1:
            return None
        if moved is not None:
            filled = self.network.nodes[number].filled
            cycles = sum(self.machine.transfer(size) for size in (2 * moved, filled) if size)
            return Group(number, number + 1, WHOLE, 0.0, cycles, 2 * moved + filled, 0)
        if self._too_large(number):
            return None
        tried: Group | None = None
        enough, before = 0, self.looked
        for slicing in self._every(number):
            if enough and (len(slicing) > enough or self.looked - before > LOOKS_ALONE):
                break
            if len(slicing) < cores:
                continue
            tail = Tail(self.network, self.machine, number + 1, slicing, self.memo, cores)
            if not self._extended(tail) or tail.peak > self.machine.local_bytes:
                continue
            enough = enough or 4 * len(slicing)
            group = _group_of(tail)
            if tried is None or group.cost < tried.cost:
                tried = group
            if slicing == WHOLE:
                break
        return tried

    def _too_large(self, number: int) -> bool:
        """Whether the least that any slicing leaves of one slice does not fit: the first channels of the first place."""
        node = self.network.nodes[number]
        corner: Box = ((0, 1), (0, min(self.machine.lanes, node.result_shape[1])), (0, 1), (0, 1))
        need = node.region(node, corner)
        if need is None:
            return False
        boxes = list(zip(node.operands, need.operands, strict=True))
        if not any(operand is not None and fits_over(self.network, node, operand, box, corner) for operand, box in boxes):
            boxes.append((node.result, corner))
        sizes = {(tensor, box): self.machine.lane_bytes(self.network.tensors[tensor], box) for tensor, box in boxes
                 if tensor is not None and box is not None}
        return sum(sizes.values()) > self.machine.local_bytes

    def _every(self, number: int) -> list[Slicing]:
        """All ways to cut one node's result, those with few slices first."""
        n, c, h, w = self.network.nodes[number].result_shape
        units = -(-c // self.machine.lanes)
        found = {Slicing((1, 1, 1, 1))}
        for images in {1, n}:
            for channels in _steps(units):
                for rows in _steps(h):
                    for columns in _steps(w) if rows == h else (1,):
                        counts = (images, channels, rows, columns)
                        found.add(Slicing(counts))
                        if channels > 1 and rows * columns > 1:
                            found.add(Slicing(counts, (0, 2, 3, 1)))
        return sorted(found, key=lambda slicing: (len(slicing), slicing.counts, slicing.order))


def _narrow(network: Network, machine: Machine) -> set[int]:
    """Ends at which long groups end: where the next node is alone, and of each stretch the last one at which the least bytes of
    results lie between what is before and what comes after.
    """
    count = len(network.nodes)
    change = [0] * (count + 2)
    for number, node in enumerate(network.nodes):
        tensor = network.tensors[node.result]
        size = machine.bytes(tensor, whole(tensor.shape))
        change[number + 1] += size
        change[max(network.last_use.get(node.result, number), number) + 1] -= size
    between = list(accumulate(change))
    found = {end for end in range(1, count + 1) if end == count or network.nodes[end].alone}
    found.update(min(range(low, min(low + STRETCH, count + 1)), key=lambda end: (between[end], -end))
                 for low in range(1, count + 1, STRETCH))
    return found


def _steps(size: int) -> list[int]:
    """Numbers of parts of a dimension, up to one element each."""
    return [*(step for step in STEPS if step < size), size] if size > 1 else [1]


def _group_of(tail: Tail) -> Group:
    return Group(tail.start, tail.end, tail.slicing, tail.compute, tail.transfer, tail.bytes, tail.peak, tail.cores)


def core_counts(cores: int) -> list[int]:
    """How many of so many cores a group or a program is tried on: powers of two, and all of them."""
    return sorted({1 << bits for bits in range(cores.bit_length())} | {cores})


def _shares_much(tail: Tail) -> bool:
    """Whether neighbouring slices of an input share more than half of its rows."""
    for tensor in tail.loads:
        rows = [box[2] for box in tail.boxes[tensor] if box is not None]
        height = tail.network.tensors[tensor].shape[2]
        if tail.network.tensors[tensor].constant:
            continue
        for (_, stop), (start, _) in pairwise(rows):
            if 2 * (stop - start) > height:
                return True
    return False
