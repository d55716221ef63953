"""Weights of integers for operators of float activations, which LiteRT rounds as it runs ("hybrid", "dynamic range").

A product that says by `DYNAMIC` that its activations may be rounded takes the integers themselves, not the cast of them: with
these operands LiteRT chooses the kernel that does so.
"""

from __future__ import annotations

from transload.ir import I8, Module, Op, QuantType
from transload.ir.build import constant_of
from transload.verification.bounds import DYNAMIC

__all__ = ["is_hybrid", "take_integers"]


def take_integers(module: Module) -> bool:
    """Have products that may round activations take weights of 8 bits as they are stored; whether some do.

    Those that a cast folds, as where a model was read with real weights, stay real.
    """
    changed = False
    for op in module.walk():
        if DYNAMIC not in op.attributes or op.name not in ("top.Conv", "top.MatMul"):
            continue
        maker = op.operands[1].op
        if maker is None or maker.name != "top.Cast" or not maker.stored or constant_of(maker.operands[0]) is None:
            continue
        kind = maker.operands[0].quant
        if isinstance(kind, QuantType) and kind.storage == I8 and kind.blocks is None and not any(kind.zero_points):
            op.set_operand(1, maker.operands[0])
            changed = True
    return changed


def is_hybrid(op: Op) -> bool:
    """Whether an op multiplies floats, which are rounded as it runs, by integers."""
    return DYNAMIC in op.attributes and op.operands[0].quant is None and op.operands[1].quant is not None
