"""Bits: reading floats as integers and the reverse by arithmetic, and unsigned numbers of 32 bits.

Targets have no unsigned arithmetic of 32 bits, and hold such numbers in signed ones of the same bits, whose sums must not
overflow. So sums and products, and what asks which number is greater, divides or makes a float, are said here in signed
arithmetic that stays in range: right for all numbers, on the hub and behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BF16, F16, F32, F64, I32, I64, UI32, UI64, FloatType, IntegerType, Value
from transload.rewrite import Rewriter, RewriteTable

from .binary import MODES, OTHER_BITS, outside_as_width, shifted_down
from .elementwise import logical_shift_right
from .table import cast, in_shape, is_signed, lean, like, splat_of

if TYPE_CHECKING:
    from ..dialect.binary import (
        Add,
        Clamp,
        Compare,
        Convert,
        Divide,
        Maximum,
        Minimum,
        Multiply,
        Remainder,
        ShiftRightLogical,
        Subtract,
    )
    from ..dialect.movement import BitcastConvert

__all__ = ["TABLE", "ordered_bits"]

TABLE = RewriteTable()

_I16, _UI16 = IntegerType(16), IntegerType(16, "u")
_UNITS = {F16: (0x3C00, 10, I32), F32: (0x3F800000, 23, I32), F64: (0x3FF << 52, 52, I64)}
"""The bits of 1, how many of them are the mantissa's, and integers that hold those."""


def _is_unsigned(value: Value) -> bool:
    return value.element == UI32


def _emit(rw: Rewriter, name: str, *values: Value, **attributes: Any) -> Value:
    return rw.emit(f"top.{name}", *values, **attributes)


# --- unsigned numbers of 32 bits

def ordered_bits(rw: Rewriter, x: Value) -> Value:
    """Signed numbers in the order of unsigned ones: the highest bit turned."""
    signed = cast(rw, x, I32)
    return _emit(rw, "BitwiseXor", signed, like(rw, signed, -(1 << 31)))


def _less(rw: Rewriter, a: Value, b: Value, mode: str = "Less") -> Value:
    return _emit(rw, "Compare", ordered_bits(rw, a), ordered_bits(rw, b), mode=mode)


@TABLE("stablehlo.compare")
def compare(op: Compare, rw: Rewriter) -> Value | None:
    """An order of unsigned numbers."""
    if not _is_unsigned(op.operands[0]) or op.comparison_direction in ("EQ", "NE"):
        return None
    a, b = (lean(value) for value in op.operands)
    return in_shape(rw, op, _less(rw, a, b, MODES[op.comparison_direction]))


def _chosen(rw: Rewriter, a: Value, b: Value, greatest: bool) -> Value:
    return _emit(rw, "Where", _less(rw, a, b, "Greater" if greatest else "Less"), a, b)


@TABLE("stablehlo.maximum", "stablehlo.minimum", "stablehlo.clamp")
def extreme(op: Clamp | Maximum | Minimum, rw: Rewriter) -> Value | None:
    """The greater or lesser of unsigned numbers."""
    if not _is_unsigned(op.results[0]):
        return None
    values = [lean(value) for value in op.operands]
    if op.name == "stablehlo.clamp":
        low, x, high = values
        return in_shape(rw, op, _chosen(rw, _chosen(rw, x, low, True), high, False))
    return in_shape(rw, op, _chosen(rw, values[0], values[1], op.name == "stablehlo.maximum"))


@TABLE("stablehlo.shift_right_logical")
def shift_right(op: ShiftRightLogical, rw: Rewriter) -> Value | None:
    """By a constant number of places; by others as signed numbers are."""
    if not _is_unsigned(op.results[0]):
        return None
    x, amount = (cast(rw, lean(value), I32) for value in op.operands)
    places = splat_of(rw, amount)
    if places is not None:
        count = int(places) if 0 <= int(places) < 32 else 32
        return in_shape(rw, op, cast(rw, logical_shift_right(rw, x, count), UI32))
    return in_shape(rw, op, cast(rw, shifted_down(rw, x, outside_as_width(rw, amount, 32)), UI32))


def _mask(rw: Rewriter, x: Value, bits: int) -> Value:
    return _emit(rw, "BitwiseAnd", x, like(rw, x, (1 << bits) - 1))


def _halves(rw: Rewriter, x: Value) -> tuple[Value, Value]:
    """The upper and the lower 16 bits, neither negative."""
    return logical_shift_right(rw, x, 16), _mask(rw, x, 16)


def _joined(rw: Rewriter, high: Value, low: Value) -> Value:
    """The lowest 16 bits of each, side by side."""
    upper = _emit(rw, "ShiftLeft", _mask(rw, high, 16), like(rw, high, 16))
    return _emit(rw, "BitwiseOr", upper, _mask(rw, low, 16))


def _sum(rw: Rewriter, a: Value, b: Value) -> Value:
    """`a + b`, whose halves carry over, and never overflow."""
    (high, low), (more_high, more_low) = _halves(rw, a), _halves(rw, b)
    low = _emit(rw, "Add", low, more_low)
    carry = _emit(rw, "ShiftRight", low, like(rw, low, 16))
    return _joined(rw, _emit(rw, "Add", _emit(rw, "Add", high, more_high), carry), low)


def _difference(rw: Rewriter, a: Value, b: Value) -> Value:
    """`a + not b + 1`."""
    (high, low), (more_high, more_low) = _halves(rw, a), _halves(rw, _emit(rw, "BitwiseNot", b))
    low = _emit(rw, "Add", _emit(rw, "Add", low, more_low), like(rw, low, 1))
    carry = _emit(rw, "ShiftRight", low, like(rw, low, 16))
    return _joined(rw, _emit(rw, "Add", _emit(rw, "Add", high, more_high), carry), low)


def _of_halves(rw: Rewriter, a: Value, b: Value) -> Value:
    """The product of two numbers of 16 bits, of which the one is taken byte by byte."""
    upper = _emit(rw, "Mul", _emit(rw, "ShiftRight", a, like(rw, a, 8)), b)
    lower = _emit(rw, "Mul", _mask(rw, a, 8), b)
    return _sum(rw, _emit(rw, "ShiftLeft", upper, like(rw, upper, 8)), lower)


def _product(rw: Rewriter, a: Value, b: Value) -> Value:
    """`a * b`: the halves' products, those of an upper and a lower one moved up."""
    (high, low), (more_high, more_low) = _halves(rw, a), _halves(rw, b)
    crossed = _sum(rw, _of_halves(rw, high, more_low), _of_halves(rw, low, more_high))
    return _sum(rw, _of_halves(rw, low, more_low), _emit(rw, "ShiftLeft", crossed, like(rw, crossed, 16)))


_WRAPPING = {"add": _sum, "subtract": _difference, "multiply": _product}


@TABLE(*(f"stablehlo.{name}" for name in _WRAPPING))
def wrapping(op: Add | Multiply | Subtract, rw: Rewriter) -> Value | None:
    """Sums and products that wrap round: made of halves, for in targets' signed arithmetic nothing may overflow."""
    if not _is_unsigned(op.results[0]):
        return None
    a, b = (cast(rw, lean(value), I32) for value in op.operands)
    return in_shape(rw, op, cast(rw, _WRAPPING[op.name.partition(".")[2]](rw, a, b), UI32))


@TABLE("stablehlo.divide", "stablehlo.remainder")
def quotient(op: Divide | Remainder, rw: Rewriter) -> Value | None:
    """Half the number divided, twice that quotient, and one more where what is left is still as large as the divisor.

    A divisor with its highest bit set goes once into what is not less. (Warren, Hacker's Delight, 9-3.) By zero all bits of
    the quotient are set, as XLA has it, and all of the dividend is left.
    """
    if not _is_unsigned(op.results[0]):
        return None
    n, d = (cast(rw, lean(value), I32) for value in op.operands)
    large = _emit(rw, "Compare", d, like(rw, d, 0), mode="Less")
    useless = _emit(rw, "Compare", d, like(rw, d, 0), mode="LessOrEqual")  # too large, or zero, which a target may not take
    safe = _emit(rw, "Where", useless, like(rw, d, 1), d)
    half = _emit(rw, "Div", logical_shift_right(rw, n, 1), safe)
    twice = _emit(rw, "ShiftLeft", half, like(rw, half, 1))
    left = _difference(rw, n, _product(rw, twice, safe))
    more = _less(rw, left, safe, "GreaterOrEqual")
    small = _sum(rw, twice, cast(rw, more, I32))
    once = cast(rw, _less(rw, n, d, "GreaterOrEqual"), I32)
    made = _emit(rw, "Where", large, once, small)
    if op.name == "stablehlo.remainder":
        made = _difference(rw, n, _product(rw, made, d))
    else:
        made = _emit(rw, "Where", _emit(rw, "Compare", d, like(rw, d, 0), mode="Equal"), like(rw, made, -1), made)
    return in_shape(rw, op, cast(rw, made, UI32))


@TABLE("stablehlo.convert")
def convert(op: Convert, rw: Rewriter) -> Value | None:
    """To floats: both halves of the number, which are exact, and their sum."""
    x, element = op.operands[0], op.results[0].element
    if not _is_unsigned(x) or not isinstance(element, FloatType):
        return None
    signed = cast(rw, lean(x), I32)
    wide = element if str(element) == "f64" else F32
    high = cast(rw, logical_shift_right(rw, signed, 16), wide)
    low = cast(rw, _emit(rw, "BitwiseAnd", signed, like(rw, signed, 0xFFFF)), wide)
    made = _emit(rw, "Add", _emit(rw, "Mul", high, like(rw, high, 65536.0)), low)
    return in_shape(rw, op, cast(rw, made, element))


# --- the bits of floats

@TABLE("stablehlo.bitcast_convert")
def bitcast(op: BitcastConvert, rw: Rewriter) -> Value | None:
    """f32 as an integer of 32 bits, and the reverse; bf16, which is the upper half of f32, as one of 16.

    Of f16 and f64 those numbers from 1 to 2 that random bits are made.
    """
    x, target = lean(op.operands[0]), op.results[0].element
    source = x.element
    if source == F32 and target in (I32, UI32):
        return in_shape(rw, op, cast(rw, _bits_of(rw, x), target))
    if source in (I32, UI32) and target == F32:
        return in_shape(rw, op, _float_of(rw, x))
    if source == BF16 and target in (_I16, _UI16):
        upper = _emit(rw, "ShiftRight", _bits_of(rw, cast(rw, x, F32)), rw.constant(np.array(16, np.int32)))
        return in_shape(rw, op, cast(rw, upper, target))
    if source in (_I16, _UI16) and target == BF16:
        wide = cast(rw, x, I32)
        return in_shape(rw, op, cast(rw, _float_of(rw, _emit(rw, "ShiftLeft", wide, like(rw, wide, 16))), BF16))
    drawn = F64 if source in (I64, UI64) else F16 if source in (_I16, _UI16) else None
    if drawn is not None and target == drawn and (unit := _from_one_to_two(rw, x, drawn)) is not None:
        return in_shape(rw, op, unit)
    if isinstance(source, FloatType) or isinstance(target, FloatType):
        raise Unsupported(
            f"reads the bits of {source} as {target}; only those of f32 and bf16 as integers of as many can be had by arithmetic",
            OTHER_BITS)
    return None


_STEPS = (64, 32, 16, 8, 4, 2, 1)


def _bits_of(rw: Rewriter, x: Value) -> Value:
    """The bits of f32 as i32: the exponent found step by step, by exact products; what is left is the mantissa."""
    size = _emit(rw, "Abs", x)
    exponent = rw.constant(np.array(127, np.int32))
    normal = size
    for direction in (1, -1):
        for step in _STEPS:
            if direction > 0:
                question = _emit(rw, "Compare", normal, like(rw, x, 2.0**step), mode="GreaterOrEqual")
            else:
                question = _emit(rw, "Compare", normal, like(rw, x, 2.0 ** (1 - step)), mode="Less")
            normal = _emit(rw, "Where", question, _emit(rw, "Mul", normal, like(rw, x, 2.0 ** (-direction * step))), normal)
            moved = _emit(rw, "Add", exponent, like(rw, exponent, direction * step))
            exponent = _emit(rw, "Where", question, moved, exponent)
    fraction = _emit(rw, "Mul", _emit(rw, "Sub", normal, like(rw, x, 1)), like(rw, x, 2.0**23))
    usual = _emit(rw, "Add", _emit(rw, "Mul", exponent, like(rw, exponent, 1 << 23)), cast(rw, fraction, I32))
    tiny = _emit(rw, "Compare", size, like(rw, x, 2.0**-126), mode="Less")
    below = cast(rw, _emit(rw, "Mul", _emit(rw, "Mul", size, like(rw, x, 2.0**126)), like(rw, x, 2.0**23)), I32)
    bits = _emit(rw, "Where", tiny, below, usual)
    endless = _emit(rw, "Compare", size, like(rw, x, np.inf), mode="Equal")
    bits = _emit(rw, "Where", endless, like(rw, bits, 0x7F800000), bits)
    bits = _emit(rw, "Where", _emit(rw, "IsNaN", x), like(rw, bits, 0x7FC00000), bits)
    signed = _emit(rw, "BitwiseOr", bits, like(rw, bits, -(1 << 31)))
    return _emit(rw, "Where", is_signed(rw, x), signed, bits)


def _float_of(rw: Rewriter, x: Value) -> Value:
    """The f32 that has these bits: the mantissa, times powers of two as the bits of the exponent say."""
    unit = _from_one_to_two(rw, x, F32)
    if unit is not None:
        return unit
    bits = cast(rw, x, I32)
    mantissa = _emit(rw, "BitwiseAnd", bits, like(rw, bits, 0x7FFFFF))
    exponent = _emit(rw, "BitwiseAnd", _emit(rw, "ShiftRight", bits, like(rw, bits, 23)), like(rw, bits, 0xFF))
    fraction = cast(rw, mantissa, F32)
    fraction = _emit(rw, "Mul", fraction, like(rw, fraction, 2.0**-23))
    tiny = _emit(rw, "Compare", exponent, like(rw, bits, 0), mode="Equal")
    value = _emit(rw, "Where", tiny, fraction, _emit(rw, "Add", fraction, like(rw, fraction, 1)))
    value = _emit(rw, "Mul", value, like(rw, value, 2.0**-126))
    steps = _emit(rw, "Sub", _emit(rw, "Max", exponent, like(rw, bits, 1)), like(rw, bits, 1))
    for place in range(8):
        is_set = _emit(rw, "BitwiseAnd", steps, like(rw, bits, 1 << place))
        question = _emit(rw, "Compare", is_set, like(rw, bits, 0), mode="NotEqual")
        for factor in (2.0**64, 2.0**64) if place == 7 else (2.0 ** (1 << place),):
            value = _emit(rw, "Where", question, _emit(rw, "Mul", value, like(rw, value, factor)), value)
    last = _emit(rw, "Compare", exponent, like(rw, bits, 0xFF), mode="Equal")
    whole = _emit(rw, "Compare", mantissa, like(rw, bits, 0), mode="Equal")
    special = _emit(rw, "Where", whole, like(rw, value, np.inf), like(rw, value, np.nan))
    value = _emit(rw, "Where", last, special, value)
    negative = _emit(rw, "Compare", bits, like(rw, bits, 0), mode="Less")
    return _emit(rw, "Where", negative, _emit(rw, "Neg", value), value)


def _from_one_to_two(rw: Rewriter, x: Value, element: FloatType) -> Value | None:
    """A number from 1 to 2, whose exponent was put there by an `or`: how random numbers are made of random bits."""
    maker = x.op
    if maker is None or maker.name != "top.BitwiseOr":
        return None
    one, places, whole = _UNITS[element]
    for mantissa, exponent in (maker.operands, maker.operands[::-1]):
        known = splat_of(rw, exponent)
        if known is None or int(known) != one:
            continue
        if _is_below(rw, mantissa, 1 << places):
            fraction = cast(rw, cast(rw, mantissa, whole), element)
            scaled = _emit(rw, "Mul", fraction, like(rw, fraction, 2.0**-places))
            return _emit(rw, "Add", scaled, like(rw, scaled, 1))
    return None


def _is_below(rw: Rewriter, x: Value, limit: int) -> bool:
    """Whether a value was masked or shifted, so that it is not negative and below a limit."""
    maker = lean(x).op
    while maker is not None and maker.name in ("top.Cast", "top.Reshape", "top.Permute", "top.Expand"):
        maker = maker.operands[0].op
    if maker is not None and maker.name == "top.ShiftRight" and isinstance(element := maker.results[0].element, IntegerType):
        away = splat_of(rw, maker.operands[1])
        return element.unsigned and away is not None and 1 << max(element.width - int(away), 0) <= limit
    if maker is None or maker.name != "top.BitwiseAnd":
        return False
    known = [splat_of(rw, value) for value in maker.operands]
    return any(number is not None and 0 <= int(number) < limit for number in known)
