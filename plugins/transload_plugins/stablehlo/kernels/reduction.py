"""Kernels that apply functions: reduce, reduce_window, select_and_scatter, sort, map."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import dtype_of

from ..dialect.base import padding_of
from .lanes import Lanes
from .movement import padded
from .table import Array, kernel

if TYPE_CHECKING:
    from ..dialect.reduction import Map, Reduce, ReduceWindow, SelectAndScatter, Sort


@kernel("reduce", quantized="native")
def reduce(op: Reduce, *arrays: Array, run: Any) -> tuple[Array, ...]:
    n = len(arrays) // 2
    inputs, inits = arrays[:n], arrays[n:]
    gone = sorted(op.dimensions)
    kept = [d for d in range(np.ndim(inputs[0])) if d not in gone]
    shape = [np.shape(inputs[0])[d] for d in kept]
    count = math.prod(np.shape(inputs[0])[d] for d in gone)
    flat = [np.transpose(array, [*gone, *kept]).reshape(count, *shape) for array in inputs]
    if np.ndim(inits[0]):  # of tensors, one at a time
        dtypes = [dtype_of(argument.element) for argument in op.body.block.arguments]
        current = [np.asarray(init).astype(dtype) for init, dtype in zip(inits, dtypes, strict=False)]
        for parts in zip(*flat, strict=True):
            current = run(op.body, *current, *(part.astype(dtype) for part, dtype in zip(parts, dtypes, strict=False)))
        return tuple(current)
    return tuple(Lanes(op.body, run).reduce(inits, flat))


def _window_places(
    window: Sequence[int], dilations: Sequence[int], strides: Sequence[int], counts: Sequence[int]
) -> Iterator[tuple[slice, ...]]:
    """For each place in a window, the elements there of all windows."""
    for place in np.ndindex(*window):
        yield tuple(
            slice(at * dilation, at * dilation + (count - 1) * stride + 1 if count else at * dilation, stride)
            for at, dilation, stride, count in zip(place, dilations, strides, counts, strict=True)
        )


def _counts(shape: Sequence[int], window: Sequence[int], dilations: Sequence[int], strides: Sequence[int]) -> list[int]:
    return [
        0 if size <= 0 or (length - 1) * dilation + 1 > size else (size - (length - 1) * dilation - 1) // stride + 1
        for size, length, dilation, stride in zip(shape, window, dilations, strides, strict=True)
    ]


@kernel("reduce_window", quantized="native")
def reduce_window(op: ReduceWindow, *arrays: Array, run: Any) -> tuple[Array, ...]:
    n = len(arrays) // 2
    inputs, inits = arrays[:n], arrays[n:]
    padding = padding_of(op, np.ndim(inputs[0]))
    low, high = [pair[0] for pair in padding], [pair[1] for pair in padding]
    interior = [dilation - 1 for dilation in op.base_dilations]
    wide = [padded(array, init, low, high, interior) for array, init in zip(inputs, inits, strict=True)]
    counts = _counts(wide[0].shape, op.window_dimensions, op.window_dilations, op.window_strides)
    body = Lanes(op.body, run)
    current = [np.broadcast_to(init, counts) for init in inits]
    for place in _window_places(op.window_dimensions, op.window_dilations, op.window_strides, counts):
        current = body(*current, *(array[place] for array in wide))
    return tuple(current)


@kernel("select_and_scatter", quantized="native")
def select_and_scatter(op: SelectAndScatter, operand: Array, source: Array, init: Array, run: Any) -> Array:
    padding = padding_of(op, np.ndim(operand))
    low, high = [pair[0] for pair in padding], [pair[1] for pair in padding]
    none = [0] * np.ndim(operand)
    numbers = np.arange(operand.size).reshape(operand.shape)
    values, places = padded(operand, np.zeros((), operand.dtype), low, high, none), padded(numbers, -1, low, high, none)
    ones = [1] * np.ndim(operand)
    counts = _counts(values.shape, op.window_dimensions, ones, op.window_strides)
    select = Lanes(op.regions[0], run)
    best: Array = None
    where = np.full(counts, -1)
    for place in _window_places(op.window_dimensions, ones, op.window_strides, counts):
        value, number = values[place], places[place]
        if best is None:
            best, where = value, number
            continue
        keep = select(best, value)[0]
        take = (number >= 0) & ((where < 0) | ~keep)
        best, where = np.where(take, value, best), np.where(take, number, where)
    out = np.broadcast_to(init, (operand.size,)).copy()
    scatter = Lanes(op.regions[1], run)
    targets, added = where.reshape(-1), np.asarray(source).reshape(-1)
    results = scatter_rounds([out], targets, [added], scatter)
    return results[0].reshape(operand.shape)


def scatter_rounds(outputs: list[Array], targets: Array, updates: Sequence[Array], body: Lanes) -> list[Array]:
    """Flat updates worked into flat outputs at `targets` (negative: nowhere), in order.

    Each round takes the updates that are, for the n-th time, to one place, so that a round has no place twice.
    """
    inside = np.flatnonzero(targets >= 0)
    order = inside[np.argsort(targets[inside], kind="stable")]
    places = targets[order]
    first = np.r_[True, places[1:] != places[:-1]] if len(places) else np.zeros(0, bool)
    begins = np.flatnonzero(first)
    lengths = np.diff(np.r_[begins, len(places)])
    for nth in range(int(lengths.max()) if len(lengths) else 0):
        chosen = order[begins[lengths > nth] + nth]
        at = targets[chosen]
        results = body(*(output[at] for output in outputs), *(update[chosen] for update in updates))
        if nth == 0 and any(result.dtype != output.dtype for result, output in zip(results, outputs, strict=True)):
            outputs = [output.astype(result.dtype) for result, output in zip(results, outputs, strict=True)]
        for output, result in zip(outputs, results, strict=True):
            output[at] = result
    return outputs


@kernel("map", quantized="native")
def map_elements(op: Map, *inputs: Array, run: Any) -> Array:
    return Lanes(op.computation, run)(*inputs)[0]


# --- sorting


@kernel("sort", quantized="native")
def sort(op: Sort, *inputs: Array, run: Any) -> tuple[Array, ...]:
    """Merge sort of all slices at once: in each merge, an element's place is found by bisection in the other run."""
    axis = op.dimension % np.ndim(inputs[0]) if np.ndim(inputs[0]) else 0
    if not np.ndim(inputs[0]) or np.size(inputs[0]) == 0:
        return tuple(inputs)
    rows = [np.moveaxis(array, axis, -1) for array in inputs]
    shape, n = rows[0].shape, rows[0].shape[-1]
    flat = [array.reshape(-1, n) for array in rows]
    comparator = Lanes(op.comparator, run)

    def before(first: Array, second: Array) -> Array:
        """Whether elements at indices `first` come before those at `second`, row by row."""
        sides = []
        for array in flat:
            sides += [np.take_along_axis(array, first, 1), np.take_along_axis(array, second, 1)]
        return comparator(*sides)[0]

    order = np.broadcast_to(np.arange(n), flat[0].shape).copy()
    length = 1
    while length < n:
        order = _merged(order, length, before)
        length *= 2
    return tuple(np.moveaxis(np.take_along_axis(array, order, 1).reshape(shape), -1, axis) for array in flat)


def _merged(order: Array, length: int, before: Any) -> Array:
    """Neighbouring runs of `length` merged, keeping the order of equal elements."""
    n = order.shape[1]
    at = np.arange(n)
    start = at // (2 * length) * (2 * length)
    middle, end = np.minimum(start + length, n), np.minimum(start + 2 * length, n)
    left = at < middle
    # Bounds of the other run, within which each element's place is looked for.
    low = np.broadcast_to(np.where(left, middle, start), order.shape).copy()
    high = np.broadcast_to(np.where(left, end, middle), order.shape).copy()
    begin = low.copy()
    while (low < high).any():
        probe = np.minimum((low + high) // 2, n - 1)
        other = np.take_along_axis(order, probe, 1)
        # Of the right run, elements that come before mine; of the left run, also those that are equal.
        goes_before = np.where(left, before(other, order), ~before(order, other))
        open_ = low < high
        low = np.where(open_ & goes_before, probe + 1, low)
        high = np.where(open_ & ~goes_before, probe, high)
    own = np.where(left, at - start, at - middle)
    place = start + own + (low - begin)
    merged = np.empty_like(order)
    np.put_along_axis(merged, place, order, 1)
    return merged
