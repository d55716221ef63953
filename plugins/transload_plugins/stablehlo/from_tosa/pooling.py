"""Poolings and reductions (2.3.1, 2.3.2, 2.3.9, 2.9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import I32, I64, Type, Value
from transload.rewrite import Rewriter, RewriteTable, Unsupported
from transload_hub import tables

from ...tosa.dialect.spatial import AvgPool2dAdaptive, MaxPool2dAdaptive
from ...tosa.kernels.base import reciprocal_scale
from .. import build
from .common import number, range_of, shifted, sizes, static, wide_float
from .rescale import Scale, fits, scaled

if TYPE_CHECKING:
    from ...tosa.dialect.reduction import ReduceAll, ReduceAny, ReduceMax, ReduceMin, ReduceProduct, ReduceSum
    from ...tosa.dialect.spatial import ArgMax, AvgPool2d, MaxPool2d

__all__ = ["TABLE"]

TABLE = RewriteTable()


def _window(
    op: AvgPool2d | AvgPool2dAdaptive | MaxPool2d | MaxPool2dAdaptive,
) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """Kernel, stride and padding: attributes, or the operands of the adaptive operators."""
    if isinstance(op, AvgPool2dAdaptive | MaxPool2dAdaptive):
        return sizes(op.kernel, "the window"), sizes(op.stride, "the stride"), sizes(op.pad, "the padding")
    return op.kernel, op.stride, op.pad


def _pooled(
    rw: Rewriter, x: Value, name: str, kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int],
) -> Value:
    """Windows of N,H,W,C combined; one window over everything is a reduction."""
    if not any(pad) and tuple(kernel) == static(x)[1:3]:
        return build.reduce(rw, x, (1, 2), name, keep=True)
    padding = [(0, 0), (pad[0], pad[1]), (pad[2], pad[3]), (0, 0)]
    return build.reduce_window(rw, x, name, (1, *kernel, 1), (1, *stride, 1), padding)


def _counts(length: int, extent: int, stride: int, before: int, places: int) -> np.ndarray:
    """How many elements of one axis each window has."""
    first = tables.arange(places) * stride - before
    return np.minimum(first + extent, length) - np.maximum(first, 0)


@TABLE("tosa.avg_pool2d", "tosa.avg_pool2d_adaptive")
def average(op: AvgPool2d | AvgPool2dAdaptive, rw: Rewriter) -> Value:
    """The mean of the elements that exist; integers divide by a fixed-point reciprocal."""
    kernel, stride, pad = _window(op)
    shape, out = static(op.input), static(op.output)
    counts = np.multiply.outer(
        _counts(shape[1], kernel[0], stride[0], pad[0], out[1]), _counts(shape[2], kernel[1], stride[1], pad[2], out[2]))
    if op.input.is_float:
        sums = _pooled(rw, wide_float(rw, op.input), "add", kernel, stride, pad)
        made = build.binary(rw, "divide", sums, _by_place(rw, sums, counts))
        return build.convert(rw, made, op.output.element)
    return _integer_average(op, rw, (kernel, stride, pad), counts)


def _by_place(rw: Rewriter, sums: Value, numbers: np.ndarray) -> Value:
    """A number for each row and column, or one for all."""
    if numbers.size and (numbers == numbers.flat[0]).all():
        return build.scalar(rw, numbers.flat[0], sums.element)
    return build.spread(rw, build.const(rw, numbers, sums.element), static(sums), (1, 2))


def _integer_average(op: AvgPool2d | AvgPool2dAdaptive, rw: Rewriter, window: tuple[Any, Any, Any], counts: np.ndarray) -> Value:
    zero_in, zero_out = number(op.input_zp), number(op.output_zp)
    if zero_in is None or zero_out is None:
        raise Unsupported("a zero point of an average is computed at run time")
    low, high = (bound - zero_in for bound in range_of(op.input.element))
    most = int(counts.max(initial=0))
    interval = (low * most, high * most)
    wide: Type = I32 if fits(interval, I32) else I64
    sums = _pooled(rw, shifted(rw, op.input, op.input_zp, wide), "add", *window)
    kinds, which = np.unique(counts, return_inverse=True)
    rows = [reciprocal_scale(int(count)) for count in kinds]
    scale = Scale(
        tuple(m for m, _ in rows), tuple((1 << (s - 1)) + (zero_out << s) for _, s in rows), tuple(s for _, s in rows))
    if len(rows) == 1:
        made = scaled(rw, sums, scale, interval)
    else:
        made = build.convert(rw, sums, I64)
        for name, numbers in zip(
            ("multiply", "add", "shift_right_arithmetic"), (scale.multiplier, scale.offset, scale.shift), strict=True,
        ):
            table = np.array(numbers, np.int64)[which.reshape(counts.shape)]
            made = build.binary(rw, name, made, _by_place(rw, made, table))
    element: Any = op.output.element
    if not fits(scale.results(*interval), element):
        made = build.clamp(rw, made, *element.range)
    return build.convert(rw, made, element)


@TABLE("tosa.max_pool2d", "tosa.max_pool2d_adaptive")
def maximum(op: MaxPool2d | MaxPool2dAdaptive, rw: Rewriter) -> Value:
    """The greatest element of a window; padding does not take part."""
    return _extremum(op, rw, lambda x: _pooled(rw, x, "maximum", *_window(op)), build.least)


def _extremum(op: MaxPool2d | MaxPool2dAdaptive | ReduceMax | ReduceMin, rw: Rewriter, combine: Any, start: Any) -> Value:
    """A combination of the elements; with `nan_mode` IGNORE of those that are no NaN, and NaN where all are."""
    x = op.operands[0]
    if not x.is_float:
        return combine(x)
    narrow = x.element
    x = wide_float(rw, x) if str(narrow).startswith("f8") else x
    if op.nan_mode == "IGNORE":
        missing = build.compare(rw, "NE", x, x)
        made = combine(build.select(rw, missing, float(start(x.element)), x))
        # A combination that is still at its start may be one of NaNs alone: then the plain one is NaN at both ends.
        there = combine(build.select(rw, missing, float(start(x.element)), build.like(rw, x, 0)))
        made = build.select(rw, build.compare(rw, "EQ", there, 0), made, float("nan"))
    else:
        made = combine(x)
    return build.convert(rw, made, narrow)


# --- reductions along one axis

SUMS = {"tosa.reduce_sum": "add", "tosa.reduce_product": "multiply"}
LOGICAL = {"tosa.reduce_all": "and", "tosa.reduce_any": "or"}
EXTREMA: dict[str, tuple[str, Any]] = {
    "tosa.reduce_max": ("maximum", build.least), "tosa.reduce_min": ("minimum", build.greatest)}


@TABLE(*SUMS)
def reduce_sum(op: ReduceProduct | ReduceSum, rw: Rewriter) -> Value:
    """Sums and products; those of narrow floats in f32."""
    x = wide_float(rw, op.input) if op.input.is_float else op.input
    return build.convert(rw, build.reduce(rw, x, (op.axis,), SUMS[op.name], keep=True), op.output.element)


@TABLE(*LOGICAL)
def reduce_logical(op: ReduceAll | ReduceAny, rw: Rewriter) -> Value:
    """Whether all, or any, are true."""
    return build.reduce(rw, op.input, (op.axis,), LOGICAL[op.name], keep=True)


@TABLE(*EXTREMA)
def reduce_extremum(op: ReduceMax | ReduceMin, rw: Rewriter) -> Value:
    """The greatest or least."""
    name, start = EXTREMA[op.name]
    return _extremum(op, rw, lambda x: build.reduce(rw, x, (op.axis,), name, keep=True), start)


@TABLE("tosa.argmax")
def argmax(op: ArgMax, rw: Rewriter) -> Value:
    """The first place of the greatest: the least number of a place that holds it.

    A NaN is the greatest, or with `nan_mode` IGNORE is passed over.
    """
    x, axis, element = op.input, op.axis, op.output.element
    shape = static(x)
    if str(x.element).startswith("f8"):
        x = wide_float(rw, x)
    places = build.iota(rw, shape, axis, element)
    end = shape[axis]
    if x.is_float:
        missing = build.compare(rw, "NE", x, x)
        if op.nan_mode == "IGNORE":
            x = build.select(rw, missing, float("-inf"), x)
        greatest = build.reduce(rw, x, (axis,), "maximum", keep=True)
        hit = build.compare(rw, "EQ", x, greatest)
        if op.nan_mode == "IGNORE":
            hit = build.binary(rw, "and", hit, build.unary(rw, "not", missing))
        else:
            hit = build.binary(rw, "or", hit, missing)
    else:
        hit = build.compare(rw, "EQ", x, build.reduce(rw, x, (axis,), "maximum", keep=True))
    found = build.reduce(rw, build.select(rw, hit, places, end), (axis,), "minimum")
    if x.is_float and op.nan_mode == "IGNORE":  # nothing but NaNs: the first place
        found = build.select(rw, build.compare(rw, "EQ", found, end), 0, found)
    return found


