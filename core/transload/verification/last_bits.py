"""A model that rounds its numbers to steps, judged beside itself with the last bits of its inputs moved.

Through a deep network of coarse steps a difference in the last bit of a float grows to any size: one number is rounded to the
next step, a layer on there are ten. No two orders of summation, processors or runtimes then give the same, and what the source's
own runtime gives of inputs that are the next floats is as right as what it gives of these. A result cannot be nearer to it
than that, and where it is as near, nothing says that it is wrong. A model that does not round moves by some 1e-7, and excuses
nothing; nor does one that is given integers, for these have no last bits: each of its results is one number. So is 0: what is
exactly 0 was left out, or is behind a Relu, and of the least float above it a model finds something where there is nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..ir import F32, Module
from ..ir.build import Builder, constant_of
from .differences import TensorDifference, compare_outputs

__all__ = ["excused_by_last_bits", "moved", "with_moved_weights"]

_TRIES = 19
"""How often inputs are moved at most, each time otherwise: of twenty right results one is the farthest."""


def excused_by_last_bits(
    run: Callable[..., dict[str, np.ndarray]], given: Mapping[str, np.ndarray], tensors: Sequence[TensorDifference],
    suspects: Sequence[int], breaks: Callable[[TensorDifference], bool],
    near: Callable[[int], Mapping[str, np.ndarray] | None] | None = None,
) -> dict[int, float]:
    """By their places, those suspects that are no farther from `run(given)` than `run` moves, with the cosine of that.

    `breaks` says whether a difference is more than roundings of floats make; a model that moves by less excuses nothing,
    and what is within that breaks a limit that somebody set. `near(seed)` gives other outputs that are as right, or None where
    there are no more; by default those of inputs that are `moved`.
    """
    excused: dict[int, float] = {}
    reference = run(given)
    if any(breaks(apart) for apart in compare_outputs(reference, run(given))):  # it draws numbers: that says nothing of bits
        return excused
    for seed in range(_TRIES):
        pending = [index for index in suspects if index not in excused and breaks(tensors[index])]
        other = None if not pending else near(seed) if near is not None else _of_moved(run, given, seed)
        if other is None:
            break
        apart = compare_outputs(reference, other)
        for index in pending:
            near_enough = all(tensors[index].metrics[name] >= apart[index].metrics[name] for name in ("cos", "euclid"))
            if near_enough and breaks(apart[index]):
                excused[index] = apart[index].metrics["cos"]
    return excused


def _of_moved(
    run: Callable[..., dict[str, np.ndarray]], given: Mapping[str, np.ndarray], seed: int,
) -> dict[str, np.ndarray] | None:
    inputs = moved(given, seed)
    return None if inputs is None else run(inputs)


def with_moved_weights(module: Module, seed: int) -> Module | None:
    """A new module whose constants of floats are the next floats up or down, or the same, by chance; None where it has none.

    Its sums round otherwise, as in another order: it is as right, where inputs alone, which become integers, move nothing.
    """
    made, random, found = module.clone(), np.random.default_rng(seed), False
    for op in list(made.body_of_main):
        dense = constant_of(op.results[0]) if op.results else None
        if dense is None or op.results[0].element_or_none != F32 or not dense.shape:
            continue
        found = True
        build = Builder(op.parent, op)  # type: ignore[arg-type]
        numbers = _next(dense.numpy(), random)
        op.replace_with([build.constant(numbers, F32, dialect=op.dialect, location=op.results[0].name or op.location)])
    return made if found else None


def moved(given: Mapping[str, np.ndarray], seed: int) -> dict[str, np.ndarray] | None:
    """Inputs whose floats are the next ones up or down, or the same, by chance; None where there is nothing to move."""
    random = np.random.default_rng(seed)
    found = {name: _next(np.asarray(array), random) for name, array in given.items()}
    return found if any(found[name] is not array for name, array in given.items()) else None


def _next(array: np.ndarray, random: np.random.Generator) -> np.ndarray:
    if array.dtype.kind != "f":  # integers, and floats of 16 bits that numpy does not know
        return array
    way = random.integers(-1, 2, array.shape)
    return np.where((way == 0) | (array == 0), array, np.nextafter(array, np.copysign(np.inf, way).astype(array.dtype)))
