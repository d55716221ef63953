"""Inputs that stand on borders: halves of integers, zero, and the numbers that a model's constants compare them with.

Noise never is 0.5, and what is midway between two integers, equal to a threshold or 0 is what two ways to round, to compare
and to tell a sign differ in. On such numbers runtimes agree where the model reads them as they are given, or computes of them
without a rounding (`as_given`): there each has the very number, and what the model says of it is all that decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, zip_longest

import numpy as np

from ..analysis.dataflow import has_loops
from ..analysis.landmarks import NOTHING, Landmarks, landmarks_of_inputs
from ..engine.choice import work_of
from ..ir import FloatType, Module, TensorType, input_names, input_types
from ..plugin_host import host
from .further import takes_little
from .inputs import limits_of_inputs, plain_integers, random_inputs
from .larger import MASKS
from .last_bits import still_inputs

__all__ = ["halves_inputs"]

_HALVES = (0.0, *(side * number / 2 for number in range(1, 9) for side in (1, -1)))
"""The numbers that are given to all models, from zero on."""
_MOST = 5
"""So many inputs there are at most where one has fewer elements than there are numbers."""
_APART = 7001
"""The seed is as far from those of other inputs."""


def halves_inputs(source: Module, hub: Module | None, result: Module, seed: int) -> Iterator[dict[str, np.ndarray]]:
    """The inputs, each to be judged: whose floats are such numbers, where the model has a border that they reach exactly.

    They have all of these numbers, on several inputs where one has too few elements; of the smallest, those nearest to zero.
    None for what a rounding of floats takes to one step or the next (`floor(x / 0.3)`), beside whatever reads it exactly; none
    at all where a run takes more than a tenth of a second, nor where places of numbers are chosen: which of two equal ones comes
    first not all frameworks say.
    """
    if hub is None or has_loops(hub) or has_loops(result) or not takes_little(work_of(result)) or _chooses_places(hub):
        return
    asked, limits = landmarks_of_inputs(hub), limits_of_inputs(source, hub)
    ends = zip(input_names(source.main), input_types(source.main), strict=True)
    floats = {number: name for number, (name, type_) in enumerate(ends)
              if isinstance(type_, TensorType) and isinstance(type_.element, FloatType)
              and not asked.get(number, NOTHING).unsteady}
    for with_points in (True, False) if floats else ():
        generator = np.random.default_rng(seed + _APART)
        given = random_inputs(source, hub, seed + _APART, signed=plain_integers(hub))
        numbers = {name: _taken(asked.get(number, NOTHING), limits.get(name, (-MASKS, MASKS)), with_points)
                   for number, name in floats.items()}
        count = max(-(-each.size // max(given[name].size, 1)) for name, each in numbers.items())
        filled = {name: _filled(each, given[name], min(count, _MOST), generator) for name, each in numbers.items() if each.size}
        several = [{**given, **dict(zip(filled, arrays, strict=True))} for arrays in zip(*filled.values(), strict=True)]
        if several and all(still_inputs(hub, each) for each in several):
            yield from several
            return


def _chooses_places(hub: Module) -> bool:
    choices = host().facts("choice")
    return any((fact := choices[op.name]) is not None and fact.results for op in hub.ops())


def _taken(asked: Landmarks, limits: tuple[float, float], with_points: bool) -> np.ndarray:
    """Halves of integers and landmarks, in turn, each once, as far as the model takes them; what is computed of the latter may be
    rounded."""
    least, most = max(asked.least, limits[0]), min(asked.most, limits[1])
    points = sorted((point for point in asked.points if abs(point) <= MASKS), key=abs) if with_points else []
    in_turn = chain.from_iterable(zip_longest(_HALVES, points))
    numbers = np.array([*dict.fromkeys(each for each in in_turn if each is not None)])
    return numbers[(least <= numbers) & (numbers <= most) & ~(asked.divides & (numbers == 0))]


def _filled(numbers: np.ndarray, like: np.ndarray, count: int, generator: np.random.Generator) -> list[np.ndarray]:
    """So many arrays that have each of the numbers as often as any other, or the first where these are too many.

    They come in another order each time: no column has one number alone.
    """
    size = count * like.size
    rows = np.tile(numbers[:size], (-(-size // numbers.size), 1))
    mixed = generator.permuted(rows, axis=1).ravel()[:size]
    return [*mixed.reshape(count, *like.shape).astype(like.dtype)]
