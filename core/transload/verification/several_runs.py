"""Outputs of several runs, behind one another: shapes are compared run by run, before any number is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from .differences import TensorDifference, check_number, difference, in_view_of, incomparable, of_plain
from .limits import broken_limits
from .padding import found_alone
from .tolerance import Tolerance

__all__ = ["as_near_as_floats", "beside_floats", "compare_runs", "in_pairs", "joined", "of_other_shapes"]

Outputs = Mapping[str, np.ndarray]


def joined(runs: Sequence[Outputs]) -> dict[str, np.ndarray]:
    """The outputs of several runs behind one another; a lone one as it is."""
    if len(runs) == 1:
        return dict(runs[0])
    of_each = zip(*(run.values() for run in runs), strict=True)
    return {name: _behind(arrays) for name, arrays in zip(runs[0], of_each, strict=True)}


def _behind(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays along their first axis; their numbers in a row where sizes behind that differ, as they do where data decide them."""
    if not arrays[0].ndim:
        return np.stack(arrays)
    alike = len({array.shape[1:] for array in arrays}) == 1
    return np.concatenate(arrays if alike else [array.reshape(-1) for array in arrays])


def compare_runs(reference: Sequence[Outputs], actual: Sequence[Outputs]) -> list[TensorDifference]:
    """Outputs of several runs compared in order: over all runs together, where each has the shapes of its reference.

    An output that has another shape in one of the runs is `incomparable`, with that run's shapes. `UsageError` where one has more
    outputs.
    """
    for wanted, made in zip(reference, actual, strict=True):
        check_number(wanted, made)
    names = [*reference[0]]
    both = [in_pairs(reference, actual, place) for place in range(len(names))]
    return [_compared(name, pairs) for name, pairs in zip(names, both, strict=True)]


def in_pairs(reference: Sequence[Outputs], actual: Sequence[Outputs], place: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """An output of each run beside that of its reference, in the reference's view."""
    found = [([*wanted.values()][place], [*made.values()][place]) for wanted, made in zip(reference, actual, strict=True)]
    return [(np.asarray(wanted), in_view_of(np.asarray(made), np.asarray(wanted))) for wanted, made in found]


def _compared(name: str, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> TensorDifference:
    for wanted, made in pairs:
        if wanted.shape != made.shape:
            return incomparable(name, wanted, f"shape {made.shape}")
    if len(pairs) == 1:
        return difference(name, *pairs[0])
    wanted, made = zip(*pairs, strict=True)
    return difference(name, _behind(wanted), _behind(made))


def beside_floats(
    floats: Sequence[Outputs], actual: Sequence[Outputs], padded: Mapping[str, int | None],
) -> list[TensorDifference]:
    """How what is real of outputs differs from the float model's, which has of `padded` outputs what is found alone."""
    found = [found_alone(there, here, padded)[0] for there, here in zip(floats, actual, strict=True)]
    return [of_plain(each) for each in compare_runs(floats, found)]


def as_near_as_floats(
    padded: Mapping[str, int | None], integers: Iterable[TensorDifference], tolerance: Tolerance,
) -> dict[str, int | None]:
    """Of `padded` outputs those as near to the quantized module's as floats are: of the others, noise says nothing."""
    return {each.name: padded[each.name] for each in integers if each.name in padded and not broken_limits(each, tolerance)}


def of_other_shapes(tensors: Iterable[TensorDifference], tolerance: Tolerance | None) -> list[str]:
    """Which outputs have other shapes than what they are compared with, in words; those that are excepted are not judged."""
    excepts = tolerance.excepts if tolerance is not None else ()
    others = (each for each in tensors if each.note and each.name not in excepts)
    return [f"{each.name}: {each.note}, and has to be of {each.shape}" for each in others]
