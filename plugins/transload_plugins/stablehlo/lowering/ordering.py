"""TopK by a sort, CumSum by a scan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transload.ir import I32, Value
from transload.ir.build import Builder
from transload.rewrite import Rewriter, RewriteTable

from .. import build
from ..build import binary, compare
from ..functions import is_nan
from .common import finish, normal_axis, static_shape, widened

if TYPE_CHECKING:
    from transload_hub.ops.gather import CumSum, TopK

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("top.TopK")
def top_k(op: TopK, rw: Rewriter) -> tuple[Value, Value]:
    """Elements and their places sorted, stable; NaN is greater than all numbers."""
    x = op.input
    axis = normal_axis(op.axis, x.rank)
    largest, floats = op.largest, x.is_float

    def before(inner: Builder, a: Value, b: Value, *places: Value) -> Value:
        ordered = compare(inner, "GT" if largest else "LT", a, b)
        if not floats:
            return ordered
        missing, number = (a, b) if largest else (b, a)
        only = binary(inner, "and", is_nan(inner, missing), compare(inner, "EQ", number, number))
        return binary(inner, "or", ordered, only)

    places = build.iota(rw, static_shape(x), axis, I32)
    values, indices = build.sort(rw, (x, places), axis, before)
    return build.cut(rw, values, axis, 0, op.k), build.convert(rw, build.cut(rw, indices, axis, 0, op.k), op.results[1].element)


@TABLE("top.CumSum")
def cum_sum(op: CumSum, rw: Rewriter) -> Value:
    """Sums of 1, 2, 4, ... elements up to each one, each step adding what lies so many places before."""
    x = widened(rw, op.input)
    axis = normal_axis(op.axis, x.rank)
    size = static_shape(x)[axis]
    if op.exclusive and size:
        x = _moved(rw, x, axis, 1, op.reverse)
    step = 1
    while step < size:
        x = binary(rw, "add", x, _moved(rw, x, axis, step, op.reverse))
        step *= 2
    return finish(rw, op, x)


def _moved(rw: Builder, x: Value, axis: int, step: int, back: bool) -> Value:
    """`x` moved on by some places of an axis (or back), with zeros behind it."""
    low = [0] * x.rank
    low[axis] = -step if back else step
    return build.pad(rw, x, low, [-count for count in low], build.scalar(rw, 0, x.element))
