"""What a function takes and gives stays what it was where its body has come to compute in other types.

TOSA computes with signless integers, and with 32 bits of what had 64. A program in StableHLO can say what the model's
own inputs and outputs are, so its function takes and gives these, and converts at its border.
"""

from __future__ import annotations

from transload.ir import FloatType, IntegerType, Op, QuantType, TensorType, Type, Value, update_function_type
from transload.ir.build import Builder

from .. import build

__all__ = ["border_types", "restore_border"]


def _stored(type_: Type) -> Type:
    """A type with its quantized elements as their storage."""
    if isinstance(type_, TensorType) and isinstance(type_.element, QuantType):
        return type_.with_element(type_.element.storage)
    return type_


def border_types(function: Op) -> tuple[list[Type], list[Type]]:
    """The types of a function's arguments and results, of quantized ones the stored."""
    if not function.regions[0].blocks:
        return [], []
    block = function.regions[0].block
    return [_stored(value.type) for value in block.arguments], [_stored(value.type) for value in block.terminator.operands]


def restore_border(function: Op, arguments: list[Type], results: list[Type]) -> None:
    """Let a function take and give these types again."""
    if not function.regions[0].blocks:
        return
    block = function.regions[0].block
    start = Builder(block, block.first)
    for value, wanted in zip(block.arguments, arguments, strict=True):
        inside = value.type
        if _convertible(inside, wanted):
            value.type = wanted
            converted = _converted(start, value, inside)  # one op
            for user in [user for user in value.uses if user is not converted.op]:
                user.operands = tuple(converted if operand is value else operand for operand in user.operands)
    end = Builder(block, block.terminator)
    block.terminator.operands = tuple(
        _converted(end, value, wanted) if _convertible(value.type, wanted) else value
        for value, wanted in zip(block.terminator.operands, results, strict=True))
    update_function_type(function)


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
