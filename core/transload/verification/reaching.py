"""Inputs that reach what a model's own constants ask about: the last row of a table, both sides of a threshold, a second step.

Zeros and ones, and noise around zero, reach little of that. So what passed on the usual inputs is run on some whose numbers
are spread over the range in which an input's landmarks lie (`transload.analysis.landmarks`), and stand beside these; and where
a model asks for numbers that are NaN or infinite, on some that have such.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from ..analysis.dataflow import has_loops
from ..analysis.landmarks import NOTHING, Landmarks, landmarks_of_inputs
from ..analysis.movement import any_rounds, index_operands
from ..engine.choice import work_of
from ..ir import FloatType, IntegerType, Module, TensorType, Type, Value, input_names, input_types
from ..ir.borders import RANGE
from .further import FEW_ELEMENTS, FEW_PRODUCTS
from .inputs import NARROW, index_bounds, nearer_to, plain_integers, random_inputs
from .larger import MASKS

__all__ = ["asked_of_inputs", "reaching_inputs"]

_LEAST_RUNS, _MOST_RUNS = 2, 8
"""How often inputs are drawn so: until there was a number on each side of each landmark, in half of the places.

A single number is one of the upper half of its range, and then one of the lower half.
"""
_SIGNS = (1, -1, 0)
"""On which side of a landmark a number is, or on it."""
_ENDLESS = {"nan": (math.nan,), "inf": (math.inf, -math.inf)}
"""The numbers that are asked for by these words."""
_QUESTION = re.compile(r"is_?(nan|inf|finite)|nan_to_num", re.IGNORECASE)
"""Ops that ask so in any dialect: a conversion may have lost them on the way to the hub."""
_SOME = 4
"""One number in so many is one of those, or one at least."""
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
    runs = _runs(source, asked)
    for run in range(runs):
        drawn = list[dict[str, np.ndarray]]()
        for share in _SHARES:
            generator = np.random.default_rng(seed + _APART + run)
            given = random_inputs(source, hub, seed + _APART + run, signed=plain)
            for number, landmarks in asked.items():
                array = _over(generator, given[names[number]], _narrowed(landmarks, share), (run, runs))
                given[names[number]] = np.where(array == 0, array.dtype.type(1), array) if number in plain else array
            drawn.append(given)
        yield drawn
    if (from_the_end := _from_the_end(source, hub, seed)) is not None:
        yield [from_the_end]
    if floats:
        yield from ([given] for given in _endless_inputs(source, hub, seed))


def _from_the_end(source: Module, hub: Module, seed: int) -> dict[str, np.ndarray] | None:
    """Inputs whose places are counted from the end, below zero, where all ops of the source that take them count so."""
    bounds, names = index_bounds(hub, "main"), input_names(source.main)
    arguments = source.body_of_main.arguments
    counted = {name: bounds[number] for number, name in enumerate(names)
               if bounds.get(number) and _counts_from_end(arguments[number])}
    if not counted:
        return None
    generator = np.random.default_rng(seed + _APART)
    given = random_inputs(source, hub, seed + _APART)
    for name, size in counted.items():
        given[name] = generator.integers(-size, 0, given[name].shape).astype(given[name].dtype)
    return given


def _counts_from_end(argument: Value) -> bool:
    """Whether all that takes an argument takes it as a place that may be counted from the end."""
    places = [index_operands(user).get(place) for user in argument.uses for place, each in enumerate(user.operands)
              if each is argument]
    return bool(places) and all(index is not None and index.counts_from_end for index in places)


def _runs(source: Module, asked: Mapping[int, Landmarks]) -> int:
    """How often inputs are drawn, for all sides of what is asked about the smallest of them."""
    types = input_types(source.main)
    sides = [len(landmarks.points) * len(_SIGNS) / max(_size(types[number]) // 2, 1) for number, landmarks in asked.items()]
    return min(max(_LEAST_RUNS, *map(math.ceil, sides)), _MOST_RUNS) if asked else 0


def _size(type_: Type) -> int:
    shape = type_.shape if isinstance(type_, TensorType) else None
    return math.prod(size or 1 for size in shape or ())


def _endless_inputs(source: Module, hub: Module, seed: int) -> Iterator[dict[str, np.ndarray]]:
    """Inputs of which some numbers are NaN, and some of which some are infinite, where the model asks for these."""
    names, types = input_names(source.main), input_types(source.main)
    said = source.main.attributes.get("arg_attrs") or [{}] * len(types)
    every = frozenset(_ENDLESS) if any(_QUESTION.search(op.name) for op in source.walk()) else frozenset[str]()
    found = landmarks_of_inputs(hub)
    asked = {name: every | found.get(number, NOTHING).endless for number, name in enumerate(names)
             if RANGE not in said[number] and _is_of_floats(types[number])}
    generator = np.random.default_rng(seed + _APART)
    for word, numbers in _ENDLESS.items():
        given = random_inputs(source, hub, seed + _APART)
        taking = [name for name, words in asked.items() if word in words and given[name].size]
        for name in taking:
            array = given[name] = given[name].copy()
            places = generator.permutation(array.size)[: max(array.size // _SOME, 1)]
            array.flat[places] = np.resize(numbers, places.size)
        if taking:
            yield given


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


def _is_of_floats(type_: Type) -> bool:
    return isinstance(type_, TensorType) and isinstance(type_.element, FloatType)


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
    least, most = nearer_to(0, landmarks.least, landmarks.most, share)
    return replace(landmarks, least=least, most=most, points=tuple(each for each in landmarks.points if least <= each <= most))


def _over(generator: np.random.Generator, like: np.ndarray, landmarks: Landmarks, turn: tuple[int, int]) -> np.ndarray:
    """Numbers over a range, half of them evenly spread and half beside landmarks, at this turn of several."""
    whole, size, (run, runs) = like.dtype.kind in "iu", like.size, turn
    low, span = landmarks.least, landmarks.most - landmarks.least
    places = (np.arange(size) * runs + runs - 1 - run + generator.uniform(0.25, 0.75, size)) / max(size * runs, 1)
    drawn = np.floor(low + places * (span + 1)) if whole else low + places * span
    drawn = generator.permutation(drawn)
    if size > 1 and landmarks.points:
        beside, signs = _sides(landmarks, whole, np.arange(size // 2) + run * (size // 2))
        drawn[: size // 2] = beside + signs * (1 if whole else span * generator.uniform(0.01, 0.1, size // 2))
        drawn = generator.permutation(drawn)
    if whole and landmarks.as_floats:  # rounded, as floats are, it may fall to either side
        drawn = np.where(np.isin(drawn, landmarks.points), np.where(drawn < landmarks.most, drawn + 1, drawn - 1), drawn)
    drawn = np.clip(drawn, math.ceil(low) if whole else low, math.floor(landmarks.most) if whole else landmarks.most)
    return np.asarray(drawn.reshape(like.shape).astype(like.dtype))


def _sides(landmarks: Landmarks, whole: bool, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A landmark for each place, and the side of it, one after the other until all were there; of integers it itself, too."""
    signs = _SIGNS[:2] if landmarks.as_floats or not whole else _SIGNS
    turns, of = np.divmod(places, len(landmarks.points))
    return np.asarray(landmarks.points, np.float64)[of], np.asarray(signs)[turns % len(signs)]
