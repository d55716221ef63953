"""Rows that neighbouring slices need in common, and that stay in local memory from one to the next.

A slice of a sliding window's result needs rows that the slice before needed, too: their *halo*. It is computed, or loaded, again;
or it is carried: copied in the lanes to where the slice's part lies, in front of what is new, and no row is computed or loaded
twice. What is computed slides: the rows that stay are moved to the beginning of the same memory. What is loaded has memory of its
own for each slice, so that it can be loaded while the slice before is computed.

That takes memory from slice to slice, and an instruction each; so it is one way of a slicing (`Slicing.kept`), which the
partition compares with the other by cost.

Source: the manual's chapter 10.2 (BackwardH), which computes halos again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..regions import Box, Range
from ..regions.boxes import meet

__all__ = ["Kept", "kept_parts", "share"]


@dataclass(frozen=True)
class Kept:
    """Of a tensor, by slice: what is computed or loaded, None where all that is needed is there; which rows are carried from the
    slice before; and the box of the buffer in which both lie.
    """

    made: list[Box | None]
    carried: list[Box | None]
    held: list[Box | None]
    slides: bool
    """Whether a slice's buffer lies where that of the slice before does."""


def share(boxes: Sequence[Box | None]) -> bool:
    """Whether neighbours among boxes have some, but not all in common."""
    return any(one is not None and other is not None and one != other and meet(one, other) for one, other in pairwise(boxes))


def kept_parts(boxes: Sequence[Box | None], runs: Sequence[range], slides: bool) -> Kept | None:
    """What slices add to a tensor of which they need these boxes, `runs` being those of each core; None where no two need rows in
    common.

    What one core has another one does not, so each core's first slice has a whole box. So has a slice that does not go on where
    the one before ended: the next image, or with rows cut and columns, too, the next rows. With `slides` buffers may lie in one
    place; they do where what stays and where it goes have no row in common.
    """
    made, held = list(boxes), list(boxes)
    carried: list[Box | None] = [None] * len(boxes)
    moves: list[tuple[int, int]] = []
    for run in runs:
        for index, before, dimension in _links(boxes, run):
            box, (start, stop) = boxes[index], before[dimension]
            assert box is not None  # it goes on
            low, high = box[dimension]
            if high <= stop:
                made[index] = held[index] = None
                continue
            made[index] = _ranged(box, dimension, (max(low, stop), high))
            if low < stop:
                carried[index] = _ranged(box, dimension, (low, stop))
                moves.append((low - start, stop - low))
    if not moves:
        return None
    slides = slides and all(size <= by for by, size in moves)
    return Kept(made, carried, _alike(held) if slides else held, slides)


def _links(boxes: Sequence[Box | None], run: range) -> Iterator[tuple[int, Box, int]]:
    """The slices that go on where one before ended: with the box that is there, and the dimension along which they go on."""
    there: Box | None = None
    along: int | None = None
    for index in run:
        box = boxes[index]
        if box is None or box == there:
            if there is not None and box is not None:
                yield index, there, 2 if along is None else along
            continue
        dimension = None if there is None else _goes_on(there, box)
        if there is None or dimension is None or along not in (None, dimension):
            there, along = box, None
            continue
        along = dimension
        yield index, there, dimension
        if box[dimension][1] > there[dimension][1]:
            there = box


def _goes_on(there: Box, box: Box) -> int | None:
    """Along which of h and w a box goes on where another ends, or lies within it; None where it does not."""
    if box[0] != there[0] or box[1] != there[1] or (box[2] != there[2] and box[3] != there[3]):
        return None
    dimension = 2 if box[2] != there[2] else 3
    (low, high), (start, _) = there[dimension], box[dimension]
    return dimension if low <= start <= high else None


def _alike(boxes: Sequence[Box | None]) -> list[Box | None]:
    """Boxes that begin where these do, all of the same size: rows lie alike in them. They may reach out of the tensor."""
    sizes = [max(box[dimension][1] - box[dimension][0] for box in boxes if box is not None) for dimension in range(4)]

    def sized(box: Box) -> Box:
        n, c, h, w = ((low, low + size) for (low, _), size in zip(box, sizes, strict=True))
        return n, c, h, w

    return [None if box is None else sized(box) for box in boxes]


def _ranged(box: Box, dimension: int, range_: Range) -> Box:
    """A box with another range of h or w."""
    return (box[0], box[1], range_, box[3]) if dimension == 2 else (box[0], box[1], box[2], range_)
