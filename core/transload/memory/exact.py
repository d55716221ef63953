"""The least memory that there is, or that a placement within the capacity is none, by a solver: CP-SAT of OR-Tools."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from threading import Event, Thread
from typing import Any

import numpy as np

from ..errors import UsageError
from .buffers import Problem

__all__ = ["Solved", "solve"]


@dataclass(frozen=True)
class Solved:
    """What the solver says."""

    offsets: np.ndarray | None
    """By group; None where it found none."""
    bound: int
    """It proved that no placement needs less."""


def need_solver() -> None:
    """Raise `UsageError` where OR-Tools is not installed."""
    try:
        import ortools.sat.python.cp_model  # noqa: F401
    except ImportError:
        raise UsageError("exact placement needs the package ortools", hint="pip install 'transload[memory]'") from None


def solve(
    problem: Problem, least: int, most: int, start: np.ndarray | None, seconds: float, seed: int, fewest: bool = True,
) -> Solved:
    """Look for offsets that need the fewest bytes, from `least` to `most`; without `fewest`, for any that need at most these.

    `start` are offsets to begin with. The solver takes all cores, and is stopped by an interrupt as by the end of `seconds`.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    peak = model.new_int_var(least, most, "peak")
    places = []
    times, spaces, demands = [], [], []
    for group, members in enumerate(problem.members()):
        unit, fixed = int(problem.alignment[group]), int(problem.fixed[group])
        tallest = int(problem.size[members].max(initial=0))
        slots = model.new_int_var(0, max(0, most - tallest) // unit, f"place {group}")
        places.append(slots)
        if fixed >= 0:
            model.add(slots * unit == fixed)
        if not len(members):
            continue
        model.add(slots * unit + tallest <= peak)
        if start is not None:
            model.add_hint(slots, int(start[group]) // unit)
        # Buffers that share a place are one rectangle for each stretch in which the same of them are alive.
        for first, after, size in _stretches(problem, members):
            times.append(model.new_fixed_size_interval_var(first, after - first, ""))
            spaces.append(model.new_fixed_size_interval_var(slots * unit, size, ""))
            demands.append(size)
    model.add_no_overlap_2d(times, spaces)
    model.add_cumulative(times, demands, peak)
    if fewest:
        model.minimize(peak)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(seconds, 0.01)
    solver.parameters.random_seed = seed & 0x7FFFFFFF
    solver.parameters.catch_sigint_signal = False
    solver.parameters.symmetry_level = 2
    status = _interruptible(solver, model)
    if status == cp_model.INFEASIBLE:
        return Solved(None, most + 1)
    bound = max(least, int(np.ceil(solver.best_objective_bound - 1e-6))) if fewest else least
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Solved(None, bound)
    return Solved(np.array([solver.value(place) for place in places], np.int64) * problem.alignment, bound)


def _stretches(problem: Problem, members: np.ndarray) -> list[tuple[int, int, int]]:
    """First step, step after the last, and bytes of the stretches of time in which a group needs as much."""
    if len(members) == 1:
        each = members[0]
        return [(int(problem.start[each]), int(problem.end[each]), int(problem.size[each]))]
    steps = sorted({int(step) for step in (*problem.start[members], *problem.end[members])})
    found: list[tuple[int, int, int]] = []
    for first, after in pairwise(steps):
        alive = members[(problem.start[members] <= first) & (problem.end[members] > first)]
        size = int(problem.size[alive].max(initial=0))
        if found and found[-1][1:] == (first, size):
            found[-1] = (found[-1][0], after, size)
        elif size:
            found.append((first, after, size))
    return found


def _interruptible(solver: Any, model: Any) -> Any:
    """Solve in a thread, so that Ctrl-C is heard, and ends it."""
    done: list[Any] = []
    ended = Event()

    def work() -> None:
        try:
            done.append(solver.solve(model))
        finally:
            ended.set()

    thread = Thread(target=work, daemon=True)
    thread.start()
    try:
        while not ended.wait(0.1):
            pass
    except BaseException:
        solver.stop_search()
        thread.join()
        raise
    return done[0]
