"""Groups, steps and local addresses of a network on so many cores, with less ahead and smaller groups where those cannot be had.

Each core has steps and addresses of its own. Cores that move at the same time share the bandwidth of global memory: that is what
the steps of a group on several cores are planned by.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from transload.errors import PlacementError

from ..chip import Chip
from ..groups.commands import PLAIN, Joining
from ..groups.machine import Machine
from ..groups.partition import Partition, Partitioning
from ..groups.reading import Reading, machine_of
from ..groups.schedule import schedule
from ..groups.spread import Spread, spread
from ..groups.steps import Load, Schedule, Store
from ..placement.local import Cycles, Found, LocalPlan, narrowed, place_by_banks, place_densely, place_tightly
from ..placement.timing import cycles_of

__all__ = ["CorePlan", "Plan", "Planning", "timed"]

SHARES = (1.0, 0.95, 0.9, 0.8, 0.65, 0.5, 0.25, 0.0)
"""Shares of local memory that loads done ahead may fill, tried one after the other until buffers can be placed."""
SMALLER = (1.0, 0.95, 0.85, 0.7, 0.5)
"""Shares of local memory that groups are made for, where buffers of those before could not be placed."""

MANY = 400
"""Buffers beyond which one way is tried, for what that takes."""
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


class Planning:
    """Plans of one network for several numbers of cores."""

    def __init__(self, reading: Reading, chip: Chip, way: str, h_slice: bool, banked: bool, halos: str) -> None:
        self.reading, self.machine, self.way, self.h_slice, self.banked = reading, machine_of(chip), way, h_slice, banked
        self.halos = halos
        self.partitionings: dict[float, Partitioning] = {}
        """By the share of local memory that groups are made for."""

    def planned(self, cores: int = 1, kept: bool = True) -> Plan:
        """Groups, and steps and local addresses of each core; without `kept` no groups that keep halos. Raises `PlacementError`
        where they do not fit.
        """
        keeping = self.way != "layers"  # op by op, all goes through global memory
        for share in SMALLER:
            made = self._partition(share, cores, kept)
            over_cores = spread(self.reading.network, self.machine, made, cores)
            placing = _Placing(self.reading, self.machine, over_cores, keeping, self.banked)
            try:
                return Plan(made, over_cores, tuple(CorePlan(*placing.placed(core)) for core in range(cores)))
            except PlacementError as error:
                failed = error
        raise failed

    def _partition(self, share: float, cores: int, kept: bool) -> Partition:
        if share not in self.partitionings:
            room = replace(self.machine, local_bytes=int(share * self.machine.local_bytes))
            self.partitionings[share] = Partitioning(self.reading.network, room, self.h_slice, self.halos)
        return self.partitionings[share].by(self.way, cores, kept)


class _Placing:
    """Steps of cores that find places in local memory."""

    def __init__(self, reading: Reading, machine: Machine, spread: Spread, keeping: bool, banked: bool) -> None:
        self.reading, self.machine, self.spread, self.keeping, self.banked = reading, machine, spread, keeping, banked

    def placed(self, core: int) -> tuple[Schedule, LocalPlan]:
        """A core's steps and where its buffers lie. Raises `PlacementError` where they find no place."""
        buffers = sum(len(self.spread.slices(number, core)) * (group.end - group.start)
                      for number, group in enumerate(self.spread.groups))
        shares = SHARES if buffers <= VERY_MANY else FEW_SHARES
        found: list[Found] = []
        for ahead in shares if self.banked else ():
            some = list(self._by_banks(core, ahead))
            if not some and (shares is SHARES or ahead == shares[-1]):
                found += self._by_banks(core, ahead, place_tightly)
            found += some
            if some:
                break
        return narrowed(found, self.machine) if found else self._densely(core)

    def _densely(self, core: int) -> tuple[Schedule, LocalPlan]:
        for ahead in SHARES if not self.banked else SHARES[-1:]:
            ways = [self._scheduled(core, ahead, True, joining) for joining in JOININGS]
            try:
                dense = [(steps, place_densely(
                    steps, self.machine, timed(self.reading, self.machine, steps), ahead == SHARES[-1])) for steps in ways]
                return min(dense, key=lambda each: each[1].cycles)
            except PlacementError as error:
                failed = error
        raise failed

    def _by_banks(self, core: int, ahead: float, place: Any = place_by_banks) -> Iterator[Found]:
        """Steps whose buffers find places in banks, and these: with results over operands wherever that can be, and where less
        is needed at once then, and with loads joined in several ways.
        """
        ways = [(True, joining) for joining in JOININGS[:1 if place is place_tightly else None]]
        for over, joining in (*ways, (False, JOININGS[0])):
            steps = self._scheduled(core, ahead, over, joining)
            cycles = timed(self.reading, self.machine, steps)
            local = place(steps, self.machine, cycles)
            if local is not None:
                yield steps, local, cycles
            if len(steps.buffers) > MANY:
                return

    def _scheduled(self, core: int, ahead: float, over: bool, joining: Joining) -> Schedule:
        return schedule(self.reading.network, self.machine, self.spread, ahead, self.keeping, over, joining, core)


def timed(reading: Reading, machine: Machine, steps: Schedule) -> Cycles:
    """What tells the cycles of a schedule by the offsets of its buffers."""
    def size(moved: Load | Store) -> int:
        return moved.buffer.sharing * machine.bytes(reading.network.tensors[moved.buffer.tensor], moved.box)

    return lambda offsets: cycles_of(steps, offsets, machine, size)


