"""Resampling, a dimension at a time: each output place is a weighted sum of a few elements (taps)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from transload.ir import F64, Value
from transload.ir.build import Builder
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables
from transload_hub.build import counted
from transload_hub.kernels.resize import coordinates, taps
from transload_hub.ops.infer import spatial_axes

from .. import build
from ..build import binary
from .common import finish, static_shape, widened
from .gather import take
from .movement import repeated

if TYPE_CHECKING:
    from transload_hub.ops.resize import Interp

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("top.Interp")
def interp(op: Interp, rw: Rewriter) -> Value:
    x = widened(rw, op.input)
    y = x
    if x.is_integer and op.mode != "nearest":
        y = build.convert(rw, x, F64)  # what comes between integers is cut off at the end
    for i, axis in enumerate(spatial_axes(op.layout, x.rank)):
        size = static_shape(x)[axis]
        if not op.antialias and np.array_equal(coordinates(op, i, size), counted(size)):
            continue  # every place falls on its own element
        where, weights = taps(op, i, size)
        y = _lines(rw, y, axis, where[:, 0]) if op.mode == "nearest" else _weighted(rw, y, axis, where, weights)
    if x.is_integer and op.mode == "cubic":
        # Cubic interpolation overshoots.
        y = build.clamp(rw, y, *map(float, x.element.range))  # type: ignore[attr-defined]
    return finish(rw, op, y)


def _lines(rw: Builder, x: Value, axis: int, where: np.ndarray) -> Value:
    """The places of an axis at subscripts: repeated ones where each stands equally often, else gathered."""
    size = static_shape(x)[axis]
    times, rest = divmod(len(where), size)
    if not rest and np.array_equal(where, tables.repeat(tables.arange(size), times)):
        return repeated(rw, x, [times if other == axis else 1 for other in range(x.rank)], inner=True)
    return take(rw, x, axis, build.const(rw, where.astype(np.int32)))


def _weighted(rw: Builder, x: Value, axis: int, where: np.ndarray, weights: np.ndarray) -> Value:
    """The sum over taps of the elements at `where`, times their weights."""
    total: Value | None = None
    for tap in range(where.shape[1]):
        if not weights[:, tap].any():
            continue
        part = _lines(rw, x, axis, where[:, tap])
        factors = build.const(rw, weights[:, tap], x.element)
        part = binary(rw, "multiply", part, build.spread(rw, factors, static_shape(part), (axis,)))
        total = part if total is None else binary(rw, "add", total, part)
    if total is None:
        shape = list(static_shape(x))
        shape[axis] = len(where)
        return build.filled(rw, shape, x.element)
    return total
