"""RESCALE: `apply_scale(x - input_zp, multiplier, shift) + output_zp`, saturated (2.13.2), to the last bit.

ONNX has no multiplication by a fixed-point number. Where all that is not saturated fits the 53 bits of an f64, it is
`floor(x * (m / 2^s) + r / 2^s)` there: a power of two changes no bit, so product and sum are exact, and the floor is the shift.
(Larger numbers are rounded, which keeps their order, and saturate.) Otherwise it is written in i64, with BitShift.

DOUBLE_ROUND rounds away from 0 to 31 bits first: 2^30 more are added before the shift to what is not negative, and 2^30 less to
the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import F64, I32, I64, UI64, Type, Value
from transload.ir.types import IntegerType
from transload.rewrite import Rewriter, RewriteTable, Unsupported

from ..lowering.common import cast, clipped, emit
from .common import along, as_float, broadcast, elementwise, number, scalar_like, shift_right, vector
from .narrow import is_narrow, saturated, scaled_in_digits

if TYPE_CHECKING:
    from transload.ir import Op

__all__ = ["TABLE", "Magnitudes", "Scale", "scaled"]

TABLE = RewriteTable()

EXACT = 1 << 53
"""Up to which all integers are numbers of f64."""


@dataclass
class Magnitudes:
    """How great the numbers of sums can be: what convolutions know of their results and the types do not say."""

    known: dict[Value, int] = field(default_factory=dict)

    def of(self, x: Value) -> int:
        found = self.known.get(x)
        if found is not None:
            return found
        if x.op is not None and x.op.name in ("onnx.Transpose", "onnx.Reshape", "onnx.Slice"):
            return self.of(x.op.operands[0])
        assert isinstance(x.element, IntegerType)
        return 1 << 47 if x.element == I64 else 1 << (x.element.width - 1)


@dataclass(frozen=True)
class Scale:
    """One RESCALE with constant parameters: numbers for each channel, one of each, or some that broadcast."""

    multipliers: np.ndarray
    shifts: np.ndarray
    zero_in: int
    zero_out: int
    twice: bool
    low: int
    high: int

    @property
    def extra(self) -> np.ndarray:
        """What DOUBLE_ROUND adds before the shift, by the sign of the number."""
        return np.where(self.twice & (self.shifts > 31), 1 << 30, 0)

    @property
    def signs_matter(self) -> bool:
        """Not where each number that is negative before it is scaled saturates at the zero point, however it is rounded."""
        return bool(self.extra.any()) and self.zero_out > self.low

    def is_exact(self, magnitude: int) -> bool:
        """Whether f64 gives the same integers, for numbers of at most this magnitude."""
        reach = max(abs(self.low), abs(self.high)) + 2 * abs(self.zero_out) + 2
        for multiplier, shift in zip(self.multipliers.flat, self.shifts.flat, strict=True):
            multiplier, shift = int(multiplier), int(shift)
            rounding = (1 << (shift - 1)) + (1 << 30) + (abs(self.zero_out) << shift)
            if (magnitude + abs(self.zero_in)) * multiplier + rounding >= EXACT and reach << shift > EXACT:
                return False
        return True


@TABLE("tosa.rescale")
def rescale(op: Op, rw: Rewriter) -> Value:
    """Constant scales in f64 or i64."""
    x, multiplier, shift, zero_in, zero_out = op.operands
    multipliers, shifts = vector(multiplier), vector(shift)
    if multipliers is None or shifts is None:
        raise Unsupported("its scales must be constants, and are computed at run time")
    if any(not 2 <= places <= 62 for places in shifts):
        raise Unsupported(f"shifts are from 2 to 62, and there are {sorted(set(shifts.tolist()))}")
    wanted: Any = op.results[0].element
    least, most = wanted.range
    unsigned_in, unsigned_out = op.attributes["input_unsigned"], op.attributes["output_unsigned"]
    if unsigned_out:
        least, most = 0, most - least
    if unsigned_in:
        x = cast(rw, x, _unsigned(x.element))
    scale = Scale(
        multipliers, shifts, number(zero_in, "a zero point", unsigned_in), number(zero_out, "a zero point", unsigned_out),
        op.attributes["rounding_mode"] == "DOUBLE_ROUND", least, most)
    magnitude = 1 << x.element.width if unsigned_in else rw.scratch(Magnitudes).of(x)  # type: ignore[attr-defined]
    made = elementwise(rw, lambda value, last: scaled(rw, value, scale, magnitude, last), x)
    return cast(rw, cast(rw, made, _unsigned(wanted)), wanted) if unsigned_out else cast(rw, made, wanted)


def _unsigned(element: Type) -> Type:
    assert isinstance(element, IntegerType)
    return IntegerType(element.width, "u")


def scaled(rw: Rewriter, x: Value, scale: Scale, magnitude: int, last: int) -> Value:
    """The scaled and saturated numbers, as f64, i64 or i32; scales by channels lie along dimension `last`."""
    rank = len(x.tensor_type.shape or ())
    whole = scale.multipliers == np.left_shift(np.int64(1), scale.shifts)
    if whole.all():  # only zero points change
        moved = scale.zero_out - scale.zero_in
        if magnitude < 1 << 30 or not is_narrow(rw):
            x = cast(rw, x, I32) if magnitude < 1 << 30 else cast(rw, x, I64)
            x = emit(rw, "Add", x, scalar_like(rw, moved, x)) if moved else x
            if scale.low <= moved - magnitude and magnitude + moved <= scale.high:
                return x
            return (saturated if is_narrow(rw) else clipped)(rw, x, scale.low, scale.high)
    if is_narrow(rw):
        return scaled_in_digits(rw, x, scale, magnitude, last)
    if scale.is_exact(magnitude):
        return _in_floats(rw, x, scale, rank, last)
    return _in_integers(rw, x, scale, rank, last)


def _in_floats(rw: Rewriter, x: Value, scale: Scale, rank: int, last: int) -> Value:
    unit = np.ldexp(1.0, -scale.shifts.astype(int))
    factor = scale.multipliers * unit
    half = 0.5 + scale.zero_out
    extra = scale.extra * unit
    x = as_float(rw, x)
    signs = None
    if scale.signs_matter:
        inner = emit(rw, "Sub", x, scalar_like(rw, scale.zero_in, x)) if scale.zero_in else x
        signs = broadcast(rw, "Mul", emit(rw, "Sign", inner), along(rw, extra, F64, rank, last))
        extra = np.zeros_like(extra)
    y = broadcast(rw, "Mul", x, along(rw, factor, F64, rank, last))
    if signs is not None:
        y = emit(rw, "Add", y, signs)
    y = broadcast(rw, "Add", y, along(rw, half + extra - scale.zero_in * factor, F64, rank, last))
    return emit(rw, "Clip", emit(rw, "Floor", y), scalar_like(rw, scale.low, y), scalar_like(rw, scale.high, y))


def _in_integers(rw: Rewriter, x: Value, scale: Scale, rank: int, last: int) -> Value:
    x = cast(rw, x, I64)
    if scale.zero_in:
        x = emit(rw, "Sub", x, scalar_like(rw, scale.zero_in, x))
    half, extra = np.left_shift(np.int64(1), scale.shifts - 1), scale.extra
    y = broadcast(rw, "Mul", x, along(rw, scale.multipliers, I64, rank, last))
    if extra.any():
        sign = emit(rw, "Sign", x) if scale.signs_matter else None
        part = along(rw, extra, I64, rank, last)
        y = broadcast(rw, "Add", y, part if sign is None else broadcast(rw, "Mul", sign, part))
    y = broadcast(rw, "Add", y, along(rw, half, I64, rank, last))
    y = shift_right(rw, y, along(rw, scale.shifts.astype(np.uint64), UI64, rank, last))
    if scale.zero_out:
        y = emit(rw, "Add", y, scalar_like(rw, scale.zero_out, y))
    return clipped(rw, y, scale.low, scale.high)


@TABLE("tosa.apply_scale")
def apply_scale(op: Op, rw: Rewriter) -> Value:
    """The arithmetic of RESCALE by itself, of constants."""
    value, multiplier, shift = op.operands
    multipliers, shifts = vector(multiplier), vector(shift)
    if multipliers is None or shifts is None or multipliers.size != 1:
        raise Unsupported("its scale must be one constant number")
    low, high = I32.range
    scale = Scale(multipliers, shifts, 0, 0, op.attributes["rounding_mode"] == "DOUBLE_ROUND", low, high)
    return cast(rw, elementwise(rw, lambda x, last: scaled(rw, x, scale, 1 << 31, last), value), I32)


