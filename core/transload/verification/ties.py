"""Truths and labels that are others because two scores were nearly the same.

Which of two scores is greater is a matter of roundings where they are as near to one another as right programs are. There
nothing says which label is right, and where scores are coarse, as quantized ones are, such ties are many. So where labels are
others, the scores that they are chosen by are taken as the source's own runtime gives them, and moved: quantized numbers by a
step up or down, floats as far as floats may be from it, beside what varies of them: all scores of a sample may lie on an offset,
which chooses nothing. A label is right where one of these runs gives it. Of truths scores that are computed of whole numbers
without a rounding (`as_given`) stay: 1 is not greater than 1 in any runtime.

What would be right as one label throughout then, every choice being a tie, says nothing, and is not excused. Nor is what chooses
otherwise of the runtime's own scores: there the labels are wrong, and no tie.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import ml_dtypes
import numpy as np

from ..analysis.choices import chosen_values, scores_behind
from ..ir import Module, Value, initial_states
from .as_given import made_exactly
from .cutting import cut_behind, execute, given_by_name
from .differences import in_view_of
from .fineness import step_of
from .offsets import coarsest_behind, measure_offset, rounded_by, unit_behind, unit_of
from .others import others_of
from .scales import largest_of
from .tolerance import Tolerance

__all__ = ["excused_by_ties"]

_RUNS = 64
"""How often scores are moved at most: two that are a step apart change places in a quarter of these, if no third is as near."""
_FINER = 4
"""Floats are moved by as much as they may be, by a tenth of that, and so on, the least first: what finer ties leave open is
right, however many labels coarser ones would."""
_NARROW = (np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
"""Floats that a result may compute with where the model has finer ones."""


def excused_by_ties(
    hub: Module, given: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray], actual: Mapping[str, np.ndarray],
    suspects: Sequence[int], engine: str, tolerance: Tolerance, modules: Sequence[Module] = (),
) -> dict[int, float]:
    """By their places, the chosen outputs that are what ties let them be, with the share of those that are others.

    `reference` are the runtime's tensors by name, intermediate ones included, with the outputs as the last. Outputs whose scores
    it does not name are left out. `modules` are the model and, as the last, the result, `hub` by default: how far scores may be
    moved say the coarsest floats that one of both computes an output with, and what they are rounded to what the result tells
    apart there (`unit_behind`).
    """
    chosen = chosen_values(hub)
    wanted, got = [*reference.values()][-len(actual):], [*actual.values()]
    exact, excused = made_exactly(hub, given), dict[int, float]()
    for place in suspects:
        right = wanted[place]
        taken = in_view_of(np.asarray(got[place]), right)
        scores = given_by_name(hub, scores_behind(hub.body_of_main.terminator.operands[place], chosen), reference)
        if not scores or taken.shape != right.shape:
            continue
        is_of_truths = right.dtype == bool  # which of two equal numbers comes first not all frameworks say
        still = {name: exact[value] for name, value in scores.items() if is_of_truths and value in exact}
        of_both = modules or (hub,)
        units = unit_behind(of_both[-1], place), max(coarsest_behind(module, place) for module in of_both)
        counts = others_of(right, taken)
        if counts is not None and _is_tied(
                right, taken, counts.most_chosen(tolerance.truths),
                (in_view_of(run, right) for run in _moved_runs(
                    hub, place, given, scores, reference, engine, tolerance, units, still))):
            excused[place] = counts.apart / counts.size
    return excused


def _is_tied(right: np.ndarray, taken: np.ndarray, most: float, runs: Iterator[np.ndarray]) -> bool:
    """Whether all but so many labels are what one of the runs gives, and are not whatever label stands everywhere.

    The first run is of scores that are not moved: what does not give the right labels of these chooses otherwise. The second is
    of scores that are rounded: what gives its labels computes with such, and is right even where these are one label.
    """
    first = next(runs)
    if first.shape != right.shape or np.count_nonzero(first != right) > most:
        return False
    labels, counts = np.unique(right, return_counts=True)
    frequent = labels[counts.argmax()]
    is_right, is_constant = taken == right, right == frequent
    if np.count_nonzero((rounded := next(runs)) != taken) <= most:
        return True
    is_right |= rounded == taken
    is_constant |= rounded == frequent
    for number, run in enumerate(runs, 1):
        is_right |= run == taken
        is_constant |= run == frequent
        if is_right.all() or number % (_RUNS // _FINER) == 0:
            if np.count_nonzero(~is_right) <= most < np.count_nonzero(~is_constant):
                return True
            if is_right.all():
                break
    return False


def _moved_runs(
    hub: Module, place: int, given: Mapping[str, np.ndarray], scores: Mapping[str, Value], reference: Mapping[str, np.ndarray],
    engine: str, tolerance: Tolerance, units: tuple[float, float], still: Mapping[str, np.ndarray],
) -> Iterator[np.ndarray]:
    """An output of the module, computed of scores as they are, rounded to coarser floats by the first of the `units`, and then
    moved, each time otherwise, by the second, but for those that are `still`, as masks by name."""
    fine, unit = units
    behind, found = cut_behind(hub, place, {name: reference[name].shape for name in scores})
    held = [(scores[name], reference[name].reshape(shape)) for name, shape in found]
    stays = [still[name].reshape(shape) if name in still else np.False_ for name, shape in found]
    before = [*given.values(), *initial_states(hub).values()]
    random = np.random.default_rng(0)
    yield execute(behind, [*before, *(array for _, array in held)], engine)[0]
    yield execute(behind, [*before, *(_rounded(array, fine) for _, array in held)], engine)[0]
    for run in range(_RUNS):
        part = 0.1 ** (_FINER - 1 - run * _FINER // _RUNS)
        moved = (np.where(stay, array, _moved(value, array, random, part, tolerance, unit))
                 for (value, array), stay in zip(held, stays, strict=True))
        yield execute(behind, [*before, *moved], engine)[0]


def _rounded(array: np.ndarray, unit: float) -> np.ndarray:
    """Scores as floats have them that round by `unit`, where theirs are finer: two numbers may be one of these."""
    narrow = next((dtype for dtype in _NARROW if unit_of(dtype) == unit), array.dtype)
    return array.astype(narrow).astype(array.dtype) if array.dtype.kind == "f" and unit_of(array.dtype) < unit else array


def _moved(
    value: Value, array: np.ndarray, random: np.random.Generator, part: float, tolerance: Tolerance, unit: float,
) -> np.ndarray:
    """A score with each of its elements a step up or down, or, of floats, by a part of what the tolerance lets it."""
    if (quant := value.quant) is not None:
        ways = random.choice((-1, 1), array.shape)
        return np.clip(array.astype(np.int64) + ways, quant.storage_min, quant.storage_max).astype(array.dtype)
    if array.dtype.kind != "f" or not array.size:
        return array  # integers that are computed exactly, and floats of 16 bits that numpy does not know
    if (step := step_of(value, max)) is not None:
        return (array + step * random.choice((-1, 1), array.shape)).astype(array.dtype)
    return (array + random.normal(size=array.shape) * _most(array, tolerance, unit) * part).astype(array.dtype)


def _most(array: np.ndarray, tolerance: Tolerance, unit: float) -> float:
    """How far scores of floats may be from right ones: as the tolerance says of what varies of them, where that is least (without
    their mean, and those of each row and so on), and by roundings of the largest. Numbers of masks are none (`largest_of`)."""
    numbers = array.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    if not finite.size:
        return 0.0
    largest, _, _ = largest_of(finite, finite, np.abs(finite))
    kept = np.where(np.isfinite(numbers) & (np.abs(numbers) <= largest), numbers, np.nan)
    varying = math.sqrt(np.nanmean(kept**2))
    if (offset := measure_offset(kept, kept)) is not None:
        varying *= min(offset.varying)
    return varying * math.sqrt(max(1 - tolerance.cos**2, 0.0)) + rounded_by(unit) * largest
