"""RESIZE (2.12.1): samples of rows and columns, chosen or mixed by constant positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from transload.ir import I32, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables

from .. import build
from .common import sizes, static, wide_float

if TYPE_CHECKING:
    from ...tosa.dialect.movement import Resize

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("tosa.resize")
def resize(op: Resize, rw: Rewriter) -> Value:
    """Height, then width; integers keep the fraction in the result."""
    y_n, y_d, x_n, x_d = sizes(op.scale, "the scale")
    offset = sizes(op.offset, "the offset")
    out, element = static(op.output), op.output.element
    x: Value = op.input
    axes = ((1, y_n, y_d, offset[0]), (2, x_n, x_d, offset[1]))
    if op.mode != "BILINEAR":
        for axis, n, d, start in axes:
            x = _nearest(rw, x, axis, out[axis], n, d, start)
        return x
    x = wide_float(rw, x) if x.is_float else build.convert(rw, x, element)
    for axis, n, d, start in axes:
        x = _mixed(rw, x, axis, out[axis], n, d, start)
    return build.convert(rw, x, element)


def _positions(size: int, places: int, n: int, d: int, offset: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each output place: the input before it, the one after it, and how far it lies between, in units of 1/n."""
    position = tables.arange(places, dtype=np.int64) * d + offset
    before = np.floor_divide(position, n)
    return np.clip(before, 0, size - 1), np.clip(before + 1, 0, size - 1), position - before * n


def _nearest(rw: Rewriter, x: Value, axis: int, places: int, n: int, d: int, offset: int) -> Value:
    before, after, fraction = _positions(static(x)[axis], places, n, d, offset)
    return taken(rw, x, axis, np.where(2 * fraction >= n, after, before))


def _mixed(rw: Rewriter, x: Value, axis: int, places: int, n: int, d: int, offset: int) -> Value:
    before, after, fraction = _positions(static(x)[axis], places, n, d, offset)
    left = taken(rw, x, axis, before)
    if x.is_float:  # the weight of the one before is 1 less that of the one after, in f32
        part = (fraction / n).astype(np.float32)
        rest = 1 - part
    else:
        part, rest = fraction, n - fraction
    if not fraction.any():
        return left if x.is_float or n == 1 else build.binary(rw, "multiply", left, n)
    right = taken(rw, x, axis, after)
    products = [
        build.binary(rw, "multiply", value, build.spread(rw, build.const(rw, w, value.element), static(value), (axis,)))
        for value, w in ((left, rest), (right, part))]
    return build.binary(rw, "add", *products)


def taken(rw: Rewriter, x: Value, axis: int, indices: np.ndarray) -> Value:
    """The places `indices` of an axis: a slice where they rise evenly, copies where each comes equally often, else a gather."""
    shape = static(x)
    out = (*shape[:axis], len(indices), *shape[axis + 1 :])
    if not x.tensor_type.num_elements or not len(indices):
        return build.filled(rw, out, x.element)
    steps = np.diff(indices)
    if len(indices) == 1 or (steps[0] > 0 and (steps == steps[0]).all()):
        starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
        starts[axis], limits[axis], strides[axis] = int(indices[0]), int(indices[-1]) + 1, int(steps[0]) if len(steps) else 1
        return build.slice_(rw, x, starts, limits, strides)
    times, rest = divmod(len(indices), shape[axis])
    if not rest and (indices == tables.repeat(tables.arange(shape[axis]), times)).all():
        spread = (*shape[: axis + 1], times, *shape[axis + 1 :])
        copies = build.broadcast_in_dim(rw, x, spread, [*range(axis + 1), *range(axis + 2, len(spread))])
        return build.reshape(rw, copies, out)
    slices = [1 if i == axis else size for i, size in enumerate(shape)]
    rows = build.const(rw, indices.reshape(-1, 1).astype(np.int32), I32)
    return build.gather(rw, x, rows, slices, [i for i in range(len(shape)) if i != axis], (axis,), (axis,))

