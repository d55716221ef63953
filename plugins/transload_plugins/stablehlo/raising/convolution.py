"""Convolution in all its generality, as `top.Conv` or `top.Deconv` with the channels last or second."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from transload.errors import Unsupported
from transload.ir import Type, Value
from transload.rewrite import Rewriter, RewriteTable

from ..dialect.base import padding_of
from ..dialect.contraction import convolution_shape
from ..types import element_of, shape_of
from .contraction import factors
from .movement import integers, padded
from .table import agreed, as_quantized, empty, full, like, materialized, permute, refuse_complex, reshape, static

if TYPE_CHECKING:
    from ..dialect.contraction import Convolution, DynamicConv

__all__ = ["TABLE"]

TABLE = RewriteTable()


@dataclass(frozen=True)
class Windows:
    """How windows lie over the input: a number, or a pair, a spatial dimension."""

    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    lhs_dilation: tuple[int, ...]
    rhs_dilation: tuple[int, ...]
    reversal: tuple[bool, ...]


@TABLE("stablehlo.convolution", "stablehlo.dynamic_conv")
def convolution(op: Convolution | DynamicConv, rw: Rewriter) -> Value:
    """See `_convolve`; a quantized result of factors that are not is computed in floats."""
    refuse_complex(op)
    nothing = empty(rw, op)
    if nothing:
        return nothing[0]
    x, w = op.operands[:2]
    if 0 in static(x, "the input") or 0 in static(w, "the kernel"):  # sums of nothing
        return full(rw, 0, shape_of(op.results[0]), op.results[0].element)
    n = x.rank - 2
    if n > 3:
        raise Unsupported(f"has {n} spatial dimensions, and the hub's convolution at most three")
    if op.results[0].is_bool:
        raise Unsupported("a convolution of booleans", "convert to integers first")
    if len(op.operands) > 2:
        flat = integers(rw, op.operands[2], "the padding")
        padding = tuple((flat[2 * i], flat[2 * i + 1]) for i in range(n))
        agreed(op, convolution_shape(op, [list(pair) for pair in padding]))
    else:
        padding = tuple((low, high) for low, high in padding_of(op, n))
    windows = Windows(op.window_strides, padding, op.lhs_dilation, op.rhs_dilation, op.window_reversal)
    element = element_of(op.results[0])
    if op.results[0].is_quantized and not (x.is_quantized and w.is_quantized):
        made = _convolve(op, rw, *factors(rw, x, w, element.expressed), windows, element.expressed)
        return as_quantized(rw, made, element)
    return _convolve(op, rw, *factors(rw, x, w, element), windows, element)


def _convolve(op: Convolution | DynamicConv, rw: Rewriter, x: Value, w: Value, windows: Windows, element: Type) -> Value:
    """The dimensions in the order of one layout, unless they are so; groups of the batch as groups of features."""
    d = op.dimension_numbers
    n = x.rank - 2
    first = (d.input_batch_dimension, d.input_feature_dimension, *d.input_spatial_dimensions)
    channels_second = first == tuple(range(n + 2)) and n > 0
    layout = "NCHW" if channels_second else "NHWC"
    order = first if channels_second else (first[0], *first[2:], first[1])
    x = permute(rw, x, order)
    kernel = permute(
        rw, materialized(rw, w),
        (*d.kernel_spatial_dimensions, d.kernel_input_feature_dimension, d.kernel_output_feature_dimension))
    group = op.feature_group_count
    if op.batch_group_count > 1:
        group = op.batch_group_count
        x = _batch_as_features(rw, x, group, layout)
    if n == 0:  # a window of one element in a dimension of its own
        x = reshape(rw, x, (shape_of(x)[0], 1, shape_of(x)[1]))
        kernel = reshape(rw, kernel, (1, *shape_of(kernel)))
        windows = Windows((1,), ((0, 0),), (1,), (1,), (False,))
    flipped = tuple(axis for axis, flag in enumerate(windows.reversal) if flag and kernel.shape[axis] != 1)
    if flipped:
        kernel = rw.emit("top.Reverse", kernel, axes=flipped)
    if any(dilation > 1 for dilation in windows.lhs_dilation):
        made = _transposed(rw, x, kernel, windows, group, layout, element)
        if made is None:
            x, windows = _spread(rw, x, windows, layout)
            made = _forward(rw, x, kernel, windows, group, layout, element)
    else:
        made = _forward(rw, x, kernel, windows, group, layout, element)
    if n == 0:
        made = reshape(rw, made, (shape_of(made)[0], shape_of(made)[2]))
    given = (d.output_batch_dimension, d.output_feature_dimension, *d.output_spatial_dimensions)
    if layout == "NHWC":
        given = (given[0], *given[2:], given[1])
    return permute(rw, made, [given.index(axis) for axis in range(n + 2)])


def _batch_as_features(rw: Rewriter, x: Value, groups: int, layout: str) -> Value:
    """[G * N, .., C] as [N, .., G * C]."""
    shape = shape_of(x)
    rank = len(shape)
    apart = reshape(rw, x, (groups, shape[0] // groups, *shape[1:]))
    if layout == "NHWC":
        moved = permute(rw, apart, (*range(1, rank), 0, rank))
        return reshape(rw, moved, (*shape_of(moved)[:-2], groups * shape[-1]))
    moved = permute(rw, apart, (1, 0, *range(2, rank + 1)))
    return reshape(rw, moved, (shape_of(moved)[0], groups * shape[1], *shape[2:]))


def _spatial(layout: str, n: int) -> range:
    return range(1, n + 1) if layout == "NHWC" else range(2, n + 2)


def _spread(rw: Rewriter, x: Value, windows: Windows, layout: str) -> tuple[Value, Windows]:
    """The input with zeros between its elements, and the windows over that."""
    interior = [0] * x.rank
    for axis, dilation in zip(_spatial(layout, x.rank - 2), windows.lhs_dilation, strict=True):
        interior[axis] = dilation - 1
    none = [0] * x.rank
    spread = padded(rw, x, _zero(rw, x), none, none, interior)
    return spread, replace(windows, lhs_dilation=(1,) * (x.rank - 2))


def _zero(rw: Rewriter, x: Value) -> Value:
    if x.is_quantized:
        return rw.constant(element_of(x).zero_point, x.element)
    return like(rw, x, 0)


def _forward(rw: Rewriter, x: Value, kernel: Value, windows: Windows, group: int, layout: str, element: Type) -> Value:
    """`top.Conv`, its kernel given as [space.., C / group, O]; padding that takes elements away is a slice before."""
    n = x.rank - 2
    if any(min(pair) < 0 for pair in windows.padding):
        low, high = [0] * x.rank, [0] * x.rank
        for axis, pair in zip(_spatial(layout, n), windows.padding, strict=True):
            low[axis], high[axis] = min(pair[0], 0), min(pair[1], 0)
        x = padded(rw, x, _zero(rw, x), low, high, [0] * x.rank)
    spatial = tuple(range(n))
    weights = permute(rw, kernel, (n + 1, *spatial, n) if layout == "NHWC" else (n + 1, n, *spatial))
    return rw.emit(
        "top.Conv", x, weights, kernel_shape=tuple(kernel.shape[:n]), strides=tuple(windows.strides),
        pads=(*(max(low, 0) for low, _ in windows.padding), *(max(high, 0) for _, high in windows.padding)),
        dilations=tuple(windows.rhs_dilation), group=group, layout=layout, element=element)


def _transposed(
    rw: Rewriter, x: Value, kernel: Value, windows: Windows, group: int, layout: str, element: Type) -> Value | None:
    """`top.Deconv` where the windows are next to each other: an input spread out meets the reversed kernel.

    A convolution of spread elements with padding p is the transposed one with padding `(k - 1) * dilation - p`; where
    that is negative, zeros are put around its result.
    """
    n = x.rank - 2
    if any(stride > 1 for stride in windows.strides) or x.is_quantized:
        return None
    plain = group == 1 and n < 3 and all(dilation == 1 for dilation in windows.rhs_dilation)
    if rw.constant_of(kernel) is None and not plain:  # targets turn such a filter over themselves, and must know it
        return None
    sizes = shape_of(kernel)[:n]
    cut = [
        [(k - 1) * dilation - pad for pad in pair]
        for k, dilation, pair in zip(sizes, windows.rhs_dilation, windows.padding, strict=True)]
    shape = [shape_of(x)[axis] for axis in _spatial(layout, n)]
    made = [
        (size - 1) * stride + (k - 1) * dilation + 1 - max(low, 0) - max(high, 0)
        for size, stride, k, dilation, (low, high) in zip(
            shape, windows.lhs_dilation, sizes, windows.rhs_dilation, cut, strict=True)]
    if min(made) < 1:
        return None
    turned = tuple(axis for axis in range(n) if sizes[axis] != 1)
    if turned:
        kernel = rw.emit("top.Reverse", kernel, axes=turned)
    per_group, outputs = shape_of(kernel)[n:]
    spatial = tuple(range(n))
    if group == 1:
        weights = permute(rw, kernel, (n + 1, *spatial, n) if layout == "NHWC" else (n, n + 1, *spatial))
    else:  # [space.., C/g, g, O/g]: the input's channels are numbered by group first
        apart = reshape(rw, kernel, (*sizes, per_group, group, outputs // group))
        if layout == "NHWC":
            weights = permute(rw, apart, (n + 2, *spatial, n + 1, n))
            weights = reshape(rw, weights, (outputs // group, *sizes, group * per_group))
        else:
            weights = permute(rw, apart, (n + 1, n, n + 2, *spatial))
            weights = reshape(rw, weights, (group * per_group, outputs // group, *sizes))
    pads = (*(max(low, 0) for low, _ in cut), *(max(high, 0) for _, high in cut))
    result = rw.emit(
        "top.Deconv", x, weights, kernel_shape=tuple(sizes), strides=tuple(windows.lhs_dilation), pads=pads,
        dilations=tuple(windows.rhs_dilation), group=group, layout=layout, element=element)
    if min(map(min, cut)) >= 0:
        return result
    low, high = [0] * x.rank, [0] * x.rank
    for axis, (begin, end) in zip(_spatial(layout, n), cut, strict=True):
        low[axis], high[axis] = max(-begin, 0), max(-end, 0)
    return padded(rw, result, like(rw, result, 0), low, high, [0] * x.rank)


