"""A model that rounds its numbers to steps, judged beside itself with the last bits of its inputs moved.

Through a deep network of coarse steps a difference in the last bit of a float grows to any size: one number is rounded to the
next step, a layer on there are ten. No two orders of summation, processors or runtimes then give the same, and what the source's
own runtime gives of inputs that are the next floats is as right as what it gives of these. A result cannot be nearer to it
than that, and where it is as near, nothing says that it is wrong. A model that does not round moves by some 1e-7, and excuses
nothing; nor does one that is given integers, for these have no last bits: each of its results is one number. So is 0: what is
exactly 0 was left out, or is behind a Relu, and of the least float above it a model finds something where there is nothing. So
are floats that the model reads as they are given (`as_given`): the last bit of an id or a label in floats is no noise.

That is asked of each element, too: a result has to be among what the runtime gives, as near to one of these as each of them is
to another. One wrong row of a table is not, wherever an output as a whole moves by as much.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..ir import F32, Dense, Module, Op, Value
from ..ir.build import Builder, constant_of
from .as_given import arguments_by_value, next_floats, read_as_given
from .differences import TensorDifference, compare_outputs, difference, in_view_of, is_as_near
from .offsets import is_real, rounded_by, unit_of

__all__ = ["excused_by_last_bits", "moved", "moved_by_roundings", "still_inputs", "still_weights", "with_moved_weights"]

_TRIES = 19
"""How often inputs are moved, each time otherwise: of twenty right results one is the farthest."""
_TWICE = 2.0
"""How many times as far from the nearest of the others as the farthest right result one may lie: how far that is, few say."""
_ROUNDINGS = 1e-5
"""Of a number: what no run moves by more stands still."""


def excused_by_last_bits(
    run: Callable[..., dict[str, np.ndarray]], given: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray],
    tensors: Sequence[TensorDifference], suspects: Sequence[int], breaks: Callable[[TensorDifference], bool],
    near: Callable[[int], Mapping[str, np.ndarray] | None] | None = None, still: Mapping[str, np.ndarray] | None = None,
    chosen: bool = False,
) -> dict[int, TensorDifference]:
    """By their places, those suspects that are no farther from `run(given)` than `run` moves, with how far that is.

    `tensors` are the differences of the outputs `actual` from the reference. `breaks` says whether a difference is more than
    roundings of floats make; a model that moves by less excuses nothing, and what is within that breaks a limit that somebody
    set. `near(seed)` gives other outputs that are as right, or None where there are no more; by default those of inputs that are
    `moved`, but for what is `still` (`still_inputs`). Each element has to be near one of these outputs, too (`_is_among`). Of
    labels and truths, which are `chosen`, that alone says which are left open: how far labels are apart says nothing.
    """
    excused: dict[int, TensorDifference] = {}
    reference = run(given)
    if any(breaks(apart) for apart in compare_outputs(reference, run(given))):  # it draws numbers: that says nothing of bits
        return excused
    pending = [index for index in suspects if breaks(tensors[index]) and not tensors[index].note]
    right = {index: [array] for index, array in enumerate(reference.values()) if index in pending}
    for seed in range(_TRIES if pending else 0):
        other = near(seed) if near is not None else _of_moved(run, given, seed, still)
        if other is None:
            break
        apart = compare_outputs(reference, other)
        for index, array in enumerate(other.values()):
            if index not in right or apart[index].note:
                continue
            right[index].append(array)
            near_enough = chosen or is_as_near(tensors[index], apart[index])
            if index not in excused and near_enough and breaks(apart[index]):
                excused[index] = apart[index]
    arrays = [*actual.values()]
    return {index: moves for index, moves in excused.items() if _is_among(arrays[index], right[index], breaks)}


def _of_moved(
    run: Callable[..., dict[str, np.ndarray]], given: Mapping[str, np.ndarray], seed: int, still: Mapping[str, np.ndarray] | None,
) -> dict[str, np.ndarray] | None:
    inputs = moved(given, seed, still)
    return None if inputs is None else run(inputs)


# --- element by element


def _is_among(actual: np.ndarray, right: Sequence[np.ndarray], breaks: Callable[[TensorDifference], bool]) -> bool:
    """Whether each element is near one of those of the `right` results, the first of which is the reference.

    Near enough is what breaks no limit beside the nearest of them, nor beside the reference where none of them moves. Or what
    is no more than `_TWICE` as far from the nearest as the farthest of them is from the others: of elements that may be any
    number twenty results tell little.
    """
    reference, taken = right[0], in_view_of(actual, right[0])
    nearest, still = _nearest(taken, right)
    near_enough = not breaks(difference("", nearest, taken))
    stands = not breaks(difference("", reference, np.where(still, taken, reference)))
    if near_enough and stands:
        return True
    whole, most, where_still = _distances(taken, nearest, still)
    ours = (0.0, 0.0, where_still) if near_enough else (whole, most, 0.0 if stands else where_still)
    farthest = [0.0] * len(ours)
    for index, each in enumerate(right):
        others = [other for place, other in enumerate(right) if place != index]
        farthest = [*map(max, farthest, _distances(each, *_nearest(each, others)))]
        if all(our <= _TWICE * theirs for our, theirs in zip(ours, farthest, strict=True)):
            return True
    return False


def _nearest(array: np.ndarray, right: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """For each element that of the `right` arrays which is nearest to it, and whether they all have the same there."""
    nearest, least = right[0], _apart(array, right[0])
    still, size = np.ones(array.shape, bool), np.nan_to_num(_wide(right[0]))
    for other in right[1:]:
        apart = _apart(array, other)
        nearest, least = np.where(apart < least, other, nearest), np.minimum(apart, least)
        still &= _apart(other, right[0]) <= _ROUNDINGS * np.abs(size)
    return nearest, still


def _distances(array: np.ndarray, nearest: np.ndarray, still: np.ndarray) -> tuple[float, float, float]:
    """How far an array lies from what is nearest to it: on the whole, at most, and where the others stand still."""
    apart = _apart(array, nearest)
    with np.errstate(over="ignore"):  # as far as can be
        return math.sqrt(np.mean(apart**2)), float(apart.max()), math.sqrt(np.sum(apart[still] ** 2))


def _apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The distance of each two elements, in float64: 0 of the same infinity or NaN, infinite beside another."""
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(_wide(a) - _wide(b))
        return np.where((a == b) | ((a != a) & (b != b)), 0.0, np.where(np.isnan(apart), np.inf, apart))


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


# --- what is moved


def still_inputs(module: Module, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """By name, which elements of inputs, given in the module's order, are read as they are given (`as_given`), as masks."""
    arguments = arguments_by_value(module, given)
    found = read_as_given(module, arguments, arguments)
    return {name: found[argument] for name, argument in zip(given, arguments, strict=False) if argument in found}


def still_weights(module: Module, given: Mapping[str, np.ndarray]) -> dict[Value, np.ndarray]:
    """Which elements of a module's weights are read as they are, as masks: numbers that others are compared with."""
    weights = {op.results[0]: dense.numpy() for op in module.body_of_main if (dense := _weights(op)) is not None}
    return read_as_given(module, {**arguments_by_value(module, given), **weights}, weights)


def _weights(op: Op) -> Dense | None:
    dense = constant_of(op.results[0]) if op.results else None
    return dense if dense is not None and op.results[0].element_or_none == F32 and dense.shape else None


def with_moved_weights(module: Module, seed: int, still: Mapping[Value, np.ndarray] | None = None) -> Module | None:
    """A new module whose constants of floats are the next floats up or down, or the same, by chance; None where it has none.

    Its sums round otherwise, as in another order: it is as right, where inputs alone, which become integers, move nothing.
    `still` says by the module's values what is not moved (`still_weights`).
    """
    made, random, found = module.clone(), np.random.default_rng(seed), False
    for before, op in zip(list(module.body_of_main), list(made.body_of_main), strict=True):
        dense = _weights(op)
        if dense is None:
            continue
        found = True
        build = Builder(op.parent, op)  # type: ignore[arg-type]
        numbers = _next(dense.numpy(), random, (still or {}).get(before.results[0]))
        op.replace_with([build.constant(numbers, F32, dialect=op.dialect, location=op.results[0].name or op.location)])
    return made if found else None


def moved(
    given: Mapping[str, np.ndarray], seed: int, still: Mapping[str, np.ndarray] | None = None,
) -> dict[str, np.ndarray] | None:
    """Inputs whose floats are the next ones up or down, or the same, by chance; None where there is nothing to move.

    `still` are masks, by name, of what is not moved.
    """
    random = np.random.default_rng(seed)
    found = {name: _next(np.asarray(array), random, (still or {}).get(name)) for name, array in given.items()}
    return found if any(found[name] is not array for name, array in given.items()) else None


def _next(array: np.ndarray, random: np.random.Generator, still: np.ndarray | None) -> np.ndarray:
    if array.dtype.kind != "f":  # integers, and floats of 16 bits that numpy does not know
        return array
    way = random.integers(-1, 2, array.shape)
    return array if still is not None and still.all() else next_floats(array, way if still is None else np.where(still, 0, way))


def moved_by_roundings(
    given: Mapping[str, np.ndarray], unit: float | None = None, still: Mapping[str, np.ndarray] | None = None,
) -> dict[str, np.ndarray]:
    """Inputs whose floats are moved by as much as roundings of a network add up to, in float32, or by a coarser `unit`.

    `still` are masks, by name, of what is not moved.
    """
    random = np.random.default_rng(0)
    far = rounded_by(max(unit or 0.0, unit_of(np.dtype(np.float32))))

    def of(name: str, array: np.ndarray) -> np.ndarray:
        way = random.choice((-1, 1), array.shape)
        way = np.where(still[name], 0, way) if still is not None and name in still else way
        return (array * (1 + far * way)).astype(array.dtype)

    return {name: of(name, array) if is_real(array) else array for name, array in given.items()}
