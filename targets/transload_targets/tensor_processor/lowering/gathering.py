"""Parts of tensors by indices: moves by strides where the indices are known and run evenly, else the DMA's gather."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from transload.errors import Unsupported
from transload.ir import I32, I64, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables

from .common import need, reshape, same_numbers, static
from .conversion import requantized

if TYPE_CHECKING:
    from transload_hub.ops.gather import Gather, GatherND, ScatterND

__all__ = ["TABLE"]

TABLE = RewriteTable()

MOST_RUNS = 16
"""Slices that are joined in place of one gather."""


def _indices(rw: Rewriter, value: Value) -> Value:
    """Indices as the DMA takes them."""
    if value.element not in (I32, I64):
        raise Unsupported(f"indices of {value.element}")
    return value


def _runs(picks: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Indices as the first, the number and the distance of runs at equal distances forward."""
    at = 0
    while at < len(picks):
        step = int(picks[at + 1] - picks[at]) if at + 1 < len(picks) else 1
        count = 1
        while step > 0 and at + count < len(picks) and picks[at + count] - picks[at + count - 1] == step:
            count += 1
        yield int(picks[at]), count, step if count > 1 else 1
        at += count


def _picked(rw: Rewriter, x: Value, axis: int, picks: np.ndarray) -> Value:
    """The parts of `x` along a dimension at indices that are known: slices, joined, or a gather where they are many."""
    size = static(x)[axis]
    if picks.size and not (-size <= picks.min() and picks.max() < size):
        raise Unsupported(f"indices beyond a dimension of {size}")
    picks = np.where(picks < 0, picks + size, picks)
    runs = list(_runs(picks))
    if not runs or len(runs) > MOST_RUNS:
        need(rw, "gather", x)
        made: Value = rw.emit("tpu.gather", x, rw.constant(picks.astype(np.int32)), axis=axis)
        return made
    need(rw, "slice", x)
    parts = []
    for first, count, step in runs:
        if (first, count, step) == (0, size, 1):
            parts.append(x)
            continue
        starts, sizes, steps = ([each] * x.rank for each in (0, 0, 1))
        sizes[:] = static(x)
        starts[axis], sizes[axis], steps[axis] = first, count, step
        parts.append(rw.emit("tpu.slice", x, starts=tuple(starts), sizes=tuple(sizes), steps=tuple(steps)))
    if len(parts) == 1:
        return parts[0]
    need(rw, "concat", x)
    joined: Value = rw.emit("tpu.concat", *parts, axis=axis, element=x.element)
    return joined


def _moved(rw: Rewriter, x: Value, result: Value) -> Value:
    """What is gathered, in the type of the result."""
    source, target = x.quant, result.quant
    if x.element == result.element:
        return x
    if source is None or target is None or not same_numbers(source, target):
        if source is None or target is None or source.axis is not None or target.axis is not None:
            raise Unsupported(f"{x.element} is moved, and becomes {result.element}")
        return requantized(rw, x, target, "double")
    return x


@TABLE("top.Gather")
def gather(op: Gather, rw: Rewriter) -> Value:
    if op.batch_dims:
        raise Unsupported(f"{op.batch_dims} dimensions are gone through together")
    x, axis = _moved(rw, op.input, op.result), op.axis % op.input.rank
    picks = rw.constant_of(op.indices)
    if picks is not None:
        return reshape(rw, _picked(rw, x, axis, np.asarray(picks).reshape(-1).astype(np.int64)), static(op.result))
    need(rw, "gather", x)
    static(x)
    made: Value = rw.emit("tpu.gather", x, _indices(rw, op.indices), axis=axis)
    return reshape(rw, made, static(op.result))


def _places(rw: Rewriter, indices: Value, sizes: tuple[int, ...]) -> Value:
    """Subscripts [.., n] of dimensions of these sizes, as the places [..] of elements that lie one after the other: int32."""
    if indices.element != I32:
        raise Unsupported(f"subscripts of {indices.element} that are computed")
    for operation in ("add", "mul", "binary", "select", "reduce"):
        need(rw, operation, indices)
    shape = (math.prod(static(indices)[:-1]), len(sizes))
    flat = reshape(rw, indices, shape)
    row = (1, len(sizes))
    zero = rw.constant(tables.zeros(row, np.int32))
    ends = rw.emit("tpu.add", flat, rw.constant(np.array(sizes, np.int32).reshape(row)))
    flat = rw.emit("tpu.select", rw.emit("tpu.binary", flat, zero, function="less"), ends, flat)
    steps = [math.prod(sizes[place + 1 :]) for place in range(len(sizes))]
    lined = rw.emit("tpu.mul", flat, rw.constant(np.array(steps, np.int32).reshape(row)))
    made: Value = rw.emit("tpu.reduce", lined, function="sum", axes=(1,))
    return reshape(rw, made, (shape[0],))


def _known_places(picks: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """The same of subscripts that are known."""
    subscripts = picks.reshape(-1, len(sizes)).astype(np.int64)
    ends = np.array(sizes, np.int64)
    if subscripts.size and not ((subscripts >= -ends) & (subscripts < ends)).all():
        raise Unsupported(f"subscripts beyond {sizes}")
    steps = np.array([math.prod(sizes[place + 1 :]) for place in range(len(sizes))], np.int64)
    return np.asarray(np.where(subscripts < 0, subscripts + ends, subscripts) @ steps)


@TABLE("top.GatherND")
def gather_nd(op: GatherND, rw: Rewriter) -> Value:
    """The subscripted dimensions as one, of which parts are taken."""
    if op.batch_dims:
        raise Unsupported(f"{op.batch_dims} dimensions are gone through together")
    x = _moved(rw, op.input, op.result)
    shape, count = static(x), static(op.indices)[-1]
    flat = reshape(rw, x, (math.prod(shape[:count]), math.prod(shape[count:])))
    picks = rw.constant_of(op.indices)
    if picks is not None:
        return reshape(rw, _picked(rw, flat, 0, _known_places(np.asarray(picks), shape[:count])), static(op.result))
    need(rw, "gather", x)
    made: Value = rw.emit("tpu.gather", flat, _places(rw, op.indices, shape[:count]), axis=0)
    return reshape(rw, made, static(op.result))


@TABLE("top.ScatterND")
def scatter_nd(op: ScatterND, rw: Rewriter) -> Value:
    """At subscripts that are known: of the input and the updates one after the other, each part from where it is."""
    picks = rw.constant_of(op.indices)
    if picks is None or op.reduction != "none":
        raise Unsupported("where is known only when the model runs" if picks is None else f"updates by {op.reduction}")
    x, updates = _moved(rw, op.input, op.result), _moved(rw, op.updates, op.result)
    shape, count = static(x), static(op.indices)[-1]
    rows, rest = math.prod(shape[:count]), math.prod(shape[count:])
    places = _known_places(np.asarray(picks), shape[:count])
    need(rw, "concat", x, updates)
    both = rw.emit(
        "tpu.concat", reshape(rw, x, (rows, rest)), reshape(rw, updates, (len(places), rest)), axis=0, element=x.element)
    sources = tables.arange(rows)
    sources[places] = rows + np.arange(len(places))
    return reshape(rw, _picked(rw, both, 0, sources), static(op.result))
