"""What ops of StableHLO do to intervals of integers: facts of kind "interval", see `transload.analysis.intervals`.

Integers wrap round where an interval reaches beyond their type; of ops on floats, which engines round as they like, no more
is said than that some move numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from transload.analysis.intervals import Interval, IntervalTable, absolute, hull, integer_of, negated, product, sum_of
from transload.ir import Block, Op

if TYPE_CHECKING:
    from .dialect.binary import Add, And, Clamp, Convert, Maximum, Minimum, Multiply, ShiftRightArithmetic, Subtract
    from .dialect.elementwise import Abs, Negate
    from .dialect.movement import Iota
    from .dialect.reduction import Reduce, ReduceWindow

__all__ = ["INTERVALS"]

INTERVALS = IntervalTable("stablehlo")


def _of_integers(function: Any) -> Any:
    """A rule that holds of integers alone."""
    return lambda op, x: function(op, x) if all(integer_of(value) for value in (*op.operands, *op.results)) else None


def _rule(*names: str, of_operands: bool = True) -> Any:
    return lambda function: INTERVALS(*names, of_operands=of_operands)(_of_integers(function))


@_rule("convert")
def convert(op: Convert, x: Sequence[Interval]) -> Interval:
    """The same number, cut off where it is beyond the type."""
    return x[0]


@INTERVALS("clamp", rounds=False)
def clamp(op: Clamp, x: Sequence[Interval]) -> Interval:
    low, number, high = x
    return min(max(number[0], low[0]), high[0]), min(max(number[1], low[1]), high[1])


@INTERVALS("maximum", rounds=False)
def maximum(op: Maximum, x: Sequence[Interval]) -> Interval:
    return max(x[0][0], x[1][0]), max(x[0][1], x[1][1])


@INTERVALS("minimum", rounds=False)
def minimum(op: Minimum, x: Sequence[Interval]) -> Interval:
    return min(x[0][0], x[1][0]), min(x[0][1], x[1][1])


@_rule("add")
def add(op: Add, x: Sequence[Interval]) -> Interval:
    return sum_of(x[0], x[1])


@_rule("subtract")
def subtract(op: Subtract, x: Sequence[Interval]) -> Interval:
    return sum_of(x[0], negated(x[1]))


@_rule("multiply")
def multiply(op: Multiply, x: Sequence[Interval]) -> Interval:
    return product(x[0], x[1])


@_rule("negate")
def negate(op: Negate, x: Sequence[Interval]) -> Interval:
    return negated(x[0])


@_rule("abs")
def absolute_value(op: Abs, x: Sequence[Interval]) -> Interval:
    return absolute(x[0])


@_rule("shift_right_arithmetic")
def shift_right(op: ShiftRightArithmetic, x: Sequence[Interval]) -> Interval | None:
    number, by = x
    element = integer_of(op.results[0])
    if element is None or element.unsigned or by[0] < 0 or by[1] >= element.width:
        return None
    ends = [end >> shift for end in number for shift in by]
    return min(ends), max(ends)


@_rule("and")
def bits_and(op: And, x: Sequence[Interval]) -> Interval | None:
    masks = [high for low, high in x if low >= 0]
    return (0, min(masks)) if masks else None


@_rule("iota", of_operands=False)
def iota(op: Iota, x: Sequence[Interval]) -> Interval | None:
    size = op.results[0].shape[op.attributes["iota_dimension"]]
    return (0, size - 1) if size else None


@_rule("reduce", "reduce_window")
def reduce(op: Reduce | ReduceWindow, x: Sequence[Interval]) -> Interval | None:
    """A sum, a maximum or a minimum of one tensor."""
    if len(op.operands) != 2:
        return None
    name = _combines_by(op)
    if name in ("stablehlo.maximum", "stablehlo.minimum"):
        return hull(x)
    count = _summed(op) if name == "stablehlo.add" else None
    if count is None:
        return None
    (low, high), start = x
    return start[0] + min(0, count * low, low), start[1] + max(0, count * high, high)


def _combines_by(op: Op) -> str | None:
    """The op that a reduction's body is, where it is one on the body's arguments."""
    block: Block = op.regions[0].block
    first = block.first
    if first is None or first.next is not block.last or block.last is None or len(block.last.operands) != 1:
        return None
    if block.last.operands[0].owner is not first or set(first.operands) != set(block.arguments):
        return None
    return first.name


def _summed(op: Op) -> int | None:
    """How many elements go into one result of a reduction, at most."""
    sizes: Any
    if op.name == "stablehlo.reduce_window":
        sizes = op.attributes["window_dimensions"]
    else:
        shape = op.operands[0].shape
        sizes = [shape[axis] for axis in op.attribute("dimensions")]
    count = 1
    for size in sizes:
        if size is None:
            return None
        count *= size
    return count
