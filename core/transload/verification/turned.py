"""Another input beside a single one that is given: the same numbers, in the other order.

What little of an output varies from input to input, the places of boxes beside their grid, shows in two inputs and not in one.
What is drawn at random may be nothing that the model is for, where somebody gives it real ones. These numbers are real.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..analysis.dataflow import has_loops
from ..engine.choice import work_of
from ..ir import Module
from .larger import MANY_ELEMENTS, MANY_PRODUCTS

__all__ = ["turned_inputs"]


def turned_inputs(given: Mapping[str, np.ndarray], result: Module) -> list[dict[str, np.ndarray]]:
    """Each input from its last number to its first; none where that is the same, or a run takes more than seconds."""
    work = work_of(result)
    if has_loops(result) or work.products > MANY_PRODUCTS or work.elements > MANY_ELEMENTS:
        return []
    turned = {name: np.ascontiguousarray(array.reshape(-1)[::-1]).reshape(array.shape) for name, array in given.items()}
    return [turned] if any(bool((array != given[name]).any()) for name, array in turned.items()) else []
