"""Integers of 16 bits, which OpenVINO's CPU plugin keeps in 32: what is to wrap round is cut to 16 where that shows.

Measured with OpenVINO 2026.4: 40,000 + 40,000 of ui16, cast to i32, is 80,000, where ONNX has 14,464. Sums, products and shifts
to the left have the same lower bits all the same; what takes more than these is given the lower bits alone.
"""

from __future__ import annotations

import numpy as np

from transload.ir import I16, I32, UI16, Dense, Module, Op, TensorType, Value
from transload.ir.build import Builder

__all__ = ["OPSET", "cut_to_16_bits"]

OPSET = "onnx.opset"
"""The attribute of modules of `onnx` that has their opsets by domain."""
_I16, _I32, _UI16 = 5, 6, 4
"""ONNX's numbers of these types (`TensorProto.DataType`)."""
_RING = frozenset(f"onnx.{name}" for name in (
    "Add", "Sub", "Mul", "Neg", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"))
"""Whose lower bits are made of lower bits alone."""
_LIMITS = frozenset(f"onnx.{name}" for name in ("Clip", "Max", "Min", "Mod"))
_FIRST = 18
"""The opset that has operators of bits."""


def cut_to_16_bits(module: Module) -> bool:
    """Whether anything was cut. Before opset 18, which has operators of bits, a note says what is not."""
    found = [op for op in module.walk() if _may_be_beyond(op) and any(map(_shows, op.results[0].uses))]
    if found and module.attributes.get(OPSET, {}).get("ai.onnx", _FIRST) < _FIRST:
        names = ", ".join(str(op.origin or op.name) for op in found[:3])
        note = f"OpenVINO keeps integers of 16 bits in 32, where nothing wraps round: {names} (opset {_FIRST} can be cut)"
        module.notes = (*module.notes, *([note] if note not in module.notes else []))
        return False
    for op in found:
        _cut(op.results[0])
    return bool(found)


def _may_be_beyond(op: Op) -> bool:
    """Whether OpenVINO's number may be beyond the 16 bits of an op's result, and was not cut yet."""
    element = op.results[0].element_or_none if op.results and op.dialect == "onnx" else None
    if element not in (I16, UI16):
        return False
    if op.name == "onnx.Cast":
        given = op.operands[0]
        maker = given.op
        narrow = not given.is_integer or given.element.width < 16 or given.element == element  # type: ignore[attr-defined]
        return not narrow and not (maker is not None and (maker.name in _LIMITS or _is_cut(maker)))
    if op.name == "onnx.BitwiseNot":
        return element == UI16
    return op.name in ("onnx.Add", "onnx.Sub", "onnx.Mul", "onnx.Neg", "onnx.Abs") or _is_left(op)


def _is_left(op: Op) -> bool:
    return op.name == "onnx.BitShift" and op.attribute("direction") == "LEFT"


def _shows(user: Op) -> bool:
    """Whether an op takes more than the lower bits of 16."""
    if user.name == "func.return":
        return False
    if user.name == "onnx.Cast":
        element = user.results[0].element_or_none
        return element not in (I16, UI16) and getattr(element, "width", 64) > 8
    return user.name not in _RING and not _is_left(user)


def _is_cut(op: Op) -> bool:
    """Whether an op is the last of those that cut."""
    first = op.operands[0].op if op.name == "onnx.Sub" else op
    return first is not None and first.name in ("onnx.BitwiseAnd", "onnx.BitwiseXor") and first.operands[0].element_or_none == I32


def _cut(value: Value) -> None:
    """Give those who take a value its lower 16 bits."""
    op = value.op
    assert op is not None and op.parent is not None
    users = list(value.uses)
    rw, wide = Builder(op.parent, op.next, op.location), value.tensor_type.with_element(I32)
    signed = value.element == I16

    def constant(number: int) -> Value:
        held: Value = rw.emit("onnx.Constant", types=[TensorType((), I32)], value=Dense(np.array(number, np.int32)))
        return held

    made = rw.emit("onnx.Cast", value, types=[wide], to=_I32)
    made = rw.emit("onnx.BitwiseAnd", made, constant(0xFFFF), types=[wide])
    if signed:
        made = rw.emit("onnx.BitwiseXor", made, constant(0x8000), types=[wide])
        made = rw.emit("onnx.Sub", made, constant(0x8000), types=[wide])
    made = rw.emit("onnx.Cast", made, types=[value.type], to=_I16 if signed else _UI16)
    for user in users:
        user.operands = tuple(made if operand is value else operand for operand in user.operands)
