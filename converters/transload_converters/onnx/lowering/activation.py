"""Activation functions, softmax and clipping."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from transload.ir import F64, Op, Value
from transload.rewrite import Rewriter, RewriteTable

from .common import broadcast, clipped, emit, rectified, scalar
from .functions_of_f64 import error_function

if TYPE_CHECKING:
    from transload_hub.ops.activation import GELU, Clip, PRelu, Relu, Shrink, Sigmoid, SiLU, Softmax

__all__ = ["TABLE"]

TABLE = RewriteTable()

WITH_ATTRIBUTES = {
    "LeakyRelu": ("alpha",), "HardSigmoid": ("alpha", "beta"), "Elu": ("alpha",), "Selu": ("alpha", "gamma"), "Celu": ("alpha",),
    "ThresholdedRelu": ("alpha",), "Softplus": (), "Softsign": (), "Mish": (), "HardSwish": ()}
"""Functions that ONNX calls the same, and their attributes, which it calls the same too."""


@TABLE(*(f"top.{name}" for name in WITH_ATTRIBUTES))
def same_name(op: Op, rw: Rewriter) -> Value:
    name = op.name.partition(".")[2]
    return emit(rw, name, op.operands[0], **{key: op.attribute(key) for key in WITH_ATTRIBUTES[name]})


@TABLE("top.Shrink")
def shrink(op: Shrink, rw: Rewriter) -> Value:
    return emit(rw, "Shrink", op.input, bias=op.bias, lambd=op.lambd)


@TABLE("top.Relu")
def relu(op: Relu, rw: Rewriter) -> Value:
    return clipped(rw, op.input, 0.0, op.relu_limit) if op.relu_limit >= 0 else rectified(rw, op.input)


@TABLE("top.PRelu")
def prelu(op: PRelu, rw: Rewriter) -> Value:
    return emit(rw, "PRelu", op.input, op.slope)


@TABLE("top.Clip")
def clip(op: Clip, rw: Rewriter) -> Value:
    return clipped(rw, op.input, op.min, op.max)


@TABLE("top.Sigmoid")
def sigmoid(op: Sigmoid, rw: Rewriter) -> Value:
    """Sigmoid, scaled and moved; the logarithm of it alone is -softplus(-x), which does not lose what is near 0."""
    if op.log and op.scale == 1.0 and not op.bias:
        return emit(rw, "Neg", emit(rw, "Softplus", emit(rw, "Neg", op.input)))
    y = emit(rw, "Sigmoid", op.input)
    if op.scale != 1.0:
        y = emit(rw, "Mul", y, scalar(rw, op.scale, y.element))
    if op.bias:
        y = emit(rw, "Add", y, scalar(rw, op.bias, y.element))
    return emit(rw, "Log", y) if op.log else y


@TABLE("top.SiLU")
def silu(op: SiLU, rw: Rewriter) -> Value:
    return emit(rw, "Mul", op.input, emit(rw, "Sigmoid", op.input))


@TABLE("top.GELU")
def gelu(op: GELU, rw: Rewriter) -> Value:
    """Gelu, which is made of Erf, of which onnxruntime has none of f64."""
    x = op.input
    if x.element == F64 and not op.approx:
        half, one, root = (scalar(rw, number, F64) for number in (0.5, 1, math.sqrt(0.5)))
        part = broadcast(rw, "Add", error_function(rw, broadcast(rw, "Mul", x, root)), one)
        return emit(rw, "Mul", broadcast(rw, "Mul", x, half), part)
    return emit(rw, "Gelu", op.input, approximate="tanh" if op.approx else "none")


@TABLE("top.Softmax")
def softmax(op: Softmax, rw: Rewriter) -> Value:
    x = op.input if op.beta == 1.0 else emit(rw, "Mul", op.input, scalar(rw, op.beta, op.input.element))
    return emit(rw, "LogSoftmax" if op.log else "Softmax", x, axis=op.axis)
