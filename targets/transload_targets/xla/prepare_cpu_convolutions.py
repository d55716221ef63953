"""Convolutions that XLA's CPU backend runs in plain loops, in forms that it runs fast.

A depthwise convolution is a sum over the places of its kernel: the input, shifted by the place and strided, times the
weight of that place and channel. XLA fuses all of it into one loop over the result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from transload.ir import FloatType, IntegerType, Op, TensorType, Value
from transload.rewrite import CHANGED, Rewriter, RewriteTable

from .prepare_cpu_products import scalar

if TYPE_CHECKING:
    from transload_plugins.stablehlo.dialect.contraction import Convolution

__all__ = ["FORWARD", "TABLE"]

TABLE = RewriteTable()
FORWARD = RewriteTable()
MOST_PLACES = 81
"""Places of a kernel from which on the sum is no longer written out."""


@dataclass(frozen=True)
class Axes:
    """Where in the operands and the result the dimensions lie."""

    batch: int
    feature: int
    spatial: tuple[int, ...]
    kernel_in: int
    kernel_out: int
    kernel_spatial: tuple[int, ...]
    out_batch: int
    out_feature: int
    out_spatial: tuple[int, ...]

    @classmethod
    def of(cls, op: Op) -> Axes:
        d = op.dimension_numbers
        return cls(
            d.input_batch_dimension, d.input_feature_dimension, d.input_spatial_dimensions, d.kernel_input_feature_dimension,
            d.kernel_output_feature_dimension, d.kernel_spatial_dimensions, d.output_batch_dimension,
            d.output_feature_dimension, d.output_spatial_dimensions)


def _padding(op: Op, rank: int) -> list[tuple[int, int]]:
    dense = op.attribute("padding")
    return [(low, high) for low, high in dense.numpy().tolist()] if dense is not None else [(0, 0)] * rank


@FORWARD("stablehlo.convolution")
def forward(op: Convolution, rw: Rewriter) -> Any:
    """A kernel that is read backwards: turned round, and read forwards."""
    reversal = op.window_reversal
    if not any(reversal):
        return None
    axes = op.dimension_numbers.kernel_spatial_dimensions
    turned = tuple(sorted(axis for axis, backwards in zip(axes, reversal, strict=True) if backwards))
    kernel = rw.emit("stablehlo.reverse", op.operands[1], dimensions=turned)
    op.operands = (op.operands[0], kernel)
    op.attributes.pop("window_reversal")
    return CHANGED


@TABLE("stablehlo.convolution")
def depthwise(op: Convolution, rw: Rewriter) -> Value | None:
    """One input channel a group: a sum over the places of the kernel."""
    x, w = op.operands
    if not all(isinstance(v.type, TensorType) and v.type.is_static for v in (x, w, op.results[0])):
        return None
    if not isinstance(op.results[0].element, FloatType | IntegerType) or op.batch_group_count != 1:
        return None
    axes = Axes.of(op)
    places = [w.shape[axis] or 0 for axis in axes.kernel_spatial]
    channels = x.shape[axes.feature] or 0
    if op.feature_group_count != channels or channels == 1 or not 0 < math.prod(places) <= MOST_PLACES:
        return None
    if any(step != 1 for step in op.lhs_dilation) or 0 in op.results[0].shape:
        return None
    return _sum_of_places(op, rw, axes, places)


def _sum_of_places(op: Convolution, rw: Rewriter, axes: Axes, places: list[int]) -> Value:
    element: Any = op.results[0].element
    rank = len(places)
    x, w = (rw.emit("stablehlo.convert", v, types=[v.tensor_type.with_element(element)]) if v.element != element else v
            for v in op.operands)
    x = _transposed(rw, x, (axes.batch, *axes.spatial, axes.feature), (axes.out_batch, *axes.out_spatial, axes.out_feature))
    features = op.results[0].shape[axes.out_feature] or 0
    x = _repeated(rw, x, axes.out_feature, features)
    x = _padded(rw, x, axes, _padding(op, rank))
    # The weights as (places..., features); a kernel's input dimension has size 1.
    w = rw.emit("stablehlo.transpose", w, permutation=(*axes.kernel_spatial, axes.kernel_out, axes.kernel_in))
    w = rw.emit("stablehlo.reshape", w, types=[TensorType((math.prod(places), features), element)])
    total: Value | None = None
    shape = op.results[0].shape
    for index, place in enumerate(product(*(range(size) for size in places))):
        starts, limits, strides = [0] * len(shape), list(x.shape), [1] * len(shape)
        for i, axis in enumerate(axes.out_spatial):
            starts[axis] = place[i] * op.rhs_dilation[i]
            strides[axis] = op.window_strides[i]
            limits[axis] = starts[axis] + ((shape[axis] or 0) - 1) * strides[axis] + 1
        window = rw.emit(
            "stablehlo.slice", x, start_indices=tuple(starts), limit_indices=tuple(limits), strides=tuple(strides))
        row = rw.create(  # not folded: one constant of all weights is better than many
            "stablehlo.slice", (w,), [TensorType((1, features), element)],
            {"start_indices": (index, 0), "limit_indices": (index + 1, features), "strides": (1, 1)}).results[0]
        row = rw.emit("stablehlo.reshape", row, types=[TensorType((features,), element)])
        spread = rw.create(
            "stablehlo.broadcast_in_dim", (row,), [op.results[0].type], {"broadcast_dimensions": (axes.out_feature,)}).results[0]
        term = rw.emit("stablehlo.multiply", window, spread)
        total = term if total is None else rw.emit("stablehlo.add", total, term)
    return total  # type: ignore[return-value]


def _transposed(rw: Rewriter, x: Value, source: tuple[int, ...], wanted: tuple[int, ...]) -> Value:
    """`x`, whose dimension `source[i]` is to lie at `wanted[i]`."""
    order = [0] * len(source)
    for old, new in zip(source, wanted, strict=True):
        order[new] = old
    return x if order == sorted(order) else rw.emit("stablehlo.transpose", x, permutation=tuple(order))


def _repeated(rw: Rewriter, x: Value, axis: int, size: int) -> Value:
    """Each channel repeated until there are `size`: of a kernel with several outputs a channel."""
    channels = x.shape[axis] or 1
    if channels == size:
        return x
    shape = [n or 0 for n in x.shape]
    wide = (*shape[: axis + 1], size // channels, *shape[axis + 1 :])
    dimensions = tuple(i if i <= axis else i + 1 for i in range(len(shape)))
    spread = rw.create(
        "stablehlo.broadcast_in_dim", (x,), [TensorType(wide, x.element)], {"broadcast_dimensions": dimensions}).results[0]
    flat = (*shape[:axis], size, *shape[axis + 1 :])
    value: Value = rw.emit("stablehlo.reshape", spread, types=[TensorType(flat, x.element)])
    return value


def _padded(rw: Rewriter, x: Value, axes: Axes, padding: list[tuple[int, int]]) -> Value:
    if not any(low or high for low, high in padding):
        return x
    low, high = [0] * len(x.shape), [0] * len(x.shape)
    for axis, pair in zip(axes.out_spatial, padding, strict=True):
        low[axis], high[axis] = pair
    zero = scalar(rw, x.element, 0)
    value: Value = rw.emit(
        "stablehlo.pad", x, zero, edge_padding_low=tuple(low), edge_padding_high=tuple(high),
        interior_padding=(0,) * len(x.shape))
    # Without the barrier, the middle place reads what is padded instead, and computes that a second time.
    barrier: Value = rw.create("stablehlo.optimization_barrier", (value,), [value.type]).results[0]
    return barrier
