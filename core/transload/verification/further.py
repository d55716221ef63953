"""Further inputs of the usual size: what has passed once is run on them, too, and steps are counted over all.

What is wrong where a remainder is 0, a sum saturates or two numbers are equal is so at one number in tens, and a small model
gives no more of them at a time. A unit that is 0 on all noise around zero may not be on numbers that all have one sign. Which
of equal numbers is the greatest shows where some are: of the bytes that are drawn hardly any are, as saturated pixels may be.
Numbers of all of a range may saturate everywhere, so that a bias shows in small ones alone, or in the smallest; and in a sum
of many of them hardly any is cut off, as it is where each stands at one end or the other.

Where floats are computed with, and inputs are few numbers, there are tens of them more: a hidden unit that is 0 on all but one
input in twenty, or a threshold that is off by little, shows on none of five.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from itertools import takewhile

import numpy as np

from ..analysis.dataflow import has_loops
from ..engine.choice import Work, work_of
from ..engine.steps import size_of
from ..ir import Module
from .inputs import NARROW, limits_of_inputs, plain_integers, random_inputs
from .offsets import has_short_floats

__all__ = ["FEW_ELEMENTS", "FEW_PRODUCTS", "further_inputs", "in_time", "many_inputs", "takes_little"]

_SIDES = (0, 1, -1)
"""Of which half of what is drawn they are, one after the other: of both, of the upper one, and of the lower one."""
_APART = 1000
"""Their seeds are as far from those of the inputs that are tried where outputs say nothing."""
_EQUAL = 4
"""Of how many different numbers integers of few bits are, in a run after the others."""
_NEAR = (1 / 8, 1 / 256)
"""How much of a range, around zero, what has one is drawn from in other runs: a sum of tens of such hardly saturates, or one of
hundreds of the smallest, which are a step of 8 bits away from zero, if any."""
FEW_PRODUCTS, FEW_ELEMENTS = 1 << 24, 1 << 19
"""The work of a run that is worth so many more: a tenth of a second."""
_FEW_OUTPUTS, _COSTLIER = 16, 16
"""A run with outputs of so few numbers in all says little, as all of them may saturate: one more is worth so many times
the work."""
_MANY, _NUMBERS, _SECONDS = 30, 1 << 12, 0.1
"""How many more there are at most for models of floats, how many numbers of the inputs they are together, and what all of them
may take of the reference engine, about."""
_SPREADS = (1, 3, 1 / 2, 1, 2, 1 / 8)
"""Their deviations, in turn: what answers to large numbers alone shows in wide ones, what these saturate in narrow ones."""
_SECONDS_OF_ALL = 5.0
"""After so long there are no more of tens of inputs: a target's own runtime may take longer than our engine."""
_FARTHER = 3001
"""Their seeds are as far from those of the inputs that are tried first, and from each other."""


def further_inputs(
    source: Module, hub: Module | None, result: Module, seed: int, signed: bool = True,
) -> Iterator[dict[str, np.ndarray]]:
    """The inputs, each of them to be judged; none where a run takes more than a tenth of a second.

    Where outputs are a few numbers in all (a classifier of two classes), there is one, though it takes a second.

    With `signed`, integers are of either sign where nothing but integers is computed of them, as in `attempts`.
    """
    if has_loops(result):
        return
    sides = _SIDES if takes_little(work_of(result)) else _SIDES[:1] if _is_worth_one(result) else ()
    plain = plain_integers(hub) if signed and hub is not None else frozenset[int]()
    for number, side in enumerate(sides):
        yield random_inputs(source, hub, seed + _APART + number, signed=plain, side=side)
    if len(sides) < len(_SIDES):
        return
    yield from _within_ranges(source, hub, seed + _APART, plain)


def many_inputs(
    source: Module, hub: Module | None, result: Module, seed: int, signed: bool = True,
) -> Iterator[dict[str, np.ndarray]]:
    """The inputs beside these for a model of floats, each to be judged: the more, the fewer numbers its inputs are; none where
    they are thousands, and where it computes with floats of 16 bits. `signed` as in `further_inputs`."""
    size = sum(map(size_of, result.body_of_main.arguments))
    if hub is None or has_loops(result) or not size or has_short_floats(source, hub, result):
        return
    plain = plain_integers(hub) if signed else frozenset[int]()
    for number in range(min(_MANY, _NUMBERS // size, int(_SECONDS / (work_of(result).reference_seconds or _SECONDS)))):
        spread = _SPREADS[number % len(_SPREADS)]
        yield random_inputs(source, hub, seed + _FARTHER * (1 + number), signed=plain, spread=spread)


def in_time(inputs: Iterable[Mapping[str, np.ndarray]]) -> Iterator[Mapping[str, np.ndarray]]:
    """Of tens of inputs those for which there is time."""
    ends = time.monotonic() + _SECONDS_OF_ALL
    yield from takewhile(lambda _: time.monotonic() <= ends, inputs)


def _within_ranges(
    source: Module, hub: Module | None, seed: int, plain: Container[int],
) -> Iterator[dict[str, np.ndarray]]:
    """Where inputs have ranges: integers of few bits of few numbers, and all near to zero, next to it, and at the ends of what is
    drawn."""
    drawn = random_inputs(source, hub, seed + len(_SIDES), signed=plain)
    narrow = {name for name, array in drawn.items() if _is_narrow(array)}
    ranged = narrow | {name for name in limits_of_inputs(source, hub) if drawn[name].size > 1}

    def chosen(names: Container[str], among: Callable[[np.ndarray], np.ndarray]) -> dict[str, np.ndarray]:
        return {name: generator.choice(among(array), array.shape) if name in names else array for name, array in drawn.items()}

    generator = np.random.default_rng(seed)
    if narrow:
        yield chosen(narrow, lambda array: generator.choice(array.ravel(), _EQUAL))
    if ranged:
        for number, share in enumerate(_NEAR, len(_SIDES) + 1):
            yield random_inputs(source, hub, seed + number, signed=plain, spread=share)
        yield chosen(ranged, lambda array: np.array([array.min(), array.max()]))


def _is_worth_one(module: Module) -> bool:
    size = sum(map(size_of, module.body_of_main.terminator.operands))
    return size <= _FEW_OUTPUTS and takes_little(work_of(module), _COSTLIER)


def takes_little(work: Work, times: int = 1) -> bool:
    """Whether a run takes a tenth of a second at most, or so many `times` as much."""
    return work.products <= times * FEW_PRODUCTS and work.elements <= times * FEW_ELEMENTS


def _is_narrow(array: np.ndarray) -> bool:
    return array.dtype.kind in "iu" and 8 * array.dtype.itemsize <= NARROW and array.size > 1
