"""RESCALE: `apply_scale(x - input_zp, multiplier, shift) + output_zp`, saturated (2.13.2 and 1.9.2).

With constant scales, all that is added before the shift is one number. `(x - zi) * m + half`, shifted, plus `zo` is
`(x * m + (half - zi * m + (zo << s))) >> s`, as long as nothing leaves 64 bits, which the ranges of the types prove.
A factor of two that divides the multiplier is taken out of both, so that a change of zero point alone, say, is an
addition; where the numbers that are left fit, all of it is done in 32 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import I32, I64, Type, Value
from transload.rewrite import Rewriter, RewriteTable

from .. import build
from .common import number, static, vector

if TYPE_CHECKING:
    from ...tosa.dialect.conversion import ApplyScale, Rescale

__all__ = ["TABLE", "Scale", "scaled"]

TABLE = RewriteTable()


@dataclass(frozen=True)
class Scale:
    """`(x * multiplier + offset) >> shift`, for each channel: Python integers, which nothing overflows."""

    multiplier: tuple[int, ...]
    offset: tuple[int, ...]
    shift: tuple[int, ...]

    def reduced(self) -> Scale:
        """The same with the factors of two taken out that multiplier, offset and 2^shift share."""
        rows = [_reduce(*row) for row in zip(self.multiplier, self.offset, self.shift, strict=True)]
        return Scale(*(tuple(column) for column in zip(*rows, strict=True))) if rows else self

    def sums(self, low: int, high: int) -> tuple[int, int]:
        """The least and the greatest of `x * multiplier + offset` and of its parts, for x from `low` to `high`."""
        ends = [
            end for m, c in zip(self.multiplier, self.offset, strict=True)
            for end in (low * m, high * m, low * m + c, high * m + c, c, m)]
        return min(ends, default=0), max(ends, default=0)

    def results(self, low: int, high: int) -> tuple[int, int]:
        """The least and the greatest result (multipliers are not negative)."""
        rows = list(zip(self.multiplier, self.offset, self.shift, strict=True))
        return (
            min(((low * m + c) >> s for m, c, s in rows), default=0), max(((high * m + c) >> s for m, c, s in rows), default=0))


def _reduce(multiplier: int, offset: int, shift: int) -> tuple[int, int, int]:
    while shift and not multiplier & 1:
        # Where only the offset is odd, its last bit cannot reach the next one: the product is even.
        multiplier, offset, shift = multiplier >> 1, offset >> 1, shift - 1
    return multiplier, offset, shift


def fits(interval: tuple[int, int], element: Type) -> bool:
    low, high = element.range  # type: ignore[attr-defined]
    return low <= interval[0] and interval[1] <= high


def scaled(rw: Rewriter, x: Value, scale: Scale, bounds: tuple[int, int]) -> Value:
    """`scale` of integers between `bounds`, one for all or one for each index of the last axis; i32 where that holds it."""
    element: Type = I32 if fits(scale.sums(*bounds), I32) and max(scale.shift, default=0) < 32 else I64
    x = build.convert(rw, x, element)
    for name, numbers, neutral in (
        ("multiply", scale.multiplier, 1), ("add", scale.offset, 0), ("shift_right_arithmetic", scale.shift, 0),
    ):
        if any(one != neutral for one in numbers):
            x = build.binary(rw, name, x, _channels(rw, x, numbers))
    return x


def _channels(rw: Rewriter, x: Value, numbers: tuple[int, ...]) -> Value:
    if len(set(numbers)) == 1:
        return build.scalar(rw, numbers[0], x.element)
    return build.const(rw, np.array(numbers, object).astype(np.int64), x.element)


@TABLE("tosa.rescale")
def rescale(op: Rescale, rw: Rewriter) -> Value:
    """Constant scales as above; others step by step."""
    x: Value = op.input
    wanted: Any = op.output.element
    low, high = x.element.range  # type: ignore[attr-defined]
    if not op.scale32 and x.element == I64:
        low, high = -(1 << 47), (1 << 47) - 1  # an i48
    if op.input_unsigned:
        x = build.bitcast(rw, x, build.unsigned(x.element))
        low, high = 0, high - low
    least, most = (0, wanted.range[1] - wanted.range[0]) if op.output_unsigned else wanted.range
    known = _constant(op, rw, x, (low, high))
    made, between = (_computed(op, rw, x), (least - 1, most + 1)) if known is None else known
    if between[0] < least or between[1] > most:
        made = build.clamp(rw, made, least, most)
    if op.output_unsigned:
        return build.bitcast(rw, build.convert(rw, made, build.unsigned(wanted)), wanted)
    return build.convert(rw, made, wanted)


def _constant(op: Rescale, rw: Rewriter, x: Value, bounds: tuple[int, int]) -> tuple[Value, tuple[int, int]] | None:
    """The scaled number with its zero point, and between which numbers it lies; None where a parameter is computed."""
    multipliers, shifts = vector(op.multiplier), vector(op.shift)
    zero_in, zero_out = number(op.input_zp, op.input_unsigned), number(op.output_zp, op.output_unsigned)
    if multipliers is None or shifts is None or zero_in is None or zero_out is None:
        return None
    rows = [(int(m), int(s)) for m, s in zip(multipliers, shifts, strict=True)]
    if any(not 2 <= shift <= 62 for _, shift in rows):
        raise Unsupported(f"shifts are from 2 to 62, and there are {sorted({shift for _, shift in rows})}")
    twice = op.rounding_mode == "DOUBLE_ROUND" and any(s > 31 for _, s in rows)
    if twice:
        return _double(rw, x, rows, (zero_in, zero_out), bounds)
    plain = Scale(tuple(m for m, _ in rows), tuple(1 << (s - 1) for _, s in rows), tuple(s for _, s in rows))
    whole = Scale(
        plain.multiplier, tuple(c - zero_in * m + (zero_out << s) for m, c, s in zip(
            plain.multiplier, plain.offset, plain.shift, strict=True)), plain.shift).reduced()
    if fits(whole.sums(*bounds), I64):
        return scaled(rw, x, whole, bounds), whole.results(*bounds)
    plain = plain.reduced()
    inner = (bounds[0] - zero_in, bounds[1] - zero_in)
    if zero_in:
        x = build.binary(rw, "subtract", build.convert(rw, x, I64), zero_in)
    least, most = plain.results(*inner)
    made = scaled(rw, x, plain, inner)
    if zero_out:
        made = build.binary(rw, "add", build.convert(rw, made, I64), zero_out)
    return made, (least + zero_out, most + zero_out)


def _double(
    rw: Rewriter, x: Value, rows: list[tuple[int, int]], zero_points: tuple[int, int], bounds: tuple[int, int],
) -> tuple[Value, tuple[int, int]]:
    """Rounding as gemmlowp: where the shift is above 31, away from zero to 31 bits first, then half up."""
    zero_in, zero_out = zero_points
    x = build.convert(rw, x, I64)
    if zero_in:
        x = build.binary(rw, "subtract", x, zero_in)
    if any(not 2 <= s <= 62 for _, s in rows):
        raise Unsupported(f"shifts by {sorted({s for _, s in rows})[:4]} places; TOSA's rescale shifts by 2 to 62")
    extra = [1 << 30 if s > 31 else 0 for _, s in rows]
    above = tuple((1 << (s - 1)) + e for (_, s), e in zip(rows, extra, strict=True))
    below = tuple((1 << (s - 1)) - e for (_, s), e in zip(rows, extra, strict=True))
    half = build.select(
        rw, build.compare(rw, "GE", x, 0), *(build.broadcast(rw, _channels(rw, x, numbers), static(x))
                                             for numbers in (above, below)))
    made = build.binary(rw, "multiply", x, _channels(rw, x, tuple(m for m, _ in rows)))
    made = build.binary(rw, "add", made, half)
    made = build.binary(rw, "shift_right_arithmetic", made, _channels(rw, x, tuple(s for _, s in rows)))
    if zero_out:
        made = build.binary(rw, "add", made, zero_out)
    low, high = bounds[0] - zero_in, bounds[1] - zero_in
    least = min((low * m + c) >> s for (m, s), c in zip(rows, below, strict=True))
    most = max((high * m + c) >> s for (m, s), c in zip(rows, above, strict=True))
    return made, (least + zero_out, most + zero_out)


def _computed(op: Rescale, rw: Rewriter, x: Value) -> Value:
    """The same of parameters that are computed at run time."""

    def point(value: Value, unsigned: bool) -> Value:
        read = build.bitcast(rw, value, build.unsigned(value.element)) if unsigned else value
        return build.reshape(rw, build.convert(rw, read, I64), ())

    multiplier, shift = (
        build.convert(rw, value if op.per_channel else build.reshape(rw, value, ()), I64) for value in (op.multiplier, op.shift))
    x = build.binary(rw, "subtract", build.convert(rw, x, I64), point(op.input_zp, op.input_unsigned))
    return build.binary(
        rw, "add", apply_scale(rw, x, multiplier, shift, op.rounding_mode == "DOUBLE_ROUND"),
        point(op.output_zp, op.output_unsigned))


def apply_scale(rw: Rewriter, x: Value, multiplier: Value, shift: Value, twice: bool) -> Value:
    """`(x * multiplier + round) >> shift` in i64, all of it computed at run time and broadcast together."""
    half = build.binary(rw, "shift_left", build.like(rw, shift, 1), build.binary(rw, "subtract", shift, 1))
    if twice:
        extra = build.select(rw, build.compare(rw, "GT", shift, 31), build.like(rw, shift, 1 << 30), 0)
        signed = build.select(rw, build.compare(rw, "GE", x, 0), extra, build.unary(rw, "negate", extra))
        half = build.binary(rw, "add", half, signed)
    made = build.binary(rw, "add", build.binary(rw, "multiply", x, multiplier), half)
    return build.binary(rw, "shift_right_arithmetic", made, shift)


@TABLE("tosa.apply_scale")
def scale(op: ApplyScale, rw: Rewriter) -> Value:
    """The arithmetic of RESCALE by itself."""
    value, multiplier, shift = (build.convert(rw, operand, I64) for operand in op.operands)
    made = apply_scale(rw, value, multiplier, shift, op.rounding_mode == "DOUBLE_ROUND")
    return build.convert(rw, build.broadcast(rw, made, static(op.results[0])), I32)


