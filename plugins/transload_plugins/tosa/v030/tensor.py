"""Tensor operators of TOSA 0.30 (section 2.3): how they differ from 1.0."""

from __future__ import annotations

from transload.errors import ShapeError
from transload.ir import TensorType
from transload.ir.declare import BOOLEAN, INTS, absent, attribute, constraint, operand, result

from ..dialect import product, spatial
from ..dialect.base import SameElements, inferred_shapes_fit, rank, same, shape_of, typed_rows
from .base import older, unchanged, zero_point

unchanged(
    "argmax", "The index of the largest value along an axis, the first one of equals; a NaN is never the largest (2.3.1).",
    ranks=(1, 4))
unchanged("max_pool2d")


@older("avg_pool2d")
class AvgPool2d(spatial.AvgPool2d):
    """The mean over a window; padding counts neither in the sum nor in the divisor (2.3.2)."""

    input_zp = zero_point("the input")
    output_zp = zero_point("the result")


class Weighted(spatial.Convolution):
    """Products with weights, and a bias: constants in the profiles BI and MI.

    Results are the sums: of bf16 in f32, of f16 in f16 or, where `element` is F32, in f32.
    """

    input_zp = zero_point("the input")
    weight_zp = zero_point("the weights")
    accumulator = absent()
    datatypes = typed_rows(
        "input weight bias output", "i8 i8 i32 i32", "i8 i4 i32 i32", "i16 i8 i48 i48", "f16 f16 f16 f16", "f16 f16 f32 f32",
        "bf16 bf16 f32 f32", "f32 f32 f32 f32")
    constants = ("weight", "bias")

    @constraint
    def bias_fits(op) -> bool | str:
        """the bias has one element for each output channel"""
        bias, output = shape_of(op.bias), shape_of(op.output)
        if bias is None or output is None or None in (bias[0], output[-1]):
            return True
        return bias[0] == output[-1] or f"{bias[0]} for {output[-1]} channels"


@older("conv2d")
class Conv2d(Weighted, spatial.Conv2d):
    """2-D convolution (2.3.3). Give `element` F32 to sum f16 in f32; bf16 always is."""


@older("conv3d")
class Conv3d(Weighted, spatial.Conv3d):
    pass


@older("depthwise_conv2d")
class DepthwiseConv2d(Weighted, spatial.DepthwiseConv2d):
    pass


@older("fully_connected")
class FullyConnected(Weighted):
    """`(x - input_zp) @ (weight - weight_zp).T + bias` (2.3.7); gone in 1.0, where a 1x1 convolution does it."""

    input = operand("N,IC", rank(2))
    weight = operand("OC,IC", rank(2))
    bias = operand("OC numbers of the result's type", rank(1))
    output = result("N,OC", rank(2))
    stride = absent()

    @constraint
    def output_shape(op) -> bool | str:
        """the sizes of IC agree, and the result is N,OC"""
        return inferred_shapes_fit(op)

    def infer(op) -> TensorType:
        shape, weight = shape_of(op.input), shape_of(op.weight)
        if shape is None or weight is None:
            return TensorType(None, spatial.summed(op))
        if None not in (shape[1], weight[1]) and shape[1] != weight[1]:
            raise ShapeError(f"{op.called}: {shape[1]} inputs for weights of {weight[1]}")
        return TensorType((shape[0], weight[0]), spatial.summed(op))


@older("transpose_conv2d")
class TransposeConv2d(Weighted, spatial.TransposeConv2d):
    """A convolution that scatters (2.3.11). `out_pad` is taken away from the result, where 1.0 adds it."""

    out_pad = attribute(INTS, "what is cut off the result: (top, bottom, left, right)")
    out_shape = attribute(INTS, "N,OH,OW,OC")

    @constraint
    def attributes_fit(op) -> bool | str:
        """stride is two numbers of at least 1, out_pad four that are not negative (ERROR_IF out_pad < 0, stride < 1)"""
        fits = len(op.stride) == 2 and min(op.stride) >= 1 and len(op.out_pad) == 4 and min(op.out_pad) >= 0
        return fits or f"stride {op.stride}, out_pad {op.out_pad}"

    @constraint
    def output_shape(op) -> bool | str:
        """the result and out_shape have (size - 1) * stride - out_pad + kernel places"""
        shape = shape_of(op.output)
        if shape is not None and None not in shape and tuple(op.out_shape) != shape:
            return f"out_shape {op.out_shape} for {op.output.type}"
        return inferred_shapes_fit(op)

    def infer(op) -> TensorType:
        return spatial.convolved_transposed(op, -1)


@older("matmul")
class MatMul(product.MatMul):
    """Products of N matrices (2.3.8). Give `element` F32 to sum f16 in f32; bf16 always is."""

    a_zp = zero_point("a")
    b_zp = zero_point("b")


@older("fft2d")
class Fft2d(product.Fft2d):
    """A batch of complex 2-D Fourier transforms, not normalised in either direction (2.3.6); MI and MT."""

    inverse = attribute(BOOLEAN, "whether to transform back", default=False)


@older("rfft2d")
class Rfft2d(product.Rfft2d, SameElements):
    """A batch of 2-D Fourier transforms of real numbers (2.3.10): the first H/2+1 rows and W/2+1 columns; MI and MT."""

    input = operand("N,H,W", rank(3))
    input_real = absent()
    output_real = result("real part, N,H/2+1,W/2+1", rank(3))
    output_imag = result("imaginary part, N,H/2+1,W/2+1", rank(3))
    datatypes = same("input output_real output_imag", "f32")

    def infer(op) -> list[TensorType]:
        shape = shape_of(op.input)
        if shape is not None:
            shape = (shape[0], *(None if size is None else size // 2 + 1 for size in shape[1:]))
        return [TensorType(shape, op.input.element)] * 2
