"""Addresses in local memory: what is moved while something is computed lies in other banks than what that reads and writes.

A bank serves one queue at a time, so buffers that share one make the queues wait for each other. Buffers are placed one by one in
the order of time, or else the biggest first, each where it shares the fewest banks with those that it meets, lowest first.
Where that leaves no hole for one, the placement of `transload.memory`, which looks for one as hard as is asked for and knows no
banks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from transload import memory

from ..groups.machine import Machine
from ..groups.steps import Buffer, Schedule, Step
from .dense import densest

__all__ = ["LocalPlan", "place_by_banks", "place_densely"]


SQUARE = 2_000
"""Buffers up to which all are compared with all."""


LONG = 64
"""Steps looked at that run while one command does."""


@dataclass(frozen=True)
class LocalPlan:
    """Offsets of a schedule's buffers, in its order, and what they need: `peak` bytes of a lane, no placement less than
    `bound`.
    """

    offsets: dict[Buffer, int]
    peak: int
    bound: int
    banked: bool
    """Whether banks were looked at."""


def place_by_banks(made: Schedule, machine: Machine) -> LocalPlan | None:
    """Place the buffers of a schedule in a lane, each where it shares the fewest banks; None where one finds no hole."""
    offsets = _by_banks(made, machine, _in_time)
    if offsets is None and len(made.buffers) <= SQUARE:
        offsets = _by_banks(made, machine, _by_size)
    if offsets is None:
        return None
    peak = max((offsets[buffer] + buffer.size for buffer in made.buffers), default=0)
    return LocalPlan(offsets, peak, made.room, True)


def place_densely(made: Schedule, machine: Machine, last: bool = True) -> LocalPlan:
    """Place them in as few bytes as are found, wherever they lie. Raises `PlacementError` where they do not fit; where this is
    not the `last` way, that is found out sooner.
    """
    asked = [memory.Buffer(number, buffer.first, buffer.last + 1, buffer.size) for number, buffer in enumerate(made.buffers)]
    plan = densest(asked, machine.local_bytes, machine.eu_bytes, last)
    offsets = {buffer: plan.offsets[number] for number, buffer in enumerate(made.buffers)}
    return LocalPlan(offsets, plan.peak, plan.bound.bytes, False)


def _meetings(made: Schedule) -> dict[Buffer, dict[Buffer, float]]:
    """With which buffers each should share no bank, and how many bytes are moved meanwhile."""
    met: dict[Buffer, dict[Buffer, float]] = {buffer: {} for buffer in made.buffers}
    for number, step in enumerate(made.steps):
        before = made.steps[number - 1] if number else None
        for command in step.commands:
            for load in command.loads:
                _meet(met, load.buffer, made.steps[number:min(command.until + 1, load.need)])
        for store in before.stores if before is not None else ():
            if not store.at_once:
                _meet(met, store.buffer, [step])
    return met


def _meet(met: dict[Buffer, dict[Buffer, float]], moved: Buffer, steps: Sequence[Step]) -> None:
    """Note down that a buffer is moved while these steps compute."""
    for step in (step for step in steps[:LONG] if not step.moves):
        for used in {buffer for buffer in (*step.reads, step.writes) if buffer is not None}:
            if used is not moved:
                met[moved][used] = met[used][moved] = met[moved].get(used, 0.0) + moved.size


def _in_time(buffer: Buffer) -> tuple[int, ...]:
    return buffer.first, buffer.first - buffer.last, -buffer.size


def _by_size(buffer: Buffer) -> tuple[int, ...]:
    return -buffer.size, buffer.first - buffer.last, buffer.first


def _by_banks(made: Schedule, machine: Machine, order: Callable[[Buffer], tuple[int, ...]]) -> dict[Buffer, int] | None:
    """Offsets, each where it shares the fewest banks; None where a buffer finds no hole."""
    bank = machine.local_bytes // machine.banks
    met = _meetings(made)
    offsets: dict[Buffer, int] = {}
    placed: list[Buffer] = []
    for buffer in sorted(made.buffers, key=order):
        if order is _in_time:
            placed = [other for other in placed if other.last >= buffer.first]
        taken = [(offsets[other], offsets[other] + other.size) for other in placed
                 if other.first <= buffer.last and other.last >= buffer.first]
        others = [(offsets[other] // bank, (offsets[other] + max(other.size, 1) - 1) // bank, weight)
                  for other, weight in met[buffer].items() if other in offsets]
        best = None
        for low, high in _holes(taken, buffer.size, machine.local_bytes, machine.eu_bytes):
            for offset in _offers(low, high, bank):
                first, last = offset // bank, (offset + max(buffer.size, 1) - 1) // bank
                cost = sum(weight for start, stop, weight in others if start <= last and stop >= first), offset
                if best is None or cost < best:
                    best = cost
        if best is None:
            return None
        offsets[buffer] = best[1]
        placed.append(buffer)
    return offsets


def _holes(taken: list[tuple[int, int]], size: int, room: int, grain: int) -> list[tuple[int, int]]:
    """Ranges of offsets at which so many bytes fit between what is taken."""
    holes, low = [], 0
    for start, stop in sorted(taken):
        if low + size <= start:
            holes.append((low, start - size))
        low = max(low, -(-stop // grain) * grain)
    if low + size <= room:
        holes.append((low, room - size))
    return holes


def _offers(low: int, high: int, bank: int) -> Sequence[int]:
    """Offsets to try in a hole: its beginning, and the beginnings of banks in it."""
    return [low, *range(-(-low // bank) * bank, high + 1, bank)] if high > low else [low]
