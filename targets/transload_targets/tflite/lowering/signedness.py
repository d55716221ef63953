"""Signed bytes in the place of unsigned ones: the same real numbers, stored numbers and zero points less 128.

LiteRT's kernels take signed bytes or unsigned ones, not both at once, and unsigned ones with one scale alone. ONNX has
activations of u8 beside weights of i8 (what onnxruntime's quantizer makes unless it is told otherwise), and scales by channel of
either. A network that holds such an op is made of signed bytes throughout, so that nothing is needed between its ops; its inputs
and outputs stay what they are. tflite-micro has kernels of signed bytes alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from transload.ir import I8, UI8, Block, Dense, LazyData, Module, Op, QuantType, TensorType, Type, Value, update_function_types
from transload.ir.build import Builder
from transload.ir.regions import blocks_in

__all__ = ["make_bytes_signed"]

_HALF = 128
_CONVERTS = ("top.Cast", "top.Bitcast")
"""Ops that may have operands and results of both kinds."""


def make_bytes_signed(module: Module, bytes: Literal["kept", "signed"] = "kept") -> bool:
    """Change the types of all quantized tensors of unsigned bytes, where an op mixes them or `bytes="signed"` asks for it.

    Arguments and results of entry functions keep theirs, and so does what a Bitcast reads and gives, behind a Cast, which changes
    no number.
    """
    if bytes == "kept" and not any(map(_mixes, module.walk())):
        return False
    called = {op.attributes.get("callee") for op in module.walk() if op.name == "func.call"}
    read = [(op, op.operands[0].type) for op in module.walk() if op.name == "top.Bitcast"]
    changed = False
    for name, function in module.functions.items():
        if not function.regions[0].blocks:
            continue
        entry, block = name not in called, function.regions[0].block
        results = [value.type for value in block.terminator.operands]
        for inner in blocks_in(function):
            for argument in inner.arguments:
                changed |= _cast_behind(argument, inner, inner.first) if entry and inner is block else _retype(argument)
            for op in list(inner):
                changed |= _make_op_signed(op)
        if entry:
            _give(block.terminator, results)
    for op, type_ in read:
        _give(op, [type_])
    update_function_types(module)
    return changed


def _mixes(op: Op) -> bool:
    """Whether an op has signed and unsigned quantized bytes at once, or unsigned ones with a scale for each channel."""
    if op.name in _CONVERTS:
        return False
    kinds = [value.element for value in (*op.operands, *op.results) if _is_quantized(value)]
    stored = {kind.storage for kind in kinds}  # type: ignore[attr-defined]
    by_axis = any(kind.storage == UI8 and not kind.per_tensor for kind in kinds)  # type: ignore[attr-defined]
    return by_axis or {I8, UI8} <= stored


def _is_quantized(value: Value) -> bool:
    return isinstance(value.type, TensorType) and isinstance(value.type.element, QuantType)


def _signed(type_: Type) -> TensorType | None:
    """The type that stands for one of unsigned quantized bytes; None of any other."""
    kind = type_.element if isinstance(type_, TensorType) else None
    if not isinstance(type_, TensorType) or not isinstance(kind, QuantType) or kind.storage != UI8:
        return None
    return type_.with_element(kind.replace(
        storage=I8, zero_points=tuple(point - _HALF for point in kind.zero_points),
        storage_min=kind.storage_min - _HALF, storage_max=kind.storage_max - _HALF))


def _retype(value: Value) -> bool:
    type_ = _signed(value.type)
    if type_ is None:
        return False
    value.type = type_
    return True


def _make_op_signed(op: Op) -> bool:
    """Change the types of what an op gives."""
    assert op.parent is not None
    if op.name == "top.Bitcast":
        return _cast_behind(op.results[0], op.parent, op.next)
    changed = False
    for result in op.results:
        changed |= _retype(result)
    if changed and op.name == "top.Weight":
        op.attributes["value"] = _less_half(op.attributes["value"])
    return changed


def _less_half(dense: Dense) -> Dense:
    """The stored numbers of a constant, less 128, computed when they are first looked at."""
    data = LazyData(lambda: (np.asarray(dense.numpy()) ^ np.uint8(_HALF)).view(np.int8), tuple(dense.shape), np.dtype(np.int8))
    return Dense(data, TensorType(dense.type.shape, I8))


def _cast_behind(value: Value, block: Block, before: Op | None) -> bool:
    """Have the users of an unsigned value take it as signed bytes, by a Cast in front of an op."""
    signed, users = _signed(value.type), list(value.uses)
    if signed is None:
        return False
    made = Builder(block, before, value.location).emit("top.Cast", value, element=signed.element)
    for user in users:
        user.operands = tuple(made if operand is value else operand for operand in user.operands)
    return True


def _give(op: Op, types: Sequence[Type]) -> None:
    """Give an op operands of the types that it had, by a Cast of what is a signed one by now."""
    assert op.parent is not None
    build = Builder(op.parent, op, op.location)
    op.operands = tuple(
        value if value.type == type_ else build.emit("top.Cast", value, element=type_.element)  # type: ignore[attr-defined]
        for value, type_ in zip(op.operands, types, strict=True))
