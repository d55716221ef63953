"""What a function takes and gives stays what it was where its body has come to compute in other types.

A lowering may compute with signless integers, or with 32 bits of what had 64, and notes on the function what the model itself
takes and gives (`note_elements`). A dialect that can say that converts at the border.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from transload.ir import (
    FloatType,
    IntegerType,
    Module,
    Op,
    TensorType,
    Type,
    Value,
    note_elements,
    noted_elements,
    update_function_type,
)
from transload.ir.build import Builder

__all__ = ["restore_element_types"]

Convert = Callable[[Builder, Value, TensorType], Value]
"""Makes a value of another type: the same bits where the width is the same, the same number where it is not. One op."""


def restore_element_types(module: Module, convert: Convert, holds: Callable[[Type], bool]) -> bool:
    """Let the functions take and give again what they did before a lowering, as it is noted of them, in place.

    Only types that `holds` knows: of what a dialect has no type for, the function goes on to take and give its own.
    """
    changed = False
    for function in module.functions.values():
        if function.regions[0].blocks:
            changed |= _restore(function, *noted_elements(function), convert, holds)
    return changed


def _restore(
    function: Op, arguments: Sequence[Type | None], results: Sequence[Type | None], convert: Convert,
    holds: Callable[[Type], bool],
) -> bool:
    block = function.regions[0].block
    changed = False
    start = Builder(block, block.first)
    for value, element in zip(block.arguments, arguments, strict=True):
        inside = value.type
        wanted = _with_element(inside, element, holds)
        if wanted != inside:
            value.type = wanted
            converted = convert(start, value, inside)  # type: ignore[arg-type]
            for user in [user for user in value.uses if user is not converted.op]:
                user.operands = tuple(converted if operand is value else operand for operand in user.operands)
            changed = True
    end = Builder(block, block.terminator)
    before = block.terminator.operands
    given = [(value, _with_element(value.type, element, holds)) for value, element in zip(before, results, strict=True)]
    block.terminator.operands = tuple(
        value if wanted == value.type else convert(end, value, wanted) for value, wanted in given)  # type: ignore[arg-type]
    note_elements(function, [None] * len(arguments), [None] * len(results))
    update_function_type(function)
    return changed or block.terminator.operands != before


def _with_element(held: Type, element: Type | None, holds: Callable[[Type], bool]) -> Type:
    """A type with another element type, where that is a wider or narrower one of its kind, or one of another sign."""
    if not isinstance(held, TensorType) or not any(
            isinstance(held.element, kind) and isinstance(element, kind) for kind in (IntegerType, FloatType)):
        return held
    assert element is not None
    return held.with_element(element) if holds(element) else held
