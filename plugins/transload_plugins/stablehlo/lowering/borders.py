"""What a function takes and gives stays what it was where its body has come to compute in other types.

TOSA computes with signless integers, and with 32 bits of what had 64. A program in StableHLO can say what the model's
own inputs and outputs are, so its function takes and gives these, and converts at its border.
"""

from __future__ import annotations

from collections.abc import Sequence

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

from .. import build
from .types import WIDTHS

__all__ = ["restore_borders"]


def restore_borders(module: Module) -> bool:
    """Let the functions take and give again what they did before the lowering to TOSA, as it is noted of them."""
    changed = False
    for function in module.functions.values():
        if function.regions[0].blocks:
            changed |= _restore(function, *noted_elements(function))
    return changed


def _restore(function: Op, arguments: Sequence[Type | None], results: Sequence[Type | None]) -> bool:
    block = function.regions[0].block
    changed = False
    start = Builder(block, block.first)
    for value, element in zip(block.arguments, arguments, strict=True):
        inside = value.type
        wanted = _with_element(inside, element)
        if wanted != inside:
            value.type = wanted
            converted = _converted(start, value, inside)  # one op
            for user in [user for user in value.uses if user is not converted.op]:
                user.operands = tuple(converted if operand is value else operand for operand in user.operands)
            changed = True
    end = Builder(block, block.terminator)
    before = block.terminator.operands
    block.terminator.operands = tuple(
        value if (wanted := _with_element(value.type, element)) == value.type else _converted(end, value, wanted)
        for value, element in zip(before, results, strict=True))
    note_elements(function, [None] * len(arguments), [None] * len(results))
    update_function_type(function)
    return changed or block.terminator.operands != before


def _with_element(held: Type, element: Type | None) -> Type:
    """A type with another element type, where that is a wider or narrower one of its kind, or one of another sign.

    StableHLO cannot say all: of what it has no type for (`i48`), the function goes on to take and give its own.
    """
    if not isinstance(held, TensorType) or not any(
            isinstance(held.element, kind) and isinstance(element, kind) for kind in (IntegerType, FloatType)):
        return held
    if isinstance(element, IntegerType) and element.width not in WIDTHS:
        return held
    return held.with_element(element)  # type: ignore[arg-type]


def _converted(rw: Builder, x: Value, wanted: Type) -> Value:
    """The same bits where the width is the same, the same number where it is not."""
    source, target = x.element, wanted.element  # type: ignore[attr-defined]
    if isinstance(source, IntegerType) and isinstance(target, IntegerType) and source.width == target.width:
        return build.bitcast(rw, x, target)
    return build.convert(rw, x, target)
