"""What is known of TOSA's operators: which of them only move numbers, which operands are indices, how regions run, of which
windows they compute.

Source: the specification's operators of the groups data layout, scatter/gather, and what the others say of ties and limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transload.analysis.dataflow import Branches, Loop
from transload.analysis.movement import Index, Moves
from transload.engine.steps import over_windows, size_of, weighted
from transload.facts import FactTable
from transload.ir import Op, Value
from transload.ir.build import constant_of

if TYPE_CHECKING:
    from .dialect.conversion import Rescale
    from .dialect.elementwise import Clamp

__all__ = ["CASTS", "CONTROL", "INDICES", "MOVES", "PRODUCTS", "SIGNS", "STEPS"]

MOVES = FactTable("tosa")
INDICES = FactTable("tosa")
CASTS = FactTable("tosa")
SIGNS = FactTable("tosa")
STEPS = FactTable("tosa")
PRODUCTS = FactTable("tosa")

CONTROL = FactTable("tosa")

CASTS.add(True, "cast")
CONTROL.add(Branches(), "cond_if")
CONTROL.add(Loop(), "while_loop")
STEPS.add(lambda op: over_windows(op, op.kernel), "avg_pool2d", "max_pool2d")
STEPS.add(lambda op: over_windows(op, _numbers(op.kernel)), "avg_pool2d_adaptive", "max_pool2d_adaptive")
PRODUCTS.add(lambda op: weighted(op.output, op.weight, 0), "conv2d", "conv3d")
PRODUCTS.add(lambda op: weighted(op.input, op.weight, -1), "transpose_conv2d")

MOVES.add(Moves(keeps_order=True), "reshape")
MOVES.add(Moves(keeps_order=True, keeps_dimensions=True), "identity")
MOVES.add(Moves(keeps_dimensions=True), "transpose")
MOVES.add(Moves(), "gather", "reverse", "row_gather", "slice", "tile")
MOVES.add(Moves(None), "concat")
MOVES.add(Moves((0, 2)), "pad", "scatter")
MOVES.add(Moves((1, 2)), "select")
MOVES.add(Moves((0, 1), by_value=True), "maximum", "minimum")
MOVES.add(Moves(by_value=True), "max_pool2d", "max_pool2d_adaptive", "reduce_max", "reduce_min")


@MOVES("clamp")
def clamped(op: Clamp) -> Moves:
    """The element, or a limit."""
    return Moves(by_value=True, constants=(float(op.min_val), float(op.max_val)))


@PRODUCTS("depthwise_conv2d")
def of_each_channel(op: Op) -> int:
    """Each result is of a kernel of its own: KH * KW."""
    shape = op.operands[1].shape_or_none
    return size_of(op.results[0]) * (shape[0] or 1) * (shape[1] or 1) if shape else 0


def _numbers(value: Value) -> tuple[int, ...]:
    """Those of a shape, where it is a constant."""
    constant = constant_of(value)
    return () if constant is None else tuple(constant.numpy().reshape(-1).tolist())


def _rows(op: Op) -> int | None:
    """How many rows `values` has: its dimension K of [N, K, C]."""
    shape = op.operands[0].shape_or_none
    return shape[1] if shape is not None else None


INDICES.add({1: Index(_rows)}, "gather", "row_gather", "scatter")


@SIGNS("rescale")
def signs(op: Rescale) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """TOSA's integers have no sign: all operators take them as signed, but for this one where it says so."""
    return (0,) if op.input_unsigned else (), (0,) if op.output_unsigned else ()
