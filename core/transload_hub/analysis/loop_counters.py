"""What a loop's form says of the values it carries: counters, and bounds in its condition. For the analysis in `int64`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from transload.analysis.intervals import EVERYTHING, Interval, inside, meet
from transload.analysis.movement import moves_of
from transload.ir import Block, Op, Value

from .integer_width_rules import Known, is_wide

__all__ = ["counters", "limited", "source_of"]


def counters(op: Op, first: Sequence[Known], constant: Callable[[Value], Known | None]) -> dict[int, Known]:
    """The values that each round moves by the same small constant, from a start that is small enough."""
    block = op.regions[1].block
    found: dict[int, Known] = {}
    for index, (argument, after) in enumerate(zip(block.arguments, block.terminator.operands, strict=True)):
        maker = after.op
        if not is_wide(argument.type) or maker is None or maker.name not in ("top.Add", "top.Sub") or len(maker.operands) != 2:
            continue
        a, b = (source_of(operand) for operand in maker.operands)
        if b is argument and maker.name == "top.Add":
            a, b = b, a
        step = constant(b)
        if a is not argument or step is None or not inside(step.interval, (-1024, 1024)):
            continue
        if not inside(first[index].interval, (-(1 << 29), 1 << 29)):
            continue
        low, high = step.interval if maker.name == "top.Add" else (-step.interval[1], -step.interval[0])
        start = first[index].interval
        found[index] = Known((start[0] - (1 << 30) if low < 0 else start[0], start[1] + (1 << 30) if high > 0 else start[1]))
    return found


def limited(test: Block, interval_of: Callable[[Value], Interval]) -> dict[int, Interval]:
    """Within which bounds the state lies when a loop goes on, by the comparisons its condition consists of."""
    found: dict[int, Interval] = {}
    pending = [test.terminator.operands[0]]
    while pending:
        op = source_of(pending.pop()).op
        if op is None:
            continue
        if op.name == "top.LogicalAnd":
            pending.extend(op.operands)
        elif op.name == "top.Compare":
            for mine, other, turned in ((0, 1, False), (1, 0, True)):
                argument = source_of(op.operands[mine])
                if argument.owner is not test or not is_wide(argument.type):
                    continue
                bound = _bound(op.attribute("mode"), interval_of(op.operands[other]), turned)
                found[argument.index] = meet(found.get(argument.index, bound), bound)
    return found


_TURNED = {"Less": "Greater", "LessOrEqual": "GreaterOrEqual", "Greater": "Less", "GreaterOrEqual": "LessOrEqual"}


def _bound(mode: str, other: Interval, turned: bool) -> Interval:
    """Where x lies if `x <mode> other` holds, or `other <mode> x` where `turned`."""
    if turned:
        mode = _TURNED.get(mode, mode)
    low, high = EVERYTHING
    if mode in ("Less", "LessOrEqual"):
        high = other[1] - (mode == "Less")
    elif mode in ("Greater", "GreaterOrEqual"):
        low = other[0] + (mode == "Greater")
    elif mode == "Equal":
        low, high = other
    return low, high


def source_of(value: Value) -> Value:
    """The value that one is but for its shape."""
    while value.op is not None and (moves := moves_of(value.op)) is not None and moves.keeps_order:
        value = value.op.operands[0]
    return value
