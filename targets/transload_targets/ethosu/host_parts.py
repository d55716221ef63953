"""Leaving what works on floats to the processor beside the NPU.

Models with integer arithmetic often take and give floats: they quantize their inputs and dequantize their
outputs. Those ops are cut off here, before and after what goes to the NPU, and become modules of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from transload.ir import FloatType, Module, Op, Value, input_names, output_names
from transload.ir.build import constant_of
from transload.partitioning import WireNames, submodule

__all__ = ["Parts", "affine", "cut", "has_floats"]

CONSTANTS = frozenset({"tosa.const", "tosa.const_shape"})
CONVERSIONS = frozenset(f"tosa.{name}" for name in (
    "abs", "add", "arithmetic_right_shift", "cast", "ceil", "clamp", "floor", "greater_equal", "identity", "maximum", "minimum",
    "mul", "negate", "reciprocal", "rescale", "reshape", "select", "sub", "transpose"))
"""Ops that quantizing and dequantizing are made of."""


@dataclass(frozen=True)
class Parts:
    """A module in up to three: `before` gives the inputs of `core`, `after` takes its outputs, by the tensors' names."""

    core: Module
    before: Module | None = None
    after: Module | None = None
    outputs: dict[str, str] = field(default_factory=dict)
    """Which tensor each output of the module is."""

    @property
    def host_ops(self) -> list[Op]:
        """The ops that are left to the host."""
        return [op for part in (self.before, self.after) if part is not None for op in part.body_of_main
                if op.name not in CONSTANTS and op.name != "func.return"]

    @property
    def only_conversions(self) -> bool:
        """Whether no more than quantizing and dequantizing is left to the host."""
        return all(op.name in CONVERSIONS for op in self.host_ops)


def has_floats(op: Op) -> bool:
    """Whether data of the op are floats (a quantized tensor is stored as integers)."""
    return any(_is_float(value) for value in (*op.operands, *op.results))


def _is_float(value: Value) -> bool:
    return isinstance(value.stored_element, FloatType)


def cut(module: Module) -> Parts:
    """Cut off the float ops at the front, and the first float op after them with all that follows from it.

    Ops that came from the same op of the framework stay together. The module is not changed; where there is
    nothing to cut off, or nothing would be left, it is the core as it is.
    """
    ops = [op for op in module.body_of_main if op.name not in CONSTANTS and op.name != "func.return"]
    before = _front(ops)
    after = _back(ops, before)
    core = [op for op in ops if op not in before and op not in after]
    if not core or not (before or after):
        return Parts(module)
    names = WireNames(module)
    return Parts(
        _part(module, core, names, is_core=True),
        _part(module, [op for op in ops if op in before], names) if before else None,
        _part(module, [op for op in ops if op in after], names) if after else None,
        names.of_outputs())


def _front(ops: Sequence[Op]) -> set[Op]:
    """Float ops computed from the model's inputs by conversions and float ops alone, with what leads to them.

    The rest of the framework's ops that they are part of is with them.
    """
    near: set[Op] = set()
    for op in ops:
        sources = [operand.op for operand in op.operands if not _is_constant(operand)]
        if (has_floats(op) or op.name in CONVERSIONS) and all(source is None or source in near for source in sources):
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


def _part(module: Module, ops: Sequence[Op], names: WireNames, is_core: bool = False) -> Module:
    """Some ops as a module. The core keeps the module's own inputs, and outputs that no op makes, unless they are floats."""
    if not is_core:
        return submodule(module, ops, names)
    block = module.body_of_main
    kept = [value for value in block.terminator.operands if value.op is None or _is_constant(value)]
    return submodule(
        module, ops, names, inputs=[value for value in block.arguments if not _is_float(value)],
        outputs=[value for value in kept if not _is_float(value)])


def _is_constant(value: Value) -> bool:
    return value.op is not None and value.op.name in CONSTANTS


def affine(part: Module | None, name: str) -> dict[str, Any] | None:
    """Scale and zero point by which a host part makes (`before`) or reads (`after`) the tensor of that name.

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
    chain = []
    while value.op is not None:
        chain.append(value.op)
        value = value.op.operands[value.op.name == "tosa.select"]
    return chain


def _users(value: Value) -> list[Op]:
    """The ops that a value goes through up to the part's output, while each has one user."""
    chain = []
    while len(value.uses) == 1 and (op := next(iter(value.uses))).name != "func.return":
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
