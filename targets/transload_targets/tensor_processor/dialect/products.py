"""Convolutions and matrix products."""

from __future__ import annotations

from transload.ir import TensorType, Type
from transload.ir.declare import BOOLEAN, INT, INTS, attribute, constraint, operand, result

from .base import TPU, Rescaled, fail, shape_of

__all__: list[str] = []


class Product(Rescaled):
    """Base of sums of products.

    `y = clamp(round((bias + sum of (x - input_zero) * (w - weight_zero)) * multiplier / 2**shift) + output_zero)` of integers,
    where the sum is of 32 bits (of int16 operands 48); without a multiplier the sum is the result, in int32. Of floats `y` is
    the sum, times the multiplier where there is one, plus the bias, each in float32, clamped, rounded to the result's type.
    """

    input = operand("the data")
    weights = operand("what it is multiplied by")
    bias = operand("[O], int32 (int64 for int16 operands) or float; a number for each output channel", optional=True)
    multiplier = operand("O or 1 elements, int32 or float; by what the sums of an output channel are multiplied", optional=True)
    shift = operand("[O] or [1], int32; by how many bits they are then shifted to the right", optional=True)
    output = result("the type is the caller's")
    input_zero = attribute(INT, "zero point of the input, and what its padding holds", default=0)
    weight_zero = attribute(INT, "zero point of the weights", default=0)

    @constraint
    def scaled_by_both(op) -> bool:
        """a multiplier of integers comes with a shift, one of floats with none"""
        return (op.multiplier is None or op.input.is_float) == (op.shift is None)


@TPU.op("conv2d")
class Conv2d(Product):
    """Cross-correlation (TPU-MLIR manual 6.3.1), in groups; with as many groups as channels: depthwise.

    `sum[n, o, p] = sum over c, k of w[o, c, k] * x[n, g*C/groups + c, p*strides + k*dilations - pads]` with `g = o //
    (O/groups)`.
    """

    input = operand("[N, C, H, W]")
    weights = operand("[O, C/groups, KH, KW]")
    strides = attribute(INTS, "vertical, horizontal", default=(1, 1))
    pads = attribute(INTS, "top, left, bottom, right", default=(0, 0, 0, 0))
    dilations = attribute(INTS, "vertical, horizontal", default=(1, 1))
    groups = attribute(INT, "groups of channels", default=1)

    @constraint
    def geometry(op) -> bool:
        """two strides and dilations of at least 1, four pads that are not negative, at least one group"""
        return (len(op.strides) == len(op.dilations) == 2 and len(op.pads) == 4 and min(op.strides + op.dilations) >= 1
                and min(op.pads) >= 0 and op.groups >= 1)

    def infer(op) -> Type:
        n, c, h, w = shape_of(op.input, op, 4)
        o, inner, *kernel = shape_of(op.weights, op, 4)
        if inner * op.groups != c or o % op.groups:
            raise fail(op, f"weights of {op.weights.type} do not fit {c} channels in {op.groups} groups")
        sizes = [
            (size + before + after - (extent - 1) * dilation - 1) // stride + 1
            for size, extent, stride, dilation, before, after in zip(
                (h, w), kernel, op.strides, op.dilations, op.pads[:2], op.pads[2:], strict=True)]
        if min(sizes) < 1:
            raise fail(op, f"a kernel of {tuple(kernel)} does not fit {h} by {w} with pads {op.pads}")
        return TensorType((n, o, *sizes), op.input.element)


@TPU.op("matmul")
class MatMul(Product):
    """Products of matrices (TPU-MLIR manual 6.3.2): those of two stacks of equal size, or of a stack with one matrix."""

    input = operand("[.., M, K]")
    weights = operand("[.., K, N] or [K, N]; with `transposed` [.., N, K] or [N, K]")
    transposed = attribute(BOOLEAN, "whether the right operand has its last two dimensions swapped", default=False)

    def infer(op) -> Type:
        left, right = shape_of(op.input, op), shape_of(op.weights, op)
        if len(left) < 2 or len(right) < 2:
            raise fail(op, f"{op.input.type} and {op.weights.type} are not both matrices")
        inner, columns = (right[-1], right[-2]) if op.transposed else right[-2:]
        if inner != left[-1] or right[:-2] not in ((), left[:-2]):
            raise fail(op, f"{op.input.type} and {op.weights.type} have no product")
        return TensorType((*left[:-1], columns), op.input.element)
