"""Which ops of StableHLO only move numbers (its specification, "Ops"), which cast them, how those with regions run them and how
often, and what quantized ones compute."""

from __future__ import annotations

import math

from transload.analysis.dataflow import Branches, Loop
from transload.analysis.movement import Moves
from transload.engine.integers import kernel_on_reals
from transload.engine.steps import over_windows, size_of, weighted
from transload.facts import FactTable
from transload.ir import Op

__all__ = ["CASTS", "CONTROL", "INTEGERS", "MOVES", "PRODUCTS", "STEPS"]

MOVES = FactTable("stablehlo")
CASTS = FactTable("stablehlo")

CONTROL = FactTable("stablehlo")
INTEGERS = FactTable("stablehlo")
STEPS = FactTable("stablehlo")
PRODUCTS = FactTable("stablehlo")

INTEGERS.add(kernel_on_reals, "*")  # the specification's meaning of quantized ops: dequantize, compute, quantize
CASTS.add(True, "convert")
CONTROL.add(Branches(), "if", "case")
CONTROL.add(Loop(), "while")

MOVES.add(Moves(keeps_order=True), "reshape", "dynamic_reshape")
MOVES.add(Moves(keeps_dimensions=True), "transpose")
MOVES.add(
    Moves(), "broadcast", "broadcast_in_dim", "dynamic_broadcast_in_dim", "dynamic_gather", "dynamic_slice", "gather",
    "real_dynamic_slice", "reverse", "slice", "torch_index_select")
MOVES.add(Moves(None), "concatenate", "get_tuple_element", "optimization_barrier", "tuple")
MOVES.add(Moves((0, 1)), "dynamic_pad", "dynamic_update_slice", "pad")
MOVES.add(Moves((1, 2)), "select")
MOVES.add(Moves((0, 1), by_value=True), "maximum", "minimum")
MOVES.add(Moves((0, 1, 2), by_value=True), "clamp")

STEPS.add(lambda op: size_of(op.operands[0]), "map", "reduce")
STEPS.add(lambda op: over_windows(op, op.window_dimensions, computes_padding=True), "reduce_window")
STEPS.add(lambda op: size_of(op.operands[-1]), "scatter")

PRODUCTS.add(
    lambda op: weighted(op.result, op.rhs, op.dimension_numbers.kernel_output_feature_dimension), "convolution", "dynamic_conv")


@STEPS("select_and_scatter")
def selected(op: Op) -> int:
    """One is selected of the window of each number of the source."""
    return size_of(op.operands[1]) * math.prod(op.attribute("window_dimensions", ()))


@STEPS("sort")
def compared(op: Op) -> int:
    """n numbers are sorted by n * log2(n) comparisons."""
    shape = op.operands[0].shape_or_none or ()
    return size_of(op.operands[0]) * max((size or 1).bit_length() for size in (*shape, 1))
