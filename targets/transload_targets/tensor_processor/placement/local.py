"""Addresses in local memory: what is moved while something is computed lies in other banks than what that reads and writes.

A bank serves one queue at a time, so buffers that share one make the queues wait for each other. Buffers are placed one by one in
the order of time, or else the biggest first, each where it shares the fewest banks with those that it meets, lowest first. That
takes up to a few banks, however little is alive at once. So smaller windows are tried, down to what is alive at once
(`placement.windows`), and taken where that is no slower. Where nothing else fits, the placement of `transload.memory`, which
looks for one as hard as is asked for and knows no banks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from transload import memory
from transload.errors import PlacementError

from ..groups.machine import Machine
from ..groups.steps import Buffer, Schedule, Step
from .dense import densest
from .exchanging import exchanged
from .sides import by_sides, is_small
from .timing import Timing
from .windows import Place, Window, holes, places_of, windows, within

__all__ = [
    "NEAR", "SLOWER_NEAR", "Found", "LocalPlan", "fewest", "looser", "narrowed", "place_by_banks", "place_by_sides",
    "place_densely", "place_tightly"]


SQUARE = 2_000
"""Buffers up to which all are compared with all."""


LONG = 64
"""Steps looked at that run while one command does."""

NEAR = 1.02
"""What is alive at once times this is dense."""

WINDOWS = ((1.2, 0), (1.5, 0), (1.0, 1), (1.0, 2))
"""Windows that are tried where that of `NEAR` is slower: what is alive at once times the first, and so many banks besides."""
SLOWER, SLOWER_NEAR = 1.01, 1.1
"""A smaller window is taken where cycles are no more than this times those without; one of `NEAR` where they are no more than the
second times those.
"""

WORK, WORK_NEAR, DENSE = 1_000, 6_000, 10_000
"""Places that are given for a window, beyond which no more are tried: in banks, of more than is alive at once and of `NEAR`;
densely.
"""
MORE, ALL = 40_000, 100_000
"""The same for a window of `NEAR` where fewer give none that is no slower; for each schedule, and for all together."""

MISSED = 1
"""Schedules whose buffers find no place bank by bank in a window of `NEAR`: for so many a placement is tried that knows no banks;
of many buffers no more schedules are tried, of few none where that placement takes hardly more cycles than the best.
"""
PACKED, CHANGES = 1.0, 5_000
"""Seconds that are spent at most on a placement that knows no banks, where a window of `NEAR` has none that does, which is mostly
found at once; and changes that are tried of one.
"""
FEW = 400
"""Buffers up to which all schedules, and all the places in such a window that there is time for, are looked at."""

Cycles = Callable[[Mapping[Buffer, int]], float]
"""What a schedule takes with its buffers at given offsets."""


@dataclass(frozen=True)
class LocalPlan:
    """Offsets of a schedule's buffers, in its order, and what they need: `peak` bytes of a lane, from the first that is used on,
    no placement less than `bound`; and the cycles that it takes, as far as that is known without instructions.
    """

    offsets: dict[Buffer, int]
    peak: int
    bound: int
    banked: bool
    """Whether banks were looked at."""
    cycles: float


def place_by_banks(made: Schedule, machine: Machine, cycles: Cycles) -> LocalPlan | None:
    """Place the buffers of a schedule in a lane, each where it shares the fewest banks; None where one finds no hole."""
    for order in (_in_time, _by_size) if len(made.buffers) <= SQUARE else (_in_time,):
        offsets = _by_banks(made, machine, order)
        if offsets is not None:
            return _plan(made, offsets, True, cycles)
    return None


def place_tightly(made: Schedule, machine: Machine, cycles: Cycles) -> LocalPlan | None:
    """Place them with more pains in all of a lane, where `place_by_banks` finds no hole for one; None where that is no help."""
    return _in_window(made, machine, machine.local_bytes, cycles, 0.0, WORK)


Placed = tuple[Schedule, LocalPlan]
"""A schedule, and where its buffers lie."""

Found = tuple[Schedule, LocalPlan, Timing]
"""The same, and what tells its cycles."""


def narrowed(
    found: Sequence[Found], machine: Machine, others: Iterable[tuple[Schedule, Timing]] = (),
    fewer: Iterable[tuple[Schedule, Timing]] = (),
) -> Placed:
    """Of schedules of the same groups the one, and the smallest window for its buffers, in which that takes hardly more cycles
    than the best of those that are found; that one itself where there is no window. In the smallest of all `others` are tried,
    too, as few more cycles are worth that, and where none lies there those with `fewer` and fewer loads ahead.
    """
    found = sorted(found, key=lambda each: (each[1].cycles, each[1].peak))
    made, plan, cycles = found[0]
    near = _nearest([*((each[0], each[2]) for each in found)], others, machine, plan.cycles) or looser(
        fewer, machine, plan.cycles)
    if near is not None:
        return near
    for times, banks in WINDOWS:
        size = _window(made, machine, times, banks)
        if size >= plan.peak:
            break
        tried = _in_window(made, machine, size, cycles, plan.cycles * SLOWER, WORK)
        if tried is not None and tried.cycles <= plan.cycles * SLOWER:
            return made, tried
    return made, plan


def _nearest(
    found: Iterable[tuple[Schedule, Timing]], others: Iterable[tuple[Schedule, Timing]], machine: Machine, least: float,
) -> Placed | None:
    """The schedule that takes the fewest cycles with as few bytes as `NEAR` says, or of many buffers the first that takes hardly
    more than the least; None where all take too many.
    """
    best: Placed | None = None
    tried: dict[tuple[tuple[int, ...], ...], tuple[Schedule, Timing]] = {}
    missed = 0
    for made, cycles in chain(found, others):
        if _alike(made) in tried:
            continue
        tried[_alike(made)] = made, cycles
        many = len(made.buffers) > FEW
        enough = least * SLOWER if many else 0.0
        near = _window(made, machine, NEAR)
        plan = _in_window(made, machine, near, cycles, enough, WORK_NEAR)
        missed += plan is None
        if plan is None and missed <= MISSED:
            plan = _packed(made, machine, near, cycles, enough)
        best = fewest([best, None if plan is None else (made, plan)], 0.0)
        is_fast = best is not None and best[1].cycles <= least * SLOWER
        if (missed >= MISSED and (many or is_fast)) or (many and is_fast):
            break
    if all(len(made.buffers) <= FEW for made, _ in tried.values()):
        best = fewest(chain([best], _harder(tried.values(), machine, least, best)), least)
    return best if best is not None and best[1].cycles <= least * SLOWER_NEAR else None


def looser(fewer: Iterable[tuple[Schedule, Timing]], machine: Machine, least: float) -> Placed | None:
    """The schedule that takes the fewest cycles of some with less and less loaded ahead, packed into a window of `NEAR`; None
    where that takes too many. What is loaded later is in the way of others for a shorter time.
    """
    best: Placed | None = None
    for made, cycles in fewer:
        plan = _packed(made, machine, _window(made, machine, NEAR), cycles, least * SLOWER)
        if best is not None and (plan is None or plan.cycles >= best[1].cycles):
            break
        best = best if plan is None else (made, plan)
    return best if best is not None and best[1].cycles <= least * SLOWER_NEAR else None


def _harder(
    tried: Iterable[tuple[Schedule, Timing]], machine: Machine, least: float, best: Placed | None,
) -> Iterator[Placed | None]:
    """The same with more pains: of few places the sides are looked for on which they lie; of more of them more are given, unless
    hardly more cycles are taken than the least.
    """
    left = ALL if best is None or best[1].cycles > least * SLOWER else 0
    for made, cycles in tried:
        if is_small(made):
            yield place_by_sides(cycles, least)
        elif left > 0:
            plan = _in_window(made, machine, _window(made, machine, NEAR), cycles, least, min(MORE, left))
            yield None if plan is None else (made, plan)
            left = left - MORE if plan is not None else 0  # where one finds no place, others rarely do


def fewest(found: Iterable[Placed | None], enough: float) -> Placed | None:
    """That which takes the fewest cycles, or the first that takes no more than is enough; None where there is none."""
    best: Placed | None = None
    for each in found:
        if each is not None and (best is None or each[1].cycles < best[1].cycles):
            best = each
            if best[1].cycles <= enough:
                break
    return best


def _alike(made: Schedule) -> tuple[tuple[int, ...], ...]:
    """What is the same of schedules whose buffers find the same places."""
    return (tuple(len(command.loads) for step in made.steps for command in step.commands),
            *((buffer.first, buffer.last, buffer.size) for buffer in made.buffers))


def place_by_sides(cycles: Timing, enough: float = 0.0) -> Placed | None:
    """A schedule of few buffers with its loads at other times, and its buffers on two sides of a border of banks, in a window of
    `NEAR`: the way that takes the fewest cycles, or the first that takes no more than is enough. None where none is found.
    """
    found = by_sides(cycles, NEAR, enough)
    if found is None:
        return None
    made, offsets = found
    return made, _plan(made, offsets, True, replace(cycles, made=made))


def place_densely(made: Schedule, machine: Machine, cycles: Cycles, last: bool = True) -> LocalPlan:
    """Place them in as few bytes as are found, in the window of that size that takes the fewest cycles. Raises `PlacementError`
    where they do not fit; where this is not the `last` way, that is found out sooner.
    """
    near = _window(made, machine, NEAR)
    found = _in_window(made, machine, near, cycles, 0.0, DENSE)
    if found is not None:
        return found
    packed = densest(_asked(made), machine.local_bytes, machine.eu_bytes, "local", last)
    return _exchanged(made, machine, packed, max(near, packed.peak), cycles, 0.0)


def _packed(made: Schedule, machine: Machine, size: int, cycles: Cycles, enough: float) -> LocalPlan | None:
    """The same as `_in_window`, from the first placement that is found without looking at banks; None where that takes long."""
    try:
        packed = memory.plan(_asked(made), size, seconds=PACKED, alignment=machine.eu_bytes)
    except PlacementError:
        return None
    return _exchanged(made, machine, packed, size, cycles, enough)


def _asked(made: Schedule) -> list[memory.Buffer]:
    """What `transload.memory` is asked for: places by their number."""
    return [memory.Buffer(number, place.first, place.last + 1, place.size)
            for number, place in enumerate(dict.fromkeys(places_of(made).values()))]


def _exchanged(
    made: Schedule, machine: Machine, packed: memory.Plan, size: int, cycles: Cycles, enough: float,
) -> LocalPlan:
    """A placement of the places by their number, exchanged in windows of so many bytes until queues share fewer banks: that which
    takes the fewest cycles, or the first that takes no more than is enough.
    """
    places = places_of(made)
    met = _meetings(made, places)
    found: list[LocalPlan] = []
    for window in windows(machine, size):
        begun = {place: window.low + packed.offsets[number] for number, place in enumerate(dict.fromkeys(places.values()))}
        offsets = exchanged(met, begun, machine, window, CHANGES)
        found.append(_plan(made, {buffer: offsets[place] for buffer, place in places.items()}, True, cycles))
        if found[-1].cycles <= enough:
            break
    return min(found, key=lambda plan: plan.cycles)


def _plan(made: Schedule, offsets: dict[Buffer, int], banked: bool, cycles: Cycles) -> LocalPlan:
    low = min(offsets.values(), default=0)
    high = max((offsets[buffer] + buffer.size for buffer in made.buffers), default=0)
    return LocalPlan(offsets, high - low, made.room, banked, cycles(offsets))


def _window(made: Schedule, machine: Machine, times: float, banks: int = 0) -> int:
    size = int(times * made.room) // machine.eu_bytes * machine.eu_bytes + banks * machine.local_bytes // machine.banks
    return min(max(size, made.room), machine.local_bytes)


def _in_window(made: Schedule, machine: Machine, size: int, cycles: Cycles, enough: float, work: int) -> LocalPlan | None:
    """The placement in windows of so many bytes that takes the fewest cycles, or the first that takes no more than is enough."""
    places = places_of(made)
    best: LocalPlan | None = None
    for given in within(_meetings(made, places), machine, size, work):
        found = _plan(made, {buffer: given[place] for buffer, place in places.items()}, True, cycles)
        if best is None or found.cycles < best.cycles:
            best = found
        if best.cycles <= enough:
            break
    return best


def _meetings(made: Schedule, places: dict[Buffer, Place]) -> dict[Place, dict[Place, float]]:
    """With which places each should share no bank, and how many bytes are moved meanwhile."""
    met: dict[Place, dict[Place, float]] = {place: {} for place in places.values()}
    for number, step in enumerate(made.steps):
        before = made.steps[number - 1] if number else None
        for command in step.commands:
            for load in command.loads:
                _meet(met, places, load.buffer, made.steps[number:min(command.until + 1, load.need)])
        for store in before.stores if before is not None else ():
            if not store.at_once:
                _meet(met, places, store.buffer, [step])
    return met


def _meet(met: dict[Place, dict[Place, float]], places: dict[Buffer, Place], moved: Buffer, steps: Sequence[Step]) -> None:
    """Note down that a buffer is moved while these steps compute."""
    place = places[moved]
    for step in (step for step in steps[:LONG] if not step.moves):
        for used in {places[buffer] for buffer in (*step.reads, step.writes) if buffer is not None}:
            if used is not place:
                met[place][used] = met[used][place] = met[place].get(used, 0.0) + moved.size


def _in_time(place: Place) -> tuple[int, ...]:
    return place.first, place.first - place.last, -place.size


def _by_size(place: Place) -> tuple[int, ...]:
    return -place.size, place.first - place.last, place.first


def _by_banks(made: Schedule, machine: Machine, order: Callable[[Place], tuple[int, ...]]) -> dict[Buffer, int] | None:
    """Offsets, each where it shares the fewest banks; None where a buffer finds no hole."""
    bank = machine.local_bytes // machine.banks
    places = places_of(made)
    met = _meetings(made, places)
    offsets: dict[Place, int] = {}
    placed: list[Place] = []
    for place in sorted(met, key=order):
        if order is _in_time:
            placed = [other for other in placed if other.last >= place.first]
        taken = [(offsets[other], offsets[other] + other.size) for other in placed
                 if other.first <= place.last and other.last >= place.first]
        others = [(offsets[other] // bank, (offsets[other] + max(other.size, 1) - 1) // bank, weight)
                  for other, weight in met[place].items() if other in offsets]
        best = None
        for low, high in holes(sorted(taken), place.size, Window(0, machine.local_bytes), machine.eu_bytes):
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


def _offers(low: int, high: int, bank: int) -> Sequence[int]:
    """Offsets to try in a hole: its beginning, and the beginnings of banks in it."""
    return [low, *range(-(-low // bank) * bank, high + 1, bank)] if high > low else [low]
