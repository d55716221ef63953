"""A model beside itself with the last bits of what it computes moved.

What is left of nearly equal numbers is roundings: where tanh(x) is next to 1, `1 - tanh(x)**2`, which its gradient is made of, is
0 in one runtime and 1e-7 in another, and both are right. With the inputs' last bits moved (`last_bits`) it stays what it is: it
is the tanh that runtimes round each in its own way. So a model whose dialect has kernels here is computed with each of its floats
as one of those next to it, and by as much as that moves an output, what its runtime gives is left open. It is the source's own
arithmetic that is moved, never what was made of it: that may be the worse of two ways to compute the same.

What no rounding has reached stays (`as_given`), and so do results that are whole numbers throughout, as those of a floor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..engine.choice import work_of
from ..engine.reference import Execution
from ..engine.steps import elements_of
from ..errors import TransloadError
from ..ir import Module, Value
from .as_given import made_exactly, next_floats

__all__ = ["moved_within"]

_MOST = 2
"""By how many floats a result is moved: functions as tanh are rounded to one of a few."""

_MOST_NUMBERS, _MOST_PRODUCTS = 1 << 22, 1 << 28
"""That the model computes: it is run here twenty times, and what takes longer would end a verification before it says what is
wrong."""

Outputs = dict[str, np.ndarray]


def moved_within(
    source: Module, given: Mapping[str, np.ndarray], reference: Mapping[str, Any],
) -> Callable[[int], Outputs | None]:
    """What gives by a seed other outputs than the `reference`, those of `source` for what is `given`, that are as right.

    It gives None where the source's ops are not all known here, or are many.
    """
    if elements_of(source) > _MOST_NUMBERS or work_of(source).products > _MOST_PRODUCTS:
        return lambda seed: None
    inputs = dict(zip(source.inputs, given.values(), strict=False))
    exact = made_exactly(source, given)
    block = source.body_of_main
    own: list[Any] = []
    try:
        execution = Execution(source, str(source.main.attributes["sym_name"]))
        own = [*execution(inputs).values()]
    except TransloadError:
        return lambda seed: None

    def moved(seed: int) -> Outputs | None:
        random = np.random.default_rng(seed)

        def change(value: Value, array: Any) -> Any:
            computed = value.op is not None and value.op.parent is block and bool(value.op.operands)
            if not computed or not _is_rounded(array):
                return array
            way = random.integers(-_MOST, _MOST + 1, array.shape)
            if value in exact:
                way = np.where(exact[value], 0, way)
            for step in range(1, _MOST + 1):
                array = next_floats(array, np.where(np.abs(way) >= step, np.sign(way), 0))
            return array

        try:
            found = [*execution(inputs, change=change).values()]
        except TransloadError:
            return None
        pairs = zip(reference.items(), found, own, strict=False)
        return {name: _displaced(np.asarray(array), other, before) for (name, array), other, before in pairs}

    return moved


def _is_rounded(array: Any) -> bool:
    """Whether floats of 32 or 64 bits are not whole numbers throughout."""
    if not isinstance(array, np.ndarray) or array.dtype not in (np.float32, np.float64):
        return False
    with np.errstate(invalid="ignore"):
        return not (np.rint(array) == array).all()


def _displaced(reference: np.ndarray, other: np.ndarray, before: np.ndarray) -> np.ndarray:
    """A float output moved by as much as the model moves here; other outputs as they are."""
    if reference.dtype.kind != "f" or other.shape != reference.shape or before.shape != reference.shape:
        return reference
    with np.errstate(invalid="ignore", over="ignore"):
        apart = other.astype(np.float64) - before.astype(np.float64)
        return np.where(np.isfinite(apart), reference + apart, reference).astype(reference.dtype)
