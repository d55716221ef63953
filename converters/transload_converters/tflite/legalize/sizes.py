"""Sizes that the reader leaves open, because inputs have others than the file was planned with: what is computed of them has.

TFLite's operators have no rules of shapes here: what a hub operation that takes an operator's place gives says them, on a copy of
the module in which every tensor of open sizes is an output.
"""

from __future__ import annotations

from contextlib import suppress

from transload.conversion import apply_conversion
from transload.errors import ConversionError
from transload.ir import Module, TensorType, Value, set_results, update_function_type
from transload.plugin_host import host

__all__ = ["find_sizes"]


def find_sizes(module: Module) -> bool:
    """Give the tensors of the main function the sizes that they have; those stay open that are known only when the model runs.

    What is computed of operators that have no way to the hub stays open, too: LiteRT finds it before it runs a model.
    """
    unsized = [value for op in module.body_of_main for value in op.results if _is_unsized(value)]
    if not unsized:
        return False
    found = dict(zip(unsized, _found(module, unsized), strict=True))
    for value, type_ in found.items():
        own = value.tensor_type
        if type_.shape is not None and own.shape is not None and len(type_.shape) == len(own.shape):
            sizes = zip(own.shape, type_.shape, strict=True)
            value.type = own.with_shape(tuple(there if size is None else size for size, there in sizes))
        elif own.shape is None:
            value.type = own.with_shape(type_.shape)
    update_function_type(module.main)
    return bool(found)


def _is_unsized(value: Value) -> bool:
    return isinstance(value.type, TensorType) and not value.type.is_static


def _found(module: Module, values: list[Value]) -> list[TensorType]:
    """The types of values at the hub, in their order, as far as that is reached."""
    mapping: dict[Value, Value] = {}
    copy = module.clone(mapping)
    copy.body_of_main.terminator.erase()
    terminator = set_results(copy.main, [mapping[value] for value in values])
    with suppress(ConversionError):  # of operators that have no way to the hub: others were rewritten
        apply_conversion(host().get("conversions", "tfl-to-top"), copy)
    return [operand.tensor_type for operand in terminator.operands]
