"""Rows, channels and the like of outputs, of which one is wrong and all the others are right.

The last of 8192 time steps, one of a thousand images: beside the size of all of an output that is within what a cosine and a
distance let pass. So each part of each dimension is measured beside its own size, too, and where most of it is an error that none
of the others has, no rounding made it: roundings are of the size of the largest number, and the noise of a network is everywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .offsets import is_real, rounded_by, step_of, thinned
from .scales import is_rounded, largest_of

__all__ = ["LEAST", "Part", "Parts", "measure_parts"]

_FEWEST = 4
"""Numbers of a part that is looked at: one number may be what is left of large ones, or have been rounded to the next step."""
LEAST = 0.75
"""How near (`euclid`) a part is to be: an error of a quarter of its size is more than noise."""
_TIMES = 4.0
"""How many times the error of all the others it has to be."""


@dataclass(frozen=True)
class Part:
    """What is at one place of a dimension."""

    dimension: int
    place: int
    apart: float
    """The root mean square of the differences, beside the largest number of the output."""
    near: float
    """`1 - apart / size`, beside its own size."""


@dataclass(frozen=True)
class Parts:
    """The parts of an output that are wrong, if no rounding explains it."""

    wrong: tuple[Part, ...]

    def farthest(self, unit: float) -> Part | None:
        """That which is least near to its reference, of those that roundings by `unit` do not explain."""
        rounded = rounded_by(unit)
        return min((part for part in self.wrong if part.apart > rounded), key=lambda part: part.near, default=None)


def measure_parts(reference: np.ndarray, actual: np.ndarray) -> Parts | None:
    """The parts of two arrays of floats of a shape that are apart where the others are not; None where there are none.

    What is no number in one of them is left out, and what is of a mask (`scales`): other metrics tell that.
    """
    if not is_real(reference) or actual.dtype.kind == "c" or reference.ndim < 2 or not reference.size:
        return None
    step, longest = step_of(reference)
    reference, actual = thinned(reference), thinned(actual)
    with np.errstate(all="ignore"):
        if is_rounded(reference, actual):
            return None
        a, b = (each.astype(np.float64) for each in (reference, actual))
        is_number = np.isfinite(a) & np.isfinite(b)
        sizes = np.abs(a)[is_number]
        largest, _, where = largest_of(a[is_number], b[is_number], sizes)
        if not 0.0 < largest < math.inf:
            return None
        if where is not None:
            is_number[is_number] = where
        squares, apart = (np.where(is_number, each / largest, 0.0) ** 2 for each in (a, b - a))
    wrong = [part for axis in range(a.ndim) for part in _wrong_of(squares, apart, axis, step if axis == longest else 1)]
    return Parts(tuple(wrong)) if wrong else None


def _wrong_of(squares: np.ndarray, apart: np.ndarray, axis: int, step: int) -> list[Part]:
    """The parts of a dimension, every `step`-th of which is there, that are wrong, by the squares of numbers and of their
    differences."""
    length = squares.shape[axis]
    each = squares.size // length
    if length < 2 or each < _FEWEST:
        return []
    others = tuple(other for other in range(squares.ndim) if other != axis)
    size, error = squares.sum(axis=others), apart.sum(axis=others)
    elsewhere = (error.sum() - error) / (length - 1)
    found = np.flatnonzero((error > (1.0 - LEAST) ** 2 * size) & (error > _TIMES**2 * elsewhere))
    return [Part(axis, int(place) * step, math.sqrt(error[place] / each), 1.0 - _ratio(error[place], size[place]))
            for place in found]


def _ratio(error: float, size: float) -> float:
    return math.sqrt(error / size) if size else math.inf
