"""Tensors with a scale for each block, which TOSA cannot say of any tensor: ops on them compute with real numbers.

What is left to the conversion are the casts to and from such tensors, constants, and products, whose rules know blocks.
"""

from __future__ import annotations

from transload.ir import Module, Op, Type, Value
from transload.rewrite import Rewriter

__all__ = ["spell_out_blocks"]

_KNOWS = frozenset({"top.Cast", "top.MatMul", "top.Weight"})


def spell_out_blocks(module: Module) -> bool:
    """Put casts from and to real numbers around every other op on tensors that have a scale for each block."""
    changed = False
    for op in list(module.walk()):
        declaration = op.declaration
        if op.dialect != "top" or op.name in _KNOWS or op.regions or declaration is None or "terminator" in declaration.traits:
            continue
        if any(_in_blocks(value) for value in (*op.operands, *op.results)):
            _on_reals(op)
            changed = True
    return changed


def _in_blocks(value: Value) -> bool:
    return value.quant is not None and value.quant.blocks is not None


def _real_type(value: Value) -> Type:
    return value.tensor_type.with_element(value.quant.expressed) if value.quant is not None else value.type


def _on_reals(op: Op) -> None:
    rw = Rewriter(op)
    operands = [
        rw.emit("top.Cast", value, element=value.quant.expressed) if value.quant is not None else value for value in op.operands]
    made = rw.create(op.name, operands, [_real_type(result) for result in op.results], dict(op.attributes))
    made.attributes.pop("rounding", None)
    rw.replace([
        rw.emit("top.Cast", new, element=old.element) if old.is_quantized else new
        for new, old in zip(made.results, op.results, strict=True)])
