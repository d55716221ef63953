"""Ordering, sums along the way, and tensors made of little.

TOSA has no sort and no cumulative sum; both are made of comparisons, selections and shifted sums.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from ml_dtypes import finfo

from transload.ir import BOOL, I32, FloatType, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable, Unsupported
from transload_hub import tables
from transload_hub.build import counted

from ... import build
from ...dialect.base import storage_of
from ..arithmetic.rescaling import quant, same_numbers
from .cast import cast_value
from .common import (
    binary,
    cast,
    compare,
    concat,
    cut,
    filled,
    flat,
    from_front,
    gather_rows,
    like,
    normal_axis,
    pad,
    plain_into,
    reshape,
    select,
    static_shape,
    transpose,
    typed,
    widened,
)
from .movement import in_type

if TYPE_CHECKING:
    from transload_hub.ops.constant import EyeLike, Fill, NonZero, Range, Shape, Trilu
    from transload_hub.ops.gather import CumSum, OneHot, TopK

__all__ = ["TABLE"]

TABLE = RewriteTable()
plain = plain_into(TABLE)


# --- cumulative sums

@plain("top.CumSum")
def cumulative_sum(op: CumSum, rw: Rewriter) -> Value:
    """Sums of 1, 2, 4, ... elements: x is added to itself, shifted by as many places (tf.Cumsum has no lowering)."""
    x = widened(rw, op.input)
    axis = normal_axis(op.axis, x.rank)
    size = static_shape(x)[axis]
    if op.exclusive:
        x = _shifted(rw, x, axis, 1, op.reverse)
    step = 1
    while step < size:
        x = binary(rw, "add", x, _shifted(rw, x, axis, step, op.reverse))
        step *= 2
    return cast(rw, x, op.result.element)


def _shifted(rw: Rewriter, x: Value, axis: int, step: int, backward: bool) -> Value:
    """`x` moved on by `step` places, zeros moved in; the other way if backward."""
    size = static_shape(x)[axis]
    if step >= size:
        return filled(rw, static_shape(x), x.element)
    kept = cut(rw, x, axis, step if backward else 0, size - step)
    return pad(rw, kept, axis, 0 if backward else step, step if backward else 0, 0)


# --- the greatest elements

RANKED = 1 << 22
"""How many comparisons of all elements with all others are made at once."""
TAKEN = 1024
"""How many elements are taken one by one."""


@TABLE("top.TopK")
def top_k(op: TopK, rw: Rewriter) -> tuple[Value, Value] | None:
    """Few elements by taking the greatest again and again; many by counting for each how many go before it.

    tf.TopKV2 has no lowering. Both give equal elements in the order of their places, and have NaN greater than all numbers.
    """
    source, target = quant(op.input), quant(op.results[0])
    if source is not None and (target is None or not same_numbers(source, target)):
        return None
    shape = static_shape(op.input)
    axis = normal_axis(op.axis, len(shape))
    if op.k == 0:
        taken = static_shape(op.results[0])
        return filled(rw, taken, op.results[0].element), filled(rw, taken, I32)
    order = [*(dim for dim in range(len(shape)) if dim != axis), axis]
    size, outer = shape[axis], math.prod(shape) // max(shape[axis], 1)
    rows = reshape(rw, transpose(rw, op.input, order), (outer, size))
    keys = widened(rw, rows)
    if op.k > 8 and outer * size * size <= RANKED:
        places = _by_rank(rw, keys, op.k, op.largest)
    elif op.k <= TAKEN:
        places = _one_by_one(rw, keys, op.k, op.largest)
    else:
        raise Unsupported(f"the {op.k} greatest of {size} elements take too many operations", f"up to {TAKEN} can be converted")
    values = reshape(rw, gather_rows(rw, reshape(rw, rows, (outer, size, 1)), places), (outer, op.k))
    back = [order.index(dim) for dim in range(len(shape))]
    made = [*(shape[dim] for dim in order[:-1]), op.k]
    found = [transpose(rw, reshape(rw, value, made), back) for value in (values, places)]
    return typed(rw, found[0], op.results[0].element), cast(rw, found[1], op.results[1].element)


def _one_by_one(rw: Rewriter, keys: Value, k: int, largest: bool) -> Value:
    """Places [N, k]: that of the extreme, then of the extreme of the others, ...

    NaN is sought as infinity, which is sought as the greatest finite number: one more comparison for each of k would be
    needed to tell those two apart.
    """
    outer, size = static_shape(keys)
    if isinstance(keys.element, FloatType):
        greatest = like(rw, keys, float(finfo(dtype_of(keys.element)).max))
        keys = select(rw, compare(rw, "Equal", keys, keys), binary(rw, "minimum", keys, greatest), like(rw, keys, math.inf))
    numbers = build.const(rw, counted(size, dtype=np.int32).reshape(1, size))
    nowhere = build.scalar(rw, size, I32, 2)
    stored = storage_of(keys)
    low, high = stored.range if hasattr(stored, "range") else (-math.inf, math.inf)
    taken = like(rw, keys, low if largest else high)
    left = filled(rw, (outer, size), BOOL, True)
    places: list[Value] = []
    for _ in range(k):
        extreme = rw.emit("tosa.reduce_max" if largest else "tosa.reduce_min", select(rw, left, keys, taken), axis=1)
        holds = binary(rw, "logical_and", left, compare(rw, "Equal", keys, extreme))
        place = rw.emit("tosa.reduce_min", select(rw, holds, numbers, nowhere), axis=1)
        places.append(place)
        left = binary(rw, "logical_and", left, compare(rw, "NotEqual", numbers, place))
    return concat(rw, places, 1)


def _by_rank(rw: Rewriter, keys: Value, k: int, largest: bool) -> Value:
    """Places [N, k]: for p from 0, the place of the element that p others go before."""
    outer, size = static_shape(keys)
    one, other = reshape(rw, keys, (outer, size, 1)), reshape(rw, keys, (outer, 1, size))
    before = compare(rw, "Greater" if largest else "Less", other, one)
    earlier = build.const(rw, tables.tri(size, k=-1, dtype=np.bool_)[None])
    tied = binary(rw, "logical_and", compare(rw, "Equal", other, one), earlier)
    before = binary(rw, "logical_or", before, tied)
    if isinstance(keys.element, FloatType):  # no comparison holds of NaN, which goes before what it is greater than
        numbers = compare(rw, "Equal", keys, keys)
        shapes = ((outer, size, 1), (outer, 1, size))
        one_counts, other_counts = (reshape(rw, numbers, shape) for shape in shapes)
        first, last = (one_counts, other_counts) if largest else (other_counts, one_counts)
        nan = rw.emit("tosa.logical_not", last)
        before = binary(rw, "logical_or", before, binary(rw, "logical_and", nan, binary(rw, "logical_or", first, earlier)))
    rank = rw.emit("tosa.reduce_sum", cast(rw, before, I32), axis=2)  # [N, size, 1]
    numbers = build.const(rw, counted(size, dtype=np.int32).reshape(1, size, 1))
    wanted = build.const(rw, counted(k, dtype=np.int32).reshape(1, 1, k))
    chosen = select(rw, compare(rw, "Equal", rank, wanted), numbers, like(rw, numbers, 0))
    return reshape(rw, rw.emit("tosa.reduce_sum", chosen, axis=1), (outer, k))


# --- tensors made of little

@TABLE("top.OneHot")
def one_hot(op: OneHot, rw: Rewriter) -> Value:
    """SELECT of on and off value by EQUAL of the index and each place (tf.OneHot has no lowering)."""
    made = static_shape(op.result)
    axis = normal_axis(op.axis, len(made))
    index_shape = list(made)
    index_shape[axis] = 1
    indices = flat(rw, op.indices, lambda indices: cast_value(rw, indices, I32, "Trunc"))
    indices = from_front(rw, indices, op.depth)
    places = build.const(rw, counted(op.depth, dtype=np.int32).reshape([-1 if dim == axis else 1 for dim in range(len(made))]))
    hit = compare(rw, "Equal", reshape(rw, indices, index_shape), places)
    on, off = (reshape(rw, in_type(rw, value, op.result.element), (1,) * len(made)) for value in (op.on_value, op.off_value))
    return typed(rw, select(rw, hit, on, off), op.result.element)


@TABLE("top.Trilu")
def triangle(op: Trilu, rw: Rewriter) -> Value:
    """SELECT of the tensor or zero by a constant mask."""
    x = in_type(rw, op.input, op.result.element)
    rows, columns = static_shape(x)[-2:]
    diagonal = max(min(op.k, columns + 1), -rows)  # beyond, all or nothing is left
    mask = tables.tri(rows, columns, diagonal - 1 if op.upper else diagonal, dtype=np.bool_)
    kept = build.const(rw, (~mask if op.upper else mask).reshape((1,) * (x.rank - 2) + (rows, columns)))
    type_ = quant(x)
    if type_ is not None and not type_.per_tensor and any(type_.zero_points):
        raise Unsupported("a tensor quantized per axis with zero points has no one stored number for 0")
    zero = like(rw, x, type_.zero_points[0] if type_ is not None else 0)
    return select(rw, kept, x, zero, element=x.element)


@TABLE("top.Fill")
def fill(op: Fill, rw: Rewriter) -> Value:
    """CONST of one number; of a number of run time, TILE (tf.Fill)."""
    shape = static_shape(op.result)
    value = in_type(rw, op.value, op.result.element)
    held = rw.constant_of(value)
    if held is not None:
        return filled(rw, shape, op.result.element, held.reshape(-1)[0])
    return typed(rw, build.tile(rw, reshape(rw, value, (1,) * len(shape)), shape), op.result.element)


@plain("top.Range")
def range_(op: Range, rw: Rewriter) -> Value:
    """CONST of constant bounds; `start + i * delta` where those are of run time and only the count is known."""
    (count,) = static_shape(op.result, "the range")
    bounds = [rw.constant_of(value) for value in (op.start, op.limit, op.delta)]
    if all(bound is not None for bound in bounds):
        start, _, delta = (bound.reshape(-1)[0] for bound in bounds)
        return build.const(rw, (start + counted(count) * delta).astype(bounds[0].dtype), op.result.element)
    start, delta = (reshape(rw, widened(rw, value), (1,)) for value in (op.start, op.delta))
    numbers = cast(rw, build.const(rw, counted(count, dtype=np.int32)), start.element)
    return cast(rw, binary(rw, "add", start, binary(rw, "mul", numbers, delta)), op.result.element)


@TABLE("top.Shape")
def shape(op: Shape, rw: Rewriter) -> Value:
    """CONST of the sizes (lower_shape_op)."""
    return build.const(rw, np.asarray(static_shape(op.input), np.int32), op.result.element)


@TABLE("top.EyeLike")
def eye_like(op: EyeLike, rw: Rewriter) -> Value:
    """CONST of ones on the diagonal."""
    rows, columns = static_shape(op.input)
    if quant(op.result) is not None:
        raise Unsupported("a quantized identity matrix has no one form")
    return cast(rw, build.const(rw, tables.eye(rows, columns, op.k, dtype=np.int32)), op.result.element)


@plain("top.NonZero")
def non_zero(op: NonZero, rw: Rewriter) -> Value:
    """Only of a constant, whose subscripts are a constant: how many there are is not known otherwise."""
    held = rw.need_constant(op.input, "the operand of NonZero")
    found = np.stack(np.nonzero(np.atleast_1d(held))).astype(np.int32)
    return build.const(rw, found, op.result.element)

