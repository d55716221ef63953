"""Whether outputs follow what little varies of them from input to input, where a comparison runs on several."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress

import numpy as np

from ..errors import PluginFailure, RunError
from ..ir import Module
from .kinds import OutputKinds
from .last_bits import moved_by_roundings
from .steady import Steady

__all__ = ["Following", "Inputs", "moved_as_far"]

Inputs = Mapping[str, np.ndarray]


def moved_as_far(
    steady: Steady, places: Collection[int], inputs: Iterable[Inputs], execute: Callable[[Inputs], Inputs], unit: float | None,
) -> set[int]:
    """The places of the outputs that the model itself, which `execute` runs, moves as far from what varies, of inputs that are
    moved by roundings."""
    runs = list[tuple[list[np.ndarray], list[np.ndarray]]]()
    for given in inputs:
        with suppress(RunError, PluginFailure, MemoryError):
            runs.append(([*execute(given).values()], [*execute(moved_by_roundings(given, unit)).values()]))
    return {place for place in places
            if steady.is_as_near(place, [(own[place], other[place]) for own, other in runs
                                         if own[place].shape == other[place].shape])}


class Following:
    """What a model, which `execute` runs, and its artifact gave on several inputs."""

    def __init__(self, hub: Module, kinds: OutputKinds, execute: Callable[[Inputs], Inputs]) -> None:
        self._kinds, self._execute = kinds, execute
        self._steady, self._inputs = Steady(hub, kinds), list[Inputs]()

    def note(self, given: Inputs, reference: Inputs, actual: Inputs) -> None:
        """Take in what both gave of some inputs."""
        self._inputs.append(given)
        self._steady.note([*given.values()], [*reference.values()], [*actual.values()])

    def broken(self, names: Sequence[str], excepts: Collection[str] = ()) -> list[str]:
        """What is wrong with the outputs, of these names, that do not follow."""
        broken = {place for place in self._steady.broken() if names[place] not in excepts}
        own = moved_as_far(self._steady, broken, self._inputs, self._execute, self._kinds.unit) if broken else set[int]()
        return [self._steady.said(place, names[place]) for place in sorted(broken - own)]
