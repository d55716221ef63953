"""What a function takes and gives stays what it was where its body has come to compute in other types.

TOSA computes with signless integers, and with 32 bits of what had 64. A program in StableHLO can say what the model's
own inputs and outputs are, so its function takes and gives these, and converts at its border.
"""

from __future__ import annotations

from collections.abc import Sequence

from transload.context import current
from transload.ir import FloatType, IntegerType, Module, Op, QuantType, TensorType, Type, Value, update_function_type
from transload.ir.build import Builder

from ...tosa.lowering.prepare.signedness import Borders
from .. import build

__all__ = ["restore_borders"]


def _stored(type_: Type) -> Type:
    """A type with its quantized elements as their storage."""
    if isinstance(type_, TensorType) and isinstance(type_.element, QuantType):
        return type_.with_element(type_.element.storage)
    return type_


def restore_borders(module: Module) -> bool:
    """Let the functions take and give again what they did before the lowering to TOSA; quantized types as their storage.

    What that was is what `tosa-make-signed` noted in the run's scratch: nothing is done where it did not run before.
    """
    noted = current().scratch(Borders).types
    changed = [_restore(function, *noted[name]) for name, function in module.functions.items() if name in noted]
    return any(changed)


def _restore(function: Op, arguments: Sequence[Type], results: Sequence[Type]) -> bool:
    block = function.regions[0].block
    changed = False
    start = Builder(block, block.first)
    for value, wanted in zip(block.arguments, map(_stored, arguments), strict=True):
        inside = value.type
        if _convertible(inside, wanted):
            value.type = wanted
            converted = _converted(start, value, inside)  # one op
            for user in [user for user in value.uses if user is not converted.op]:
                user.operands = tuple(converted if operand is value else operand for operand in user.operands)
            changed = True
    end = Builder(block, block.terminator)
    before = block.terminator.operands
    block.terminator.operands = tuple(
        _converted(end, value, wanted) if _convertible(value.type, wanted) else value
        for value, wanted in zip(before, map(_stored, results), strict=True))
    update_function_type(function)
    return changed or block.terminator.operands != before


def _convertible(a: Type, b: Type) -> bool:
    """Whether two types differ, and only in the width or sign of integers, or the width of floats."""
    if a == b or not isinstance(a, TensorType) or not isinstance(b, TensorType) or a.shape != b.shape:
        return False
    return any(isinstance(a.element, kind) and isinstance(b.element, kind) for kind in (IntegerType, FloatType))


def _converted(rw: Builder, x: Value, wanted: Type) -> Value:
    """The same bits where the width is the same, the same number where it is not."""
    source, target = x.element, wanted.element  # type: ignore[attr-defined]
    if isinstance(source, IntegerType) and isinstance(target, IntegerType) and source.width == target.width:
        return build.bitcast(rw, x, target)
    return build.convert(rw, x, target)
