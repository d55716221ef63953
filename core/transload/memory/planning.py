"""Placing buffers: a portfolio of heuristics, a search where they are not good enough, and a solver where one is asked for."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import monotonic
from typing import Any

import numpy as np

from ..errors import Finding, InternalError, PlacementError, UsageError
from .buffers import GREATEST, Buffer, Problem, problem_of, shown
from .checking import faults
from .exact import need_solver, solve
from .greedy import FirstFit, improved, orders, replay
from .profile import Bound, Profile, bound_of, profile_of
from .restarts import Part

__all__ = ["Plan", "place", "plan"]

SQUARE = 20_000
"""Groups up to which heuristics may take time that grows with the square of their number."""
SEARCHED = 4_000
"""Groups up to which orders are improved and placements of all searched for."""
ROCKS, TRIES, MISSES = 8, 3, 8
"""How many of the biggest are placed first, at the beginning; in how many ways; numbers without success after which that ends."""
ROCK_NODES, ROCK_PLACED = 4_000, 15_000
"""Nodes of the search for the biggest, and groups placed by the orders that are tried for them."""
NODES = 150_000
"""Nodes of the search where no capacity is given, as the least memory may be more than the bound; an eighth for later targets."""
SECTIONS = 200
"""A node takes time for each section of the time axis: where there are more than these, there are fewer nodes."""
PLACED = 40_000
"""Groups placed, all in all, by orders that are tried where no capacity is given."""
LONGEST = 1e6
"""Seconds that more of them are taken for."""
BIGGEST = 8
"""Buffers listed of those alive where they do not fit."""


@dataclass(frozen=True)
class Plan:
    """A placement: it was checked that nothing which is alive at the same time overlaps."""

    problem: Problem
    by_group: np.ndarray
    bound: Bound
    proved: int
    """No placement needs fewer bytes: the bound, or more where a search came to its end."""
    way: str
    """Which heuristic, search or solver found it."""
    capacity: int | None = None

    @cached_property
    def offsets(self) -> dict[Hashable, int]:
        """The offset of each buffer, by name, in the order in which they were given."""
        return dict(zip(self.problem.names, self.by_group[self.problem.group].tolist(), strict=True))

    @cached_property
    def peak(self) -> int:
        """The bytes that the placement needs."""
        return self.problem.peak(self.by_group)

    @property
    def profile(self) -> Profile:
        """The bytes alive at each step."""
        return profile_of(self.problem)

    @property
    def ratio(self) -> float:
        """The peak in terms of the lower bound; 1 where nothing needs memory."""
        return self.peak / self.bound.bytes if self.bound.bytes else 1.0

    def __str__(self) -> str:
        room = "" if self.capacity is None else f" of {self.capacity:,}"
        best = "the least there is" if self.peak <= self.proved else f"no placement is below {self.proved:,}"
        return (f"{len(self.problem)} buffers in {self.peak:,}{room} bytes, {self.ratio:.4f} of the lower bound of "
                f"{self.bound.bytes:,} at step {self.bound.step}; {best} (by {self.way})")


def place(
    buffers: Iterable[Buffer | tuple[Any, ...]], capacity: int | None = None, exact: bool = False, seconds: float = 60, *,
    alignment: int = 1, seed: int = 0,
) -> dict[Hashable, int]:
    """Offsets of buffers in one memory: `{name: offset}`, such that nothing overlaps that is alive at the same time.

    As `plan`, which says what they need, too.
    """
    return plan(buffers, capacity, exact, seconds, alignment=alignment, seed=seed).offsets


def plan(
    buffers: Iterable[Buffer | tuple[Any, ...]], capacity: int | None = None, exact: bool = False, seconds: float = 60, *,
    alignment: int = 1, seed: int = 0,
) -> Plan:
    """Place buffers in one memory and say what it takes.

    `buffers` are tuples `(name, start, end, size)`, each alive from step `start` until before step `end`, or longer ones as
    `Buffer` has them: with an alignment, an offset that is given, or another buffer whose place is shared. All offsets are
    multiples of `alignment`. With a `capacity` any placement within it will do, and is looked for until `seconds` are over;
    without one, as few bytes as some seconds of looking give. `exact` has OR-Tools improve what was found, or prove that nothing
    is better. The same `seed` gives the same placement, unless time ends the search, or the solver takes part.

    Raises `UsageError` for buffers that cannot be, and where OR-Tools is asked for and not there; `PlacementError` where
    they do not fit.
    """
    begin = monotonic()
    problem = problem_of(buffers, alignment)
    _check_arguments(capacity, seconds, seed)
    capacity = None if capacity is None else min(int(capacity), GREATEST)
    seconds = min(seconds, LONGEST)
    if exact:
        need_solver()
        if problem.groups > SQUARE:
            raise UsageError(f"exact placement is for {SQUARE:,} buffers at most, and there are {problem.groups:,}")
    bound = bound_of(problem)
    _check_fixed(problem)
    if capacity is not None and bound.bytes > capacity:
        raise _does_not_fit(bound, capacity)
    work = _Work(problem, bound, capacity, seed)
    work.run(begin + (seconds / 2 if exact else seconds))
    if exact and not work.is_done:
        work.solve(begin + seconds)
    if problem.peak(work.offsets) > work.limit:
        assert capacity is not None
        raise _does_not_fit(bound, capacity, work)
    wrong = faults(problem, work.offsets[problem.group], capacity)
    if wrong:
        raise InternalError(f"a placement by {work.way} is none", wrong)
    return Plan(problem, work.offsets, bound, work.proved, work.way, capacity)


def _check_arguments(capacity: int | None, seconds: float, seed: int) -> None:
    if capacity is not None and (not isinstance(capacity, (int, np.integer)) or capacity < 0):
        raise UsageError(f"{capacity!r} is no capacity: that is a number of bytes, 0 or more")
    if not isinstance(seconds, (int, float)) or not seconds >= 0:
        raise UsageError(f"{seconds!r} are no seconds: that is a number, 0 or more")
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise UsageError(f"{seed!r} is no seed: that is an integer, 0 or more")


def _check_fixed(problem: Problem) -> None:
    """Buffers whose offsets are given must not be in each other's way."""
    given = np.flatnonzero(problem.fixed[problem.group] >= 0)
    if not len(given):
        return
    only = Problem([problem.names[int(each)] for each in given], problem.start[given], problem.end[given], problem.size[given],
                   problem.alignment, problem.fixed, problem.group[given])
    wrong = faults(only, problem.fixed[only.group])
    if wrong:
        raise UsageError("buffers cannot lie at the offsets that are given", wrong)


def _does_not_fit(bound: Bound, capacity: int, work: _Work | None = None) -> PlacementError:
    """The error for a capacity that is too small: for sure, or as far as was found."""
    least = max(bound.bytes, work.proved if work is not None else 0)
    biggest = [Finding("buffer", f"{size:,} bytes", (shown(name),)) for name, size in bound.alive[:BIGGEST]]
    rest = len(bound.alive) - len(biggest)
    where = f"step {bound.step}, at which {len(bound.alive)} buffers are alive" + (
        f" (the {len(biggest)} biggest are listed)" if rest else "")
    if bound.bytes > capacity:
        return PlacementError(
            f"the buffers do not fit into {capacity:,} bytes: they need {bound.bytes:,} at {where}", biggest,
            hint="split what is alive there, shorten its lifetime, or share places (in-place operations)")
    best = work.problem.peak(work.offsets) if work is not None else None
    found = f"; the best that was found needs {best:,}" if best is not None else ""
    if least > capacity:
        return PlacementError(
            f"the buffers do not fit into {capacity:,} bytes: no placement is below {least:,}, although only {bound.bytes:,} are "
            f"needed at once, at {where}{found}", biggest, best=best)
    return PlacementError(
        f"no placement within {capacity:,} bytes was found: the lower bound is {bound.bytes:,} at {where}{found}", biggest,
        hint="give it more seconds, another seed, or exact=True, by OR-Tools", best=best)


class _Work:
    """The best placement so far, and the ways to a better one."""

    def __init__(self, problem: Problem, bound: Bound, capacity: int | None, seed: int) -> None:
        self.problem, self.capacity, self.seed = problem, capacity, seed
        self.deadline = 0.0
        self.proved = bound.bytes
        self.limit = np.iinfo(np.int64).max if capacity is None else capacity
        self.target = self._attainable() if capacity is None else capacity
        """So few bytes are good enough."""
        self.offsets = np.zeros(problem.groups, np.int64)
        self.way = ""
        """Who found the offsets; nobody so far."""

    @property
    def is_done(self) -> bool:
        return bool(self.way) and self.problem.peak(self.offsets) <= max(self.target, self.proved)

    def offer(self, offsets: np.ndarray | None, way: str) -> bool:
        """Take a placement if it is better than what there is; whether it was."""
        if offsets is None or (self.way and self.problem.peak(offsets) >= self.problem.peak(self.offsets)):
            return False
        self.offsets, self.way = offsets, way
        return True

    def run(self, deadline: float) -> None:
        """Heuristics, the quickest first, then the search, until one of them is good enough."""
        self.deadline = deadline
        problem = self.problem
        for backwards in (False, True):
            self.offer(replay(problem, backwards), "replay")
            if self.is_done:
                return
        if problem.groups > SQUARE:
            return
        placer, best_order = FirstFit(problem), list(range(problem.groups))
        for name, order in orders(problem):
            if self.offer(placer.place(order, deadline=deadline), name):
                best_order = order
            if self.is_done or monotonic() > deadline:
                return
        is_free = self._unit() and not (problem.fixed >= 0).any()
        if is_free and self._is_even():
            self._rocks(placer)
        if self.is_done or problem.groups > SEARCHED:
            return
        if is_free:
            self.search()
        if not self.is_done and self.proved <= self.target:
            rounds = PLACED // problem.groups if self.capacity is None else 1 << 40
            self.offer(improved(placer, best_order, self.offsets, self.target, rounds, deadline, self.seed), "better orders")

    def _rocks(self, placer: FirstFit) -> None:
        """The biggest by the search or better orders, and all others around them: a fifth more of the former each time."""
        problem = self.problem
        starts, ends, sizes = problem.boxes()
        biggest = np.lexsort((starts - ends, -sizes))
        count, misses = ROCKS, 0
        while 2 * count <= np.count_nonzero(sizes) and misses < MISSES:
            misses += 1
            for seed in range(self.seed, self.seed + TRIES):
                given = np.full(problem.groups, -1)
                given[biggest[:count]] = self._placed_rocks(biggest[:count], seed)
                most = problem.peak(self.offsets) - 1
                if self.offer(placer.place(biggest.tolist(), most, self.deadline, given), "the biggest first"):
                    misses = 0
                if self.is_done or monotonic() > self.deadline:
                    return
            count += count // 5 + 1

    def _placed_rocks(self, groups: np.ndarray, seed: int) -> np.ndarray:
        """Offsets of some groups, within the target or near it."""
        part, unit = self._part(groups), self._unit()
        found = part.search(self.target // unit, ROCK_NODES, self.deadline, seed) if seed == self.seed else None
        if found is not None:
            return np.array(found, np.int64) * unit
        rocks = self.problem.only(groups)
        placer, order = FirstFit(rocks), list(range(len(groups)))
        start = placer.place(order)
        assert start is not None  # it was given all the time and room that it needs
        return improved(placer, order, start, self.target, ROCK_PLACED // len(groups), self.deadline, seed)

    def _part(self, groups: np.ndarray) -> Part:
        """Groups for the search, in units of the alignment."""
        starts, ends, sizes = self.problem.boxes()
        return Part(groups, starts[groups], ends[groups], -(-sizes[groups] // self._unit()))

    def _unit(self) -> int:
        """The alignment in whose multiples the search can count, as all others divide it; 0 where there is none."""
        unit = int(self.problem.alignment.max())
        return 0 if (unit % self.problem.alignment).any() else unit

    def _rounded(self) -> int:
        """The bound for what the search counts: sizes in whole units, of the alignment that it has for all."""
        problem, unit = self.problem, self._unit()
        return profile_of(replace(problem, size=-(-problem.size // unit) * unit)).peak

    def _attainable(self) -> int:
        """Fewer bytes are not looked for: where all have one alignment, what is alive at once in whole units of it."""
        return max(self.proved, self._rounded()) if self.problem.groups and self._is_even() else self.proved

    def _is_even(self) -> bool:
        """Whether all have one alignment."""
        return bool((self.problem.alignment == self.problem.alignment[:1]).all())

    def search(self) -> None:
        """Look for a placement within the target; without a capacity, then for the least between it and the best so far."""
        parts, exact = self._parts()
        if self.capacity is not None:
            self._within(parts, self.target, None, exact)
            return
        sections = sum(part.sections for part in parts)
        nodes = max(NODES * SECTIONS // max(SECTIONS, sections), 3 * self.problem.groups)
        least = target = self._rounded()
        while self.problem.peak(self.offsets) > least and monotonic() < self.deadline:
            if not self._within(parts, target, nodes, exact):
                least = target + 1
            target = (least + self.problem.peak(self.offsets)) // 2
            nodes = max(NODES // 8 * SECTIONS // max(SECTIONS, sections), 3 * self.problem.groups)

    def _parts(self) -> tuple[list[Part], bool]:
        """The groups in parts that are never alive together, and whether there is no placement where the search finds none.

        The search knows rectangles in units of the alignment: what is cut off by that is no loss to whoever is content with it.
        """
        problem = self.problem
        starts, ends, sizes = problem.boxes()
        alone = bool((np.bincount(problem.group[problem.size > 0], minlength=problem.groups) <= 1).all())
        alive = np.flatnonzero(sizes > 0)
        alive = alive[np.argsort(starts[alive], kind="stable")]
        reach = np.maximum.accumulate(ends[alive])
        cuts = np.flatnonzero(starts[alive][1:] >= reach[:-1]) + 1
        parts = [self._part(groups) for groups in np.split(alive, cuts)]
        return sorted(parts, key=lambda part: -len(part.groups)), alone and self._unit() == 1

    def _within(self, parts: Sequence[Part], target: int, nodes: int | None, exact: bool) -> bool:
        """Search all parts for placements within `target` bytes, and keep them; False where one has none, or none was found."""
        unit = self._unit()
        offsets = np.zeros(self.problem.groups, np.int64)
        for part in parts:
            found = part.search(target // unit, nodes, self.deadline, self.seed)
            if found is None:
                if part.impossible and exact:
                    self.proved = max(self.proved, target + 1)
                return False
            offsets[part.groups] = np.array(found, np.int64) * unit
        self.offer(offsets, "search")
        return True

    def solve(self, deadline: float) -> None:
        """Have OR-Tools find the least, or show that nothing is below the best; within a capacity, any placement will do."""
        peak = self.problem.peak(self.offsets)
        fits = peak <= self.limit
        solved = solve(
            self.problem, self.proved, min(peak, self.limit), self.offsets if fits else None, deadline - monotonic(), self.seed,
            fewest=self.capacity is None)
        self.proved = max(self.proved, solved.bound)
        self.offer(solved.offsets, "OR-Tools")
