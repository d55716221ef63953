"""Special functions of one operand, which the hub makes by series, and the numbers next to numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from transload.ir import F32, F64, I32, I64, Op, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub.build import cast, scalar_like
from transload_hub.special import bessel, digamma, erfinv, lgamma, ndtri

from .table import TfTable

__all__ = ["TABLE"]

TABLE = TfTable()


def _where(rw: Rewriter, tested: Value, mode: str, limit: float, yes: Value, no: Value) -> Value:
    return rw.emit("top.Where", rw.emit("top.Compare", tested, scalar_like(rw, tested, limit), mode=mode), yes, no)


@TABLE("NextAfter")
def next_after(op: Op, rw: Rewriter) -> Value:
    """NextAfter: the number behind x on the way to y, by the bits that are an integer one more or one less."""
    x, y = op.operands
    numbers = rw.emit("top.LogicalAnd", *(rw.emit("top.Compare", each, each, mode="Equal") for each in (x, y)))
    x, y = (rw.emit("top.Where", numbers, each, scalar_like(rw, each, math.nan)) for each in (x, y))  # of the shape of both
    bits = rw.emit("top.Bitcast", x, element=I64 if x.element == F64 else I32)
    is_above = rw.emit("top.Compare", y, x, mode="Greater")
    is_positive = rw.emit("top.Compare", x, scalar_like(rw, x, 0), mode="Greater")
    grows = rw.emit("top.LogicalNot", rw.emit("top.LogicalXor", is_above, is_positive))
    step = rw.emit("top.Where", grows, scalar_like(rw, bits, 1), scalar_like(rw, bits, -1))
    moved = rw.emit("top.Bitcast", rw.emit("top.Add", bits, step), element=x.element)
    least = float(np.finfo(dtype_of(x.element)).smallest_subnormal)
    from_zero = rw.emit("top.Where", is_above, scalar_like(rw, x, least), scalar_like(rw, x, -least))
    moved = _where(rw, x, "Equal", 0, from_zero, moved)
    return rw.emit("top.Where", rw.emit("top.Compare", x, y, mode="Equal"), y, moved)


_FUNCTIONS: dict[str, Callable[[Rewriter, Value], Value]] = {
    "Lgamma": lgamma, "Digamma": digamma, "Erfinv": erfinv, "Ndtri": ndtri,
    **{f"BesselI{order}{end}": partial(bessel, order=order, scaled=bool(end)) for order in (0, 1) for end in ("", "e")},
}


@TABLE(*_FUNCTIONS)
def special(op: Op, rw: Rewriter) -> Value:
    """Lgamma, Digamma; Erfinv, Ndtri: inverses of the error function and of the normal distribution; Bessel functions I0, I1."""
    given = op.operands[0]
    x = cast(rw, given, F64 if given.element == F64 else F32)
    return cast(rw, _FUNCTIONS[op.name.removeprefix("tf.")](rw, x), given.element)
