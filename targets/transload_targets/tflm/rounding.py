"""FULLY_CONNECTED of 8 bits, which tflite-micro rounds twice and LiteRT once: a step, at less than one number in a hundred.

One layer behind another, that is within what verification allows. Where a layer is given what came of its own weights before, as
in an unrolled recurrent network, the steps add up over time until nothing is left of the result.
"""

from __future__ import annotations

import hashlib

from transload.errors import Finding, merge_findings
from transload.ir import Module, Op, Value
from transload.ir.build import constant_of

__all__ = ["recurrent_findings"]

FULLY_CONNECTED, WEIGHTS = "tfl.fully_connected", 1
WHY = (
    "tflite-micro rounds it twice, and LiteRT once; it is given what came of the same weights before, so that steps add up")


def recurrent_findings(module: Module) -> list[Finding]:
    """Each 8-bit FULLY_CONNECTED that depends on another one with its weights."""
    findings = []
    for function in module.functions.values():
        behind: dict[Value, frozenset[str]] = {}
        for op in function.regions[0].block:
            before = frozenset().union(*(behind.get(value, frozenset()) for value in op.operands))
            key = _weights(op)
            if key is not None and key in before:
                findings.append(Finding(op.name, WHY, (op.origin,) if op.origin else (),
                                        "--option recurrent=micro takes tflite-micro's rounding instead"))
            after = before if key is None else before | {key}
            if after:
                behind.update(dict.fromkeys(op.results, after))
    return merge_findings(findings)


def _weights(op: Op) -> str | None:
    """What tells the constant weights of an 8-bit FULLY_CONNECTED from others; None of other ops."""
    if op.name != FULLY_CONNECTED or not op.operands[0].is_quantized or str(op.operands[0].stored_element) != "i8":
        return None
    held = constant_of(op.operands[WEIGHTS])
    return None if held is None else hashlib.sha256(held.numpy().tobytes()).hexdigest()
