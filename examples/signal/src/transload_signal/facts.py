"""What is known of the ops: each table is one registration, and one thing that they take part in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transload import FactTable, Moves, RewriteTable
from transload.analysis.intervals import Interval, IntervalTable, negated, sum_of
from transload.ir import IntegerType, Op, Value
from transload.ir.build import Builder
from transload_hub.analysis.integer_width_rules import BITS, Width
from transload_hub.layout.options import Option, Surroundings, joined_forms

__all__ = ["ERROR_BOUNDS", "INTERVALS", "LAYOUT", "MOVES", "SIMPLER", "WIDTHS"]

SIMPLER = RewriteTable()
LAYOUT = FactTable("signal")
INTERVALS = IntervalTable("signal")
WIDTHS = FactTable("signal")
ERROR_BOUNDS = FactTable("signal")
MOVES = FactTable("signal")


# Interleave only moves numbers. That is all there is to say: intervals, error bounds, narrowing of integers, quantized models
# and verification follow from it.
MOVES.add(Moves(), "Interleave")


@SIMPLER("signal.Delta")
def delta_of_sums(op: Any, rw: Any) -> Any:
    """The differences of running sums are the terms, but the first: of integers, where nothing is rounded."""
    sums, x = op.input.op, op.input
    if sums is None or sums.name != "top.CumSum" or not isinstance(x.element, IntegerType) or sums.exclusive or sums.reverse:
        return None
    axis = op.axis % x.rank
    if sums.axis % x.rank != axis or not x.type.is_static:
        return None
    first = tuple(int(place == axis) for place in range(x.rank))
    return rw.emit("top.Slice", sums.input, offset=first, ends=x.shape, steps=(1,) * x.rank)


@SIMPLER("signal.Interleave")
def one_way(op: Any, rw: Any) -> Any:
    """One part, or parts of one sample, stay as they are."""
    return op.input if op.ways in (1, op.input.shape[op.axis]) else None


@LAYOUT("Delta", "Interleave")
def along_axis(op: Any, around: Surroundings) -> list[Option]:
    """In any order of the dimensions, with the axis where that has it."""
    rank = op.input.rank
    axis = op.axis % rank
    return [Option((form,), (form,), {"axis": form.index(axis)})
            for form in joined_forms(op.operands, rank, around)]


@INTERVALS("Delta")
def difference(op: Op, x: Sequence[Interval]) -> Interval:
    """Of two numbers of the operand."""
    return sum_of(x[0], negated(x[0]))


WIDTHS.add(Width(BITS), "Delta")  # differences of low bits have the right low bits


@ERROR_BOUNDS("Delta")
def errors_of_both(op: Any, build: Builder, errors: list[Value | None]) -> Any:
    """The errors of the two samples add up."""
    (error,) = errors
    rank = op.input.rank
    axis = op.axis % rank

    def part(start: int) -> Value:
        offset = tuple(start if place == axis else 0 for place in range(rank))
        ends = tuple(begin + size for begin, size in zip(offset, op.output.shape, strict=True))
        return build.emit("top.Slice", error, offset=offset, ends=ends, steps=(1,) * rank)

    return build.emit("top.Add", part(0), part(1))
