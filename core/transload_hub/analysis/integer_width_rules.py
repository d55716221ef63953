"""What ops on wide integers need of their operands in i32, and what they give: the rules of the analysis in `int64`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from transload.analysis.intervals import Interval, inside
from transload.analysis.movement import index_operands, moves_of
from transload.facts import FactTable
from transload.ir import IntegerType, Op, TensorType, Type
from transload.ir.types import IndexType
from transload.plugin_host import host

if TYPE_CHECKING:
    from ..ops.gather import ScatterElements, ScatterND
    from ..ops.reduce import Reduce

__all__ = [
    "BITS", "CLIPPED", "EXACT", "I32_RANGE", "WIDTHS", "Known", "Width", "holds", "is_wide", "keeps_bits",
    "subscripts_of", "width_of",
]

BITS, CLIPPED = 1, 2
EXACT = BITS | CLIPPED

I32_RANGE: Interval = (-(1 << 31), (1 << 31) - 1)

_NOT_ABOVE: Interval = (-(1 << 63), I32_RANGE[1])
_NOT_BELOW: Interval = (I32_RANGE[0], (1 << 64) - 1)


class Known(NamedTuple):
    """What is known of a value: its interval, what stands for it, and who is to blame that it is not exact, and why."""

    interval: Interval
    kind: int = EXACT
    blame: tuple[Op, str] | None = None


def is_wide(type_: Type) -> bool:
    """Whether a tensor's elements are integers that i32 does not hold."""
    element = type_.element if isinstance(type_, TensorType) else None
    if isinstance(element, IntegerType):
        return element.width > 32 or (element.width == 32 and element.unsigned)
    return isinstance(element, IndexType)


def holds(new: Known, old: Known) -> bool:
    """Whether what is known by `old` is true of what `new` describes."""
    return inside(new.interval, old.interval) and new.kind & old.kind == old.kind


# --- what ops need of their operands, and what they give

WIDTHS = FactTable("top")
"""Facts of kind "integer-width": what ops on wide integers need of their operands, and of single ones."""


@dataclass(frozen=True)
class Width:
    """What an op needs to be known of the i32 that stand for its operands, so that as much is known of its results.

    `of` says it for single operands, by number, that are not like the others. `outdone` is where a clipped operand lies whose
    numbers beyond i32 any number of i32 outdoes: below, of a maximum.
    """

    need: int = EXACT
    of: Mapping[int, int] = field(default_factory=dict)
    outdone: Interval = I32_RANGE


FACT = (Width, Callable)
"""A fact of kind "integer-width" is a `Width`, or a function of the op that gives one."""

WIDTHS.add(
    Width(BITS), "Add", "AddConst", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "CumSum", "Mul", "MulConst", "Neg",
    "Scale", "Square", "SquaredDifference", "Sub")
WIDTHS.add(Width(BITS, {1: EXACT}), "ShiftLeft")
WIDTHS.add(Width(EXACT, {1: EXACT}), "Pow")
WIDTHS.add(Width(0, {0: CLIPPED}), "OneHot")
WIDTHS.add(Width(0, {1: EXACT}), "ReverseSequence")

_SUM, _GREATEST, _LEAST = Width(BITS), Width(CLIPPED, outdone=_NOT_ABOVE), Width(CLIPPED, outdone=_NOT_BELOW)
WIDTHS.add(_GREATEST, "Max", "MaxPool")
WIDTHS.add(_LEAST, "Min")

_REDUCTIONS = {
    "ReduceSum": _SUM, "ReduceProd": _SUM, "ReduceSumSquare": _SUM, "ReduceMax": _GREATEST, "ReduceMin": _LEAST}
_UPDATES = {"add": _SUM, "mul": _SUM, "max": _GREATEST, "min": _LEAST}


@WIDTHS("Reduce")
def reduced(op: Reduce) -> Width:
    """Sums and products of low bits have the right low bits."""
    return _REDUCTIONS.get(op.attribute("mode")) or Width(_of_moves(op))


@WIDTHS("ScatterND", "ScatterElements")
def scattered(op: ScatterElements | ScatterND) -> Width:
    """Likewise sums and products of updates."""
    return _UPDATES.get(op.attribute("reduction")) or Width(_of_moves(op))


def _of_moves(op: Op) -> int:
    """An op that moves numbers needs nothing of them; one that compares them, that they are clipped."""
    moves = moves_of(op)
    return EXACT if moves is None else CLIPPED if moves.by_value else 0


def width_of(op: Op) -> Width:
    """What an op needs: what is said of it, else what follows from that it moves numbers, else all bits.

    A ReLU at its end compares: of numbers that were computed it needs all bits.
    """
    fact = host().facts("integer-width")[op.name]
    width: Width = Width(_of_moves(op)) if fact is None else fact if isinstance(fact, Width) else fact(op)
    return replace(width, need=EXACT) if width.need == BITS and op.attribute("do_relu", False) else width


def keeps_bits(op: Op) -> bool:
    """Whether the low bits of an op's results depend on the low bits of its operands alone."""
    fact = host().facts("integer-width")[op.name]
    return isinstance(fact, Width) and fact.need == BITS


def subscripts_of(op: Op) -> tuple[int, ...]:
    """The operands of an op that are subscripts, which lie in their dimension."""
    return tuple(number for number, index in index_operands(op).items() if index.lies_inside)
