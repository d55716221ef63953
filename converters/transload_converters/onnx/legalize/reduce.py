"""Reductions, the place of the extreme, running sums and order."""

from __future__ import annotations

import numpy as np

from transload.budget import budget
from transload.errors import Unsupported
from transload.ir import BOOL, I64, FusedLocation, IntegerType, Op, Value
from transload.rewrite import Rewriter
from transload_hub.build import reduced_over_nothing
from transload_hub.determinant import determinant
from transload_hub.running import running_product

from .table import (
    OnnxTable,
    attr,
    axes_of,
    axis_of,
    cast,
    constant_int,
    constant_ints,
    flag,
    need,
    operand,
    opset,
    reshape,
    shape_of,
    splat,
)

TABLE = OnnxTable()

_MODES = ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
          "ReduceLogSumExp", "ReduceSumSquare")
_AXES_OPERAND_SINCE = {"ReduceSum": 13}
"""Opset from which `axes` is an operand; of the others it is since 18."""


def _reduction(mode: str, stored: str) -> None:
    @TABLE(f"onnx.{mode}", stored=stored)
    def rewrite(op: Op, rw: Rewriter) -> Value:
        value = need(op, 0)
        rank = len(shape_of(value))
        if opset(op) >= _AXES_OPERAND_SINCE.get(mode, 18):
            given = operand(op, 1)
            axes = constant_ints(rw, given, "axes") if given is not None else ()
        else:
            axes = attr(op, "axes", ())
        keepdims = flag(op, "keepdims", 1)
        if not axes and flag(op, "noop_with_empty_axes", 0):
            # Nothing is summed up; some reductions still apply their function to each element.
            return reduced_over_nothing(rw, value, mode)
        over = axes_of(axes, rank) if axes else tuple(range(rank))
        if mode == "ReduceMean" and any(shape_of(value)[axis] == 0 for axis in over):
            raise Unsupported("the mean of no numbers is not defined")
        return reduce(rw, value, over, keepdims, mode)

    rewrite.__doc__ = f"{mode}, over all dimensions where no axes are given."


def reduce(rw: Rewriter, value: Value, axes: tuple[int, ...], keepdims: bool, mode: str) -> Value:
    """A reduction; of truth values the greatest is "any", the least "all"; of nothing the neutral number."""
    shape = shape_of(value)
    if value.element == BOOL and mode in ("ReduceMax", "ReduceMin"):
        mode = "ReduceAny" if mode == "ReduceMax" else "ReduceAll"
    elif mode in ("ReduceMax", "ReduceMin") and any(shape[axis] == 0 for axis in axes):
        kept = tuple(1 if axis in axes else n for axis, n in enumerate(shape) if keepdims or axis not in axes)
        return splat(rw, _extreme(value, mode == "ReduceMin"), kept, value.element)
    return rw.emit("top.Reduce", value, axes=axes, keepdims=keepdims, mode=mode)


def _extreme(value: Value, greatest: bool) -> float | int:
    """The greatest or least number of an element type: what an empty minimum or maximum is."""
    if isinstance(value.element, IntegerType):
        return value.element.range[1 if greatest else 0]
    return float("inf") if greatest else float("-inf")


for _mode in _MODES:
    _reduction(_mode, "carried" if _mode in ("ReduceMax", "ReduceMin") else "integers")


@TABLE("onnx.ArgMax", "onnx.ArgMin", stored="carried")
def arg_extreme(op: Op, rw: Rewriter) -> Value:
    """ArgMax and ArgMin."""
    value = need(op, 0)
    return rw.emit(
        "top.Arg", value, axis=axis_of(attr(op, "axis", 0), len(shape_of(value))), keepdims=flag(op, "keepdims", 1),
        mode=op.name.rpartition(".")[2], select_last_index=flag(op, "select_last_index", 0) or None, element=I64)


@TABLE("onnx.CumSum")
def cumsum(op: Op, rw: Rewriter) -> Value:
    """CumSum."""
    value = need(op, 0)
    axis = rw.need_number(need(op, 1), "the axis")
    return rw.emit("top.CumSum", value, axis=axis_of(axis, len(shape_of(value))),
                   exclusive=flag(op, "exclusive", 0) or None, reverse=flag(op, "reverse", 0) or None)


@TABLE("onnx.TopK", stored="carried")
def top_k(op: Op, rw: Rewriter) -> list[Value]:
    """TopK; the number comes as an attribute up to opset 9."""
    value = need(op, 0)
    k = attr(op, "k") if opset(op) < 10 else rw.need_number(need(op, 1), "k")
    if k is None:
        raise Unsupported("attribute 'k' is missing")
    axis = axis_of(attr(op, "axis", -1), len(shape_of(value)))
    values, indices = rw.emit(
        "top.TopK", value, axis=axis, k=int(k), largest=flag(op, "largest", 1), sorted=flag(op, "sorted", 1),
        location=FusedLocation((op.results[0].name, None)))
    return [values, cast(rw, indices, I64)]


@TABLE("onnx.OneHot")
def one_hot(op: Op, rw: Rewriter) -> Value:
    """OneHot; `values` are [off, on]."""
    indices, values = need(op, 0), need(op, 2)
    depth = constant_int(rw, need(op, 1), "depth")
    if indices.is_float:
        indices = cast(rw, indices, I64)
    off, on = (
        reshape(rw, rw.emit("top.Slice", values, offset=(i,), ends=(i + 1,), steps=(1,)), ()) for i in (0, 1))
    return rw.emit("top.OneHot", indices, on, off, depth=depth, axis=attr(op, "axis", -1))


@TABLE("onnx.Trilu", "onnx.com.microsoft.Trilu", stored="integers")
def trilu(op: Op, rw: Rewriter) -> Value:
    """Trilu, which `com.microsoft` had before ONNX."""
    k = operand(op, 1)
    return rw.emit("top.Trilu", need(op, 0), upper=flag(op, "upper", 1),
                   k=0 if k is None else constant_int(rw, k, "k"))


@TABLE("onnx.Unique")
def unique(op: Op, rw: Rewriter) -> list[Value]:
    """Unique of a constant: how many there are must be known."""
    array = np.asarray(rw.need_constant(need(op, 0), "the input (its number of different elements makes the result's shape)"))
    axis = attr(op, "axis")
    values, first, inverse, counts = np.unique(array, True, True, True, axis=axis)
    if not flag(op, "sorted", 1):
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        values, first, inverse, counts = np.take(values, order, axis or 0), first[order], rank[inverse], counts[order]
    made = [rw.constant(values), *(rw.constant(part.reshape(-1).astype(np.int64)) for part in (first, inverse, counts))]
    return made[: len(op.results)]


@TABLE("onnx.Det")
def det(op: Op, rw: Rewriter) -> Value:
    """Det: of constants now, of what is computed by elimination."""
    value = need(op, 0)
    *_, rows, columns = shape_of(value, least=2)
    known = rw.constant_of(value)
    if known is None or rows != columns:
        return determinant(rw, value)
    array = np.asarray(known)
    if not budget().may_fold(array.nbytes, array.nbytes, array.size * rows):
        raise Unsupported(f"takes the determinants of constants of shape {list(array.shape)}, which would take too long")
    return rw.constant(np.linalg.det(array.astype(np.float64)).astype(array.dtype))


@TABLE("onnx.CumProd")
def cumprod(op: Op, rw: Rewriter) -> Value:
    """CumProd: each element times the product before it, in steps that double how far they reach."""
    value = need(op, 0)
    axis = axis_of(constant_int(rw, need(op, 1), "the axis"), len(shape_of(value)))
    return running_product(rw, value, axis, backward=flag(op, "reverse", 0), exclusive=flag(op, "exclusive", 0))
