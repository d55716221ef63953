"""Convolution and transposed convolution, of one, two or three spatial dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from transload.ir.declare import INT, INTS, attribute, constraint, operand, result
from transload.ir.types import TensorType, Type

from .base import LAYOUT, TOP, PerDimension, Product
from .infer import Shape, fail, need_rank, shape_of, transposed_window_size, unify, window_size


class Convolution(Product):
    """Base of both convolutions: operands, geometry and its constraints."""

    input = operand("[N, C, spatial..] (NCHW) or [N, spatial.., C] (NHWC)")
    filter = operand("see the op")
    bias = operand("[output channels]; a quantized one has scale = input scale * filter scale", optional=True)
    output = result("[N, O, spatial..] or [N, spatial.., O]")
    kernel_shape = attribute(INTS, "the kernel's spatial sizes, one to three of them")
    strides = attribute(INTS, "step per spatial dimension", default=PerDimension(1))
    pads = attribute(INTS, "padding: all begins, then all ends", default=PerDimension(0, 2))
    dilations = attribute(INTS, "distance between kernel elements per spatial dimension", default=PerDimension(1))
    group = attribute(INT, "number of groups that channels are split into; the number of channels: depthwise", default=1)
    layout = attribute(LAYOUT, "where the channels are", default="NCHW")
    traits = ("layout", "widens")

    @constraint
    def one_entry_a_dimension(op) -> bool | str:
        """kernel_shape has one to three entries, strides and dilations as many, pads twice as many"""
        kernel, strides, dilations, pads = op.kernel_shape, op.strides, op.dilations, op.pads
        n = len(kernel)
        if 1 <= n <= 3 and len(strides) == len(dilations) == n and len(pads) == 2 * n:
            return True
        return f"kernel {kernel}, strides {strides}, dilations {dilations}, pads {pads}"

    @constraint
    def geometry_is_positive(op) -> bool:
        """kernel sizes, strides, dilations and group are positive"""
        return min((*op.kernel_shape, *op.strides, *op.dilations, op.group)) > 0


class _Geometry(NamedTuple):
    """The attributes of a convolution, read once and checked, and its shapes with the channels second."""

    layout: str
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    group: int
    input: Shape
    filter: Shape

    def result_type(self, op: Convolution, channels: int | None, sizes: Sequence[int | None]) -> TensorType:
        """The type of the result in the op's layout."""
        batch = self.input[0]
        return TensorType((batch, channels, *sizes) if self.layout == "NCHW" else (batch, *sizes, channels), op.input.element)


def _geometry(op: Convolution, filter_order: Callable[[Shape], Shape]) -> _Geometry:
    """The geometry of `op`, after checking what inference relies on before the verifier has seen the op.

    `filter_order` brings the dimensions of an NHWC filter into the order of an NCHW one.
    """
    kernel, strides, dilations, pads = op.kernel_shape, op.strides, op.dilations, op.pads
    layout, group = op.layout, op.group
    n = len(kernel)
    if not 1 <= n <= 3 or len(strides) != n or len(dilations) != n or len(pads) != 2 * n:
        fail(op, f"kernel {kernel}, strides {strides}, dilations {dilations} and pads {pads} do not fit")
    if min((*kernel, *strides, *dilations, group)) < 1:
        fail(op, "kernel sizes, strides, dilations and group must be positive")
    unknown: Shape = (None,) * (n + 2)
    shape = need_rank(op, op.input, "the input", (n + 2,)) or unknown
    weights = need_rank(op, op.filter, "the filter", (n + 2,)) or unknown
    if layout == "NHWC":
        shape, weights = (shape[0], shape[-1], *shape[1:-1]), filter_order(weights)
    for size, expected in zip(weights[2:], kernel, strict=True):
        unify(op, size, expected, "the filter's spatial sizes and kernel_shape")
    return _Geometry(layout, kernel, strides, dilations, pads[:n], pads[n:], group, shape, weights)


def _check_bias(op: Convolution, count: int | None) -> None:
    """Check that `bias` is absent, or has `count` elements."""
    bias = op.bias
    shape = None if bias is None else shape_of(bias)
    if shape is not None:
        if len(shape) != 1:
            fail(op, f"the bias must have rank 1, and has {len(shape)}")
        unify(op, shape[0], count, "elements of the bias and output channels")


@TOP.op("Conv")
class Conv(Convolution):
    """Cross-correlation with a filter, plus a bias per output channel (TPU-MLIR manual 13.1, ConvOp; ONNX Conv).

    `y[n, o, p] = bias[o] + sum over c, k of w[o, c, k] * x[n, g*C/group + c, p*stride + k*dilation - pad]`, zero
    outside the input (for a quantized input: its zero point). The filter is [O, C/group, kernel..] in NCHW and
    [O, kernel.., C/group] in NHWC; output channel o belongs to group `g = o // (O/group)`.
    """

    def infer(op) -> Type:
        geometry = _geometry(op, lambda weights: (weights[0], weights[-1], *weights[1:-1]))
        group = geometry.group
        outputs, per_group = geometry.filter[:2]
        if per_group is not None:
            unify(op, geometry.input[1], per_group * group, "input channels and the filter's")
        if outputs is not None and outputs % group:
            fail(op, f"{outputs} output channels cannot be split into {group} groups")
        _check_bias(op, outputs)
        windows = zip(*geometry[1:6], geometry.input[2:], strict=True)
        return geometry.result_type(op, outputs, [
            window_size(op, size, kernel, stride, dilation, begin, end)
            for kernel, stride, dilation, begin, end, size in windows])


@TOP.op("Deconv")
class Deconv(Convolution):
    """Transposed convolution: the gradient of `Conv` with respect to its input (TPU-MLIR manual 13.1, DeconvOp).

    Each input element adds the filter, times itself, to the output at `p*stride + k*dilation - pad`; output size
    `(size-1)*stride + (kernel-1)*dilation + 1 - pads + output_padding`. The filter is [I, O/group, kernel..] in NCHW
    (ONNX ConvTranspose) and [O/group, kernel.., I] in NHWC (TFLite TRANSPOSE_CONV).
    """

    output_padding = attribute(INTS, "extra size at each dimension's end", default=PerDimension(0))

    @constraint
    def output_padding_is_not_negative(op) -> bool:
        """output_padding has one entry per spatial dimension, none negative"""
        return len(op.output_padding) == len(op.kernel_shape) and min(op.output_padding) >= 0

    def infer(op) -> Type:
        geometry = _geometry(op, lambda weights: (weights[-1], *weights[:-1]))
        group, extras = geometry.group, op.output_padding
        inputs, per_group = geometry.filter[:2]
        inputs = unify(op, geometry.input[1], inputs, "input channels and the filter's")
        if inputs is not None and inputs % group:
            fail(op, f"{inputs} input channels cannot be split into {group} groups")
        if len(extras) != len(geometry.kernel):
            fail(op, f"kernel {geometry.kernel} and output_padding {extras} do not fit")
        outputs = None if per_group is None else per_group * group
        _check_bias(op, outputs)
        windows = zip(*geometry[1:6], geometry.input[2:], extras, strict=True)
        return geometry.result_type(op, outputs, [
            transposed_window_size(op, size, kernel, stride, dilation, begin, end, extra)
            for kernel, stride, dilation, begin, end, size, extra in windows])
