"""Ops that only move elements, as copies within the lanes: what such a copy takes from where, and puts where.

In global memory a copy is a matter of strides (`copies`). In the lanes a tensor has four dimensions, of which channels lie in
lanes of their own; a copy takes a box of one tensor, its dimensions in another order, and puts it into a box of the other. What
is no box is taken in pieces that are: of every second channel each by itself. Or all of a tensor is put, in the order of its
elements, where the same elements have another shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

from ..regions import Box, Need, Range, Shape, whole
from ..regions.boxes import hull, meet
from .copies import Copies, Copy
from .forms import Held, Steps

__all__ = ["LaneCopies", "LaneCopy", "lane_copies"]

Order = tuple[int, int, int, int]
KEPT: Order = (0, 1, 2, 3)
"""The order of dimensions that nothing changes."""
PIECES = 512
"""Boxes that an op moves in the lanes at most: each is a part of a command of the DMA."""


@dataclass(frozen=True)
class LaneCopy:
    """The box `source` of operand number `operand`, put into the box `target`, whose dimension i is the source's `order[i]`."""

    operand: int
    source: Box
    target: Box
    order: Order = KEPT

    def within(self, part: Box) -> LaneCopy | None:
        """What of it lies in a part of the result; None where nothing does."""
        if not meet(self.target, part):
            return None
        target: list[Range] = []
        source = list(self.source)
        for from_, (low, high), (start, stop) in zip(self.order, self.target, part, strict=True):
            first, last = max(low, start), min(high, stop)
            target.append((first, last))
            begin = self.source[from_][0] - low
            source[from_] = (begin + first, begin + last)
        return LaneCopy(self.operand, (source[0], source[1], source[2], source[3]),
                        (target[0], target[1], target[2], target[3]), self.order)


@dataclass(frozen=True)
class LaneCopies:
    """What an op moves in the lanes. `ranks`, of operand and result: it is all of a tensor in another shape, of these ranks.

    `fill` is what the rest of the result holds.
    """

    copies: tuple[LaneCopy, ...]
    ranks: tuple[int, int] | None = None
    fill: int | float | None = None
    known: dict[Box, list[LaneCopy]] = field(default_factory=dict, compare=False, repr=False)
    """What was found of parts before."""

    def within(self, part: Box) -> list[LaneCopy]:
        """The copies of what lies in a part of the result."""
        if self.ranks is not None:
            return list(self.copies)
        found = self.known.get(part)
        if found is None:
            found = self.known[part] = [copy for copy in (each.within(part) for each in self.copies) if copy is not None]
        return found

    def region(self, work: Any, part: Box) -> Need | None:
        """What a part of the result needs: a rule of regions. Another shape is given as a whole."""
        if self.ranks is not None and part != whole(work.result_shape):
            return None
        boxes: list[Box | None] = [None] * len(work.operand_shapes)
        for copy in self.within(part):
            boxes[copy.operand] = hull(boxes[copy.operand], copy.source)
        return Need(tuple(boxes))


def lane_copies(copies: Copies, operands: Sequence[int], tensors: Sequence[Held], result: Held) -> LaneCopies | None:
    """An op's copies in the lanes, `operands[i]` being which of `tensors` its operand i is; None where the lanes cannot do one.

    They cannot take parts by indices, or what is in too many pieces.
    """
    if copies.gather is not None:
        return None
    made: list[LaneCopy] = []
    for copy in copies.copies:
        number = operands[copy.operand]
        pieces = _pieces(copy, tensors[number], result)
        if pieces is None or len(made) + len(pieces) > PIECES:
            return None
        for piece in pieces:
            found = _lane_copy(piece, number, tensors[number], result)
            if found is None:
                return None
            made.append(found)
    return LaneCopies(tuple(made), fill=copies.fill)


def _pieces(copy: Copy, source: Held, result: Held) -> list[Copy] | None:
    """A copy as copies of boxes: along what is no dimension of both tensors, or one that the copy goes along already, each place
    is one of its own. None where these are too many.
    """
    kept: list[tuple[int, int, int]] = []
    apart: list[tuple[int, int, int]] = []
    taken: set[tuple[str, int | None]] = set()
    triples = zip(copy.shape, copy.source_steps, copy.target_steps, strict=True)
    for size, step, into in sorted((triple for triple in triples if triple[0] != 1), reverse=True):
        places = {("source", _dimension(step, source)), ("result", _dimension(into, result))}
        if taken & places or any(place is None for _, place in places):
            apart.append((size, step, into))
        else:
            taken |= places
            kept.append((size, step, into))
    if prod(size for size, _, _ in apart) > PIECES:
        return None
    shape, steps, into_steps = zip(*kept, strict=True) if kept else ((), (), ())
    return [Copy(copy.operand, shape, copy.source + sum(at * step for at, (_, step, _) in zip(places, apart, strict=True)), steps,
                 copy.target + sum(at * into for at, (_, _, into) in zip(places, apart, strict=True)), into_steps)
            for places in product(*(range(size) for size, _, _ in apart))]


def _lane_copy(copy: Copy, number: int, source: Held, result: Held) -> LaneCopy | None:
    """A copy that goes along dimensions of both tensors as a box; None where it leaves them."""
    taken, put = _start(copy.source, source), _start(copy.target, result)
    if taken is None or put is None or not all(copy.shape):
        return None
    order: list[int | None] = [None] * 4
    from_, into = [(at, at + 1) for at in taken], [(at, at + 1) for at in put]
    for size, step, target_step in zip(copy.shape, copy.source_steps, copy.target_steps, strict=True):
        one, other = _dimension(step, source), _dimension(target_step, result)
        assert one is not None and other is not None  # of which pieces are made
        order[other] = one
        from_[one], into[other] = (taken[one], taken[one] + size), (put[other], put[other] + size)
    free = [each for each in range(4) if each not in order]
    kept = [free.pop(free.index(place)) if each is None and place in free else each for place, each in enumerate(order)]
    turned = [free.pop(0) if each is None else each for each in kept]
    ends = [*zip(from_, source.shape, strict=True), *zip(into, result.shape, strict=True)]
    if any(stop > size for (_, stop), size in ends):
        return None
    return LaneCopy(number, (from_[0], from_[1], from_[2], from_[3]), (into[0], into[1], into[2], into[3]),
                    (turned[0], turned[1], turned[2], turned[3]))


def _start(element: int, held: Held) -> tuple[int, ...] | None:
    """The indices (n, c, h, w) of an element of a row-major tensor by its number."""
    found = [0, 0, 0, 0]
    for step, dimension in _by_step(held.steps, held.shape):
        found[dimension], element = divmod(element, step)
    return None if element else tuple(found)


def _dimension(step: int, held: Held) -> int | None:
    """Which of (n, c, h, w) goes by so many elements."""
    return next((dimension for of, dimension in _by_step(held.steps, held.shape) if of == step), None)


def _by_step(steps: Steps, shape: Shape) -> list[tuple[int, int]]:
    """The dimensions of more than one element with their steps, the longest first."""
    return sorted(((step, dimension) for dimension, (step, size) in enumerate(zip(steps, shape, strict=True)) if size > 1),
                  reverse=True)
