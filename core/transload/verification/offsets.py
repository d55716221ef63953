"""What is left of outputs when a constant is taken away from them.

Temperatures in kelvin, chances of a thousand classes that are all nearly the same: where numbers lie on an offset, a cosine and a
distance beside their size measure that alone, and what a model computes may have the wrong sign. So a difference is measured
beside what varies, too: beside the reference without its mean, and without the mean of each channel, or row, of one dimension.
Roundings are as large as the offset makes them, and no difference within these is one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from ..ir import FloatType, Module, Op, TensorType, Value, dtype_of
from ..ir.build import constant_of
from ..metrics import comparable

__all__ = ["Offset", "coarsest_behind", "is_constant", "is_real", "measure_offset", "rounded_by", "step_of", "thinned",
           "unit_behind", "unit_of", "unit_of_module"]

ROUNDINGS = 32
"""How many units in the last place the roundings of a whole network add up to, beside the size of its output."""
_LARGEST = 1 / 8
"""Of that size they are no more: of floats of 8 bits all would be roundings, and no output would say anything."""
_OF_A_MEAN = 8
"""The fewest numbers whose mean is taken away along a dimension: of a few it is nearly the numbers themselves."""
_MOST = 1 << 22
"""Numbers of an output that are looked at."""


@dataclass(frozen=True)
class Offset:
    """How far an output is from its reference, and how far that is from constants, both beside the size of the reference."""

    apart: float
    varying: tuple[float, ...]
    """Without its mean, and without the means along each dimension."""

    def near(self, unit: float) -> float:
        """`1 - apart / varying` where least of the reference varies, but for roundings by `unit`: 1 where it is within these."""
        rounded = rounded_by(unit)
        if not self.apart > rounded:
            return 1.0
        return 1.0 - self.apart / min((each for each in self.varying if each > rounded), default=math.inf)


def rounded_by(unit: float) -> float:
    return min(ROUNDINGS * unit, _LARGEST)


def measure_offset(reference: np.ndarray, actual: np.ndarray) -> Offset | None:
    """How far two arrays of floats are apart beside what varies; None where they are no floats, or nothing of it is a number."""
    if not is_real(reference) or actual.dtype.kind == "c" or reference.size < 2:
        return None
    reference, actual = thinned(reference), thinned(actual)
    with np.errstate(all="ignore"):
        a, b = comparable(reference, actual)
        size, scale = a.size, float(np.abs(a).max(initial=0.0))
        if size < 2 or not 0.0 < scale < math.inf:
            return None
        a, b = a / scale, b / scale  # so that squares neither overflow nor vanish
        b -= a
        squares, apart = float(np.dot(a, a)), float(np.dot(b, b))
        whole = squares - size * float(a.mean()) ** 2
        rest = [whole, *(_rest(a.reshape(reference.shape), squares) if size == reference.size else ())]
    if not math.isfinite(apart):
        return None
    return Offset(math.sqrt(apart / squares), tuple(math.sqrt(max(each, 0.0) / squares) for each in rest))


def thinned(array: np.ndarray) -> np.ndarray:
    """Every so manieth of the longest dimension (`step_of`), where all numbers together would take much memory in float64: what
    varies shows in some millions of them."""
    step, axis = step_of(array)
    return array if step == 1 else array[(slice(None),) * axis + (slice(None, None, step),)]


def step_of(array: np.ndarray) -> tuple[int, int]:
    """Of which dimension `thinned` takes every so manieth, as `(step, dimension)`."""
    return max(1, math.ceil(array.size / _MOST)), int(np.argmax(array.shape)) if array.ndim else 0


def _rest(array: np.ndarray, squares: float) -> list[float]:
    """The sums of squares that are left where the mean of all numbers of each place of a dimension is taken away."""
    found = []
    for axis, length in enumerate(array.shape):
        each = array.size // length
        if length > 1 and each >= _OF_A_MEAN:
            means = array.mean(axis=tuple(other for other in range(array.ndim) if other != axis))
            found.append(squares - each * float(np.dot(means, means)))
    return found


def is_constant(numbers: np.ndarray, unit: float, floor: float) -> bool:
    """Whether a constant would be as near to finite numbers as roundings by `unit`, or within `floor` of them."""
    parts = [numbers.real, numbers.imag] if numbers.dtype.kind == "c" else [numbers]
    largest = max(float(np.abs(part).max()) for part in parts)
    return all(float(part.max()) / 2 - float(part.min()) / 2 <= max(rounded_by(unit) * largest, floor) for part in parts)


def is_real(array: np.ndarray) -> bool:
    return array.dtype.kind not in "iubc" and unit_of(array.dtype) > 0.0


def unit_of(*dtypes: np.dtype) -> float:
    """The greatest error of rounding a number of 1 to one of these types; 0 of those that are no floats."""
    found = [0.0]
    for dtype in dtypes:
        try:
            found.append(float(ml_dtypes.finfo(dtype).eps) / 2)
        except (TypeError, ValueError):
            continue
    return max(found)


def unit_of_module(module: Module) -> float:
    """The unit of the coarsest floats that a module computes with; of its constants, which it may widen first, not."""
    return max(_units(value for op in module.walk() for value in op.results), default=_UNIT)


def has_short_floats(*modules: Module) -> bool:
    """Whether one of some modules computes with floats coarser than float32, whose roundings grow with them to any size."""
    return max(map(unit_of_module, modules)) > _UNIT


def coarsest_behind(module: Module, place: int) -> float:
    """The unit of the coarsest floats that an output is computed with, of float32 at least.

    They are those of the whole module where a function is called on the way, or where there is no such output.
    """
    outputs = module.body_of_main.terminator.operands
    waiting, found = list(outputs[place:place + 1]), dict[Value, None]()
    is_whole = not waiting
    while waiting:
        op = waiting.pop().op
        if op is None or op.results[0] in found:
            continue
        for each in op.walk():
            found.update(dict.fromkeys(each.results))
            waiting += each.operands
            is_whole |= each.name == "func.call"
    return unit_of_module(module) if is_whole else max(_units(found), default=_UNIT)


def unit_behind(module: Module, place: int) -> float:
    """The unit of what an output tells apart at most, as floats that it is computed in have it, of float32 at least.

    What is computed in coarse floats stays coarse in finer ones, until others that are finer join it. Casts compute nothing:
    coarse floats that something is only cast to are none that it had to be rounded to.
    """
    block = module.body_of_main
    units = {value: unit for value in block.arguments for unit in _units([value])}
    for op in block:
        before = [units[value] for value in op.operands if value in units]
        for result in op.results:
            own = [] if before and _is_cast(op) else _units([result], constants=True)
            if before or own:
                units[result] = max(*own, min(before, default=_UNIT), _UNIT)
    outputs = block.terminator.operands[place:place + 1]
    return next((units[value] for value in outputs if value in units), _UNIT)


def _is_cast(op: Op) -> bool:
    """Whether an op makes floats of others, in any dialect: one tensor of another type, and of the same shape."""
    types = [value.type for value in (*op.operands, *op.results)]
    if len(types) != 2 or not all(isinstance(type_, TensorType) and isinstance(type_.element, FloatType) for type_ in types):
        return False
    before, after = types
    return before.shape == after.shape and before.element != after.element  # type: ignore[attr-defined]


def _units(values: Iterable[Value], *, constants: bool = False) -> list[float]:
    """The units of the floats among values, each once; with `constants` or without. Finer ones are as float32 has them."""
    elements = {value.type.element for value in values
                if isinstance(value.type, TensorType) and (constants or constant_of(value) is None)}
    return [max(_UNIT, unit_of(dtype_of(each))) for each in elements if isinstance(each, FloatType)]


_UNIT = unit_of(np.dtype(np.float32))
