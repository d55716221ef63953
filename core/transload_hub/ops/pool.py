"""Pooling over windows."""

from __future__ import annotations

from transload.ir.declare import BOOLEAN, INTS, attribute, constraint, operand, result
from transload.ir.types import TensorType, Type

from .base import LAYOUT, NUMBER_TENSOR, REAL_TENSOR, TOP, Activated, PerDimension
from .infer import fail, need_rank, spatial_axes, window_size


class Pooling(Activated):
    """Base of both poolings."""

    input = operand("[N, C, spatial..] (NCHW) or [N, spatial.., C] (NHWC)", type=NUMBER_TENSOR)
    output = result("the same with other spatial sizes")
    kernel_shape = attribute(INTS, "the window's spatial sizes")
    strides = attribute(INTS, "step per spatial dimension", default=PerDimension(1))
    pads = attribute(INTS, "padding: all begins, then all ends", default=PerDimension(0, 2))
    layout = attribute(LAYOUT, "where the channels are", default="NCHW")
    traits = ("layout",)

    @constraint
    def one_entry_a_dimension(op) -> bool | str:
        """strides (and dilations) have as many entries as kernel_shape, pads twice as many"""
        n = len(op.kernel_shape)
        dilations = op.attribute("dilations", op.kernel_shape)
        if n >= 1 and len(op.strides) == len(dilations) == n and len(op.pads) == 2 * n:
            return True
        return f"kernel {op.kernel_shape}, strides {op.strides}, dilations {dilations}, pads {op.pads}"

    @constraint
    def geometry_is_positive(op) -> bool:
        """kernel sizes, strides and dilations are positive, pads not negative"""
        sizes = (*op.kernel_shape, *op.strides, *op.attribute("dilations", (1,)))
        return min(sizes, default=1) > 0 and min(op.pads, default=0) >= 0

    def infer(op) -> Type:
        n = len(op.kernel_shape)
        dilations = op.attribute("dilations", (1,) * n)
        if n < 1 or len(op.strides) != n or len(dilations) != n or len(op.pads) != 2 * n:
            fail(op, f"kernel {op.kernel_shape}, strides {op.strides}, dilations {dilations} and pads {op.pads} do not fit")
        if min((*op.kernel_shape, *op.strides, *dilations)) < 1:
            fail(op, "kernel sizes, strides and dilations must be positive")
        shape = need_rank(op, op.input, "the input", (n + 2,))
        if shape is None:
            return TensorType((None,) * (n + 2), op.input.element)
        sizes = list(shape)
        for i, axis in enumerate(spatial_axes(op.layout, n + 2)):
            begin, end = op.pads[i], op.pads[n + i]
            sizes[axis] = window_size(op, shape[axis], op.kernel_shape[i], op.strides[i], dilations[i], begin, end)
        return TensorType(tuple(sizes), op.input.element)


@TOP.op("AvgPool")
class AvgPool(Pooling):
    """The mean of each window (TPU-MLIR manual 13.1, AvgPoolOp; ONNX AveragePool, TFLite AVERAGE_POOL_2D).

    Padding is zero, and is counted among the elements only with count_include_pad. A window that lies
    wholly in the padding gives 0.
    """

    input = operand("[N, C, spatial..] (NCHW) or [N, spatial.., C] (NHWC)", type=REAL_TENSOR)
    count_include_pad = attribute(BOOLEAN, "whether to divide by the window's size, padding included", default=False)


@TOP.op("MaxPool")
class MaxPool(Pooling):
    """The greatest element of each window, padding left out (TPU-MLIR manual 13.1, MaxPoolOp; ONNX MaxPool)."""

    dilations = attribute(INTS, "distance between window elements per spatial dimension", default=PerDimension(1))
