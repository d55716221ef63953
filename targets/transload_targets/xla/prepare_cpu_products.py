"""Products of integers as products of floats that are exact.

A sum of products of integers is exact in f32, in whatever order it is formed, as long as the absolute values of its
terms add up to less than 2^24: every partial sum is an integer that f32 holds. The bound comes from the ranges of the
operands, and from the weights themselves where they are constant. Where it is too large, the contracted dimension is cut
into parts that keep it, or the operand into its high and low bytes; products of matrices go to f64, which holds integers
up to 2^53.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.analysis.intervals import Intervals, integer_of, magnitude
from transload.ir import F32, F64, I32, I64, FloatType, Op, TensorType, Type, Value, dtype_of
from transload.ir.build import constant_of
from transload.ir.constants import SplatData
from transload.rewrite import Rewriter, RewriteTable

if TYPE_CHECKING:
    from transload_plugins.stablehlo.dialect.contraction import Convolution, DotGeneral

__all__ = ["filled", "in_doubles", "scalar", "table"]

EXACT = {F32: 1 << 24, F64: 1 << 53}
"""Integers of a smaller absolute value, and all sums of them that stay below, are exact."""
TRANSFORMED = 1 << 40
"""Integers of a smaller absolute value are the nearest to sums of f64 that were formed by transforms (Winograd's), too."""
MOST_PARTS = 4
"""Into how many products one is cut at most; more would take longer than the plain loop."""


@dataclass(frozen=True)
class Product:
    """A convolution or dot_general of integers: which axes of its operands are contracted."""

    op: Op
    lhs_axes: tuple[int, ...]
    rhs_axes: tuple[int, ...]
    cut: tuple[int, int] | None
    """The contracted axis of lhs and of rhs along which it can be cut into parts."""
    terms: int
    """How many products are summed for one result."""


def _product(op: Op) -> Product:
    shape = op.operands[1].shape
    dims = op.dimension_numbers if op.name == "stablehlo.convolution" else op.dot_dimension_numbers
    if op.name == "stablehlo.dot_general":
        lhs, rhs = dims.lhs_contracting_dimensions, dims.rhs_contracting_dimensions
        sizes = [shape[axis] for axis in rhs]
        widest = sizes.index(max(sizes)) if sizes else 0
        cut = (lhs[widest], rhs[widest]) if sizes else None
        return Product(op, lhs, rhs, cut, math.prod(sizes))
    spatial = dims.kernel_spatial_dimensions
    rhs = (dims.kernel_input_feature_dimension, *spatial)
    whole = op.feature_group_count == op.batch_group_count == 1
    cut = (dims.input_feature_dimension, dims.kernel_input_feature_dimension) if whole else None
    lhs = (dims.input_feature_dimension, *dims.input_spatial_dimensions)
    return Product(op, lhs, rhs, cut, math.prod(shape[axis] for axis in rhs))


def table(ranges: Intervals) -> RewriteTable:
    """The rewrites, by what is known of the integers."""
    rewrites = RewriteTable()

    @rewrites("stablehlo.convolution", "stablehlo.dot_general")
    def exact(op: Convolution | DotGeneral, rw: Rewriter) -> Value | None:
        product = _of_integers(op)
        return None if product is None or op.attribute("batch_group_count", 1) != 1 else _rewritten(rw, product, ranges)

    return rewrites


def in_doubles(ranges: Intervals) -> RewriteTable:
    """Convolutions of integers as the integers nearest to those of f64, for devices that have no others."""
    rewrites = RewriteTable()

    @rewrites("stablehlo.convolution")
    def doubled(op: Convolution, rw: Rewriter) -> Value | None:
        product = _of_integers(op)
        if product is None:
            return None
        x, w = op.operands
        parts = _parts(product, _absolute(product), magnitude(ranges.of(x)), magnitude(ranges.of(w)), TRANSFORMED)
        return None if parts is None else _summed(rw, product, x, parts, F64, nearest=True)

    return rewrites


def _of_integers(op: Convolution | DotGeneral) -> Product | None:
    """A product of integers whose shapes are known, and that computes something."""
    x, w = op.operands
    if integer_of(x) is None or integer_of(w) is None or op.results[0].element not in (I32, I64):
        return None
    if not all(isinstance(v.type, TensorType) and v.type.is_static for v in (x, w, op.results[0])):
        return None
    return None if 0 in op.results[0].shape or 0 in x.shape else _product(op)


def _rewritten(rw: Rewriter, product: Product, ranges: Intervals) -> Value | None:
    x, w = product.op.operands
    x_range, w_range = ranges.of(x), ranges.of(w)
    weights = _absolute(product)
    x_most, w_most = magnitude(x_range), magnitude(w_range)

    def parts_of(most: int, limit: int) -> list[tuple[int, int]] | None:
        return _parts(product, weights, most, w_most, limit)

    once = parts_of(x_most, EXACT[F32])
    if once is not None and len(once) == 1:
        return _summed(rw, product, x, once, F32)
    if product.op.name == "stablehlo.dot_general" and (whole := parts_of(x_most, EXACT[F64])) and len(whole) == 1:
        return _summed(rw, product, x, whole, F64)
    if once is not None:
        return _summed(rw, product, x, once, F32)
    if x_most >= 256 and x.element.width >= 16:  # type: ignore[attr-defined]
        high_most = max(abs(x_range[0] >> 8), abs(x_range[1] >> 8))
        high, low = parts_of(high_most, EXACT[F32]), parts_of(255, EXACT[F32])
        if high is not None and low is not None and len(high) + len(low) <= 2 * MOST_PARTS:
            return _by_bytes(rw, product, x, high, low)
    return None


def _by_bytes(rw: Rewriter, product: Product, x: Value, high: list[tuple[int, int]], low: list[tuple[int, int]]) -> Value:
    """`x = 256 * (x >> 8) + (x & 255)`, so its product is that of the high bytes, 256 times, and of the low ones."""
    shift = "logical" if x.element.unsigned else "arithmetic"  # type: ignore[attr-defined]
    top = rw.emit(f"stablehlo.shift_right_{shift}", x, filled(rw, x, 8))
    bottom = rw.emit("stablehlo.and", x, filled(rw, x, 255))
    highs, lows = _summed(rw, product, top, high, F32), _summed(rw, product, bottom, low, F32)
    return rw.emit("stablehlo.add", rw.emit("stablehlo.multiply", highs, filled(rw, highs, 256)), lows)


def _absolute(product: Product) -> np.ndarray | None:
    """Constant weights: the absolute values summed over the contracted axes but the one that may be cut, which comes first."""
    dense = constant_of(product.op.operands[1])
    if dense is None:
        return None
    absolute = np.abs(dense.numpy().astype(np.float64))
    keep = product.cut[1] if product.cut is not None else None
    summed = absolute.sum(axis=tuple(axis for axis in product.rhs_axes if axis != keep), keepdims=True)
    summed = np.moveaxis(summed, keep, 0) if keep is not None else summed[None]
    return summed.reshape(summed.shape[0], -1)


def _parts(product: Product, weights: np.ndarray | None, x_most: int, w_most: int, limit: int) -> list[tuple[int, int]] | None:
    """Bounds (start, end) of the parts of the contracted axis whose sums stay below `limit`; None where they are too many."""
    size = (product.op.operands[1].shape[product.cut[1]] or 0) if product.cut is not None else 1
    if weights is None:
        per_index = x_most * w_most * (product.terms // max(size, 1))
        if per_index * size < limit:
            return [(0, size)]
        step = (limit - 1) // per_index
        if product.cut is None or step == 0 or -(-size // step) > MOST_PARTS:
            return None
        return [(start, min(start + step, size)) for start in range(0, size, step)]
    if float(weights.sum(axis=0).max(initial=0)) * x_most < limit:
        return [(0, size)]
    if product.cut is None:
        return None
    parts: list[tuple[int, int]] = []
    start, running = 0, np.zeros(weights.shape[1])
    for index, row in enumerate(weights):
        if float(row.max(initial=0)) * x_most >= limit:
            return None
        if float((running + row).max(initial=0)) * x_most >= limit:
            parts.append((start, index))
            start, running = index, np.zeros(weights.shape[1])
        running = running + row
    parts.append((start, size))
    return parts if len(parts) <= MOST_PARTS else None


def _summed(
    rw: Rewriter, product: Product, x: Value, parts: list[tuple[int, int]], element: FloatType, nearest: bool = False,
) -> Value:
    """The product in floats, part by part, as integers of its own type: those `nearest`, where sums are not exact.

    Sums of f64 may pass 32 bits. By way of 64 they wrap round, as the product's own do; XLA casts floats to the nearest end.
    """
    op = product.op
    wide = element == F64 and op.results[0].element == I32
    total: Value | None = None
    for left, right in _cut(rw, product, x, parts):
        floats = [rw.emit("stablehlo.convert", v, types=[v.tensor_type.with_element(element)]) for v in (left, right)]
        type_: Any = op.results[0].type
        attributes = {key: value for key, value in op.attributes.items() if key != "algorithm"}
        made = rw.create(op.name, floats, [type_.with_element(element)], attributes).results[0]
        made = rw.emit("stablehlo.round_nearest_even", made) if nearest else made
        made = rw.emit("stablehlo.convert", made, types=[type_.with_element(I64)]) if wide else made
        made = rw.emit("stablehlo.convert", made, types=[type_])
        total = made if total is None else rw.emit("stablehlo.add", total, made)
    return total  # type: ignore[return-value]


def _cut(rw: Rewriter, product: Product, x: Value, parts: list[tuple[int, int]]) -> Iterator[tuple[Value, Value]]:
    w = product.op.operands[1]
    if len(parts) == 1 or product.cut is None:
        yield x, w
        return
    for start, end in parts:
        yield _slice(rw, x, product.cut[0], start, end), _slice(rw, w, product.cut[1], start, end)


def _slice(rw: Rewriter, x: Value, axis: int, start: int, end: int) -> Value:
    shape = x.shape
    starts = tuple(start if i == axis else 0 for i in range(len(shape)))
    limits = tuple(end if i == axis else size for i, size in enumerate(shape))
    value: Value = rw.emit("stablehlo.slice", x, start_indices=starts, limit_indices=limits, strides=(1,) * len(shape))
    return value


def filled(rw: Rewriter, x: Value, number: Any) -> Value:
    """A constant of the type of `x`, one number everywhere."""
    shape: Any = x.shape
    return rw.constant(SplatData(number, shape, dtype_of(x.element)), x.element, dialect="stablehlo")


def scalar(rw: Rewriter, element: Type, number: Any) -> Value:
    """A constant of rank 0."""
    return rw.constant(SplatData(number, (), dtype_of(element)), element, dialect="stablehlo")

