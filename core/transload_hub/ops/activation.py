"""Activation functions, softmax and clipping."""

from __future__ import annotations

import math

from transload.ir.declare import BOOLEAN, FLOAT, INT, DeclaredOp, attribute, constraint, operand, result
from transload.ir.types import TensorType, Type

from .base import NUMBER_TENSOR, REAL_TENSOR, TOP, Unary, limit_is_a_number
from .infer import broadcast_shapes, fail, normalise_axis, same_as_input, shape_of, show
from .rounding import rounds


@TOP.op("Relu")
class Relu(Unary):
    """`max(x, 0)`, and at most relu_limit where that is not negative (TPU-MLIR manual 13.1, ReluOp)."""

    input = operand("the tensor", type=NUMBER_TENSOR)
    relu_limit = attribute(FLOAT, "upper limit; negative: none", default=-1.0)
    rounding = rounds("double", "exact", "once")

    limit_is_a_number = limit_is_a_number


@TOP.op("LeakyRelu")
class LeakyRelu(Unary):
    """`x` where it is positive, `alpha * x` elsewhere (TPU-MLIR manual 13.1, LeakyReluOp)."""

    alpha = attribute(FLOAT, "slope for negative values", default=0.01)
    rounding = rounds("double", "exact", "once")


@TOP.op("PRelu")
class PRelu(DeclaredOp):
    """`x` where it is positive, `slope * x` elsewhere (ONNX PRelu, TFLite PRELU; TPU-MLIR's top.PRelu)."""

    input = operand("the tensor", type=NUMBER_TENSOR)
    slope = operand("broadcasts to the input", type=NUMBER_TENSOR)
    output = result("of the input's shape")
    rounding = rounds("double", "exact", "once")
    traits = ("elementwise",)

    def infer(op) -> Type:
        joined = broadcast_shapes(op, shape_of(op.input), shape_of(op.slope))
        shape = shape_of(op.input)
        if joined is not None and shape is not None and len(joined) != len(shape):
            fail(op, f"the slope {show(shape_of(op.slope))} does not broadcast to the input {show(shape)}")
        return TensorType(joined, op.input.element)


@TOP.op("Sigmoid")
class Sigmoid(Unary):
    """`scale / (1 + exp(-x)) + bias`; its logarithm with `log` (TPU-MLIR manual 13.1, SigmoidOp)."""

    scale = attribute(FLOAT, "factor of the result", default=1.0)
    bias = attribute(FLOAT, "added to the result", default=0.0)
    log = attribute(BOOLEAN, "whether to give the logarithm", default=False)


@TOP.op("SiLU")
class SiLU(Unary):
    """`x * sigmoid(x)`, also called swish (TPU-MLIR manual 13.1, SiLUOp)."""


@TOP.op("HardSigmoid")
class HardSigmoid(Unary):
    """`max(0, min(1, alpha * x + beta))` (ONNX HardSigmoid)."""

    alpha = attribute(FLOAT, "slope", default=0.2)
    beta = attribute(FLOAT, "value at 0", default=0.5)


@TOP.op("HardSwish")
class HardSwish(Unary):
    """`x * max(0, min(6, x + 3)) / 6` (ONNX HardSwish, TFLite HARD_SWISH)."""

    rounding = rounds("double", "exact", "once")


@TOP.op("GELU")
class GELU(Unary):
    """`x/2 * (1 + erf(x / sqrt(2)))`; with `approx`, `x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))` (ONNX Gelu)."""

    approx = attribute(BOOLEAN, "whether to use the form with tanh", default=False)


@TOP.op("Elu")
class Elu(Unary):
    """`x` where it is positive, `alpha * (exp(x) - 1)` elsewhere (ONNX Elu, TFLite ELU)."""

    alpha = attribute(FLOAT, "minus the limit for very negative x", default=1.0)


@TOP.op("Selu")
class Selu(Unary):
    """`gamma * x` where x is positive, `gamma * alpha * (exp(x) - 1)` elsewhere (ONNX Selu)."""

    alpha = attribute(FLOAT, "factor for negative values", default=1.67326319217681884765625)
    gamma = attribute(FLOAT, "factor of the result", default=1.05070102214813232421875)


@TOP.op("Celu")
class Celu(Unary):
    """`max(0, x) + min(0, alpha * (exp(x / alpha) - 1))` (ONNX Celu)."""

    alpha = attribute(FLOAT, "minus the limit for very negative x", default=1.0)

    @constraint
    def divides(op) -> bool:
        """alpha, by which x is divided, is finite and not 0"""
        return op.alpha != 0 and math.isfinite(op.alpha)


@TOP.op("ThresholdedRelu")
class ThresholdedRelu(Unary):
    """`x` where it is greater than alpha, 0 elsewhere (ONNX ThresholdedRelu)."""

    alpha = attribute(FLOAT, "the threshold", default=1.0)


@TOP.op("Shrink")
class Shrink(Unary):
    """`x - bias` where `x > lambd`, `x + bias` where `x < -lambd`, 0 between (ONNX Shrink)."""

    bias = attribute(FLOAT, "taken from the absolute value", default=0.0)
    lambd = attribute(FLOAT, "half the width of what becomes 0", default=0.5)


@TOP.op("Softplus")
class Softplus(Unary):
    """`log(1 + exp(x))` (ONNX Softplus)."""


@TOP.op("Softsign")
class Softsign(Unary):
    """`x / (1 + |x|)` (ONNX Softsign)."""


@TOP.op("Mish")
class Mish(Unary):
    """`x * tanh(log(1 + exp(x)))` (ONNX Mish)."""


@TOP.op("Clip")
class Clip(Unary):
    """`min(max(x, min), max)` (TPU-MLIR manual 13.1, ClipOp; ONNX Clip, TFLite RELU_N1_TO_1)."""

    input = operand("the tensor", type=NUMBER_TENSOR)
    min = attribute(FLOAT, "lower limit; -inf: none")
    max = attribute(FLOAT, "upper limit; inf: none")
    rounding = rounds("double", "exact", "once")

    @constraint
    def limits_are_numbers(op) -> bool:
        """min and max are not NaN"""
        return op.min == op.min and op.max == op.max


@TOP.op("Softmax")
class Softmax(DeclaredOp):
    """`exp(beta*x) / sum(exp(beta*x))` along a dimension; its logarithm with `log` (TPU-MLIR manual 13.1, SoftmaxOp)."""

    input = operand("the tensor", type=REAL_TENSOR)
    output = result("of the input's shape")
    axis = attribute(INT, "the dimension to sum over")
    beta = attribute(FLOAT, "factor of the input, as TFLite has it", default=1.0)
    log = attribute(BOOLEAN, "whether to give the logarithm", default=False)
    rounding = rounds("double", "once")

    @constraint
    def axis_is_in_range(op) -> bool | str:
        """axis is a dimension of the input"""
        shape = shape_of(op.input)
        return shape is None or -len(shape) <= op.axis < len(shape) or f"{op.axis} of {show(shape)}"

    def infer(op) -> Type:
        shape = shape_of(op.input)
        if shape is not None:
            normalise_axis(op, op.axis, len(shape))
        return same_as_input(op)
