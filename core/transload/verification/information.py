"""Whether outputs say anything: a check that would pass whatever was computed is none.

A network that is given noise may answer with zeros, with NaN, or with numbers that all lie at an end of their type. Two
programs that agree there need not agree anywhere else. Such outputs are found here, and other inputs tried. A mean that is spread
over all of an output is one number whatever is tried: there it says something that it is another one on other inputs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ..ir import Module
from .inputs import plain_integers, random_inputs, wide_integers
from .offsets import is_constant, rounded_by, unit_of
from .tolerance import Tolerance

__all__ = ["Tried", "are_apart", "attempts", "attempts_at_steady", "is_informative", "is_nan_throughout", "is_saturated",
           "number_throughout", "telling_first", "vary"]

_SPREADS = (1.0, 1.0, 0.1, 10.0, 100.0)
"""Standard deviations of random float inputs, tried in this order."""
_WIDE_TRIES = 4
"""How often integers of all of their range are drawn after these: a single truth is another one on one of them, mostly."""
_OF_STEADY = ((1.0, 0), (10.0, 0), (1.0, 1), (1.0, -1), (10.0, 1), (10.0, -1), (100.0, 1), (100.0, -1)) * 2
"""Those tried after them where outputs were the same on each, and of which half: of truths that are so on seven in eight, five
often are, and a sum of noise around zero stays near zero where pictures are far above it."""
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

    def said_nothing(self, names: Iterable[str], of_one: Collection[str] = ()) -> str:
        """Why outputs of these names are no proof, of which some are `of_one` number throughout (`number_throughout`)."""
        beside = (f"; {', '.join(of_one)}: one number throughout says something beside another one, on other inputs: give "
                  "several with --data") if of_one else ""
        return (f"{', '.join(names)}: constant, empty, saturated, not finite or always the same, or nearly, on {self.inputs}, "
                f"as it might be whatever is computed; give {self.others} with --input NAME=FILE{beside}")


def is_informative(output: np.ndarray, chosen: bool = False) -> bool:
    """Whether an output would differ between programs that compute different things.

    It would not where it is empty, where no element is finite, where it is one number (`number_throughout`), and where every
    element of an 8- or 16-bit integer output is the least or the greatest of its type: but for masks of 0 and 255, say, which are
    `chosen` and not cut off.
    """
    numbers = _finite(output)
    if not numbers.size or number_throughout(output, chosen) is not None:
        return False
    if chosen or numbers.dtype.kind not in "iu" or numbers.dtype.itemsize > 2:
        return True
    ends = np.iinfo(numbers.dtype)
    return not ((numbers == ends.min) | (numbers == ends.max)).all()


def number_throughout(output: np.ndarray, chosen: bool = False) -> complex | None:
    """The number that all finite elements of an output are, but for what floats are rounded by or may differ by.

    None where there are others, or none, and of a single number, which hardly any other program would give: but for 0, and for 1
    where it is a truth or a label (`chosen`), or a float, which may be a truth that was cast, or a chance: half of them might.
    """
    numbers = _finite(output)
    if numbers.size == 1:
        is_one = not numbers.any() or (bool((numbers == 1).all()) and (chosen or numbers.dtype.kind in "bf"))
    elif numbers.dtype.kind in "fc":
        is_one = bool(numbers.size) and is_constant(numbers, unit_of(np.asarray(output).dtype), Tolerance.floor)
    else:
        is_one = bool(numbers.size) and bool((numbers == numbers.flat[0]).all())
    return numbers.flat[0].item() if is_one else None


def are_apart(number: complex, other: complex, step: float | None, unit: float, tolerance: Tolerance) -> bool:
    """Whether two numbers, each of all of an output, are so far apart that no third would be near enough to both.

    `step` is that between two integers, dequantized ones too, and 0 of labels and of what is exact; None of floats, which are
    rounded by `unit`.
    """
    size = max(abs(number), abs(other))
    of_floats = max(tolerance.floor, size * max(1.0 - tolerance.euclid, rounded_by(unit)))
    return abs(number - other) > 2 * (of_floats if step is None else tolerance.integer * step)


def _finite(output: np.ndarray) -> np.ndarray:
    """The finite elements of an output, floats in 64 bits."""
    numbers = np.asarray(output)
    if numbers.dtype.kind in "iub":
        return numbers
    with np.errstate(invalid="ignore"):
        numbers = numbers.astype(np.complex128 if numbers.dtype.kind == "c" else np.float64)
    return numbers[np.isfinite(numbers)]


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


def vary(given: Mapping[str, np.ndarray]) -> int:
    """How many inputs of more than one number are not one number throughout; at least 1 where no input has more than one."""
    several = [array for array in given.values() if array.size > 1]
    return sum(bool((array != array.flat[0]).any()) for array in several) if several else 1


def telling_first(given: Iterable[Mapping[str, np.ndarray]]) -> Iterator[Mapping[str, np.ndarray]]:
    """Inputs, those first of which most vary, in their order: a black picture may give the same whatever a network multiplies.

    No more are taken than are asked for once there are some that vary throughout.
    """
    pending, held = iter(given), list[Mapping[str, np.ndarray]]()
    for each in pending:
        if all(array.size <= 1 or vary({"": array}) for array in each.values()):
            yield each
            break
        held.append(each)
    yield from sorted(held, key=lambda each: -vary(each))
    yield from pending


def attempts(source: Module, hub: Module | None, seed: int, signed: bool = True) -> Iterator[dict[str, np.ndarray]]:
    """Random inputs, one set after the other, for as long as the outputs of those before said nothing.

    With `signed`, the first have integers of either sign where nothing but integers is computed of them (`plain_integers`), and
    the last integers around the model's own constants and of the range of their type (`wide_integers`).
    """
    if signed and hub is not None and (plain := plain_integers(hub)):
        yield random_inputs(source, hub, seed, signed=plain)
    for number, spread in enumerate(_SPREADS):
        yield random_inputs(source, hub, seed + number, spread=spread)
    if signed and hub is not None and (wide := wide_integers(hub)):
        for number in range(_WIDE_TRIES):
            yield random_inputs(source, hub, seed + number, wide=wide)


def attempts_at_steady(source: Module, hub: Module | None, seed: int) -> Iterator[dict[str, np.ndarray]]:
    """Further random inputs, for outputs that may not be the same there."""
    for number, (spread, side) in enumerate(_OF_STEADY, len(_SPREADS)):
        yield random_inputs(source, hub, seed + number, spread=spread, side=side)
