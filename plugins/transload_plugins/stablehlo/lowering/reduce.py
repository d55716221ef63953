"""Reductions, and the place of the extreme."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from transload.ir import BOOL, F64, I64, UI64, Value
from transload.ir.build import Builder
from transload.rewrite import Rewriter, RewriteTable

from .. import build
from ..build import binary, compare, convert, select, unary
from ..functions import is_inf, is_nan
from .common import finish, normal_axes, normal_axis, static_shape, widened

if TYPE_CHECKING:
    from transload_hub.ops.reduce import Arg, Reduce

__all__ = ["TABLE", "mean"]

TABLE = RewriteTable()


def mean(rw: Builder, x: Value, axes: Sequence[int]) -> Value:
    """The mean of floats over axes, which stay with size 1."""
    count = math.prod(build.shape_of(x)[axis] for axis in axes)
    return binary(rw, "divide", build.reduce(rw, x, axes, "add", keep=True), count)


# --- what is computed of each element before it is combined, by what it is combined, and what is computed of that

Modes = dict[str, Callable[[Builder, Value, Sequence[int]], Value]]


def _reduced(name: str) -> Callable[[Builder, Value, Sequence[int]], Value]:
    return lambda rw, x, axes: build.reduce(rw, x, axes, name, keep=True)


def _sum(rw: Builder, x: Value, axes: Sequence[int]) -> Value:
    """The sum; of truth values, how many hold."""
    return build.reduce(rw, convert(rw, x, I64) if x.element == BOOL else x, axes, "add", keep=True)


def _mean(rw: Builder, x: Value, axes: Sequence[int]) -> Value:
    """The mean; of integers their sum in 64 bits, divided and cut off."""
    if x.is_float:
        return mean(rw, x, axes)
    count = math.prod(static_shape(x)[axis] for axis in axes)
    total = _sum(rw, x if x.element == UI64 else convert(rw, x, I64), axes)
    return binary(rw, "divide", total, count) if count else total


def _real(rw: Builder, x: Value) -> Value:
    """Integers as f64, for roots and logarithms."""
    return x if x.is_float else convert(rw, x, F64)


def _sum_of_squares(rw: Builder, x: Value, axes: Sequence[int]) -> Value:
    return _sum(rw, binary(rw, "multiply", x, x), axes)


def _log_sum_exp(rw: Builder, x: Value, axes: Sequence[int]) -> Value:
    """`log(sum(exp(x)))`, computed of what is left after the greatest finite number is taken away."""
    x = _real(rw, x)
    top = build.reduce(rw, x, axes, "maximum", keep=True)
    top = select(rw, binary(rw, "or", is_inf(rw, top), is_nan(rw, top)), 0, top)
    total = build.reduce(rw, unary(rw, "exponential", binary(rw, "subtract", x, top)), axes, "add", keep=True)
    return binary(rw, "add", unary(rw, "log", total), top)


def _absolute(rw: Builder, x: Value) -> Value:
    return x if x.is_integer and x.element.unsigned else unary(rw, "abs", x)  # type: ignore[attr-defined]


def _truth(rw: Builder, x: Value) -> Value:
    return x if x.element == BOOL else compare(rw, "NE", x, 0)


MODES: Modes = {
    "ReduceSum": _sum,
    "ReduceMean": _mean,
    "ReduceMax": _reduced("maximum"),
    "ReduceMin": _reduced("minimum"),
    "ReduceProd": _reduced("multiply"),
    "ReduceL1": lambda rw, x, axes: _sum(rw, _absolute(rw, x), axes),
    "ReduceL2": lambda rw, x, axes: unary(rw, "sqrt", _sum_of_squares(rw, _real(rw, x), axes)),
    "ReduceLogSum": lambda rw, x, axes: unary(rw, "log", _sum(rw, _real(rw, x), axes)),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceSumSquare": _sum_of_squares,
    "ReduceAll": lambda rw, x, axes: build.reduce(rw, _truth(rw, x), axes, "and", keep=True),
    "ReduceAny": lambda rw, x, axes: build.reduce(rw, _truth(rw, x), axes, "or", keep=True),
}


@TABLE("top.Reduce")
def reduce(op: Reduce, rw: Rewriter) -> Value:
    x = widened(rw, op.input)
    if x.is_integer and op.result.is_integer and op.result.element.width > x.element.width:  # type: ignore[attr-defined]
        x = convert(rw, x, op.result.element)
    y = MODES[op.mode](rw, x, normal_axes(op.axes, x.rank))
    return build.reshape(rw, finish(rw, op, y), static_shape(op.result))


@TABLE("top.Arg")
def arg(op: Arg, rw: Rewriter) -> Value:
    """The least (or last) index at which the extreme stands; NaN is the extreme where there is one."""
    x = widened(rw, op.input)
    axis = normal_axis(op.axis, x.rank)
    shape = static_shape(x)
    extreme = build.reduce(rw, x, (axis,), "maximum" if op.mode == "ArgMax" else "minimum", keep=True)
    found = compare(rw, "EQ", x, extreme)
    if x.is_float:
        found = binary(rw, "or", found, is_nan(rw, x))
    index = build.iota(rw, shape, axis, op.result.element)
    last = op.select_last_index
    places = select(rw, found, index, 0 if last else shape[axis] - 1)
    y = build.reduce(rw, places, (axis,), "maximum" if last else "minimum", keep=True)
    return build.reshape(rw, y, static_shape(op.result))
