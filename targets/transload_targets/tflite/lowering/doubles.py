"""Numbers of f64: LiteRT moves them, and computes with hardly any, so that they become f32, which is said, or are refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from transload.errors import Finding, merge_findings
from transload.findings import refuse
from transload.ir import F32, F64, Dense, Module, QuantType, TensorType, Value, update_function_types
from transload.ir.constants import LazyData
from transload_hub.doubles import is_double, tell_doubles

__all__ = ["narrow_doubles"]

_OF_BITS = "top.Bitcast"


def narrow_doubles(module: Module, f64: Literal["narrowed", "kept", "refused"] = "narrowed") -> bool:
    """Make tensors of f64 ones of f32, with a note on the module; or refuse them; or leave them to LiteRT's few kernels."""
    if f64 == "kept" or not tell_doubles(module, f64, "LiteRT computes in f32"):
        return False
    of_bits = [op for op in module.walk() if op.name == _OF_BITS and any(map(is_double, (*op.operands, *op.results)))]
    if of_bits:
        refuse(merge_findings([
            Finding(op.name, "takes the bits of f64, which f32 has not", (op.origin,) if op.origin else (),
                    "--option f64=kept leaves such numbers to LiteRT, which takes their bits, and moves and casts them")
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
