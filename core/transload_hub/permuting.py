"""Dimensions in another order, with as few of them as show it: for what transposes tensors of few dimensions only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

__all__ = ["merged"]


def merged(shape: Sequence[int], order: Sequence[int]) -> tuple[list[int], list[int]]:
    """The transpose of `shape` by `order` in fewer dimensions: their sizes as they lie, and the order that they come in.

    Dimensions of size 1 are left out, and those that follow one another before and behind are one: `(2, 1, 3, 4)` by
    `(2, 3, 1, 0)` is `(2, 12)` by `(1, 0)`. An order of one dimension, or of none, moves nothing.
    """
    moving = [dim for dim in order if shape[dim] != 1]
    following = dict(pairwise(sorted(moving)))
    runs: list[list[int]] = []
    for dim in moving:
        if runs and following.get(runs[-1][-1]) == dim:
            runs[-1].append(dim)
        else:
            runs.append([dim])
    lying = sorted(runs)
    return [math.prod(shape[dim] for dim in run) for run in lying], [lying.index(run) for run in runs]
