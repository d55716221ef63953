"""Reading and writing by subscripts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import I32, I64, IntegerType, Type, Value
from transload.ir.build import Builder, constant_of
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.tables import distinct

from .. import build
from ..build import binary, compare, select
from .common import normal_axis, promoted, static_shape

if TYPE_CHECKING:
    from transload_hub.ops.gather import Gather, GatherElements, GatherND, OneHot, ScatterElements, ScatterND

__all__ = ["TABLE", "take", "take_along"]

TABLE = RewriteTable()

# --- indices


def index_type(indices: Value, sizes: Sequence[int]) -> Type:
    """The type in which indices into dimensions of `sizes` are computed: i32, or i64 where they or the sizes are wider."""
    element = indices.element
    wide = isinstance(element, IntegerType) and (element.width > 32 or element == IntegerType(32, "u"))
    return I64 if wide or max(sizes, default=0) > I32.range[1] else I32


def from_front(rw: Builder, indices: Value, size: int) -> Value:
    """Indices of a dimension counted from the front, in a type for computing with them."""
    wide = build.convert(rw, indices, index_type(indices, (size,)))
    dense = constant_of(wide)
    if getattr(indices.element, "unsigned", False) or (dense is not None and bool(np.all(distinct(dense.numpy()) >= 0))):
        return wide
    return select(rw, compare(rw, "LT", wide, 0), binary(rw, "add", wide, size), wide)


def _vectors(rw: Builder, indices: Value, sizes: Sequence[int]) -> Value:
    """Vectors of subscripts [.., n], each counted from the front of its dimension."""
    wide = build.convert(rw, indices, index_type(indices, sizes))
    dense = constant_of(wide)
    if not sizes or (dense is not None and bool(np.all(distinct(dense.numpy()) >= 0))):
        return wide
    limits = build.const(rw, np.asarray(sizes), wide.element)
    return select(rw, compare(rw, "LT", wide, 0), binary(rw, "add", wide, limits), wide)


# --- gather


def take(rw: Builder, x: Value, axis: int, indices: Value) -> Value:
    """The slices of an axis at indices counted from the front: `x.shape[:axis] + indices.shape + x.shape[axis + 1:]`.

    A constant run of indices is a slice.
    """
    shape, places = static_shape(x), static_shape(indices)
    made = (*shape[:axis], *places, *shape[axis + 1 :])
    dense = constant_of(indices)
    if dense is not None and math.prod(places) > 0:
        numbers = dense.numpy().reshape(-1)
        if numbers.max() >= shape[axis] or numbers.min() < 0:
            wrong = numbers.max() if numbers.max() >= shape[axis] else numbers.min() - shape[axis]
            raise Unsupported(f"index {wrong} is outside a dimension of size {shape[axis]}")
        run = _run(numbers)
        if run is not None:
            starts, limits, steps = [0] * len(shape), list(shape), [1] * len(shape)
            starts[axis], limits[axis], steps[axis] = run.start, run[-1] + 1, run.step
            return build.reshape(rw, build.slice_(rw, x, starts, limits, steps), made)
    sizes = list(shape)
    sizes[axis] = 1
    if 0 in made:
        return build.filled(rw, made, x.element)
    offsets = [*range(axis), *range(axis + len(places), len(made))]
    return build.gather(rw, x, indices, sizes, offsets, (axis,), (axis,), vector_dim=len(places))


def _run(numbers: np.ndarray) -> range | None:
    """Rising numbers at one distance as a range."""
    if len(numbers) == 1:
        return range(int(numbers[0]), int(numbers[0]) + 1)
    step = int(numbers[1] - numbers[0])
    found = range(int(numbers[0]), int(numbers[-1]) + 1, step) if step > 0 else None
    return found if found is not None and np.array_equal(numbers, found) else None


@TABLE("top.Gather")
def gather(op: Gather, rw: Rewriter) -> Value:
    x, shape = op.input, static_shape(op.input)
    axis, common = normal_axis(op.axis, len(shape)), op.batch_dims
    indices = from_front(rw, op.indices, shape[axis])
    if common == 0:
        return take(rw, x, axis, indices)
    if 0 in static_shape(op.result):
        return build.filled(rw, static_shape(op.result), x.element)
    # the common dimensions as one, [B, before, N, after] by [B, K]: pairs of a batch and an index
    batch, before, after = (math.prod(part) for part in (shape[:common], shape[common:axis], shape[axis + 1 :]))
    count = math.prod(static_shape(indices)[common:])
    flat = build.reshape(rw, x, (batch, before, shape[axis], after))
    rows = build.reshape(rw, indices, (batch, count, 1))
    pairs = build.concat(rw, (build.iota(rw, (batch, count, 1), 0, rows.element), rows), 2)
    y = build.gather(rw, flat, pairs, (1, before, 1, after), (1, 3), (0, 2), (0, 2))
    return build.reshape(rw, y, static_shape(op.result))


@TABLE("top.GatherND")
def gather_nd(op: GatherND, rw: Rewriter) -> Value:
    x, shape, places = op.input, static_shape(op.input), static_shape(op.indices)
    common, depth = op.batch_dims, places[-1]
    made = static_shape(op.result)
    if 0 in made:
        return build.filled(rw, made, x.element)
    if depth + common == 0:
        return build.broadcast(rw, x, made)
    vectors = _vectors(rw, op.indices, shape[common : common + depth])
    if common:
        one = (*places[:-1], 1)
        batch = [build.iota(rw, one, axis, vectors.element) for axis in range(common)]
        vectors = build.concat(rw, [*batch, vectors] if depth else batch, len(places) - 1)
    taken = tuple(range(common + depth))
    sizes = [1 if axis in taken else size for axis, size in enumerate(shape)]
    return build.gather(rw, x, vectors, sizes, tuple(range(len(places) - 1, len(made))), taken, taken)


def take_along(rw: Builder, x: Value, indices: Value, axis: int) -> Value:
    """`y[i, j, k] = x[i, indices[i, j, k], k]` for axis 1, and likewise for others; indices counted from the front.

    The elements lie in a row, each at the sum of its subscripts times their strides.
    """
    made = static_shape(indices)
    if 0 in made:
        return build.filled(rw, made, x.element)
    row = build.reshape(rw, x, (math.prod(static_shape(x)),))
    return take(rw, row, 0, _linear(rw, indices, static_shape(x), axis))


def _linear(rw: Builder, indices: Value, shape: Sequence[int], axis: int) -> Value:
    """Where in a row the elements of a tensor lie that indices of one axis name."""
    element = I64 if math.prod(shape) >= 1 << 31 else indices.element
    made = static_shape(indices)
    places = build.convert(rw, indices, element)
    strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    total = binary(rw, "multiply", places, strides[axis]) if strides[axis] != 1 else places
    for other, stride in enumerate(strides):
        if other != axis and made[other] > 1:
            total = binary(rw, "add", total, binary(rw, "multiply", build.iota(rw, made, other, element), stride))
    return total


@TABLE("top.GatherElements")
def gather_elements(op: GatherElements, rw: Rewriter) -> Value:
    axis = normal_axis(op.axis, op.input.rank)
    return take_along(rw, op.input, from_front(rw, op.indices, static_shape(op.input)[axis]), axis)


# --- scatter

COMBINATIONS: dict[str, Any] = {
    "none": build.replace, "add": "add", "mul": "multiply", "max": "maximum", "min": "minimum"}  # fmt: skip


@TABLE("top.ScatterND")
def scatter_nd(op: ScatterND, rw: Rewriter) -> Value:
    x, updates = op.input, build.convert(rw, op.updates, op.input.element)
    depth = static_shape(op.indices)[-1]
    if 0 in static_shape(updates):
        return x
    if depth == 0:
        return _updated_whole(rw, op, x, updates)
    vectors = _vectors(rw, op.indices, static_shape(x)[:depth])
    outer = len(static_shape(op.indices)) - 1
    return build.scatter(
        rw, x, vectors, updates, COMBINATIONS[op.reduction], tuple(range(outer, updates.rank)), tuple(range(depth)),
        tuple(range(depth)))


def _updated_whole(rw: Rewriter, op: ScatterND, x: Value, updates: Value) -> Value:
    """Without subscripts, each update is of the whole tensor: the last one stays, or all are combined."""
    shape = static_shape(x)
    rows = build.reshape(rw, updates, (math.prod(static_shape(updates)[: updates.rank - x.rank]), *shape))
    if op.reduction == "none":
        return build.reshape(rw, build.cut(rw, rows, 0, static_shape(rows)[0] - 1, 1), shape)
    a, b = promoted(rw, x, rows)
    name = COMBINATIONS[op.reduction]
    return build.convert(rw, binary(rw, name, a, build.reduce(rw, b, (0,), name)), x.element)


@TABLE("top.ScatterElements")
def scatter_elements(op: ScatterElements, rw: Rewriter) -> Value:
    """The elements in a row, and each update at the sum of its subscripts times their strides."""
    x, shape = op.input, static_shape(op.input)
    updates = build.convert(rw, op.updates, x.element)
    count = math.prod(static_shape(updates))
    if not count:
        return x
    axis = normal_axis(op.axis, len(shape))
    places = build.reshape(rw, _linear(rw, from_front(rw, op.indices, shape[axis]), shape, axis), (count, 1))
    row = build.reshape(rw, x, (math.prod(shape),))
    y = build.scatter(rw, row, places, build.reshape(rw, updates, (count,)), COMBINATIONS[op.reduction], (), (0,), (0,))
    return build.reshape(rw, y, shape)


@TABLE("top.OneHot")
def one_hot(op: OneHot, rw: Rewriter) -> Value:
    """A comparison with the places along the new dimension."""
    shape = static_shape(op.result)
    axis = normal_axis(op.axis, len(shape))
    indices = build.convert(rw, op.indices, I64)
    indices = select(rw, compare(rw, "LT", indices, 0), binary(rw, "add", indices, op.depth), indices)
    chosen = build.spread(rw, indices, shape, [i for i in range(len(shape)) if i != axis])
    found = compare(rw, "EQ", chosen, build.iota(rw, shape, axis, I64))
    on, off = (build.reshape(rw, value, ()) for value in (op.on_value, op.off_value))
    return select(rw, found, on, build.convert(rw, off, on.element))
