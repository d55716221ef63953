"""Element types that TOSA has: unsigned numbers made signed, 64-bit ones 32-bit, before the lowering.

TOSA computes with signed integers of 8, 16 and 32 bits. So inside the functions

- quantized uint8 becomes int8, stored numbers and zero points less 128 (`convert_tflite_qu8_to_qi8` of the
  specification of lowerings), uint16 likewise; ops on them are noted, for the few whose rounding differs;
- plain unsigned integers, and integers of 64 bits, become i32; `int64` has made sure that it holds their values, or their
  low bits where these are all that counts; 4-bit numbers become i8;
- f64 becomes f32.

The arguments and results of an entry function keep their bits: an 8-bit unsigned one is an `i8` whose bits
`tosa.rescale` reads or writes as unsigned. Those of 64 bits become i32 there, too. What the model itself has there is noted
(`transload.ir.borders`), for whoever runs the function or gives it the model's types again.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from transload.ir import (
    F32,
    F64,
    I8,
    I16,
    I32,
    Block,
    Dense,
    IntegerType,
    Module,
    Op,
    QuantType,
    TensorType,
    Type,
    Value,
    dtype_of,
    note_elements,
    update_function_type,
)
from transload.ir.build import Builder
from transload.ir.constants import LazyData, SplatData
from transload.ir.regions import blocks_in
from transload.ir.types import IndexType

from ... import build
from ...dialect.base import storage
from .sources import Sources, sources

__all__ = ["make_signed", "signed_element"]

WRAPPING = frozenset({
    "top.Abs", "top.Add", "top.AddConst", "top.BitwiseNot", "top.Conv", "top.CumSum", "top.Deconv", "top.Div", "top.Einsum",
    "top.FloorDiv", "top.MatMul", "top.Mul", "top.MulConst", "top.Neg", "top.Pow", "top.Reduce", "top.Scale",
    "top.ScatterElements", "top.ScatterND", "top.ShiftLeft", "top.Square", "top.SquaredDifference", "top.Sub"})
"""Ops whose result may leave the range of a type that a wider one stands for, and then wraps round.

Of `Abs`, and of the quotients by -1, it is that of the least number alone.
"""
_HELD = frozenset({"top.Cast", "top.Interp"})
"""Ops whose result ends at the ends of its type instead: casts that saturate, and cubic interpolation, which overshoots."""
_SIGNED = frozenset({"top.Abs", "top.Div", "top.FloorDiv"})
"""Those of them that leave the range of signed numbers alone."""


def signed_element(element: Type) -> Type:
    """The type that stands for an element type inside TOSA."""
    if isinstance(element, QuantType):
        stored = element.storage
        if stored.width == 64:
            return element  # a bias, which a lowering takes as a constant
        offset = 1 << (stored.width - 1) if stored.unsigned and stored.width in (8, 16) else 0
        storage = {8: I8, 16: I16}.get(stored.width, I8 if stored.width < 8 else I32)
        if storage == stored and not offset:
            return element
        return element.replace(
            storage=storage, zero_points=tuple(zp - offset for zp in element.zero_points),
            storage_min=element.storage_min - offset, storage_max=element.storage_max - offset)
    if isinstance(element, IndexType):
        return I32
    if isinstance(element, IntegerType) and element.width > 1:
        if element.unsigned or element.width > 32:
            return I32
        return {8: I8, 16: I16, 32: I32}.get(element.width, I8 if element.width < 8 else element)
    return F32 if element == F64 else element


def _signed_type(type_: Type) -> Type:
    if not isinstance(type_, TensorType):
        return type_
    element = signed_element(type_.element)
    return type_ if element is type_.element else TensorType(type_.shape, element, type_.encoding)


def _signed_data(dense: Dense, old: Type, new: Type, low_bits: bool = False) -> Dense:
    """The numbers of a constant whose element type changed; of those too great the nearest, or the low bits."""
    stored = new.storage if isinstance(new, QuantType) else new
    offset = old.zero_points[0] - new.zero_points[0] if isinstance(old, QuantType) and isinstance(new, QuantType) else 0
    dtype = dtype_of(stored)

    def make(array: np.ndarray) -> np.ndarray:
        if dtype.kind == "f":
            return array.astype(dtype)
        if array.dtype == np.uint8 and dtype == np.int8 and offset == 128:
            return (array ^ np.uint8(0x80)).view(np.int8)  # the same numbers less 128
        if array.dtype.itemsize == 1 or array.dtype.kind not in "iu":  # 4-bit numbers, too
            array = array.astype(np.int16)
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        if array.dtype == np.uint32 and dtype == np.int32:
            return array.view(np.int32)  # the same bits, as an argument has them
        if low_bits:
            return array.astype(np.int32)  # wraps round
        if array.dtype == np.uint64:
            array = np.minimum(array, np.uint64(high))
        return np.clip(array.astype(np.int64) - offset, low, high).astype(dtype)

    type_ = TensorType(dense.type.shape, stored)
    if isinstance(dense.data, SplatData):  # which may be one number for more elements than memory holds
        return Dense(SplatData(make(dense.data.value.reshape(1))[0], tuple(dense.shape), dtype), type_)
    return Dense(LazyData(lambda: make(dense.numpy()), tuple(dense.shape), dtype), type_)


def make_signed(module: Module) -> bool:
    """Change the types of all values, in place, and convert at the borders of the entry functions."""
    changed = False
    noted = sources()
    called = set()
    for op in module.walk():
        if op.name == "top.Bitcast":
            noted.stored[op] = build.storage(op.operands[0].element), build.storage(op.results[0].element)
        elif op.name == "top.Pow":
            noted.exponents[op] = build.storage(op.operands[1].element)
        elif op.name == "func.call":
            called.add(op.attributes.get("callee"))
    for name, function in module.functions.items():
        if not function.regions[0].blocks:
            continue
        block = function.regions[0].block
        entry = name not in called
        arguments = {argument: argument.type for argument in block.arguments}
        results = [value.type for value in block.terminator.operands]
        for inner in blocks_in(function):
            for argument in inner.arguments:
                _note_users(argument, noted)
                signed = _signed_type(argument.type)
                changed |= signed is not argument.type
                argument.type = signed
            for op in list(inner):
                changed |= _make_op_signed(op, noted)
        if entry:
            for argument, old in arguments.items():
                _convert_argument(block, argument, old)
            _convert_results(block, results)
            note_elements(
                function, [_element_before(old, argument.type) for argument, old in arguments.items()],
                [_element_before(old, value.type) for old, value in zip(results, block.terminator.operands, strict=True)])
        update_function_type(function)
    return changed


def _element_before(old: Type, new: Type) -> Type | None:
    """The element type, stored, that a tensor had before it was made signed; None where it has that still."""
    before, after = (storage(type_) if isinstance(type_, TensorType) else None for type_ in (old, new))
    return before if before != after else None


def _note_users(value: Value, noted: Sources) -> None:
    """Note the ops that work on a value if it is unsigned."""
    if _is_unsigned_quantized(value.type):
        noted.unsigned.update(value.uses)


def _make_op_signed(op: Op, noted: Sources) -> bool:
    """Change the types of an op's results; whether any was another."""
    changed = False
    for result in op.results:
        old = result.type
        new = _signed_type(old)
        if new is old:
            continue
        changed = True
        _note_users(result, noted)
        result.type = new
        if op.name == "top.Clip":
            _hold_limits(op, old)
        if op.name == "top.Weight":
            op.attributes["value"] = _signed_data(
                op.attributes["value"], old.element, new.element, op in noted.integers.low_bits)  # type: ignore[attr-defined]
        else:
            narrow = _narrow(old)
            if narrow is not None:
                _wrap(op, result, narrow)
            elif op.parent is not None and _ends_at_zero(op, old):
                _replace(result, list(result.uses), Builder(op.parent, op.next, op.location).emit(
                    "top.Clip", result, min=0.0, max=float(I32.range[1])))
    return changed


def _hold_limits(op: Op, type_: Type) -> None:
    """Have a Clip of integers end where their type does: what stands for it holds limits that are none of its numbers."""
    element = type_.element if isinstance(type_, TensorType) else None
    if isinstance(element, IntegerType):
        low, high = map(float, element.range)
        for limit in ("min", "max"):
            op.attributes[limit] = min(max(float(op.attribute(limit)), low), high)


def _ends_at_zero(op: Op, type_: Type) -> bool:
    """Whether an op gives zero for floats less than that: what it gives as i32, which has negative numbers, is then cut off."""
    element = type_.element if isinstance(type_, TensorType) else None
    return (op.name == "top.Cast" and bool(op.attribute("saturate", False))
            and isinstance(element, IntegerType) and element.unsigned and op.operands[0].is_float)


def _is_unsigned_quantized(type_: Type) -> bool:
    return isinstance(type_, TensorType) and isinstance(type_.element, QuantType) and type_.element.storage.unsigned


def _narrow(type_: Type) -> IntegerType | None:
    """The plain integer type that a tensor has and i32 or i8 holds: unsigned, of 8 or 16 bits, or of less than 8; else None."""
    element = type_.element if isinstance(type_, TensorType) else None
    if not isinstance(element, IntegerType) or not 1 < element.width <= 16:
        return None
    return element if element.unsigned or element.width < 8 else None


def _wrap(op: Op, result: Value, element: IntegerType) -> None:
    """Keep a result that was such a narrow integer in its range, where `op` can leave that: before its ReLU, if it has one."""
    low, high = element.range
    if op.parent is None or op.name not in WRAPPING | _HELD or (op.name in _SIGNED and element.unsigned):
        return
    if op.name == "top.Interp" and op.attribute("mode", "nearest") != "cubic":
        return
    rw = Builder(op.parent, op.next, op.location)
    users = list(result.uses)

    def number(value: int) -> Value:
        return rw.constant(np.full((1,) * result.rank, value, dtype_of(result.element)))

    if op.name == "top.Interp" or (op.name == "top.Cast" and op.attribute("saturate", False)):
        kept = rw.emit("top.Clip", result, min=float(low), max=float(high))
    else:
        kept = rw.emit("top.BitwiseAnd", result, number((1 << element.width) - 1))
        if low < 0:  # the highest bit is that of the sign
            kept = rw.emit("top.Sub", rw.emit("top.BitwiseXor", kept, number(-low)), number(-low))
    if op.attributes.pop("do_relu", False):
        kept = rw.emit("top.Relu", kept, relu_limit=op.attributes.pop("relu_limit", None))
    _replace(result, users, kept)


def _replace(value: Value, users: Iterable[Op], by: Value) -> None:
    """Have ops take another value in the place of one."""
    for user in users:
        user.operands = tuple(by if operand is value else operand for operand in user.operands)


def _convert_argument(block: Block, argument: Value, old: Type) -> None:
    """Give an argument the type that carries the user's bits, and its users the signed value."""
    if not isinstance(old, TensorType):
        return
    element, new = old.element, argument.type
    stored = element.storage if isinstance(element, QuantType) else element
    if not (isinstance(stored, IntegerType) and stored.unsigned and stored.width in (8, 16)):
        return
    carrier = I8 if stored.width == 8 else I16
    users = list(argument.uses)
    argument.type = TensorType(old.shape, carrier, old.encoding)
    rw = Builder(block, block.first, argument.location)
    if isinstance(element, QuantType):
        signed: QuantType = new.element  # type: ignore[attr-defined]
        # uint16 has zero points 0 and 32768 only, so the numbers are moved by all of 32768
        given, made = (element.zero_points[0], signed.zero_points[0]) if carrier == I8 else (1 << 15, 0)
        value = build.rescale(rw, argument, [1 << 30], [30], given, made, signed, input_unsigned=True)
    elif carrier == I8:
        value = build.cast(rw, build.rescale(rw, argument, [1 << 30], [30], 0, 0, I16, input_unsigned=True), I32)
    else:
        centred = build.rescale(rw, argument, [1 << 30], [30], 1 << 15, 0, I16, input_unsigned=True)
        value = rw.emit("tosa.add", build.cast(rw, centred, I32), build.scalar(rw, 1 << 15, I32, argument.rank))
    _replace(argument, users, value)


def _convert_results(block: Block, types: list[Type]) -> None:
    """Return the bits that the user's types have."""
    terminator = block.terminator
    converted: list[Value] = []
    for value, old in zip(terminator.operands, types, strict=True):
        element = old.element if isinstance(old, TensorType) else None
        stored = element.storage if isinstance(element, QuantType) else element
        if isinstance(stored, IntegerType) and stored.unsigned and stored.width in (8, 16):
            carrier = I8 if stored.width == 8 else I16
            rw = Builder(block, terminator, value.name)
            if isinstance(element, QuantType):
                signed: QuantType = value.element  # type: ignore[assignment]
                given, made = (signed.zero_points[0], element.zero_points[0]) if carrier == I8 else (0, 1 << 15)
                value = build.rescale(rw, value, [1 << 30], [30], given, made, carrier, output_unsigned=True)
            else:
                value = _unsigned_bits(rw, value, carrier)
        converted.append(value)
    terminator.operands = tuple(converted)


def _unsigned_bits(rw: Builder, value: Value, carrier: Type) -> Value:
    """A number of 0 to 255, or to 65535, by a RESCALE that says so: a cast alone would give the same bits, and leave it open."""
    if carrier == I8:
        return build.rescale(rw, build.cast(rw, value, I16), [1 << 30], [30], 0, 0, I8, output_unsigned=True)
    centred = rw.emit("tosa.sub", value, build.scalar(rw, 1 << 15, I32, value.rank))
    return build.rescale(rw, build.cast(rw, centred, I16), [1 << 30], [30], 0, 1 << 15, I16, output_unsigned=True)
