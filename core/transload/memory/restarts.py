"""The search with restarts: styles of searching take turns, each going on with what it learned, in more and more nodes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from time import monotonic

import numpy as np

from .skyline import Boxes, Tree, sections_of

__all__ = ["Part"]

FIRST_NODES = 1_000
"""Nodes of a search before another order is tried, where three for each buffer are not more; half as many again each round."""
Style = tuple[Callable[[int, int], float], bool, bool]
STYLES: Sequence[Style] = (
    (lambda length, size: size, False, True),
    (lambda length, size: size, True, True),
    (lambda length, size: size * length ** 0.5, True, False),
    (lambda length, size: size, True, False),
    (lambda length, size: size * length, True, False),
    (lambda length, size: length + size * 1e-15, True, True),
)
"""Searches that take turns: by what buffers are ordered, by length and size, and `bold` and `snug` of `Tree`."""
NOISE = 0.3
"""By how much, in shares of itself, what orders the buffers is changed at random, from the second round on."""
FORGET = 4
"""Rounds after which the search forgets what it learned."""


class Part:
    """Groups that the search places on their own, as rectangles."""

    def __init__(self, groups: np.ndarray, starts: np.ndarray, ends: np.ndarray, sizes: np.ndarray) -> None:
        self.groups = groups
        first, after, self.sections = sections_of(starts.tolist(), ends.tolist())
        self.boxes: Boxes = list(zip(first, after, sizes.tolist(), strict=True))
        self.impossible = False
        """Whether the last search showed that there is no placement."""

    def search(self, capacity: int, nodes: int | None, deadline: float, seed: int) -> list[int] | None:
        """Offsets within the capacity; None where none is found in so many nodes, or before the deadline."""
        self.impossible = False
        for (_, bold, snug), order, weights, last, limit in self._turns(random.Random(seed)):
            tree = Tree(self.boxes, self.sections, capacity, order, weights, last, bold, snug)
            found = tree.search(limit if nodes is None else min(limit, nodes), deadline)
            if found is not None:
                return found
            if not tree.decisions:
                self.impossible = True
                return None
            if nodes is not None:
                nodes -= tree.nodes
                if nodes <= 0:
                    return None
            if monotonic() > deadline:
                return None
        return None

    def _turns(self, chance: random.Random) -> Iterator[tuple[Style, list[int], list[int], list[int], int]]:
        """The styles, again and again: each with an order of buffers, what was learned in it, and a number of nodes."""
        number, nodes, noise = 0, float(max(FIRST_NODES, 3 * len(self.boxes))), 0.0
        while True:
            if number % FORGET == 0:
                learned = [([1] * self.sections, [-1] * len(self.boxes)) for _ in STYLES]
            for style, (weights, last) in zip(STYLES, learned, strict=True):
                keys = [-style[0](after - first, size) * (1 + noise * chance.random()) for first, after, size in self.boxes]
                yield style, sorted(range(len(keys)), key=keys.__getitem__), weights, last, int(nodes)
            number, nodes, noise = number + 1, nodes * 1.5, NOISE
