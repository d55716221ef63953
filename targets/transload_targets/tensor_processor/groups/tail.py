"""A group that grows towards the front: what each slice needs, what must lie in local memory, and what all of it costs.

Parts of the group's results are given by the slicing; from them regions go backward, op by op. So a group grows by the op
before it without anything behind it changing: its figures are kept up to date, and all groups that end with one op are looked
at in one go.

Slices may be spread over several cores, a run of neighbouring ones for each. Cores compute side by side, so that the one counts
which computes longest, and wait for their commands' latencies side by side; but they share the bandwidth of global memory, so
that all bytes count, those of weights as often as there are cores that load them.

Source: the manual's chapter 10 (BackwardH, memory cycles, weights that stay while slices go by).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..regions import Box, Need, cut
from ..regions.boxes import hull
from .halos import Kept, kept_parts, share
from .machine import Machine
from .network import Network
from .over import fits_over
from .slicing import Slicing

__all__ = ["Memo", "Tail"]


@dataclass
class Memo:
    """What was found before, of the nodes of one network for one machine."""

    needs: dict[tuple[int, Box], tuple[Need, float, int] | None] = field(default_factory=dict)
    """Needs, cycles and scratch memory of a node for a part of its result; None where that cannot be computed alone."""
    sizes: dict[tuple[int, Box], int] = field(default_factory=dict)
    """Bytes of a lane that a part of a tensor takes."""


MOST_SLICES = 1 << 16
"""Into how many slices tensors are cut, at most: each has instructions of its own."""


class Tail:
    """Nodes `start` until before `end` as a group, `start` being moved forward by `extend`.

    There are as many slices as `cores` at least.
    """

    def __init__(self, network: Network, machine: Machine, end: int, slicing: Slicing, memo: Memo, cores: int = 1) -> None:
        self.network, self.machine, self.slicing, self.memo = network, machine, slicing, memo
        self.runs = [range(low, high) for low, high in cut(len(slicing), cores)]
        """The slices of each core."""
        self.start = self.end = end
        self.boxes: dict[int, list[Box | None]] = {}
        """The part of each tensor that each slice needs, None where a slice needs nothing of it."""
        self.kept: dict[int, Kept] = {}
        """Of tensors whose rows stay for the next slice, what each adds to them."""
        self.halos = False
        """Whether neighbouring slices need rows in common, of what they compute or load."""
        self.needs: dict[int, list[Need | None]] = {}
        """What each slice of a node needs, None where it computes nothing of it."""
        self.stored: dict[int, list[Box]] = {}
        """The part of each result of the group that each slice gives."""
        self.computing = [0.0] * cores
        """Cycles that each core computes."""
        self.store_cycles, self.store_bytes = 0.0, 0
        self.loads: dict[int, tuple[float, int]] = {}
        """Cycles and bytes that loading each tensor from outside takes."""
        self.load_cycles, self.load_bytes = 0.0, 0
        """Cycles and bytes of all loads."""
        self.base = 0
        self.live: list[int] = []
        """Bytes of a lane in use at each node, the last one first, besides `base`."""
        self._spans: dict[int, tuple[int, int, int, bool, bool]] = {}
        self._carrying: dict[int, list[float]] = {}
        """Cycles that each core takes to carry rows of a tensor to the next slice."""
        self._sized: dict[int, tuple[list[Box | None], int]] = {}
        """Of tensors the boxes whose size was found, and that."""
        self._over: dict[int, tuple[int, int]] = {}
        """Of nodes whose result is written over an operand: which, and how many bytes that is."""

    # --- figures

    @property
    def cores(self) -> int:
        """The number of cores that slices are spread over."""
        return len(self.runs)

    @property
    def compute(self) -> float:
        """Cycles of computing, of the core that does most of it."""
        return max(self.computing)

    @property
    def bytes(self) -> int:
        """Bytes moved between global and local memory."""
        return self.load_bytes + self.store_bytes

    @property
    def transfer(self) -> float:
        """Cycles of all moves."""
        return self.load_cycles + self.store_cycles

    @property
    def peak(self) -> int:
        """The most bytes of a lane that are needed at once."""
        return max(self.live, default=0) + self.base

    # --- growing

    def extend(self) -> bool:
        """Take the node before the group into it; False where its part cannot be computed, and the tail is of no more use."""
        number = self.start - 1
        node = self.network.nodes[number]
        result, slices = node.result, len(self.slicing)
        if slices > MOST_SLICES:
            return False
        last = self.network.last_use.get(result, number)
        boxes = self.boxes.get(result) or [None] * slices
        if last >= self.end or last == number:
            parts = self.slicing.parts(node.result_shape, self.machine.lanes)
            shared = self.network.tensors[result].bits % 8 or node.moves_nothing  # bytes that another core uses, too
            if parts is None or (shared and self.cores > 1):
                return False
            boxes = [hull(box, part) for box, part in zip(boxes, parts, strict=True)]
            self.stored[result] = parts
            self._count_stores(result, parts)
        made = self._note_kept(result, boxes, True)
        needs: list[Need | None] = []
        scratch = 0
        for core, run in enumerate(self.runs):
            for box in made[run.start:run.stop]:
                if box is None and self.slicing.kept:
                    needs.append(None)
                    continue
                found = self._look_up(number, box)
                if found is None:
                    return False
                needs.append(found[0])
                self.computing[core] += found[1]
                scratch = max(scratch, found[2])
        self.boxes[result], self.needs[number] = boxes, needs
        self.live.append(scratch)
        self.start = number
        self._hold_result(result, number)
        for place, operand in enumerate(node.operands):
            if operand is not None:
                self._need(operand, [None if need is None else need.operands[place] for need in needs], number)
        return True

    def made(self, tensor: int) -> list[Box | None]:
        """The part of a tensor that each slice computes or loads; None where it is there, or not needed."""
        kept = self.kept.get(tensor)
        return self.boxes[tensor] if kept is None else kept.made

    def _note_kept(self, tensor: int, boxes: list[Box | None], computed: bool) -> list[Box | None]:
        """Find out whether rows of a tensor stay for the next slice; gives what each slice computes or loads of it."""
        carry = self.network.tensors[tensor].carry
        if not self.slicing.kept or carry is None or self.network.tensors[tensor].constant:
            return boxes
        for core, cycles in enumerate(self._carrying.pop(tensor, ())):
            self.computing[core] -= cycles
        self.kept.pop(tensor, None)
        kept = kept_parts(boxes, self.runs, computed)
        if kept is None:
            return boxes
        self.kept[tensor] = kept
        self._carrying[tensor] = [sum(carry(box) for box in kept.carried[run.start:run.stop] if box is not None)
                                  for run in self.runs]
        for core, cycles in enumerate(self._carrying[tensor]):
            self.computing[core] += cycles
        return kept.made

    def _look_up(self, number: int, box: Box | None) -> tuple[Need, float, int] | None:
        if box is None:
            return None
        key = number, box
        if key not in self.memo.needs:
            node = self.network.nodes[number]
            need = node.region(node, box)
            self.memo.needs[key] = None if need is None else (
                need, node.cycles(node, box, need), node.scratch(node, box, need) if node.scratch else 0)
        return self.memo.needs[key]

    def _count_stores(self, tensor: int, parts: list[Box]) -> None:
        each = [self.machine.bytes(self.network.tensors[tensor], part) for part in parts]
        self.store_bytes += sum(each)
        at_once = len(parts) - max(map(len, self.runs))  # other cores wait for the latency of theirs meanwhile
        self.store_cycles += sum(map(self.machine.transfer, each)) - at_once * self.machine.latency

    def _hold_result(self, tensor: int, number: int) -> None:
        """A result lies in memory from its node to its last use in the group; where it has one, it was counted as loaded."""
        size = self._size(tensor)
        cycles, bytes_ = self.loads.pop(tensor, (0.0, 0))
        self.load_cycles -= cycles
        self.load_bytes -= bytes_
        held = self._spans.pop(tensor, None)
        if held is not None:
            self._add(held, -1)
        self._hold(tensor, (number, held[1] if held is not None else number, size, tensor in self.kept))
        self._write_over(tensor)

    def _need(self, tensor: int, boxes: list[Box | None], number: int) -> None:
        """A node reads a tensor that is loaded, as far as is known yet."""
        before = self.boxes.get(tensor)
        if before is not None:
            boxes = [old if box is None else hull(old, box) for old, box in zip(before, boxes, strict=True)]
        self.boxes[tensor] = boxes
        self.halos = self.halos or (not self.network.tensors[tensor].constant and share(boxes[:2]))
        held = self._spans.get(tensor)
        last = held[1] if held is not None else number
        if held is None or boxes != before:
            stays = self._count_loads(tensor, boxes)
        else:
            stays = held[3]
        if held is not None:
            self._add(held, -1)
        self._hold(tensor, (number, last, self._size(tensor), stays))
        self._write_over(tensor)

    def _write_over(self, tensor: int) -> None:
        """Count a tensor that the node which reads it last writes its result over, or no more where that cannot be."""
        low, last, size, stays, _ = self._spans[tensor]
        node = self.network.nodes[last]
        over = self._over.get(last)
        if not node.in_place or tensor not in node.operands or (over is not None and over[0] != tensor):
            return
        if over is not None:
            self.live[self.end - 1 - last] += over[1]
            del self._over[last]
        places = [place for place, operand in enumerate(node.operands) if operand == tensor]
        moved = tensor in self.stored and low == last - 1  # it is being stored then
        if not stays and not moved and node.result not in self.kept and all(
                fits_over(self.network, node, tensor, need.operands[place], made) and need.operands[place] == held
                for place in places
                for need, made, held in zip(self.needs[last], self.boxes[node.result], self.boxes[tensor], strict=True)
                if need is not None):
            self.live[self.end - 1 - last] -= size
            self._over[last] = tensor, size

    def _count_loads(self, tensor: int, boxes: list[Box | None]) -> bool:
        """Count what loading takes: a part that the slice before has, too, stays and is not loaded again. Returns whether one
        does.
        """
        boxes = self._note_kept(tensor, boxes, False)
        count, size, stays = 0, 0, tensor in self.kept
        for run in self.runs:
            times, bytes_, held = self._loaded(tensor, boxes[run.start:run.stop])
            count, size, stays = max(count, times), size + bytes_, stays or held
        cycles = count * self.machine.latency + size / self.machine.bandwidth
        old_cycles, old_size = self.loads.get(tensor, (0.0, 0))
        self.load_cycles += cycles - old_cycles
        self.load_bytes += size - old_size
        self.loads[tensor] = cycles, size
        return stays

    def _loaded(self, tensor: int, boxes: list[Box | None]) -> tuple[int, int, bool]:
        """How often one core loads parts, how many bytes these are, and whether one stays for the next slice."""
        about = self.network.tensors[tensor]
        again = self.slicing.streamed and about.constant
        first = boxes[0]
        if first is not None and boxes.count(first) == len(boxes):
            count = len(boxes) if again else 1
            return count, count * self.machine.bytes(about, first), count < len(boxes)
        count, size, stays = 0, 0, False
        before = None
        for box in boxes:
            if box is None:
                continue
            if box == before and not again:
                stays = True
                continue
            size += self.machine.bytes(about, box)
            count += 1
            before = box
        return count, size, stays

    def _lane_bytes(self, tensor: int, box: Box) -> int:
        """The bytes of each lane that a part takes; looked up, as the same parts are looked at for many groups."""
        found = self.memo.sizes.get((tensor, box))
        if found is None:
            found = self.memo.sizes[tensor, box] = self.machine.lane_bytes(self.network.tensors[tensor], box)
        return found

    def _size(self, tensor: int) -> int:
        kept = self.kept.get(tensor)
        boxes = self.boxes[tensor] if kept is None else kept.held
        known = self._sized.get(tensor)
        if known is None or known[0] is not boxes:
            some = boxes[:1] if boxes.count(boxes[0]) == len(boxes) else boxes
            size = max((self._lane_bytes(tensor, box) for box in some if box is not None), default=0)
            known = self._sized[tensor] = boxes, size
        return known[1]

    def _hold(self, tensor: int, about: tuple[int, int, int, bool]) -> None:
        kept = self.kept.get(tensor)
        span = self._spans[tensor] = (*about, kept is not None and not kept.slides)
        self._add(span, 1)

    def _add(self, span: tuple[int, int, int, bool, bool], sign: int) -> None:
        low, high, size, stays, twice = span
        if stays:
            self.base += sign * size
            if twice:  # rows are carried from one place to another
                self.live[self.end - 1 - low] += sign * size
            return
        live, top, size = self.live, self.end - 1, sign * size
        for place in range(top - high, top - low + 1):
            live[place] += size
