"""Saying, op by op, why Vela would not take a module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from transload.errors import Finding, merge_findings
from transload.ir import Module, Op
from transload.plugin import Quantized
from transload.quantization import has_floats
from transload.read_again import quantizing

from .accelerators import FAMILIES, Accelerator
from .constraints import constraints_of
from .facts import ANY_TYPES, accepted, is_known, signature, signatures_of

__all__ = ["check_module", "refusals"]

STRUCTURE = frozenset({"tosa.const", "tosa.const_shape", "tosa.yield", "func.return"})
"""Ops that run nowhere."""
QUANTIZE = "quantize the model first (int8, or int16 activations)"
HOST = "leave it to the host with --option float_ops=host, or --host TARGET"
REFUSED = "leave it to the host with --option float_ops=host: with float_ops=refuse nothing is left to any, --host neither"
QUANTIZERS = ("int8-asym", "int8")
"""Those whose numbers the chip's kernels for softmax and its like compute with, the best first."""
MOST_TOLD = 3
"""How many tensors that stayed float a hint names."""
HINTS = {
    "tosa.reduce_max": "find the greatest of the 8- or 16-bit tensor, before it is widened",
    "tosa.reduce_min": "find the least of the 8- or 16-bit tensor, before it is widened",
    "tosa.clamp": "clamp 8- or 16-bit tensors; wider ones with maximum and minimum",
}


def check_module(module: Module, accelerator: Accelerator, host: str = "") -> Sequence[Finding]:
    """Every reason why Vela would refuse the module for this accelerator; findings that differ only in names are joined.

    `host` is how the host could do what the NPU does not take, as part of the advice; nothing where it could not.
    """
    family = accelerator.family
    found = merge_findings([finding for op in module.ops() if op.name not in STRUCTURE for finding in refusals(op, family)])
    if module.quantization is not None:
        kept = _kept_float(module.quantization)
        found = [replace(each, why=each.why + kept, hint="") if each.hint == QUANTIZE else each for each in found]
    advice = QUANTIZE + quantizing(module, accelerator.name, QUANTIZERS)
    hints = [advice if finding.hint == QUANTIZE else finding.hint for finding in found]
    if host:
        hints = ["; or ".join(filter(None, (hint, host))) for hint in hints]
    return [
        replace(finding, names=tuple(dict.fromkeys(finding.names)), hint=hint)
        for finding, hint in zip(found, hints, strict=True)]


def _kept_float(quantized: Quantized) -> str:
    """What of a model that was quantized on its way stayed float, and why, as the end of a sentence."""
    floats = list((quantized.floats or {}).items())
    told = [f"{name!r} ({why})" for name, why in floats[:MOST_TOLD]]
    if more := len(floats) - len(told):
        told.append(f"{more} more")
    if not told:
        nothing = quantized.report.get("nothing quantized") or ()
        return "".join(f"; {why}" for why in nothing)
    return f"; quantizing left float {', '.join(told)}"


def refusals(op: Op, family: str) -> list[Finding]:
    """The reasons why one op cannot be taken: its element types, else what the constraints say."""
    names = (op.origin,) if op.origin else ()
    found = _wrong_types(op, family)
    if found is not None:
        return [Finding(op.name, found[0], names, found[1])]
    findings = []
    for constraint in constraints_of(op, family):
        holds = constraint.holds(op, family)
        if holds is not True:
            why = f"{_who(constraint.families)} {constraint.why}" + (f", not {holds}" if holds else "")
            findings.append(Finding(op.name, why, names, constraint.hint))
            if constraint.first:
                break
    return findings


def _who(families: Sequence[str]) -> str:
    return "Vela needs" if len(families) == len(FAMILIES) else f"{' and '.join(FAMILIES[family] for family in families)} need"


def _wrong_types(op: Op, family: str) -> tuple[str, str] | None:
    """Why the op's element types are not taken, and what to do; None where they are."""
    if op.dialect != "tosa":
        return "Vela takes ops of TOSA only", "convert the model to the tosa dialect"
    if has_floats(op):
        return f"{FAMILIES[family]} computes with integers only, and this works on floats", QUANTIZE
    if accepted(op, family) != "no":
        return None
    if op.declaration is None or not is_known(op.name):
        return "Vela does not know this operator", ""
    others = [title for other, title in FAMILIES.items() if other != family and accepted(op, other) != "no"]
    elsewhere = f"{' and '.join(others)} takes it" if others else ""
    takes = signatures_of(op.name, family)
    if not takes:
        return f"{FAMILIES[family]} has no such operation", elsewhere
    given = "" if op.name in ANY_TYPES else signature(op)
    return (f"{FAMILIES[family]} takes {', '.join(takes)} here, not {given}",
            "; ".join(text for text in (HINTS.get(op.name, ""), elsewhere) if text))
