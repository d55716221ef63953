"""Quotients and what they leave, of floats and plain integers.

TOSA divides integers (INTDIV); of floats it has the reciprocal alone. Floats narrower than f32 are divided in f32: the reciprocal
of an f16 below 1.5e-5 is beyond its range, that of one above 16384 has lost bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transload.ir import F16, F32, Op, Value
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.quotients import may_leave_range
from transload_hub.tables import distinct

from .common import binary, cast, compare, finished, like, narrowed, negate, plain_into, select, unary, widened

if TYPE_CHECKING:
    from transload_hub.ops.elementwise import Div, FloorDiv, FloorMod, TruncMod

__all__ = ["TABLE"]

TABLE = RewriteTable()

plain = plain_into(TABLE)


def _operands(rw: Rewriter, op: Op) -> tuple[Value, Value]:
    """The operands as they are computed with: i32 or f32."""
    a, b = (cast(rw, value, F32) if value.is_float else widened(rw, value) for value in op.operands)
    return a, b


@plain("top.Div")
def divide(op: Div, rw: Rewriter) -> Value:
    """Float: `a * RECIPROCAL(b)` (tf.RealDiv). Integer: INTDIV, truncated (tfl.div)."""
    a, b = _operands(rw, op)
    return finished(rw, binary(rw, "mul", a, unary(rw, "reciprocal", b)) if a.is_float else binary(rw, "intdiv", a, b), op)


@plain("top.FloorDiv")
def floor_divide(op: FloorDiv, rw: Rewriter) -> Value:
    """See `_floor_quotient` (lower_floor_div; integers, for which RECIPROCAL has no form, by INTDIV)."""
    a, b = _operands(rw, op)
    return narrowed(rw, _floor_quotient(rw, a, b) if a.is_float else _whole_floor_quotient(rw, a, b)[0], op)


@plain("top.FloorMod")
def floor_modulo(op: FloorMod, rw: Rewriter) -> Value:
    """`a - floor(a / b) * b`. The pseudo-code of lower_floor_mod gives `a / b - floor(a / b)`, the fraction instead."""
    a, b = _operands(rw, op)
    if not a.is_float:
        return narrowed(rw, _whole_floor_quotient(rw, a, _without_minus_one(rw, a, b))[1], op)
    rest = _whole_or_rest(rw, a, unary(rw, "abs", b), _remainder(rw, op, a, b))
    zero = like(rw, rest, 0)
    below = binary(rw, "logical_and", compare(rw, "Greater", b, zero), compare(rw, "Less", rest, zero))
    above = binary(rw, "logical_and", compare(rw, "Less", b, zero), compare(rw, "Greater", rest, zero))
    other = binary(rw, "logical_or", below, above)
    return narrowed(rw, select(rw, other, binary(rw, "add", rest, b), rest), op)


@plain("top.TruncMod")
def truncated_modulo(op: TruncMod, rw: Rewriter) -> Value:
    """C's `%` and `fmod`: integers by INTDIV; of floats what the absolute values leave, with the sign of a."""
    a, b = _operands(rw, op)
    if not a.is_float:
        b = _without_minus_one(rw, a, b)
        rest = binary(rw, "sub", a, binary(rw, "mul", binary(rw, "intdiv", a, b), b))
        return narrowed(rw, rest, op)
    size = unary(rw, "abs", b)
    rest = _remainder(rw, op, unary(rw, "abs", a), size)
    rest = select(rw, compare(rw, "Less", rest, like(rw, rest, 0)), binary(rw, "add", rest, size), rest)
    rest = select(rw, compare(rw, "Less", a, like(rw, a, 0)), negate(rw, rest), rest)
    return narrowed(rw, _whole_or_rest(rw, a, size, rest), op)


# --- integers

def _whole_floor_quotient(rw: Rewriter, a: Value, b: Value) -> tuple[Value, Value]:
    """`q = floor(a / b)` and `a - q * b` of i32: INTDIV, less one where what it leaves has not b's sign.

    What is added is selected, not the sum: TOSA leaves open what a sum beyond 32 bits is, and a model with one, selected or not.
    """
    zero = like(rw, b, 0)
    quotient = binary(rw, "intdiv", a, b)
    rest = binary(rw, "sub", a, binary(rw, "mul", quotient, b))
    apart = binary(rw, "logical_xor", compare(rw, "Less", rest, zero), compare(rw, "Less", b, zero))
    wrong = binary(rw, "logical_and", apart, compare(rw, "NotEqual", rest, zero))
    return (
        binary(rw, "sub", quotient, select(rw, wrong, like(rw, quotient, 1), zero)),
        binary(rw, "add", rest, select(rw, wrong, b, zero)))


def _without_minus_one(rw: Rewriter, a: Value, b: Value) -> Value:
    """A divisor that leaves of `a` what `b` does, 1 for -1, by which INTDIV of the least number is not defined."""
    if not may_leave_range(b, a):
        return b
    return select(rw, compare(rw, "Equal", b, like(rw, b, -1)), like(rw, b, 1), b)


# --- floats

def _floor_quotient(rw: Rewriter, a: Value, b: Value) -> Value:
    """`floor(a / b)` of f32.

    `floor(a * RECIPROCAL(b))` alone (lower_floor_div) is one off where the rounded product falls on the wrong
    side of an integer, as for 41 / 41; so it is moved by one where a is not between its product with b and the next one's.
    (What a product leaves of a would not show that: rounded, it is b where a is small beside b.)
    """
    quotient = unary(rw, "floor", binary(rw, "mul", a, unary(rw, "reciprocal", b)))
    size, zero, one = unary(rw, "abs", b), like(rw, b, 0), like(rw, quotient, 1)
    forward = select(rw, compare(rw, "Less", b, zero), negate(rw, a), a)  # over |b| the same quotient
    less, greater = binary(rw, "sub", quotient, one), binary(rw, "add", quotient, one)
    below = compare(rw, "Less", forward, binary(rw, "mul", quotient, size))
    too_great = binary(rw, "logical_and", below, compare(rw, "NotEqual", quotient, zero))  # 0: the quotient is -0 in f32
    too_small = compare(rw, "GreaterOrEqual", forward, binary(rw, "mul", greater, size))
    return select(rw, too_great, less, select(rw, too_small, greater, quotient))


def _remainder(rw: Rewriter, op: Op, a: Value, b: Value) -> Value:
    """`a - round(a / b) * b` of f32, exactly, between `-|b| / 2` and `|b| / 2`, where `|a| >= |b|`.

    Long division: as many bits of the quotient a step as make exact products with b, the nearest quotient each time. Then
    what is left is a number of b's precision, and the difference is exact, too. Three steps are all that f16 can need (2^40).
    Quotients of f32 are exact up to 2^30, of bf16 up to 2^48; beyond, where neighbours of a are many times b apart, 0 is left,
    which a note tells: the longest quotient, of 277 bits, would take 28 steps.
    """
    element = op.operands[0].element
    bits = 10 if element == F32 else 13 if element == F16 else 16
    parts = _halves(rw, b) if element == F32 else [b]
    inverse = unary(rw, "reciprocal", b)
    rest = a
    for shift in (2 * bits, bits, 0):
        near = binary(rw, "mul", rest, binary(rw, "mul", inverse, like(rw, b, 2.0 ** -shift)) if shift else inverse)
        quotient = unary(rw, "floor", binary(rw, "add", near, like(rw, near, 0.5)))
        quotient = binary(rw, "mul", quotient, like(rw, quotient, 2.0 ** shift)) if shift else quotient
        for part in parts:
            rest = binary(rw, "sub", rest, binary(rw, "mul", quotient, part))
    if element != F16:
        rw.note(f"remainders of {element} are exact where the quotient is at most 2^{3 * bits}, and 0 beyond")
        size = unary(rw, "abs", b)
        far = compare(rw, "Greater", unary(rw, "abs", a), binary(rw, "mul", size, like(rw, size, 2.0 ** (3 * bits))))
        none = binary(rw, "sub", a, a)  # NaN of an infinite a; a subnormal b has an infinite inverse, as 0 has
        nothing = select(rw, compare(rw, "Equal", b, like(rw, b, 0)), binary(rw, "mul", none, inverse), none)
        rest = select(rw, far, nothing, rest)
    return rest


def _whole_or_rest(rw: Rewriter, a: Value, size: Value, rest: Value) -> Value:
    """What `rest` is of a by b, whose absolute value is `size`: a itself, a zero with its sign, too, where it is less than b."""
    return select(rw, compare(rw, "Less", unary(rw, "abs", a), size), a, rest)  # which holds for an infinite b, too


def _halves(rw: Rewriter, b: Value) -> list[Value]:
    """Two numbers of 12 bits whose sum is b, or b alone: Veltkamp's splitting, of 2^-14 b lest it overflow."""
    small = binary(rw, "mul", b, like(rw, b, 2.0 ** -14))
    wide = binary(rw, "mul", small, like(rw, small, 4097.0))
    high = binary(rw, "mul", binary(rw, "sub", wide, binary(rw, "sub", wide, small)), like(rw, b, 2.0 ** 14))
    low = binary(rw, "sub", b, high)
    known = constant_of(low)
    return [high] if known is not None and not distinct(known.numpy()).any() else [high, low]
