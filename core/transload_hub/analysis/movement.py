"""Which ops of `top` only move numbers, and which of their operands are indices. See `transload.analysis.movement`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from transload.analysis.dataflow import Branches, Loop
from transload.analysis.movement import Index, Moves
from transload.facts import FactTable
from transload.ir import IntegerType, Op, TensorType, Value

if TYPE_CHECKING:
    from ..ops.activation import Clip, Relu
    from ..ops.gather import ScatterElements, ScatterND
    from ..ops.movement import Pad
    from ..ops.reduce import Reduce
    from ..ops.resize import Interp

__all__ = ["CASTS", "CONTROL", "INDICES", "MOVES"]

MOVES = FactTable("top")
INDICES = FactTable("top")
CASTS = FactTable("top")

CONTROL = FactTable("top")

CASTS.add(True, "Cast")
CONTROL.add(Branches(), "If")
CONTROL.add(Loop(), "While")


def _activated(moves: Moves) -> Callable[[Any], Moves]:
    """Of an op that may apply a ReLU to what it moved: then numbers are compared with its limits."""

    def of(op: Op) -> Moves:
        if not op.attribute("do_relu", False):
            return moves
        limit = op.attribute("relu_limit", -1.0)
        return replace(moves, by_value=True, constants=(0.0, limit) if limit >= 0 else (0.0,))

    return of


MOVES.add(Moves(keeps_order=True), "Reshape")
MOVES.add(Moves(keeps_order=True, keeps_dimensions=True), "Squeeze", "Unsqueeze", "Input")
MOVES.add(Moves(keeps_dimensions=True), "Permute")
MOVES.add(
    Moves(), "BatchToSpace", "Depth2Space", "Expand", "Fill", "Gather", "GatherElements", "GatherND", "Reverse",
    "ReverseSequence", "Roll", "Slice", "Split", "Tile", "Unpack")
MOVES.add(Moves(constants=(0.0,)), "SpaceToBatch", "Trilu")
MOVES.add(Moves(None), "Pack")
MOVES.add(Moves((1, 2)), "OneHot", "Where")
MOVES.add(_activated(Moves()), "Upsample")
MOVES.add(_activated(Moves(None)), "Concat")
MOVES.add(_activated(Moves(by_value=True)), "MaxPool")
MOVES.add(Moves(None, by_value=True), "Max", "Min")


@MOVES("Pad")
def pad(op: Pad) -> Moves:
    """With elements of its own, or with a number: `value` where that is given, else `val`."""
    if op.mode != "constant":
        return Moves()
    return Moves((0, 1)) if op.value is not None else Moves(constants=(op.val,))


@MOVES("Interp")
def interpolated(op: Interp) -> Moves | None:
    """The nearest element, as it is."""
    return Moves() if op.mode == "nearest" and not op.antialias else None


@MOVES("Clip")
def clipped(op: Clip) -> Moves:
    """The element, or a limit."""
    return Moves(by_value=True, constants=(op.min, op.max))


@MOVES("Relu")
def rectified(op: Relu) -> Moves:
    """The element, 0, or a limit."""
    return Moves(by_value=True, constants=(0.0, op.relu_limit) if op.relu_limit >= 0 else (0.0,))


@MOVES("Reduce")
def reduced(op: Reduce) -> Moves | None:
    """The greatest or least element."""
    return Moves(by_value=True) if op.mode in ("ReduceMax", "ReduceMin") else None


@MOVES("ScatterND", "ScatterElements")
def scattered(op: ScatterElements | ScatterND) -> Moves | None:
    """The input's elements and the updates, or the greater or less of both."""
    if op.reduction in ("add", "mul"):
        return None
    return Moves((0, 2), by_value=op.reduction != "none")


# --- operands that are indices


def _sizes(value: Value) -> tuple[int | None, ...] | None:
    return value.type.shape if isinstance(value.type, TensorType) else None


def _along_axis(op: Op) -> int | None:
    """The size of the dimension `axis` of the first operand."""
    sizes = _sizes(op.operands[0])
    return None if sizes is None else sizes[op.attribute("axis", 0) or 0]


def _of_subscripts(op: Op) -> int | None:
    """The least of the sizes of the dimensions that a list of subscripts goes through."""
    sizes, subscripts = _sizes(op.operands[0]), _sizes(op.operands[1])
    if sizes is None or not subscripts or subscripts[-1] is None:
        return None
    first = op.attribute("batch_dims", 0) or 0
    indexed = sizes[first : first + subscripts[-1]]
    return None if None in indexed else min(indexed, default=None)  # type: ignore[type-var]


def _bits(op: Op) -> int | None:
    """How many places there are to shift by."""
    element = op.operands[0].element_or_none
    return element.width if isinstance(element, IntegerType) else None


INDICES.add({1: Index(_along_axis)}, "Gather", "GatherElements", "ScatterElements")
INDICES.add({1: Index(_of_subscripts)}, "GatherND", "ScatterND")
INDICES.add({0: Index(lambda op: op.attribute("depth"), lies_inside=False)}, "OneHot")
INDICES.add({1: Index(_bits, lies_inside=False)}, "ShiftLeft", "ShiftRight")
