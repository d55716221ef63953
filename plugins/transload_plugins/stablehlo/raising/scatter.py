"""Scatter: updates written to, or combined with, elements at computed places.

What lies outside of the operand is left out. `top` refuses subscripts that are outside, so such updates are written to a
row of their own behind the operand's, which is cut off after.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import I32, I64, Value
from transload.rewrite import Rewriter, RewriteTable

from ..types import element_of, shape_of
from .bodies import single_op, yielded
from .indexing import as_subscripts, clamped_starts
from .movement import padded
from .table import (
    cast,
    counting,
    cut_axis,
    empty,
    expand,
    lean,
    like,
    materialized,
    permute,
    refuse_complex,
    reshape,
    static,
)

if TYPE_CHECKING:
    from ..dialect.indexing import Scatter

__all__ = ["TABLE"]

TABLE = RewriteTable()

REDUCTIONS = {"second": "none", "add": "add", "multiply": "mul", "maximum": "max", "minimum": "min"}


@TABLE("stablehlo.scatter")
def scatter(op: Scatter, rw: Rewriter) -> Value | list[Value]:
    """`top.ScatterND` of elements, or of rows where the dimensions without a start are whole."""
    refuse_complex(op)
    n = len(op.results)
    inputs, indices, updates = op.operands[:n], op.operands[n], op.operands[n + 1 :]
    nothing = empty(rw, op)
    if nothing:
        return nothing
    names = [single_op(op.update_computation, i) for i in range(n)]
    made: list[Value] = []
    for x, update, name in zip(inputs, updates, names, strict=True):
        static(x, "the operand")
        if 0 in static(update, "the updates") or name == "first":
            made.append(x)
            continue
        if x.is_quantized and name != "second":
            raise Unsupported("combines quantized numbers", "dequantize first")
        if x.is_bool and name in ("add", "or", "maximum", "multiply", "and", "minimum"):
            made.append(_scattered_flags(op, rw, x, indices, update, name))
            continue
        if name == "subtract":
            name, update = "add", rw.emit("top.Neg", lean(update))
            update = expand(rw, update, shape_of(op.operands[n + 1]))
        if name not in REDUCTIONS:
            raise Unsupported(
                f"combines by {_described(op)}", "the hub's scatter replaces, adds, multiplies, and takes the greater or lesser")
        made.append(_Scatter(op.scatter_dimension_numbers, x, update).scattered(rw, x, indices, update, REDUCTIONS[name]))
    return made


def _described(op: Scatter) -> str:
    names = {inner.name for inner in op.update_computation.block} - {"stablehlo.return"}
    return ", ".join(sorted(names)) or f"a function of {len(yielded(op.update_computation))} results"


def _scattered_flags(op: Scatter, rw: Rewriter, x: Value, indices: Value, update: Value, name: str) -> Value:
    """Booleans as 0 and 1, of which the greater or the lesser is taken."""
    reduction = "max" if name in ("add", "or", "maximum") else "min"
    numbers, given = cast(rw, x, I32), cast(rw, update, I32)
    made = _Scatter(op.scatter_dimension_numbers, numbers, given).scattered(rw, numbers, indices, given, reduction)
    return cast(rw, made, x.element)


class _Scatter:
    """The roles of dimensions in a scatter. Updates are brought to the form [batch.., windows.., rest..]."""

    def __init__(self, d: Any, x: Value, update: Value) -> None:
        self.vector = d.index_vector_dim
        self.mapped = list(d.scatter_dims_to_operand_dims)
        self.batching = list(d.input_batching_dims)
        self.index_batching = list(d.scatter_indices_batching_dims)
        self.window_dims = list(d.update_window_dims)
        self.shape: tuple[int, ...] = shape_of(x)
        gone = [*d.inserted_window_dims, *d.input_batching_dims]
        in_window = [axis for axis in range(x.rank) if axis not in gone]
        self.size_of: dict[int, int] = {
            axis: update.shape[place] for axis, place in zip(in_window, self.window_dims, strict=True)}
        self.place_of = dict(zip(in_window, self.window_dims, strict=True))
        # A dimension without a start is whole, or its elements are subscripted one by one like those of windows.
        self.rest = [
            axis for axis in in_window if axis not in self.mapped and self.size_of[axis] == self.shape[axis]]
        self.windows = [axis for axis in in_window if axis not in self.rest]
        started = [*self.mapped, *self.batching]
        self.subscripted = [*started, *(axis for axis in range(x.rank) if axis not in (*started, *self.rest))]

    def scattered(self, rw: Rewriter, x: Value, indices: Value, update: Value, reduction: str) -> Value:
        starts = self._vectors(rw, indices)
        batch = list(shape_of(starts)[:-1])
        outer = [place for place in range(update.rank) if place not in self.window_dims]
        order = [*outer, *(self.place_of[axis] for axis in self.windows), *(self.place_of[axis] for axis in self.rest)]
        update = permute(rw, update, order)
        columns = self._columns(rw, starts, batch)
        extent = [*batch, *(self.size_of[axis] for axis in self.windows)]
        turned = permute(rw, x, [*self.subscripted, *self.rest])
        if not self.subscripted:
            raise Unsupported("has updates without a place")
        columns, spare = self._kept_inside(rw, columns)
        wide = [
            reshape(rw, materialized(rw, expand(rw, lean(column), extent)), (*extent, 1))
            for column in columns]
        subscripts = wide[0] if len(wide) == 1 else rw.emit("top.Concat", *wide, axis=len(extent))
        target = turned
        if spare:
            behind = [0] * turned.rank
            behind[0] = 1
            filler = rw.constant(0, x.element) if x.is_quantized else like(rw, x, 0)
            target = padded(rw, turned, filler, [0] * turned.rank, behind, [0] * turned.rank)
        made = rw.emit("top.ScatterND", materialized(rw, target), subscripts, materialized(rw, update), reduction=reduction)
        if spare:
            made = cut_axis(rw, made, 0, 0, shape_of(turned)[0])
        back = [*self.subscripted, *self.rest]
        return permute(rw, made, [back.index(axis) for axis in range(len(back))])

    def _vectors(self, rw: Rewriter, indices: Value) -> Value:
        if self.vector == indices.rank:
            return reshape(rw, indices, (*shape_of(indices), 1))
        return permute(rw, indices, [axis for axis in range(indices.rank) if axis != self.vector] + [self.vector])

    def _columns(self, rw: Rewriter, starts: Value, batch: Sequence[Any]) -> list[Value]:
        """The subscripts in each subscripted dimension, broadcastable to batch and windows."""
        extent = [*batch, *(self.size_of[axis] for axis in self.windows)]
        columns: list[Value] = []

        def along(place: int, size: int, element: Any) -> Value:
            spread = [1] * len(extent)
            spread[place] = size
            return rw.constant(counting(size).reshape(spread), element)

        for axis in self.subscripted:
            window = len(batch) + self.windows.index(axis) if axis in self.windows else None
            if axis in self.mapped:
                number = self.mapped.index(axis)
                column = cut_axis(rw, starts, starts.rank - 1, number, number + 1)
                column = _signed(rw, reshape(rw, column, (*batch, *(1 for _ in self.windows))), self.shape[axis])
                if window is not None and self.size_of[axis] > 1:
                    column = rw.emit("top.Add", column, along(window, self.size_of[axis], column.element))
            elif axis in self.batching:
                index_axis = self.index_batching[self.batching.index(axis)]
                place = index_axis - (index_axis > self.vector)
                column = along(place, batch[place], _column_type(columns))
            elif window is not None:
                column = along(window, self.size_of[axis], _column_type(columns))
            else:  # an inserted dimension without a start: its first element
                column = rw.constant(np.zeros([1] * len(extent)), _column_type(columns))
            columns.append(column)
        return columns

    def _kept_inside(self, rw: Rewriter, columns: list[Value]) -> tuple[list[Value], bool]:
        """Subscripts of which those outside lead to row number `size` of the first dimension, and whether there are any."""
        outside: Value | None = None
        for axis, column in zip(self.subscripted, columns, strict=True):
            size = self.shape[axis]
            array = rw.constant_of(lean(column))
            if array is not None and (not array.size or (array.min() >= 0 and array.max() < size)):
                continue
            low = rw.emit("top.Compare", column, like(rw, column, 0), mode="Less")
            high = rw.emit("top.Compare", column, like(rw, column, size), mode="GreaterOrEqual")
            beyond = rw.emit("top.LogicalOr", low, high)
            outside = beyond if outside is None else rw.emit("top.LogicalOr", outside, beyond)
        if outside is None:
            return columns, False
        moved = [
            rw.emit("top.Where", outside, like(rw, column, self.shape[axis] if number == 0 else 0), column)
            for number, (axis, column) in enumerate(zip(self.subscripted, columns, strict=True))]
        return moved, True


def _column_type(columns: Sequence[Value]) -> Any:
    return columns[0].element if columns else I64


def _signed(rw: Rewriter, x: Value, size: int) -> Value:
    """Starts in a dimension of `size` as i32 or i64.

    Unsigned ones of 32 and 64 bits are cut off before, at the first that is outside: a window from there on is, too, and its
    places are no larger than such types hold.
    """
    return clamped_starts(rw, x, size) if element_of(x).unsigned and element_of(x).width >= 32 else as_subscripts(rw, x)
