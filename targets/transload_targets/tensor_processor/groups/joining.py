"""What slices of a group give, put together in local memory: a later group that would load it whole finds it there.

Slices write their part of a result to where it lies in the whole, which takes its memory from the first slice on. That is done
where there is room, and where nothing but stores reads the parts. Each slice's part begins in the lane in which the whole does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..regions import volume
from .steps import Buffer, Load, Step

__all__ = ["join"]


@dataclass
class _Given:
    """The steps that give parts of a tensor, and whether these can be put together."""

    steps: list[Step]
    alone: bool = True


def join(
    steps: Sequence[Step], buffers: Sequence[Buffer], loads: Sequence[Load], used: list[int], room: int, lanes: int,
) -> tuple[list[Buffer], list[Load]]:
    """The buffers and loads that remain; steps write to the whole, and `used`, the bytes in use at each slot, is brought up to
    date.
    """
    given = _given(steps)
    gone: set[Buffer] = set()
    there: set[Buffer] = set()
    for load in sorted(loads, key=lambda load: load.need):
        found = given.get(load.buffer.tensor)
        if found is None or load.buffer.slides or not _is_whole(found, load, lanes):
            continue
        if not _room_for(found, load.buffer, used, room):
            continue
        load.buffer.first = min(step.writes.first for step in found.steps if step.writes is not None)
        for step in found.steps:
            assert step.writes is not None  # it gives a part
            gone.add(step.writes)
            step.writes = load.buffer
            for store in step.stores:
                store.buffer = load.buffer
        there.add(load.buffer)
        del given[load.buffer.tensor]
    return [buffer for buffer in buffers if buffer not in gone], [load for load in loads if load.buffer not in there]


def _given(steps: Sequence[Step]) -> dict[int, _Given]:
    """Tensors of which several steps give parts to global memory."""
    given: dict[int, _Given] = {}
    read = {buffer for step in steps for buffer in step.reads if buffer is not None}
    for step in steps:
        made = step.writes
        if made is None or not step.stores:
            continue
        found = given.setdefault(made.tensor, _Given([]))
        found.alone = found.alone and made not in read and all(
            store.buffer is made and store.box == made.box for store in step.stores)
        found.steps.append(step)
    return {tensor: found for tensor, found in given.items() if found.alone and len(found.steps) > 1}


def _is_whole(found: _Given, load: Load, lanes: int) -> bool:
    """Whether what is loaded are all the parts, each of which begins in the lane in which the whole does."""
    size = 0
    for step in found.steps:
        made = step.writes
        if made is None or made.last >= load.need:
            return False
        pairs = list(zip(made.box, load.buffer.box, strict=True))
        if any(low < start or high > stop for (low, high), (start, stop) in pairs) or (pairs[1][0][0] - pairs[1][1][0]) % lanes:
            return False
        size += volume(made.box)
    return size == volume(load.buffer.box)


def _room_for(found: _Given, whole: Buffer, used: list[int], room: int) -> bool:
    """Whether there is room for the whole from the first part on in place of the parts; it is taken then."""
    parts = [step.writes for step in found.steps if step.writes is not None]
    low = min(part.first for part in parts)
    after = used[low:whole.first]
    for slot in range(len(after)):
        after[slot] += whole.size
    for part in parts:
        for slot in range(part.first, part.last + 1):
            after[slot - low] -= part.size
    if max(after, default=0) > room:
        return False
    used[low:whole.first] = after
    return True
