"""Quantized types as the types in which their numbers are stored, for dialects that have no quantized types."""

from __future__ import annotations

from ..ir import Module, QuantType, TensorType, update_function_type
from ..ir.regions import blocks_in

__all__ = ["strip_quantized_types"]


def strip_quantized_types(module: Module) -> bool:
    """Leave the storage type where a value has a quantized type, as operators see it that take integers."""
    changed = False
    for function in module.functions.values():
        for block in blocks_in(function):
            for values in (block.arguments, *[op.results for op in block]):
                for value in values:
                    type_ = value.type
                    if type(type_) is TensorType and type(type_.element) is QuantType:
                        value.type = TensorType(type_.shape, type_.element.storage, type_.encoding)
                        changed = True
        if function.regions[0].blocks:
            update_function_type(function)
    return changed
