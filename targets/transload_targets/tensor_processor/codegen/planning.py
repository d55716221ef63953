"""Groups, steps and local addresses of a network on so many cores, with less ahead and smaller groups where those cannot be had.

Each core has steps and addresses of its own. Cores that move at the same time share the bandwidth of global memory: that is what
the steps of a group on several cores are planned by.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from math import inf
from typing import Any, NamedTuple

from transload.errors import PlacementError

from ..chip import Chip
from ..groups.commands import PLAIN, Joining
from ..groups.machine import Machine
from ..groups.partition import Partition, Partitioning
from ..groups.reading import Reading, machine_of
from ..groups.schedule import schedule
from ..groups.spread import Spread, spread
from ..groups.steps import Command, Load, Schedule, Store
from ..placement.local import (
    NEAR,
    SLOWER_NEAR,
    Found,
    LocalPlan,
    fewest,
    looser,
    narrowed,
    place_by_banks,
    place_by_sides,
    place_densely,
    place_tightly,
)
from ..placement.timing import Timing

__all__ = ["CorePlan", "Plan", "Planning", "timed"]

SHARES = (1.0, 0.95, 0.9, 0.8, 0.65, 0.5, 0.25, 0.0)
"""Shares of local memory that loads done ahead may fill, tried one after the other until buffers can be placed."""
SMALLER = (1.0, 0.95, 0.85, 0.7, 0.5)
"""Shares of local memory that groups are made for, where buffers of those before could not be placed."""

MANY, MORE = 400, 2_000
"""Buffers beyond which one way is tried to find places in banks, and fewer ways to lie densely, for what that takes."""
VERY_MANY, FEW_SHARES = 20_000, (1.0, 0.8, 0.5, 0.0)
"""Buffers beyond which these shares alone are tried, and places with more pains at the last of them."""


@dataclass(frozen=True)
class CorePlan:
    """What a core does, and where in its local memory."""

    schedule: Schedule
    local: LocalPlan


@dataclass(frozen=True)
class Plan:
    """A partition, and what each core does of it."""

    partition: Partition
    spread: Spread
    cores: tuple[CorePlan, ...]


JOININGS = (PLAIN, Joining(32, 1.0), Joining(32, 4.0))
"""Ways to join loads that are tried."""
OTHERS = (Joining(8, 4.0), Joining(32, 2.0), Joining(32, 16.0))
"""Ways to join loads that are tried, too, where buffers are to lie densely: those that were loaded at once are no hindrance."""


class Planning:
    """Plans of one network for several numbers of cores."""

    def __init__(self, reading: Reading, chip: Chip, way: str, h_slice: bool, banked: bool, halos: str) -> None:
        self.reading, self.machine, self.way, self.h_slice, self.banked = reading, machine_of(chip), way, h_slice, banked
        self.halos = halos
        self.partitionings: dict[float, Partitioning] = {}
        """By the share of local memory that groups are made for."""
        self.placings: dict[tuple[float, int, bool], _Placing] = {}
        """By the same, the number of cores, and whether groups may keep halos."""

    def ways(self, cores: int = 1) -> tuple[bool, ...]:
        """Whether plans for so many cores are worth making, one with groups that keep halos, and one without: both, where places
        in banks do not tell which of them is the faster.
        """
        if self.halos != "best" or not any(group.slicing.kept for group in self._partition(SMALLER[0], cores, True).groups):
            return (True,)
        kept, again = (self._placing(SMALLER[0], cores, kept).figures() for kept in (True, False))
        if kept is None or again is None:
            return (True, False)
        if kept.cycles >= again.cycles or kept.bytes > again.bytes:
            return (False,)
        return (True,) if SLOWER_NEAR * kept.cycles < again.cycles else (True, False)

    def planned(self, cores: int = 1, kept: bool = True) -> Plan:
        """Groups, and steps and local addresses of each core; without `kept` no groups that keep halos. Raises `PlacementError`
        where they do not fit.
        """
        for share in SMALLER:
            placing = self._placing(share, cores, kept)
            try:
                return Plan(placing.partition, placing.spread, tuple(CorePlan(*placing.placed(core)) for core in range(cores)))
            except PlacementError as error:
                failed = error
        raise failed

    def _placing(self, share: float, cores: int, kept: bool) -> _Placing:
        key = share, cores, kept
        if key not in self.placings:
            made = self._partition(share, cores, kept)
            keeping = self.way != "layers"  # op by op, all goes through global memory
            self.placings[key] = _Placing(self.reading, self.machine, made, cores, keeping, self.banked)
        return self.placings[key]

    def _partition(self, share: float, cores: int, kept: bool) -> Partition:
        if share not in self.partitionings:
            room = replace(self.machine, local_bytes=int(share * self.machine.local_bytes))
            self.partitionings[share] = Partitioning(self.reading.network, room, self.h_slice, self.halos)
        return self.partitionings[share].by(self.way, cores, kept)


class _Figures(NamedTuple):
    """What a plan takes, as far as is known without instructions."""

    cycles: float
    bytes: int
    """Bytes of global memory that are moved, but for copies there."""


class _Placing:
    """Steps of cores that find places in local memory."""

    def __init__(
        self, reading: Reading, machine: Machine, partition: Partition, cores: int, keeping: bool, banked: bool,
    ) -> None:
        self.reading, self.machine, self.partition, self.keeping, self.banked = reading, machine, partition, keeping, banked
        self.spread = spread(reading.network, machine, partition, cores)
        self.found: dict[int, tuple[float, list[Found]]] = {}
        """Of each core steps whose buffers found places in banks, and the share of memory for loads ahead."""
        self.schedules: dict[tuple[int, float, bool, Joining], tuple[Schedule, Timing]] = {}
        """Steps that were made for the share of memory that was looked at last."""

    def figures(self) -> _Figures | None:
        """The figures of the slowest core, before smaller windows are looked for; None where buffers find no place in banks."""
        fastest: list[Found] = []
        for core in range(self.spread.cores) if self.banked else ():
            _, found = self._in_banks(core)
            if not found:
                return None
            fastest.append(min(found, key=lambda each: each[1].cycles))
        tensors = self.reading.network.tensors
        moved = [self.machine.bytes(tensors[part.buffer.tensor], part.box) for steps, _, _ in fastest for part in _parts(steps)]
        return _Figures(max(plan.cycles for _, plan, _ in fastest), sum(moved)) if fastest else None

    def placed(self, core: int) -> tuple[Schedule, LocalPlan]:
        """A core's steps and where its buffers lie. Raises `PlacementError` where they find no place."""
        ahead, found = self._in_banks(core) if self.banked else (0.0, [])
        if not found:
            return self._densely(core)
        many = len(found[0][0].buffers) > MORE
        return narrowed(found, self.machine, (
            self._timed(core, share, True, joining)
            for share in dict.fromkeys((ahead, SHARES[0])) for joining in (JOININGS if many else (*JOININGS, *OTHERS))),
            self._fewer(core, ahead))

    def _fewer(self, core: int, ahead: float) -> Iterator[tuple[Schedule, Timing]]:
        """Steps with less and less loaded ahead."""
        return (self._timed(core, share, True, PLAIN) for share in SHARES if share < ahead)

    def _in_banks(self, core: int) -> tuple[float, list[Found]]:
        """Steps whose buffers find places in banks, with as much loaded ahead as that allows."""
        if core not in self.found:
            buffers = sum(len(self.spread.slices(number, core)) * (group.end - group.start)
                          for number, group in enumerate(self.spread.groups))
            shares = SHARES if buffers <= VERY_MANY else FEW_SHARES
            for ahead in shares:
                self.schedules.clear()
                found = list(self._by_banks(core, ahead))
                if not found and (shares is SHARES or ahead == shares[-1]):
                    found = list(self._by_banks(core, ahead, place_tightly))
                self.found[core] = ahead, found
                if found:
                    break
        return self.found[core]

    def _densely(self, core: int) -> tuple[Schedule, LocalPlan]:
        for ahead in SHARES if not self.banked else SHARES[-1:]:
            ways = [self._timed(core, ahead, True, PLAIN)]
            few = len(ways[0][0].buffers) <= MANY
            if few or not self.banked:
                ways += [self._timed(core, ahead, True, joining) for joining in (*JOININGS[1:], *(OTHERS if few else ()))]
            try:
                dense = [(steps, place_densely(steps, self.machine, cycles, ahead == SHARES[-1])) for steps, cycles in ways]
                best = min(dense, key=lambda each: each[1].cycles)
                least = min(cycles.unhindered() for _, cycles in ways)
                sides = (place_by_sides(cycles, least) for _, cycles in ways)
                best = fewest(chain([best], sides), least) or best
                loose = None if best[1].peak <= NEAR * best[1].bound else looser(self._fewer(core, ahead), self.machine, inf)
                return loose or best
            except PlacementError as error:
                failed = error
        raise failed

    def _by_banks(self, core: int, ahead: float, place: Any = place_by_banks) -> Iterator[Found]:
        """Steps whose buffers find places in banks, and these: with results over operands wherever that can be, and where less
        is needed at once then, and with loads joined in several ways.
        """
        ways = [(True, joining) for joining in JOININGS[:1 if place is place_tightly else None]]
        for over, joining in (*ways, (False, JOININGS[0])):
            steps, cycles = self._timed(core, ahead, over, joining)
            local = place(steps, self.machine, cycles)
            if local is not None:
                yield steps, local, cycles
            if len(steps.buffers) > MANY:
                return

    def _timed(self, core: int, ahead: float, over: bool, joining: Joining) -> tuple[Schedule, Timing]:
        key = core, ahead, over, joining
        if key not in self.schedules:
            steps = schedule(self.reading.network, self.machine, self.spread, ahead, self.keeping, over, joining, core)
            self.schedules[key] = steps, timed(self.reading, self.machine, steps)
        return self.schedules[key]


def _parts(steps: Schedule) -> Iterator[Load | Store]:
    """What is loaded and stored."""
    for each in steps.told():
        match each:
            case Command():
                yield from each.loads
            case Store():
                yield each


def timed(reading: Reading, machine: Machine, steps: Schedule) -> Timing:
    """What tells the cycles of a schedule by the offsets of its buffers."""
    def size(moved: Load | Store) -> int:
        return moved.buffer.sharing * machine.bytes(reading.network.tensors[moved.buffer.tensor], moved.box)

    return Timing(steps, machine, size)


