"""Whether outputs say anything: a check that would pass whatever was computed is none.

A network that is given noise may answer with zeros, with NaN, or with numbers that all lie at an end of their type. Two
programs that agree there need not agree anywhere else. Such outputs are found here, and other inputs tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ..ir import Module
from .inputs import plain_integers, random_inputs
from .offsets import is_constant, unit_of
from .tolerance import Tolerance

__all__ = ["Tried", "attempts", "is_informative", "is_nan_throughout", "is_saturated"]

_SPREADS = (1.0, 1.0, 0.1, 10.0, 100.0)
"""Standard deviations of random float inputs, tried in this order."""
SATURATED = 0.02
"""Chances that are all nearer to 0 or 1 hide what they are of: whatever has the same ones there is within the usual tolerance."""


@dataclass(frozen=True)
class Tried:
    """What a model was run on, in words, and what to do where its outputs said nothing there."""

    inputs: str
    others: str

    @classmethod
    def of(cls, *, given: bool) -> Tried:
        """Inputs that were given are not asked for once more: others are."""
        return cls("the inputs given", "others") if given else cls("all inputs tried", "real inputs")

    def said_nothing(self, names: Iterable[str]) -> str:
        """Why outputs of these names are no proof."""
        return (f"{', '.join(names)}: constant, empty, saturated or not finite on {self.inputs}, as it might be whatever is "
                f"computed; give {self.others} with --input NAME=FILE")


def is_informative(output: np.ndarray, chosen: bool = False) -> bool:
    """Whether an output would differ between programs that compute different things.

    It would not where it is empty, where no element is finite, where all elements of several are the same, but for what floats
    are rounded by or may differ by, and where every element of an 8- or 16-bit integer output is the least or the greatest of
    its type: but for masks of 0 and 255, say, which are `chosen` and not cut off. A single zero says nothing, either.
    """
    numbers = np.asarray(output)
    unit = unit_of(numbers.dtype)
    if not numbers.size:
        return False
    if numbers.dtype.kind not in "iub":
        with np.errstate(invalid="ignore"):
            numbers = numbers.astype(np.complex128 if numbers.dtype.kind == "c" else np.float64)
        numbers = numbers[np.isfinite(numbers)]
        if not numbers.size:
            return False
    if numbers.size == 1:
        constant = not numbers.any()
    elif numbers.dtype.kind in "fc":
        constant = is_constant(numbers, unit, Tolerance.floor)
    else:
        constant = bool((numbers == numbers.flat[0]).all())
    if constant or chosen or numbers.dtype.kind not in "iu" or numbers.dtype.itemsize > 2:
        return not constant
    ends = np.iinfo(numbers.dtype)
    return not ((numbers == ends.min) | (numbers == ends.max)).all()


def is_saturated(output: np.ndarray) -> bool:
    """Whether floats are chances that are all but 0 and 1, as a softmax or a sigmoid gives of large numbers.

    Other inputs say more. A network that is sure of its answer gives such, too, so that no verdict fails by it.
    """
    numbers = np.asarray(output)
    if numbers.dtype.kind != "f" or not numbers.size:
        return False
    ones = np.abs(numbers - 1.0) < SATURATED
    return bool((ones | (np.abs(numbers) < SATURATED)).all() and ones.any() and not ones.all())


def is_nan_throughout(output: np.ndarray) -> bool:
    """Whether an output has elements, and none of them is a number."""
    numbers = np.asarray(output)
    return bool(numbers.size) and numbers.dtype.kind not in "iub" and bool((numbers != numbers).all())


def attempts(source: Module, hub: Module | None, seed: int, signed: bool = True) -> Iterator[dict[str, np.ndarray]]:
    """Random inputs, one set after the other, for as long as the outputs of those before said nothing.

    With `signed`, the first have integers of either sign where nothing but integers is computed of them (`plain_integers`).
    """
    if signed and hub is not None and (plain := plain_integers(hub)):
        yield random_inputs(source, hub, seed, signed=plain)
    for number, spread in enumerate(_SPREADS):
        yield random_inputs(source, hub, seed + number, spread=spread)
