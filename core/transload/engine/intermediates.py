"""Intermediate values as outputs: what an engine that computes all at once is asked for where it is to keep them."""

from __future__ import annotations

from collections.abc import Callable

from ..ir import Module, TensorType, Type, Value, update_function_type
from ..ir.build import constant_of

__all__ = ["exposed", "named_values"]


def named_values(module: Module, function: str) -> list[Value]:
    """The tensors with names that a function computes outside of regions, constants left out, in order."""
    return [
        result for op in module.function(function).regions[0].block for result in op.results
        if result.name is not None and isinstance(result.type, TensorType) and constant_of(result) is None]


def exposed(module: Module, function: str, takes: Callable[[Type], bool] = lambda type_: True) -> tuple[Module, list[str]]:
    """A copy whose function gives its named intermediates before its own outputs, and their names.

    They have the types that they have in `module`, whatever conversions of the copy do to layouts and types inside: a
    function's results stay as they are. `takes(type)` says of which types there may be outputs.
    """
    copy = module.clone()
    main = copy.function(function)
    kept = [value for value in named_values(copy, function) if takes(value.type)]
    terminator = main.regions[0].block.terminator
    terminator.operands = (*kept, *terminator.operands)
    if "res_attrs" in main.attributes:
        main.attributes["res_attrs"] = [*({} for _ in kept), *main.attributes["res_attrs"]]
    update_function_type(main)
    return copy, [value.name or "" for value in kept]
