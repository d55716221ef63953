"""Conversion of element types, with all roundings, wrapping round or saturating."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transload.ir import BOOL, F32, F64, I64, ComplexType, FloatType, Type, Value
from transload.ir.build import Builder
from transload.rewrite import Rewriter, RewriteTable

from .. import build
from ..build import binary, clamp, compare, convert, select, unary
from ..functions import is_nan
from .common import widened

if TYPE_CHECKING:
    from transload_hub.ops.cast import Bitcast, Cast

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("top.Cast")
def cast(op: Cast, rw: Rewriter) -> Value:
    x, target = op.input, op.result.element
    if x.element == target:
        return x
    if target == BOOL:
        return compare(rw, "NE", x, 0)
    if isinstance(target, (FloatType, ComplexType)):
        return convert(rw, x, target)
    if x.element == BOOL:
        return convert(rw, x, target)
    if not x.is_float:
        return convert(rw, _saturated_integer(rw, x, target) if op.saturate else x, target)
    whole = _rounded(rw, widened(rw, x), op.round_mode)
    return _saturated(rw, whole, target) if op.saturate else _wrapped(rw, whole, target)


@TABLE("top.Bitcast")
def bitcast(op: Bitcast, rw: Rewriter) -> Value:
    return build.bitcast(rw, op.input, op.result.element)


def _rounded(rw: Builder, x: Value, mode: str) -> Value:
    """Whole numbers, but for cutting off, which the conversion to integers does itself."""
    names = {"HalfAwayFromZero": "round_nearest_afz", "HalfToEven": "round_nearest_even"}
    return unary(rw, names[mode], x) if mode in names else x


def _saturated_integer(rw: Builder, x: Value, target: Type) -> Value:
    """Integers within the range of another integer type."""
    (low, high), (least, greatest) = target.range, x.element.range  # type: ignore[attr-defined]
    if low <= least and greatest <= high:
        return x
    return clamp(rw, x, max(low, least), min(high, greatest))


def _saturated(rw: Builder, x: Value, target: Type) -> Value:
    """Floats as integers, clamped to their range, NaN as 0.

    The greatest integer of 32 bits and more is no float: what lies beyond the greatest float below it is chosen apart.
    """
    low, high = target.range  # type: ignore[attr-defined]
    extra = max(high.bit_length() - (53 if x.element == F64 else 24), 0)
    below = high >> extra << extra
    number = select(rw, is_nan(rw, x), 0, x)
    inside = convert(rw, clamp(rw, number, float(low), float(below)), target)
    if below == high:
        return inside
    return select(rw, compare(rw, "GT", number, float(below)), high, inside)


def _wrapped(rw: Builder, x: Value, target: Type) -> Value:
    """Floats as integers modulo their range, infinities and NaN as 0.

    Numbers up to 2^63 go through i64. Greater ones in f32 are multiples of 2^40, so nothing is left of them in 32 bits;
    elsewhere the remainder is taken.
    """
    width = target.width  # type: ignore[attr-defined]
    inside = compare(rw, "LT", unary(rw, "abs", x), 2.0**63)
    if x.element == F32 and width <= 32:
        return convert(rw, convert(rw, select(rw, inside, x, 0), I64), target)
    modulus = 2.0**width
    rest = binary(rw, "remainder", x, modulus)
    rest = select(rw, is_nan(rw, rest), 0, rest)
    if width == 64:  # of what lies between 2^63 and 2^64, the bits are those of a negative number
        rest = select(rw, compare(rw, "GE", rest, 2.0**63), binary(rw, "subtract", rest, modulus), rest)
    number = convert(rw, select(rw, inside, x, rest), I64)
    return build.bitcast(rw, number, target) if width == 64 else convert(rw, number, target)
