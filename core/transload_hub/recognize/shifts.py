"""Shifts of signed numbers that are written with unsigned ones: ONNX has no others.

`x >> s` of i64 is `((x + 2^63) >> s) - (2^63 >> s)`, the first shift of unsigned numbers: as one op it is computed where there
are no unsigned numbers of 64 bits, and in fewer bits where the numbers are small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import I64, UI64, IntegerType, TensorType, Value
from transload.rewrite import Rewriter, RewriteTable

from ..algebra.match import inputs_of, made_by, only_serves
from ..build import cast

if TYPE_CHECKING:
    from ..ops.elementwise import Sub

__all__ = ["TABLE"]

TABLE = RewriteTable()
_HALF = 1 << 63


@TABLE("top.Sub")
def signed_shift(op: Sub, rw: Rewriter) -> Value | None:
    """`i64((ui64(x) + 2^63) >> s) - (2^63 >> s)` is `x >> s`, of constant distances below 64."""
    if op.results[0].element_or_none != I64 or len(op.operands) != 2 or op.attributes.get("do_relu", False):
        return None
    back = made_by(op.operands[0], "Cast")
    moved = made_by(back.input, "ShiftRight") if back is not None else None
    if moved is None or moved.a.element_or_none != UI64 or (raised := made_by(moved.a, "Add")) is None:
        return None
    places, less = rw.constant_of(moved.b), rw.constant_of(op.operands[1])
    if places is None or less is None or not (places < 64).all() or not _are_halves(less, places):
        return None
    if not _keeps_type(back.output, op.results[0]):
        return None
    for inner, half in inputs_of(raised):
        there = rw.constant_of(half)
        source = made_by(inner, "Cast")
        if there is None or source is None or not (there == _HALF).all() or not isinstance(source.input.element, IntegerType):
            continue
        if not _keeps_type(inner, moved.a):
            continue
        if only_serves(op, [source.input]):
            return rw.emit("top.ShiftRight", cast(rw, source.input, I64), rw.constant(places.astype(np.int64)))
    return None


def _keeps_type(before: Value, after: Value) -> bool:
    """Whether a constant beside `before` made no more of it: what is shifted has no shape but its own and the places'."""
    return isinstance(before.type, TensorType) and before.type.shape is not None and before.type == after.type


def _are_halves(less: Any, places: Any) -> bool:
    """Whether numbers of i64 are 2^63 moved down by so many places, as they lie beside each other, broadcast."""
    try:
        wanted, found = np.broadcast_arrays(np.uint64(_HALF) >> places.astype(np.uint64), less.astype(np.int64))
    except ValueError:
        return False
    return bool((wanted.astype(np.int64) == found).all())
