"""Heuristics: buffers one by one in some order, each where it fits, and better orders from what the last one came to.

`FirstFit` takes any order, and time that grows with the square of the number of buffers, in steps of numpy; `replay` goes
through time as an allocator would, and takes n log n.

Source: greedy by size and by breadth are of Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference (2020);
better orders by changing those that the peak is made of, of Arm's Vela and, before it, of Joslin and Clements, Squeaky Wheel
Optimization (1999).
"""

from __future__ import annotations

import heapq
import random
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from time import monotonic

import numpy as np

from .buffers import Problem
from .profile import profile_of

__all__ = ["FirstFit", "improved", "orders", "replay"]


def orders(problem: Problem) -> Iterator[tuple[str, list[int]]]:
    """Orders of groups in which to place them, with their names."""
    starts, ends, sizes = problem.boxes()
    long = ends - starts
    keys = {
        "size": (-long, -sizes), "breadth": (-long, -sizes, -_breadth(problem, starts, ends)), "lifetime": (-sizes, -long),
        "area": (-sizes, -(long.astype(float) * sizes)), "start": (-sizes, starts)}
    for name, key in keys.items():
        yield name, np.lexsort(key).tolist()


def _breadth(problem: Problem, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """For each group, the most that is alive at a step of its lifetime: by a table of the greatest of 2^k neighbours."""
    profile = profile_of(problem)
    if not len(profile.load):
        return np.zeros(len(starts), np.int64)
    first, after = np.searchsorted(profile.steps, starts), np.searchsorted(profile.steps, ends)
    count = np.maximum(after - first, 1)
    level = np.log2(count).astype(int)
    greatest, table = np.zeros(len(starts), np.int64), profile.load
    for each in range(int(level.max(initial=0)) + 1):
        here = np.flatnonzero(level == each)
        low = np.minimum(first[here], len(table) - 1)
        high = np.clip(after[here] - (1 << each), 0, len(table) - 1)
        greatest[here] = np.maximum(table[low], table[high])
        table = np.maximum(table, np.concatenate([table[1 << each:], np.zeros(min(1 << each, len(table)), np.int64)]))
    return greatest


class FirstFit:
    """Places groups one after another, each at the lowest offset at which it fits; those with a fixed offset come first."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.members = problem.members()

    def place(
        self, order: Sequence[int], most: int | None = None, deadline: float = float("inf"), given: np.ndarray | None = None,
    ) -> np.ndarray | None:
        """Offsets by group; None where they would need more than `most` bytes, or more time than there is.

        Groups that are not -1 in `given` lie there, as others do that are fixed.
        """
        problem = self.problem
        offsets = np.zeros(problem.groups, np.int64)
        count = 0
        # What is placed so far, one entry a buffer.
        start, end, low, high = (np.empty(len(problem), np.int64) for _ in range(4))
        fixed = problem.fixed if given is None else given
        for number, group in enumerate([*np.flatnonzero(fixed >= 0).tolist(), *(each for each in order if fixed[each] < 0)]):
            members = self.members[group]
            offset = int(fixed[group])
            if offset < 0:
                offset = self._lowest(group, start[:count], end[:count], low[:count], high[:count])
            offsets[group] = offset
            for each in members.tolist():
                start[count], end[count] = problem.start[each], problem.end[each]
                low[count], high[count] = offset, offset + problem.size[each]
                if most is not None and high[count] > most:
                    return None
                count += 1
            if not number & 63 and monotonic() > deadline:
                return None
        return offsets

    def _lowest(self, group: int, start: np.ndarray, end: np.ndarray, low: np.ndarray, high: np.ndarray) -> int:
        """The lowest offset at which no buffer of a group meets what lies at `low` to `high` from `start` to `end`."""
        problem = self.problem
        lows, highs = [], []
        for each in self.members[group]:
            others = np.flatnonzero((start < problem.end[each]) & (end > problem.start[each]))
            lows.append(low[others] - problem.size[each])  # between this and `high`, exclusive, it cannot lie
            highs.append(high[others])
        if not lows:
            return 0
        lows_, highs_ = (lows[0], highs[0]) if len(lows) == 1 else (np.concatenate(lows), np.concatenate(highs))
        by_low = np.argsort(lows_)
        free = np.empty(len(by_low) + 1, np.int64)
        free[0] = 0
        np.maximum.accumulate(highs_[by_low], out=free[1:])
        alignment = int(problem.alignment[group])
        if alignment > 1:
            free = -(-free // alignment) * alignment
        fits = free[:-1] <= lows_[by_low]
        where = int(fits.argmax()) if len(fits) else 0
        return int(free[where]) if len(fits) and fits[where] else int(free[-1])


def improved(
    placer: FirstFit, order: list[int], offsets: np.ndarray, target: int, rounds: int, deadline: float, seed: int,
) -> np.ndarray:
    """Better offsets by better orders: what ends above the others is placed earlier than what it met, again and again.

    Ends at `target` bytes, after so many rounds, or at the deadline.
    """
    problem, chance = placer.problem, random.Random(seed)
    starts, ends, sizes = problem.boxes()
    best, least = offsets, problem.peak(offsets)
    base = list(order)
    for _ in range(rounds):
        if least <= target or monotonic() > deadline:
            break
        tops = np.where(sizes > 0, best + sizes, 0)
        worst = chance.choice(np.flatnonzero(tops == tops.max()).tolist())
        others = np.flatnonzero((starts < ends[worst]) & (ends > starts[worst]) & (sizes > 0)).tolist()
        trial = list(base)
        for moved in (worst, chance.choice(others)):
            rival = chance.choice(others)
            one, other = trial.index(moved), trial.index(rival)
            if one > other:
                trial.insert(other, trial.pop(one))
            else:
                trial[one], trial[other] = trial[other], trial[one]
        found = placer.place(trial, least, deadline)
        if found is not None:  # an order that is as good may lead on
            base, best, least = trial, found, problem.peak(found)
    return best


def replay(problem: Problem, backwards: bool = False) -> np.ndarray:
    """Offsets by group as an allocator gives them that is asked in the order of time: the smallest hole that is large enough.

    With `backwards`, time runs the other way. Everything lies above what is fixed.
    """
    starts, ends, sizes = problem.boxes()
    fixed = problem.fixed >= 0
    top = int((problem.fixed + sizes)[fixed].max(initial=0))
    sizes = np.where(fixed, 0, sizes)
    if backwards:
        starts, ends = -ends, -starts
    offsets = np.maximum(problem.fixed, 0).tolist()
    holes: list[tuple[int, int]] = []  # size, offset
    by_start: dict[int, int] = {}
    by_end: dict[int, int] = {}
    ending: list[tuple[int, int, int]] = []
    alignment = problem.alignment.tolist()

    def free(low: int, high: int) -> None:
        nonlocal top
        if low in by_end:
            size = by_end.pop(low)
            del holes[bisect_left(holes, (size, low - size))], by_start[low - size]
            low -= size
        if high in by_start:
            size = by_start.pop(high)
            del holes[bisect_left(holes, (size, high))], by_end[high + size]
            high += size
        if high == top:
            top = low
        else:
            insort(holes, (high - low, low))
            by_start[low] = by_end[high] = high - low

    start, end, tall = starts.tolist(), ends.tolist(), sizes.tolist()
    for group in sorted(np.flatnonzero(sizes > 0).tolist(), key=lambda each: (start[each], -tall[each])):
        while ending and ending[0][0] <= start[group]:
            free(*heapq.heappop(ending)[1:])
        size, unit = tall[group], alignment[group]
        for place in range(bisect_left(holes, (size, -1)), len(holes)):
            room, low = holes[place]
            offset = -(-low // unit) * unit
            if offset + size <= low + room:
                del holes[place], by_start[low], by_end[low + room]
                break
        else:
            low, offset = top, -(-top // unit) * unit
            room = offset + size - low
            top = offset + size
        offsets[group] = offset
        heapq.heappush(ending, (end[group], offset, offset + size))
        for one, other in ((low, offset), (offset + size, low + room)):
            if one < other:
                insort(holes, (other - one, one))
                by_start[one] = by_end[other] = other - one
    return np.array(offsets, np.int64).reshape(-1)
