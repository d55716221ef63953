"""Tensor operators (0.30 section 2.3): argmax, pooling, convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from transload.errors import ShapeError
from transload.ir import BF16, F32, I32, Op, TensorType, Type
from transload.ir.core import Value
from transload.ir.declare import BOOLEAN, INT32, INTS, TYPE, DeclaredOp, attribute, constraint, operand, result

from .base import (
    ACCUMULATORS,
    FLOATS,
    FP8,
    NAN_MODE,
    SCALAR,
    SHAPE,
    TOSA,
    SameElements,
    accumulator_result,
    axis_fits,
    axis_of,
    dims_of,
    inferred_shapes_fit,
    need,
    rank,
    same,
    shape_of,
    storage_of,
    typed_rows,
    zero_points_fit,
)

POOLED = typed_rows(
    "input input_zp output_zp acc_type output",
    "i8 i8 i8 i32 i8", "i16 i16 i16 i32 i16", "f16 f16 f16 f16 f16", "f16 f16 f16 f32 f16", "bf16 bf16 bf16 f32 bf16",
    "f32 f32 f32 f32 f32", "f8E4M3FN f8E4M3FN f8E4M3FN f16 f8E4M3FN", "f8E5M2 f8E5M2 f8E5M2 f16 f8E5M2")
CONVOLVED = typed_rows(
    "input weight bias input_zp weight_zp acc_type output",
    "i8 i8 i32 i8 i8 i32 i32", "i8 i4 i32 i8 i4 i32 i32", "i16 i8 i48 i16 i8 i48 i48", "f16 f16 f16 f16 f16 f16 f16",
    "f16 f16 f16 f16 f16 f32 f16", "bf16 bf16 bf16 bf16 bf16 f32 bf16",
    "f32 f32 f32 f32 f32 f32 f32", "f8E4M3FN f8E4M3FN f16 f8E4M3FN f8E4M3FN f16 f16", "f8E5M2 f8E5M2 f16 f8E5M2 f8E5M2 f16 f16",
    later=("i16 i8 i64 i16 i8 i64 i64",))


@TOSA.op("argmax")
class ArgMax(DeclaredOp):
    """The index of the largest value along an axis, the first one of equals (2.3.1). That axis is removed.

    1.0: any rank from 1, `nan_mode` says whether a NaN is the largest or is passed over.
    """

    input = operand("the values")
    output = result("i32 indices; of the input's shape without the axis")
    axis = attribute(INT32, "the dimension searched")
    nan_mode = attribute(NAN_MODE, "PROPAGATE: a NaN wins; IGNORE: it is passed over", default="PROPAGATE")
    axis_in_range = axis_fits
    datatypes = typed_rows(
        "input output", "i8 i32", "i16 i32", "f16 i32", "bf16 i32", "f32 i32", "f8E4M3FN i32", "f8E5M2 i32",
        later=("i8 i64", "i16 i64", "f16 i64", "bf16 i64", "f32 i64", "f8E4M3FN i64", "f8E5M2 i64"))

    @constraint
    def reduced_shape(op) -> bool | str:
        """the result has the input's shape without the axis"""
        return inferred_shapes_fit(op)

    def infer(op) -> TensorType:
        shape = shape_of(op.input)
        if shape is None:
            return TensorType(None, I32)
        axis = axis_of(op, shape)
        return TensorType(shape[:axis] + shape[axis + 1 :], I32)


def window(op: Op, what: str, size: int | None, before: int, after: int, extent: int, stride: int) -> int | None:
    """How many windows of `extent` fit in `size` elements padded; the specification wants a whole number of strides."""
    if size is None:
        return None
    room = size + before + after - extent
    if room < 0 or room % stride:
        raise ShapeError(
            f"{op.called}: {what} {size} padded by {before} and {after}, less a window of {extent}, is {room}: "
            f"not a multiple of stride {stride}",
            hint="TOSA wants windows to end where the padded input ends: reduce the padding at the end, or slice the input")
    return room // stride + 1


def pooled(op: Op) -> TensorType:
    shape = shape_of(op.input)
    if shape is None:
        return op.input.type
    (ky, kx), (sy, sx), (top, bottom, left, right) = need(op, kernel=2, stride=2, pad=4)
    return TensorType((
        shape[0], window(op, "height", shape[1], top, bottom, ky, sy),
        window(op, "width", shape[2], left, right, kx, sx), shape[3],
    ), op.input.type.element)


class Pool(SameElements):
    """The parts of both 2-D poolings."""

    kernel = attribute(INTS, "window (height, width)")
    stride = attribute(INTS, "step (vertical, horizontal)")
    pad = attribute(INTS, "padding (top, bottom, left, right)")

    @constraint
    def window_is_positive(op) -> bool:
        """kernel and stride are two numbers of at least 1 (ERROR_IF kernel < 1, stride < 1)"""
        return len(op.kernel) == 2 and len(op.stride) == 2 and min(op.kernel) >= 1 and min(op.stride) >= 1

    @constraint
    def padding_is_less_than_kernel(op) -> bool | str:
        """the four paddings are not negative, and less than the kernel (ERROR_IF pad < 0, pad >= kernel)"""
        pad, kernel = op.pad, op.kernel
        fits = len(pad) == 4 and len(kernel) == 2 and min(pad) >= 0 and max(pad[:2]) < kernel[0] and max(pad[2:]) < kernel[1]
        return fits or f"pad {pad}, kernel {kernel}"

    @constraint
    def output_shape(op) -> bool | str:
        """the result has (size + padding - kernel) / stride + 1 places, divided without rest (idiv_check)"""
        return inferred_shapes_fit(op)

    infer = pooled


@TOSA.op("avg_pool2d")
class AvgPool2d(Pool):
    """The mean over a window; padding counts neither in the sum nor in the divisor (2.3.2).

    1.0: the zero points are operands of one element, zero for other types than i8.
    """

    input = operand("the tensor, NHWC", rank(4))
    input_zp = operand("zero point of the input", SCALAR)
    output_zp = operand("zero point of the result", SCALAR)
    output = result("the means, NHWC", rank(4))
    acc_type = attribute(TYPE, "type of the sum: i32, f16 or f32")
    datatypes = POOLED

    @constraint
    def zero_points(op) -> bool | str:
        """zero points are 0 but for i8"""
        return zero_points_fit(op, ("input", "input_zp"), ("output", "output_zp"))


@TOSA.op("max_pool2d")
class MaxPool2d(Pool):
    """The greatest value in a window; padding does not take part (2.3.9)."""

    input = operand("the tensor, NHWC", rank(4))
    output = result("the maxima, NHWC", rank(4))
    nan_mode = attribute(NAN_MODE, "PROPAGATE: a NaN wins; IGNORE: it is passed over", default="PROPAGATE")
    datatypes = same("input output", f"i8 i16 {FLOATS} {FP8}")


def _adaptive(op: Op) -> TensorType:
    shape = shape_of(op.input)
    kernel, stride, pad = dims_of(op.kernel), dims_of(op.stride), dims_of(op.pad)
    if shape is None or kernel is None or stride is None or pad is None:
        return TensorType(None if shape is None else (shape[0], None, None, shape[3]), op.input.type.element)
    if (len(kernel), len(stride), len(pad)) != (2, 2, 4) or min(*kernel, *stride) < 1:
        raise ShapeError(f"{op.called}: kernel {kernel}, stride {stride}, pad {pad}")
    return TensorType((
        shape[0], window(op, "height", shape[1], pad[0], pad[1], kernel[0], stride[0]),
        window(op, "width", shape[2], pad[2], pad[3], kernel[1], stride[1]), shape[3]), op.input.type.element)


@TOSA.op("avg_pool2d_adaptive")
class AvgPool2dAdaptive(SameElements):
    """`avg_pool2d` with window, step and padding computed by shape operators (since 1.1)."""

    input = operand("the tensor, NHWC", rank(4))
    input_zp = operand("zero point of the input", SCALAR)
    output_zp = operand("zero point of the result", SCALAR)
    kernel = operand("window (height, width)", SHAPE)
    stride = operand("step (vertical, horizontal)", SHAPE)
    pad = operand("padding (top, bottom, left, right)", SHAPE)
    output = result("the means, NHWC", rank(4))
    acc_type = attribute(TYPE, "type of the sum: i32, f16 or f32")
    datatypes = POOLED
    since = "1.1"
    infer = _adaptive


@TOSA.op("max_pool2d_adaptive")
class MaxPool2dAdaptive(SameElements):
    """`max_pool2d` with window, step and padding computed by shape operators (since 1.1)."""

    input = operand("the tensor, NHWC", rank(4))
    kernel = operand("window (height, width)", SHAPE)
    stride = operand("step (vertical, horizontal)", SHAPE)
    pad = operand("padding (top, bottom, left, right)", SHAPE)
    output = result("the maxima, NHWC", rank(4))
    nan_mode = attribute(NAN_MODE, "PROPAGATE: a NaN wins; IGNORE: it is passed over", default="PROPAGATE")
    datatypes = same("input output", f"i8 i16 {FLOATS} {FP8}")
    since = "1.1"
    infer = _adaptive


def spatial_sizes(op: Op, sizes: Sequence[int | None], kernel: Sequence[int | None]) -> tuple[int | None, ...]:
    """The spatial sizes a convolution gives."""
    stride, dilation, pad = need(op, stride=len(sizes), dilation=len(sizes), pad=2 * len(sizes))
    out: list[int | None] = []
    for index, (size, extent) in enumerate(zip(sizes, kernel, strict=True)):
        before, after = pad[2 * index], pad[2 * index + 1]
        reach = None if extent is None else (extent - 1) * dilation[index] + 1
        what = ("depth", "height", "width")[index + 3 - len(sizes)]
        out.append(None if reach is None else window(op, what, size, before, after, reach, stride[index]))
    return tuple(out)


def output_channels(op: Op, channels: int | None) -> int | None:
    """Output channels, from the weights or, where those are of unknown shape, a bias of more than one element."""
    bias = shape_of(op.bias)
    if channels is None and bias and bias[0] != 1:
        return bias[0]
    return channels


def summed(op: Op) -> Type:
    """The element type of a convolution's result. 0.30, which has no `acc_type`, hands out the f32 in which bf16 is summed."""
    stored = storage_of(op.input)
    return F32 if stored == BF16 and "acc_type" not in op.declaration.attributes else accumulator_result(stored)


def _convolved(op: Op) -> TensorType:
    shape, weight = shape_of(op.input), shape_of(op.weight)
    element = summed(op)
    if shape is None or weight is None:
        return TensorType(None, element)
    return TensorType((shape[0], *spatial_sizes(op, shape[1:-1], weight[1:-1]), output_channels(op, weight[0])), element)


def _convolved_depthwise(op: Op) -> TensorType:
    shape, weight = shape_of(op.input), shape_of(op.weight)
    element = summed(op)
    if shape is None or weight is None:
        return TensorType(None, element)
    channels = None if weight[2] is None or weight[3] is None else weight[2] * weight[3]
    return TensorType((shape[0], *spatial_sizes(op, shape[1:-1], weight[:2]), output_channels(op, channels)), element)


def convolved_transposed(op: TransposeConv2d, sign: int = 1) -> TensorType:
    """The type of `transpose_conv2d`: `out_pad` is added, or with a sign of -1 taken away (0.30)."""
    shape, weight = shape_of(op.input), shape_of(op.weight)
    element = summed(op)
    if shape is None or weight is None:
        return TensorType(None, element)
    stride, out_pad = need(op, stride=2, out_pad=4)
    sizes: list[int | None] = []
    for index in (0, 1):
        size, extent = shape[1 + index], weight[1 + index]
        before, after = out_pad[2 * index : 2 * index + 2]
        grown = sign * (before + after)
        sizes.append(None if size is None or extent is None else (size - 1) * stride[index] + grown + extent)
    return TensorType((shape[0], *sizes, output_channels(op, weight[0])), element)


class Convolution(DeclaredOp):
    """The parts of all convolutions.

    1.0: the zero points are operands of one element, zero for other types than i8 (i4 weights); a bias of
    one element is added to all channels; `acc_type` is the type in which products are summed; `local_bound`
    asks for an error bound by the elements that take part.
    """

    stride = attribute(INTS, "step, a number for each spatial dimension")
    acc_type = attribute(TYPE, "type of the sum: i32, i48, f16 or f32")
    local_bound = attribute(BOOLEAN, "whether the error bound depends on nearby elements only", default=False)
    datatypes = CONVOLVED
    bias: Value  # declared by each op, in its order of operands
    output: Value

    @constraint
    def accumulator(op) -> bool | str:
        """the accumulator is i32, i48, f16 or f32"""
        return op.acc_type in ACCUMULATORS or str(op.acc_type)

    @constraint
    def zero_points(op) -> bool | str:
        """zero points are 0 but for i8"""
        return zero_points_fit(op, ("input", "input_zp"), ("weight", "weight_zp"))

    @constraint
    def bias_fits(op) -> bool | str:
        """the bias has one element for each output channel, or one for all"""
        bias, output = shape_of(op.bias), shape_of(op.output)
        if not bias or output is None or None in (bias[0], output[-1]):
            return True
        return bias[0] in (1, output[-1]) or f"{bias[0]} for {output[-1]} channels"


class _Forward(Convolution):
    """A convolution that gathers: with padding and dilation of the input."""

    pad = attribute(INTS, "padding: before and after for each spatial dimension (top, bottom, left, right)")
    dilation = attribute(INTS, "distance of the kernel's elements, a number for each spatial dimension")

    @constraint
    def attributes_are_positive(op) -> bool | str:
        """stride and dilation are at least 1, padding at least 0, each for every spatial dimension"""
        stride, dilation, pad = op.stride, op.dilation, op.pad
        n = len(stride)
        fits = n > 0 and len(dilation) == n and len(pad) == 2 * n and min(stride) >= 1 and min(dilation) >= 1 and min(pad) >= 0
        return fits or f"stride {stride}, dilation {dilation}, pad {pad}"

    @constraint
    def output_shape(op) -> bool | str:
        """the result has (size - 1 + padding - (kernel - 1) * dilation) / stride + 1 places, divided without rest"""
        return inferred_shapes_fit(op)


@TOSA.op("conv2d")
class Conv2d(_Forward):
    """2-D convolution (2.3.3)."""

    input = operand("the tensor, N,IH,IW,IC", rank(4))
    weight = operand("the weights, OC,KH,KW,IC", rank(4))
    bias = operand("OC numbers of the result's type, or one", rank(1))
    input_zp = operand("zero point of the input", SCALAR)
    weight_zp = operand("zero point of the weights", SCALAR)
    output = result("N,OH,OW,OC", rank(4))
    infer = _convolved

    @constraint
    def channels_agree(op) -> bool | str:
        """the weights have as many input channels as the input"""
        return same_channels(op)


def same_channels(op: Conv2d | Conv3d | TransposeConv2d) -> bool | str:
    shape, weight = shape_of(op.input), shape_of(op.weight)
    if shape is None or weight is None or None in (shape[-1], weight[-1]):
        return True
    return shape[-1] == weight[-1] or f"{weight[-1]} and {shape[-1]}"


@TOSA.op("conv3d")
class Conv3d(_Forward):
    """3-D convolution (2.3.4)."""

    input = operand("the tensor, N,ID,IH,IW,IC", rank(5))
    weight = operand("the weights, OC,KD,KH,KW,IC", rank(5))
    bias = operand("OC numbers of the result's type, or one", rank(1))
    input_zp = operand("zero point of the input", SCALAR)
    weight_zp = operand("zero point of the weights", SCALAR)
    output = result("N,OD,OH,OW,OC", rank(5))
    infer = _convolved

    @constraint
    def channels_agree(op) -> bool | str:
        """the weights have as many input channels as the input"""
        return same_channels(op)


@TOSA.op("depthwise_conv2d")
class DepthwiseConv2d(_Forward):
    """A 2-D convolution of each channel by itself (2.3.5): output channel `c * M + m` is channel `c` with kernel `m`."""

    input = operand("the tensor, N,IH,IW,C", rank(4))
    weight = operand("the weights, KH,KW,C,M", rank(4))
    bias = operand("C*M numbers of the result's type, or one", rank(1))
    input_zp = operand("zero point of the input", SCALAR)
    weight_zp = operand("zero point of the weights", SCALAR)
    output = result("N,OH,OW,C*M", rank(4))
    infer = _convolved_depthwise

    @constraint
    def channels_agree(op) -> bool | str:
        """the weights have as many channels as the input"""
        shape, weight = shape_of(op.input), shape_of(op.weight)
        if shape is None or weight is None or None in (shape[-1], weight[2]):
            return True
        return shape[-1] == weight[2] or f"{weight[2]} and {shape[-1]}"


@TOSA.op("transpose_conv2d")
class TransposeConv2d(Convolution):
    """A convolution that scatters: the gradient of `conv2d` (2.3.11).

    1.0: no `out_shape`; the result has `(IH - 1) * stride + out_pad + KH` rows, and `out_pad` may be negative,
    down to 1 - KH.
    """

    input = operand("the tensor, N,IH,IW,IC", rank(4))
    weight = operand("the weights, OC,KH,KW,IC", rank(4))
    bias = operand("OC numbers of the result's type, or one", rank(1))
    input_zp = operand("zero point of the input", SCALAR)
    weight_zp = operand("zero point of the weights", SCALAR)
    output = result("N,OH,OW,OC", rank(4))
    out_pad = attribute(INTS, "what is added to the result: (top, bottom, left, right); negative takes away")

    def infer(op) -> TensorType:
        return convolved_transposed(op)

    @constraint
    def attributes_fit(op) -> bool | str:
        """stride is two numbers of at least 1, out_pad four that are greater than minus the kernel"""
        weight = shape_of(op.weight)
        fits = len(op.stride) == 2 and min(op.stride) >= 1 and len(op.out_pad) == 4
        if fits and weight is not None and None not in weight[1:3]:
            fits = min(op.out_pad[:2]) > -weight[1] and min(op.out_pad[2:]) > -weight[2]  # type: ignore[operator]
        return fits or f"stride {op.stride}, out_pad {op.out_pad}"

    @constraint
    def channels_agree(op) -> bool | str:
        """the weights have as many input channels as the input"""
        return same_channels(op)

    @constraint
    def output_shape(op) -> bool | str:
        """the result has (size - 1) * stride + out_pad + kernel places"""
        return inferred_shapes_fit(op)
