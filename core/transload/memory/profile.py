"""How much is alive at each step: the bound below which no placement can be."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .buffers import Buffer, Problem, problem_of

__all__ = ["Bound", "Profile", "lower_bound", "profile_of"]


@dataclass(frozen=True)
class Profile:
    """`load[i]` bytes are alive from step `steps[i]` until before `steps[i + 1]`; none after the last step."""

    steps: np.ndarray
    load: np.ndarray

    @property
    def peak(self) -> int:
        return int(self.load.max(initial=0))

    @property
    def step(self) -> int:
        """The first step at which the most is alive; 0 where nothing ever is."""
        return int(self.steps[int(self.load.argmax())]) if len(self.load) else 0


@dataclass(frozen=True)
class Bound:
    """The least memory that any placement needs: the greatest sum of sizes alive at once, or where a buffer was told to lie."""

    bytes: int
    step: int
    """The first step at which so much is needed."""
    alive: Sequence[tuple[Hashable, int]]
    """Buffers alive at that step with their sizes, the biggest first."""


def lower_bound(buffers: Iterable[Buffer | tuple[Any, ...]]) -> Bound:
    """The least memory that buffers, as `place` takes them, can be placed in, whoever places them.

    What shares a place counts once at each step, with the biggest that is alive. Raises `UsageError` as `place` does.
    """
    return bound_of(problem_of(buffers))


def bound_of(problem: Problem) -> Bound:
    """As `lower_bound`, of what was checked already."""
    profile = profile_of(problem)
    size, step = profile.peak, profile.step
    top = np.where(problem.fixed[problem.group] >= 0, problem.fixed[problem.group] + problem.size, 0)
    top = np.where(problem.size > 0, top, 0)
    if top.max(initial=0) > size:
        size, step = int(top.max()), int(problem.start[int(top.argmax())])
    alive = np.flatnonzero((problem.start <= step) & (problem.end > step) & (problem.size > 0))
    alive = alive[np.argsort(-problem.size[alive], kind="stable")]
    return Bound(size, step, [(problem.names[int(each)], int(problem.size[each])) for each in alive])


def profile_of(problem: Problem) -> Profile:
    """The bytes alive at each step."""
    counts = np.bincount(problem.group[problem.size > 0], minlength=problem.groups)
    alone = (counts[problem.group] == 1) & (problem.size > 0)
    starts, ends, sizes = problem.start[alone], problem.end[alone], problem.size[alone]
    extra = [_outline(problem, members) for members in problem.members() if len(members) > 1] if counts.max(initial=0) > 1 else []
    at = np.concatenate([starts, ends, *(steps for steps, _ in extra)])
    change = np.concatenate([sizes, -sizes, *(changes for _, changes in extra)])
    steps, where = np.unique(at, return_inverse=True)
    changes = np.zeros(len(steps), np.int64)
    np.add.at(changes, where.reshape(-1), change)
    return Profile(steps, np.cumsum(changes))


def _outline(problem: Problem, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Steps at which the memory of a group changes, and by how much: it is the biggest of the members alive."""
    start, end, size = problem.start[members], problem.end[members], problem.size[members]
    steps = np.unique(np.concatenate([start, end]))
    tallest = np.zeros(len(steps), np.int64)
    for first, last, bytes_ in zip(np.searchsorted(steps, start), np.searchsorted(steps, end), size, strict=True):
        np.maximum(tallest[first:last], bytes_, out=tallest[first:last])
    return steps, np.diff(tallest, prepend=0)
