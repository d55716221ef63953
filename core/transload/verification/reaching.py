"""Inputs that reach what a model's own constants ask about: the last row of a table, both sides of a threshold, a second step.

Zeros and ones, and noise around zero, reach little of that. So what passed on the usual inputs is run on some whose numbers
are spread over the range in which an input's landmarks lie (`transload.analysis.landmarks`), and stand beside these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..analysis.dataflow import has_loops
from ..analysis.landmarks import Landmarks, landmarks_of_inputs
from ..analysis.movement import any_rounds
from ..engine.choice import work_of
from ..ir import FloatType, IntegerType, Module, TensorType, Type, input_names, input_types
from ..ir.borders import RANGE
from .further import FEW_ELEMENTS, FEW_PRODUCTS
from .inputs import NARROW, index_bounds, plain_integers, random_inputs
from .larger import MASKS

__all__ = ["asked_of_inputs", "reaching_inputs"]

_RUNS = 2
"""How often inputs are drawn so. A single number is one of the upper half of its range, and then one of the lower half."""
_ROUNDS = 64
"""How often a loop of the result, which counts once, is taken to run."""
_APART = 2000
"""Seeds are as far from those of other inputs."""
_USUAL = 2.0
"""Up to here numbers are drawn that nothing is known of."""
_MOST = float(1 << 24)
"""Integers beyond are none that a model asks about, but the ends of a type, or seconds since 1970: as floats they are rounded."""
_SHARES = (1.0, 0.25)
"""How much of a range is drawn from, one after the other for as long as a runtime gives up."""


def reaching_inputs(
    source: Module, hub: Module | None, result: Module, seed: int, floats: bool = True,
) -> Iterator[list[dict[str, np.ndarray]]]:
    """Inputs over the ranges of their landmarks, each of them to be judged; each as a list, of which the first counts that runs.

    None where no input has landmarks out of reach of what is drawn anyway, and where a run takes more than a tenth of a second.
    Without `floats` those of integers alone are asked about.
    """
    if hub is None or has_loops(hub):
        return
    work, rounds = work_of(result), _ROUNDS if has_loops(result) else 1
    if work.products * rounds > FEW_PRODUCTS or work.elements * rounds > FEW_ELEMENTS:
        return
    asked = asked_of_inputs(source, hub, floats)
    names, plain = input_names(source.main), plain_integers(hub)
    for run in range(_RUNS if asked else 0):
        drawn = list[dict[str, np.ndarray]]()
        for share in _SHARES:
            generator = np.random.default_rng(seed + _APART + run)
            given = random_inputs(source, hub, seed + _APART + run, signed=plain)
            for number, landmarks in asked.items():
                array = _over(generator, given[names[number]], _narrowed(landmarks, share), run)
                given[names[number]] = np.where(array == 0, array.dtype.type(1), array) if number in plain else array
            drawn.append(given)
        yield drawn


def asked_of_inputs(source: Module, hub: Module, floats: bool = True) -> dict[int, Landmarks]:
    """The landmarks of inputs, by number, that what is drawn of them otherwise does not reach, between finite limits."""
    bounds, types = index_bounds(hub, "main"), input_types(source.main)
    said = source.main.attributes.get("arg_attrs") or [{}] * len(types)
    rounds, found = any_rounds(hub.ops()), dict[int, Landmarks]()
    for number, landmarks in landmarks_of_inputs(hub).items():
        if number >= len(types) or RANGE in said[number]:
            continue
        if landmarks.as_floats and rounds and (landmarks.unsteady or not landmarks.stepped):
            continue  # each runtime divides by 7 otherwise, and takes what comes to 2.9999999 for 2, or for 3
        element = _drawn_around_zero(types[number], floats)
        within = _ranged(landmarks, element) if element is not None else None
        if within is None or (isinstance(element, IntegerType) and number in bounds and within.most < bounds[number]):
            continue
        found[number] = within
    return found


def _drawn_around_zero(type_: Type, floats: bool) -> FloatType | IntegerType | None:
    """The element type of what is drawn around zero, and not from all that its type holds."""
    element = type_.element if isinstance(type_, TensorType) else None
    if isinstance(element, IntegerType):
        return element if element.width > NARROW else None
    return element if isinstance(element, FloatType) and floats else None


def _ranged(landmarks: Landmarks, element: FloatType | IntegerType) -> Landmarks | None:
    """Landmarks with the range in which all of them show; None where all are small."""
    beyond = _MOST if isinstance(element, IntegerType) else MASKS
    points = [point for point in landmarks.points if max(landmarks.least, -beyond) <= point <= min(landmarks.most, beyond)]
    if not points or max(map(abs, points)) < _USUAL:
        return None
    low, high = min(0, *points), max(0, *points)
    margin = max((high - low) / 8, 1)
    least, most = max(landmarks.least, low - margin if low < 0 else low), min(landmarks.most, high + margin if high > 0 else high)
    if isinstance(element, IntegerType):
        least, most = max(math.ceil(least), element.range[0]), min(math.floor(most), element.range[1])
        points = [math.floor(point) for point in points]
    return replace(landmarks, points=tuple(points), least=least, most=most) if least < most else None


def _narrowed(landmarks: Landmarks, share: float) -> Landmarks:
    """A part of a range, at the end of it that is nearer to zero."""
    around = min(max(landmarks.least, 0), landmarks.most)
    least, most = (around + (end - around) * share for end in (landmarks.least, landmarks.most))
    return replace(landmarks, least=least, most=most, points=tuple(each for each in landmarks.points if least <= each <= most))


def _over(generator: np.random.Generator, like: np.ndarray, landmarks: Landmarks, run: int) -> np.ndarray:
    """Numbers over a range, half of them evenly spread and half beside landmarks."""
    whole, size = like.dtype.kind in "iu", like.size
    low, span = landmarks.least, landmarks.most - landmarks.least
    places = (np.arange(size) * _RUNS + _RUNS - 1 - run + generator.uniform(0.25, 0.75, size)) / max(size * _RUNS, 1)
    drawn = np.floor(low + places * (span + 1)) if whole else low + places * span
    drawn = generator.permutation(drawn)
    if size > 1 and landmarks.points:
        beside = generator.choice(np.asarray(landmarks.points, np.float64), size // 2)
        signs = generator.choice((-1, 1) if landmarks.as_floats or not whole else (-1, 0, 1), size // 2)
        drawn[: size // 2] = beside + signs * (1 if whole else span * generator.uniform(0.01, 0.1, size // 2))
        drawn = generator.permutation(drawn)
    if whole and landmarks.as_floats:  # rounded, as floats are, it may fall to either side
        drawn = np.where(np.isin(drawn, landmarks.points), np.where(drawn < landmarks.most, drawn + 1, drawn - 1), drawn)
    drawn = np.clip(drawn, math.ceil(low) if whole else low, math.floor(landmarks.most) if whole else landmarks.most)
    return np.asarray(drawn.reshape(like.shape).astype(like.dtype))
