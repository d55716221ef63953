"""Bits of integers, by the arithmetic that TFLite has: it moves bits down and has XOR, and neither AND, OR nor moves up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, I32, I64, UI32, Value, dtype_of
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables

from .common import constant, emit, ints, static_shape, widened, wider

if TYPE_CHECKING:
    from transload_hub.ops.elementwise import Bitwise, BitwiseNot, ShiftLeft, ShiftRight

__all__ = ["TABLE", "shifted_64"]

TABLE = RewriteTable()


@TABLE("top.ShiftLeft")
def shift_left(op: ShiftLeft, rw: Rewriter) -> Value:
    """A product with a power of two, of 64 bits, which wraps round; of 32 bits its lower ones."""
    element, places = op.result.element, _number(op.b)
    if element not in (I32, I64) or places is None or not 0 <= places < (32 if element == I32 else 63):
        raise Unsupported(
            "TFLite moves bits down alone",
            "multiply by powers of two in the model, of unsigned numbers in i64: a constant, where the places are known")
    factor = _beside(rw, op.a, op.result, 1 << places, np.int64)
    if element == I64:
        return emit(rw, "mul", op.a, factor, like=op.result)
    wide = emit(rw, "cast", op.a, like=op.a, element=I64)
    return emit(rw, "cast", emit(rw, "mul", wide, factor, like=op.result, element=I64), like=op.result)


def shifted_64(rw: Rewriter, op: ShiftRight) -> Value:
    """Numbers of 64 bits moved down by a constant, by their halves, as RIGHT_SHIFT has 32.

    The upper half, which has the sign, is moved by what is more than 32 places, or else up beside what is left of the lower one.
    """
    dense = constant_of(op.b)
    if dense is None or (dense.numpy() < 0).any():
        raise Unsupported("LiteRT moves integers of 64 bits by constant numbers of places alone", "make the distance constant")
    places, shape = np.minimum(dense.numpy().astype(np.int64), 63), static_shape(op.a)
    halves = emit(rw, "bitcast", op.a, like=op.a, shape=(*shape, 2), element=I32)

    def half(index: int) -> Value:
        return emit(rw, "gather", halves, ints(rw, index), like=op.a, shape=(*shape, 1), element=I32, axis=len(shape))

    def flat(value: Value) -> Value:
        return emit(rw, "reshape", value, ints(rw, *shape), like=value, shape=shape)

    def moved(value: Value, by: np.ndarray, factor: np.ndarray) -> Value:
        element = value.element
        down = emit(rw, "right_shift", value, constant(rw, by.astype(dtype_of(element))), like=op.output, element=element)
        return emit(rw, "mul", widened(rw, down, I64), constant(rw, factor.astype(np.int64)), like=op.output)

    upper = moved(flat(half(1)), np.maximum(places - 32, 0), np.int64(1) << np.maximum(32 - places, 0))
    if (places >= 32).all():
        return upper
    bits = emit(rw, "bitcast", flat(half(0)), like=op.a, element=UI32)
    return emit(rw, "add", upper, moved(bits, np.minimum(places, 31), (places < 32).astype(np.int64)), like=op.output)


@TABLE("top.BitwiseAnd")
def bitwise_and(op: Bitwise, rw: Rewriter) -> Value:
    """Neighbouring bits of a number: its lowest ones up to the last of them, less those below the first."""
    taken = _masked(op, rw)
    if taken is None:
        raise Unsupported(
            f"TFLite has no AND: only neighbouring bits can be taken, which a constant says, and this is {op.result.element}",
            _HINT)
    return widened(rw, taken[1], op.result.element)


_HINT = "in the model, take remainders by powers of two, or logical operators of truth values"


def _masked(op: Bitwise, rw: Rewriter) -> tuple[Value, Value, int] | None:
    """A number of the shape of the result, in the type it is computed in, those of its bits that a constant has, and this;
    None where there is no such constant, or its bits are no neighbours."""
    element = wider(op.result.element) or op.result.element
    for x, mask in (op.operands, op.operands[::-1]):
        if element not in (I32, I64) or (held := _number(mask)) is None:
            continue
        width = element.width  # type: ignore[attr-defined]
        pattern = held & ((1 << width) - 1)
        below = (pattern & -pattern).bit_length() - 1 if pattern else 0
        if (above := _exponent((pattern >> below) + 1)) is None:
            continue
        x = widened(rw, x, element)
        if x.shape != op.result.shape:
            zeros = _beside(rw, x, op.result, 0, dtype_of(element))
            x = emit(rw, "add", x, zeros, like=op.result, element=element)
        made = _lowest(rw, x, below + above, width)
        if below:
            made = emit(rw, "sub", made, _lowest(rw, x, below, width), like=made)
        return x, made, held
    return None


def _lowest(rw: Rewriter, x: Value, bits: int, width: int) -> Value:
    """The lowest bits of a number: its remainder beside a power of two, which has the sign of that.

    For all but the highest there is no such power: they are what a negative number has more than the least.
    """
    dtype = dtype_of(x.element)
    if bits == width:
        return x
    if bits < width - 1:
        return emit(rw, "floor_mod", x, constant(rw, np.asarray(1 << bits, dtype)), like=x)
    negative = emit(rw, "less", x, constant(rw, np.zeros((), dtype)), like=x, element=BOOL)
    more = emit(rw, "sub", x, constant(rw, np.asarray(np.iinfo(dtype).min, dtype)), like=x)
    return emit(rw, "select_v2", negative, more, x, like=x)


@TABLE("top.BitwiseNot")
def bitwise_not(op: BitwiseNot, rw: Rewriter) -> Value:
    """What is left of -1, of unsigned numbers of the greatest: LiteRT's XOR has no 64 bits."""
    element = wider(op.result.element) or op.result.element
    value = widened(rw, op.operands[0], element)
    all_ones = constant(rw, np.asarray(-1, np.int64).astype(dtype_of(element)))
    return widened(rw, emit(rw, "sub", all_ones, value, like=value), op.result.element)


@TABLE("top.BitwiseOr")
def bitwise_or(op: Bitwise, rw: Rewriter) -> Value:
    """XOR, where what the one has is below all that the other has; neighbouring bits of a constant replace a number's own."""
    for upper, lower in (op.operands, op.operands[::-1]):
        free, taken = _zeros_below(upper), _bits_of(lower)
        if free is not None and taken is not None and taken <= free:
            return emit(rw, "bitwise_xor", upper, lower, like=op.result)
    masked = _masked(op, rw)
    if masked is None:
        raise Unsupported(
            "TFLite has no OR, and no AND to make one with: only neighbouring bits can be set, which a constant says, and this "
            f"is {op.result.element}", _HINT)
    x, own, held = masked
    rest = emit(rw, "sub", x, own, like=x)
    made = emit(rw, "add", rest, constant(rw, np.asarray(held, np.int64).astype(dtype_of(x.element))), like=x)
    return widened(rw, made, op.result.element)


def _beside(rw: Rewriter, x: Value, result: Value, number: int, dtype: Any) -> Value:
    """A constant number, as many times as make the result's shape of that of `x`, which may be broadcast."""
    shape = () if x.shape == result.shape else static_shape(result)
    return constant(rw, tables.full(shape, number, dtype))


def _number(value: Value) -> int | None:
    """The number that all elements of a constant of integers are."""
    dense = constant_of(value)
    splat = dense.splat_value() if dense is not None else None
    return int(splat) if splat is not None and splat.dtype.kind in "iu" else None


def _exponent(number: int | None) -> int | None:
    """Which power of two a number is."""
    return None if number is None or number <= 0 or number & (number - 1) else number.bit_length() - 1


def _zeros_below(value: Value) -> int | None:
    """How many of the lowest bits are 0, of what was moved up."""
    maker = value.op
    if maker is not None and maker.name == "tfl.cast":
        maker = maker.operands[0].op
    return _exponent(_number(maker.operands[1])) if maker is not None and maker.name == "tfl.mul" else None


def _bits_of(value: Value) -> int | None:
    """How many bits a number that is not negative has, of what was left of another."""
    maker = value.op
    return _exponent(_number(maker.operands[1])) if maker is not None and maker.name == "tfl.floor_mod" else None
