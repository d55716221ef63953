"""What a quantized module still computes with floats, or in 16 bits, and why."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from transload.analysis.movement import is_cast, moves_of
from transload.ir import FloatType, Module, Op
from transload.ir.build import constant_of
from transload.plugin import Quantized
from transload.quantization import floats_in

from .groups import rule_of
from .islands import Held
from .layers import FLOAT

__all__ = ["islands_of", "kept_float", "nothing_quantized"]


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


def nothing_quantized(
    module: Module, islands: Collection[str], inputs: object = None, outputs: object = None,
) -> list[str]:
    """Why a module that was to be quantized is still of floats alone, and what to do, where nothing else says it; `islands` are
    tensors that were found to stay float, `inputs` and `outputs` were asked for as integers."""
    if islands:
        return ["nothing is quantized: no tensor is held in 8 bits without a loss that does not pay; "
                "--quantizer-option islands=none quantizes all the same"]
    moving = [op.results[0].name or op.name for op in module.body_of_main if _moves_floats(op)]
    if not moving:
        return []
    more = f" and {len(moving) - 1} more" if len(moving) > 1 else ""
    hint = "" if inputs or outputs else "; --quant-input --quant-output have integers moved"
    return [f"nothing is quantized: what but moves or picks floats ({moving[0]!r}{more}) is left as it is between floats{hint}"]


def _moves_floats(op: Op) -> bool:
    return bool(op.results) and constant_of(op.results[0]) is None and moves_of(op) is not None and any(
        isinstance(value.element_or_none, FloatType) for value in op.results)


def _why(op: Op, decided: Mapping[str, str]) -> str:
    taken = sorted({value.name for value in op.operands if value.name is not None and value.name in decided})
    if taken:
        return f"{op.name} takes {', '.join(map(repr, taken))}, which stays float"
    if rule_of(op) is None:
        return f"{op.name} has no form in integers"
    if any(not value.is_float and constant_of(value) is None for value in (*op.operands, *op.results)):
        return f"{op.name} has operands that are no floats"
    return f"{op.name} computes what only floats take"


def islands_of(options: Mapping[str, Any], made: Quantized) -> dict[str, Any]:
    """The option that holds the islands of what was made by `options`; none where these did not look for any."""
    form = options.get("islands", "mixed")
    if form == "none" or options.get("layers") is not None:
        return {}
    layers = made.report.get("layers", {})
    floats = {name: why for name, why in (made.floats or {}).items() if layers.get(name) == FLOAT}
    return {"islands": Held(form, floats, made.wide)}
