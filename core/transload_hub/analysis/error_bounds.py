"""How errors go through ops of `top`, and how a dynamically quantized product makes one: facts of kind "error-bound", and of kind
"as-it-runs" what such a product makes of its activations.

See `transload.verification.bounds`. Each rule emits ops that compute, elementwise, a bound of the results' errors from bounds of
the operands'. Source: the triangle inequality, and that a function is nowhere steeper than its greatest slope.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from ml_dtypes import finfo

from transload.facts import FactTable
from transload.ir import Op, Value, dtype_of
from transload.ir.build import Builder
from transload.verification.bounds import DYNAMIC, moved_errors

if TYPE_CHECKING:
    from ..ops.activation import Sigmoid
    from ..ops.base import Unary
    from ..ops.conv import Conv, Deconv
    from ..ops.elementwise import Add, AddConst, Max, Min, Mul, MulConst, Sub
    from ..ops.matmul import MatMul
    from ..ops.movement import Concat, Pad
    from ..ops.pool import AvgPool, MaxPool
    from ..ops.reduce import Reduce
    from ..ops.resize import Upsample

__all__ = ["ERROR_BOUNDS", "ROUNDED"]

ERROR_BOUNDS = FactTable("top")
ROUNDED = FactTable("top")

_ROUNDING = 2.0**-20
"""Part of the greatest activation that is added to a step: sums of float32 are taken in any order."""

_ACTIVATION = ("do_relu", "relu_limit")
"""Attributes of a ReLU at an op's end, which makes no error greater."""


# --- products with weights

@ERROR_BOUNDS("Conv", "Deconv", "MatMul")
def weighted(op: Conv | Deconv | MatMul, build: Builder, errors: list[Value | None]) -> Any:
    """Products with weights that have no error; the activations have one where the framework quantizes them."""
    if any(error is not None for error in errors[1:]):
        return ()
    if DYNAMIC in op.attributes:
        return _product(op, build, _step(op, build, errors[0]))
    return _product(op, build, errors[0]) if errors[0] is not None else ()


def _product(op: Op, build: Builder, error: Value) -> Value:
    """A convolution or matrix product of errors with the absolute values of the weights, without bias and activation."""
    kept = {key: value for key, value in op.attributes.items() if key not in (DYNAMIC, *_ACTIVATION)}
    return build.emit(op.name, error, build.emit("top.Abs", op.operands[1]), **kept)


def _step(op: Op, build: Builder, error: Value | None) -> Value:
    """The error of each activation of a dynamically quantized product, the one that it had before included."""
    x = op.operands[0]
    size, step = _range(op, build, error)
    if op.attributes[DYNAMIC] == "symmetric":
        step = build.emit("top.MulConst", step, const_val=0.5)
    step = build.emit("top.Add", step, build.emit("top.MulConst", size, const_val=_ROUNDING))
    step = build.emit("top.Expand", step, shape=x.shape)
    return step if error is None else build.emit("top.Add", step, error)


@ROUNDED("Conv", "Deconv", "MatMul")
def rounded(op: Conv | Deconv | MatMul, build: Builder) -> Value:
    """The activations as multiples of their step. What is nothing but zeros has none, and stays."""
    x = op.operands[0]
    least = np.full((), finfo(dtype_of(x.element)).tiny, dtype_of(x.element))
    step = build.emit("top.Max", _range(op, build, None)[1], build.constant(least))
    return build.emit("top.Mul", build.emit("top.Round", build.emit("top.Div", x, step)), step)


def _range(op: Op, build: Builder, error: Value | None) -> tuple[Value, Value]:
    """The greatest absolute value of the activations that are quantized together, and the step between their 8-bit numbers."""
    x = op.operands[0]
    if op.name != "top.MatMul":
        axes = tuple(range(1, x.rank))
    else:
        axes = (x.rank - 2 if op.attribute("left_transpose") else x.rank - 1,)

    def greatest(value: Value) -> Value:
        if error is not None:
            value = build.emit("top.Add", value, error)
        return build.emit("top.Reduce", value, axes=axes, keepdims=True, mode="ReduceMax")

    size = greatest(build.emit("top.Abs", x))
    if op.attributes[DYNAMIC] == "symmetric":
        return size, build.emit("top.MulConst", size, const_val=1 / 127)
    above, below = greatest(build.emit("top.Relu", x)), greatest(build.emit("top.Relu", build.emit("top.Neg", x)))
    return size, build.emit("top.MulConst", build.emit("top.Add", above, below), const_val=1 / 255)


# --- functions

@ERROR_BOUNDS("Relu", "Tanh", "Clip", "Abs", "Neg", "Sin", "Cos", "Atan", "Softplus")
def steepness_of_one(op: Unary, build: Builder, errors: list[Value | None]) -> Any:
    """Functions that are nowhere steeper than 1."""
    return errors[0]


@ERROR_BOUNDS("Sigmoid")
def sigmoid(op: Sigmoid, build: Builder, errors: list[Value | None]) -> Any:
    """Nowhere steeper than 1/4, times its scale; its logarithm nowhere steeper than 1."""
    scale: Any = op.attribute("scale", 1.0)
    if op.attribute("log", False):
        return errors[0] if (scale, op.attribute("bias", 0.0)) == (1.0, 0.0) else ()
    return build.emit("top.MulConst", errors[0], const_val=abs(scale) / 4)


# --- arithmetic

def _summed(op: Op, build: Builder, given: list[Value]) -> Value:
    total = given[0] if len(given) == 1 else build.emit("top.Add", *given)
    return build.emit("top.Expand", total, shape=op.results[0].shape)


@ERROR_BOUNDS("Add")
def added(op: Add, build: Builder, errors: list[Value | None]) -> Any:
    """Errors add up, each times the factor of its operand."""
    factors: Any = op.attribute("coeff") or (1.0,) * len(errors)
    given = [error if factor in (1, -1) else build.emit("top.MulConst", error, const_val=abs(float(factor)))
             for error, factor in zip(errors, factors, strict=True) if error is not None]
    return _summed(op, build, given)


@ERROR_BOUNDS("Sub")
def subtracted(op: Sub, build: Builder, errors: list[Value | None]) -> Any:
    """Errors add up."""
    return _summed(op, build, [error for error in errors if error is not None])


@ERROR_BOUNDS("AddConst")
def shifted(op: AddConst, build: Builder, errors: list[Value | None]) -> Any:
    """A number added changes no error."""
    return errors[0]


@ERROR_BOUNDS("MulConst")
def scaled(op: MulConst, build: Builder, errors: list[Value | None]) -> Any:
    """Errors times the number."""
    return build.emit("top.MulConst", errors[0], const_val=abs(op.attribute("const_val")))


@ERROR_BOUNDS("Mul")
def multiplied(op: Mul, build: Builder, errors: list[Value | None]) -> Any:
    """`|a| e(b) + |b| e(a) + e(a) e(b)`."""
    if len(op.operands) != 2:
        return ()
    (a, b), (error_a, error_b) = op.operands, errors
    parts = [build.emit("top.Mul", build.emit("top.Abs", value), error)
             for value, error in ((a, error_b), (b, error_a)) if error is not None]
    if error_a is not None and error_b is not None:
        parts.append(build.emit("top.Mul", error_a, error_b))
    return parts[0] if len(parts) == 1 else build.emit("top.Add", *parts)


@ERROR_BOUNDS("Reduce")
def reduced(op: Reduce, build: Builder, errors: list[Value | None]) -> Any:
    """Of sums the sum of the errors, of a maximum or minimum the greatest."""
    mode = op.attribute("mode")
    if mode in ("ReduceMax", "ReduceMin"):
        return build.emit(op.name, errors[0], **{**op.attributes, "mode": "ReduceMax"})
    return build.emit(op.name, errors[0], **op.attributes) if mode in ("ReduceSum", "ReduceMean") else ()


# --- comparing and moving

@ERROR_BOUNDS("Max", "Min")
def compared(op: Max | Min, build: Builder, errors: list[Value | None]) -> Any:
    """No more than the greatest error of the operands."""
    given = [error for error in errors if error is not None]
    most = given[0] if len(given) == 1 else build.emit("top.Max", *given)
    return build.emit("top.Expand", most, shape=op.results[0].shape)


@ERROR_BOUNDS("MaxPool", "AvgPool")
def pooled(op: AvgPool | MaxPool, build: Builder, errors: list[Value | None]) -> Any:
    """No more than the greatest error, or the mean of the errors, of a window."""
    return build.emit(op.name, errors[0], **{key: value for key, value in op.attributes.items() if key not in _ACTIVATION})


@ERROR_BOUNDS("Concat", "Upsample")
def moved_and_activated(op: Concat | Upsample, build: Builder, errors: list[Value | None]) -> Any:
    """Errors go where the numbers go."""
    return moved_errors(op, build, errors, do_relu=None, relu_limit=None)


@ERROR_BOUNDS("Pad")
def padded(op: Pad, build: Builder, errors: list[Value | None]) -> Any:
    """Errors go where the numbers go; the number around them has none."""
    return moved_errors(op, build, errors, val=0.0) if op.attribute("mode") == "constant" else moved_errors(op, build, errors)
