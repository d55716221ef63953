"""A module with states as a function of its inputs alone: every run is a first one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice

import numpy as np

from ..ir import Module, initial_states
from ..meanings import as_stored

__all__ = ["from_first"]

Outputs = dict[str, np.ndarray]


def from_first(execute: Callable[[Mapping[str, np.ndarray], bool], Outputs], module: Module) -> Callable[
        [Mapping[str, np.ndarray]], Outputs]:
    """What an engine made of a module, run with states as they are at first where they are not given.

    What becomes of the states, which is behind all other outputs, is left out.
    """
    states = as_stored(initial_states(module), module.inputs)

    def run(given: Mapping[str, np.ndarray]) -> Outputs:
        made = execute({**states, **given}, False)
        return dict(islice(made.items(), len(made) - len(states)))

    return run
