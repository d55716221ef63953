"""What is known of the ops: each table is one registration, and one thing that they take part in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transload import FactTable, Moves, RewriteTable
from transload.analysis.intervals import Interval, IntervalTable, negated, sum_of
from transload.ir import IntegerType, Op, Value
from transload.ir.build import Builder
from transload_hub.analysis.integer_width_rules import BITS, EXACT, Width
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


@SIMPLER("signal.Extremes")
def of_one_sample(op: Any, rw: Any) -> Any:
    """One sample is both: a value for each result."""
    axis = op.axis % op.input.rank
    if op.input.shape[axis] != 1:
        return None
    sample = rw.emit("top.Squeeze", op.input, axes=(axis,))
    return sample, sample


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


@LAYOUT("Extremes")
def without_axis(op: Any, around: Surroundings) -> list[Option]:
    """In any order of the dimensions; the results have those that are left, in that order."""
    rank = op.input.rank
    axis = op.axis % rank
    options = []
    for form in joined_forms(op.operands, rank, around):
        left = tuple(dim - (dim > axis) for dim in form if dim != axis)
        options.append(Option((form,), (left, left), {"axis": form.index(axis)}))
    return options


@INTERVALS("Extremes", rounds=False)
def of_the_operand(op: Op, x: Sequence[Interval]) -> list[Interval]:
    """Both are numbers of the operand: one interval for each result."""
    return [x[0], x[0]]


WIDTHS.add(Width(EXACT), "Extremes")  # low bits do not tell which number is the greatest


@INTERVALS("Delta")
def difference(op: Op, x: Sequence[Interval]) -> Interval:
    """Of two numbers of the operand."""
    return sum_of(x[0], negated(x[0]))


WIDTHS.add(Width(BITS), "Delta")  # differences of low bits have the right low bits


@ERROR_BOUNDS("Extremes")
def greatest_error(op: Any, build: Builder, errors: list[Value | None]) -> Any:
    """Neither end moves by more than the sample that moves most: a bound for each result."""
    (error,) = errors
    most = build.emit("top.Reduce", error, axes=(op.axis % op.input.rank,), keepdims=False, mode="ReduceMax")
    return most, most


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
