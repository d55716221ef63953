"""Reductions, places of extremes, running sums and order."""

from __future__ import annotations

from transload.errors import Unsupported
from transload.ir import BOOL, F32, F64, I32, IntegerType, Op, Value
from transload.rewrite import Rewriter
from transload_hub.build import cast, reshape, scalar_like, slice_along, splat
from transload_hub.running import running_log_sum, running_product

from .table import TfTable, attr, axes_of, axis_of, constant_int, constant_ints, element_of, shape_of

__all__ = ["TABLE", "least_of", "reduce"]

TABLE = TfTable()

_MODES = {
    "Sum": "ReduceSum", "Mean": "ReduceMean", "Prod": "ReduceProd", "Max": "ReduceMax", "Min": "ReduceMin", "All": "ReduceAll",
    "Any": "ReduceAny", "EuclideanNorm": "ReduceL2",
}


@TABLE(*_MODES)
def reduction(op: Op, rw: Rewriter) -> Value:
    """Sum, Mean, Prod, Max, Min, All, Any, EuclideanNorm over constant axes; over none of them, nothing happens."""
    value = op.operands[0]
    rank = len(shape_of(value))
    axes = axes_of(constant_ints(rw, op.operands[1], "the axes"), rank)
    keep = bool(attr(op, "keep_dims", False))
    mode = _MODES[op.name.removeprefix("tf.")]
    if mode == "ReduceL2" and isinstance(value.element, IntegerType):
        return _norm_of_integers(rw, value, value.element, axes, keep)
    return reduce(rw, value, axes, keep, mode)


def _norm_of_integers(rw: Rewriter, value: Value, element: IntegerType, axes: tuple[int, ...], keep: bool) -> Value:
    """The root of a sum of squares that are all of the integers' own type, which they may go round, without what is broken."""
    total = reduce(rw, rw.emit("top.Mul", value, value), axes, keep, "ReduceSum")
    return cast(rw, rw.emit("top.Sqrt", cast(rw, total, F32 if element.width <= 16 else F64)), element)


def reduce(rw: Rewriter, value: Value, axes: tuple[int, ...], keep: bool, mode: str) -> Value:
    """A reduction; of no elements, the neutral number of the mode."""
    if not axes:
        return rw.emit("top.Abs", value) if mode == "ReduceL2" else value
    shape = shape_of(value)
    if any(shape[axis] == 0 for axis in axes) and mode in ("ReduceMax", "ReduceMin"):
        kept = tuple(1 if axis in axes else n for axis, n in enumerate(shape) if keep or axis not in axes)
        return splat(rw, least_of(value, mode == "ReduceMin"), kept, value.element)
    return rw.emit("top.Reduce", value, axes=axes, keepdims=keep, mode=mode)


def least_of(value: Value, greatest: bool = False) -> float | int:
    """The least (or greatest) number of a value's element type: what an empty maximum (or minimum) is."""
    element = value.element
    if isinstance(element, IntegerType):
        return element.range[1 if greatest else 0]
    return float("inf") if greatest else float("-inf")


@TABLE("ArgMax", "ArgMin")
def arg_extreme(op: Op, rw: Rewriter) -> Value:
    """ArgMax, ArgMin along a constant dimension."""
    value = op.operands[0]
    axis = axis_of(constant_int(rw, op.operands[1], "the dimension"), len(shape_of(value, least=1)))
    if value.element == BOOL:
        value = cast(rw, value, I32)
    return rw.emit("top.Arg", value, axis=axis, keepdims=False, mode=op.name.removeprefix("tf."), element=element_of(op))


@TABLE("Cumsum")
def cumsum(op: Op, rw: Rewriter) -> Value:
    """Cumsum along a constant axis."""
    value = op.operands[0]
    axis = axis_of(constant_int(rw, op.operands[1], "the axis"), len(shape_of(value)))
    return rw.emit("top.CumSum", value, axis=axis, exclusive=bool(attr(op, "exclusive", False)) or None,
                   reverse=bool(attr(op, "reverse", False)) or None)


@TABLE("Cumprod")
def cumprod(op: Op, rw: Rewriter) -> Value:
    """Cumprod: each element times the product before it, in steps that double how far they reach."""
    value = op.operands[0]
    axis = axis_of(constant_int(rw, op.operands[1], "the axis"), len(shape_of(value)))
    return running_product(rw, value, axis, **_ways(op))


@TABLE("CumulativeLogsumexp")
def cumulative_logsumexp(op: Op, rw: Rewriter) -> Value:
    """CumulativeLogsumexp: the logarithm of the running sum of exponentials, by the same steps."""
    value = op.operands[0]
    axis = axis_of(constant_int(rw, op.operands[1], "the axis"), len(shape_of(value)))
    return running_log_sum(rw, value, axis, **_ways(op))


def _ways(op: Op) -> dict[str, bool]:
    return {"backward": bool(attr(op, "reverse", False)), "exclusive": bool(attr(op, "exclusive", False))}


@TABLE("TopK", "TopKV2")
def top_k(op: Op, rw: Rewriter) -> list[Value]:
    """TopK, TopKV2: the greatest of the last dimension; of equal ones the first."""
    value = op.operands[0]
    k = constant_int(rw, op.operands[1], "the number of elements") if op.name == "tf.TopKV2" else int(attr(op, "k"))
    values, indices = rw.emit("top.TopK", value, axis=-1, k=k)
    return [values, cast(rw, indices, element_of(op, 1))]


@TABLE("ApproxTopK")
def approx_top_k(op: Op, rw: Rewriter) -> list[Value]:
    """ApproxTopK: the greatest, or least, along a dimension; none is missed."""
    value = op.operands[0]
    axis = axis_of(int(attr(op, "reduction_dimension", -1)), len(shape_of(value)))
    values, indices = rw.emit("top.TopK", value, axis=axis, k=int(attr(op, "k")), largest=bool(attr(op, "is_max_k", True)))
    return [values, cast(rw, indices, element_of(op, 1))]


@TABLE("NthElement")
def nth_element(op: Op, rw: Rewriter) -> Value:
    """NthElement of the last dimension in order: the last of as many as are not greater (or less)."""
    value = op.operands[0]
    n = constant_int(rw, op.operands[1], "the number of the element")
    shape = shape_of(value, least=1)
    if not 0 <= n < shape[-1]:
        raise Unsupported(f"takes element {n} of {shape[-1]}")
    values, _ = rw.emit("top.TopK", value, axis=-1, k=n + 1, largest=bool(attr(op, "reverse", False)))
    return reshape(rw, slice_along(rw, values, len(shape) - 1, n, n + 1), shape[:-1])


@TABLE("InTopK", "InTopKV2")
def in_top_k(op: Op, rw: Rewriter) -> Value:
    """InTopK, InTopKV2: whether fewer than k predictions are greater than that of the target."""
    predictions, targets = op.operands[:2]
    k = constant_int(rw, op.operands[2], "k") if len(op.operands) > 2 else int(attr(op, "k"))
    rows = shape_of(predictions, 2, what="the predictions")[0]
    own = rw.emit("top.GatherElements", predictions, reshape(rw, targets, (rows, 1)), axis=1)
    greater = cast(rw, rw.emit("top.Compare", predictions, own, mode="Greater"), I32)
    count = rw.emit("top.Reduce", greater, axes=(1,), keepdims=False, mode="ReduceSum")
    return rw.emit("top.Compare", count, scalar_like(rw, count, k), mode="Less")
