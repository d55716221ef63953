"""Convolutions and matrix products (2.3).

Integers are widened, their zero point is subtracted, and the sum is formed in the accumulator's type: what stands
in the module is plain integer arithmetic. Floats of fewer than 32 bits are summed in f32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from transload.ir import I32, I64, Op, Type, Value
from transload.rewrite import Rewriter, RewriteTable

from .. import build
from ..attributes import ConvDims
from .common import is_zero, shifted, static, wide_float

if TYPE_CHECKING:
    from ...tosa.dialect.product import MatMul, MatMulT
    from ...tosa.dialect.spatial import Conv2d, Conv3d, DepthwiseConv2d, TransposeConv2d

__all__ = ["TABLE"]

TABLE = RewriteTable()


def factors(op: Op, rw: Rewriter, a: Value, b: Value, a_zp: Value, b_zp: Value) -> tuple[Value, Value]:
    """Both operands of a product in the type of the sum, zero points subtracted."""
    if a.is_float:
        return wide_float(rw, a), wide_float(rw, b)
    accumulator: Type = I32 if op.results[0].element == I32 else I64
    return shifted(rw, a, a_zp, accumulator), shifted(rw, b, b_zp, accumulator)


def finished(op: Op, rw: Rewriter, sums: Value, bias: Value | None = None) -> Value:
    """The sums with the bias, in the result's type."""
    if bias is not None and not is_zero(bias):
        wide = build.convert(rw, bias, sums.element)
        if static(bias) == (1,):
            wide = build.reshape(rw, wide, ())
        sums = build.binary(rw, "add", sums, wide)
    return build.convert(rw, sums, op.results[0].element)


def _dims(spatial: int, kernel: Sequence[Any]) -> ConvDims:
    """Channels last; `kernel` says in which order the kernel's input and output channels and spatial sizes lie."""
    places = tuple(range(1, spatial + 1))
    return ConvDims(
        input_batch_dimension=0, input_feature_dimension=spatial + 1, input_spatial_dimensions=places,
        kernel_input_feature_dimension=kernel.index("i"), kernel_output_feature_dimension=kernel.index("o"),
        kernel_spatial_dimensions=tuple(kernel.index(place) for place in range(spatial)),
        output_batch_dimension=0, output_feature_dimension=spatial + 1, output_spatial_dimensions=places)


def _pairs(pad: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(pad[::2], pad[1::2], strict=True))


@TABLE("tosa.conv2d", "tosa.conv3d")
def convolution(op: Conv2d | Conv3d, rw: Rewriter) -> Value:
    """Weights are OC, kernel..., IC."""
    x, weight = factors(op, rw, op.input, op.weight, op.input_zp, op.weight_zp)
    spatial = len(op.stride)
    dims = _dims(spatial, ["o", *range(spatial), "i"])
    return finished(op, rw, build.convolution(rw, x, weight, dims, op.stride, _pairs(op.pad), op.dilation), op.bias)


@TABLE("tosa.depthwise_conv2d")
def depthwise(op: DepthwiseConv2d, rw: Rewriter) -> Value:
    """A group for each channel; weights KH,KW,C,M are KH,KW,1,C*M to it."""
    height, width, channels, multiplier = static(op.weight)
    flat = build.reshape(rw, op.weight, (height, width, 1, channels * multiplier))
    x, weight = factors(op, rw, op.input, flat, op.input_zp, op.weight_zp)
    dims = _dims(2, [0, 1, "i", "o"])
    sums = build.convolution(rw, x, weight, dims, op.stride, _pairs(op.pad), op.dilation, groups=channels)
    return finished(op, rw, sums, op.bias)


@TABLE("tosa.transpose_conv2d")
def transpose_convolution(op: TransposeConv2d, rw: Rewriter) -> Value:
    """A convolution of the input with gaps between its elements, by the kernel turned round."""
    turned = build.reverse(rw, op.weight, (1, 2))
    x, weight = factors(op, rw, op.input, turned, op.input_zp, op.weight_zp)
    _, height, width, _ = static(op.weight)
    top, bottom, left, right = op.out_pad
    padding = [(height - 1 + top, height - 1 + bottom), (width - 1 + left, width - 1 + right)]
    sums = build.convolution(rw, x, weight, _dims(2, ["o", 0, 1, "i"]), (1, 1), padding, input_dilations=op.stride)
    return finished(op, rw, sums, op.bias)


@TABLE("tosa.matmul", "tosa.matmul_t")
def matmul(op: MatMul | MatMulT, rw: Rewriter) -> Value:
    """A batch of products; of MATMUL_T the right matrices lie transposed, and one may serve all."""
    a, b = factors(op, rw, op.a, op.b, op.a_zp, op.b_zp)
    transposed = op.name == "tosa.matmul_t"
    batch = max(static(a)[0], static(b)[0]) if static(a)[0] and static(b)[0] else 0
    a, b = (build.broadcast(rw, value, (batch, *static(value)[1:])) for value in (a, b))
    sums = build.dot_general(rw, a, b, ((2,), (2 if transposed else 1,)), ((0,), (0,)))
    return finished(op, rw, sums)
