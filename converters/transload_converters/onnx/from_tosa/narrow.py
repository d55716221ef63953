"""Arithmetic of integers of 32 bits for runtimes that have no numbers of 64: `--option bits=32`.

OpenVINO's CPU plugin computes 64-bit floats and integers in 32 bits, and of 32-bit integers it divides, compares, clips and
reduces as floats. What is exact there is arithmetic of floats that hold integers below 2^24, and sums, products, minima and
bits of i32. So a wide number is written as digits of 11 bits, each a float, lowest first, the highest with the sign: products of
two digits, and sums of three such, are below 2^24, whatever a runtime's optimizer fuses or reorders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from transload.ir import BOOL, F32, I32, FloatType, Value
from transload.rewrite import Rewriter, Unsupported

from ..lowering.common import cast, clipped, constant, emit, ints
from .common import along, as_float, broadcast, scalar_like

if TYPE_CHECKING:
    from .rescale import Scale

__all__ = [
    "compared", "digits", "is_narrow", "leading_zeros", "product_shifted", "reduced_sum", "saturated", "scaled_in_digits",
    "shifted_left", "shifted_right", "summed"]

PLACE = 11
BASE = 1 << PLACE
EXACT = 1 << 24
"""Up to which all integers are numbers of f32."""
HALF = 1 << 16
"""Numbers of i32 are split by it where two parts are enough."""
SIGN_PLACE = 2
"""The digit with DOUBLE_ROUND's 2^30."""


def is_narrow(rw: Rewriter) -> bool:
    """Whether the user, or the target, has no numbers of 64 bits."""
    return rw.options.get("bits") == "32"


def narrowed(rw: Rewriter, x: Value, magnitude: int) -> Value:
    """Integers of at most this magnitude in f32, which holds them exactly, or in i32; `Unsupported` of greater ones."""
    if magnitude > 1 << 31:
        raise Unsupported("its numbers may need more than 32 bits", "--option form=qdq writes QDQ, which rounds otherwise")
    return as_float(rw, x, F32) if magnitude < EXACT else cast(rw, x, I32)


def digits(rw: Rewriter, x: Value, magnitude: int) -> list[Value]:
    """Integers of at most this magnitude, in f32 or i32, as digits."""
    if not isinstance(x.element, FloatType):
        low = broadcast(rw, "BitwiseAnd", x, scalar_like(rw, BASE - 1, x))
        rest = cast(rw, broadcast(rw, "Sub", x, low), F32)  # 21 bits before 11 zeros
        return [cast(rw, low, F32), *digits(rw, _times(rw, rest, 1 / BASE), (magnitude >> PLACE) + 1)]
    found = []
    while magnitude > BASE:
        low, x = _carried(rw, x)
        found.append(low)
        magnitude = (magnitude >> PLACE) + 1
    return [*found, x]


def _times(rw: Rewriter, x: Value, factor: float) -> Value:
    return emit(rw, "Mul", x, scalar_like(rw, factor, x))


def _carried(rw: Rewriter, x: Value) -> tuple[Value, Value]:
    """`x` modulo the base, and what is carried."""
    carry = emit(rw, "Floor", _times(rw, x, 1 / BASE))
    return emit(rw, "Sub", x, _times(rw, carry, BASE)), carry


def _product(
    rw: Rewriter, a: Sequence[Value], b: Sequence[Value | None], more: Mapping[int, Sequence[Value]],
) -> list[Value | None]:
    """The digits of `a * b`, with `more` added at its places; None for a digit that is always 0."""
    found: list[Value | None] = []
    carry: Value | None = None
    for place in range(len(a) + len(b) - 1):
        pairs = [(a[i], b[place - i]) for i in range(len(a)) if 0 <= place - i < len(b)]
        terms = [broadcast(rw, "Mul", x, y) for x, y in pairs if y is not None]
        terms += [*more.get(place, ()), *([carry] if carry is not None else [])]
        low = carry = reduce(lambda x, y: broadcast(rw, "Add", x, y), terms) if terms else None
        if low is not None and place < len(a) + len(b) - 2:
            low, carry = _carried(rw, low)
        found.append(low)
    return found


def _shifted(rw: Rewriter, number: Sequence[Value | None], shifts: np.ndarray, rank: int, last: int, whole: bool) -> Value:
    """`number >> shifts` of digits: in f32, or modulo 2^32 in i32 where f32 does not hold what comes (`whole`).

    Added from the highest digit down, each sum is what comes without its last bits, or greater than f32 holds, and saturates.
    """
    y: Value | None = None
    for place, digit in reversed([*enumerate(number)]):
        top = place == len(number) - 1
        if digit is None or (not top and (PLACE * (place + 1) <= shifts).all()):
            continue  # nothing, or below what stays
        moved = PLACE * place - shifts.astype(int)
        factor = np.ldexp(1.0, np.minimum(moved, 0) if whole else moved)
        term = emit(rw, "Floor", broadcast(rw, "Mul", digit, along(rw, factor, F32, rank, last)))
        if whole:
            stretch = np.where(moved < 32, np.left_shift(np.int64(1), np.clip(moved, 0, 31)), 0).astype(np.int32)
            term = broadcast(rw, "Mul", cast(rw, term, I32), along(rw, stretch, I32, rank, last))
        y = term if y is None else broadcast(rw, "Add", y, term)
    assert y is not None
    return y


def _unwrapped(rw: Rewriter, y: Value, number: Sequence[Value | None], shifts: np.ndarray, rank: int, last: int) -> Value:
    """`y`, which is `number >> shifts` modulo 2^32, but the ends of i32 where that is beyond them.

    In f32 the number is known to some 2^9 near the ends: there the sign of `y` tells whether it has gone beyond.
    """
    near: Value | None = None
    for place, digit in reversed([*enumerate(number)]):
        if digit is not None:
            term = broadcast(rw, "Mul", digit, along(rw, np.ldexp(1.0, PLACE * place - shifts.astype(int)), F32, rank, last))
            near = term if near is None else broadcast(rw, "Add", near, term)
    assert near is not None
    zero = scalar_like(rw, 0, y)
    for end, order, other in ((I32.range[1], "Greater", "Less"), (I32.range[0], "Less", "GreaterOrEqual")):
        half, far = constant(rw, end / 2, F32), constant(rw, end * (1 + 2.0**-19), F32)
        turned = broadcast(rw, "And", broadcast(rw, order, near, half, element=BOOL), broadcast(rw, other, y, zero, element=BOOL))
        beyond = broadcast(rw, "Or", turned, broadcast(rw, order, near, far, element=BOOL))
        y = broadcast(rw, "Where", beyond, scalar_like(rw, end, y), y, element=I32)
    return y


def _halves(rw: Rewriter, shifts: np.ndarray, count: int, rank: int, last: int) -> dict[int, list[Value]]:
    """`2^(shifts - 1)` as digits; the highest takes all that is above it."""
    places = np.minimum((shifts - 1) // PLACE, count - 1)
    found = {}
    for place in sorted(set(places.flat)):
        bits = np.where(places == place, np.ldexp(1.0, (shifts - 1 - PLACE * place).astype(int)), 0.0)
        found[int(place)] = [along(rw, bits, F32, rank, last)]
    return found


def scaled_in_digits(rw: Rewriter, x: Value, scale: Scale, magnitude: int, last: int) -> Value:
    """RESCALE (2.13.2) of integers of at most this magnitude, saturated, in f32 or i32."""
    rank = len(x.tensor_type.shape or ())
    magnitude += abs(scale.zero_in)
    if (stretched := _stretched(rw, x, scale, magnitude, last)) is not None:
        return stretched
    x = narrowed(rw, x, magnitude)
    x = emit(rw, "Sub", x, scalar_like(rw, scale.zero_in, x)) if scale.zero_in else x
    numbers = digits(rw, x, magnitude)
    parts = [scale.multipliers >> PLACE * place & BASE - 1 for place in range(3)]
    factors = [along(rw, part, F32, rank, last) if part.any() else None for part in parts]
    more = _halves(rw, scale.shifts, len(numbers) + 2, rank, last)
    extra = scale.extra
    if extra.any():
        part = along(rw, extra >> PLACE * SIGN_PLACE, F32, rank, last)
        sign = emit(rw, "Sign", numbers[-1] if len(numbers) == 1 else cast(rw, x, F32))
        more.setdefault(SIGN_PLACE, []).append(broadcast(rw, "Mul", sign, part))
    number = _product(rw, numbers, factors, more)
    whole = max(abs(scale.low), abs(scale.high)) + abs(scale.zero_out) >= 1 << 22
    y = _shifted(rw, number, scale.shifts, rank, last, whole)
    most = max(int(m) * magnitude >> int(s) for m, s in zip(scale.multipliers.flat, scale.shifts.flat, strict=True))
    if whole and most + 1 >= 1 << 31:
        y = _unwrapped(rw, y, number, scale.shifts, rank, last)
    y = emit(rw, "Add", y, scalar_like(rw, scale.zero_out, y)) if scale.zero_out else y
    return saturated(rw, y, scale.low, scale.high)


def _stretched(rw: Rewriter, x: Value, scale: Scale, magnitude: int, last: int) -> Value | None:
    """RESCALE by whole numbers, a product of i32; None where it is by others, or may need more than 32 bits."""
    factors = scale.multipliers >> scale.shifts
    if (factors << scale.shifts != scale.multipliers).any() or int(factors.max(initial=0)) * magnitude >= 1 << 31:
        return None
    x = cast(rw, x, I32)
    x = emit(rw, "Sub", x, scalar_like(rw, scale.zero_in, x)) if scale.zero_in else x
    y = broadcast(rw, "Mul", x, along(rw, factors, I32, len(x.tensor_type.shape or ()), last))
    y = emit(rw, "Add", y, scalar_like(rw, scale.zero_out, y)) if scale.zero_out else y
    return saturated(rw, y, scale.low, scale.high)


def saturated(rw: Rewriter, x: Value, low: int, high: int) -> Value:
    """Clip; of i32 by Max and Min, which know all its numbers."""
    if isinstance(x.element, FloatType):
        return clipped(rw, x, low, high)
    least, most = I32.range
    x = emit(rw, "Max", x, scalar_like(rw, low, x)) if low > least else x
    return emit(rw, "Min", x, scalar_like(rw, high, x)) if high < most else x


def product_shifted(rw: Rewriter, a: Value, b: Value, places: int) -> Value:
    """`(a * b + 2^(places - 1)) >> places` of integers, in i32."""
    x, y = (digits(rw, narrowed(rw, each, _greatest(each)), _greatest(each)) for each in (a, b))
    shifts = np.array([places], np.int64)
    number = _product(rw, x, y, _halves(rw, shifts, len(x) + len(y) - 1, 0, 0))
    return _shifted(rw, number, shifts, 0, 0, True)


def _greatest(x: Value) -> int:
    return 1 << (x.element.width - 1)  # type: ignore[attr-defined]


# --- bits, order and sums of i32


def _split(rw: Rewriter, x: Value) -> tuple[Value, Value]:
    """Numbers of i32 as `high * 2^16 + low`, in f32; `low` is not negative."""
    x = cast(rw, x, I32)
    low = broadcast(rw, "BitwiseAnd", x, scalar_like(rw, HALF - 1, x))
    return _times(rw, cast(rw, broadcast(rw, "Sub", x, low), F32), 1 / HALF), cast(rw, low, F32)


def _powers(rw: Rewriter, places: Value, numbers: np.ndarray, element: object = F32) -> Value:
    """One of some numbers for each of the places."""
    return emit(rw, "Gather", constant(rw, numbers, element), places, like=places, element=element, axis=0)  # type: ignore[arg-type]


def shifted_right(rw: Rewriter, x: Value, places: Value, rounding: bool) -> Value:
    """`x >> places` of i32, places from 0 to 31; half of what is shifted out is added first if it rounds."""
    places = cast(rw, places, I32)
    if not rounding:
        return _moved_right(rw, x, places)
    zero, one = (scalar_like(rw, number, places) for number in (0, 1))
    step = emit(rw, "Min", places, one)
    before = _moved_right(rw, x, emit(rw, "Max", emit(rw, "Sub", places, one), zero))
    bit = broadcast(rw, "Mul", broadcast(rw, "BitwiseAnd", before, one), step)
    return broadcast(rw, "Add", _moved_right(rw, before, step), bit)


def _moved_right(rw: Rewriter, x: Value, places: Value) -> Value:
    high, low = _split(rw, x)
    y = [cast(rw, emit(rw, "Floor", broadcast(rw, "Mul", part, _powers(rw, places, np.ldexp(1.0, top - np.arange(32))))), I32)
         for part, top in ((high, 16), (low, 0))]
    return broadcast(rw, "Add", *y)


def shifted_left(rw: Rewriter, x: Value, places: Value) -> Value:
    """`x << places` of i32, modulo 2^32."""
    powers = np.left_shift(np.int64(1), np.arange(32)).astype(np.int32)
    return broadcast(rw, "Mul", cast(rw, x, I32), _powers(rw, cast(rw, places, I32), powers, I32))


def leading_zeros(rw: Rewriter, x: Value) -> Value:
    """How many of the powers of two from 2^0 to 2^31 the bits, read as unsigned, are below.

    In f32, which holds numbers from 2^16 on without their last 16 bits, by which none gets below another power of two.
    """
    high, low = _split(rw, x)
    zero, shape = scalar_like(rw, 0, high), x.static_shape
    is_small = broadcast(rw, "Equal", high, zero, element=BOOL)
    size = broadcast(rw, "Where", is_small, low, _times(rw, high, HALF), element=F32)
    size = broadcast(rw, "Where", broadcast(rw, "Less", high, zero, element=BOOL), constant(rw, 2.0**32, F32), size, element=F32)
    size = emit(rw, "Reshape", size, ints(rw, (*shape, 1)), shape=(*shape, 1))
    below = broadcast(rw, "Less", size, constant(rw, np.ldexp(1.0, np.arange(32)), F32), element=BOOL)
    return cast(rw, emit(rw, "ReduceSum", cast(rw, below, F32), ints(rw, (len(shape),)), shape=shape, keepdims=0), I32)


def compared(rw: Rewriter, name: str, a: Value, b: Value) -> Value:
    """A relation of numbers of i32, which differ where either part does."""
    (a_high, a_low), (b_high, b_low) = _split(rw, a), _split(rw, b)
    lower = broadcast(rw, name, a_low, b_low, element=BOOL)
    same = broadcast(rw, "Equal", a_high, b_high, element=BOOL)
    both = broadcast(rw, "And", same, lower)
    return both if name == "Equal" else broadcast(rw, "Or", broadcast(rw, "Greater", a_high, b_high, element=BOOL), both)


def reduced_sum(rw: Rewriter, x: Value, axis: int, shape: Sequence[int]) -> Value:
    """The sums of i32 along a dimension, modulo 2^32: of digits in f32."""
    if x.static_shape[axis] >= EXACT >> PLACE:
        raise Unsupported(f"sums of {x.static_shape[axis]} numbers may need more than the 24 bits of an f32")
    return summed(rw, [emit(rw, "ReduceSum", digit, ints(rw, (axis,)), shape=shape, keepdims=1)
                       for digit in digits(rw, cast(rw, x, I32), 1 << 31)])


def summed(rw: Rewriter, numbers: Sequence[Value]) -> Value:
    """What digits stand for, in i32, modulo 2^32."""
    y: Value | None = None
    for place, digit in enumerate(numbers):
        total = cast(rw, digit, I32)
        total = emit(rw, "Mul", total, scalar_like(rw, 1 << PLACE * place, total)) if place else total
        y = total if y is None else emit(rw, "Add", y, total)
    assert y is not None
    return y
