"""Signed bytes in the place of unsigned ones: the same real numbers, stored numbers and zero points less 128.

LiteRT's kernels take signed bytes or unsigned ones, not both at once, and unsigned ones with one scale alone. ONNX has
activations of u8 beside weights of i8 (what onnxruntime's quantizer makes unless it is told otherwise), and scales by channel of
either. A network that holds such an op is made of signed bytes throughout, so that nothing is needed between its ops; its inputs
and outputs stay what they are. tflite-micro has kernels of signed bytes alone.

Weights with a zero point are for kernels of unsigned bytes alone, as networks are that were trained with FakeQuant nodes for
these: a network of signed bytes that has such, one scale each, becomes one of unsigned bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from transload.ir import (
    I8,
    UI8,
    Block,
    Dense,
    IntegerType,
    LazyData,
    Module,
    Op,
    QuantType,
    TensorType,
    Type,
    Value,
    dtype_of,
    update_function_types,
)
from transload.ir.build import Builder, constant_of
from transload.ir.regions import blocks_in

__all__ = ["make_bytes_signed"]

_HALF = 128
_CONVERTS = ("top.Cast", "top.Bitcast")
"""Ops that may have operands and results of both kinds."""


def _rounds_by_sign(op: Op) -> bool:
    """Whether LiteRT's kernels of signed bytes and of unsigned ones give other real numbers for an op that the hub has.

    Halves go away from zero, which is another number in the one and in the other: those of means, and of places between pixels.
    """
    kinds = [value.quant for value in (*op.operands[:1], *op.results)]
    if None in kinds:
        return False
    if op.name == "top.Interp":
        return op.attribute("mode") == "linear" and kinds[0].storage == UI8 and op.attribute("rounding", "double") != "double"  # type: ignore[union-attr]
    return op.name == "top.AvgPool" and kinds[0] == kinds[-1]


@dataclass(frozen=True)
class _Turn:
    """From bytes of one kind to the same numbers in the other."""

    before: IntegerType
    after: IntegerType

    @property
    def more(self) -> int:
        """By how much stored numbers are more."""
        return _HALF if self.after == UI8 else -_HALF


_TO_SIGNED, _TO_UNSIGNED = _Turn(UI8, I8), _Turn(I8, UI8)


def make_bytes_signed(module: Module, bytes: Literal["kept", "signed"] = "kept") -> bool:
    """Change the types of all quantized tensors of unsigned bytes, where an op mixes them or `bytes="signed"` asks for it.

    Arguments and results of entry functions keep theirs, and so does what a Bitcast reads and gives, behind a Cast, which changes
    no number. So do ops that would compute others, but where `bytes="signed"` asks: such a runtime has nothing for unsigned ones.
    """
    if bytes == "signed":
        return _turn_bytes(module, _TO_SIGNED)
    keeping = {op for op in module.walk() if _rounds_by_sign(op)}
    if _wants_unsigned(module):
        return _turn_bytes(module, _TO_UNSIGNED, keeping)
    return any(map(_mixes, module.walk())) and _turn_bytes(module, _TO_SIGNED, keeping)


def _turn_bytes(module: Module, turn: _Turn, keeping: Collection[Op] = ()) -> bool:
    kept = {*keeping, *(op for op in module.walk() if op.name == "top.Bitcast")}
    called = {op.attributes.get("callee") for op in module.walk() if op.name == "func.call"}
    read = [(op, op.operands[0].type) for op in module.walk() if op in kept]
    changed = False
    for name, function in module.functions.items():
        if not function.regions[0].blocks:
            continue
        entry, block = name not in called, function.regions[0].block
        results = [value.type for value in block.terminator.operands]
        for inner in blocks_in(function):
            for argument in inner.arguments:
                is_given = entry and inner is block
                changed |= _cast_behind(argument, inner, inner.first, turn) if is_given else _retype(argument, turn)
            for op in list(inner):
                changed |= _turn_op(op, turn, op in kept)
        if entry:
            _give(block.terminator, results)
    for op, type_ in read:
        _give(op, [type_])
    update_function_types(module)
    return changed


def _mixes(op: Op) -> bool:
    """Whether an op has signed numbers of up to 8 bits beside unsigned bytes, or unsigned ones with a scale for each channel."""
    if op.name in _CONVERTS:
        return False
    kinds = [value.quant for value in (*op.operands, *op.results)]
    narrow = [kind for kind in kinds if kind is not None and kind.storage.width <= 8]
    by_axis = any(kind.storage.unsigned and not kind.per_tensor for kind in narrow)
    signs = {kind.storage.unsigned for kind in narrow if kind.storage == UI8 or not kind.storage.unsigned}
    return by_axis or len(signs) == 2


def _wants_unsigned(module: Module) -> bool:
    """Whether weights of signed bytes have a zero point, and all there is could be unsigned: it has one scale, and 8 bits."""
    shifted = False
    for op in module.walk():
        for value in op.results:
            kind = value.type.element if isinstance(value.type, TensorType) else None
            if not isinstance(kind, QuantType) or kind.storage.width > 16:
                continue
            if kind.storage != I8 or not kind.per_tensor:
                return False
            taken = any(user.name in ("top.Conv", "top.Deconv") and user.operands[1] is value for user in value.uses)
            shifted |= taken and constant_of(value) is not None and kind.zero_point != 0
    return shifted


def _turned(type_: Type, turn: _Turn) -> TensorType | None:
    """The type that stands for one of quantized bytes of the other kind; None of any other."""
    kind = type_.element if isinstance(type_, TensorType) else None
    if not isinstance(type_, TensorType) or not isinstance(kind, QuantType) or kind.storage != turn.before:
        return None
    return type_.with_element(kind.replace(
        storage=turn.after, zero_points=tuple(point + turn.more for point in kind.zero_points),
        storage_min=kind.storage_min + turn.more, storage_max=kind.storage_max + turn.more))


def _retype(value: Value, turn: _Turn) -> bool:
    type_ = _turned(value.type, turn)
    if type_ is None:
        return False
    value.type = type_
    return True


def _turn_op(op: Op, turn: _Turn, is_kept: bool) -> bool:
    """Change the types of what an op gives; what one gives that keeps its own is cast."""
    assert op.parent is not None
    if is_kept:
        return _cast_behind(op.results[0], op.parent, op.next, turn)
    changed = False
    for result in op.results:
        changed |= _retype(result, turn)
    if changed and op.name == "top.Weight":
        op.attributes["value"] = _turned_numbers(op.attributes["value"], turn)
    if changed and op.name == "top.Interp" and op.attribute("mode") == "linear":
        op.attributes["rounding"] = "double"  # as all kernels of signed bytes do
    return changed


def _turned_numbers(dense: Dense, turn: _Turn) -> Dense:
    """The stored numbers of a constant, half of their range more or less, computed when they are first looked at."""
    dtype = dtype_of(turn.after)
    data = LazyData(lambda: (np.asarray(dense.numpy()).view(np.uint8) ^ np.uint8(_HALF)).view(dtype), tuple(dense.shape), dtype)
    return Dense(data, TensorType(dense.type.shape, turn.after))


def _cast_behind(value: Value, block: Block, before: Op | None, turn: _Turn) -> bool:
    """Have the users of a value of bytes of one kind take it as those of the other, by a Cast in front of an op."""
    other, users = _turned(value.type, turn), list(value.uses)
    if other is None:
        return False
    made = Builder(block, before, value.location).emit("top.Cast", value, element=other.element)
    for user in users:
        user.operands = tuple(made if operand is value else operand for operand in user.operands)
    return True


def _give(op: Op, types: Sequence[Type]) -> None:
    """Give an op operands of the types that it had, by a Cast of what is of the other kind by now."""
    assert op.parent is not None
    build = Builder(op.parent, op, op.location)
    op.operands = tuple(
        value if value.type == type_ else build.emit("top.Cast", value, element=type_.element)  # type: ignore[attr-defined]
        for value, type_ in zip(op.operands, types, strict=True))
