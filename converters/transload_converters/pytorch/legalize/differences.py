"""Differences between tensors, and between neighbours in one: losses, `diff`, and the area under a line of points."""

from __future__ import annotations

from transload.errors import Unsupported
from transload.ir import BOOL, Value
from transload.rewrite import Rewriter
from transload_hub.build import slice_along

from .reduce import reduced
from .table import AtenTable, Call, axis_of, cast, number_like, reshape, shape_of, splat

__all__ = ["TABLE"]

TABLE = AtenTable()

_MOST_DIFFERENCES = 100
"""How many times differences of differences are taken: each makes ops."""


@TABLE("mse_loss.default", "l1_loss.default")
def loss(call: Call, rw: Rewriter) -> Value:
    """What is between two tensors, squared or without its sign: each (reduction 0), their mean (1), or their sum (2)."""
    between = rw.emit("top.Sub", *(cast(rw, value, call.element) for value in (call.self, call.target)))
    made = rw.emit("top.Square" if call.base == "mse_loss" else "top.Abs", between)
    if call.reduction not in (0, 1, 2):
        raise Unsupported(f"knows no reduction {call.reduction}")
    if not call.reduction:
        return made
    return reduced(rw, made, tuple(range(len(shape_of(made)))), False, "ReduceMean" if call.reduction == 1 else "ReduceSum")


def _neighbours(rw: Rewriter, value: Value, axis: int) -> tuple[Value, Value]:
    """All but the last along a dimension, and all but the first."""
    size = shape_of(value)[axis]
    return slice_along(rw, value, axis, 0, size - 1), slice_along(rw, value, axis, 1, size)


@TABLE("diff.default")
def diff(call: Call, rw: Rewriter) -> Value:
    """Each less the one before it, `n` times; of truth values whether they differ. What is put at the ends comes first.

    No differences (`n` of 0) are the tensor, without what is put at its ends.
    Source: ATen/native/ReduceOps.cpp, diff.
    """
    if not call.n:
        return cast(rw, call.self, call.element)
    axis = axis_of(call.dim, len(shape_of(call.self)))
    parts = [cast(rw, part, call.element) for part in (call.prepend, call.self, call.append) if part is not None]
    value = parts[0] if len(parts) == 1 else rw.emit("top.Concat", *parts, axis=axis)
    shape = shape_of(value)
    if call.n >= shape[axis]:
        return splat(rw, 0, (*shape[:axis], 0, *shape[axis + 1 :]), call.element)
    if call.n > _MOST_DIFFERENCES:
        raise Unsupported(f"takes differences {call.n} times", f"up to {_MOST_DIFFERENCES} times is converted")
    for _ in range(call.n):
        before, behind = _neighbours(rw, value, axis)
        value = rw.emit("top.LogicalXor" if call.element == BOOL else "top.Sub", behind, before)
    return value


@TABLE("trapezoid.x", "trapezoid.dx", rounded="once")
def trapezoid(call: Call, rw: Rewriter) -> Value:
    """The area under points, by the sum of each two neighbours times half of what is between them."""
    areas, half, axis = _areas(call, rw)
    shape = shape_of(areas)
    if not shape[axis]:  # no two points
        return splat(rw, 0, (*shape[:axis], *shape[axis + 1 :]), call.element)
    return rw.emit("top.Mul", reduced(rw, areas, (axis,), False, "ReduceSum"), number_like(rw, half, call.element))


@TABLE("cumulative_trapezoid.x", "cumulative_trapezoid.dx", rounded="once")
def cumulative_trapezoid(call: Call, rw: Rewriter) -> Value:
    """The same up to each point but the first."""
    areas, half, axis = _areas(call, rw)
    if not shape_of(areas)[axis]:
        return areas
    return rw.emit("top.Mul", rw.emit("top.CumSum", areas, axis=axis), number_like(rw, half, call.element))


def _areas(call: Call, rw: Rewriter) -> tuple[Value, float, int]:
    """The sums of each two neighbours, times what is between them where that is a tensor; half of what is left to multiply by;
    and the dimension along which they lie."""
    value = cast(rw, call.y, call.element)
    shape = shape_of(value)
    axis = axis_of(call.dim, len(shape))
    if shape[axis] < 2:
        return splat(rw, 0, (*shape[:axis], 0, *shape[axis + 1 :]), call.element), 0.5, axis
    sums = rw.emit("top.Add", *_neighbours(rw, value, axis))
    if call.get("x") is None:
        return sums, call.dx / 2, axis
    x = cast(rw, call.x, call.element)
    sizes = shape_of(x)
    behind = len(shape) - 1 - axis if len(sizes) == 1 else 0  # points of one row lie along the dimension
    x = reshape(rw, x, (*(1,) * (len(shape) - len(sizes) - behind), *sizes, *(1,) * behind))
    before, after = _neighbours(rw, x, axis)
    return rw.emit("top.Mul", rw.emit("top.Sub", after, before), sums), 0.5, axis
