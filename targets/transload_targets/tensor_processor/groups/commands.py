"""Which loads are one command of the DMA, and at which slot it is given.

The latency is a command's, whatever number of parts it moves. What one step needs comes in one command. Loads for later steps are
joined, until a command takes about four times its latency; but no more than what was loaded before, or what takes as long as the
latency, so that what is needed first is not held up by what is needed later.

A command is given when the DMA comes to it, not when memory would allow it: what computes before then must not wait for it
because of a bank that both use. So both queues are followed in time, as if no bank were in the way.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from .machine import Machine
from .steps import Buffer, Command, Load, Step

__all__ = ["give"]

LATENCIES = 4
"""A command that is joined of loads for several steps takes so many times its latency."""


def give(loads: Sequence[Load], steps: Sequence[Step], machine: Machine, size: Callable[[Buffer], int]) -> list[Command]:
    """The commands that the loads become, in order; each load's slot, and its buffer's first, is that of its command."""
    commands = _joined(sorted(loads, key=lambda load: load.need), machine, size)
    _follow(commands, steps, machine, size)
    for command in commands:
        for load in command.loads:
            load.slot = load.buffer.first = command.slot
    return commands


def _joined(loads: Sequence[Load], machine: Machine, size: Callable[[Buffer], int]) -> list[Command]:
    """Loads in the order of need as commands: those of one are possible in one slot, that before the first of them is needed."""
    least = machine.latency * machine.bandwidth
    made: list[Command] = []
    held: list[Load] = []
    moved = before = slot = 0
    for load in loads:
        bytes_ = size(load.buffer)
        small = load.need == held[-1].need if held else False
        small = small or moved + bytes_ <= min(LATENCIES * least, max(before, least))
        if held and not (small and max(slot, load.slot) <= held[0].need):
            made.append(Command(held, slot))
            before += moved
            held, moved, slot = [], 0, 0
        held.append(load)
        slot = max(slot, load.slot)
        moved += bytes_
    if held:
        made.append(Command(held, slot))
    return made


def _follow(commands: Sequence[Command], steps: Sequence[Step], machine: Machine, size: Callable[[Buffer], int]) -> None:
    """Set each command's slot to the step that runs when the DMA comes to it, and `until` to the one that runs when it ends."""
    starts, ends = [0.0] * len(steps), [0.0] * (len(steps) + 1)
    by_need: dict[int, list[Command]] = {}
    for command in commands:
        by_need.setdefault(command.loads[0].need, []).append(command)
    ready = [0.0] * len(steps)
    free = 0.0
    for number, step in enumerate(steps):
        for command in by_need.get(number, ()):
            begin = max(free, ends[command.slot - 1] if command.slot else 0.0)
            free = begin + machine.transfer(sum(size(load.buffer) for load in command.loads))
            command.begin, command.end = begin, free
            for load in command.loads:
                ready[load.need] = max(ready[load.need], free)
        starts[number] = max(ends[number - 1] if number else 0.0, ready[number])
        ends[number] = starts[number] + step.cycles
        if step.stores:
            free = max(free, ends[number]) + sum(machine.transfer(size(store.buffer)) for store in step.stores)
    for command in commands:
        running = bisect_right(starts, command.begin) - 1
        command.slot = min(max(command.slot, running), command.loads[0].need)
        command.until = max(command.slot, bisect_right(starts, command.end - 1e-6) - 1)
