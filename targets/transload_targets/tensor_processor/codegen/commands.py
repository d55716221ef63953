"""Which loads of a slot are one command of the DMA: its latency is that of the command, whatever number of parts it moves.

What one step needs comes in one command. Loads that are done ahead for later steps are joined, too, until a command takes about
four times its latency; but no more than what the slot has loaded before, or what takes as long as the latency, so that what is
needed first is not held up by what is needed later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..groups.machine import Machine
from ..groups.schedule import Buffer, Load

__all__ = ["commands"]

LATENCIES = 4
"""A command that is joined of loads for several steps takes so many times its latency."""


def commands(loads: Sequence[Load], slot: int, machine: Machine, size: Callable[[Buffer], int]) -> Iterator[list[Load]]:
    """The loads of a slot, in order, as those of one command each."""
    least = machine.latency * machine.bandwidth
    most = LATENCIES * least
    held: list[Load] = []
    moved = before = 0
    for load in loads:
        bytes_ = size(load.buffer)
        if held and load.need != held[-1].need and moved + bytes_ > min(most, max(before, least)):
            yield held
            before += moved
            held, moved = [], 0
        held.append(load)
        moved += bytes_
    if held:
        yield held
