"""What LiteRT has no kernels for whatever the operator: types, and sizes known only at run time."""

from __future__ import annotations

from transload.errors import Finding
from transload.findings import refuse
from transload.ir import BF16, F16, FloatType, IndexType, IntegerType, Module, QuantType, TensorType, Value
from transload.ir.build import constant_of

__all__ = ["check_types"]


def check_types(module: Module) -> bool:
    """Refuse values of types that LiteRT's kernels do not compute with, each where it first occurs."""
    findings: list[Finding] = []
    for name, function in module.functions.items():
        for argument in function.regions[0].block.arguments:
            why = _reason(argument)
            if why:
                findings.append(Finding(
                    "an argument" if name == "main" else f"function {name!r}", why[0], (argument.name or "",), why[1]))
    for op in module.walk():
        if op.name == "func.func" or any(_reason(value) for value in op.operands):
            continue  # what follows from it is not said again
        for result in op.results:
            why = None if constant_of(result) is not None else _reason(result)
            if why:
                findings.append(Finding(op.name, why[0], (op.origin,) if op.origin else (), why[1]))
    refuse(findings)
    return False


def _reason(value: Value) -> tuple[str, str] | None:
    """Why a value can be no tensor of TFLite, and what to do; None where it can."""
    type_ = value.type
    if not isinstance(type_, TensorType):
        return None
    if not type_.is_static:
        return (f"it is of type {type_}: a size is known only at run time",
                "give the inputs static shapes, and make what it computes its size of constant")
    element = type_.element
    if isinstance(element, QuantType):
        if element.blocks is not None:
            return f"it is quantized with a scale for each block, {element}", "quantize per tensor or per channel"
        return None
    if isinstance(element, FloatType) and (element in (F16, BF16) or element.name not in ("f32", "f64")):
        return None if constant_of(value) is not None else (
            f"it computes in {element}, for which LiteRT's kernels are few", "make the model one of float32")
    if isinstance(element, IndexType) or (isinstance(element, IntegerType) and element.width not in (1, 4, 8, 16, 32, 64)):
        return f"TFLite has no type {element}", ""
    return None
