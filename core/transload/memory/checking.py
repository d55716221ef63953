"""Whether a placement is one: nothing that is alive at the same time overlaps, and everything lies where it may.

It knows nothing of how placements are found, and judges all of them.
"""

from __future__ import annotations

import heapq
import operator
from bisect import bisect_left, insort
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from ..errors import Finding, UsageError
from .buffers import GREATEST, Buffer, Problem, problem_of, shown

__all__ = ["check", "faults"]


def check(
    buffers: Iterable[Buffer | tuple[Any, ...]], offsets: Mapping[Hashable, int], capacity: int | None = None,
    alignment: int = 1, most: int = 20,
) -> list[Finding]:
    """What is wrong with `offsets`, by name, for `buffers` as `place` takes them; nothing where the placement is right.

    At most `most` findings are given. Time grows as n log n. Raises `UsageError` for buffers that cannot be, and for offsets
    that are no dictionary.
    """
    if not isinstance(offsets, Mapping):
        raise UsageError(f"offsets are a dictionary by the names of buffers, and not of type {type(offsets).__name__}")
    problem = problem_of(buffers, alignment)
    names = set(problem.names)
    for why, those in (
            ("it has no offset", [name for name in problem.names if name not in offsets]),
            ("no buffer has the name of this offset", [name for name in offsets if name not in names]),
            ("its offset is no integer", [name for name in problem.names if name in offsets and not _is_offset(offsets[name])])
    ):
        if those:
            return [Finding("buffer", why, tuple(map(shown, those[:most])), count=len(those))]
    return faults(problem, np.array([offsets[name] for name in problem.names], np.int64).reshape(-1), capacity, most)


def _is_offset(given: Any) -> bool:
    """Whether an offset is an integer that arrays hold; a text or a fraction would become another number."""
    try:
        return -GREATEST < operator.index(given) < GREATEST
    except TypeError:
        return False


def faults(problem: Problem, offsets: np.ndarray, capacity: int | None = None, most: int = 20) -> list[Finding]:
    """As `check`, with the offset of each buffer."""
    return list(islice(_faults(problem, offsets, capacity), most))


def _faults(problem: Problem, offsets: np.ndarray, capacity: int | None) -> Iterator[Finding]:
    group = problem.group
    leader = np.zeros(problem.groups, np.int64)
    leader[group] = offsets
    fixed = problem.fixed[group]
    alive = problem.size > 0
    limit = np.iinfo(np.int64).max if capacity is None else min(capacity, np.iinfo(np.int64).max)
    rules = (
        (offsets < 0, "its offset is below 0"),
        (offsets % problem.alignment[group] != 0, "its offset is no multiple of its alignment"),
        ((fixed >= 0) & (fixed != offsets), "it does not lie at the offset that it was told"),
        (leader[group] != offsets, "it does not lie where the buffer lies whose place it shares"),
        (alive & (offsets > limit - problem.size), "it ends beyond the capacity"))
    for broken, why in rules:
        for place in np.flatnonzero(broken):
            yield Finding("buffer", f"{why} ({int(offsets[place]):,})", (shown(problem.names[int(place)]),))
    for one, other in _overlaps(problem, offsets):
        yield Finding("buffers", f"both are alive at step {int(max(problem.start[one], problem.start[other]))}, and overlap",
                      (shown(problem.names[one]), shown(problem.names[other])))


def _overlaps(problem: Problem, offsets: np.ndarray) -> Iterator[tuple[int, int]]:
    """Pairs of buffers that overlap in time and place: a sweep over time, those alive sorted by where they lie.

    At least one is found where there are any.
    """
    start, end, size, place = (array.tolist() for array in (problem.start, problem.end, problem.size, offsets))
    group = problem.group.tolist()
    alive: list[tuple[int, int]] = []  # offset, buffer
    ending: list[tuple[int, int]] = []
    for new in sorted(np.flatnonzero(problem.size > 0).tolist(), key=start.__getitem__):
        while ending and ending[0][0] <= start[new]:
            gone = heapq.heappop(ending)[1]
            del alive[bisect_left(alive, (place[gone], gone))]
        at = bisect_left(alive, (place[new], -1))
        yield from ((other, new) for other in _in_the_way(alive, at, place, size, group, new))
        insort(alive, (place[new], new))
        heapq.heappush(ending, (end[new], new))


def _in_the_way(
    alive: list[tuple[int, int]], at: int, place: list[int], size: list[int], group: list[int], new: int,
) -> Iterator[int]:
    """Buffers among those alive that overlap a new one, which would be inserted at `at`."""
    for after in range(at, len(alive)):
        other = alive[after][1]
        if place[other] >= place[new] + size[new]:
            break
        if group[other] != group[new]:
            yield other
    # Nothing overlapped before: of what lies further down, only what lies next can reach so far.
    for before in range(at - 1, -1, -1):
        other = alive[before][1]
        if place[other] != place[alive[at - 1][1]]:
            break
        if place[other] + size[other] > place[new] and group[other] != group[new]:
            yield other
