"""Which ops of StableHLO only move numbers (its specification, "Ops"), which cast them, how those with regions run them, and
what quantized ones compute."""

from __future__ import annotations

from transload.analysis.dataflow import Branches, Loop
from transload.analysis.movement import Moves
from transload.engine.integers import kernel_on_reals
from transload.facts import FactTable

__all__ = ["CASTS", "CONTROL", "INTEGERS", "MOVES"]

MOVES = FactTable("stablehlo")
CASTS = FactTable("stablehlo")

CONTROL = FactTable("stablehlo")
INTEGERS = FactTable("stablehlo")

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
