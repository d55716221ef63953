"""Constants, absent operands, and tensors made from shapes and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import BOOL, I32, Value
from transload.rewrite import CHANGED, Rewriter, RewriteTable, Unsupported
from transload_hub.build import counted
from transload_hub.ops.constant import no_range, range_length

from .. import build
from ..build import binary, compare, select
from .common import static_shape

if TYPE_CHECKING:
    from transload_hub.ops.constant import Absent, EyeLike, Fill, NonZero, Range, Shape, Trilu, Weight

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("top.Weight")
def weight(op: Weight, rw: Rewriter) -> Value:
    """A constant; its numbers are not copied."""
    return build.const(rw, op.value, op.result.element)


@TABLE("top.None")
def absent(op: Absent, rw: Rewriter) -> Any:
    """What stands for absent operands has no users when all else is converted; DCE removes it then."""
    return CHANGED


@TABLE("top.Shape")
def shape(op: Shape, rw: Rewriter) -> Value:
    return build.const(rw, np.array(static_shape(op.input), np.int64), op.result.element)


@TABLE("top.Range")
def range_(op: Range, rw: Rewriter) -> Value:
    bounds = [rw.need_constant(value, "a bound of a range").reshape(-1)[0].item() for value in (op.start, op.limit, op.delta)]
    start, limit, delta = bounds
    if (why := no_range(start, limit, delta)) is not None:
        raise Unsupported(why, "correct the model")
    return build.const(rw, start + counted(range_length(start, limit, delta)) * delta, op.result.element)


@TABLE("top.Fill")
def fill(op: Fill, rw: Rewriter) -> Value:
    value = build.reshape(rw, op.value, ())
    return build.broadcast(rw, value, static_shape(op.result))


@TABLE("top.EyeLike")
def eye_like(op: EyeLike, rw: Rewriter) -> Value:
    shape = static_shape(op.input)
    diagonal = binary(rw, "add", build.iota(rw, shape, 0, I32), max(-shape[0], min(op.k, shape[1])))
    found = compare(rw, "EQ", diagonal, build.iota(rw, shape, 1, I32))
    return build.convert(rw, found, op.result.element)


@TABLE("top.Trilu")
def trilu(op: Trilu, rw: Rewriter) -> Value:
    """Elements whose column less their row is at least (at most) k."""
    shape = static_shape(op.input)
    rows, columns = (build.iota(rw, shape, len(shape) - i, I32) for i in (2, 1))
    k = max(min(op.k, shape[-1] + 1), -shape[-2] - 1)
    kept = compare(rw, "GE" if op.upper else "LE", binary(rw, "subtract", columns, rows), k)
    return select(rw, kept, op.input, False if op.input.element == BOOL else 0)


@TABLE("top.NonZero")
def non_zero(op: NonZero, rw: Rewriter) -> Value:
    array = rw.constant_of(op.input)
    if array is None:
        raise Unsupported(
            "how many elements are not zero is known only at run time, and StableHLO's shapes are known before",
            "make its input constant, or cut the model before it")
    found = np.array(np.nonzero(np.atleast_1d(array != 0)), np.int64)
    return build.const(rw, found, op.result.element)
