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


@dataclass(eq=False)
class _Place:
    """Where a buffer lies, and those that are written over it, from slot `first` to slot `last`."""

    size: int
    first: int
    last: int


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
    numbers = {buffer: number for number, buffer in enumerate(made.buffers)}
    asked = [memory.Buffer(number, buffer.first + (buffer.over is not None), buffer.last + 1, buffer.size,
                           shares=None if buffer.over is None else numbers[buffer.over])
             for buffer, number in numbers.items()]
    plan = densest(asked, machine.local_bytes, machine.eu_bytes, last)
    offsets = {buffer: plan.offsets[number] for number, buffer in enumerate(made.buffers)}
    return LocalPlan(offsets, plan.peak, plan.bound.bytes, False)


def _places(made: Schedule) -> dict[Buffer, _Place]:
    """The place of each buffer: that of the one which it is written over, or one of its own."""
    places: dict[Buffer, _Place] = {}
    for buffer in sorted(made.buffers, key=lambda each: (each.over is not None, each.first)):  # the one written over comes first
        place = places[buffer] = _Place(buffer.size, buffer.first, buffer.last) if buffer.over is None else places[buffer.over]
        place.last = max(place.last, buffer.last)
    return places


def _meetings(made: Schedule, places: dict[Buffer, _Place]) -> dict[_Place, dict[_Place, float]]:
    """With which places each should share no bank, and how many bytes are moved meanwhile."""
    met: dict[_Place, dict[_Place, float]] = {place: {} for place in places.values()}
    for number, step in enumerate(made.steps):
        before = made.steps[number - 1] if number else None
        for command in step.commands:
            for load in command.loads:
                _meet(met, places, load.buffer, made.steps[number:min(command.until + 1, load.need)])
        for store in before.stores if before is not None else ():
            if not store.at_once:
                _meet(met, places, store.buffer, [step])
    return met


def _meet(met: dict[_Place, dict[_Place, float]], places: dict[Buffer, _Place], moved: Buffer, steps: Sequence[Step]) -> None:
    """Note down that a buffer is moved while these steps compute."""
    place = places[moved]
    for step in (step for step in steps[:LONG] if not step.moves):
        for used in {places[buffer] for buffer in (*step.reads, step.writes) if buffer is not None}:
            if used is not place:
                met[place][used] = met[used][place] = met[place].get(used, 0.0) + moved.size


def _in_time(place: _Place) -> tuple[int, ...]:
    return place.first, place.first - place.last, -place.size


def _by_size(place: _Place) -> tuple[int, ...]:
    return -place.size, place.first - place.last, place.first


def _by_banks(made: Schedule, machine: Machine, order: Callable[[_Place], tuple[int, ...]]) -> dict[Buffer, int] | None:
    """Offsets, each where it shares the fewest banks; None where a buffer finds no hole."""
    bank = machine.local_bytes // machine.banks
    places = _places(made)
    met = _meetings(made, places)
    offsets: dict[_Place, int] = {}
    placed: list[_Place] = []
    for place in sorted(met, key=order):
        if order is _in_time:
            placed = [other for other in placed if other.last >= place.first]
        taken = [(offsets[other], offsets[other] + other.size) for other in placed
                 if other.first <= place.last and other.last >= place.first]
        others = [(offsets[other] // bank, (offsets[other] + max(other.size, 1) - 1) // bank, weight)
                  for other, weight in met[place].items() if other in offsets]
        best = None
        for low, high in _holes(taken, place.size, machine.local_bytes, machine.eu_bytes):
            for offset in _offers(low, high, bank):
                first, last = offset // bank, (offset + max(place.size, 1) - 1) // bank
                cost = sum(weight for start, stop, weight in others if start <= last and stop >= first), offset
                if best is None or cost < best:
                    best = cost
        if best is None:
            return None
        offsets[place] = best[1]
        placed.append(place)
    return {buffer: offsets[place] for buffer, place in places.items()}


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
