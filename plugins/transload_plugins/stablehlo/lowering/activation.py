"""Functions of one operand, and softmax. Those of more than one op are computed in f32 where the operand is narrower."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from transload.ir import Op, Value
from transload.ir.build import Builder
from transload.rewrite import Rewriter, RewriteTable

from .. import build, functions
from ..build import binary, clamp, compare, select, unary
from .common import finish, normal_axis, promoted, widened

if TYPE_CHECKING:
    from transload_hub.ops.activation import (
        GELU,
        Celu,
        Elu,
        HardSigmoid,
        LeakyRelu,
        PRelu,
        Relu,
        Selu,
        Shrink,
        Sigmoid,
        Softmax,
        ThresholdedRelu,
    )
    from transload_hub.ops.base import Unary
    from transload_hub.ops.elementwise import IsInf, IsNaN

__all__ = ["TABLE"]

TABLE = RewriteTable()

# --- functions without attributes

Function = Callable[[Builder, Value], Value]


def _op(name: str) -> Function:
    """The function that is one StableHLO op."""
    return lambda rw, x: unary(rw, name, x)


def _silu(rw: Builder, x: Value) -> Value:
    return binary(rw, "multiply", x, unary(rw, "logistic", x))


def _softsign(rw: Builder, x: Value) -> Value:
    return binary(rw, "divide", x, binary(rw, "add", unary(rw, "abs", x), 1))


def _mish(rw: Builder, x: Value) -> Value:
    return binary(rw, "multiply", x, unary(rw, "tanh", functions.softplus(rw, x)))


def _hard_swish(rw: Builder, x: Value) -> Value:
    return binary(rw, "divide", binary(rw, "multiply", x, clamp(rw, binary(rw, "add", x, 3), 0, 6)), 6)


FUNCTIONS: dict[str, Function] = {
    "Exp": _op("exponential"), "Log": _op("log"), "Log1p": _op("log_plus_one"), "Sqrt": _op("sqrt"), "Rsqrt": _op("rsqrt"),
    "Reciprocal": lambda rw, x: binary(rw, "divide", 1, x), "Erf": functions.erf,
    "Sin": _op("sine"), "Cos": _op("cosine"), "Tan": functions.tan, "Asin": functions.asin, "Acos": functions.acos,
    "Atan": functions.atan, "Sinh": functions.sinh, "Cosh": functions.cosh, "Tanh": _op("tanh"), "Asinh": functions.asinh,
    "Acosh": functions.acosh, "Atanh": functions.atanh,
    "SiLU": _silu, "Softplus": functions.softplus, "Softsign": _softsign, "Mish": _mish, "HardSwish": _hard_swish,
}  # fmt: skip


@TABLE(*(f"top.{name}" for name in FUNCTIONS))
def function(op: Unary, rw: Rewriter) -> Value:
    return finish(rw, op, FUNCTIONS[op.name.removeprefix("top.")](rw, widened(rw, op.input)))


@TABLE("top.IsNaN")
def is_nan(op: IsNaN, rw: Rewriter) -> Value:
    return functions.is_nan(rw, op.input)


@TABLE("top.IsInf")
def is_inf(op: IsInf, rw: Rewriter) -> Value:
    return functions.is_inf(rw, op.input)


# --- functions with attributes


def activation(name: str) -> Callable[[Callable[[Any, Builder, Value], Value]], Callable[[Any, Builder, Value], Value]]:
    """Make of `function(op, rw, wide value)` the rewrite of an op."""

    def add(function: Callable[[Any, Builder, Value], Value]) -> Callable[[Any, Builder, Value], Value]:
        def rewrite(op: Op, rw: Rewriter) -> Value:
            return finish(rw, op, function(op, rw, widened(rw, op.input)))

        TABLE(name)(rewrite)
        return function

    return add


@activation("top.Relu")
def relu(op: Relu, rw: Builder, x: Value) -> Value:
    limit = op.relu_limit
    if limit < 0 or (x.is_integer and limit >= build.greatest(x.element)):
        return binary(rw, "maximum", x, 0)
    return clamp(rw, x, 0, int(limit) if x.is_integer else limit)


@activation("top.LeakyRelu")
def leaky_relu(op: LeakyRelu, rw: Builder, x: Value) -> Value:
    return select(rw, compare(rw, "GE", x, 0), x, binary(rw, "multiply", x, op.alpha))


@TABLE("top.PRelu")
def prelu(op: PRelu, rw: Rewriter) -> Value:
    x, slope = promoted(rw, op.input, op.slope)
    return finish(rw, op, select(rw, compare(rw, "GE", x, 0), x, binary(rw, "multiply", x, slope)))


@activation("top.Sigmoid")
def sigmoid(op: Sigmoid, rw: Builder, x: Value) -> Value:
    if op.scale == 1.0 and op.bias == 0.0:
        return functions.log_sigmoid(rw, x) if op.log else unary(rw, "logistic", x)
    y = binary(rw, "add", binary(rw, "multiply", unary(rw, "logistic", x), op.scale), op.bias)
    return unary(rw, "log", y) if op.log else y


@activation("top.HardSigmoid")
def hard_sigmoid(op: HardSigmoid, rw: Builder, x: Value) -> Value:
    return clamp(rw, binary(rw, "add", binary(rw, "multiply", x, op.alpha), op.beta), 0, 1)


@activation("top.GELU")
def gelu(op: GELU, rw: Builder, x: Value) -> Value:
    return (functions.gelu_tanh if op.approx else functions.gelu)(rw, x)


def _exponential_below(rw: Builder, x: Value, alpha: float) -> Value:
    """`x` where it is positive, `alpha * (exp(x) - 1)` elsewhere."""
    below = binary(rw, "multiply", unary(rw, "exponential_minus_one", binary(rw, "minimum", x, 0)), alpha)
    return select(rw, compare(rw, "GE", x, 0), x, below)


@activation("top.Elu")
def elu(op: Elu, rw: Builder, x: Value) -> Value:
    return _exponential_below(rw, x, op.alpha)


@activation("top.Selu")
def selu(op: Selu, rw: Builder, x: Value) -> Value:
    return binary(rw, "multiply", _exponential_below(rw, x, op.alpha), op.gamma)


@activation("top.Celu")
def celu(op: Celu, rw: Builder, x: Value) -> Value:
    inner = unary(rw, "exponential_minus_one", binary(rw, "divide", x, op.alpha))
    below = binary(rw, "minimum", binary(rw, "multiply", inner, op.alpha), 0)
    return binary(rw, "add", binary(rw, "maximum", x, 0), below)


@activation("top.ThresholdedRelu")
def thresholded_relu(op: ThresholdedRelu, rw: Builder, x: Value) -> Value:
    return select(rw, compare(rw, "GT", x, op.alpha), x, 0)


@activation("top.Shrink")
def shrink(op: Shrink, rw: Builder, x: Value) -> Value:
    low = select(rw, compare(rw, "LT", x, -op.lambd), binary(rw, "add", x, op.bias), 0)
    return select(rw, compare(rw, "GT", x, op.lambd), binary(rw, "subtract", x, op.bias), low)


@TABLE("top.Softmax")
def softmax(op: Softmax, rw: Rewriter) -> Value:
    """`exp(x - max) / sum`, or `x - max - log(sum)`."""
    x = widened(rw, op.input)
    axis = normal_axis(op.axis, x.rank)
    scaled = x if op.beta == 1.0 else binary(rw, "multiply", x, op.beta)
    shifted = binary(rw, "subtract", scaled, build.reduce(rw, scaled, (axis,), "maximum", keep=True))
    exponentials = unary(rw, "exponential", shifted)
    total = build.reduce(rw, exponentials, (axis,), "add", keep=True)
    if op.log:
        return finish(rw, op, binary(rw, "subtract", shifted, unary(rw, "log", total)))
    return finish(rw, op, binary(rw, "divide", exponentials, total))
