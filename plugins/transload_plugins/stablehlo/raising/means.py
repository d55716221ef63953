"""A sum divided by how many there were: a mean, of all elements along dimensions or of windows.

This is how exporters write average pooling: the sum of each window, divided by the window's size, or by a count that is
itself the sum of a window of ones, smaller where padding is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import Op, Value
from transload.plugin_host import host
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables

from .table import held, splat_of

if TYPE_CHECKING:
    from ..dialect.binary import Divide, Multiply

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("stablehlo.divide")
def divided(op: Divide, rw: Rewriter) -> Value | None:
    """`sum(x) / n` as a mean."""
    x, count = op.operands
    return _mean(rw, x, count, False) if x.is_float else None


@TABLE("stablehlo.multiply")
def multiplied(op: Multiply, rw: Rewriter) -> Value | None:
    """`sum(x) * (1/n)`."""
    if not op.operands[0].is_float:
        return None
    for x, factor in (op.operands, op.operands[::-1]):
        made = _mean(rw, x, factor, True)
        if made is not None:
            return made
    return None


def _mean(rw: Rewriter, x: Value, number: Value, is_factor: bool) -> Value | None:
    maker = x.op
    if maker is None:
        return None
    known = splat_of(rw, number)
    if maker.name == "top.Reduce" and maker.mode == "ReduceSum" and known is not None:
        size = _reduced_size(maker)
        if size is not None and _is_count(float(known), size, is_factor):
            return rw.emit(
                "top.Reduce", maker.input, axes=maker.axes, keepdims=maker.keepdims, mode="ReduceMean", element=x.element)
    if maker.name != "top.MulConst":
        return None
    chain = _chain(maker.input)
    if chain is None:
        return None
    pool, moves = chain
    if known is not None and _is_count(float(known), maker.const_val, is_factor):
        return maker.input
    counts = None if is_factor else held(rw, number)
    if counts is None or not _counts_inside(pool, moves, counts):
        return None
    attributes = {key: value for key, value in pool.attributes.items() if key != "count_include_pad"}
    made = rw.emit("top.AvgPool", pool.input, **attributes)
    for move in moves:
        made = rw.emit(move.name, made, **move.attributes)
    return made


def _is_count(number: float, count: float, is_factor: bool) -> bool:
    return abs(number * count - 1) < 1e-6 if is_factor else number == count


def _reduced_size(op: Op) -> int | None:
    sizes = [op.input.shape[axis] for axis in op.axes]
    return None if None in sizes or not sizes else int(np.prod(sizes))


def _chain(value: Value) -> tuple[Op, list[Op]] | None:
    """The pooling that a value is moved from, and the moves, the first one first."""
    moves: list[Op] = []
    maker = value.op
    while maker is not None and maker.name in ("top.Reshape", "top.Permute"):
        moves.append(maker)
        maker = maker.operands[0].op
    if maker is None or maker.name != "top.AvgPool" or not maker.count_include_pad:
        return None
    return maker, moves[::-1]


def _counts_inside(pool: Op, moves: list[Op], counts: Any) -> bool:
    """Whether `counts` is, for each window, how many of its elements are not padding."""
    found = host().kernel("top.AvgPool")
    shape = pool.input.shape
    if found is None or None in shape or int(np.prod(shape)) > 1 << 22:
        return False
    size = float(np.prod(pool.kernel_shape))
    inside = np.rint(found[0](pool, tables.ones(shape, np.float32)) * size)
    for move in moves:
        inside = inside.reshape(move.results[0].shape) if move.name == "top.Reshape" else np.transpose(inside, move.order)
    return inside.shape == counts.shape and bool((inside == counts).all())
