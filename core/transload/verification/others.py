"""How many of a tensor's numbers are others than their reference's, and how many may be.

Two right programs round a number near the middle of two steps to either side, and few numbers are. A zero point that is one off
moves all of them by one step, and so may a wrong operand where a step is most of what an output has. So how far the farthest is
says little of few steps, and how many are others is looked at, too: of those that say something. An output that is one number
but in ten places of a thousand is right in 990 of them whatever is computed, and what counts is how many of the ten are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

__all__ = ["Others", "others_of"]

_STEPS_APART = 0.1
"""Of numbers that were rounded to steps, how many may be another step (`steps._SHARE` asks it of each tensor)."""
_DEVIATIONS = 2
"""Of few more may be by chance: so many standard deviations."""


@dataclass(frozen=True)
class Others:
    """What there is to count of a tensor and its reference."""

    size: int
    apart: int
    """How many elements are others: integers that are not the same, floats that are more than half as far as the farthest."""
    telling: int
    """How many of the reference's elements are not its middle one: so many would be others in a tensor that is constant."""
    spread: float
    """How far the reference's elements lie from its middle one at most."""
    is_zero: bool = False
    """Whether the reference is 0 throughout, or the one number beside it is."""

    def __add__(self, other: Others) -> Others:
        """What there is to count of both together: of outputs of several runs, each with its own middle."""
        return Others(self.size + other.size, self.apart + other.apart, self.telling + other.telling,
                      max(self.spread, other.spread), self.is_zero and other.is_zero)

    def most_steps(self, step: float, counted: bool = False) -> float:
        """How many elements may be another step; of `counted` integers, which have no scale, at most half, and never so many that
        one number throughout would do."""
        near = step * (1 + 1e-3)
        telling = self._telling(near) * _STEPS_APART
        most = max(1.0, telling + _DEVIATIONS * math.sqrt(telling))
        if not counted:
            return most
        return min(most, self.size / 2, self.telling - 1 if self.telling and self.spread <= near else math.inf)

    def most_chosen(self, share: float) -> float:
        """How many truths or labels may be others, of all a `share`."""
        return share * self._telling(math.inf)

    def _telling(self, near: float) -> int:
        """Of how many elements a share is taken: where all are as near to one number, of those that are another, twice."""
        return min(self.size, 2 * self.telling) if self.telling and self.spread <= near else self.size


def others_of(reference: np.ndarray, actual: np.ndarray) -> Others | None:
    """Of two arrays of a shape; None of complex numbers and of no elements."""
    if not reference.size or reference.dtype.kind == "c":
        return None
    numbers = reference.reshape(-1)
    if reference.dtype.kind in "iub":
        apart = np.count_nonzero(reference != actual)
    else:
        numbers = numbers.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            distances = np.abs(numbers - actual.reshape(-1).astype(np.float64))
        distances = distances[np.isfinite(distances)]  # the same infinity in both is no distance, and NaN fails by metrics
        apart = np.count_nonzero(distances > distances.max(initial=0.0) / 2)
    middle = np.partition(numbers, numbers.size // 2)[numbers.size // 2]
    with np.errstate(invalid="ignore"):
        spread = np.abs(numbers.astype(np.float64) - np.float64(middle)).max()
    return Others(numbers.size, int(apart), int(np.count_nonzero(numbers != middle)), float(spread),
                  not reference.any() or (numbers.size == 1 and not actual.any()))
