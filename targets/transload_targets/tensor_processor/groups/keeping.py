"""What stays in local memory from one group to the next: it is not loaded again, and not stored where none but these read it.

A group's inputs are loaded from global memory, though an earlier one may have had the same part of the same tensor in the lanes.
Where there is room from then on, it stays: those for which the least has to be kept for the least time come first. A result that
is read from global memory by none any more is not stored at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..regions import Box
from .network import Network
from .steps import Buffer, Load, Step

__all__ = ["keep", "store_less"]

LONGEST = 4096
"""Slots for which a buffer is kept at most: looking at them takes time."""


def keep(
    steps: Sequence[Step], buffers: Sequence[Buffer], loads: Sequence[Load], used: list[int], room: int,
) -> tuple[list[Buffer], list[Load]]:
    """The buffers and loads that remain; steps read what was kept, and `used`, the bytes in use at each slot, is brought up to
    date.
    """
    kept: dict[Buffer, Buffer] = {}
    for before, load in sorted(_again(buffers, loads), key=lambda pair: pair[0].size * (pair[1].buffer.first - pair[0].last)):
        low, high = before.last + 1, load.buffer.first
        if before.size and max(used[low:high], default=0) + before.size > room:
            continue
        for slot in range(low, high):
            used[slot] += before.size
        kept[load.buffer] = before
    if not kept:
        return list(buffers), list(loads)
    for buffer in sorted(kept, key=lambda each: each.first):
        before = kept[buffer]
        kept[buffer] = before = kept.get(before, before)
        before.last = max(before.last, buffer.last)
    for step in steps:
        step.reads = tuple(buffer if buffer is None else kept.get(buffer, buffer) for buffer in step.reads)
    return [buffer for buffer in buffers if buffer not in kept], [load for load in loads if load.buffer not in kept]


def _again(buffers: Sequence[Buffer], loads: Sequence[Load]) -> list[tuple[Buffer, Load]]:
    """Loads of what lay in local memory before, each with the last buffer that held it."""
    latest: dict[tuple[int, Box], Buffer] = {}
    by_buffer = {load.buffer: load for load in loads}
    found = []
    for buffer in buffers:
        key = buffer.tensor, buffer.box
        before, load = latest.get(key), by_buffer.get(buffer)
        if buffer.slides:  # it holds other rows from slice to slice
            continue
        if before is not None and load is not None and 0 <= buffer.first - before.last <= LONGEST:
            found.append((before, load))
        latest[key] = buffer
    return found


def store_less(network: Network, steps: Sequence[Step], loads: Sequence[Load], elsewhere: Iterable[int] = ()) -> None:
    """Leave out stores of what is not read from global memory, here or by other cores: `elsewhere`."""
    read = {*network.outputs, *elsewhere, *(load.buffer.tensor for load in loads)}
    for step in steps:
        node = network.nodes[step.node]
        read.update(operand for operand in (*node.also, *(node.operands if step.part is None else ())) if operand is not None)
    for step in steps:
        step.stores = [store for store in step.stores if store.buffer.tensor in read]
