"""What is left to the processor beside the NPU.

Models with integer arithmetic often take and give floats: they quantize their inputs and dequantize their outputs. Those ops stay
on the host, and on request all that the NPU does not take; the ops that came from one op of the framework stay together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transload.ir import Module, Op, Value, input_names, output_names
from transload.ir.build import constant_of
from transload.partitioning import whole_origins, work_of
from transload.quantization import has_floats

from .check import STRUCTURE, refusals

__all__ = ["CONVERSIONS", "affine", "left_to_host"]

CONVERSIONS = frozenset(f"tosa.{name}" for name in (
    "abs", "add", "arithmetic_right_shift", "cast", "ceil", "clamp", "floor", "greater_equal", "identity", "maximum", "minimum",
    "mul", "negate", "reciprocal", "rescale", "reshape", "select", "sub", "transpose"))
"""Ops that quantizing and dequantizing are made of."""
MOVES = frozenset(("tosa.identity", "tosa.reshape", "tosa.transpose"))
"""Those of them that compute nothing."""


def left_to_host(module: Module, family: str, float_ops: str) -> set[Op]:
    """The ops of a module that stay on the host, by the option of that name; none where nothing would be left for the NPU."""
    ops = work_of(module)
    if float_ops == "refuse":
        return set()
    if float_ops == "host":
        left = whole_origins(ops, [
            op for op in ops if any(refusals(each, family) for each in op.walk() if each.name not in STRUCTURE)])
    else:
        front = _front(ops)
        left = front | _back(ops, front)
        left = left if all(op.name in CONVERSIONS for op in left) else set()
    return left if len(left) < len(ops) else set()


def _front(ops: Sequence[Op]) -> set[Op]:
    """Float ops computed from the model's inputs by conversions and float ops alone, with what leads to them.

    The rest of the framework's ops that they are part of is with them. Sums and the like of integers alone are of the same ops
    as conversions are: they are none where their framework's op has no floats.
    """
    near: set[Op] = set()
    floating = {None, *(op.origin for op in ops if has_floats(op))}
    for op in ops:
        sources = [operand.op for operand in op.operands if not _is_constant(operand)]
        converts = op.name in MOVES or (op.name in CONVERSIONS and op.origin in floating)
        if (has_floats(op) or converts) and all(source is None or source in near for source in sources):
            near.add(op)
    front: set[Op] = set()
    for op in reversed(ops):
        if op in near and (has_floats(op) or any(user in front for result in op.results for user in result.uses)):
            front.add(op)
    origins = {op.origin for op in front if op.origin}
    for op in ops:
        if op in near and op.origin in origins and any(operand.op in front for operand in op.operands):
            front.add(op)
    return front


def _back(ops: Sequence[Op], front: set[Op]) -> set[Op]:
    """The other float ops and all that depends on them, and the rest of the framework's ops they are part of."""
    back: set[Op] = set()
    for op in ops:
        if op not in front and (has_floats(op) or any(operand.op in back for operand in op.operands)):
            back.add(op)
    origins = {op.origin for op in back if op.origin}
    for op in reversed(ops):
        users = {user for result in op.results for user in result.uses}
        if op not in front and op not in back and op.origin in origins and users and users <= back:
            back.add(op)
    return back


def _is_constant(value: Value) -> bool:
    return constant_of(value) is not None


def affine(part: Module | None, name: str) -> dict[str, Any] | None:
    """Scale and zero point by which a host part makes or reads the tensor of that name, which goes to or comes from the NPU.

    Read from the ops that quantizing and dequantizing are lowered to; None where the part is anything else.
    """
    if part is None:
        return None
    block = part.body_of_main
    made = dict(zip(output_names(part.main), block.terminator.operands, strict=True))
    taken = dict(zip(input_names(part.main), block.arguments, strict=True))
    if name in made:
        return _quantization(_sources(made[name]))
    return _dequantization(_users(taken[name])) if name in taken else None


def _sources(value: Value) -> list[Op]:
    """The ops that a value goes through from the part's input, the last one first; what is selected by sign, if positive."""
    chain: list[Op] = []
    while value.op is not None:
        chain.append(value.op)
        if not value.op.operands:
            break
        value = value.op.operands[value.op.name == "tosa.select"]
    return chain


def _users(value: Value) -> list[Op]:
    """The ops that a value goes through up to the part's output, while each has one user."""
    chain: list[Op] = []
    while len(value.uses) == 1 and len((op := next(iter(value.uses))).results) == 1:
        chain.append(op)
        value = op.results[0]
    return chain


def _quantization(chain: Sequence[Op]) -> dict[str, Any] | None:
    scale, zero_point = 1.0, 0
    for op in chain:
        if op.name == "tosa.mul" and (number := _number(op.operands[1])):
            scale /= number
        elif op.name == "tosa.arithmetic_right_shift" and (number := _number(op.operands[1])):
            scale *= 2.0**number
        elif op.name == "tosa.rescale" and _number(op.multiplier) == 2.0 ** (_number(op.shift) or 0):
            zero_point = round(_number(op.output_zp) or 0)
        elif op.name not in ("tosa.abs", "tosa.cast", "tosa.floor", "tosa.select"):
            return None
    return {"scale": scale, "zero_point": zero_point} if chain else None


def _dequantization(chain: Sequence[Op]) -> dict[str, Any] | None:
    scale, zero_point = 1.0, 0.0
    for op in chain:
        number = _number(op.operands[1]) if len(op.operands) > 1 else None
        if op.name == "tosa.mul" and number:
            scale *= number
        elif op.name == "tosa.sub" and number is not None:
            zero_point += number
        elif op.name != "tosa.cast":
            return None
    return {"scale": scale, "zero_point": round(zero_point)} if chain else None


def _number(value: Value) -> float | None:
    """The number of a constant of one element."""
    dense = constant_of(value)
    return float(dense.numpy().reshape(-1)[0]) if dense is not None and dense.type.num_elements == 1 else None
