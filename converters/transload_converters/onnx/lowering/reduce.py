"""Reductions, and the place of the extreme."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transload.ir import I32, I64, Value
from transload.rewrite import Rewriter, RewriteTable, Unsupported

from .common import cast, emit, ints, scalar

if TYPE_CHECKING:
    from transload_hub.ops.reduce import Arg, Reduce

__all__ = ["TABLE"]

TABLE = RewriteTable()

OF_FLAGS = {"ReduceAll": "ReduceMin", "ReduceAny": "ReduceMax"}


@TABLE("top.Reduce")
def reduce(op: Reduce, rw: Rewriter) -> Value:
    """The operator of the same name; of flags the least or greatest of numbers that are 0 or 1."""
    if not op.axes:
        raise Unsupported(f"{op.mode} over no dimensions", "run the pass canonicalize before")
    x, name = op.input, op.mode
    if name in OF_FLAGS:
        x, name = cast(rw, x, I32), OF_FLAGS[name]
    y = emit(rw, name, x, ints(rw, op.axes), like=op.result, element=x.element, keepdims=int(op.keepdims))
    if op.mode in OF_FLAGS:  # of no flags at all, the least or greatest i32
        return emit(rw, "Greater", y, scalar(rw, 0, I32), element=op.result.element)
    return cast(rw, y, op.result.element)


@TABLE("top.Arg")
def arg(op: Arg, rw: Rewriter) -> Value:
    found = emit(
        rw, op.mode, op.input, like=op.result, element=I64, axis=op.axis, keepdims=int(op.keepdims),
        select_last_index=int(op.select_last_index))
    return cast(rw, found, op.result.element)
