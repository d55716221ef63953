"""Reductions, and the place of the extreme."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from transload.ir import BOOL, F64, I32, I64, UI64, IntegerType, Value
from transload.ir.build import Builder
from transload.rewrite import Rewriter, RewriteTable, Unsupported

from .common import broadcast, cast, emit, ints, ordered, scalar, static_shape, unordered

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
    if isinstance(x.element, IntegerType):
        if name in _SUMMING:
            return cast(rw, _summed(rw, op, x, name), op.result.element)
        if name == "ReduceMean" and x.element.width > 32:
            count = math.prod(static_shape(x)[axis] for axis in op.axes)
            return broadcast(rw, "Div", cast(rw, _sum(rw, op, x), x.element), scalar(rw, max(count, 1), x.element))
        if name not in ("ReduceMax", "ReduceMin"):
            x = cast(rw, x, F64 if name.startswith("ReduceLog") or x.element == UI64 else x.element)
    y = _emit(rw, op, name, ordered(rw, x))
    if op.mode in OF_FLAGS:  # of no flags at all, the least or greatest i32
        return cast(rw, emit(rw, "Greater", y, scalar(rw, 0, I32), element=BOOL), op.result.element)
    return cast(rw, unordered(rw, y, x.element), op.result.element)


def _emit(rw: Builder, op: Reduce, name: str, x: Value) -> Value:
    """An operator over the axes of `op`, in the type of `x`."""
    return emit(rw, name, x, ints(rw, op.axes), like=op.result, element=x.element, keepdims=int(op.keepdims))


def _summed(rw: Builder, op: Reduce, x: Value, name: str) -> Value:
    """A sum or product of integers, modulo their range: onnxruntime goes by way of f64, and saturates.

    What is added or multiplied has 32 or 64 bits, in which its lower ones are the same.
    """
    width = x.element.width  # type: ignore[attr-defined]
    if name == "ReduceProd":
        x = cast(rw, x, I64 if width > 32 else I32)
        if 0 in static_shape(x):
            return _emit(rw, op, name, x)
        for axis in op.axes:
            x = product_along(rw, x, axis)
        return x if op.keepdims else emit(rw, "Squeeze", x, ints(rw, op.axes), like=op.result, element=x.element)
    x = cast(rw, x, I32) if width < 32 else x
    if name == "ReduceSumSquare":
        x = emit(rw, "Mul", x, x)
    elif name == "ReduceL1" and not x.element.unsigned:  # type: ignore[attr-defined]
        x = emit(rw, "Abs", x)
    return _sum(rw, op, x)


def _sum(rw: Builder, op: Reduce, x: Value) -> Value:
    """A sum of integers in i64. It is exact up to 2^53, as those of 2^21 numbers of 32 bits are; numbers of 64 bits are added as
    two of 32, `x = high * 2^32 + low`."""
    if x.element.width <= 32 or _held_32_bits(x):  # type: ignore[attr-defined]
        return _emit(rw, op, "ReduceSum", cast(rw, x, I64))
    x, base = cast(rw, x, I64), scalar(rw, 1 << 32, I64)
    low = broadcast(rw, "Mod", x, base)  # not below 0, as its divisor
    high = broadcast(rw, "Div", emit(rw, "Sub", x, low), base)
    low, high = (_emit(rw, op, "ReduceSum", part) for part in (low, high))
    return emit(rw, "Add", broadcast(rw, "Mul", high, base), low)


def _held_32_bits(x: Value) -> bool:
    """Whether numbers were cast from integers of fewer bits."""
    if x.op is None or x.op.name != "onnx.Cast":
        return False
    element = x.op.operands[0].element_or_none
    return isinstance(element, IntegerType) and element.width <= 32


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
        rw, op.mode, ordered(rw, op.input), like=op.result, element=I64, axis=op.axis, keepdims=int(op.keepdims),
        select_last_index=int(op.select_last_index))
    return cast(rw, found, op.result.element)
