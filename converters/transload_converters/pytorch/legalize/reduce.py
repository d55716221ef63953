"""Reductions, extremes and where they are, running sums, order."""

from __future__ import annotations

import math

import numpy as np

from transload.errors import Unsupported
from transload.ir import BF16, BOOL, F16, F32, I32, I64, FloatType, IntegerType, Type, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import slice_along
from transload_hub.running import running_log_sum

from .table import (
    AtenTable,
    Call,
    axes_of,
    axis_of,
    cast,
    common_element,
    is_float,
    number_like,
    permute,
    reshape,
    shape_of,
    splat,
    wide,
)

__all__ = ["TABLE", "reduced"]

TABLE = AtenTable()

_MOST_PAIRS = 1 << 26
"""Comparisons of numbers with each other, which are all there at once."""


def reduced(rw: Rewriter, value: Value, axes: tuple[int, ...], keep: bool, mode: str) -> Value:
    """A reduction; of 16-bit floats in f32, as PyTorch's are, and nothing of a scalar."""
    if not axes:
        return value if mode not in ("ReduceL1", "ReduceL2") else rw.emit("top.Abs", value)
    element = value.element
    if element in (F16, BF16) and mode not in ("ReduceMax", "ReduceMin"):
        value = cast(rw, value, F32)
    return cast(rw, rw.emit("top.Reduce", value, axes=axes, keepdims=keep, mode=mode), element)


@TABLE("sum.default", "sum.dim_IntList", "mean.default", "mean.dim", "prod.default", "prod.dim_int", "nansum.default",
       "nanmean.default")
def total(call: Call, rw: Rewriter) -> Value:
    """Sum, mean or product, over all dimensions where none are given."""
    value = call.self
    rank = len(shape_of(value))
    if call.base.startswith("nan") and is_float(value.element):
        wrong = rw.emit("top.IsNaN", value)
        value = cast(rw, rw.emit("top.Where", wrong, number_like(rw, 0.0, value.element), value), call.element)
        if call.base == "nanmean":
            there = cast(rw, rw.emit("top.LogicalNot", wrong), call.element)
            axes, keep = axes_of(call.dim, rank), call.keepdim
            parts = [reduced(rw, each, axes, keep, "ReduceSum") for each in (value, there)]
            return rw.emit("top.Div", *parts)
    value = cast(rw, value, call.element)
    mode = {"mean": "ReduceMean", "prod": "ReduceProd"}.get(call.base, "ReduceSum")
    axes = axes_of(call.get("dim"), rank)
    keep = call.get("keepdim", False)
    if mode == "ReduceMean" and any(shape_of(value)[axis] == 0 for axis in axes):
        return _no_number(rw, value, axes, keep)
    return reduced(rw, value, axes, keep, mode)


def _no_number(rw: Rewriter, value: Value, axes: tuple[int, ...], keep: bool) -> Value:
    """NaN, what means of no numbers are, in the shape of a reduction."""
    shape = shape_of(value)
    sizes = [1 if axis in axes else size for axis, size in enumerate(shape) if keep or axis not in axes]
    return splat(rw, math.nan, sizes, value.element)


@TABLE("amax.default", "amin.default", "max.default", "min.default", stored="carried")
def extreme(call: Call, rw: Rewriter) -> Value:
    """The greatest or least number; of truth values whether any is, or all are, true."""
    axes = axes_of(call.get("dim"), len(shape_of(call.self)))
    return _extreme(rw, call.self, axes, call.get("keepdim", False), "max" in call.base)


def _extreme(rw: Rewriter, value: Value, axes: tuple[int, ...], keep: bool, greatest: bool) -> Value:
    if value.element == BOOL:
        return reduced(rw, value, axes, keep, "ReduceAny" if greatest else "ReduceAll")
    return reduced(rw, value, axes, keep, "ReduceMax" if greatest else "ReduceMin")


@TABLE("aminmax.default", "_aminmax.default")
def aminmax(call: Call, rw: Rewriter) -> list[Value]:
    """Least and greatest."""
    axes = axes_of(call.get("dim"), len(shape_of(call.self)))
    return [_extreme(rw, call.self, axes, call.get("keepdim", False), greatest) for greatest in (False, True)]


@TABLE("max.dim", "min.dim", stored="carried")
def extreme_along(call: Call, rw: Rewriter) -> list[Value]:
    """The greatest or least along a dimension, and the first place where it is."""
    value, rank = call.self, len(shape_of(call.self))
    if not rank:
        return [value, rw.constant(np.int64(0))][: len(call.op.results)]
    axis = axis_of(call.dim, rank)
    made = _extreme(rw, value, (axis,), call.keepdim, "max" in call.base)
    if not call.used(1):
        return [made, made][: len(call.op.results)] if len(call.op.results) < 2 else [made, _place(rw, call, axis)]
    return [made, _place(rw, call, axis)]


def _place(rw: Rewriter, call: Call, axis: int) -> Value:
    value = cast(rw, call.self, IntegerType(8)) if call.self.element == BOOL else call.self
    return rw.emit("top.Arg", value, axis=axis, keepdims=call.keepdim, mode="ArgMax" if "max" in call.base else "ArgMin",
                   element=I64)


@TABLE("argmax.default", "argmin.default", stored="carried")
def arg(call: Call, rw: Rewriter) -> Value:
    """Where the greatest or least is, along a dimension or in all of the tensor."""
    value, shape = call.self, shape_of(call.self)
    mode = "ArgMax" if call.base == "argmax" else "ArgMin"
    if call.dim is None or not shape:
        flat = reshape(rw, value, (math.prod(shape),))
        made = rw.emit("top.Arg", flat, axis=0, keepdims=False, mode=mode, element=I64)
        return reshape(rw, made, (1,) * len(shape)) if call.keepdim else made
    return rw.emit("top.Arg", value, axis=axis_of(call.dim, len(shape)), keepdims=call.keepdim, mode=mode, element=I64)


@TABLE("any.default", "any.dim", "any.dims", "all.default", "all.dim", "all.dims")
def truth(call: Call, rw: Rewriter) -> Value:
    """Whether any, or all, are not zero."""
    axes = axes_of(call.get("dim"), len(shape_of(call.self)), empty_is_all=False)
    mode = "ReduceAny" if call.base == "any" else "ReduceAll"
    return cast(rw, reduced(rw, cast(rw, call.self, BOOL), axes, call.get("keepdim", False), mode), call.element)


@TABLE("count_nonzero.default", "count_nonzero.dim_IntList")
def count_nonzero(call: Call, rw: Rewriter) -> Value:
    """How many are not zero."""
    axes = axes_of(call.get("dim"), len(shape_of(call.self)))
    return reduced(rw, cast(rw, cast(rw, call.self, BOOL), I64), axes, False, "ReduceSum")


@TABLE("logsumexp.default", "special_logsumexp.default")
def logsumexp(call: Call, rw: Rewriter) -> Value:
    """The logarithm of the sum of powers, by the greatest."""
    value = cast(rw, call.self, call.element)
    axes = axes_of(call.dim, len(shape_of(value)))
    return reduced(rw, value, axes, call.keepdim, "ReduceLogSumExp")


@TABLE("var.correction", "var.dim", "var.default", "std.correction", "std.dim", "std.default", "var_mean.correction",
       "var_mean.dim",
       "var_mean.default", "std_mean.correction", "std_mean.dim", "std_mean.default")
def variance(call: Call, rw: Rewriter) -> list[Value]:
    """Variance or deviation, divided by one less than there are numbers, or by so many less; with the mean."""
    value, shape = call.self, shape_of(call.self)
    element = value.element
    value = cast(rw, value, F32) if element in (F16, BF16) else value
    axes, keep = axes_of(call.get("dim"), len(shape)), call.get("keepdim", False)
    correction = call.get("correction", None)
    if correction is None:
        correction = 1 if call.get("unbiased", True) else 0
    count = math.prod(shape[axis] for axis in axes)
    if not count:
        return [_no_number(rw, call.self, axes, keep)] * len(call.op.results)
    mean = rw.emit("top.Reduce", value, axes=axes, mode="ReduceMean")
    squares = rw.emit("top.Square", rw.emit("top.Sub", value, mean))
    made = rw.emit("top.Reduce", squares, axes=axes, keepdims=keep, mode="ReduceMean")
    if count <= correction:  # divided by 0: NaN of no difference, and infinite of any
        made = rw.emit("top.Div", made, number_like(rw, 0, made.element))
    elif correction:
        made = rw.emit("top.MulConst", made, const_val=count / (count - correction))
    made = rw.emit("top.Sqrt", made) if call.base.startswith("std") else made
    results = [cast(rw, made, element)]
    if call.base.endswith("mean"):
        results.append(cast(rw, mean if keep else reshape(rw, mean, shape_of(made)), element))
    return results


@TABLE("linalg_vector_norm.default", "norm.Scalar", "norm.ScalarOpt_dim", "norm.ScalarOpt_dim_dtype", "norm.ScalarOpt_dtype",
       "linalg_norm.default", "frobenius_norm.dim")
def norm(call: Call, rw: Rewriter) -> Value:
    """The p-norm of vectors."""
    order = call.get("ord", call.get("p"))
    value = cast(rw, call.self, call.element)
    shape = shape_of(value)
    if call.base == "linalg_norm" and order is not None and len(shape) != 1 and not isinstance(call.dim, int) and (
            call.dim is None or len(call.dim) != 1):
        raise Unsupported("takes a norm of matrices", "norms of vectors, and Frobenius' norm, can be converted")
    axes, keep = axes_of(call.get("dim"), len(shape)), call.get("keepdim", False)
    return _p_norm(rw, value, 2.0 if order is None else float(order), axes, keep)


def _p_norm(rw: Rewriter, value: Value, p: float, axes: tuple[int, ...], keep: bool) -> Value:
    """The p-norm over dimensions: p = 0 counts what is not zero, p = inf and -inf are the greatest and the least size."""
    if p in (1.0, 2.0):
        return reduced(rw, value, axes, keep, f"ReduceL{int(p)}")
    sizes = rw.emit("top.Abs", value)
    if math.isinf(p):
        return reduced(rw, sizes, axes, keep, "ReduceMax" if p > 0 else "ReduceMin")
    if p == 0.0:
        there = cast(rw, rw.emit("top.Compare", value, number_like(rw, 0.0, value.element), mode="NotEqual"), value.element)
        return reduced(rw, there, axes, keep, "ReduceSum")
    return _power_norm(rw, sizes, p, axes, keep)


def _power_norm(rw: Rewriter, sizes: Value, p: float, axes: tuple[int, ...], keep: bool) -> Value:
    """`sum(sizes ^ p) ^ (1 / p)`; of narrow floats in f32, as ATen does it: 1/3 is none of them."""
    element = sizes.element
    wide = F32 if element in (F16, BF16) else element
    powers = rw.emit("top.Pow", cast(rw, sizes, wide), number_like(rw, p, wide))
    return cast(rw, rw.emit("top.Pow", reduced(rw, powers, axes, keep, "ReduceSum"), number_like(rw, 1.0 / p, wide)), element)


@TABLE("dist.default", "pairwise_distance.default")
def distance(call: Call, rw: Rewriter) -> Value:
    """The p-norm of a difference."""
    given = call.get("self") or call.x1, call.get("other") or call.x2
    element = common_element(*given)
    apart = cast(rw, rw.emit("top.Sub", *(cast(rw, each, element) for each in given)), call.element)
    axes: tuple[int, ...] = tuple(range(len(shape_of(apart))))
    keep = call.get("keepdim", False)
    if call.base == "pairwise_distance":
        axes = axes[-1:]
        apart = rw.emit("top.AddConst", apart, const_val=float(call.eps))
    return _p_norm(rw, apart, float(call.p), axes, keep)


@TABLE("_cdist_forward.default", "cdist.default", "_euclidean_dist.default")
def cdist(call: Call, rw: Rewriter) -> Value:
    """The p-norms of the differences of all rows."""
    first, second = call.x1, call.x2
    a, b = shape_of(first), shape_of(second)
    apart = rw.emit("top.Sub", reshape(rw, first, (*a[:-1], 1, a[-1])), reshape(rw, second, (*b[:-2], 1, *b[-2:])))
    return _norm_of_last(rw, apart, float(call.get("p", 2.0)))


def _norm_of_last(rw: Rewriter, value: Value, p: float) -> Value:
    """The p-norm along the last dimension; of distances of rows p is never negative."""
    if p < 0:
        raise Unsupported(f"its p is {p}, and must be 0 or more")
    return _p_norm(rw, value, p, (len(shape_of(value)) - 1,), False)


@TABLE("_pdist_forward.default", "pdist.default")
def pdist(call: Call, rw: Rewriter) -> Value:
    """The p-norms of the differences of each two rows."""
    rows, _ = shape_of(call.self, 2)
    first, second = np.triu_indices(rows, 1)
    parts = [rw.emit("top.Gather", call.self, rw.constant(places.astype(np.int64)), axis=0) for places in (first, second)]
    return _norm_of_last(rw, rw.emit("top.Sub", *parts), float(call.p))


# --- running sums


@TABLE("cumsum.default")
def cumsum(call: Call, rw: Rewriter) -> Value:
    """Running sums."""
    value = cast(rw, call.self, call.element)
    if not shape_of(value):
        return value
    return rw.emit("top.CumSum", value, axis=axis_of(call.dim, len(shape_of(value))))


@TABLE("cumprod.default", "cummax.default", "cummin.default")
def running(call: Call, rw: Rewriter) -> list[Value]:
    """Running products and extremes, of each element with all before it: a triangle of them; and the last places of extremes."""
    value = cast(rw, call.self, IntegerType(8) if call.element == BOOL else call.element)
    shape = shape_of(value)
    if not shape:
        return [cast(rw, value, call.element), rw.constant(np.int64(0))][: len(call.op.results)]
    axis, size = axis_of(call.dim, len(shape)), shape[axis_of(call.dim, len(shape))]
    if size > 512:
        raise Unsupported(f"runs over {size} elements", "up to 512 can be converted")
    order = [*(i for i in range(len(shape)) if i != axis), axis]
    rows = permute(rw, value, order)
    table = reshape(rw, rows, (*shape_of(rows)[:-1], 1, size))
    seen = rw.constant(tables.tri(size, dtype=bool).reshape(*(1,) * (len(shape) - 1), size, size))
    neutral: float = {"cumprod": 1, "cummax": _least(value.element), "cummin": _most(value.element)}[call.base]
    known = rw.emit("top.Where", seen, table, number_like(rw, neutral, value.element))
    mode = {"cumprod": "ReduceProd", "cummax": "ReduceMax", "cummin": "ReduceMin"}[call.base]
    back = [order.index(i) for i in range(len(shape))]
    made = rw.emit("top.Reduce", known, axes=(len(shape),), keepdims=True, mode=mode)
    flat = permute(rw, reshape(rw, made, shape_of(rows)), back)
    if len(call.op.results) < 2:
        return [flat]
    here = rw.emit("top.LogicalAnd", seen, _same(rw, table, made))
    return [cast(rw, flat, call.element), permute(rw, _last_place(rw, here), back)]


@TABLE("logcumsumexp.default")
def running_log_sums(call: Call, rw: Rewriter) -> Value:
    """The logarithm of the sum of exponentials of each element and all before it."""
    value, element = wide(rw, cast(rw, call.self, call.element))
    shape = shape_of(value)
    return cast(rw, running_log_sum(rw, value, axis_of(call.dim, len(shape))) if shape else value, element)


def _same(rw: Rewriter, a: Value, b: Value) -> Value:
    """Whether numbers are equal, or both none."""
    equal = rw.emit("top.Compare", a, b, mode="Equal")
    if not is_float(a.element):
        return equal
    return rw.emit("top.LogicalOr", equal, rw.emit("top.LogicalAnd", *(rw.emit("top.IsNaN", each) for each in (a, b))))


def _last_place(rw: Rewriter, here: Value) -> Value:
    """The last place in each row of truth values where one is true; 0 where none is."""
    *rest, size = shape_of(here)
    places = rw.emit("top.Where", here, rw.constant(tables.arange(size, dtype=np.int32)), number_like(rw, 0, I32))
    return cast(rw, rw.emit("top.Reduce", places, axes=(len(rest),), keepdims=False, mode="ReduceMax"), I64)


def _least(element: Type) -> float:
    return -math.inf if isinstance(element, FloatType) else element.range[0]  # type: ignore[attr-defined]


def _most(element: Type) -> float:
    return math.inf if isinstance(element, FloatType) else element.range[1]  # type: ignore[attr-defined]


# --- order


@TABLE("topk.default")
def topk(call: Call, rw: Rewriter) -> list[Value]:
    """The k greatest or least along a dimension, and where they are."""
    value, shape = call.self, shape_of(call.self)
    if not shape:
        return [value, rw.constant(np.int64(0))]
    values, places = rw.emit("top.TopK", value, axis=axis_of(call.dim, len(shape)), k=call.k, largest=bool(call.largest))
    return [values, cast(rw, places, I64)]


@TABLE("sort.default", "sort.stable", "argsort.default", "argsort.stable", "msort.default")
def sort(call: Call, rw: Rewriter) -> list[Value]:
    """All along a dimension in order; equal numbers stay in order."""
    value, shape = call.self, shape_of(call.self)
    if not shape:
        results = [value, rw.constant(np.int64(0))]
        return results[1:] if call.base == "argsort" else results[: len(call.op.results)]
    axis = axis_of(call.get("dim", 0), len(shape))
    work = cast(rw, value, IntegerType(8)) if value.element == BOOL else value
    values, places = rw.emit("top.TopK", work, axis=axis, k=shape[axis], largest=bool(call.get("descending", False)))
    results = [cast(rw, values, value.element), cast(rw, places, I64)]
    return results[1:] if call.base == "argsort" else results[: len(call.op.results)]


@TABLE("kthvalue.default", "median.default", "median.dim", "nanmedian.dim", "nanmedian.default")
def ranked(call: Call, rw: Rewriter) -> list[Value]:
    """The k-th least, or the lower of those in the middle; of a row with NaN the median is the first of them."""
    value, shape = call.self, shape_of(call.self)
    if call.base == "nanmedian":
        raise Unsupported("leaves out what is no number", "median can be converted")
    if not shape:
        return [value, rw.constant(np.int64(0))][: len(call.op.results)]
    if 0 in shape and call.overload == "default" and is_float(value.element):
        return [_no_number(rw, value, tuple(range(len(shape))), False)]
    if call.overload == "default" and call.base == "median":
        value, axis = reshape(rw, value, (math.prod(shape),)), 0
    else:
        axis = axis_of(call.dim, len(shape))
    k = call.k if call.base == "kthvalue" else (shape_of(value)[axis] + 1) // 2
    results = [slice_along(rw, part, axis, k - 1, k) for part in rw.emit("top.TopK", value, axis=axis, k=k, largest=False)]
    if call.base == "median" and is_float(value.element):
        wrong = rw.emit("top.IsNaN", value)
        some = rw.emit("top.Reduce", wrong, axes=(axis,), keepdims=True, mode="ReduceAny")
        first = rw.emit("top.Arg", cast(rw, wrong, I32), axis=axis, keepdims=True, mode="ArgMax", element=results[1].element)
        nothing = number_like(rw, math.nan, value.element)
        results = [rw.emit("top.Where", some, *each) for each in ((nothing, results[0]), (first, results[1]))]
    if not call.get("keepdim", False):
        results = [reshape(rw, each, (*shape_of(value)[:axis], *shape_of(value)[axis + 1 :])) for each in results]
    return [results[0], cast(rw, results[1], I64)][: len(call.op.results)]


@TABLE("quantile.default", "quantile.scalar")
def quantile(call: Call, rw: Rewriter) -> Value:
    """Numbers between the two, in order, that a known part of all lies below; no number where one is none."""
    given = call.q if call.overload == "scalar" else rw.need_constant(call.q, "the parts below the numbers")
    parts = np.asarray(given, dtype_of(call.self.element))
    value, shape = call.self, shape_of(call.self)
    if call.dim is None or not shape:
        value, axis, kept = reshape(rw, value, (math.prod(shape),)), 0, (1,) * len(shape)
    else:
        axis = axis_of(call.dim, len(shape))
        kept = (*shape[:axis], 1, *shape[axis + 1 :])
    size = shape_of(value)[axis]
    if not size or not parts.size or not ((parts >= 0) & (parts <= 1)).all():
        raise Unsupported(f"takes the parts {parts.tolist()} of {size} numbers")
    how = call.choice("interpolation", ("linear", "lower", "higher", "midpoint", "nearest"))
    ranks = parts.reshape(-1).astype(np.float64) * (size - 1)  # in double precision, whatever the numbers are (Sorting.cpp)
    ranks = {"lower": np.floor, "higher": np.ceil, "nearest": np.rint}.get(how, np.asarray)(ranks)
    low, high = np.floor(ranks), np.ceil(ranks)
    weights = (np.full_like(ranks, 0.5) if how == "midpoint" else ranks - low).astype(parts.dtype)
    ordered, _ = rw.emit("top.TopK", value, axis=axis, k=size, largest=False)

    def at(places: np.ndarray) -> Value:
        return rw.emit("top.Gather", ordered, rw.constant(places.astype(np.int64)), axis=axis)

    rank = len(shape_of(value))
    made = at(np.where(weights < 0.5, low, high))  # from the nearer one, as torch.lerp
    if how in ("linear", "midpoint"):
        way = np.where(weights < 0.5, weights, weights - 1).reshape([1 if place != axis else -1 for place in range(rank)])
        made = rw.emit("top.Add", made, rw.emit("top.Mul", rw.emit("top.Sub", at(high), at(low)), rw.constant(way)))
    wrong = rw.emit("top.Reduce", rw.emit("top.IsNaN", value), axes=(axis,), keepdims=True, mode="ReduceAny")
    made = rw.emit("top.Where", wrong, number_like(rw, math.nan, made.element), made)
    made = permute(rw, made, (axis, *(place for place in range(rank) if place != axis)))
    rest = kept if call.keepdim else shape_of(made)[1:]
    return reshape(rw, made, (*parts.shape, *rest))


@TABLE("mode.default")
def most_frequent(call: Call, rw: Rewriter) -> list[Value]:
    """The number that is there most often, the least of several, and the last place where it is; NaN only where all are.

    PyTorch counts what is equal side by side when the numbers are sorted, and NaN, which sorting does not move, keeps equal ones
    apart, or not, by where it stands: that is not followed.
    """
    value, shape = call.self, shape_of(call.self)
    if not shape:
        return [value, rw.constant(np.int64(0))]
    axis = axis_of(call.dim, len(shape))
    order = [*(place for place in range(len(shape)) if place != axis), axis]
    work = permute(rw, cast(rw, value, IntegerType(8)) if value.element == BOOL else value, order)
    rest, size = shape_of(work)[:-1], shape[axis]
    if size * math.prod(shape) > _MOST_PAIRS:
        raise Unsupported(f"compares each of {size} numbers with all others", "up to 67,108,864 pairs can be converted")
    pairs = rw.emit("top.Compare", reshape(rw, work, (*rest, size, 1)), reshape(rw, work, (*rest, 1, size)), mode="Equal")
    counts = rw.emit("top.Reduce", cast(rw, pairs, I32), axes=(len(shape),), keepdims=False, mode="ReduceSum")
    last = len(shape) - 1
    most = rw.emit("top.Reduce", counts, axes=(last,), keepdims=True, mode="ReduceMax")
    there = work  # NaN is equal to none, so that it counts for nothing beside numbers
    if is_float(work.element):
        there = rw.emit("top.Where", rw.emit("top.IsNaN", work), number_like(rw, -math.inf, work.element), work)
    greatest = rw.emit("top.Reduce", there, axes=(last,), keepdims=True, mode="ReduceMax")
    often = rw.emit("top.Where", rw.emit("top.Compare", counts, most, mode="Equal"), work, greatest)
    least = rw.emit("top.Reduce", often, axes=(last,), keepdims=True, mode="ReduceMin")
    place = _last_place(rw, rw.emit("top.Compare", work, least, mode="Equal"))
    sizes = (*shape[:axis], *((1,) if call.keepdim else ()), *shape[axis + 1 :])
    return [cast(rw, reshape(rw, least, sizes), value.element), reshape(rw, place, sizes)]


@TABLE("histc.default")
def histogram(call: Call, rw: Rewriter) -> Value:
    """How many numbers lie in each of equal parts of a known range; the last part holds its end, too."""
    low, high, bins, count = float(call.min), float(call.max), call.bins, math.prod(shape_of(call.self))
    if not -math.inf < low < high < math.inf:
        raise Unsupported(f"counts between {low} and {high}", "give the least and the greatest number: min < max")
    if bins < 1 or bins * count > _MOST_PAIRS:
        raise Unsupported(f"counts {count} numbers in {bins} parts", "up to 67,108,864 comparisons can be converted")
    element = call.self.element
    value = reshape(rw, call.self, (count, 1))
    least, most = (number_like(rw, end, element) for end in (low, high))
    inside = rw.emit("top.LogicalAnd", rw.emit("top.Compare", value, least, mode="GreaterOrEqual"),
                     rw.emit("top.Compare", value, most, mode="LessOrEqual"))
    along = rw.emit("top.Mul", rw.emit("top.Sub", value, least), number_like(rw, bins, element))
    first, last = np.array([low, high], dtype_of(element))
    part = rw.emit("top.Floor", rw.emit("top.Div", along, number_like(rw, last - first, element)))  # of the ends as rounded
    part = rw.emit("top.Min", part, number_like(rw, bins - 1, element))
    here = rw.emit("top.Compare", part, rw.constant(tables.arange(bins, dtype=dtype_of(element)), element=element), mode="Equal")
    return reduced(rw, cast(rw, rw.emit("top.LogicalAnd", here, inside), element), (0,), False, "ReduceSum")


@TABLE("nonzero.default", "argwhere.default", "unique_consecutive.default", "_unique2.default", "unique_dim.default",
       "masked_select.default",
       "bincount.default", "nonzero_numpy.default")
def counted(call: Call, rw: Rewriter) -> list[Value]:
    """What makes as many elements as the numbers say: of a constant."""
    array = np.asarray(rw.need_constant(call.self, "the input (its numbers make the result's shape)"))
    if call.base in ("nonzero", "argwhere"):
        return [rw.constant(np.argwhere(array).astype(np.int64))]
    if call.base == "masked_select":
        mask = np.asarray(rw.need_constant(call.mask, "the mask (it makes the result's shape)"))
        array, mask = np.broadcast_arrays(array, mask)
        return [rw.constant(np.ascontiguousarray(array[mask]))]
    if call.base == "nonzero_numpy":
        return [rw.constant(part.astype(np.int64)) for part in np.nonzero(array)]
    raise Unsupported("makes as many elements as its input has different ones", "")


