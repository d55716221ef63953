"""Quotients of floats rounded down, of another quotient than the rounded one, written out: a table for lowerings that have no
operator of that meaning, and the pass `write-out-floor-divisions`.

The quotient in f32 is rounded, to a whole number where it is a little less, and its floor one too many then: 6 by 0.3 is 20 in
place of 19. What a division leaves (`top.FloorMod`, `top.TruncMod`) is exact, and says where that is so. Divided by powers of
two nothing is rounded: they keep a single division.

Quotients beyond 2^24, of which f32 has not every whole number, may be the float beside the one that division in f64 gives.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from transload.ir import Module, Value
from transload.rewrite import Rewriter, RewriteTable, apply_greedily

from ..build import scalar_like
from ..quotients import divides_exactly

if TYPE_CHECKING:
    from ..ops.elementwise import FloorDiv

__all__ = ["TABLE", "write_out_floor_divisions"]

TABLE = RewriteTable()
"""Floats divided and rounded down otherwise than the rounded quotient; of others, and of quantized numbers, nothing."""


def write_out_floor_divisions(module: Module) -> bool:
    """Write out the floor divisions of a module that are not of rounded quotients. Returns whether there were any."""
    return apply_greedily(module, TABLE)


@TABLE("top.FloorDiv")
def floor_division(op: FloorDiv, rw: Rewriter) -> Value | None:
    """See the module, and the op."""
    if op.quotient == "rounded" or not op.a.is_float or any(value.is_quantized for value in (op.a, op.b, op.output)):
        return None
    return (_of_exact_quotient if op.quotient == "exact" else _by_fmod)(rw, op.a, op.b)


def _of_exact_quotient(rw: Rewriter, a: Value, b: Value) -> Value:
    """The quotient without what it has behind the point: what is left, as a part of the divisor, however they are rounded.

    That is a whole number, or what is nearest to one. Where nothing is left (or NaN, of infinities, and by 0) the quotient
    stays, with the sign of a zero.
    """
    if divides_exactly(b):
        return rw.emit("top.FloorDiv", a, b)
    quotient = rw.emit("top.Div", a, b)
    part = rw.emit("top.Div", rw.emit("top.FloorMod", a, b), b)
    zero = scalar_like(rw, part, 0)
    part = rw.emit("top.Where", _compared(rw, part, "Greater", zero), part, zero)
    return rw.emit("top.Round", rw.emit("top.Sub", quotient, part))


def _by_fmod(rw: Rewriter, a: Value, b: Value) -> Value:
    """What is without the rest by `fmod`, divided: of an infinity NaN, as what is left of that is.

    0 has the sign of the quotient, and by 0 it is that.
    """
    if divides_exactly(b):
        endless = rw.emit("top.IsInf", a)
        return rw.emit("top.Where", endless, scalar_like(rw, a, math.nan), rw.emit("top.FloorDiv", a, b))
    zero, one, half = (scalar_like(rw, a, number) for number in (0, 1, 0.5))
    quotient, rest = rw.emit("top.Div", a, b), rw.emit("top.TruncMod", a, b)
    whole = rw.emit("top.Div", rw.emit("top.Sub", a, rest), b)
    apart = rw.emit("top.LogicalXor", _compared(rw, b, "Less", zero), _compared(rw, rest, "Less", zero))
    below = rw.emit("top.LogicalAnd", apart, _compared(rw, rest, "NotEqual", zero))
    whole = rw.emit("top.Where", below, rw.emit("top.Sub", whole, one), whole)
    floor = rw.emit("top.Floor", whole)  # of a division that came out a little less than whole the number below
    short = _compared(rw, rw.emit("top.Sub", whole, floor), "Greater", half)
    floor = rw.emit("top.Where", short, rw.emit("top.Add", floor, one), floor)
    made = rw.emit("top.Where", _compared(rw, whole, "Equal", zero), rw.emit("top.Mul", quotient, zero), floor)
    divisor = rw.constant_of(b)
    if divisor is not None and np.asarray(divisor).all():
        return made
    return rw.emit("top.Where", _compared(rw, b, "Equal", zero), quotient, made)


def _compared(rw: Rewriter, left: Value, mode: str, right: Value) -> Value:
    made: Value = rw.emit("top.Compare", left, right, mode=mode)
    return made
