"""Which modules are lowered directly, and what StableHLO has no types for."""

from __future__ import annotations

from transload.errors import ConversionError, Finding, merge_findings
from transload.ir import I48, FloatType, IndexType, IntegerType, Module, TensorType, Value, input_names
from transload.ir.build import constant_of
from transload.ir.regions import blocks_in

__all__ = ["check_elements", "check_types", "why_not_directly"]


def why_not_directly(module: Module) -> str | None:
    """Why a module of `top` ops is not lowered directly: the integer arithmetic of quantized models is written once, for TOSA.

    Weights that are stored as integers and used as real numbers are no such arithmetic (`dequantize-weights`).
    """
    for block in blocks_in(module):
        for value in (*block.arguments, *(result for op in block for result in op.results)):
            if value.is_quantized and not _is_stored_weight(value):
                return "the module computes with quantized types"
    return None


def _is_stored_weight(value: Value) -> bool:
    return constant_of(value) is not None and all(
        user.name == "top.Cast" and isinstance(user.results[0].element, FloatType) for user in value.uses)


WIDTHS = (1, 2, 4, 8, 16, 32, 64)
"""Bits of StableHLO's integers."""


def _is_dynamic(value: Value) -> bool:
    return isinstance(value.type, TensorType) and not value.type.is_static


def _is_foreign(value: Value) -> bool:
    """Whether a value's elements are of a type that StableHLO does not have."""
    element = value.element_or_none
    return isinstance(element, IndexType) or (
        isinstance(element, IntegerType) and (element.width not in WIDTHS or element.signedness == "s"))


def check_types(module: Module) -> bool:
    """Raise `ConversionError` for values of types that StableHLO lacks: each where it first occurs."""
    findings: list[Finding] = []
    for op in module.walk():
        arguments = [value for region in op.regions for block in region.blocks for value in block.arguments]
        if op.name == "func.func":
            for name, value in zip(input_names(op), arguments, strict=True):
                findings += _found("an argument", value, name, "give the inputs static shapes: --shape NAME:1x224x224x3")
        if any(_is_dynamic(value) or _is_foreign(value) for value in op.operands) or op.name == "top.NonZero":
            continue  # it follows from what was found before; NonZero says it itself
        for value in op.results:
            findings += _found(op.name, value, op.origin, "make what it computes its size of constant")
    if findings:
        raise ConversionError("the model has types that cannot be converted to StableHLO", merge_findings(findings))
    return False


def check_elements(module: Module) -> bool:
    """Raise `ConversionError` for values of element types that StableHLO lacks: each where it first occurs.

    Integers of 48 bits are none of them: the rewrites give them 64.
    """
    findings: list[Finding] = []
    for op in module.walk():
        arguments = [value for region in op.regions for block in region.blocks for value in block.arguments]
        new = [*arguments, *(() if any(map(_is_refused, op.operands)) else op.results)]
        findings += [
            Finding(op.name, f"StableHLO has no type {value.element}", (value.name,) if value.name else ())
            for value in new if _is_refused(value)]
    if findings:
        raise ConversionError("the model has types that cannot be converted to StableHLO", merge_findings(findings))
    return False


def _is_refused(value: Value) -> bool:
    return _is_foreign(value) and value.element_or_none != I48


def _found(what: str, value: Value, name: str | None, hint: str) -> list[Finding]:
    names = (name,) if name else ()
    if _is_foreign(value):
        return [Finding(what, f"StableHLO has no type {value.element}", names)]
    if _is_dynamic(value):
        return [Finding(what, f"it is of type {value.type}: a size is known only at run time", names, hint)]
    return []
