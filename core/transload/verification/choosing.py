"""Further inputs for outputs that are few choices: of the classes of a classifier each is to be what some of them gives.

A label says which of ten scores is the greatest, and no more: what is wrong with the fifth shows where it is that one, or is
taken for it. Of the handful of inputs that a model is judged on first none may be of that kind. So for as long as a run takes
little time, and outputs hold few choices, there are more runs. On these the choices are compared as they are, and all that is
asked of outputs (limits, excuses) where they are others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from ..analysis.dataflow import has_loops
from ..engine.choice import work_of
from ..engine.steps import size_of
from ..ir import Module
from .inputs import plain_integers, random_inputs

__all__ = ["MOST_TIED", "choosing_inputs"]

MOST_TIED = 3
"""On how many inputs choices may be others by ties until no more are compared: scores are coarse then."""
_RUNS = 128
"""How many there are at most: what is wrong on every thirtieth input is seen on one of so many, 98 times in 100."""
_CHOICES = 1 << 12
"""How many of each output are wanted, where these are fewer runs: each truth of ten may have a bias of its own."""
_SECONDS = 0.1
"""What all runs together may take of the reference engine, about."""
_LEAST = 4
"""Fewer runs say hardly more than those before (`further`)."""
_APART = 2000
"""Their seeds are as far from those of the inputs that are tried first, and from each other."""
_SIDES = (0, 1, 0, -1)
"""Of which half of what is drawn they are, in turn."""


def choosing_inputs(
    source: Module, hub: Module | None, result: Module, chosen: Collection[int], seed: int, signed: bool = True,
) -> Iterator[dict[str, np.ndarray]]:
    """The inputs for a model with outputs that are `chosen`, at these places; none where there are none, or many of each.

    With `signed`, integers are of either sign where nothing but integers is computed of them, as in `attempts`.
    """
    if hub is None or has_loops(result):
        return
    plain = plain_integers(hub) if signed else frozenset[int]()
    for number in range(_runs(result, chosen)):
        yield random_inputs(source, hub, seed + _APART * (1 + number), signed=plain, side=_SIDES[number % len(_SIDES)])


def _runs(result: Module, chosen: Collection[int]) -> int:
    """How many there are of them."""
    outputs = result.body_of_main.terminator.operands
    sizes = [size for place in chosen if place < len(outputs) and (size := size_of(outputs[place]))]
    runs = min(_RUNS, _CHOICES // min(sizes), int(_SECONDS / (work_of(result).reference_seconds or _SECONDS))) if sizes else 0
    return runs if runs >= _LEAST else 0
