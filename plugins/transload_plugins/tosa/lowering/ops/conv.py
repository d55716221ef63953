"""Convolutions and transposed convolutions: float, and quantized with the exact sums of LiteRT's kernels.

A quantized convolution is a TOSA convolution that sums in i32 (int8) or i48 (int16), a rescale per channel
and a clamp where an activation is fused. Groups become slices and a concatenation, one-dimensional
windows two-dimensional ones; what TOSA's transposed convolution lacks is made of a forward one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from transload.ir import BF16, F16, F32, I8, I16, I32, I48, IntegerType, Op, QuantType, Type, Value, dtype_of
from transload.rewrite import Rewriter, RewriteTable, Unsupported
from transload_hub import tables
from transload_hub.build import need_place
from transload_hub.scales import product_factors

from ... import build
from ...dialect.base import storage_of
from ..arithmetic.fine_biases import FineBias, fine_bias
from ..arithmetic.integer_products import are_integers, by_digits
from ..arithmetic.rescaling import (
    DOUBLE,
    WIDE,
    activation_range,
    fused_activation,
    narrow,
    quant,
    rounding_of,
)
from ..prepare.sources import is_unsigned, sources
from .common import static_shape
from .windows import Window, counts, fit, lies_in_padding, need_channels_last, squeeze_height, unsqueeze_height, window_of

if TYPE_CHECKING:
    from transload_hub.ops.conv import Conv, Deconv

__all__ = ["TABLE", "Sum", "bias_value", "sum_bits", "sum_of", "sums_are_wider"]

TABLE = RewriteTable()


class Sum(NamedTuple):
    """How products of two operands are summed: element types of sum and accumulator, the zero points."""

    element: Type
    accumulator: Type
    input_zp: int = 0
    weight_zp: int = 0


def sum_of(x: Value, w: Value) -> Sum | None:
    """How TOSA sums products of `x` and `w`; None where it does not (one is quantized and the other is not, ...)."""
    a, b = quant(x), quant(w)
    if a is None and b is None:
        element = x.element
        if element != w.element or element not in (F16, BF16, F32, I8):
            return None
        return Sum(I32, I32) if element == I8 else Sum(element, F32)
    if a is None or b is None or not a.per_tensor or b.blocks is not None or len(set(b.zero_points)) != 1:
        return None
    zero_points = (a.zero_point, b.zero_points[0])
    if a.storage == I8 and b.storage == I8:
        return Sum(I32, I32, *zero_points)
    if a.storage == I16 and b.storage == I8 and zero_points[0] == 0:
        return Sum(I48, I48, *zero_points)
    return None


def sums_are_wider(op: Op) -> bool:
    """Whether an op sums products of f16 or bf16 in f32, which a convolution of TOSA rounds to the type of its factors."""
    return op.operands[0].element in (F16, BF16) and op.results[0].element == F32


def _factors(op: Conv | Deconv, rw: Rewriter) -> tuple[Value, Value]:
    """Input and filter, in f32 where `sums_are_wider`."""
    x, w = op.input, op.filter
    return (build.cast(rw, x, F32), build.cast(rw, w, F32)) if sums_are_wider(op) else (x, w)


def bias_value(rw: Rewriter, bias: Value | None, total: Sum, x: Value, w: Value, channels: int) -> Value:
    """The bias as a value of the sum's type: zeros where there is none, quantized where it is given in other numbers."""
    element = total.element
    if bias is None:
        return build.const(rw, tables.zeros(channels, dtype_of(element)), element)
    a, b, held = quant(x), quant(w), quant(bias)
    if a is None or b is None:
        return build.cast(rw, bias, element)
    array = rw.constant_of(bias)
    scales = a.scale * b.scale_array
    same_scale = held is not None and held.count in (1, b.count) and (
        np.array_equal(held.scale_array, scales) or np.allclose(held.scale_array, scales, 1e-3, 0))
    if held is not None and same_scale and not any(held.zero_points) and array is None:
        if storage_of(bias) == element:
            return bias
        raise Unsupported(f"a bias of {held.storage} computed at run time cannot be added to a sum of {element}")
    if array is None:
        raise Unsupported("a bias in another scale than input scale times weight scale must be a constant")
    if held is not None and not (same_scale and not any(held.zero_points)):
        array = (array.astype(np.float64) - np.asarray(held.zero_points)) * held.scale_array
    if array.dtype.kind != "i":
        if scales.size > 1 and array.size % scales.size == 0:  # of weights whose groups have the same scales
            scales = tables.tile(scales, (array.size // scales.size,))
        array = np.rint(array.astype(np.float64) / scales)
    if element == I48 or array.dtype != dtype_of(element):
        low, high = element.range  # type: ignore[attr-defined]
        if element == I48 and array.size and not low <= array.min() <= array.max() <= high:
            raise Unsupported(f"a bias of {array.min()} to {array.max()} does not fit the 48 bits in which TOSA sums")
        array = np.clip(array.astype(np.int64), low, high).astype(dtype_of(element))
    flat = array.reshape(-1)
    return build.const(rw, flat if len(flat) == channels else np.broadcast_to(flat, (channels,)), element)


def finish(op: Op, rw: Rewriter, made: Value, x: Value, w: Value, part: int = 0, fine: FineBias | None = None) -> Value:
    """A sum of products in the type of `op`'s result, with a bias that is to be added yet, and its activation.

    It is group number `part`; the scales of `w` are those of all groups, or the same for each. TOSA moves no numbers
    of 48 bits, so this comes right behind the convolution.
    """
    a, b = quant(x), quant(w)
    target = op.result.element
    if a is None or b is None or isinstance(target, IntegerType):
        return fused_activation(rw, build.cast(rw, made, target), op)
    rounding = rounding_of(op)
    factors = product_factors(a, b, target, rounding=str(op.attribute("rounding", "double")), in_float32=is_unsigned(op))
    channels = static_shape(made)[-1]
    if len(factors) > channels:
        factors = factors[part * channels : (part + 1) * channels]
    if fine is not None:
        fine = fine.part(part * channels, channels)
        made, factors = fine.added(rw, made), fine.factors(factors)
    bits, bias = 32, quant(op.bias)
    if storage_of(made) == I48 and rounding == DOUBLE and (bias is None or bias.storage != I32):
        rounding = WIDE
    elif storage_of(made) == I48 and rounding != DOUBLE:  # nothing says that its sums fit in 32 bits, as LiteRT's int32 bias does
        bits = sum_bits(rw, w, op.bias)
    return narrow(rw, made, factors, target, rounding, activation_range(op), bits)


def sum_bits(rw: Rewriter, w: Value, bias: Value | None) -> int:
    """How many bits a sum of int16 numbers times those of `w`, `[O, ..]`, may take, sign included."""
    weights = rw.constant_of(w)
    if weights is None:
        most = math.prod(static_shape(w)[1:]) << 22
    else:
        most = int(np.abs(weights.astype(np.int64)).sum(axis=tuple(range(1, weights.ndim))).max(initial=0)) << 15
    held = rw.constant_of(bias)
    if held is not None and held.dtype.kind == "i":
        most += int(np.abs(held.astype(np.int64)).max(initial=0))
    return most.bit_length() + 1


@TABLE("top.Conv")
def conv(op: Conv, rw: Rewriter) -> Value | None:
    need_channels_last(op)
    x, w = _factors(op, rw)
    total = sum_of(x, w)
    if total is None and are_integers(x, w):
        return by_digits(op, rw)
    if total is None or _scale_axis(w) not in (None, 0):
        return None
    channels = static_shape(w)[0]
    fine = fine_bias(op, channels)
    bias = bias_value(rw, None if fine is not None else op.bias, total, x, w, channels)
    window = window_of(op)
    flat = window.rank == 1
    plain_x, plain_w = x, w
    if flat:
        x, w, window = unsqueeze_height(rw, x), unsqueeze_height(rw, w), window.with_height()
    if lies_in_padding(x, window):
        x, w, window = _of_padding(rw, x, w, window, total.input_zp)
    x, window = fit(rw, x, window)
    zero_points = build.zero_point(rw, total.input_zp, x.element), build.zero_point(rw, total.weight_zp, w.element)
    geometry: dict[str, Any] = {
        "pad": window.flat_pads, "stride": window.strides, "dilation": window.dilations, "acc_type": total.accumulator}
    name = "tosa.conv3d" if window.rank == 3 else "tosa.conv2d"

    def convolve(group: int, x: Value, w: Value, bias: Value) -> Value:
        made = rw.emit(name, x, w, bias, *zero_points, element=total.element, **geometry)
        return finish(op, rw, made, plain_x, plain_w, group, fine)

    if op.group == 1:
        made = convolve(0, x, w, bias)
    elif op.group == x.shape[-1] and window.rank == 2:
        kernel_h, kernel_w = window.kernel
        w = build.transpose(rw, w, (1, 2, 3, 0))
        w = build.reshape(rw, w, (kernel_h, kernel_w, op.group, channels // op.group))
        made = rw.emit("tosa.depthwise_conv2d", x, w, bias, *zero_points, element=total.element, **geometry)
        made = finish(op, rw, made, plain_x, plain_w, 0, fine)
    else:
        made = in_groups(rw, op.group, convolve, (x, -1), (w, 0), (bias, 0))
    return squeeze_height(rw, made) if flat else made


def _of_padding(rw: Rewriter, x: Value, w: Value, window: Window, zero_point: int) -> tuple[Value, Value, Window]:
    """Input, filter and window of a convolution that sees nothing but padding: of a zero for each window, one by one."""
    shape, n = static_shape(x), window.rank
    places = (shape[0], *counts(x, window), shape[-1])
    need_place(*places)
    zeros = build.const(rw, tables.full(places, zero_point, dtype_of(storage_of(x))), x.element)
    w = build.slice_(rw, w, [0] * (n + 2), [static_shape(w)[0], *(1,) * n, static_shape(w)[-1]])
    return zeros, w, Window((1,) * n, (1,) * n, (1,) * n, ((0, 0),) * n)


def _scale_axis(w: Value) -> int | None:
    type_ = quant(w)
    return None if type_ is None else type_.axis


def in_groups(rw: Rewriter, groups: int, make: Callable[..., Value], *operands: tuple[Value, int]) -> Value:
    """`make(group, ...)` of each group's slices of the operands (given with their axes), joined along the last dimension."""

    def part(value: Value, axis: int, group: int) -> Value:
        shape = list(static_shape(value))
        start = [0] * len(shape)
        shape[axis] //= groups
        start[axis] = group * shape[axis]
        return build.slice_(rw, value, start, shape)

    made = [make(group, *(part(value, axis, group) for value, axis in operands)) for group in range(groups)]
    return build.concat(rw, made, made[0].rank - 1, made[0].element)


@TABLE("top.Deconv")
def deconv(op: Deconv, rw: Rewriter) -> Value | None:
    need_channels_last(op)
    x, w = _factors(op, rw)
    total = sum_of(x, w)
    if total is None and are_integers(x, w):
        return by_digits(op, rw)
    if total is None or _scale_axis(w) not in (None, 0):
        return None
    window = window_of(op)
    if window.rank == 3 or (op.group > 1 and op.group == x.shape[-1]):
        return _as_forward(op, rw, window)
    channels = static_shape(w)[0] * op.group
    fine = fine_bias(op, channels)
    bias = bias_value(rw, None if fine is not None else op.bias, total, x, w, channels)
    extra = tuple(op.output_padding)
    flat = window.rank == 1
    plain_x, plain_w = x, w
    if flat:
        x, w, window, extra = unsqueeze_height(rw, x), unsqueeze_height(rw, w), window.with_height(), (0, *extra)
    w = _dilated(rw, w, window.dilations, total.weight_zp)
    out_pad: list[int] = []
    start, size = [0, 0, 0, 0], [static_shape(x)[0], 0, 0, channels]
    for dim, (before, after) in enumerate(window.pads):
        wanted = (-before, extra[dim] - after)
        least = 1 - window.extent(dim)
        taken = [max(pad, least) for pad in wanted]  # what TOSA does not take away is sliced off behind
        out_pad += taken
        start[dim + 1] = taken[0] - wanted[0]
        size[dim + 1] = (static_shape(x)[dim + 1] - 1) * window.strides[dim] + window.extent(dim) + sum(wanted)
    zero_points = build.zero_point(rw, total.input_zp, x.element), build.zero_point(rw, total.weight_zp, w.element)

    def convolve(group: int, x: Value, w: Value, bias: Value) -> Value:
        made = rw.emit(
            "tosa.transpose_conv2d", x, w, bias, *zero_points, element=total.element, out_pad=tuple(out_pad),
            stride=window.strides, acc_type=total.accumulator)
        return finish(op, rw, made, plain_x, plain_w, group, fine)

    made = convolve(0, x, w, bias) if op.group == 1 else in_groups(rw, op.group, convolve, (x, -1), (w, -1), (bias, 0))
    made = build.slice_(rw, made, start, size)
    return squeeze_height(rw, made) if flat else made


def _dilated(rw: Rewriter, w: Value, dilations: tuple[int, ...], zero_point: int) -> Value:
    """A filter `[O, spatial.., I]` with zeros between its elements."""
    if all(dilation == 1 for dilation in dilations):
        return w
    array = rw.need_constant(w, "the filter of a dilated transposed convolution")
    spatial = [(size - 1) * dilation + 1 for size, dilation in zip(array.shape[1:-1], dilations, strict=True)]
    need_place(array.shape[0], *spatial, array.shape[-1])
    spread = tables.full((array.shape[0], *spatial, array.shape[-1]), zero_point, array.dtype)
    spread[(slice(None), *(slice(None, None, dilation) for dilation in dilations))] = array
    return build.const(rw, spread, w.element)


def _as_forward(op: Deconv, rw: Rewriter, window: Window) -> Value:
    """A transposed convolution as a convolution of the input with zeros between its elements, the filter turned round."""
    array = rw.need_constant(op.filter, "the filter of a three-dimensional or depthwise transposed convolution")
    group, per_group = op.group, array.shape[-1] // op.group
    n = window.rank
    turned = array[(slice(None), *(slice(None, None, -1),) * n)]
    turned = np.moveaxis(turned.reshape(*turned.shape[:-1], group, per_group), -2, 0)
    turned = np.ascontiguousarray(turned.reshape(group * array.shape[0], *array.shape[1:-1], per_group))
    element = op.filter.element
    if isinstance(element, QuantType) and not element.per_tensor:
        element = element.replace(scales=element.scales * group, zero_points=element.zero_points * group, axis=0)
    pads = [(window.extent(i) - 1 - before, window.extent(i) - 1 - after + op.output_padding[i])
            for i, (before, after) in enumerate(window.pads)]
    kept = {key: value for key, value in op.attributes.items() if key in ("do_relu", "relu_limit", "rounding")}
    made = rw.emit(
        "top.Conv", _stuffed(rw, op.input, window.strides), build.const(rw, turned, element), op.bias, element=op.result.element,
        kernel_shape=window.kernel, dilations=window.dilations, pads=(*(p[0] for p in pads), *(p[1] for p in pads)), group=group,
        layout="NHWC", **kept)
    if is_unsigned(op):
        sources().unsigned.add(made.op)
    return made


def _stuffed(rw: Rewriter, x: Value, strides: tuple[int, ...]) -> Value:
    """`x` with `stride - 1` zeros (zero points) between its elements along each spatial dimension."""
    type_ = quant(x)
    zero = type_.zero_point if type_ is not None else 0
    for dim, stride in enumerate(strides):
        shape = list(static_shape(x))
        axis = dim + 1
        if stride == 1 or shape[axis] == 1:
            continue
        x = build.reshape(rw, x, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
        padding = [0] * (2 * len(shape) + 2)
        padding[2 * (axis + 1) + 1] = stride - 1
        x = build.pad(rw, x, padding, zero)
        x = build.reshape(rw, x, (*shape[:axis], shape[axis] * stride, *shape[axis + 1 :]))
        size = list(shape)
        size[axis] = (shape[axis] - 1) * stride + 1
        x = build.slice_(rw, x, [0] * len(shape), size)
    return x
