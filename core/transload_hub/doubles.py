"""Numbers of f64, which targets have not, or have few kernels for: said where they become f32, or refused."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from transload.errors import Finding, merge_findings
from transload.findings import refuse
from transload.ir import (
    F32,
    F64,
    Dense,
    FloatType,
    Module,
    Op,
    QuantType,
    TensorType,
    Type,
    Value,
    input_names,
    update_function_types,
)
from transload.ir.build import constant_of
from transload.ir.constants import LazyData

__all__ = ["is_double", "make_singles", "tell_doubles"]

_SHOWN = 4
_OF_BITS = "top.Bitcast"
_HINT = "convert the model to f32, or let it be narrowed (option f64=narrowed); the target stablehlo keeps f64"


def tell_doubles(module: Module, f64: str, computes: str = "TOSA has f32") -> bool:
    """With `f64="narrowed"` a note on the module, which says what becomes f32; with "refused" a finding for each kind of op.

    Whether numbers are to become f32; `computes` says what a target has in their place.
    """
    wide = [op for op in module.walk() if any(map(is_double, op.results))]
    arguments = [
        name for function in module.functions.values() if function.regions[0].blocks
        for name, argument in zip(input_names(function), function.regions[0].block.arguments, strict=True) if is_double(argument)]
    if not wide and not arguments:
        return False
    if f64 == "refused":
        refuse(merge_findings([
            *(Finding(_shown(op), f"computes in f64, and {computes}", (op.origin,) if op.origin else (), _HINT) for op in wide),
            *(Finding("an input", f"is f64, and {computes}", (name,), _HINT) for name in arguments)]))
        return False
    computed = [name for op in wide for result in op.results if (name := result.name)]
    distinct = list(dict.fromkeys([*arguments, *computed]))
    listed = ", ".join(distinct[:_SHOWN]) + (", ..." if len(distinct) > _SHOWN else "")
    note = f"{len(arguments) + len(wide)} values are f64 in the model, and f32 here{f': {listed}' if listed else ''}"
    beyond = [op for op in wide if _is_beyond(op)]
    if beyond:
        named = ", ".join(list(dict.fromkeys(str(op.origin or op.name) for op in beyond))[:_SHOWN])
        note = f"{note}; {named}: numbers that f32 does not hold become infinite"
    module.notes = (*module.notes, f"{note} (option f64=refused refuses that)")
    return True


def make_singles(module: Module, of_bits_hint: str = "") -> bool:
    """Make all tensors of f64 ones of f32, constants too; or refuse what takes the bits of such numbers."""
    of_bits = [op for op in module.walk() if op.name == _OF_BITS and any(map(is_double, (*op.operands, *op.results)))]
    if of_bits:
        refuse(merge_findings([
            Finding(op.name, "takes the bits of f64, which f32 has not", (op.origin,) if op.origin else (), of_bits_hint)
            for op in of_bits]))
        return False
    for op in module.walk():
        _narrow(op.results)
        for region in op.regions:
            for block in region.blocks:
                _narrow(block.arguments)
        for key, held in op.attributes.items():
            if isinstance(held, Dense) and held.type.element == F64:
                op.attributes[key] = _narrowed(held)
    update_function_types(module)
    return True


def _narrow(values: Iterable[Value]) -> None:
    for value in filter(is_double, values):
        element = value.tensor_type.element
        value.type = value.tensor_type.with_element(
            element.replace(expressed=F32) if isinstance(element, QuantType) else F32)


def _narrowed(held: Dense) -> Dense:
    """The numbers as f32; those beyond its range are infinite."""
    def numbers() -> np.ndarray:
        with np.errstate(over="ignore"):
            return held.numpy().astype(np.float32)

    return Dense(LazyData(numbers, held.shape, np.dtype(np.float32)), TensorType(held.shape, F32))


def _is_beyond(op: Op) -> bool:
    """Whether it is a constant with numbers that are finite, and as f32 are not."""
    held = constant_of(op.results[0]) if len(op.results) == 1 else None
    if held is None or held.type.element != F64:
        return False
    numbers = np.abs(held.numpy())
    return bool((np.isfinite(numbers) & (numbers > np.finfo(np.float32).max)).any())


def is_double(value: Value) -> bool:
    """Whether it is a tensor of f64, or quantized from it."""
    type_: Type = value.type
    element = type_.element if isinstance(type_, TensorType) else None
    if isinstance(element, QuantType):
        element = element.expressed
    return isinstance(element, FloatType) and element == F64


def _shown(op: Op) -> str:
    return "a constant" if op.name == "top.Weight" else op.name
