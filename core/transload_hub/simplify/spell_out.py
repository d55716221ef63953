"""The pass `spell-out-quantized`: quantized ops as ops on real numbers between casts, as QDQ models have them."""

from __future__ import annotations

from transload.ir import Block, Module, Op, TensorType, Value
from transload.ir.build import Builder, part_location
from transload.ir.regions import blocks_in

from ..ops.rounding import AT_ONCE
from ..scales import compares_reals

__all__ = ["rounds_otherwise", "rounds_stored", "spell_out_quantized"]

_AS_THEY_ARE = (
    "top.Cast", "top.Bitcast", "top.Weight", "top.None", "top.Input", "top.If", "top.While", "top.Yield", "top.Custom")
"""Ops that say what becomes of quantized numbers by themselves, or hand them on."""


def rounds_otherwise(op: Op) -> bool:
    """Whether a quantized op could round once, as QDQ says it, or as onnxruntime's kernels for QDQ do, and does neither.

    What `spell_out_quantized` makes of such an op is a step off here and there; of a comparison that rounds what it compares,
    another answer for numbers that lie near each other.
    """
    if op.name == "top.Compare":
        sides = [value.quant for value in op.operands]
        return all(side is not None for side in sides) and not compares_reals(*sides)  # type: ignore[arg-type]
    rounding = op.declaration.attributes.get("rounding") if op.declaration is not None else None
    return rounding is not None and rounding.kind.accepts("once") and op.attribute("rounding") not in AT_ONCE and (
        any(value.is_quantized for value in op.operands) and any(value.is_quantized for value in op.results))


def rounds_stored(op: Op) -> bool:
    """Whether an op computes as onnxruntime's operators on integers, which round with the zero point, and halves to the even
    integer: where that is odd, QDQ takes every half to the other one."""
    return op.attributes.get("rounding") == "float32" and any(value.is_quantized for value in op.results)


def spell_out_quantized(module: Module) -> bool:
    """Let each quantized op compute with the real numbers that its operands stand for, and cast its results.

    The casts are `top.Cast` from and to the quantized types that the values have: DequantizeLinear and QuantizeLinear of
    ONNX. A quantized constant stays one, with a cast behind it. Returns whether anything changed.
    """
    real: dict[Value, Value] = {}
    changed = False
    for function in module.functions.values():
        for block in list(blocks_in(function)):
            for op in list(block):
                if op.dialect == "top" and op.name not in _AS_THEY_ARE and _is_quantized(op):
                    _spell_out(op, real)
                    changed = True
    return changed


def _is_quantized(op: Op) -> bool:
    return any(value.is_quantized for value in (*op.operands, *op.results))


def _spell_out(op: Op, real: dict[Value, Value]) -> None:
    for index, value in enumerate(op.operands):
        if value.is_quantized:
            if value not in real:
                real[value] = _as_real(value)
            op.set_operand(index, real[value])
    op.attributes.pop("rounding", None)  # which only quantized results have
    location = op.location
    for result in op.results:
        quant = result.quant
        if quant is None:
            continue
        users = list(result.uses)
        type_ = result.tensor_type
        result.type = TensorType(type_.shape, quant.expressed)
        assert isinstance(op.parent, Block)
        made = Builder(op.parent, before=op.next, location=location if len(op.results) == 1 else None).emit(
            "top.Cast", result, types=[type_])
        for user in users:
            user.operands = tuple(made if operand is result else operand for operand in user.operands)
        if len(op.results) == 1:
            op.location = part_location(location, op.name)


def _as_real(value: Value) -> Value:
    """The real numbers of a quantized value, made where the value is, so that all who use it may use them."""
    owner, quant = value.owner, value.quant
    assert quant is not None
    block, before = (owner.parent, owner.next) if isinstance(owner, Op) else (owner, owner.first)
    build = Builder(block, before=before, location=part_location(value.name, "top.Cast"))  # type: ignore[arg-type]
    return build.emit("top.Cast", value, types=[TensorType(value.tensor_type.shape, quant.expressed)])
