"""Between which numbers values lie: interval arithmetic, and the analysis that applies it to a module.

An interval is `(low, high)`, both ends included; its ends are Python integers of any size, or floats for tensors of
floats (infinite where nothing is known; NaN is not spoken of). Quantized tensors are taken for the real numbers they stand
for. What an op does to intervals is a fact of kind "interval"; an op that only moves numbers needs none.

Source: Moore, Kearfott, Cloud, Introduction to Interval Analysis (2009), chapters 2 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product as pairs_of
from typing import Any

import numpy as np

from ..facts import FactTable
from ..ir import F16, Dense, ElidedData, FloatType, IntegerType, Op, QuantType, SplatData, TensorType, Type, Value
from ..ir.build import constant_of
from ..ir.types import IndexType
from ..plugin_host import host
from .dataflow import Forward
from .movement import moves_of

__all__ = [
    "EVERYTHING", "Interval", "IntervalRule", "IntervalTable", "Intervals", "absolute", "hull", "inside", "integer_of",
    "interval_of_constant", "limits", "magnitude", "meet", "negated", "product", "result_intervals", "rule_of", "square",
    "sum_of", "times", "whole",
]

Interval = tuple[Any, Any]

EVERYTHING: Interval = (-math.inf, math.inf)

INT64: Interval = (-(1 << 63), (1 << 63) - 1)

SLACK = 2.0**-5
"""By how much of itself a bound of floats is moved outwards: more than bf16 rounds, and less than would matter."""

THRESHOLDS = (1 << 8, 1 << 16, 1 << 24)
"""How far values that a loop carries are taken to grow before anything is: what limits them further on may show then."""

LARGEST_CONSTANT = 1 << 20
"""Elements of constants whose least and greatest are looked for."""


# --- arithmetic


def limits(type_: Type) -> Interval:
    """The interval of all numbers of a type."""
    element = type_.element if isinstance(type_, TensorType) else type_
    if isinstance(element, QuantType):
        if element.storage.width > 32:
            return EVERYTHING
        ends = [(end - point) * scale for point, scale in zip(element.zero_points, element.scales, strict=True)
                for end in (element.storage_min, element.storage_max)]
        return min(ends), max(ends)
    if isinstance(element, IndexType):
        return INT64
    if element == F16:
        return -65504.0, 65504.0  # and infinity, which nothing is computed of that must lie anywhere
    if isinstance(element, IntegerType):
        return (0, 1) if element.width == 1 else element.range
    return EVERYTHING


def integer_of(value: Value) -> IntegerType | None:
    """The element type of a tensor of integers; None of other values."""
    element = value.type.element if isinstance(value.type, TensorType) else None
    return element if isinstance(element, IntegerType) else None


def hull(intervals: Iterable[Interval]) -> Interval:
    """The smallest interval around some."""
    known = list(intervals)
    return min(low for low, _ in known), max(high for _, high in known)


def inside(inner: Interval, outer: Interval) -> bool:
    """Whether all of `inner` lies in `outer`."""
    return bool(outer[0] <= inner[0] and inner[1] <= outer[1])


def meet(a: Interval, b: Interval) -> Interval:
    """What two intervals have in common; `b` where that is nothing."""
    low, high = max(a[0], b[0]), min(a[1], b[1])
    return (low, high) if low <= high else b


def magnitude(interval: Interval) -> Any:
    """The greatest absolute value."""
    return max(abs(interval[0]), abs(interval[1]))


def times(a: Any, b: Any) -> Any:
    """The product of two ends; zero times infinity is zero: a bound, not a number."""
    return 0 if a == 0 or b == 0 else a * b


def product(a: Interval, b: Interval) -> Interval:
    """Of all `x * y`."""
    ends = [times(x, y) for x, y in pairs_of(a, b)]
    return min(ends), max(ends)


def sum_of(a: Interval, b: Interval) -> Interval:
    """Of all `x + y`."""
    return a[0] + b[0], a[1] + b[1]


def negated(a: Interval) -> Interval:
    """Of all `-x`."""
    return -a[1], -a[0]


def absolute(a: Interval) -> Interval:
    """Of all `|x|`."""
    return (0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1]))), magnitude(a)


def square(a: Interval) -> Interval:
    """Of all `x * x`."""
    low, high = absolute(a)
    return times(low, low), times(high, high)


def whole(op: Op, number: float) -> Any:
    """An attribute's number as the op's results hold it: an integer where they are integers."""
    element = op.results[0].element_or_none
    return int(number) if isinstance(element, IntegerType | IndexType) and math.isfinite(number) else number


def interval_of_constant(dense: Dense, largest: int | None = LARGEST_CONSTANT) -> Interval | None:
    """From the least to the greatest number of a constant; None of one of more elements, and of what has no order."""
    size = math.prod(dense.shape)
    if isinstance(dense.data, ElidedData) or (largest is not None and size > largest):
        return None
    if size == 0:
        return 0, 0
    array = np.asarray(dense.data.value if isinstance(dense.data, SplatData) else dense.numpy())
    if array.dtype.kind not in "iufb":  # of numpy's extensions
        element = dense.type.element
        if not isinstance(element, FloatType | IntegerType):
            return None
        array = array.astype(np.float32 if isinstance(element, FloatType) else np.int64)
    low, high = array.min().item(), array.max().item()
    if isinstance(low, bool):
        low, high = int(low), int(high)
    return EVERYTHING if low != low else (low, high)  # NaN


# --- what ops do to intervals


@dataclass(frozen=True)
class IntervalRule:
    """`function(op, operands)` gives the interval of all results, a list with one of each, or None where nothing is known.

    It is that of exact arithmetic, and may reach beyond the type of the results: integers then wrap round.
    """

    function: Callable[[Any, Sequence[Interval]], Interval | list[Interval] | None]
    rounds: bool = True
    """Whether floats are rounded, so that the interval is widened a little."""
    of_operands: bool = True
    """Whether the operands' intervals matter; else `function` gets `EVERYTHING` for each."""


FACT = (IntervalRule, Callable)
"""A fact of kind "interval" is an `IntervalRule`, or its function alone, of an op that rounds."""


class IntervalTable(FactTable):
    """Interval rules by op name: `@RULES("Add")`, or `@RULES("Neg", rounds=False)`; see `IntervalRule`."""

    def __call__(self, *names: str, rounds: bool = True, of_operands: bool = True) -> Callable[[Any], Any]:
        def add(function: Any) -> Any:
            self.add(IntervalRule(function, rounds, of_operands), *names)
            return function

        return add


def rule_of(op: Op) -> IntervalRule | None:
    """What is said of an op's results by an interval rule."""
    fact = host().facts("interval")[op.name]
    return fact if fact is None or isinstance(fact, IntervalRule) else IntervalRule(fact)


def result_intervals(op: Op, operands: Sequence[Interval]) -> list[Interval]:
    """For each result of `op` an interval that holds all its numbers, as exact arithmetic has them.

    It may reach beyond the result's type: then the numbers may wrap round. `EVERYTHING` where nothing is known.
    """
    rule = rule_of(op)
    if rule is None:
        return [_moved(op, operands)] * len(op.results)
    found = rule.function(op, operands)
    if not isinstance(found, list):
        found = [EVERYTHING if found is None else found] * len(op.results)
    return [_widened(interval) if rule.rounds else _ordered(interval) for interval in found]


def _ordered(interval: Interval) -> Interval:
    low, high = interval
    return EVERYTHING if low != low or high != high else interval  # infinity less infinity


def _widened(interval: Interval) -> Interval:
    low, high = interval = _ordered(interval)
    if isinstance(low, float) or isinstance(high, float):
        return float(low) - abs(low) * SLACK, float(high) + abs(high) * SLACK
    return interval


def _moved(op: Op, operands: Sequence[Interval]) -> Interval:
    """Of an op that only moves numbers: around those that it moves, and those that it adds."""
    moves = moves_of(op)
    data = moves.operands(op) if moves is not None else ()
    if moves is None or not data:
        return EVERYTHING
    given = [interval for operand, interval in zip(op.operands, operands, strict=True) if operand in data]
    return hull([*given, *((whole(op, number),) * 2 for number in moves.constants)])


class Intervals(Forward[Interval]):
    """The intervals of a module's values, each found when it is first asked for: `Intervals().of(value)`.

    Where integers may wrap round, an interval is that of the type. Constants of more than `largest` elements are not looked at.
    """

    def __init__(
        self, reach: int | None = None, largest: int | None = LARGEST_CONSTANT, enough: Callable[[Interval], bool] | None = None,
    ) -> None:
        super().__init__(reach, enough)
        self.largest = largest

    def initial(self, value: Value) -> Interval:
        everything = limits(value.type)
        dense = constant_of(value)
        if dense is None or isinstance(value.element_or_none, QuantType):
            return everything
        found = interval_of_constant(dense, self.largest)
        return everything if found is None else found

    def looks_at(self, op: Op) -> Sequence[Value]:
        rule = rule_of(op)
        if rule is not None:
            return op.operands if rule.of_operands else ()
        return op.operands if moves_of(op) is not None else ()

    def transfer(self, op: Op) -> list[Interval]:
        if rule_of(op) is None and moves_of(op) is None:
            return [self.initial(result) for result in op.results]
        found = result_intervals(op, [self.known.get(operand, EVERYTHING) for operand in op.operands])
        return [_of_type(result.type, interval) for result, interval in zip(op.results, found, strict=True)]

    def joined(self, op: Op, type_: Type, ways: Iterable[Interval]) -> Interval:
        return _of_type(type_, hull(ways))

    def holds(self, new: Interval, old: Interval) -> bool:
        return inside(new, old)

    def anything(self, op: Op, type_: Type) -> Interval:
        return limits(type_)

    def widened(self, op: Op, type_: Type, old: Interval, new: Interval) -> Interval:
        """The ends that still move, moved to the next of `THRESHOLDS`, or as far as they can."""
        least, most = limits(type_)
        low = next((-end for end in THRESHOLDS if -end <= new[0] and least <= -end), least)
        high = next((end for end in THRESHOLDS if new[1] <= end <= most), most)
        return old[0] if new[0] >= old[0] else low, old[1] if new[1] <= old[1] else high


def _of_type(type_: Type, interval: Interval) -> Interval:
    """What an interval is in a type: itself where it fits."""
    everything = limits(type_)
    return interval if inside(interval, everything) else everything
