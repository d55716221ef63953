"""Casts of floats to integers that wrap round, where a framework's own cast leaves what is out of range undefined.

Programs go through 64 bits then, and put 0 in place of what does not fit there: of float32, such numbers are multiples of
2^40, and nothing is left of them in 32 bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transload.ir import BF16, F32, I64, IntegerType, Value
from transload.rewrite import Rewriter, RewriteTable

from ..algebra.match import made_by, number

if TYPE_CHECKING:
    from ..ops.cast import Cast

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("top.Cast")
def through_64_bits(op: Cast, rw: Rewriter) -> Value | None:
    """`Cast(Cast(Where(|x| < 2^63, x, 0)))`: to i64, then to 32 bits or less, is one cast, which wraps round."""
    target, wide = op.results[0].element, made_by(op.input, "Cast")
    if not isinstance(target, IntegerType) or not 1 < target.width <= 32 or op.saturate:
        return None
    if wide is None or wide.results[0].element != I64 or wide.input.element not in (BF16, F32):
        return None
    x = _guarded(wide.input)
    return None if x is None else rw.emit("top.Cast", x, element=target, round_mode=wide.round_mode)


def _guarded(value: Value) -> Value | None:
    """x of `Where(|x| < 2^63, x, 0)`; the absolute value is left out of what is not negative."""
    choice = made_by(value, "Where")
    test = made_by(choice.condition, "Compare") if choice is not None else None
    if test is None or test.mode != "Less" or number(test.rhs) != 2.0**63 or number(choice.fbrn) != 0:
        return None
    x: Value = choice.tbrn
    size = made_by(test.lhs, "Abs")
    same = size.input is x if size is not None else test.lhs is x and _is_rectified(x)
    return x if same and x.type == value.type else None


def _is_rectified(x: Value) -> bool:
    """Whether the op that makes a value makes nothing negative of numbers."""
    op = x.op
    if op is None:
        return False
    return op.name in ("top.Relu", "top.Abs", "top.Square") or bool(op.attribute("do_relu", False)) or (
        op.name == "top.Clip" and op.min >= 0)
