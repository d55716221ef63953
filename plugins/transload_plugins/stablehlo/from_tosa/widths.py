"""Integers of 48 bits, which StableHLO does not have."""

from __future__ import annotations

from transload.ir import I48, I64, Module, TensorType, update_function_type
from transload.ir.regions import blocks_in

__all__ = ["widen_48_bits"]


def widen_48_bits(module: Module) -> None:
    """Give all values of 48 bits 64: TOSA's programs never leave 48, so that results are the same."""
    changed = False
    for block in blocks_in(module):
        for value in (*block.arguments, *(result for op in block for result in op.results)):
            type_ = value.type
            if isinstance(type_, TensorType) and type_.element == I48:
                value.type = type_.with_element(I64)
                changed = True
    for function in module.functions.values():
        if changed and function.regions[0].blocks:
            update_function_type(function)
