"""Ops that read or write elements by subscripts, and what is found, counted and put together by them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, F32, I32, FloatType, Op, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import cast, compared_not, reshape, scalar_like, slice_along
from transload_hub.scatter import sparse_to_dense
from transload_hub.slicing import update_slice

from .table import (
    TfTable,
    attr,
    axis_of,
    constant_array,
    constant_count,
    constant_data,
    constant_int,
    constant_ints,
    constant_sizes,
    element_of,
    need_place,
    shape_of,
)

__all__ = ["TABLE", "counted", "ignores_outside"]

TABLE = TfTable()

# --- reading

@TABLE("Gather", "GatherV2")
def gather(op: Op, rw: Rewriter) -> Value:
    """Gather, GatherV2: slices of a constant axis."""
    value, indices = op.operands[:2]
    axis, batch_dims = 0, int(attr(op, "batch_dims", 0))
    if op.name == "tf.GatherV2":
        axis = axis_of(constant_int(rw, op.operands[2], "the axis"), len(shape_of(value, least=1)))
    if batch_dims < 0:
        batch_dims += len(shape_of(indices))
    return rw.emit("top.Gather", value, indices, axis=axis, batch_dims=batch_dims or None)


@TABLE("GatherNd")
def gather_nd(op: Op, rw: Rewriter) -> Value:
    """GatherNd; with the policy "IGNORE" zeros where a subscript is outside."""
    value, indices = op.operands
    if not ignores_outside(op):
        return rw.emit("top.GatherND", value, indices)
    inside = _inside(rw, shape_of(value), indices)
    safe = rw.emit("top.Where", rw.emit("top.Unsqueeze", inside, axes=(-1,)), indices, scalar_like(rw, indices, 0))
    taken = rw.emit("top.GatherND", value, safe)
    return rw.emit("top.Where", _over(rw, inside, taken), taken, scalar_like(rw, taken, 0))


def ignores_outside(op: Op) -> bool:
    """Whether subscripts that are outside are left out (zeros are read there); else TensorFlow's kernels for CPUs refuse them."""
    policy = attr(op, "bad_indices_policy", "") or "DEFAULT"
    if policy not in ("DEFAULT", "ERROR", "IGNORE"):
        raise Unsupported(f"has the bad_indices_policy {policy!r}")
    return bool(policy == "IGNORE")


def _inside(rw: Rewriter, sizes: Sequence[int], indices: Value) -> Value:
    """Which of the subscripts [.., n] lie in the first n dimensions, all n of them: flags [..]."""
    count = shape_of(indices, least=1)[-1]
    ends = rw.constant(np.asarray(sizes[:count], dtype_of(indices.element)), element=indices.element)
    below = rw.emit("top.Compare", indices, scalar_like(rw, indices, 0), mode="GreaterOrEqual")
    both = rw.emit("top.LogicalAnd", below, rw.emit("top.Compare", indices, ends, mode="Less"))
    return rw.emit("top.Reduce", both, axes=(-1,), keepdims=False, mode="ReduceAll")


def _over(rw: Rewriter, flags: Value, slices: Value) -> Value:
    """Flags [..] of slices [.., rest..] as [.., 1..], which broadcasts over these."""
    return reshape(rw, flags, (*shape_of(flags), *(1,) * (slices.rank - flags.rank)))


def _written(op: Op, rw: Rewriter, ground: Value, indices: Value, updates: Value, reduction: str) -> Value:
    """Updates written or combined into a tensor; with the policy "IGNORE" those whose subscripts are outside are left out.

    They go to one slice more, behind all others along the first dimension, which is cut off. Without subscripts none is outside.
    """
    if not ignores_outside(op) or not shape_of(indices, least=1)[-1]:
        return rw.emit("top.ScatterND", ground, indices, updates, reduction=reduction)
    sizes = shape_of(ground, least=1)
    inside = rw.emit("top.Unsqueeze", _inside(rw, sizes, indices), axes=(-1,))
    spare = np.asarray([sizes[0], *[0] * (shape_of(indices)[-1] - 1)], dtype_of(indices.element))
    places = rw.emit("top.Where", inside, indices, rw.constant(spare, element=indices.element))
    longer = rw.emit("top.Pad", ground, scalar_like(rw, ground, 0), paddings=(*[0] * len(sizes), 1, *[0] * (len(sizes) - 1)))
    return slice_along(rw, rw.emit("top.ScatterND", longer, places, updates, reduction=reduction), 0, 0, sizes[0])


# --- writing

@TABLE("ScatterNd")
def scatter_nd(op: Op, rw: Rewriter) -> Value:
    """ScatterNd: added to zeros of a constant shape."""
    indices, updates, shape = op.operands
    reduction = "none" if updates.element == BOOL else "add"
    zero = rw.constant(np.asarray(0, dtype_of(updates.element)), element=updates.element)
    ground = rw.emit("top.Fill", zero, shape=constant_sizes(rw, shape, "the shape of the result"))
    return _written(op, rw, ground, indices, updates, reduction)


_REDUCTIONS = {
    "TensorScatterUpdate": "none", "TensorScatterAdd": "add", "TensorScatterSub": "add", "TensorScatterMax": "max",
    "TensorScatterMin": "min", "ScatterNdNonAliasingAdd": "add",
}


@TABLE(*_REDUCTIONS)
def tensor_scatter(op: Op, rw: Rewriter) -> Value:
    """TensorScatterUpdate, TensorScatterAdd, -Sub, -Max, -Min, ScatterNdNonAliasingAdd."""
    value, indices, updates = op.operands
    name = op.name.removeprefix("tf.")
    if name == "TensorScatterSub":
        updates = rw.emit("top.Sub", scalar_like(rw, updates, 0), updates)
    return _written(op, rw, value, indices, updates, _REDUCTIONS[name])


@TABLE("XlaDynamicUpdateSlice")
def dynamic_update_slice(op: Op, rw: Rewriter) -> Value:
    """XlaDynamicUpdateSlice: the start is moved so that the update fits."""
    value, update, start = op.operands
    return update_slice(rw, value, update, start)


@TABLE("SparseToDense")
def sparse_to_dense_(op: Op, rw: Rewriter) -> Value:
    """SparseToDense."""
    indices, shape, values, default = op.operands
    return sparse_to_dense(rw, indices, constant_sizes(rw, shape, "the shape of the result"), values, default)


@TABLE("InplaceUpdate", "InplaceAdd", "InplaceSub")
def inplace(op: Op, rw: Rewriter) -> Value:
    """InplaceUpdate, InplaceAdd, InplaceSub: rows at some places (modulo their number) written, added, subtracted."""
    value, places, rows = op.operands
    count = shape_of(value, least=1)[0]
    known = rw.constant_of(places)
    if known is None:
        places = rw.emit("top.FloorMod", places, scalar_like(rw, places, count))
    else:
        places = rw.constant(np.asarray(known) % max(count, 1))
    places = reshape(rw, places, (*shape_of(places, 1), 1))
    rows = rw.emit("top.Neg", rows) if op.name == "tf.InplaceSub" else rows
    return rw.emit("top.ScatterND", value, places, rows, reduction="none" if op.name == "tf.InplaceUpdate" else "add")


@TABLE("UnravelIndex")
def unravel_index(op: Op, rw: Rewriter) -> Value:
    """UnravelIndex: the subscripts [rank, ...] of elements by their numbers."""
    numbers, sizes = op.operands[0], constant_sizes(rw, op.operands[1], "the sizes", least=1)
    subscripts: list[Value] = []
    for size in reversed(sizes):
        subscripts.append(rw.emit("top.FloorMod", numbers, scalar_like(rw, numbers, size)))
        numbers = rw.emit("top.FloorDiv", numbers, scalar_like(rw, numbers, size))
    return rw.emit("top.Pack", *reversed(subscripts), axis=0)


@TABLE("DataFormatDimMap", "DataFormatVecPermute")
def data_format(op: Op, rw: Rewriter) -> Value:
    """DataFormatDimMap: dimensions of one layout by their numbers in another; DataFormatVecPermute: what is said of them so."""
    value, source, wanted = op.operands[0], str(attr(op, "src_format", "NHWC")), str(attr(op, "dst_format", "NCHW"))
    if sorted(source) != sorted(wanted):
        raise Unsupported(f"turns {source} into {wanted}")
    if op.name == "tf.DataFormatDimMap":
        table = np.array([wanted.index(each) for each in source], dtype_of(value.element))
        places = rw.emit("top.FloorMod", value, scalar_like(rw, value, len(source)))
        return rw.emit("top.Gather", rw.constant(table, element=value.element), places, axis=0)
    count = shape_of(value, least=1)[0]
    if count == len(source) - 2:  # the spatial ones alone
        source, wanted = ("".join(c for c in format_ if c not in "NC") for format_ in (source, wanted))
    if count != len(source):
        raise Unsupported(f"says {count} things of the dimensions {source}")
    return rw.emit("top.Gather", value, rw.constant(np.array([source.index(each) for each in wanted], np.int32)), axis=0)


@TABLE("DynamicStitch", "ParallelDynamicStitch")
def dynamic_stitch(op: Op, rw: Rewriter) -> Value:
    """DynamicStitch, ParallelDynamicStitch at constant places: rows put together, of a place that is named twice the last one."""
    half = len(op.operands) // 2
    if len(op.operands) % 2:
        raise Unsupported(f"has {len(op.operands)} operands: places and rows, as many of each")
    indices = [constant_array(rw, value, "the places") for value in op.operands[:half]]
    rows = [reshape(rw, value, (places.size, *shape_of(value)[places.ndim :]))
            for places, value in zip(indices, op.operands[half:], strict=True)]
    flat = np.concatenate([np.zeros(0, np.int32), *(places.reshape(-1) for places in indices)])
    if not flat.size or flat.min() < 0:
        raise Unsupported("puts no rows together, or some at negative places")
    need_place(int(flat.max()) + 1)
    order = tables.zeros(int(flat.max(initial=-1)) + 1, np.int32)
    order[flat] = np.arange(flat.size, dtype=np.int32)
    joined = rw.emit("top.Concat", *rows, axis=0) if len(rows) > 1 else rows[0]
    return rw.emit("top.Gather", joined, rw.constant(order), axis=0)


@TABLE("DynamicPartition", sized_by=(1,))
def dynamic_partition(op: Op, rw: Rewriter) -> list[Value]:
    """DynamicPartition by constant numbers of partitions."""
    value, given = op.operands
    partitions = constant_data(rw, given)
    rows = reshape(rw, value, (partitions.size, *shape_of(value)[partitions.ndim :]))
    places = [np.flatnonzero(partitions.reshape(-1) == number).astype(np.int32) for number in range(len(op.results))]
    return [rw.emit("top.Gather", rows, rw.constant(taken), axis=0) for taken in places]


# --- finding

@TABLE("Where", sized_by=(0,))
def where(op: Op, rw: Rewriter) -> Value:
    """Where a constant is not 0: the subscripts, a row each."""
    held = constant_data(rw, op.operands[0])
    return rw.constant(np.argwhere(held).astype(np.int64).reshape(-1, held.ndim))


@TABLE("Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2", sized_by=(0,))
def unique(op: Op, rw: Rewriter) -> list[Value]:
    """Unique, UniqueV2, UniqueWithCounts, UniqueWithCountsV2 of a constant, in order of first occurrence; NaN equals none."""
    held = constant_data(rw, op.operands[0])
    axes = constant_ints(rw, op.operands[1], "the axis") if op.name.endswith("V2") else ()
    axis = axis_of(axes[0], held.ndim) if axes else 0
    values, first, inverse, counts = np.unique(
        held, True, True, True, axis=axis if held.ndim > 1 else None, equal_nan=False)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    made = [np.take(values, order, axis if held.ndim > 1 else 0), rank[inverse.reshape(-1)], counts[order]]
    return [rw.constant(np.ascontiguousarray(array.astype(dtype_of(element_of(op, index)))), element=element_of(op, index))
            for index, array in enumerate(made[: len(op.results)])]


@TABLE("ListDiff", sized_by=(0, 1))
def list_diff(op: Op, rw: Rewriter) -> list[Value]:
    """ListDiff of constants: the numbers of one that the other has not, and where they are."""
    one, other = (constant_data(rw, value) for value in op.operands)
    places = np.flatnonzero(~np.isin(one, other))
    return [rw.constant(one[places], element=op.operands[0].element),
            rw.constant(places.astype(dtype_of(element_of(op, 1))), element=element_of(op, 1))]


@TABLE("LowerBound", "UpperBound")
def bound(op: Op, rw: Rewriter) -> Value:
    """LowerBound, UpperBound: how many of a sorted row are less than (or not greater than) each number; NaN: none (or all)."""
    row, wanted = (rw.emit("top.Unsqueeze", value, axes=(axis,)) for value, axis in zip(op.operands, (1, 2), strict=True))
    lower = op.name == "tf.LowerBound"
    before = rw.emit("top.Compare", row, wanted, mode="Less") if lower else compared_not(rw, row, wanted, "Greater")
    return counted(rw, before, 2, op)


@TABLE("Bucketize")
def bucketize(op: Op, rw: Rewriter) -> Value:
    """Bucketize: how many boundaries are not above each number, and of NaN all."""
    value = op.operands[0]
    bounds = np.asarray(attr(op, "boundaries"), np.float32)
    element = value.element
    if isinstance(element, FloatType):
        held = rw.constant(bounds.astype(dtype_of(element)), element=element)
    else:
        value, held = cast(rw, value, F32), rw.constant(bounds)
    wide = rw.emit("top.Unsqueeze", value, axes=(-1,))
    return counted(rw, compared_not(rw, wide, held, "Less"), len(shape_of(wide)) - 1, op)


def counted(rw: Rewriter, flags: Value, axis: int, op: Op) -> Value:
    """How many are true along an axis, in the type of the op's result."""
    total = rw.emit("top.Reduce", cast(rw, flags, I32), axes=(axis,), keepdims=False, mode="ReduceSum")
    return cast(rw, total, element_of(op))


# --- counting

@TABLE("Bincount", "DenseBincount")
def bincount(op: Op, rw: Rewriter) -> Value:
    """Bincount, DenseBincount: how often, or with which total weight, each number up to a constant size occurs."""
    value, size, weights = op.operands
    count = constant_count(rw, size, "the number of bins")
    sizes = shape_of(value)
    if op.name == "tf.Bincount" or len(sizes) < 2:
        value = reshape(rw, value, (math.prod(sizes),))
    bins = rw.constant(tables.arange(count).astype(dtype_of(value.element)), element=value.element)
    equal = rw.emit("top.Compare", rw.emit("top.Unsqueeze", value, axes=(-1,)), bins, mode="Equal")
    axis = len(shape_of(value)) - 1
    if attr(op, "binary_output", False):
        return cast(rw, rw.emit("top.Reduce", equal, axes=(axis,), keepdims=False, mode="ReduceAny"), element_of(op))
    if not math.prod(shape_of(weights)):
        return counted(rw, equal, axis, op)
    held = rw.emit("top.Unsqueeze", reshape(rw, weights, shape_of(value)), axes=(-1,))
    chosen = rw.emit("top.Where", equal, held, scalar_like(rw, held, 0))
    return rw.emit("top.Reduce", chosen, axes=(axis,), keepdims=False, mode="ReduceSum")


@TABLE("HistogramFixedWidth")
def histogram(op: Op, rw: Rewriter) -> Value:
    """HistogramFixedWidth: how many numbers are in each of so many equal parts of a range; those outside in the outermost."""
    value, ends, bins = op.operands
    count = constant_count(rw, bins, "the number of bins", least=1)
    low, high = rw.emit("top.Split", ends, axis=0, split_size=(1, 1))
    flat = reshape(rw, value, (math.prod(shape_of(value)),))
    share = rw.emit("top.Div", rw.emit("top.Sub", flat, low), rw.emit("top.Sub", high, low))
    places = rw.emit("top.Floor", rw.emit("top.Mul", share, scalar_like(rw, share, count)))
    inside = rw.emit("top.Clip", places, min=0.0, max=float(count - 1))
    numbers = rw.constant(tables.arange(count).astype(dtype_of(value.element)), element=value.element)
    equal = rw.emit("top.Compare", rw.emit("top.Unsqueeze", inside, axes=(-1,)), numbers, mode="Equal")
    return counted(rw, equal, 0, op)


