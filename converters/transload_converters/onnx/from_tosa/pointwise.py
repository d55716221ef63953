"""Operators on single elements (2.4 to 2.8, 2.13): integers of fewer than 32 bits in i32, which onnxruntime has them for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import BOOL, F32, F64, I8, I32, I64, UI32, UI64, FloatType, IntegerType, TensorType, Value
from transload.rewrite import Rewriter, RewriteTable, Unsupported

from ..lowering.common import cast, clipped, constant, emit, ints, quotient, static_shape
from . import narrow
from .common import broadcast, elementwise, held, number, passes_nans, power_of_two, reshaped, scalar_like, shift_right, wide

if TYPE_CHECKING:
    from transload.ir import Op

__all__ = ["TABLE"]

TABLE = RewriteTable()

UNARY = {
    "tosa.erf": "Erf", "tosa.sigmoid": "Sigmoid", "tosa.tanh": "Tanh", "tosa.ceil": "Ceil", "tosa.cos": "Cos", "tosa.exp": "Exp",
    "tosa.floor": "Floor", "tosa.log": "Log", "tosa.logical_not": "Not", "tosa.reciprocal": "Reciprocal", "tosa.sin": "Sin",
    "tosa.bitwise_not": "BitwiseNot"}

BINARY = {
    "tosa.add": "Add", "tosa.sub": "Sub", "tosa.bitwise_and": "BitwiseAnd", "tosa.bitwise_or": "BitwiseOr",
    "tosa.bitwise_xor": "BitwiseXor", "tosa.logical_and": "And", "tosa.logical_or": "Or",
    "tosa.logical_xor": "Xor", "tosa.pow": "Pow"}

COMPARISONS = {"tosa.equal": "Equal", "tosa.greater": "Greater", "tosa.greater_equal": "GreaterOrEqual"}


def _each(op: Op, rw: Rewriter, compute: Callable[..., Value], operands: Sequence[Value] | None = None) -> Value:
    """`compute` of the operands, element by element, in the element type of the op's result."""
    made = elementwise(rw, lambda *values: compute(*values[:-1]), *(op.operands if operands is None else operands))
    return cast(rw, made, held(op.results[0].element))


@TABLE(*UNARY)
def unary(op: Op, rw: Rewriter) -> Value:
    return _each(op, rw, lambda x: emit(rw, UNARY[op.name], x))


@TABLE("tosa.rsqrt")
def reciprocal_root(op: Op, rw: Rewriter) -> Value:
    return _each(op, rw, lambda x: emit(rw, "Reciprocal", emit(rw, "Sqrt", x)))


@TABLE(*BINARY)
def binary(op: Op, rw: Rewriter) -> Value:
    return _each(op, rw, lambda a, b: broadcast(rw, BINARY[op.name], a, b))


@TABLE("tosa.intdiv")
def divided(op: Op, rw: Rewriter) -> Value:
    return _each(op, rw, lambda a, b: quotient(rw, a, b))


@TABLE(*COMPARISONS)
def compared(op: Op, rw: Rewriter) -> Value:
    name = COMPARISONS[op.name]
    if narrow.is_narrow(rw) and op.operands[0].element == I32:
        return _each(op, rw, lambda a, b: narrow.compared(rw, name, a, b))
    return _each(op, rw, lambda a, b: broadcast(rw, name, a, b, element=BOOL))


@TABLE("tosa.maximum", "tosa.minimum")
def extremum(op: Op, rw: Rewriter) -> Value:
    """Max and Min keep a NaN; where it is to be passed over, the other number stands for it."""
    name = "Max" if op.name == "tosa.maximum" else "Min"

    def compute(a: Value, b: Value) -> Value:
        y = broadcast(rw, name, a, b)
        if passes_nans(op):
            y = broadcast(rw, "Where", emit(rw, "IsNaN", a, element=BOOL), b, y, element=a.element)
            y = broadcast(rw, "Where", emit(rw, "IsNaN", b, element=BOOL), a, y, element=a.element)
        return y

    return _each(op, rw, compute)


@TABLE("tosa.select")
def select(op: Op, rw: Rewriter) -> Value:
    """Where, which onnxruntime has for few types: truth as i32."""

    def compute(condition: Value, yes: Value, no: Value) -> Value:
        yes, no = (cast(rw, each, I32) if each.element == BOOL else wide(rw, each) for each in (yes, no))
        return broadcast(rw, "Where", condition, yes, no, element=yes.element)

    return _each(op, rw, compute)


@TABLE("tosa.mul")
def multiply(op: Op, rw: Rewriter) -> Value:
    """The product; of i32, in 64 bits where it is shifted right and rounded."""
    a, b, shift = op.operands
    places = number(shift, "the shift of a product") if isinstance(a.element, IntegerType) else 0

    def compute(a: Value, b: Value) -> Value:
        if not places:
            return broadcast(rw, "Mul", wide(rw, a), wide(rw, b))
        if narrow.is_narrow(rw):
            return narrow.product_shifted(rw, a, b, places)
        product = broadcast(rw, "Mul", cast(rw, a, I64), cast(rw, b, I64))
        product = emit(rw, "Add", product, scalar_like(rw, 1 << (places - 1), product))
        return shift_right(rw, product, constant(rw, np.uint64(places), UI64))

    return _each(op, rw, compute, (a, b))


@TABLE("tosa.clamp")
def clamp(op: Op, rw: Rewriter) -> Value:
    low, high = op.attributes["min_val"], op.attributes["max_val"]

    def compute(x: Value) -> Value:
        if passes_nans(op):
            least = scalar_like(rw, float(low), x)
            x = broadcast(rw, "Where", emit(rw, "IsNaN", x, element=BOOL), least, x, element=x.element)
        x = x if x.element == I8 else wide(rw, x)
        kind = float if isinstance(x.element, FloatType) else int
        if narrow.is_narrow(rw) and x.element == I32:
            return narrow.saturated(rw, x, int(low), int(high))
        return clipped(rw, x, kind(low), kind(high))

    return _each(op, rw, compute)


@TABLE("tosa.abs")
def absolute(op: Op, rw: Rewriter) -> Value:
    """Of the least integer, the greatest."""

    def compute(x: Value) -> Value:
        if isinstance(x.element, IntegerType):
            low, high = x.element.range
            if narrow.is_narrow(rw):
                x = wide(rw, x)
                return emit(rw, "Abs", narrow.saturated(rw, x, low + 1, high))
            return emit(rw, "Abs", clipped(rw, x, low + 1, high))
        return emit(rw, "Abs", x)

    return _each(op, rw, compute)


@TABLE("tosa.negate")
def negate(op: Op, rw: Rewriter) -> Value:
    """`output_zp - (x - input_zp)`, saturated."""
    x, *zeros = op.operands
    if not isinstance(x.element, IntegerType):
        return _each(op, rw, lambda x: emit(rw, "Neg", x), (x,))
    total = sum(number(value, "a zero point") for value in zeros)

    def compute(x: Value) -> Value:
        if narrow.is_narrow(rw):
            y = narrow.saturated(rw, wide(rw, x), I32.range[0] + 1 + max(total, 0), I32.range[1] + min(total, 0))
            return narrow.saturated(rw, emit(rw, "Sub", scalar_like(rw, total, y), y, like=y), *op.results[0].element.range)  # type: ignore[attr-defined]
        y = cast(rw, x, I64)
        return clipped(rw, emit(rw, "Sub", scalar_like(rw, total, y), y, like=y), *op.results[0].element.range)  # type: ignore[attr-defined]

    return _each(op, rw, compute, (x,))


@TABLE("tosa.cast")
def converted(op: Op, rw: Rewriter) -> Value:
    """Floats become the nearest integers, ties to even, saturated, and 0 of NaN; integers are cut; anything but 0 is true."""
    element = op.results[0].element

    def compute(x: Value) -> Value:
        if not isinstance(x.element, FloatType) or not isinstance(element, IntegerType) or element == BOOL:
            return cast(rw, x, element)
        x = cast(rw, x, F64 if element.width > 16 and not narrow.is_narrow(rw) else F32)
        x = broadcast(rw, "Where", emit(rw, "IsNaN", x, element=BOOL), scalar_like(rw, 0, x), x, element=x.element)
        low, high = element.range
        most = high  # that the floats hold
        if element.width > 53 and x.element == F64:
            most -= (1 << 10) - 1
        elif element.width > 24 and x.element == F32:
            most = int(np.nextafter(np.float32(high), np.float32(0)))
        y = cast(rw, clipped(rw, emit(rw, "Round", x), low, most), element)
        if most == high:
            return y
        beyond = broadcast(rw, "Greater", x, scalar_like(rw, most, x), element=BOOL)
        return broadcast(rw, "Where", beyond, scalar_like(rw, high, y), y, element=element)

    return _each(op, rw, compute)


# --- bits


@TABLE("tosa.arithmetic_right_shift")
def arithmetic_right_shift(op: Op, rw: Rewriter) -> Value:
    """Of i64, where half of what is shifted out is added first if it rounds."""

    def compute(x: Value, places: Value) -> Value:
        if narrow.is_narrow(rw):
            return narrow.shifted_right(rw, x, places, bool(op.attributes.get("round")))
        x, places = cast(rw, x, I64), cast(rw, cast(rw, places, I64), UI64)
        if op.attributes.get("round"):
            one = constant(rw, np.uint64(1), UI64)
            half = rw.emit("onnx.BitShift", power_of_two(rw, places), one, types=[places.type], direction="RIGHT")
            x = broadcast(rw, "Add", x, cast(rw, half, I64))
        return shift_right(rw, x, places)

    return _each(op, rw, compute)


@TABLE("tosa.logical_left_shift", "tosa.logical_right_shift")
def logical_shift(op: Op, rw: Rewriter) -> Value:
    """BitShift of the bits as unsigned numbers: a Cast between integers keeps the low ones."""
    left = op.name == "tosa.logical_left_shift"
    width = op.results[0].element.width  # type: ignore[attr-defined]

    def compute(x: Value, places: Value) -> Value:
        if narrow.is_narrow(rw) and left:
            return narrow.shifted_left(rw, x, places)
        bits = cast(rw, cast(rw, x, IntegerType(width, "u")), UI32)
        places = cast(rw, places, UI32)
        shape = np.broadcast_shapes(static_shape(bits), static_shape(places))
        y = rw.emit("onnx.BitShift", bits, places, types=[TensorType(shape, UI32)], direction="LEFT" if left else "RIGHT")
        return cast(rw, y, IntegerType(width, "u"))

    return _each(op, rw, compute)


@TABLE("tosa.clz")
def leading_zeros(op: Op, rw: Rewriter) -> Value:
    """How many of the powers of two from 2^0 to 2^31 a number is below."""
    x = op.operands[0]
    if narrow.is_narrow(rw):
        return narrow.leading_zeros(rw, x)
    shape = static_shape(x)
    bits = cast(rw, cast(rw, x, UI32), I64)
    bits = reshaped(rw, bits, (*shape, 1))
    powers = constant(rw, np.left_shift(np.int64(1), np.arange(32)), I64)
    below = cast(rw, broadcast(rw, "Less", bits, powers, element=BOOL), I32)
    return emit(rw, "ReduceSum", below, ints(rw, (len(shape),)), shape=shape, keepdims=0)


# --- tables


@TABLE("tosa.table")
def table(op: Op, rw: Rewriter) -> Value:
    """GatherElements from the results of all numbers of the type: places below 0 count from the end, in the second half.

    onnxruntime's Gather takes twenty times as long of single numbers.
    """
    x, entries = op.operands
    dense = rw.need_constant(entries, "a table")
    if x.element == I8:
        numbers = np.concatenate((dense[128:], dense[:128]))
    else:
        numbers = _all_numbers(dense)
    result: Any = op.results[0].element

    def compute(x: Value) -> Value:
        shape = static_shape(x)
        flat = reshaped(rw, cast(rw, x, I32), (int(np.prod(shape)),))
        found = emit(rw, "GatherElements", constant(rw, numbers, result), flat, shape=static_shape(flat), axis=0)
        return reshaped(rw, found, shape)

    return _each(op, rw, compute, (x,))


def _all_numbers(entries: np.ndarray) -> np.ndarray:
    """What a table of 513 numbers gives for each i16, interpolated, in the order 0 to 32767, -32768 to -1."""
    if entries.size != 513:
        raise Unsupported(f"a table for i16 has 513 numbers, and this one {entries.size}")
    places = np.concatenate((np.arange(32768), np.arange(-32768, 0)))
    base = entries.astype(np.int32)
    low = base[(places + 32768) >> 7]
    return (low << 7) + (base[((places + 32768) >> 7) + 1] - low) * (places & 0x7F)
