"""Tensor operators of TOSA 0.30 (section 2.3)."""

from __future__ import annotations

from transload.errors import ShapeError
from transload.ir import I32, TensorType
from transload.ir.core import Value
from transload.ir.declare import BOOLEAN, INT32, INTS, DeclaredOp, attribute, constraint, operand, result

from ..dialect.base import (
    SameElements,
    axis_fits,
    axis_of,
    inferred_shapes_fit,
    merge_dims,
    need,
    rank,
    same,
    shape_of,
    typed_rows,
)
from ..dialect.product import Transform
from ..dialect.spatial import Pool, output_channels, same_channels, spatial_sizes
from .base import FLOATS, TOSA030, accumulated, lacks_zero_point, zero_point

_MULTIPLIED = (
    "i8 i8 {} i32", "i8 i4 {} i32", "i16 i8 {} i48", "f16 f16 {} f16", "f16 f16 {} f32", "bf16 bf16 {} f32", "f32 f32 {} f32")
CONVOLVED = typed_rows("input weight bias output", *(row.format(row.split()[-1]) for row in _MULTIPLIED))
"""Supported data types of convolutions; the bias has the type of the result."""


@TOSA030.op("argmax")
class ArgMax(DeclaredOp):
    """The index of the largest value along an axis, the first one of equals; a NaN is never the largest (2.3.1)."""

    input = operand("the values, of rank 1 to 4")
    output = result("i32 indices; of the input's shape without the axis")
    axis = attribute(INT32, "the dimension searched")
    axis_in_range = axis_fits
    datatypes = typed_rows("input output", "i8 i32", "i16 i32", "f16 i32", "bf16 i32", "f32 i32")
    ranks = (1, 4)

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


@TOSA030.op("avg_pool2d")
class AvgPool2d(Pool):
    """The mean over a window; padding counts neither in the sum nor in the divisor (2.3.2)."""

    input = operand("the tensor, NHWC", rank(4))
    output = result("the means, NHWC", rank(4))
    input_zp = zero_point("the input")
    output_zp = zero_point("the result")
    datatypes = same("input output", f"i8 i16 {FLOATS}")

    @constraint
    def zero_points(op) -> bool | str:
        """zero points are 0 but for i8 (ERROR_IF in_out_t != int8_t && zp != 0)"""
        return lacks_zero_point(op, ("input", "input_zp"), ("output", "output_zp"))


@TOSA030.op("max_pool2d")
class MaxPool2d(Pool):
    """The greatest value in a window; padding does not take part (2.3.9)."""

    input = operand("the tensor, NHWC", rank(4))
    output = result("the maxima, NHWC", rank(4))
    datatypes = same("input output", f"i8 i16 {FLOATS}")


class _Weighted(DeclaredOp):
    """Products with weights, and a bias: constants in the profiles BI and MI."""

    input_zp = zero_point("the input")
    weight_zp = zero_point("the weights")
    datatypes = CONVOLVED
    constants = ("weight", "bias")
    input: Value  # declared by each op, in its order of operands
    weight: Value
    bias: Value
    output: Value

    @constraint
    def zero_points(op) -> bool | str:
        """zero points are 0 but for i8 (ERROR_IF in_t != int8_t && input_zp != 0, likewise of the weights)"""
        return lacks_zero_point(op, ("input", "input_zp"), ("weight", "weight_zp"))

    @constraint
    def bias_fits(op) -> bool | str:
        """the bias has one element for each output channel"""
        bias, output = shape_of(op.bias), shape_of(op.output)
        if bias is None or output is None or None in (bias[0], output[-1]):
            return True
        return bias[0] == output[-1] or f"{bias[0]} for {output[-1]} channels"


class _Convolution(_Weighted):
    pad = attribute(INTS, "padding: before and after for each spatial dimension (top, bottom, left, right)")
    stride = attribute(INTS, "step, a number for each spatial dimension")
    dilation = attribute(INTS, "distance of the kernel's elements, a number for each spatial dimension")

    @constraint
    def attributes_are_positive(op) -> bool | str:
        """stride and dilation are at least 1, padding at least 0, each for every spatial dimension"""
        n = len(op.stride)
        fits = n > 0 and len(op.dilation) == n and len(op.pad) == 2 * n
        fits = fits and min(op.stride) >= 1 and min(op.dilation) >= 1 and min(op.pad) >= 0
        return fits or f"stride {op.stride}, dilation {op.dilation}, pad {op.pad}"

    @constraint
    def output_shape(op) -> bool | str:
        """the result has idiv_check(size - 1 + padding - (kernel - 1) * dilation, stride) + 1 places"""
        return inferred_shapes_fit(op)

    @constraint
    def channels_agree(op) -> bool | str:
        """the weights have as many input channels as the input"""
        return same_channels(op)

    def infer(op) -> TensorType:
        shape, weight = shape_of(op.input), shape_of(op.weight)
        if shape is None or weight is None:
            return TensorType(None, accumulated(op))
        sizes = spatial_sizes(op, shape[1:-1], weight[1:-1])
        return TensorType((shape[0], *sizes, output_channels(op, weight[0])), accumulated(op))


@TOSA030.op("conv2d")
class Conv2d(_Convolution):
    """2-D convolution (2.3.3). Give `element` F32 to sum f16 in f32; bf16 always is."""

    input = operand("the tensor, N,IH,IW,IC", rank(4))
    weight = operand("the weights, OC,KH,KW,IC", rank(4))
    bias = operand("OC numbers of the result's type", rank(1))
    output = result("N,OH,OW,OC", rank(4))


@TOSA030.op("conv3d")
class Conv3d(_Convolution):
    """3-D convolution (2.3.4)."""

    input = operand("the tensor, N,ID,IH,IW,IC", rank(5))
    weight = operand("the weights, OC,KD,KH,KW,IC", rank(5))
    bias = operand("OC numbers of the result's type", rank(1))
    output = result("N,OD,OH,OW,OC", rank(5))


@TOSA030.op("depthwise_conv2d")
class DepthwiseConv2d(_Convolution):
    """A 2-D convolution of each channel by itself (2.3.5): output channel `c * M + m` is channel `c` with kernel `m`."""

    input = operand("the tensor, N,H,W,C", rank(4))
    weight = operand("the weights, KH,KW,C,M", rank(4))
    bias = operand("C*M numbers of the result's type", rank(1))
    output = result("N,OH,OW,C*M", rank(4))

    @constraint
    def channels_agree(op) -> bool | str:
        """the weights have as many channels as the input"""
        shape, weight = shape_of(op.input), shape_of(op.weight)
        if shape is None or weight is None or None in (shape[-1], weight[2]):
            return True
        return shape[-1] == weight[2] or f"{weight[2]} and {shape[-1]}"

    def infer(op) -> TensorType:
        shape, weight = shape_of(op.input), shape_of(op.weight)
        if shape is None or weight is None:
            return TensorType(None, accumulated(op))
        channels = None if weight[2] is None or weight[3] is None else weight[2] * weight[3]
        return TensorType((shape[0], *spatial_sizes(op, shape[1:-1], weight[:2]), output_channels(op, channels)), accumulated(op))


@TOSA030.op("fully_connected")
class FullyConnected(_Weighted):
    """`(x - input_zp) @ (weight - weight_zp).T + bias` (2.3.7); gone in 1.0, where a 1x1 convolution does it."""

    input = operand("N,IC", rank(2))
    weight = operand("OC,IC", rank(2))
    bias = operand("OC numbers of the result's type", rank(1))
    output = result("N,OC", rank(2))

    @constraint
    def output_shape(op) -> bool | str:
        """the sizes of IC agree, and the result is N,OC"""
        return inferred_shapes_fit(op)

    def infer(op) -> TensorType:
        shape, weight = shape_of(op.input), shape_of(op.weight)
        if shape is None or weight is None:
            return TensorType(None, accumulated(op))
        if None not in (shape[1], weight[1]) and shape[1] != weight[1]:
            raise ShapeError(f"{op.name} at {op.origin!r}: {shape[1]} inputs for weights of {weight[1]}")
        return TensorType((shape[0], weight[0]), accumulated(op))


@TOSA030.op("transpose_conv2d")
class TransposeConv2d(_Weighted):
    """A convolution that scatters (2.3.11). `out_pad` is taken away from the result, where 1.0 adds it."""

    input = operand("the tensor, N,IH,IW,IC", rank(4))
    weight = operand("the weights, OC,KH,KW,IC", rank(4))
    bias = operand("OC numbers of the result's type", rank(1))
    output = result("N,OH,OW,OC", rank(4))
    out_pad = attribute(INTS, "what is cut off the result: (top, bottom, left, right)")
    stride = attribute(INTS, "step (vertical, horizontal)")
    out_shape = attribute(INTS, "N,OH,OW,OC")

    @constraint
    def attributes_fit(op) -> bool | str:
        """stride is two numbers of at least 1, out_pad four that are not negative (ERROR_IF out_pad < 0, stride < 1)"""
        fits = len(op.stride) == 2 and min(op.stride) >= 1 and len(op.out_pad) == 4 and min(op.out_pad) >= 0
        return fits or f"stride {op.stride}, out_pad {op.out_pad}"

    @constraint
    def channels_agree(op) -> bool | str:
        """the weights have as many input channels as the input"""
        return same_channels(op)

    @constraint
    def output_shape(op) -> bool | str:
        """the result and out_shape have (size - 1) * stride - out_pad + kernel places"""
        shape = shape_of(op.output)
        if shape is not None and None not in shape and tuple(op.out_shape) != shape:
            return f"out_shape {op.out_shape} for {op.output.type}"
        return inferred_shapes_fit(op)

    def infer(op) -> TensorType:
        shape, weight = shape_of(op.input), shape_of(op.weight)
        if shape is None or weight is None:
            return TensorType(None, accumulated(op))
        need(op, stride=2, out_pad=4)
        sizes: list[int | None] = []
        for index in (0, 1):
            size, extent = shape[1 + index], weight[1 + index]
            before, after = op.out_pad[2 * index : 2 * index + 2]
            sizes.append(None if size is None or extent is None else (size - 1) * op.stride[index] - before - after + extent)
        return TensorType((shape[0], *sizes, output_channels(op, weight[0])), accumulated(op))


@TOSA030.op("matmul")
class MatMul(DeclaredOp):
    """Products of N matrices (2.3.8). Give `element` F32 to sum f16 in f32; bf16 always is."""

    a = operand("N,H,C", rank(3))
    b = operand("N,C,W", rank(3))
    output = result("N,H,W: i32 for i8, i48 for i16, f32 for bf16", rank(3))
    a_zp = zero_point("a")
    b_zp = zero_point("b")
    datatypes = typed_rows(
        "a b output", "i8 i8 i32", "i16 i16 i48", "f16 f16 f16", "f16 f16 f32", "bf16 bf16 f32", "f32 f32 f32")

    @constraint
    def output_shape(op) -> bool | str:
        """the sizes of N and C agree, and the result is N,H,W"""
        return inferred_shapes_fit(op)

    @constraint
    def zero_points(op) -> bool | str:
        """zero points are 0 but for i8 (ERROR_IF in_t != int8_t && (A_zp != 0 || B_zp != 0))"""
        return lacks_zero_point(op, ("a", "a_zp"), ("b", "b_zp"))

    def infer(op) -> TensorType:
        a, b = shape_of(op.a), shape_of(op.b)
        if a is None or b is None:
            return TensorType(None, accumulated(op))
        if (None not in (a[2], b[1]) and a[2] != b[1]) or (None not in (a[0], b[0]) and a[0] != b[0]):
            raise ShapeError(f"{op.name} at {op.origin!r}: {op.a.type} times {op.b.type}")
        return TensorType((merge_dims(op, a[0], b[0]), a[1], b[2]), accumulated(op))


@TOSA030.op("fft2d")
class Fft2d(Transform):
    """A batch of complex 2-D Fourier transforms, not normalised in either direction (2.3.6); MI and MT."""

    input_real = operand("real part, N,H,W", rank(3))
    input_imag = operand("imaginary part, N,H,W", rank(3))
    output_real = result("real part, N,H,W", rank(3))
    output_imag = result("imaginary part, N,H,W", rank(3))
    inverse = attribute(BOOLEAN, "whether to transform back", default=False)
    datatypes = same("input_real input_imag output_real output_imag", "f32")

    def infer(op) -> list[TensorType]:
        return [op.input_real.tensor_type, op.input_real.tensor_type]


@TOSA030.op("rfft2d")
class Rfft2d(Transform, SameElements):
    """A batch of 2-D Fourier transforms of real numbers (2.3.10): the first H/2+1 rows and W/2+1 columns; MI and MT."""

    input = operand("N,H,W", rank(3))
    output_real = result("real part, N,H/2+1,W/2+1", rank(3))
    output_imag = result("imaginary part, N,H/2+1,W/2+1", rank(3))
    datatypes = same("input output_real output_imag", "f32")

    def infer(op) -> list[TensorType]:
        shape = shape_of(op.input)
        if shape is not None:
            shape = (shape[0], *(None if size is None else size // 2 + 1 for size in shape[1:]))
        return [TensorType(shape, op.input.element)] * 2
