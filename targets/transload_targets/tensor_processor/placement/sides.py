"""Two sides of a border of banks: where each buffer lies, and when what is loaded, so that little memory keeps queues apart.

What is alive at once may be less than a bank. A window over one border has two sides then: what is moved into one of them does
not wait for what computes in the other. An op that reads from both keeps the DMA from moving. So which loads are one command,
when it is given, and on which side it puts them depend on each other, and are looked for together, by simulated annealing:
changes are made by chance, and one for the worse is kept the less often the longer that goes on. Both queues are followed in
time for each change, with two sides in place of banks.

Source: S. Kirkpatrick, C. Gelatt, M. Vecchi, "Optimization by Simulated Annealing", Science 220, 1983.
"""

from __future__ import annotations

from copy import deepcopy
from math import exp
from random import Random

from ..groups.commands import begin
from ..groups.steps import Buffer, Command, Schedule, used_at
from .sided import HIGH, LOW, Facts, Sided
from .timing import Timing
from .windows import Place, Window, given, places_of

__all__ = ["by_sides", "is_small"]

MOST = 100
"""Places of a schedule beyond which their sides are not looked for."""
CHANGES = 60
"""Changes that are tried for each place."""
HOT, COLD = 0.003, 0.0005
"""Parts of all cycles by which a change for the worse is kept about every third time, at the beginning and at the end."""
TOO_MUCH = 0.1
"""Parts of all cycles that it counts as if the window were twice too small."""
GIVEN = 2_000
"""Places that are given at most to find out whether those of a side find holes."""


def is_small(made: Schedule) -> bool:
    """Whether sides are looked for: of few places, on one core, where no rows stay for the next slice."""
    return not made.barriers and not any(step.carries for step in made.steps) and 0 < len(set(places_of(made).values())) <= MOST


def by_sides(timing: Timing, near: float, enough: float) -> tuple[Schedule, dict[Buffer, int]] | None:
    """A schedule with its loads at other times, and offsets in a window of `near` times what is alive at once in it, that take as
    few cycles as are found; no fewer are looked for where these are `enough`. None where none is found, and of a schedule that is
    not small.
    """
    if not is_small(timing.made):
        return None
    facts = Facts.of(timing)
    found = _Annealing(facts, near).run(enough)
    return None if found is None else _placed(facts, found, timing, near)


class _Annealing:
    """Changes by chance; the same each time."""

    def __init__(self, facts: Facts, near: float) -> None:
        self.facts, self.near, self.random = facts, near, Random(0)

    def run(self, enough: float) -> Sided | None:
        """The way of the fewest cycles that fits into the window; None where none does."""
        facts, random = self.facts, self.random
        now = facts.begun()
        cycles, over = facts.cost(now, self.near)
        heat, each = HOT * cycles, TOO_MUCH * cycles / max(facts.room, 1)
        cost, best = cycles + each * over, (float("inf"), now)
        changes = CHANGES * len(facts.places)
        cooling = (COLD / HOT) ** (1 / changes)
        for _ in range(changes):
            heat *= cooling
            tried = self._changed(now)
            if tried is None:
                continue
            cycles, over = facts.cost(tried, self.near)
            more = cycles + each * over - cost
            if more > 0 and random.random() >= exp(-more / heat):
                continue
            now, cost = tried, cost + more
            if not over and cycles < best[0]:
                best = cycles, now
                if cycles <= enough:
                    break
        return best[1] if best[0] < float("inf") else None

    def _changed(self, way: Sided) -> Sided | None:
        """A way with one change by chance; None where that is none."""
        change = self.random.choices(
            (self._together, self._apart, self._flip, self._swap, self._flip_command, self._shift, self._join, self._split,
             self._pass), (2, 2, 2, 2, 4, 3, 1, 1, 2))[0]
        changed = change(way)
        return changed if changed is not None and self.facts.can_be(changed) else None

    # --- sides

    def _together(self, way: Sided) -> Sided:
        """All that some steps use on one side."""
        first, side = self.random.randrange(self.facts.slots), self._side()
        return way.on(self.facts.used(first, first + self._some(2)), side)

    def _apart(self, way: Sided) -> Sided:
        """What a command loads on one side, and what steps use meanwhile on the other."""
        if not way.starts:
            return self._together(way)
        number, side = self._command(way), self._side()
        first = way.slots[number]
        meanwhile = way.on(self.facts.used(first, first + self._some(5)), LOW + HIGH - side)
        return meanwhile.on(self.facts.loaded(way, number), side)

    def _flip(self, way: Sided) -> Sided:
        return way.flipped([self.random.randrange(len(way.sides))])

    def _flip_command(self, way: Sided) -> Sided:
        return way.flipped(self.facts.loaded(way, self._command(way))) if way.starts else self._flip(way)

    def _swap(self, way: Sided) -> Sided:
        """All that begins to be used within some steps on the other side than it was."""
        first = self.random.randrange(self.facts.slots)
        last = first + self._some(8)
        return way.flipped([place for place, use in enumerate(self.facts.first_used) if first <= use < last])

    # --- commands

    def _shift(self, way: Sided) -> Sided | None:
        """A command some slots earlier or later."""
        if not way.starts:
            return None
        number = self._command(way)
        return way.told(number, 1, [(way.starts[number], way.slots[number] + self.random.choice((-3, -2, -1, 1, 2, 3)))])

    def _join(self, way: Sided) -> Sided | None:
        """Two commands as one."""
        if len(way.starts) < 2:
            return None
        number = self.random.randrange(1, len(way.starts))
        return way.told(number, 1, [])

    def _split(self, way: Sided) -> Sided | None:
        """A command as two."""
        if not way.starts:
            return None
        number = self._command(way)
        points = self.facts.points_of(way, number)
        if len(points) < 2:
            return None
        cut = self.random.choice(points[1:])
        return way.told(number + 1, 0, [(cut, way.slots[number] + self._some(3) - 1)])

    def _pass(self, way: Sided) -> Sided | None:
        """Loads of one command to the next, or back."""
        if len(way.starts) < 2:
            return None
        number = self.random.randrange(1, len(way.starts))
        return way.told(number, 1, [(way.starts[number] + self.random.choice((-2, -1, 1, 2)), way.slots[number])])

    def _command(self, way: Sided) -> int:
        return self.random.randrange(len(way.starts))

    def _side(self) -> int:
        return self.random.choice((LOW, HIGH))

    def _some(self, mean: float) -> int:
        """A number from 1 on, small ones more often."""
        return 1 + int(self.random.expovariate(1 / mean))


def _placed(facts: Facts, way: Sided, timing: Timing, near: float) -> tuple[Schedule, dict[Buffer, int]] | None:
    """The schedule with its loads as a way has them, and offsets on its sides; None where these are too narrow."""
    side_of = [way.sides[place] for place in facts.place_of]  # of each buffer
    made = _told(facts, way, timing.made)
    places = places_of(made)
    sides = {places[buffer]: side for buffer, side in zip(made.buffers, side_of, strict=True)}
    low, high = ([place for place, side in sides.items() if side == which] for which in (LOW, HIGH))
    machine = timing.machine
    bank, grain = machine.local_bytes // machine.banks, machine.eu_bytes
    window = int(near * made.room) // grain * grain
    least = _most(low), _most(high)
    for slack in sorted({0, (window - sum(least)) // (2 * grain) * grain, window - sum(least)}):
        size = least[0] + slack
        border = -(-size // bank) * bank
        if slack < 0 or border - size + window > machine.local_bytes:
            continue
        offsets: dict[Place, int] = {}
        for each, span in ((low, Window(border - size, border)), (high, Window(border, border - size + window))):
            found = given(each, machine, span, GIVEN)
            if found is None:
                break
            offsets |= found
        else:
            return made, {buffer: offsets[place] for buffer, place in places.items()}
    return None


def _most(places: list[Place]) -> int:
    """The most bytes of places at once."""
    return max((sum(place.size for place in places if place.first <= slot <= place.last)
                for slot in {place.first for place in places}), default=0)


def _told(facts: Facts, way: Sided, before: Schedule) -> Schedule:
    """A copy of a schedule with the commands of a way."""
    made = deepcopy(before)
    loads = facts.loads_of(made)
    for step in made.steps:
        step.commands.clear()
    for number, slot in enumerate(way.slots):
        command = Command([load for point in facts.points_of(way, number) for load in loads[point]], slot, slot)
        made.steps[slot].commands.append(command)
        for load in command.loads:
            load.slot = slot
    begin([load for point in loads for load in point], made.steps)
    return Schedule(made.steps, made.buffers, max(used_at(made.buffers, len(made.steps)), default=0))
