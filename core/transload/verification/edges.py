"""Outputs that are others because a number next to a border came out on its other side: what is rounded to 0 sooner or later.

A sigmoid of -20 is 2e-9, and 0 in runtimes that round it so: whether it is greater than 0, or what its floor is times a number
below 0, is another one then, however right both are. So where outputs break their limits, what they are made of is taken as the
source's own runtime gives it, and moved by as little as nothing tells apart (`floor`, and roundings of each number). What is
computed of whole numbers without a rounding stays (`as_given`): the half of 3 lies between 1 and 2 everywhere. Where each
element is what one of these runs gives, nothing says that it is wrong. It is right where enough of the elements lie next to no
border, and are others than one number throughout would be; else nothing says that it is right either.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from ..analysis.choices import chosen_values, scores_behind
from ..analysis.movement import origins
from ..ir import Module, Value, initial_states
from ..ir.build import constant_of
from .as_given import made_exactly
from .cutting import cut_behind, execute, given_by_name
from .differences import in_view_of
from .offsets import unit_of
from .tolerance import Tolerance

__all__ = ["open_at_edges"]

_ROUNDINGS = 4.0
"""By how many roundings of itself a number is moved besides."""
_TELLING = 0.25
"""The share of elements that no border leaves open, and that are not what most are, from which on the others are excused."""
_MOST = 2
"""Tensors that an output is made of, each of which is moved either way."""


def open_at_edges(
    hub: Module, given: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray],
    suspects: Collection[int], engine: str, tolerance: Tolerance,
) -> dict[int, bool]:
    """The places of the suspects each element of which the runtime's own numbers, next to a border, let be what it is; with
    whether the elements that are next to none tell that it is right.

    `reference` are the runtime's tensors by name, intermediate ones included, with the outputs as the last.
    """
    chosen = chosen_values(hub)
    wanted, got = [*reference.values()][-len(actual):], [*actual.values()]
    exact, found = made_exactly(hub, given), dict[int, bool]()
    for place in suspects:
        right = np.asarray(wanted[place])
        taken = in_view_of(np.asarray(got[place]), right)
        made_of = _named(hub, _made_of(hub.body_of_main.terminator.operands[place], chosen), reference)
        still = {name: exact[value] for name, value in made_of.items() if value in exact}
        if made_of and taken.shape == right.shape and taken.dtype.kind != "c":
            runs = _runs(hub, place, given, made_of, reference, engine, tolerance.floor, still)
            if (tells := _explained(right, taken, runs, tolerance.floor)) is not None:
                found[place] = tells
    return found


def _made_of(output: Value, chosen: Collection[Value]) -> list[Value]:
    """The tensors of floats that an output is computed of, or chosen by; none where there are too many to move."""
    if output in chosen:
        found = scores_behind(output, chosen)
    else:
        makers = [value.op for value in origins(output) if value.op is not None and constant_of(value) is None]
        found = [value for op in makers for value in op.operands if constant_of(value) is None]
    found = list(dict.fromkeys(found))
    return found if len(found) <= _MOST and all(value.is_float for value in found) else []


def _named(hub: Module, values: Sequence[Value], reference: Mapping[str, np.ndarray]) -> dict[str, Value]:
    """The values by their names; none where the runtime does not give all of them as floats that can be moved."""
    names = given_by_name(hub, values, reference)
    return names if all(reference[name].dtype.kind == "f" for name in names) else {}


def _runs(
    hub: Module, place: int, given: Mapping[str, np.ndarray], made_of: Mapping[str, Value], reference: Mapping[str, np.ndarray],
    engine: str, floor: float, still: Mapping[str, np.ndarray],
) -> Iterator[np.ndarray]:
    """An output, computed of the runtime's numbers as they are, first, and then of such as are moved down and up, but for those
    that are `still`, as masks by name."""
    behind, found = cut_behind(hub, place, {name: reference[name].shape for name in made_of})
    before = [*given.values(), *initial_states(hub).values()]
    arrays = [reference[name].reshape(shape) for name, shape in found]
    stays = [still[name].reshape(shape) if name in still else np.False_ for name, shape in found]
    for ways in sorted(product((0, -1, 1), repeat=len(arrays)), key=any):
        moved = (np.where(stay, array, _moved(array, way, floor)) for array, way, stay in zip(arrays, ways, stays, strict=True))
        yield execute(behind, [*before, *moved], engine)[0]


def _moved(array: np.ndarray, way: int, floor: float) -> np.ndarray:
    most = floor + _ROUNDINGS * unit_of(array.dtype) * np.abs(array)
    return (array + way * most).astype(array.dtype) if way else array


def _explained(right: np.ndarray, taken: np.ndarray, runs: Iterator[np.ndarray], floor: float) -> bool | None:
    """None, unless the first run is what the runtime gives, some element that is taken is another, and each is what one of the
    runs gives; else whether elements that all runs have alike tell that it is right."""
    first = in_view_of(next(runs), right)
    if _same(taken, right, floor).all() or first.shape != right.shape or not _same(first, right, floor).all():
        return None
    is_right, stands = _same(first, taken, floor), np.ones(right.shape, bool)
    for run in runs:
        moved = in_view_of(run, right)
        is_right |= _same(moved, taken, floor)
        stands &= _same(moved, right, floor)
    if not is_right.all():
        return None
    numbers, counts = np.unique(right, return_counts=True)
    telling = stands & ~_same(right, np.full_like(right, numbers[counts.argmax()]), floor)
    return bool(telling.mean() >= _TELLING)


def _same(one: np.ndarray, other: np.ndarray, floor: float) -> np.ndarray:
    """Which elements are the same, but for roundings where they are floats."""
    if other.dtype.kind in "iub":
        return np.asarray(one == other)
    with np.errstate(invalid="ignore"):
        return np.isclose(one.astype(np.float64), other.astype(np.float64), rtol=1e-5, atol=floor, equal_nan=True)
