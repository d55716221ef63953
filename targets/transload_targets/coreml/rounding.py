"""Quantized ops that Core ML would not round as they are: refused, unless its own rounding is asked for."""

from __future__ import annotations

from transload.errors import Finding, merge_findings
from transload.findings import refuse
from transload.ir import Module
from transload_hub.simplify.spell_out import rounds_otherwise

__all__ = ["check_rounding"]

WHY = "it rounds otherwise than Core ML's quantize, once and to even, and networks of such ops end steps away"


def check_rounding(module: Module, rounding: str = "kept") -> bool:
    """Refuse quantized ops that round otherwise than QDQ, unless `rounding` is "coreml"."""
    if rounding == "kept":
        refuse(merge_findings([
            Finding(op.name, WHY, (op.origin,) if op.origin else (), "--option rounding=coreml takes Core ML's rounding instead")
            for op in module.walk() if rounds_otherwise(op)]))
    return False
