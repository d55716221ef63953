"""Elementwise operators on floats and plain integers.

Source: the TOSA lowerings of TensorFlow and TFLite (`tosa_lowerings.md`), named at each function. Where its
pseudo-code does not compute what the framework does, the framework's semantics win, and the docstring says how.
Quantized operands are another module's business: a function here returns None for them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import BOOL, F16, F32, I32, FloatType, IntegerType, Op, Value
from transload.rewrite import Rewriter, RewriteTable, Unsupported
from transload_hub.ops.cast import width_of
from transload_hub.tables import distinct

from ... import build
from ...dialect.base import storage_of
from ..prepare.sources import sources
from .common import (
    binary,
    cast,
    compare,
    exact,
    filled,
    finished,
    flat,
    has_minus,
    in_range_of,
    is_constant_splat,
    like,
    magnitude,
    narrowed,
    negate,
    plain_into,
    select,
    static_shape,
    unary,
    widened,
)

if TYPE_CHECKING:
    from transload_hub.ops.base import Unary
    from transload_hub.ops.elementwise import (
        AddConst,
        BitwiseNot,
        Compare,
        IsInf,
        IsNaN,
        LogicalNot,
        MulConst,
        Pow,
        Scale,
        ShiftLeft,
        ShiftRight,
        SquaredDifference,
        UnaryNumber,
        Where,
    )

__all__ = ["TABLE", "power", "square_root"]

TABLE = RewriteTable()

plain = plain_into(TABLE)


# --- arithmetic of several operands

_ARITHMETIC = {"top.Add": "add", "top.Sub": "sub", "top.Mul": "mul", "top.Max": "maximum", "top.Min": "minimum"}


@plain(*_ARITHMETIC)
def arithmetic(op: Op, rw: Rewriter) -> Value:
    """tosa.ADD, SUB, MUL, MAXIMUM, MINIMUM, one operand after the other (tf.AddN; tf.Maximum: not MAXIMUM for both).

    Integers of 8 and 16 bits are computed in 32 and wrapped, narrow floats in f32, where there is more than one operator.
    `coeff` of Add are factors of the operands.
    """
    values = [_ordered(rw, widened(rw, value), op) for value in op.inputs]
    scaled = op.name == "top.Add" and op.coeff is not None
    if scaled or len(values) > 2:
        values = [exact(rw, value) for value in values]
    if scaled:
        for value, factor in zip(values, op.coeff, strict=True):
            _need_whole(value, factor, op)
        values = [
            value if factor == 1 else binary(rw, "mul", value, like(rw, value, factor))
            for value, factor in zip(values, op.coeff, strict=True)]
    total = values[0]
    for value in values[1:]:
        total = _joined(rw, _ARITHMETIC[op.name], total, value, op)
    return finished(rw, _ordered(rw, total, op), op)


def _joined(rw: Rewriter, name: str, a: Value, b: Value, op: Op) -> Value:
    """An operator of two tensors. Sums and differences that wrap round, which ADD and SUB leave open, are those modulo 2**32.

    Where the signs would have them overflow, that of `a` is turned, and then that of the result: either moves by 2**31.
    """
    if op not in sources().integers.wrapping or name not in ("add", "sub"):
        return binary(rw, name, a, b)
    differ = binary(rw, "bitwise_xor", a, b)
    signs = differ if name == "sub" else unary(rw, "bitwise_not", differ)
    turned = binary(rw, "bitwise_and", signs, like(rw, signs, -(1 << 31)))
    return binary(rw, "bitwise_xor", binary(rw, name, binary(rw, "bitwise_xor", a, turned), b), turned)


def _ordered(rw: Rewriter, x: Value, op: Op) -> Value:
    """The bits of a ui32 as the i32 that has its place in the order of numbers, and back: less 2**31."""
    return binary(rw, "bitwise_xor", x, like(rw, x, -(1 << 31))) if op in sources().integers.unsigned else x


def _need_whole(x: Value, number: float, op: Op) -> None:
    """Refuse to compute with integers and a number that is none."""
    if not x.is_float and not float(number).is_integer():
        raise Unsupported(
            f"{number} is no integer, and the tensor is of {op.operands[0].element}", "let the model cast it to a float")


@plain("top.AddConst", "top.MulConst")
def with_number(op: AddConst | MulConst, rw: Rewriter) -> Value:
    """ADD or MUL with one number."""
    x = in_range_of(rw, widened(rw, op.input), op.const_val)
    _need_whole(x, op.const_val, op)
    made = _joined(rw, "add" if op.name == "top.AddConst" else "mul", x, like(rw, x, op.const_val), op)
    return finished(rw, made, op)


@plain("top.Scale")
def scale(op: Scale, rw: Rewriter) -> Value:
    """MUL, then ADD; of narrow floats in f32, as the product may be beyond their range where the sum is not."""
    x, factor, bias = (exact(rw, widened(rw, value)) for value in (op.input, op.scale, op.bias))
    return finished(rw, binary(rw, "add", binary(rw, "mul", x, factor), bias), op)


@plain("top.SquaredDifference")
def squared_difference(op: SquaredDifference, rw: Rewriter) -> Value:
    """SUB, and MUL with itself (tf.SquareDifference)."""
    difference = binary(rw, "sub", widened(rw, op.a), widened(rw, op.b))
    return narrowed(rw, binary(rw, "mul", difference, difference), op)


@plain("top.Square")
def square(op: UnaryNumber, rw: Rewriter) -> Value:
    """MUL with itself (tf.Square)."""
    x = widened(rw, op.input)
    return narrowed(rw, binary(rw, "mul", x, x), op)


# --- powers and roots

def square_root(rw: Rewriter, x: Value) -> Value:
    """`RECIPROCAL(RSQRT(x))`; 0 of 0, as the reciprocal of infinity."""
    return unary(rw, "reciprocal", unary(rw, "rsqrt", x))


def _whole_power(rw: Rewriter, x: Value, exponent: int) -> Value:
    """`x ** exponent` for a positive exponent by repeated products."""
    made: Value | None = None
    while exponent:
        if exponent & 1:
            made = x if made is None else binary(rw, "mul", made, x)
        exponent >>= 1
        if exponent:
            x = binary(rw, "mul", x, x)
    return made  # type: ignore[return-value]


def _root(rw: Rewriter, x: Value, up: bool) -> Value:
    """`x ** 0.5`, or `x ** -0.5` where it is not `up`: the root of `|x|`, and NaN of what is below 0, but for infinity."""
    magnitude = unary(rw, "abs", x)
    root = square_root(rw, magnitude) if up else unary(rw, "rsqrt", magnitude)
    return select(rw, _finite_below_zero(rw, x, magnitude), like(rw, root, math.nan), root)


def _finite_below_zero(rw: Rewriter, x: Value, magnitude: Value) -> Value:
    finite = compare(rw, "Less", magnitude, like(rw, magnitude, math.inf))
    return binary(rw, "logical_and", compare(rw, "Less", x, like(rw, x, 0)), finite)


def power(rw: Rewriter, x: Value, exponent: Value) -> Value:
    """`x ** exponent` of floats.

    POW is not defined for negative bases (2.5.15), where frameworks give `(-|x|) ** n` for a whole n and NaN
    otherwise. So a small whole constant becomes products, 1/2 and -1/2 roots (`_root`), and for other whole
    exponents `POW(|x|, e)` gets its sign from whether e is odd. Negative bases of fractional constants stay
    undefined. What is known only at run time follows IEEE 754-2019, 9.2.1 (`pow`).
    """
    number = is_constant_splat(exponent)
    if number is None or math.prod(static_shape(exponent)) != 1 or exponent.rank > x.rank:
        return _power_of_run_time(rw, x, exponent)
    if number == 0:
        return filled(rw, static_shape(x), x.element, 1)
    if number in (0.5, -0.5):
        return _root(rw, x, number > 0)
    if not math.isfinite(number) or number != int(number):
        return binary(rw, "pow", x, exponent)
    if 0 < number <= 16:
        return _whole_power(rw, x, int(number))
    if -16 <= number < 0:  # in f32, where the product is of range whose reciprocal is a number of the narrower type
        return cast(rw, unary(rw, "reciprocal", _whole_power(rw, cast(rw, x, F32), int(-number))), x.element)
    size = binary(rw, "pow", unary(rw, "abs", x), exponent)
    return size if number % 2 == 0 else select(rw, has_minus(rw, x), negate(rw, size), size)


def _power_of_run_time(rw: Rewriter, x: Value, exponent: Value) -> Value:
    """`POW(|x|, e)`, with the sign of x for odd exponents; NaN of what is below 0, but for infinity, if e is not whole."""
    magnitude = unary(rw, "abs", x)
    size = binary(rw, "pow", magnitude, exponent)
    half = binary(rw, "mul", exponent, like(rw, exponent, 0.5))
    whole = compare(rw, "Equal", unary(rw, "floor", exponent), exponent)
    odd = binary(rw, "logical_and", whole, compare(rw, "NotEqual", unary(rw, "floor", half), half))
    signed = select(rw, binary(rw, "logical_and", odd, has_minus(rw, x)), negate(rw, size), size)
    none = binary(rw, "logical_and", _finite_below_zero(rw, x, magnitude), unary(rw, "logical_not", whole))
    return select(rw, none, like(rw, size, math.nan), signed)


def _whole_power_of_run_time(rw: Rewriter, x: Value, exponent: Value, bits: int) -> Value:
    """`x ** exponent` of integers, modulo their range: for each bit of the exponent that is set, a power of x.

    Of negative exponents 1 and -1 have powers, of other numbers 0 is nearest.
    """
    zero, one = like(rw, exponent, 0), like(rw, exponent, 1)
    negative = compare(rw, "Less", exponent, zero)
    rest = select(rw, negative, binary(rw, "bitwise_and", exponent, one), exponent)
    made, square = like(rw, x, 1), x
    for bit in range(bits):
        if bit:
            square = binary(rw, "mul", square, square)
        left_out = compare(rw, "Equal", binary(rw, "bitwise_and", rest, like(rw, rest, 1 << bit)), zero)
        made = select(rw, left_out, made, binary(rw, "mul", made, square))
    unit = compare(rw, "Equal", magnitude(rw, x), like(rw, x, 1))
    lost = binary(rw, "logical_and", negative, unary(rw, "logical_not", unit))
    return select(rw, lost, like(rw, made, 0), made)


def _whole_exponent(rw: Rewriter, op: Pow) -> tuple[Value, int]:
    """The exponents of integers as i32, and how many bits those have that are not negative: of constants the greatest's."""
    held = rw.constant_of(op.exponent)
    element: Any = sources().exponents.get(op, I32)
    if op.exponent.is_float or isinstance(element, FloatType):
        hint = "let the model cast what is raised to a float"
        if held is None:
            raise Unsupported(f"raises {op.base.type} to powers that are computed floats", hint)
        few = distinct(held).astype(np.float64)
        if not ((few == np.floor(few)) & (few >= 0) & (few <= I32.range[1])).all():
            raise Unsupported(f"raises {op.base.type} to powers that are no whole numbers from 0 on", hint)
        return build.const(rw, np.broadcast_to(few.astype(np.int32), held.shape)), _bits(few)
    narrow = isinstance(element, IntegerType) and element.width < 32  # an index is i32
    bits = _bits(distinct(held)) if held is not None else element.width - (not element.unsigned) if narrow else 31
    return widened(rw, op.exponent), bits


def _bits(numbers: np.ndarray) -> int:
    return max(int(numbers.max(initial=0)).bit_length(), 1)


@plain("top.Pow")
def pow_(op: Pow, rw: Rewriter) -> Value:
    """POW (tf.Pow), see `power`. TOSA has POW for floats only: of integers repeated products."""
    base, exponent = op.base, op.exponent
    if base.is_float:
        return power(rw, base, cast(rw, exponent, base.element))
    number = is_constant_splat(exponent)
    x = widened(rw, base)
    if number is None or not float(number).is_integer() or number < 0 or math.prod(static_shape(exponent)) != 1:
        return narrowed(rw, _whole_power_of_run_time(rw, x, *_whole_exponent(rw, op)), op)
    made = filled(rw, static_shape(x), I32, 1) if number == 0 else _whole_power(rw, x, int(number))
    return narrowed(rw, made, op)


@plain("top.Sqrt")
def sqrt(op: Unary, rw: Rewriter) -> Value:
    """See `square_root`."""
    return square_root(rw, op.input)


# --- functions of one operand that TOSA has

_DIRECT = {
    "top.Exp": "exp", "top.Log": "log", "top.Rsqrt": "rsqrt", "top.Reciprocal": "reciprocal", "top.Sin": "sin", "top.Cos": "cos",
    "top.LogicalNot": "logical_not", "top.BitwiseNot": "bitwise_not",
}


@plain(*_DIRECT)
def direct(op: BitwiseNot | LogicalNot | Unary, rw: Rewriter) -> Value:
    """The operator of the same name (tf.Exp, tf.Log, tf.Rsqrt, ...)."""
    return unary(rw, _DIRECT[op.name], op.input)


@plain("top.Abs")
def absolute(op: UnaryNumber, rw: Rewriter) -> Value:
    """ABS (tf.Abs)."""
    return narrowed(rw, magnitude(rw, widened(rw, op.input)), op)


@plain("top.Neg")
def negative(op: UnaryNumber, rw: Rewriter) -> Value:
    """NEGATE (tf.Neg); small integers, which it would saturate, as `0 - x` in 32 bits, wrapped."""
    x = op.input
    if x.is_float:
        return negate(rw, x)
    x = widened(rw, x)
    return narrowed(rw, _joined(rw, "sub", like(rw, x, 0), x, op), op)


@plain("top.Floor", "top.Ceil", "top.Round")
def rounded(op: UnaryNumber, rw: Rewriter) -> Value:
    """FLOOR, CEIL; Round is to even at halves, as CAST to i32 and back does (lower_round_op's `floor(x + 1/2)` is not).

    From 2^23 on a float32 is whole (from 2^11 on an f16), and kept as it is, as NaN is. Integers are whole.
    """
    x = op.input
    if not x.is_float:
        return x
    if op.name != "top.Round":
        return unary(rw, "floor" if op.name == "top.Floor" else "ceil", x)
    there = cast(rw, cast(rw, x, I32), x.element)
    if width_of(x.element) == 8:  # 2^23 is none of its numbers, and none of them is near 2^31
        return there
    whole_from = like(rw, x, float(1 << (11 if x.element == F16 else 23)))
    return select(rw, compare(rw, "Less", unary(rw, "abs", x), whole_from), there, x)


@plain("top.Sign")
def sign(op: UnaryNumber, rw: Rewriter) -> Value:
    """1 where x is greater than 0, -1 where it is less, else x itself: 0 or NaN."""
    x = widened(rw, op.input)
    zero = like(rw, x, 0)
    below = select(rw, compare(rw, "Less", x, zero), like(rw, x, -1), x)
    return narrowed(rw, select(rw, compare(rw, "Greater", x, zero), like(rw, x, 1), below), op)


@plain("top.IsNaN")
def is_nan(op: IsNaN, rw: Rewriter) -> Value:
    """Whether x is not equal to itself."""
    return compare(rw, "NotEqual", op.input, op.input)


@plain("top.IsInf")
def is_infinite(op: IsInf, rw: Rewriter) -> Value:
    """Whether |x| is infinite."""
    size = unary(rw, "abs", op.input)
    return compare(rw, "Equal", size, like(rw, size, math.inf))


# --- comparison, logic and bits

@plain("top.Compare")
def comparison(op: Compare, rw: Rewriter) -> Value:
    """EQUAL, GREATER, GREATER_EQUAL; the others swapped or negated (tf.Less by GREATER_EQUAL and NOT is true of NaN)."""
    a, b = op.lhs, op.rhs
    if storage_of(a) != BOOL:
        return compare(rw, op.mode, *(_ordered(rw, widened(rw, x), op) for x in (a, b)))
    if op.mode not in ("Equal", "NotEqual"):
        raise Unsupported(f"truth values have no order: {op.mode}")
    different = binary(rw, "logical_xor", a, b)
    return different if op.mode == "NotEqual" else unary(rw, "logical_not", different)


_LOGIC = {
    "top.LogicalAnd": "logical_and", "top.LogicalOr": "logical_or", "top.LogicalXor": "logical_xor",
    "top.BitwiseAnd": "bitwise_and", "top.BitwiseOr": "bitwise_or", "top.BitwiseXor": "bitwise_xor",
}


@plain(*_LOGIC)
def logic(op: Op, rw: Rewriter) -> Value:
    """The operator of the same name (tf.LogicalAnd, tf.BitwiseAnd, ...)."""
    return binary(rw, _LOGIC[op.name], op.a, op.b)


@plain("top.ShiftLeft", "top.ShiftRight")
def shift(op: ShiftLeft | ShiftRight, rw: Rewriter) -> Value:
    """LOGICAL_LEFT_SHIFT; ARITHMETIC_RIGHT_SHIFT of signed, LOGICAL_RIGHT_SHIFT of unsigned numbers (tf.RightShift).

    TOSA shifts by less than the width only. Further than that, nothing is left, or the sign.
    """
    a, b = op.a, op.b
    stored: Any = storage_of(a)
    last = stored.width - 1
    amounts = rw.constant_of(b)
    known = amounts is not None and amounts.size and amounts.min() >= 0 and amounts.max() <= last
    far = None if known else compare(rw, "Greater", widened(rw, b), build.scalar(rw, last, I32, b.rank))
    if not known:
        b = flat(rw, b, lambda b: build.clamp(rw, b, 0, last))
    if op.name == "top.ShiftRight" and not stored.unsigned and op not in sources().integers.unsigned:
        return binary(rw, "arithmetic_right_shift", a, b, round=False)
    made = binary(rw, "logical_left_shift" if op.name == "top.ShiftLeft" else "logical_right_shift", a, b)
    return made if far is None else select(rw, far, like(rw, made, 0), made)


@plain("top.Where")
def where(op: Where, rw: Rewriter) -> Value:
    """SELECT (lower_selectv2_op)."""
    return select(rw, op.condition, op.tbrn, op.fbrn)
