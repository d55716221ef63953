"""Arithmetic, logic, comparison, selection and conversion, element by element."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BF16, F16, F32, F64, I8, FloatType, IntegerType, Op, QuantType, Type, Value
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.simplify.qdq import kept

from ..types import element_of, shape_of
from .table import (
    as_quantized,
    cast,
    in_shape,
    is_integer,
    lean,
    like,
    pointwise,
    refuse_complex,
    reshape,
    splat_of,
)

if TYPE_CHECKING:
    from ..dialect.binary import (
        Clamp,
        Compare,
        Convert,
        Divide,
        Power,
        Remainder,
        Select,
        ShiftLeft,
        ShiftRightArithmetic,
        ShiftRightLogical,
        UniformDequantize,
        UniformQuantize,
    )
    from ..dialect.movement import BitcastConvert

__all__ = ["MODES", "OTHER_BITS", "TABLE", "outside_as_width", "shifted_down"]

TABLE = RewriteTable()

OTHER_BITS = "have the model compute in float32, as draw random numbers with dtype=float32, and read bits as integers of as many"
"""What to do about bits that are read as what they cannot be read as."""
ARITHMETIC = {
    "add": ("Add", "LogicalOr"), "subtract": ("Sub", ""), "multiply": ("Mul", "LogicalAnd"), "maximum": ("Max", "LogicalOr"),
    "minimum": ("Min", "LogicalAnd"), "atan2": ("Atan2", "")}
"""Ops of `top` for numbers, and for booleans."""
LOGIC = {
    "and": ("BitwiseAnd", "LogicalAnd"), "or": ("BitwiseOr", "LogicalOr"), "xor": ("BitwiseXor", "LogicalXor")}


@TABLE(*(f"stablehlo.{name}" for name in (*ARITHMETIC, *LOGIC)))
def arithmetic(op: Op, rw: Rewriter) -> Value:
    """An op that `top` has, too."""
    refuse_complex(op)
    numbers, flags = {**ARITHMETIC, **LOGIC}[op.name.partition(".")[2]]
    return pointwise(rw, op, f"top.{flags if op.operands[0].is_bool else numbers}", *op.operands)


@TABLE("stablehlo.remainder")
def remainder(op: Remainder, rw: Rewriter) -> Value:
    """What a quotient cut off leaves, with the sign of the dividend; of narrow floats computed in f32."""
    refuse_complex(op)
    a, b = (lean(value) for value in op.operands)
    element = a.element
    safe = _without_zeros(rw, b)
    if safe is not None:
        left = rw.emit("top.TruncMod", a, safe[0])
        return in_shape(rw, op, rw.emit("top.Where", safe[1], a, left))
    if isinstance(element, FloatType) and element not in (F32, F64):
        a, b = cast(rw, a, F32), cast(rw, b, F32)
    return in_shape(rw, op, cast(rw, rw.emit("top.TruncMod", a, b), element))


@TABLE("stablehlo.divide")
def divide(op: Divide, rw: Rewriter) -> Value:
    """A quotient; of integers, cut off, and by zero -1 (all bits set), as XLA has it."""
    refuse_complex(op)
    safe = _without_zeros(rw, lean(op.operands[1]))
    if safe is None:
        return pointwise(rw, op, "top.Div", *op.operands)
    quotient = rw.emit("top.Div", lean(op.operands[0]), safe[0])
    return in_shape(rw, op, rw.emit("top.Where", safe[1], like(rw, quotient, -1), quotient))


def _without_zeros(rw: Rewriter, divisor: Value) -> tuple[Value, Value] | None:
    """An integer divisor with ones for zeros, which targets may not divide by, and where they were; None if there are none."""
    if not is_integer(divisor):
        return None
    known = rw.constant_of(divisor)
    if known is not None and bool(np.all(known)):
        return None
    zero = rw.emit("top.Compare", divisor, like(rw, divisor, 0), mode="Equal")
    return rw.emit("top.Where", zero, like(rw, divisor, 1), divisor), zero


@TABLE("stablehlo.power")
def power(op: Power, rw: Rewriter) -> Value:
    """A power; by exponents that stand for other functions, those.

    1/2 and -1/2 stand for none: a root of negative infinity or negative zero is another number than the power (IEEE 754-2019,
    9.2.1).
    """
    refuse_complex(op)
    base, exponent = op.operands
    known = None if base.is_quantized else splat_of(rw, exponent)
    number = float(known) if known is not None else math.nan
    if number == 1:
        return in_shape(rw, op, lean(base))
    name = {2.0: "top.Square"}.get(number)
    if name is None and base.is_float and number == -1:
        name = "top.Reciprocal"
    if name is not None:
        return pointwise(rw, op, name, base)
    if is_integer(base) and not element_of(exponent).unsigned and not number >= 0:
        return _integer_power(op, rw, base, exponent)
    return pointwise(rw, op, "top.Pow", base, exponent)


def _integer_power(op: Op, rw: Rewriter, base: Value, exponent: Value) -> Value:
    """Of negative exponents 0, but for 1 and -1; computed with the exponent's lowest bit, which says the sign."""
    a, b = lean(base), lean(exponent)
    zero, one = like(rw, a, 0), like(rw, a, 1)
    negative = rw.emit("top.Compare", b, zero, mode="Less")
    plain = rw.emit("top.Pow", a, rw.emit("top.Max", b, zero))
    odd = rw.emit("top.BitwiseAnd", b, one)
    of_unit = rw.emit("top.Pow", a, odd)
    unit = rw.emit("top.Compare", rw.emit("top.Abs", a), one, mode="Equal")
    small = rw.emit("top.Where", unit, of_unit, zero)
    return in_shape(rw, op, rw.emit("top.Where", negative, small, plain))


# --- shifts

@TABLE("stablehlo.shift_left", "stablehlo.shift_right_arithmetic", "stablehlo.shift_right_logical")
def shift(op: ShiftLeft | ShiftRightArithmetic | ShiftRightLogical, rw: Rewriter) -> Value:
    """A shift; amounts outside of the width, negative ones too, leave nothing but the sign's copies.

    Down with zeros moved in, a signed number is shifted with its sign, of which the copies are then masked.
    """
    x, amount = lean(op.operands[0]), lean(op.operands[1])
    element = element_of(x)
    width, unsigned = element.width, element.unsigned
    if width > element.range[1]:
        return in_shape(rw, op, _shift_in_bytes(rw, op.name, x, amount))
    if op.name == "stablehlo.shift_right_arithmetic" and unsigned:
        signed = IntegerType(width)
        moved = rw.emit("top.ShiftRight", cast(rw, x, signed), outside_as_width(rw, cast(rw, amount, signed), width))
        return in_shape(rw, op, cast(rw, moved, element))
    amount = outside_as_width(rw, amount, width)
    if op.name == "stablehlo.shift_left":
        return in_shape(rw, op, rw.emit("top.ShiftLeft", x, amount))
    if op.name == "stablehlo.shift_right_arithmetic" or unsigned:
        return in_shape(rw, op, rw.emit("top.ShiftRight", x, amount))
    return in_shape(rw, op, shifted_down(rw, x, amount))


def _shift_in_bytes(rw: Rewriter, name: str, x: Value, amount: Value) -> Value:
    """A shift of i2 in i8: i2 has no number for its own width, by which amounts outside of it are told."""
    element = element_of(x)
    wide, places = cast(rw, x, I8), outside_as_width(rw, cast(rw, amount, I8), I8.width)
    if name == "stablehlo.shift_left":
        return cast(rw, rw.emit("top.ShiftLeft", wide, places), element)
    if name == "stablehlo.shift_right_logical":
        wide = rw.emit("top.BitwiseAnd", wide, like(rw, wide, (1 << element.width) - 1))
    return cast(rw, rw.emit("top.ShiftRight", wide, places), element)


def shifted_down(rw: Rewriter, x: Value, amount: Value) -> Value:
    """A signed number's bits moved down, zeros moved in: the copies of its sign are masked."""
    width = element_of(x).width
    inside = rw.emit("top.Min", amount, like(rw, x, width - 1))
    copies = rw.emit("top.ShiftLeft", like(rw, x, -1), rw.emit("top.Sub", like(rw, x, width - 1), inside))
    kept = rw.emit("top.BitwiseNot", rw.emit("top.ShiftLeft", copies, like(rw, x, 1)))
    gone = rw.emit("top.Compare", amount, like(rw, x, width), mode="GreaterOrEqual")
    masked = rw.emit("top.BitwiseAnd", rw.emit("top.ShiftRight", x, amount), kept)
    return rw.emit("top.Where", gone, like(rw, x, 0), masked)


def outside_as_width(rw: Rewriter, amount: Value, width: int) -> Value:
    """Amounts that are negative, which mean as much as too large ones, as the width."""
    held = rw.constant_of(amount)
    if element_of(amount).unsigned or (held is not None and held.astype(np.int64).min(initial=0) >= 0):
        return amount
    negative = rw.emit("top.Compare", amount, like(rw, amount, 0), mode="Less")
    beyond = min(width, element_of(amount).range[1])
    return rw.emit("top.Where", negative, like(rw, amount, beyond), amount)


# --- comparison and selection

MODES = {"EQ": "Equal", "NE": "NotEqual", "GE": "GreaterOrEqual", "GT": "Greater", "LE": "LessOrEqual", "LT": "Less"}


@TABLE("stablehlo.compare")
def compare(op: Compare, rw: Rewriter) -> Value:
    """A comparison; of floats in total order one that tells zeros and NaN apart."""
    refuse_complex(op)
    a, b = op.operands
    direction = op.comparison_direction
    if op.compare_type == "TOTALORDER" and isinstance(a.element, FloatType):
        if a.element not in (F16, BF16, F32, F64):  # formats of 8 bits and less, some without infinity
            a, b = cast(rw, a, F32), cast(rw, b, F32)
        return in_shape(rw, op, _in_total_order(rw, lean(a), lean(b), direction))
    if a.is_bool and direction not in ("EQ", "NE"):
        return in_shape(rw, op, _of_flags(rw, lean(a), lean(b), direction))
    return pointwise(rw, op, "top.Compare", a, b, mode=MODES[direction])


def _of_flags(rw: Rewriter, a: Value, b: Value, direction: str) -> Value:
    """The order of booleans, false before true: `a < b` is `not a and b`, `a <= b` is `not a or b`."""
    if direction in ("GT", "GE"):
        a, b = b, a
    joins = "top.LogicalAnd" if direction in ("LT", "GT") else "top.LogicalOr"
    return rw.emit(joins, rw.emit("top.LogicalNot", a), b)


def _in_total_order(rw: Rewriter, a: Value, b: Value, direction: str) -> Value:
    """`-inf < ... < -0 < +0 < ... < inf < NaN`; a NaN's sign, which the hub does not see, is taken to be positive."""
    def invert(x: Value) -> Value:
        return rw.emit("top.LogicalNot", x)

    if direction in ("LT", "GE"):
        less = _totally_less(rw, a, b)
        return less if direction == "LT" else invert(less)
    if direction in ("GT", "LE"):
        greater = _totally_less(rw, b, a)
        return greater if direction == "GT" else invert(greater)
    different = rw.emit("top.LogicalOr", _totally_less(rw, a, b), _totally_less(rw, b, a))
    return different if direction == "NE" else invert(different)


def _totally_less(rw: Rewriter, a: Value, b: Value) -> Value:
    """Not NaN, and: less, or the other one NaN, or a negative zero before a positive one (whose reciprocals differ)."""
    zero = like(rw, a, 0)
    zeros = rw.emit("top.LogicalAnd", *(rw.emit("top.Compare", x, zero, mode="Equal") for x in (a, b)))
    signs = rw.emit("top.Compare", rw.emit("top.Reciprocal", a), rw.emit("top.Reciprocal", b), mode="Less")
    less = rw.emit("top.Compare", a, b, mode="Less")
    before = rw.emit("top.LogicalOr", less, rw.emit("top.LogicalAnd", zeros, signs))
    before = rw.emit("top.LogicalOr", before, rw.emit("top.IsNaN", b))
    return rw.emit("top.LogicalAnd", before, rw.emit("top.LogicalNot", rw.emit("top.IsNaN", a)))


@TABLE("stablehlo.select")
def select(op: Select, rw: Rewriter) -> Value:
    """A choice, element by element or as a whole."""
    refuse_complex(op)
    pred, on_true, on_false = op.operands
    known = splat_of(rw, pred)
    if known is not None:
        return on_true if known else on_false
    return pointwise(rw, op, "top.Where", pred, on_true, on_false)


@TABLE("stablehlo.clamp")
def clamp(op: Clamp, rw: Rewriter) -> Value:
    """`min(max(x, low), high)`; by numbers, a clip."""
    refuse_complex(op)
    low, x, high = op.operands
    if x.is_bool:
        raised = rw.emit("top.LogicalOr", lean(x), lean(low))
        return in_shape(rw, op, rw.emit("top.LogicalAnd", raised, lean(high)))
    limits = [float(number) for number in (splat_of(rw, low), splat_of(rw, high)) if number is not None]
    exact = len(limits) == 2 and (x.is_float or max(map(abs, limits)) < 2.0**53)
    if exact and same_numbers(op) and limits[0] <= limits[1]:
        return pointwise(rw, op, "top.Clip", x, min=limits[0], max=limits[1])
    raised = rw.emit("top.Max", lean(x), lean(low), element=x.element)
    return in_shape(rw, op, rw.emit("top.Min", raised, lean(high), element=op.results[0].element))


def same_numbers(op: Op) -> bool:
    """Whether the op is on numbers that are what they are stored as."""
    return not any(value.is_quantized for value in (*op.operands, *op.results))


# --- conversion

@TABLE("stablehlo.convert")
def convert(op: Convert, rw: Rewriter) -> Value:
    """Floats to integers are cut off and kept in range; integers wrap round."""
    refuse_complex(op)
    x, element = op.operands[0], op.results[0].element
    saturate = True if x.is_float and isinstance(element, IntegerType) and element.width > 1 else None
    return cast(rw, x, element, saturate=saturate)


@TABLE("stablehlo.uniform_quantize", "stablehlo.uniform_dequantize")
def quantize(op: UniformDequantize | UniformQuantize, rw: Rewriter) -> Value:
    """To, from and between quantized types, halves to the even number. A weight stays visible as the integers that it is."""
    element = op.results[0].element
    if op.results[0].is_quantized:
        return as_quantized(rw, op.operands[0], element)
    return kept(rw, "top.Cast", op.operands[0], element=element)


@TABLE("stablehlo.bitcast_convert")
def bitcast_convert(op: BitcastConvert, rw: Rewriter) -> Value:
    """Between integers of one width, whose bits a cast keeps, and between integers where bits can be shifted and joined."""
    x, result = op.operands[0], op.results[0]
    source, target = x.element, result.element
    if source == target:
        return x
    if isinstance(source, QuantType) or isinstance(target, QuantType):
        return _stored(rw, x, target)
    if not (isinstance(source, IntegerType) and isinstance(target, IntegerType)) or 1 in (source.width, target.width):
        raise Unsupported(
            f"reads the bits of {source} as {target}, and the hub has no op that does", OTHER_BITS)
    if source.width == target.width:
        return cast(rw, x, target)
    if source.width > target.width:  # parts, the lowest first, in a new last dimension
        parts = [
            cast(rw, rw.emit("top.ShiftRight", lean(x), like(rw, x, place)), target)
            for place in range(0, source.width, target.width)]
        shape = shape_of(result)[:-1]
        spread = [reshape(rw, _at_least(rw, part, shape), (*shape, 1)) for part in parts]
        return rw.emit("top.Concat", *spread, axis=len(shape))
    unsigned = IntegerType(source.width, "u")
    parts = [cast(rw, _element_of(rw, cast(rw, x, unsigned), place), target) for place in range(target.width // source.width)]
    total = parts[0]
    for place, part in enumerate(parts[1:], 1):
        moved = rw.emit("top.ShiftLeft", part, like(rw, part, place * source.width))
        total = rw.emit("top.BitwiseOr", total, moved)
    return total


def _stored(rw: Rewriter, x: Value, target: Type) -> Value:
    """The stored integers of quantized numbers, and quantized numbers of integers, of one width."""
    here, there = (each.storage if isinstance(each, QuantType) else each for each in (x.element, target))
    if not isinstance(here, IntegerType) or not isinstance(there, IntegerType) or here.width != there.width:
        raise Unsupported(f"reads the bits of {x.element} as {target}", OTHER_BITS)
    dense = constant_of(x)
    return rw.constant(dense.numpy(), element=target) if dense is not None and here == there else (
        rw.emit("top.Bitcast", x, element=target))


def _at_least(rw: Rewriter, x: Value, shape: Any) -> Value:
    return x if x.shape == tuple(shape) else rw.emit("top.Expand", x, shape=tuple(shape))


def _element_of(rw: Rewriter, x: Value, place: int) -> Value:
    """One place of the last dimension, which goes."""
    rank = x.rank
    part = rw.emit(
        "top.Slice", x, offset=(0,) * (rank - 1) + (place,), ends=(*x.shape[:-1], place + 1), steps=(1,) * rank)
    return reshape(rw, part, shape_of(x)[:-1])
