"""Integers of 32 and 64 bits with a scale that no operator looks at (`scales`), read as plain ones."""

from __future__ import annotations

from transload.ir import Block, Module, Op, QuantType, TensorType, Type, Value, update_function_types
from transload.ir.build import Builder, constant_of

from ..scales import LOOKING, WIDE
from .storage import stored_type

__all__ = ["make_plain"]


def make_plain(module: Module) -> bool:
    """Have integers of 32 and 64 bits with a scale be plain ones, but for operators that look at it (`scales.LOOKING`)."""
    changed = False
    for function in module.functions.values():
        for block in (block for region in function.regions for block in region.blocks):
            held = [value for value in (*block.arguments, *(value for op in block for value in op.results)) if _has_scale(value)]
            for value in held:
                changed |= _make_plain(value, block, function is module.main)
    if changed:
        update_function_types(module)
    return changed


def _has_scale(value: Value) -> bool:
    return isinstance(value.type, TensorType) and isinstance(element := value.type.element, QuantType) and (
        element.storage.width >= WIDE)


def _make_plain(value: Value, block: Block, is_main: bool) -> bool:
    """Give a value's users the numbers as they look at them: its own type, or another value, beside which it stays.

    What other operators compute, or hand to a subgraph, is plain even where all its users look at a scale: they made it of such.
    """
    looking = [op for op in value.uses if op.name in LOOKING]
    others = [op for op in value.uses if op.name not in LOOKING and not (is_main and op.name == "func.return")]
    type_, maker = value.tensor_type, value.op
    plain = type_.with_element(stored_type(type_.element))
    if maker is not None and maker.name in LOOKING:
        for op in others:
            _replace(op, value, _read_as(op, value, plain.element))
        return bool(others)
    is_constant = maker is not None and constant_of(value) is not None
    if not others and looking and (is_constant or (maker is None and is_main)):
        return False
    if maker is not None and is_constant:
        for op in looking:
            _replace(op, value, Builder(block, maker).create(
                maker.name, (), (type_,), dict(maker.attributes), location=maker.location).results[0])
        maker.attributes = {name: held for name, held in maker.attributes.items() if name != "qtype"}
        maker.name = "tfl.pseudo_const"
        value.type = plain
        return True
    value.type = plain
    for op in looking:
        _replace(op, value, _read_as(op, value, type_.element))
    return True


def _read_as(before: Op, value: Value, element: Type) -> Value:
    assert before.parent is not None
    read: Value = Builder(before.parent, before).emit("top.Bitcast", value, element=element)
    return read


def _replace(op: Op, old: Value, new: Value) -> None:
    for index, operand in enumerate(op.operands):
        if operand is old:
            op.set_operand(index, new)
