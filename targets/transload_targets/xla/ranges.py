"""Between which numbers the integers of a program lie: interval arithmetic over the ops of a block.

An interval is a pair of Python integers, which nothing overflows. Where an op may leave its type's range, so that it
wraps around, or where nothing is known of it, the interval is the type's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from transload.ir import Block, IntegerType, Op, TensorType, Value
from transload.ir.build import constant_of

__all__ = ["Interval", "Ranges", "magnitude"]

Interval = tuple[int, int]


def magnitude(interval: Interval) -> int:
    """The greatest absolute value."""
    return max(abs(interval[0]), abs(interval[1]))


def integer_of(value: Value) -> IntegerType | None:
    """The element type of a tensor of integers, None of others."""
    element = value.type.element if isinstance(value.type, TensorType) else None
    return element if isinstance(element, IntegerType) else None


class Ranges:
    """The intervals of values, each computed when it is first asked for."""

    def __init__(self) -> None:
        self._known: dict[Value, Interval | None] = {}

    def of(self, value: Value) -> Interval | None:
        """The interval of an integer tensor; None of other values."""
        self._settle(value)
        return self._known[value]

    def set(self, value: Value, interval: Interval | None) -> None:
        """Say what is known of a value."""
        self._known[value] = interval

    def _settle(self, value: Value) -> None:
        """Compute what `value` needs, operands first, without recursion: chains of ops are long."""
        pending = [value]
        while pending:
            top = pending[-1]
            if top in self._known:
                pending.pop()
                continue
            missing = [v for v in _looked_at(top) if v not in self._known]
            if missing:
                pending.extend(missing)
                continue
            self._known[top] = self._compute(top)
            pending.pop()

    def _compute(self, value: Value) -> Interval | None:
        element = integer_of(value)
        if element is None:
            return None
        whole = element.range
        op = value.op
        rule = _RULES.get(op.name) if op is not None else None
        if op is None or rule is None:
            return whole
        found = rule(op, [self._known.get(v) for v in op.operands])
        return found if found is not None and whole[0] <= found[0] and found[1] <= whole[1] else whole


def _looked_at(value: Value) -> tuple[Value, ...]:
    """The operands by which a value's interval is found."""
    op = value.op
    return op.operands if op is not None and op.name in _RULES and integer_of(value) is not None else ()


_Rule = Callable[[Op, Sequence[Any]], "Interval | None"]
_RULES: dict[str, _Rule] = {}


def _rule(*names: str) -> Callable[[_Rule], _Rule]:
    def add(function: _Rule) -> _Rule:
        for name in names:
            _RULES[f"stablehlo.{name}"] = function
        return function

    return add


def _hull(intervals: Sequence[Interval | None]) -> Interval | None:
    """The least interval that holds all of some, where all are known."""
    if not intervals or any(interval is None for interval in intervals):
        return None
    return min(i[0] for i in intervals if i), max(i[1] for i in intervals if i)


@_rule("constant")
def _constant(op: Op, _: Sequence[Any]) -> Interval | None:
    dense = constant_of(op.results[0])
    if dense is None or not np.prod(dense.shape):
        return None
    one = dense.splat_value()
    array = np.asarray(one) if one is not None else dense.numpy()
    if array.dtype.kind not in "iub":
        array = array.astype(np.int64)  # integers of 2 and 4 bits
    return int(array.min()), int(array.max())


@_rule(
    "broadcast_in_dim", "reshape", "transpose", "slice", "reverse", "dynamic_slice", "gather", "optimization_barrier",
    "dynamic_reshape", "real_dynamic_slice", "dynamic_broadcast_in_dim",
)
def _same(op: Op, ranges: Sequence[Any]) -> Interval | None:
    return ranges[0] if len(op.results) == 1 else None


@_rule("convert")
def _convert(op: Op, ranges: Sequence[Any]) -> Interval | None:
    return ranges[0]  # None where it comes from floats; beyond the type, it is cut off by whoever asked


@_rule("concatenate")
def _concatenate(op: Op, ranges: Sequence[Any]) -> Interval | None:
    return _hull(ranges)


@_rule("pad", "dynamic_update_slice")
def _two(op: Op, ranges: Sequence[Any]) -> Interval | None:
    return _hull(ranges[:2])


@_rule("select")
def _select(op: Op, ranges: Sequence[Any]) -> Interval | None:
    return _hull(ranges[1:3])


@_rule("clamp")
def _clamp(op: Op, ranges: Sequence[Any]) -> Interval | None:
    low, x, high = ranges
    if low is None or x is None or high is None:
        return None
    return min(max(x[0], low[0]), high[0]), min(max(x[1], low[1]), high[1])


@_rule("maximum")
def _maximum(op: Op, ranges: Sequence[Any]) -> Interval | None:
    a, b = ranges
    return (max(a[0], b[0]), max(a[1], b[1])) if a and b else None


@_rule("minimum")
def _minimum(op: Op, ranges: Sequence[Any]) -> Interval | None:
    a, b = ranges
    return (min(a[0], b[0]), min(a[1], b[1])) if a and b else None


@_rule("add")
def _add(op: Op, ranges: Sequence[Any]) -> Interval | None:
    a, b = ranges
    return (a[0] + b[0], a[1] + b[1]) if a and b else None


@_rule("subtract")
def _subtract(op: Op, ranges: Sequence[Any]) -> Interval | None:
    a, b = ranges
    return (a[0] - b[1], a[1] - b[0]) if a and b else None


@_rule("multiply")
def _multiply(op: Op, ranges: Sequence[Any]) -> Interval | None:
    a, b = ranges
    if a is None or b is None:
        return None
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)


@_rule("negate")
def _negate(op: Op, ranges: Sequence[Any]) -> Interval | None:
    return (-ranges[0][1], -ranges[0][0]) if ranges[0] else None


@_rule("abs")
def _abs(op: Op, ranges: Sequence[Any]) -> Interval | None:
    if ranges[0] is None:
        return None
    low, high = ranges[0]
    return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


@_rule("shift_right_arithmetic")
def _shift_right(op: Op, ranges: Sequence[Any]) -> Interval | None:
    x, by = ranges
    element = integer_of(op.results[0])
    if x is None or by is None or element is None or by[0] < 0 or by[1] >= element.width or element.unsigned:
        return None
    ends = [end >> shift for end in x for shift in by]
    return min(ends), max(ends)


@_rule("and")
def _and(op: Op, ranges: Sequence[Any]) -> Interval | None:
    masks = [r[1] for r in ranges if r is not None and r[0] >= 0]
    return (0, min(masks)) if masks else None


@_rule("iota")
def _iota(op: Op, _: Sequence[Any]) -> Interval | None:
    size = op.results[0].shape[op.attributes["iota_dimension"]]
    return (0, size - 1) if size else None


@_rule("reduce", "reduce_window")
def _reduce(op: Op, ranges: Sequence[Any]) -> Interval | None:
    """A sum, a maximum or a minimum of one tensor."""
    if len(op.operands) != 2 or ranges[0] is None or ranges[1] is None:
        return None
    name = combines_by(op)
    if name in ("stablehlo.maximum", "stablehlo.minimum"):
        return _hull(ranges)
    if name != "stablehlo.add":
        return None
    count = summed(op)
    if count is None:
        return None
    (low, high), start = ranges[0], ranges[1]
    return start[0] + min(0, count * low, low), start[1] + max(0, count * high, high)


def combines_by(op: Op) -> str | None:
    """The op that a reduction's body is, where it is one on the body's arguments."""
    block: Block = op.regions[0].block
    first = block.first
    if first is None or first.next is not block.last or block.last is None or len(block.last.operands) != 1:
        return None
    if block.last.operands[0].owner is not first or set(first.operands) != set(block.arguments):
        return None
    return first.name


def summed(op: Op) -> int | None:
    """How many elements go into one result of a reduction, at most."""
    if op.name == "stablehlo.reduce_window":
        sizes = op.attributes["window_dimensions"]
    else:
        shape = op.operands[0].shape
        sizes = [shape[axis] for axis in op.attribute("dimensions")]  # type: ignore[union-attr]
    count = 1
    for size in sizes:
        if size is None:
            return None
        count *= size
    return count
