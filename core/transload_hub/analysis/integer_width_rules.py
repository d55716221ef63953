"""What ops on wide integers need of their operands in i32, and what they give: the rules of the analysis in `int64`."""

from __future__ import annotations

from typing import NamedTuple

from transload.ir import IntegerType, Op, TensorType, Type
from transload.ir.types import IndexType

from .intervals import Interval, inside

__all__ = [
    "BITS", "CLIPPED", "EXACT", "I32_RANGE", "RING", "Known", "holds", "is_wide", "need_of", "needs_of_operands", "subscripts_of"]

BITS, CLIPPED = 1, 2
EXACT = BITS | CLIPPED

I32_RANGE: Interval = (-(1 << 31), (1 << 31) - 1)


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

RING = frozenset(f"top.{name}" for name in (
    "Add", "AddConst", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "CumSum", "Mul", "MulConst", "Neg", "Scale",
    "ShiftLeft", "Square", "SquaredDifference", "Sub"))
"""Ops whose low bits depend on the low bits of their operands alone."""

_MONOTONE = frozenset(f"top.{name}" for name in ("Clip", "Max", "MaxPool", "Min", "Relu"))
"""Ops that commute with clipping."""

_MOVING = frozenset(f"top.{name}" for name in (
    "BatchToSpace", "Concat", "Depth2Space", "Expand", "Fill", "Gather", "GatherElements", "GatherND", "Input", "OneHot",
    "Pack", "Pad", "Permute", "Reshape", "Reverse", "ReverseSequence", "Roll", "Slice", "SpaceToBatch", "Split", "Squeeze",
    "Tile", "Trilu", "Unpack", "Unsqueeze", "Upsample", "Where"))
"""Ops that give numbers of their operands as they are."""

_SUBSCRIPTS = dict.fromkeys(
    ("top.Gather", "top.GatherElements", "top.GatherND", "top.ScatterElements", "top.ScatterND"), (1,))
"""Operands that are subscripts, which lie in their dimension."""

_OTHERS = {"top.OneHot": {0: CLIPPED}, "top.ReverseSequence": {1: EXACT}, "top.ShiftLeft": {1: EXACT}, "top.Pow": {1: EXACT}}
"""Operands of which more is needed than of the op's others."""

_REDUCTIONS = {
    "ReduceSum": BITS, "ReduceProd": BITS, "ReduceSumSquare": BITS, "ReduceMax": CLIPPED, "ReduceMin": CLIPPED}

_SCATTERS = {"none": 0, "add": BITS, "mul": BITS, "max": CLIPPED, "min": CLIPPED}


def need_of(op: Op) -> int:
    """What an op needs of its operands; a result beyond i32 has no more than that."""
    if op.attribute("do_relu", False):
        return EXACT
    if op.name in RING:
        return BITS
    if op.name in _MONOTONE:
        return CLIPPED
    if op.name in _MOVING:
        return 0
    if op.name == "top.Reduce":
        return _REDUCTIONS.get(op.attribute("mode"), EXACT)  # type: ignore[arg-type]
    if op.name in ("top.ScatterND", "top.ScatterElements"):
        return _SCATTERS[op.attribute("reduction")]  # type: ignore[index]
    return EXACT


def subscripts_of(op: Op) -> tuple[int, ...]:
    """The operands of an op that are subscripts."""
    return _SUBSCRIPTS.get(op.name, ())


def needs_of_operands(op: Op) -> dict[int, int]:
    """What an op needs of operands that are not like its others."""
    return _OTHERS.get(op.name, {})
