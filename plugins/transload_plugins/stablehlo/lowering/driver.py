"""The lowering as a whole: which way a module takes, and what is done before and after the conversion."""

from __future__ import annotations

from transload.conversion import apply_conversion, hint_for
from transload.errors import ConversionError, Finding, merge_findings
from transload.ir import IntegerType, Module, NoneType, Op, QuantType, TensorType, Value, update_function_type
from transload.plugin import resolve
from transload.plugin_host import host
from transload.rewrite import convert_ops

from .borders import border_types, restore_border

__all__ = ["lower"]

BEFORE = ("dequantize-weights", "fold-constants", "canonicalize", "dce")
AFTER = ("dce", "cse", "dce")
"""Passes run before and after the direct conversion."""


def lower(module: Module, int64: str = "proved") -> None:
    """Convert a module of `top` ops to StableHLO, in place.

    A float or integer model is converted op by op: it keeps its layout and its types (f16, bf16, f64, i64, unsigned
    ones). A module that computes with quantized types goes by way of TOSA, `top-to-tosa` and then `tosa-to-stablehlo`:
    the integer arithmetic of quantized models is written once, there. Either way, the functions take and give what they
    did before, quantized types as their storage; `int64` is the option of `top-to-tosa`. Shapes must be static.
    Raises `ConversionError` with every op that cannot be converted.
    """
    _run(module, BEFORE)
    if _is_quantized(module):
        borders = {name: border_types(function) for name, function in module.functions.items()}
        apply_conversion(host().get("conversions", "top-to-tosa"), module, int64=int64)
        apply_conversion(host().get("conversions", "tosa-to-stablehlo"), module)
        for name, function in module.functions.items():
            restore_border(function, *borders[name])
        return
    _check_types(module)
    conversion = host().get("conversions", "top-to-stablehlo")
    convert_ops(module, host().table(conversion.name), "top", hint=hint_for(conversion))
    _drop_absent(module)
    for function in module.functions.values():
        if function.regions[0].blocks:
            update_function_type(function)
    _run(module, AFTER)


def _run(module: Module, passes: tuple[str, ...]) -> None:
    for name in passes:
        resolve(host().get("passes", name).run)(module)


def _values(module: Module) -> list[Value]:
    """All values of a module: results, and arguments of blocks."""
    found: list[Value] = []
    for op in module.walk():
        found.extend(op.results)
        for region in op.regions:
            for block in region.blocks:
                found.extend(block.arguments)
    return found


def _is_quantized(module: Module) -> bool:
    return any(isinstance(value.type, TensorType) and isinstance(value.type.element, QuantType) for value in _values(module))


# --- what StableHLO has no types for

WIDTHS = (1, 2, 4, 8, 16, 32, 64)
"""Bits of StableHLO's integers."""


def _is_dynamic(value: Value) -> bool:
    return isinstance(value.type, TensorType) and not value.type.is_static


def _is_foreign(value: Value) -> bool:
    """Whether a value's elements are of a type that StableHLO does not have."""
    element = getattr(value.type, "element", None)
    return isinstance(element, IntegerType) and (element.width not in WIDTHS or element.signedness == "s")


def _check_types(module: Module) -> None:
    """Raise `ConversionError` for values of types that StableHLO lacks: each where it first occurs."""
    findings: list[Finding] = []
    for op in module.walk():
        arguments = [value for region in op.regions for block in region.blocks for value in block.arguments]
        if op.name == "func.func":
            for value in arguments:
                findings += _found("an argument", value, value.name, "give the inputs static shapes: --input name=1x224x224x3")
        if any(_is_dynamic(value) or _is_foreign(value) for value in op.operands) or op.name == "top.NonZero":
            continue  # it follows from what was found before; NonZero says it itself
        for value in op.results:
            findings += _found(op.name, value, op.origin, "make what it computes its size of constant")
    if findings:
        raise ConversionError("the model has types that cannot be converted to StableHLO", merge_findings(findings))


def _found(what: str, value: Value, name: str | None, hint: str) -> list[Finding]:
    names = (name,) if name else ()
    if _is_foreign(value):
        return [Finding(what, f"StableHLO has no type {value.element}", names)]
    if _is_dynamic(value):
        return [Finding(what, f"it is of type {value.type}: a size is known only at run time", names, hint)]
    return []


def _drop_absent(module: Op) -> None:
    """Remove what stood for absent operands."""
    for op in list(module.walk()):
        if op.name == "top.None" and isinstance(op.result.type, NoneType) and not op.result.uses:
            op.erase()
