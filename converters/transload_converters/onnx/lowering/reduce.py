"""Reductions, and the place of the extreme."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transload.ir import BOOL, F64, I32, I64, IntegerType, Value
from transload.ir.build import Builder
from transload.rewrite import Rewriter, RewriteTable, Unsupported

from .common import cast, emit, ints, scalar, static_shape

if TYPE_CHECKING:
    from transload_hub.ops.reduce import Arg, Reduce

__all__ = ["TABLE", "product_along"]

TABLE = RewriteTable()

_SUMMING = ("ReduceSum", "ReduceSumSquare", "ReduceL1", "ReduceProd")
OF_FLAGS = {"ReduceAll": "ReduceMin", "ReduceAny": "ReduceMax"}


@TABLE("top.Reduce")
def reduce(op: Reduce, rw: Rewriter) -> Value:
    """The operator of the same name; of flags the least or greatest of numbers that are 0 or 1."""
    if not op.axes:
        raise Unsupported(f"{op.mode} over no dimensions", "run the pass canonicalize before")
    x, name = op.input, op.mode
    if name in OF_FLAGS:
        x, name = cast(rw, cast(rw, x, BOOL), I32), OF_FLAGS[name]
    if isinstance(x.element, IntegerType) and x.element.width < 32 and name in _SUMMING:
        x = cast(rw, x, I32)
    if name == "ReduceProd" and x.element in (I32, I64) and 0 not in static_shape(x):
        for axis in op.axes:
            x = product_along(rw, x, axis)
        made = x if op.keepdims else emit(rw, "Squeeze", x, ints(rw, op.axes), like=op.result, element=x.element)
        return cast(rw, made, op.result.element)
    if name.startswith("ReduceLog") and isinstance(x.element, IntegerType):
        x = cast(rw, x, F64)
    if name in _SUMMING and x.element == I32:
        x = cast(rw, x, I64)  # onnxruntime saturates a sum of 32 bits; cast from 64 it wraps round
    y = emit(rw, name, x, ints(rw, op.axes), like=op.result, element=x.element, keepdims=int(op.keepdims))
    if op.mode in OF_FLAGS:  # of no flags at all, the least or greatest i32
        return cast(rw, emit(rw, "Greater", y, scalar(rw, 0, I32), element=BOOL), op.result.element)
    return cast(rw, y, op.result.element)


def product_along(rw: Builder, x: Value, axis: int) -> Value:
    """The product of integers along an axis, which becomes 1, by products of halves.

    onnxruntime's ReduceProd goes by way of float64 and saturates, where its Mul wraps round, as integers do elsewhere.
    """
    while (size := static_shape(x)[axis]) > 1:
        half = size // 2
        first, second, *rest = (
            _between(rw, x, axis, begin, end) for begin, end in ((0, half), (half, 2 * half), (2 * half, size)) if begin < end)
        x = emit(rw, "Mul", first, second)
        if rest:
            x = emit(rw, "Concat", x, *rest, shape=_with(x, axis, half + 1), axis=axis)
    return x


def _between(rw: Builder, x: Value, axis: int, begin: int, end: int) -> Value:
    return emit(rw, "Slice", x, ints(rw, (begin,)), ints(rw, (end,)), ints(rw, (axis,)), shape=_with(x, axis, end - begin))


def _with(x: Value, axis: int, size: int) -> tuple[int, ...]:
    return tuple(size if at == axis else each for at, each in enumerate(static_shape(x)))


@TABLE("top.Arg")
def arg(op: Arg, rw: Rewriter) -> Value:
    found = emit(
        rw, op.mode, op.input, like=op.result, element=I64, axis=op.axis, keepdims=int(op.keepdims),
        select_last_index=int(op.select_last_index))
    return cast(rw, found, op.result.element)
