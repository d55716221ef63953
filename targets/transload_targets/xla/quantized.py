"""Quantized types of StableHLO for XLA, which has none: each op dequantizes, computes, and quantizes.

That is how the specification defines ops on quantized tensors; the numbers are those of its section on quantization
computations. Ops that only move elements work on the stored numbers where all types are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.analysis.movement import moves_of
from transload.ir import BOOL, Module, Op, QuantType, TensorType, Type, Value, dtype_of, update_function_type
from transload.ir.build import Builder
from transload.ir.constants import SplatData

__all__ = ["without_quantized_types"]

_CARRIERS = frozenset(f"stablehlo.{name}" for name in ("constant", "while", "if", "case", "return"))
"""Ops that compute nothing themselves: what they hold, or what their regions give, are their results."""


def _quantized(type_: Type) -> QuantType | None:
    element = type_.element if isinstance(type_, TensorType) else None
    return element if isinstance(element, QuantType) else None


def without_quantized_types(module: Module) -> None:
    """Rewrite a module in place so that no value is of a quantized type; its arguments and results are the stored numbers."""
    if not any(_quantized(v.type) for op in module.walk() for v in (*op.results, *_arguments(op))):
        return
    for op in list(module.walk()):
        types = [quant for v in (*op.operands, *op.results) if (quant := _quantized(v.type)) is not None]
        carries = op.name in _CARRIERS or moves_of(op) is not None
        if not types or op.name in ("func.return", "func.call", "func.func") or (carries and _alike(types)):
            continue
        _spelled_out(op)
    for op in module.walk():
        for value in (*op.results, *_arguments(op)):
            quant = _quantized(value.type)
            if quant is not None:
                value.type = value.tensor_type.with_element(quant.storage)
    for function in module.functions.values():
        if function.regions[0].blocks:
            update_function_type(function)


def _arguments(op: Op) -> list[Value]:
    return [argument for region in op.regions for block in region.blocks for argument in block.arguments]


def _alike(types: list[QuantType]) -> bool:
    first = types[0]
    return all((t.storage, t.scales, t.zero_points) == (first.storage, first.scales, first.zero_points) for t in types)


def _spelled_out(op: Op) -> None:
    """Dequantize the operands of an op, and quantize its results."""
    before = Builder(op.parent, op, op.location)  # type: ignore[arg-type]
    reals = tuple(_dequantized(before, v, quant) if (quant := _quantized(v.type)) else v for v in op.operands)
    if op.name in ("stablehlo.uniform_dequantize", "stablehlo.uniform_quantize"):
        made = reals[0]
        if (quant := _quantized(op.results[0].type)) is not None:
            made = _stored(before, made, quant, op.results[0].type)
        op.replace_with([made])
        return
    op.operands = reals
    for region in op.regions:
        for block in region.blocks:
            for argument in block.arguments:
                if (quant := _quantized(argument.type)) is not None:
                    argument.type = argument.tensor_type.with_element(quant.expressed)
    after = Builder(op.parent, op.next, op.location)  # type: ignore[arg-type]
    for result in op.results:
        quant = _quantized(result.type)
        if quant is None:
            continue
        wanted = result.type
        users = list(result.uses)
        result.type = result.tensor_type.with_element(quant.expressed)
        stored = _stored(after, result, quant, wanted)
        for user in users:
            user.operands = tuple(stored if v is result else v for v in user.operands)


def _filled(rw: Builder, type_: Any, number: Any) -> Value:
    return rw.constant(SplatData(number, type_.shape, dtype_of(type_.element)), type_.element, dialect="stablehlo")


def _along(rw: Builder, type_: Any, quant: QuantType, numbers: Any) -> Value:
    """Scales or zero points in the type they are computed with, spread over a tensor's shape."""
    if quant.axis is None or len(set(numbers)) == 1:
        return _filled(rw, type_, numbers[0])
    row = rw.constant(np.array(numbers, np.float64).astype(dtype_of(type_.element)), type_.element, dialect="stablehlo")
    return rw.create("stablehlo.broadcast_in_dim", (row,), [type_], {"broadcast_dimensions": (quant.axis,)}).results[0]


def _dequantized(rw: Builder, x: Value, quant: QuantType) -> Value:
    """`(stored - zero_point) * scale` in the expressed type."""
    type_: Any = x.tensor_type.with_element(quant.expressed)
    real = rw.create("stablehlo.convert", (x,), [type_]).results[0]
    if any(quant.zero_points):
        real = rw.emit("stablehlo.subtract", real, _along(rw, type_, quant, quant.zero_points))
    return rw.emit("stablehlo.multiply", real, _along(rw, type_, quant, quant.scales))


def _stored(rw: Builder, real: Value, quant: QuantType, wanted: Type) -> Value:
    """`real / scale + zero_point` in the expressed type, clamped to the storage range, rounded to even; NaN is 0."""
    type_: Any = real.type
    scaled = rw.emit("stablehlo.divide", real, _along(rw, type_, quant, quant.scales))
    if any(quant.zero_points):
        scaled = rw.emit("stablehlo.add", scaled, _along(rw, type_, quant, quant.zero_points))
    number = rw.emit(
        "stablehlo.compare", scaled, scaled, comparison_direction="EQ", compare_type="FLOAT", element=BOOL)
    scaled = rw.emit("stablehlo.select", number, scaled, _filled(rw, type_, 0))
    low, high = (_filled(rw, type_, limit) for limit in (quant.storage_min, quant.storage_max))
    clamped = rw.emit("stablehlo.clamp", low, scaled, high)
    rounded = rw.emit("stablehlo.round_nearest_even", clamped)
    return rw.create("stablehlo.convert", (rounded,), [wanted]).results[0]
