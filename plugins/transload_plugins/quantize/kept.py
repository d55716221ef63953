"""What a quantized module still computes with floats, and why."""

from __future__ import annotations

from collections.abc import Mapping

from transload.analysis.movement import is_cast, moves_of
from transload.ir import Module, Op
from transload.ir.build import constant_of
from transload.quantization import floats_in

from .groups import rule_of

__all__ = ["kept_float"]


def kept_float(module: Module, decided: Mapping[str, str]) -> dict[str, str]:
    """The ops of a quantized module that compute with floats, by the names of their first results, each with the reason.

    `decided` are the reasons of tensors that were to stay float; what makes and takes them has no choice.
    """
    there = floats_in(module)
    makers: dict[str, Op] = {}
    for op in module.body_of_main:
        if op.results and constant_of(op.results[0]) is None and not is_cast(op) and moves_of(op) is None:
            makers.setdefault(op.results[0].name or op.name, op)
    return {**decided, **{name: _why(makers[name], decided) for name in there if name not in decided}}


def _why(op: Op, decided: Mapping[str, str]) -> str:
    taken = sorted({value.name for value in op.operands if value.name is not None and value.name in decided})
    if taken:
        return f"{op.name} takes {', '.join(map(repr, taken))}, which stays float"
    if rule_of(op) is None:
        return f"{op.name} has no form in integers"
    if any(not value.is_float and constant_of(value) is None for value in (*op.operands, *op.results)):
        return f"{op.name} has operands that are no floats"
    return f"{op.name} computes what only floats take"
