"""Reading and writing by subscripts: GATHER and SCATTER of rows.

TOSA's operators take rows of [N, K, C] by one subscript each, not negative. Several subscripts become one, the
number of the row in the flattened dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from transload.ir import BOOL, I8, I32, Dense, Value
from transload.rewrite import Rewriter, RewriteTable, Unsupported
from transload_hub import tables
from transload_hub.build import counted, need_place

from ... import build
from ...dialect.base import storage_of
from ..arithmetic.rescaling import quant
from .common import (
    binary,
    cast,
    compare,
    cut,
    filled,
    from_front,
    gather_rows,
    like,
    normal_axis,
    reshape,
    select,
    static_shape,
    transpose,
    typed,
    widened,
)
from .movement import in_type
from .reduce import product_by_halves

if TYPE_CHECKING:
    from transload_hub.ops.gather import Gather, GatherElements, GatherND, ScatterElements, ScatterND

__all__ = ["TABLE"]

TABLE = RewriteTable()


# --- subscripts

def _counted_from_front(rw: Rewriter, indices: Value, size: int) -> Value:
    """Subscripts of a dimension of `size` as i32, negative ones from its end; constants are checked."""
    held = rw.constant_of(indices)
    if held is not None:
        numbers = held.astype(np.int64)
        if numbers.size and (numbers.min() < -size or numbers.max() >= size):
            wrong = numbers.max() if numbers.max() >= size else numbers.min()
            raise Unsupported(f"subscript {wrong} is outside a dimension of size {size}")
        return build.const(rw, np.where(numbers < 0, numbers + size, numbers).astype(np.int32))
    return from_front(rw, cast(rw, indices, I32), size)


def _row_numbers(rw: Rewriter, indices: Value, sizes: Sequence[int]) -> Value:
    """Rows of subscripts [.., n] of dimensions of these sizes as numbers in the flattened dimensions, [..]."""
    shape = static_shape(indices)
    strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    columns = [
        _counted_from_front(rw, cut(rw, indices, len(shape) - 1, i, 1), size) for i, size in enumerate(sizes)]
    total = columns[0] if strides[0] == 1 else binary(rw, "mul", columns[0], like(rw, columns[0], strides[0]))
    for column, stride in zip(columns[1:], strides[1:], strict=True):
        term = column if stride == 1 else binary(rw, "mul", column, like(rw, column, stride))
        total = binary(rw, "add", total, term)
    return reshape(rw, total, shape[:-1])


def _element_numbers(rw: Rewriter, indices: Value, shape: Sequence[int], axis: int) -> Value:
    """For each element of `indices`, which replaces subscript `axis` of its own place, the number of the element of `shape`."""
    strides = [math.prod(shape[dim + 1 :]) for dim in range(len(shape))]
    places = tables.indices(static_shape(indices), np.int64)
    need_place(*static_shape(indices))
    others = tables.zeros(static_shape(indices), np.int64)
    for dim, stride in enumerate(strides):
        if dim != axis:
            others += places[dim] * stride
    own = _counted_from_front(rw, indices, shape[axis])
    if strides[axis] != 1:
        own = binary(rw, "mul", own, like(rw, own, strides[axis]))
    return binary(rw, "add", own, build.const(rw, others.astype(np.int32)))


# --- gather

@TABLE("top.Gather")
def gather(op: Gather, rw: Rewriter) -> Value:
    """SLICE of constant subscripts in a row, else GATHER (tf.GatherV2, which has no `axis` in TOSA).

    Dimensions before the axis are taken as further batches, with the subscripts repeated for each, or where
    those would be many, moved behind it.
    """
    x = in_type(rw, op.input, op.result.element)
    axis, b = normal_axis(op.axis, x.rank), op.batch_dims
    shape, made = static_shape(x), static_shape(op.result)
    if 0 in made:
        return filled(rw, made, op.result.element)
    indices = _counted_from_front(rw, op.indices, shape[axis])
    run = _run(rw.constant_of(indices)) if b == 0 else None
    if run is not None:
        return typed(rw, reshape(rw, cut(rw, x, axis, *run), made), op.result.element)
    before, size, after = shape[b:axis], shape[axis], shape[axis + 1 :]
    batch, count = math.prod(shape[:b]), math.prod(static_shape(indices)[b:])
    repeats = math.prod(before)
    if repeats * count <= max(math.prod(shape), 1 << 12):
        rows = build.tile(rw, reshape(rw, indices, (batch, 1, count)), (1, repeats, 1))
        values = reshape(rw, x, (batch * repeats, size, math.prod(after)))
        picked = gather_rows(rw, values, reshape(rw, rows, (batch * repeats, count)))
        return typed(rw, reshape(rw, picked, made), op.result.element)
    merged = reshape(rw, x, (batch, repeats, size, math.prod(after)))
    values = reshape(rw, transpose(rw, merged, (0, 2, 1, 3)), (batch, size, repeats * math.prod(after)))
    picked = reshape(rw, gather_rows(rw, values, reshape(rw, indices, (batch, count))), (batch, count, repeats, math.prod(after)))
    return typed(rw, reshape(rw, transpose(rw, picked, (0, 2, 1, 3)), made), op.result.element)


def _run(indices: np.ndarray | None) -> tuple[int, int] | None:
    """Start and count of constant subscripts that follow each other."""
    if indices is None or indices.ndim > 1:
        return None
    numbers = indices.reshape(-1)
    if not np.array_equal(numbers, numbers[0] + np.arange(numbers.size)):
        return None
    return int(numbers[0]), int(numbers.size)


@TABLE("top.GatherND")
def gather_nd(op: GatherND, rw: Rewriter) -> Value:
    """GATHER by row numbers (tf.GatherNd has no lowering)."""
    x = in_type(rw, op.input, op.result.element)
    shape, b = static_shape(x), op.batch_dims
    subscripts = static_shape(op.indices)
    n, made = subscripts[-1], static_shape(op.result)
    if 0 in made:
        return filled(rw, made, op.result.element)
    batch, count = math.prod(shape[:b]), math.prod(subscripts[b:-1])
    if n == 0:
        one = build.tile(rw, reshape(rw, x, (batch, 1, math.prod(shape[b:]))), (1, count, 1))
        return typed(rw, reshape(rw, one, made), op.result.element)
    rows = reshape(rw, _row_numbers(rw, op.indices, shape[b : b + n]), (batch, count))
    values = reshape(rw, x, (batch, math.prod(shape[b : b + n]), math.prod(shape[b + n :])))
    return typed(rw, reshape(rw, gather_rows(rw, values, rows), made), op.result.element)


@TABLE("top.GatherElements")
def gather_elements(op: GatherElements, rw: Rewriter) -> Value:
    """GATHER of single elements by their numbers."""
    x = in_type(rw, op.input, op.result.element)
    made = static_shape(op.result)
    if 0 in made:
        return filled(rw, made, op.result.element)
    numbers = _element_numbers(rw, op.indices, static_shape(x), normal_axis(op.axis, x.rank))
    values = reshape(rw, x, (1, math.prod(static_shape(x)), 1))
    return typed(rw, reshape(rw, gather_rows(rw, values, reshape(rw, numbers, (1, math.prod(made)))), made), op.result.element)


# --- scatter

@TABLE("top.ScatterND")
def scatter_nd(op: ScatterND, rw: Rewriter) -> Value | None:
    """SCATTER by row numbers (tf.ScatterNd and tf.TensorScatterUpdate have no lowering), see `_scattered`."""
    if _cannot_take(op):
        return None
    shape, subscripts = static_shape(op.input), static_shape(op.indices)
    n = subscripts[-1]
    count, size, inner = math.prod(subscripts[:-1]), math.prod(shape[:n]), math.prod(shape[n:])
    numbers = _row_numbers(rw, op.indices, shape[:n]) if n else filled(rw, (count,), I32)
    return _scattered(op, rw, (size, count, inner), numbers)


@TABLE("top.ScatterElements")
def scatter_elements(op: ScatterElements, rw: Rewriter) -> Value | None:
    """SCATTER of single elements by their numbers, see `_scattered`."""
    if _cannot_take(op):
        return None
    shape = static_shape(op.input)
    numbers = _element_numbers(rw, op.indices, shape, normal_axis(op.axis, len(shape)))
    return _scattered(op, rw, (math.prod(shape), math.prod(static_shape(op.indices)), 1), numbers)


def _cannot_take(op: ScatterElements | ScatterND) -> bool:
    """Sums and products of quantized numbers are left to floats."""
    return quant(op.result) is not None and op.reduction in ("add", "mul")


ROUNDS = 16
"""How often one row may be written to by constant subscripts before all rows are compared with all subscripts."""
COMPARISONS = 1 << 24
"""How many elements comparing all rows with all subscripts may take."""
_COMBINE = {"add": "add", "mul": "mul", "max": "maximum", "min": "minimum"}


def _scattered(op: ScatterElements | ScatterND, rw: Rewriter, sizes: tuple[int, int, int], numbers: Value) -> Value:
    """`updates` written to rows of the input, or combined with them.

    SCATTER writes no row twice. With constant subscripts the last update of a row is written, or in each round
    the next one combined. With subscripts of run time, which for reduction none must differ, as ONNX demands, but
    where all updates are one number, each row of the result is combined with a reduction over all updates, of which
    those of other rows are neutral.
    """
    size, count, inner = sizes
    element = op.result.element
    x = reshape(rw, in_type(rw, op.input, element), (1, size, inner))
    updates = reshape(rw, in_type(rw, op.updates, element), (1, count, inner))
    boolean = x.element == BOOL
    if boolean:
        x, updates = cast(rw, x, I8), cast(rw, updates, I8)
    if 0 not in (size, count, inner):
        x = _written(rw, x, updates, numbers, op.reduction)
    made = reshape(rw, cast(rw, x, BOOL) if boolean else x, static_shape(op.result))
    return typed(rw, made, element)


def _written(rw: Rewriter, x: Value, updates: Value, numbers: Value, reduction: str) -> Value:
    held = rw.constant_of(numbers)
    size, count = static_shape(x)[1], static_shape(updates)[1]
    if held is not None:
        rounds = _rounds(held.reshape(-1))
        if reduction == "none":
            rounds = [_last_of_each(held.reshape(-1))]
        if len(rounds) <= ROUNDS:
            for members in rounds:
                x = _one_round(rw, x, updates, held.reshape(-1)[members], members, reduction)
            return x
    elif reduction == "none":
        number = _one_number(rw, updates)
        if number is not None and size * count <= COMPARISONS:
            return _marked(rw, x, numbers, count, number)
        if count > size:
            raise Unsupported(f"{count} updates of run-time subscripts into {size} rows: some row is written twice")
        return rw.emit("tosa.scatter", x, reshape(rw, numbers, (1, count)), updates)
    return _by_comparison(rw, x, updates, numbers, reduction)


def _rounds(numbers: np.ndarray) -> list[np.ndarray]:
    """Places of `numbers` in rounds, in each of which no number occurs twice."""
    order = np.argsort(numbers, kind="stable")
    run = numbers[order]
    starts = np.maximum.accumulate(np.where(np.r_[True, run[1:] != run[:-1]], np.arange(run.size), 0))
    occurrence = np.empty(run.size, np.int64)
    occurrence[order] = np.arange(run.size) - starts
    return [np.flatnonzero(occurrence == turn) for turn in range(int(occurrence.max()) + 1)]


def _last_of_each(numbers: np.ndarray) -> np.ndarray:
    """The place of the last occurrence of each number."""
    _, first = np.unique(numbers[::-1], return_index=True)
    return np.sort(numbers.size - 1 - first)


def _one_round(
    rw: Rewriter, x: Value, updates: Value, rows: np.ndarray, members: np.ndarray, reduction: str,
) -> Value:
    """The updates `members` written to, or combined with, `rows`, which differ."""
    if members.size != static_shape(updates)[1]:
        updates = gather_rows(rw, updates, build.const(rw, members.astype(np.int32).reshape(1, -1)))
    where = build.const(rw, rows.astype(np.int32).reshape(1, -1))
    if reduction != "none":
        there = widened(rw, gather_rows(rw, x, where))
        updates = cast(rw, binary(rw, _COMBINE[reduction], there, widened(rw, updates)), x.element)
    return rw.emit("tosa.scatter", x, where, updates)


def _one_number(rw: Rewriter, updates: Value) -> np.ndarray | None:
    """The number that all updates are, if they are constant: which of them is written to a row does not matter then."""
    held = rw.constant_of(updates)
    return None if held is None else Dense(held).splat_value()


def _marked(rw: Rewriter, x: Value, numbers: Value, count: int, number: np.ndarray) -> Value:
    """A number in all rows that are written to, however often."""
    size = static_shape(x)[1]
    hit = compare(rw, "Equal", _all_rows(rw, size, 1), reshape(rw, numbers, (1, count)))
    hit = reshape(rw, rw.emit("tosa.reduce_any", hit, axis=1), (1, size, 1))
    return select(rw, hit, build.const(rw, number.reshape(1, 1, 1), x.element), x)


def _all_rows(rw: Rewriter, size: int, further: int) -> Value:
    """The numbers of all rows, in as many further dimensions."""
    return build.const(rw, counted(size, dtype=np.int32).reshape(size, *(1 for _ in range(further))))


def _by_comparison(rw: Rewriter, x: Value, updates: Value, numbers: Value, reduction: str) -> Value:
    """Reduction over all updates of each row; for `none`, which has constant subscripts then, this is not used."""
    size, count, inner = static_shape(x)[1], static_shape(updates)[1], static_shape(x)[2]
    if size * count * inner > COMPARISONS:
        raise Unsupported(
            f"{count} updates at subscripts of run time, combined by {reduction} with {size} rows of {inner}, are too many",
            "constant subscripts, or reduction none, can be converted")
    element = x.element
    x, updates = widened(rw, x), widened(rw, updates)
    hit = compare(rw, "Equal", _all_rows(rw, size, 2), reshape(rw, numbers, (1, count, 1)))
    least, most = _extremes(x)
    neutral = {"add": 0, "mul": 1, "max": least, "min": most}[reduction]
    chosen = select(rw, hit, updates, like(rw, updates, neutral))
    if reduction == "mul":
        total = product_by_halves(rw, chosen, 1)
    else:
        name = {"add": "sum", "max": "max", "min": "min"}[reduction]
        total = rw.emit(f"tosa.reduce_{name}", chosen, axis=1)
    return cast(rw, binary(rw, _COMBINE[reduction], x, reshape(rw, total, (1, size, inner))), element)


def _extremes(x: Value) -> tuple[float, float]:
    """Least and greatest number of the element type."""
    stored = storage_of(x)
    return stored.range if hasattr(stored, "range") else (-math.inf, math.inf)

