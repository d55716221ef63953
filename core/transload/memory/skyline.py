"""Search for a placement within a capacity: branch where the skyline has the fewest ways to go on.

Time is cut into sections, as many as there are largest sets of buffers alive at once. What is placed makes a skyline over them. A
valley is a run of sections of one height with higher ones beside it. In a placement from which no buffer can drop, the floor of a
valley at its left end is either under a buffer that begins right there and ends within the valley, or stays empty up to where
something wider lies; the right end likewise. These are the branches, few in number, and all valleys can be looked at for the
fewest. How much may stay empty is known for each section: the capacity less what has to be placed there. An end at which nothing
may be empty and nothing fits ends a branch, and so does a hole that a buffer could drop into.

After a dead end the search goes back to the latest decision that had to do with it: for each section it is known which decisions
made it what it is. Sections that ended branches weigh more when the next place to branch is chosen, buffers are tried first
where they lay last, and the search starts again from time to time with another order of trying.

Source: canonical placements and the bound by sections are ideas of Moffitt, MiniMalloc (ASPLOS 2023), and going back to what
caused a dead end one of Maas et al., TelaMalloc (ASPLOS 2023); branching at the ends of valleys comes from skyline heuristics of
two-dimensional packing (Burke, Kendall, Whitwell 2004), weights from Boussemart et al. (2004), Prosser (1993) has the jumps.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

__all__ = ["Boxes", "Tree", "sections_of"]

CLOSED = 1 << 62
"""The height of a section on which nothing is left to be placed, and of those beyond the first and the last."""
CLOCK = 255
"""The clock is looked at after so many nodes."""

Boxes = Sequence[tuple[int, int, int]]
"""Buffers as rectangles: first section, section after the last, size."""


def sections_of(starts: Sequence[int], ends: Sequence[int]) -> tuple[list[int], list[int], int]:
    """First section of each buffer and the one after its last, and how many there are.

    A section is a largest set of buffers alive at once: one begins where a buffer starts after others have ended.
    """
    begins, closes = set(starts), set(ends)
    first: dict[int, int] = {}
    after: dict[int, int] = {}
    section, opened = -1, False
    for step in sorted(begins | closes):
        if step in closes:
            opened = False
            after[step] = section + 1
        if step in begins:
            section += not opened
            opened = True
            first[step] = section
    return [first[step] for step in starts], [after[step] for step in ends], section + 1


class _Decision:
    """A place where the search branches: what is still to be tried at the end of a valley, and what to blame if all fails."""

    __slots__ = ("at", "blame", "choices", "height", "left", "mark", "right")

    def __init__(self, choices: list[int], at: int, height: int, left: int, right: int, mark: int) -> None:
        self.choices, self.at, self.height, self.left, self.right, self.mark = choices, at, height, left, right, mark
        self.blame = 0


class Tree:
    """One depth-first search. Heights are doubled in here: an odd one says that nothing lies directly upon the even one below it.

    `order` is that in which buffers are tried; `weights` (by section, 1 or more) and `last` (by buffer, where it lay, -1 for
    nowhere) are read and written, so that the next search goes on with what this one learned. `bold` divides the number of
    choices by the weight; otherwise weights only decide between equal numbers. `snug` tries first what fits between its walls.
    """

    def __init__(
        self, boxes: Boxes, sections: int, capacity: int, order: Sequence[int], weights: list[int], last: list[int],
        bold: bool = False, snug: bool = True,
    ) -> None:
        self.first = [box[0] for box in boxes]
        self.after = [box[1] for box in boxes]
        self.tall = [2 * box[2] for box in boxes]
        self.rank = {box: rank for rank, box in enumerate(order)}
        self.beginning: list[list[int]] = [[] for _ in range(sections + 1)]
        self.ending: list[list[int]] = [[] for _ in range(sections + 1)]
        for box in order:
            self.beginning[self.first[box]].append(box)
            self.ending[self.after[box]].append(box)
        self.sections, self.weights, self.last, self.bold, self.snug = sections, weights, last, bold, snug
        self.offsets = [-1] * len(boxes)
        self.placed = [False] * len(boxes)
        self.left = len(boxes)
        self.nodes = 0
        # Section s is at s + 1 in `height` and `causes`, between two walls. `causes` are bits: decision i is bit i.
        self.height = [CLOSED + 2, *([0] * sections), CLOSED + 2]
        self.causes = [0] * (sections + 2)
        self.open = [0] * sections
        self.limit = [2 * capacity] * sections
        self.top = [-1] * sections
        for first, after, tall in zip(self.first, self.after, self.tall, strict=True):
            for section in range(first, after):
                self.limit[section] -= tall
                self.open[section] += 1
        for section in range(sections):
            if not self.open[section]:
                self.height[section + 1] = CLOSED
        self.trail: list[tuple[int, int, list[int], list[int], list[int]]] = []
        self.decisions: list[_Decision] = []

    def search(self, nodes: int, deadline: float) -> list[int] | None:
        """The offsets of a placement within the capacity; None where none was found.

        That was after so many nodes, at the deadline (of `monotonic`), or because there is none: then `decisions` is empty.
        """
        if min(self.limit, default=0) < 0:
            return None
        while self.left:
            self.nodes += 1
            conflict = self._decide()
            if not self._advance(conflict):
                return None
            if self.nodes >= nodes or (not self.nodes & CLOCK and monotonic() > deadline):
                return None
        return [offset >> 1 for offset in self.offsets]

    def _decide(self) -> int | None:
        """Fill what can only stay empty, and put the next decision on the stack; where none can lead on, the blame for it."""
        height = self.height
        while True:
            choice: tuple[int, int, int, bool] | None = None
            fewest = float("inf")
            start, before = 1, height[0]
            while start <= self.sections:
                here = height[start]
                stop = start + 1
                while height[stop] == here:
                    stop += 1
                beyond = height[stop]
                if before > here < beyond and here < CLOSED:
                    wall = before if before < beyond else beyond
                    if here & 1:
                        break
                    for right in (False, True) if stop - start > 1 else (False,):
                        ways = self._ways(start - 1, stop - 1, here, wall, right)
                        if not ways:
                            return self._blame(start, stop)
                        if ways < fewest:
                            fewest, choice = ways, (start - 1, stop - 1, here, right)
                before, start = here, stop
            else:
                assert choice is not None  # what is left is over sections, the lowest of which are a valley
                self.decisions.append(self._decision(*choice))
                return None
            if not self._raise(start, stop, here, wall):
                return self._blame(start, stop)

    def _ways(self, left: int, right: int, height: int, wall: int, at_right: bool) -> float:
        """How promising it is to branch at one end of a valley: about the number of ways to go on, 0 where there are none."""
        if at_right:
            section = right - 1
            first, placed = self.first, self.placed
            fitting = [box for box in self.ending[right] if not placed[box] and first[box] >= left]
        else:
            section = left
            after, placed = self.after, self.placed
            fitting = [box for box in self.beginning[left] if not placed[box] and after[box] <= right]
        tall, limit = self.tall, self.limit[section]
        filled = 0
        for box in fitting:
            filled += tall[box]
        # What does not fit in here lies above the lower wall: up to there, only this fills the valley.
        ways = len(fitting) + (height < limit)
        if not ways or limit + filled < wall < CLOSED:
            self.weights[section] += 1
            return 0
        return ways / self.weights[section] if self.bold else ways - 1e-9 * self.weights[section]

    def _raise(self, start: int, stop: int, height: int, wall: int) -> bool:
        """Lift a floor that stays empty to its lower wall; False where that is too much, or a buffer could drop into the hole."""
        placed, after, tall, depth = self.placed, self.after, self.tall, wall - height + 1
        for section in range(start - 1, stop - 1):
            if wall > self.limit[section]:
                self.weights[section] += 1
                return False
            for box in self.beginning[section]:
                if not placed[box] and after[box] < stop and tall[box] <= depth:
                    return False
        self.trail.append((-1, start, self.height[start:stop], self.causes[start:stop], []))
        self.height[start:stop] = [wall] * (stop - start)
        self.causes[start:stop] = [self._blame(start, stop)] * (stop - start)
        return True

    def _blame(self, start: int, stop: int) -> int:
        """The decisions that made a valley and its walls."""
        blame = 0
        for cause in self.causes[start - 1:stop + 1]:
            blame |= cause
        return blame

    def _decision(self, left: int, right: int, height: int, at_right: bool) -> _Decision:
        """What can be tried at one end of a valley, the most promising last; -1 is to leave it empty."""
        first, after, tall, placed, last = self.first, self.after, self.tall, self.placed, self.last
        boxes = self.ending[right] if at_right else self.beginning[left]
        section = right - 1 if at_right else left
        seen: set[tuple[int, int, int]] = set()
        again: list[int] = []
        others: list[int] = []
        for box in boxes:
            if placed[box] or first[box] < left or after[box] > right:
                continue
            shape = (first[box], after[box], tall[box])
            if shape in seen or self._exchanged(box, height):
                continue
            seen.add(shape)
            (again if last[box] == height else others).append(box)
        if self.snug and len(others) > 1:
            before, beyond = self.height[left], self.height[right + 1]

            def fit(box: int) -> int:
                end = height + tall[box]
                begins, ends = first[box] == left, after[box] == right
                return -((begins and end == before) + (ends and end == beyond) + (begins and ends))

            others.sort(key=fit)
        choices = [*again, *others, *([-1] if height < self.limit[section] else [])]
        choices.reverse()
        return _Decision(choices, section, height, left, right, len(self.trail))

    def _exchanged(self, box: int, height: int) -> bool:
        """Whether a buffer would lie upon one with the same lifetime that comes after it: the other way round is tried, too."""
        first = self.first[box]
        under = self.top[first]
        return (under >= 0 and self.first[under] == first and self.after[under] == self.after[box]
                and self.rank[under] > self.rank[box] and self.offsets[under] + self.tall[under] == height)

    def _advance(self, conflict: int | None) -> bool:
        """Take the next choice of the latest decision; after a conflict, of the latest to blame. False where all failed."""
        decisions = self.decisions
        while decisions:
            decision = decisions[-1]
            self._undo(decision.mark)
            bit = 1 << len(decisions) - 1
            if conflict is not None:
                if not conflict & bit:
                    decisions.pop()
                    continue
                decision.blame |= conflict ^ bit
                conflict = None
            if decision.choices:
                self._take(decision.choices.pop(), decision, bit)
                return True
            conflict = decision.blame | self._blame(decision.left + 1, decision.right + 1)
            decisions.pop()
        return False

    def _take(self, box: int, decision: _Decision, bit: int) -> None:
        """Place a buffer on the floor of a valley, or leave its end empty."""
        if box < 0:
            at = decision.at + 1
            self.trail.append((-1, at, [decision.height], [self.causes[at]], []))
            self.height[at] |= 1
            self.causes[at] |= bit
            return
        first, after, tall = self.first[box], self.after[box], self.tall[box]
        height, causes, limit, still = self.height, self.causes, self.limit, self.open
        self.trail.append((box, first + 1, height[first + 1:after + 1], causes[first + 1:after + 1], self.top[first:after]))
        self.top[first:after] = [box] * (after - first)
        height[first + 1:after + 1] = [decision.height + tall] * (after - first)
        for section in range(first, after):
            limit[section] += tall
            causes[section + 1] |= bit
            still[section] -= 1
            if not still[section]:
                height[section + 1] = CLOSED
        self.placed[box] = True
        self.offsets[box] = self.last[box] = decision.height
        self.left -= 1

    def _undo(self, mark: int) -> None:
        """Take back what was done since the trail had `mark` entries."""
        trail, limit, still = self.trail, self.limit, self.open
        while len(trail) > mark:
            box, start, heights, causes, tops = trail.pop()
            self.height[start:start + len(heights)] = heights
            self.causes[start:start + len(causes)] = causes
            if box < 0:
                continue
            first, after, tall = self.first[box], self.after[box], self.tall[box]
            self.top[first:after] = tops
            for section in range(first, after):
                limit[section] -= tall
                still[section] += 1
            self.placed[box] = False
            self.left += 1
