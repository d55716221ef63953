"""Slices at computed places: gather, dynamic_slice, dynamic_update_slice.

StableHLO moves a slice's start so that the slice lies inside; `top` refuses subscripts that are outside. So starts are
clamped first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import I32, I64, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables

from ..dialect.indexing import DynamicGather, gathered_shape, slices_fit
from ..types import element_of, shape_of
from .movement import integers
from .table import (
    agreed,
    cast,
    counting,
    cut,
    cut_axis,
    empty,
    expand,
    held,
    lean,
    like,
    materialized,
    permute,
    refuse_complex,
    reshape,
    static,
    zeros,
)

if TYPE_CHECKING:
    from ..dialect.indexing import Gather, TorchIndexSelect
    from ..dialect.slicing import DynamicSlice, DynamicUpdateSlice

__all__ = ["TABLE", "as_subscripts", "clamped_starts"]

TABLE = RewriteTable()


def as_subscripts(rw: Rewriter, x: Value) -> Value:
    """Subscripts as i32 or i64; constants as they are, which fold."""
    return x if x.element in (I32, I64) else cast(rw, x, I64 if element_of(x).width >= 32 else I32)


def clamped_starts(rw: Rewriter, starts: Value, most: int) -> Value:
    """Starts from 0 to `most`. Of unsigned ones, those too large for the hub's subscripts are clamped before."""
    if element_of(starts).unsigned:
        starts = rw.emit("top.Min", starts, like(rw, starts, min(most, element_of(starts).range[1])))
        return as_subscripts(rw, starts)
    subscripts = as_subscripts(rw, starts)
    array = rw.constant_of(subscripts)
    if array is not None and (not array.size or (array.min() >= 0 and array.max() <= most)):
        return subscripts
    maker = subscripts.op
    if maker is not None and maker.name == "top.Clip" and maker.attribute("min") >= 0 and maker.attribute("max") <= most:
        return subscripts
    clamped: Value = rw.emit("top.Clip", subscripts, min=0.0, max=float(most))
    return clamped


# --- one slice

@TABLE("stablehlo.dynamic_slice")
def dynamic_slice(op: DynamicSlice, rw: Rewriter) -> Value:
    """A slice, where the starts are constant; else `top.Gather` along each dimension that it is only a part of."""
    refuse_complex(op)
    nothing = empty(rw, op)
    if nothing:
        return nothing[0]
    x, starts, sizes = op.operands[0], op.operands[1:], op.slice_sizes
    shape = static(x, "the operand")
    for axis, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        if size == shape[axis]:
            continue
        known = rw.constant_of(lean(start))
        if known is not None:
            begin = min(max(int(known.reshape(-1)[0]), 0), shape[axis] - size)
            x = cut_axis(rw, x, axis, begin, begin + size)
            continue
        place = reshape(rw, clamped_starts(rw, lean(start), shape[axis] - size), (1,))
        if size > 1:
            place = rw.emit("top.Add", place, rw.constant(counting(size), place.element))
        x = rw.emit("top.Gather", materialized(rw, x), place, axis=axis)
    return x


@TABLE("stablehlo.dynamic_update_slice")
def dynamic_update_slice(op: DynamicUpdateSlice, rw: Rewriter) -> Value:
    """A tensor with a part replaced, see `updated`."""
    refuse_complex(op)
    x, update, starts = op.operands[0], op.operands[1], op.operands[2:]
    shape, part = static(x, "the operand"), static(update, "the update")
    if 0 in part or 0 in shape:
        return x
    if part == shape:
        return update
    places: list[int | Value] = []
    for axis, start in enumerate(starts):
        known = rw.constant_of(lean(start))
        most = shape[axis] - part[axis]
        places.append(
            0 if most == 0 else min(max(int(known.reshape(-1)[0]), 0), most) if known is not None
            else reshape(rw, clamped_starts(rw, lean(start), most), ()))
    return updated(rw, x, update, places)


def updated(rw: Rewriter, x: Value, update: Value, places: Sequence[int | Value]) -> Value:
    """`x` with `update` in it from `places` on, all inside.

    At constant places it is joined with what is around it. Else each element asks whether it lies in the part, and is
    taken from there.
    """
    if all(isinstance(place, int) for place in places):
        return _joined(rw, x, update, [place for place in places if isinstance(place, int)], 0)
    inside: Value | None = None
    for axis, place in enumerate(places):
        size, whole = shape_of(update)[axis], shape_of(x)[axis]
        if size == whole:
            continue
        start = rw.constant(np.array(place, np.int32)) if isinstance(place, int) else place
        column = [1] * x.rank
        column[axis] = whole
        numbers = rw.constant(counting(whole).reshape(column), start.element)
        offset = rw.emit("top.Sub", numbers, start)
        if size == 1:
            mine = rw.emit("top.Compare", offset, like(rw, start, 0), mode="Equal")
        else:
            mine = rw.emit(
                "top.LogicalAnd", rw.emit("top.Compare", offset, like(rw, start, 0), mode="GreaterOrEqual"),
                rw.emit("top.Compare", offset, like(rw, start, size), mode="Less"))
            taken = reshape(rw, rw.emit("top.Clip", offset, min=0.0, max=float(size - 1)), (whole,))
            update = rw.emit("top.Gather", materialized(rw, update), taken, axis=axis, element=update.element)
        inside = mine if inside is None else rw.emit("top.LogicalAnd", inside, mine)
    made = rw.emit("top.Where", inside, lean(update), lean(x), element=x.element)
    return expand(rw, made, shape_of(x))


def _joined(rw: Rewriter, x: Value, update: Value, places: Sequence[int], axis: int) -> Value:
    """`updated` at constant places: along the first dimension that is not whole, what is before, the part, what is behind."""
    while axis < x.rank and update.shape[axis] == x.shape[axis]:
        axis += 1
    if axis == x.rank:
        return update
    start, size, whole = places[axis], shape_of(update)[axis], shape_of(x)[axis]
    middle = _joined(rw, cut_axis(rw, x, axis, start, start + size), update, [*places[:axis], 0, *places[axis + 1 :]], axis + 1)
    parts = [cut_axis(rw, x, axis, 0, start), middle, cut_axis(rw, x, axis, start + size, whole)]
    return rw.emit("top.Concat", *(part for part in parts if shape_of(part)[axis] != 0), axis=axis, element=x.element)


# --- many slices

@TABLE("stablehlo.gather", "stablehlo.dynamic_gather")
def gather(op: DynamicGather | Gather, rw: Rewriter) -> Value:
    """Slices at many places: `top.Gather` along one dimension, `top.GatherND` of several or of larger windows.

    Slices of no elements whose dimensions are collapsed leave something in the result: zeros, as XLA has it.
    """
    refuse_complex(op)
    x, indices = op.operands[:2]
    sizes = _slice_sizes(op, rw) if isinstance(op, DynamicGather) else op.slice_sizes
    nothing = empty(rw, op)
    if nothing:
        return nothing[0]
    shape = static(x, "the operand")
    if 0 in sizes:
        return zeros(rw, op)[0]
    if 0 in shape:
        raise Unsupported("takes slices of a tensor without elements")
    return _Slices(op.dimension_numbers, shape, sizes).gathered(rw, x, indices)


def _slice_sizes(op: DynamicGather | Gather, rw: Rewriter) -> tuple[int, ...]:
    """The sizes that an operand gives, or those that the result's type says: 1 in dimensions that it does not have."""
    d, type_ = op.dimension_numbers, op.results[0].type
    if rw.constant_of(lean(op.operands[2])) is None and getattr(type_, "is_static", False):
        offsets = iter(shape_of(type_)[place] for place in d.offset_dims)
        gone = (*d.collapsed_slice_dims, *d.operand_batching_dims)
        return tuple(1 if axis in gone else next(offsets) for axis in range(op.operands[0].rank))
    sizes = integers(rw, op.operands[2], "the slice sizes")
    shape = shape_of(op.operands[0])
    if not slices_fit(sizes, shape) or any(sizes[axis] > 1 for axis in (*d.collapsed_slice_dims, *d.operand_batching_dims)):
        raise Unsupported(f"slices of sizes {list(sizes)} are not part of a tensor of shape {list(shape)}, or not collapsed")
    agreed(op, gathered_shape(op, sizes))
    return sizes


class _Slices:
    """The roles of dimensions in a gather, with the operand's shape and the sizes of slices.

    The result of the ops emitted has the dimensions [batch.., windows.., rest..]: those of the vectors of indices, of the
    windows in dimensions with a start, of slices from 0 on in the others; then they are put where they belong.
    """

    def __init__(self, d: Any, shape: Sequence[int], sizes: Sequence[int]) -> None:
        self.vector = d.index_vector_dim
        self.mapped = list(d.start_index_map)
        self.batching = list(d.operand_batching_dims)
        self.index_batching = list(d.start_indices_batching_dims)
        self.offset_dims = list(d.offset_dims)
        self.gone = [*d.collapsed_slice_dims, *d.operand_batching_dims]
        self.shape = shape
        self.sizes = sizes
        self.windows = [axis for axis in sorted(self.mapped) if axis not in self.gone]
        self.rest = [axis for axis in range(len(shape)) if axis not in (*self.mapped, *self.batching)]

    def vectors(self, rw: Rewriter, indices: Value) -> Value:
        """Indices with their vectors in the last dimension."""
        if self.vector == indices.rank:
            return reshape(rw, indices, (*shape_of(indices), 1))
        order = [axis for axis in range(indices.rank) if axis != self.vector] + [self.vector]
        return permute(rw, indices, order)

    def gathered(self, rw: Rewriter, x: Value, indices: Value) -> Value:
        starts = self.vectors(rw, indices)
        batch = shape_of(starts)[:-1]
        ends = [self.sizes[axis] if axis in self.rest else size for axis, size in enumerate(self.shape)]
        x = cut(rw, x, [0] * x.rank, ends)
        one = self._one_slice(rw, x, starts)
        if one is not None:
            if not self.mapped:  # as often as there are vectors
                one = expand(rw, one, (*batch, *shape_of(one)))
            return self._placed(rw, one, batch)
        x = materialized(rw, x)
        if len(self.mapped) == 1 and not self.batching and self.sizes[self.mapped[0]] == 1:
            return self._along_one(rw, x, starts)
        order = [*self.mapped, *self.batching, *self.rest]
        subscripts = self._subscripts(rw, starts)
        made = rw.emit("top.GatherND", permute(rw, x, order), subscripts)
        return self._placed(rw, made, batch)

    def _one_slice(self, rw: Rewriter, x: Value, starts: Value) -> Value | None:
        """The slice, if it is the same for all vectors and its place constant, as [windows.., rest..]."""
        known = held(rw, starts)
        if known is None or known.size != len(self.mapped) or self.batching:
            return None
        begins, ends = [0] * x.rank, list(shape_of(x))
        for number, axis in zip(known.reshape(-1).astype(np.int64), self.mapped, strict=True):
            begins[axis] = min(max(int(number), 0), self.shape[axis] - self.sizes[axis])
            ends[axis] = begins[axis] + self.sizes[axis]
        part = cut(rw, x, begins, ends)
        collapsed = [axis for axis in self.mapped if axis in self.gone]
        return permute(rw, part, [*collapsed, *self.windows, *self.rest])

    def _along_one(self, rw: Rewriter, x: Value, starts: Value) -> Value:
        """Rows of one dimension. They come where the dimension was, and are moved to the front."""
        axis = self.mapped[0]
        batch = shape_of(starts)[:-1]
        rows = clamped_starts(rw, reshape(rw, starts, batch), self.shape[axis] - 1)
        made = rw.emit("top.Gather", x, rows, axis=axis)
        n = len(batch)
        if self.windows:  # the window of one element stays as a dimension
            made = reshape(rw, made, (*made.shape[: axis + n], 1, *made.shape[axis + n :]))
        offsets = [place for place in range(made.rank) if not axis <= place < axis + n]
        return self._in_place(rw, made, list(range(axis, axis + n)), offsets)

    def _subscripts(self, rw: Rewriter, starts: Value) -> Value:
        """For each element of batch and windows, its subscripts in the mapped and batching dimensions."""
        batch = list(shape_of(starts)[:-1])
        extent = [*batch, *(self.sizes[axis] for axis in self.windows)]
        columns: list[Value] = []
        for number, axis in enumerate(self.mapped):
            column = cut_axis(rw, starts, starts.rank - 1, number, number + 1)
            column = reshape(rw, column, (*batch, *(1 for _ in self.windows)))
            column = clamped_starts(rw, column, self.shape[axis] - self.sizes[axis])
            if self.sizes[axis] > 1:
                spread = [1] * len(extent)
                spread[len(batch) + self.windows.index(axis)] = self.sizes[axis]
                column = rw.emit("top.Add", column, rw.constant(counting(self.sizes[axis]).reshape(spread), column.element))
            columns.append(column)
        for index_axis in self.index_batching:
            spread = [1] * len(extent)
            place = index_axis - (index_axis > self.vector)
            spread[place] = batch[place]
            element = columns[0].element if columns else I64
            columns.append(rw.constant(counting(spread[place]).reshape(spread), element))
        wide = [
            reshape(rw, materialized(rw, expand(rw, lean(column), extent)), (*extent, 1))
            for column in columns]
        if not wide:
            return rw.constant(tables.zeros((*extent, 0), np.int64))
        joined: Value = wide[0] if len(wide) == 1 else rw.emit("top.Concat", *wide, axis=len(extent))
        return joined

    def _placed(self, rw: Rewriter, made: Value, batch: Sequence[int]) -> Value:
        """[batch.., (ones of one slice..), windows.., rest..] in the order of the result."""
        window_sizes = [self.sizes[axis] for axis in self.windows]
        rest_sizes = [self.sizes[axis] for axis in self.rest]
        collapsed = [axis for axis in self.rest if axis in self.gone]
        made = reshape(rw, made, (*batch, *window_sizes, *rest_sizes))
        n = len(batch)
        where = {axis: n + i for i, axis in enumerate([*self.windows, *self.rest])}
        offsets = [where[axis] for axis in sorted(where) if axis not in collapsed]
        if collapsed:  # of size 1, without a start
            kept = [place for place in range(made.rank) if place not in [where[axis] for axis in collapsed]]
            made = reshape(rw, made, [shape_of(made)[place] for place in kept])
            offsets = [kept.index(place) for place in offsets]
        return self._in_place(rw, made, list(range(n)), offsets)

    def _in_place(self, rw: Rewriter, made: Value, batch: list[int], offsets: list[int]) -> Value:
        """The dimensions `offsets` at offset_dims, those of `batch` at the others."""
        if len(offsets) != len(self.offset_dims):  # dimensions of size 1 that are collapsed without a start
            dropped = [place for place in offsets if made.shape[place] == 1][: len(offsets) - len(self.offset_dims)]
            kept = [place for place in range(made.rank) if place not in dropped]
            made = reshape(rw, made, [shape_of(made)[place] for place in kept])
            batch, offsets = [kept.index(p) for p in batch], [kept.index(p) for p in offsets if p not in dropped]
        left, right = iter(offsets), iter(batch)
        return permute(rw, made, [next(left) if place in self.offset_dims else next(right) for place in range(made.rank)])


@TABLE("stablehlo.torch_index_select")
def torch_index_select(op: TorchIndexSelect, rw: Rewriter) -> Value:
    """`top.Gather` with dimensions in common."""
    refuse_complex(op)
    x, index = op.operands
    axis, shared = op.dim, op.batch_dims
    return rw.emit("top.Gather", materialized(rw, x), as_subscripts(rw, index), axis=axis, batch_dims=shared)
