"""Arithmetic of the hub as calls of MIL: element by element, activations, reductions, normalizations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, FloatType, IntegerType, Op, Value

from .emitters import emits, need_channels_second
from .program import INT32, Argument, Program, mil_type

__all__ = ["activated", "reshaped", "scalar", "tiled", "within"]


def scalar(number: float, like: Value) -> Any:
    """A number of the type of a value; `Unsupported` where integers have it not."""
    if isinstance(like.element, FloatType):
        with np.errstate(over="ignore"):  # what is beyond a float is infinite
            return np.array(number, np.float16 if mil_type(like.element) == "fp16" else np.float32)
    if not INT32.min <= number <= INT32.max or number != int(number):
        raise Unsupported(f"it computes with {number:g}, and Core ML's integers are whole, of 32 bits", "cast to floats before")
    return np.array(int(number), np.int32)


def within(p: Program, x: Argument, low: float, high: float, like: Value) -> Argument:
    """Integers of the type of `like` between two limits: the whole numbers between, as far as the type goes.

    A limit beyond what the type or int32 holds limits nothing, where all numbers are on its other side.
    """
    least, most = like.element.range  # type: ignore[attr-defined]
    low = least if low <= least else most if low >= most else math.ceil(low)
    high = most if high >= most else least if high <= least else math.floor(high)
    y = p("maximum", x=x, y=scalar(low, like)) if low > max(least, INT32.min) else p("identity", x=x)
    return p("minimum", x=y, y=scalar(high, like)) if high < min(most, INT32.max) else y


def activated(op: Op, p: Program, y: Argument) -> Argument:
    """`y` after the ReLU that the op's attributes ask for."""
    if not op.attributes.get("do_relu", False):
        return y
    return _relu(p, y, op.attributes.get("relu_limit", -1.0), op.results[0])


def _relu(p: Program, x: Argument, limit: float, like: Value) -> Argument:
    """Numbers of the type of `like` from 0 up to a limit, where that is not negative."""
    if not isinstance(like.element, FloatType):
        return within(p, x, 0, limit if limit >= 0 else math.inf, like)
    low, high = scalar(0, like), scalar(limit, like)
    if limit >= 0 and high <= low:  # also of a limit that halves have not: MIL's `clip` wants one above the other
        return p("minimum", x=p("maximum", x=x, y=low), y=high)
    return p("relu", x=x) if limit < 0 else p("clip", x=x, alpha=low, beta=high)


_UNARY = {
    "Abs": "abs", "Floor": "floor", "Ceil": "ceil", "Round": "round", "Sign": "sign", "Exp": "exp", "Sqrt": "sqrt", "Sin": "sin",
    "Cos": "cos", "Tan": "tan", "Asin": "asin", "Acos": "acos", "Atan": "atan", "Sinh": "sinh", "Cosh": "cosh", "Tanh": "tanh",
    "Atanh": "atanh", "Erf": "erf", "SiLU": "silu", "Softplus": "softplus", "Softsign": "softsign", "Square": "square",
    "LogicalNot": "logical_not"}


@emits(*_UNARY)
def unary(op: Op, p: Program) -> Argument:
    """The function of one operand that MIL has, too; integers are their own floor."""
    name, x = op.name.partition(".")[2], op.operands[0]
    if isinstance(x.element, IntegerType) and name in ("Floor", "Ceil", "Round"):
        return p("identity", x=p.of(x))
    return p(_UNARY[name], x=p.of(x))


@emits("Neg")
def negative(op: Any, p: Program) -> Argument:
    return p("mul", x=p.of(op.input), y=scalar(-1, op.input))


@emits("Reciprocal", "Rsqrt")
def reciprocal(op: Any, p: Program) -> Argument:
    """By a division: MIL's `inverse` and `rsqrt` add something to what they divide by."""
    x = p.of(op.input)
    return p("real_div", x=scalar(1, op.input), y=p("sqrt", x=x) if op.name == "top.Rsqrt" else x)


def _log(p: Program, x: Argument, like: Value) -> Argument:
    """MIL adds an epsilon to what it takes the logarithm of, which is made nothing."""
    return p("log", x=x, epsilon=scalar(0, like))


@emits("Log")
def logarithm(op: Any, p: Program) -> Argument:
    return _log(p, p.of(op.input), op.input)


@emits("Log1p")
def logarithm_beside_one(op: Any, p: Program) -> Argument:
    """`log(u)` with `u = 1 + x` rounded; near 0 `x - ((u - 1) - log(u))`, which adds what u lost."""
    x, one = p.of(op.input), scalar(1, op.input)
    u = p("add", x=x, y=one)
    far = _log(p, u, op.input)
    near = p("sub", x=x, y=p("sub", x=p("sub", x=u, y=one), y=far))
    is_near = p("less", x=p("abs", x=x), y=scalar(0.5, op.input))
    return p("select", cond=is_near, a=near, b=far)


@emits("Relu")
def relu(op: Any, p: Program) -> Argument:
    return _relu(p, p.of(op.input), op.relu_limit, op.input)


@emits("Sigmoid")
def sigmoid(op: Any, p: Program) -> Argument:
    """`scale * sigmoid(x) + bias`, or its logarithm; of the plain sigmoid that is `-softplus(-x)`, which keeps small numbers."""
    x = p.of(op.input)
    if op.log and op.scale == 1.0 and op.bias == 0.0:
        opposite = p("mul", x=x, y=scalar(-1, op.input))
        return p("mul", x=p("softplus", x=opposite), y=scalar(-1, op.input))
    y = p("sigmoid", x=x)
    if op.scale != 1.0:
        y = p("mul", x=y, y=scalar(op.scale, op.input))
    if op.bias != 0.0:
        y = p("add", x=y, y=scalar(op.bias, op.input))
    return _log(p, y, op.input) if op.log else y


_WITH_NUMBERS: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "LeakyRelu": ("leaky_relu", (("alpha", "alpha"),)), "Elu": ("elu", (("alpha", "alpha"),)),
    "HardSigmoid": ("sigmoid_hard", (("alpha", "alpha"), ("beta", "beta"))),
    "ThresholdedRelu": ("thresholded_relu", (("alpha", "alpha"),))}


@emits(*_WITH_NUMBERS)
def with_numbers(op: Any, p: Program) -> Argument:
    name, members = _WITH_NUMBERS[op.name.partition(".")[2]]
    return p(name, x=p.of(op.input), **{theirs: scalar(op.attribute(ours), op.input) for ours, theirs in members})


@emits("HardSwish", "Mish", "GELU")
def gated(op: Any, p: Program) -> Argument:
    x = p.of(op.input)
    if op.name == "top.GELU":
        return p("gelu", x=x, mode="TANH_APPROXIMATION" if op.approx else "EXACT")
    gate = (p("sigmoid_hard", x=x, alpha=scalar(1 / 6, op.input), beta=scalar(0.5, op.input)) if op.name == "top.HardSwish"
            else p("tanh", x=p("softplus", x=x)))
    return p("mul", x=x, y=gate)


@emits("Selu", "Celu")
def scaled_elu(op: Any, p: Program) -> Argument:
    """`gamma * elu(x, alpha)`; `alpha * elu(x / alpha, 1)`, or, of a negative alpha,
    `max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))`."""
    if op.name == "top.Selu":
        return p("mul", x=p("elu", x=p.of(op.input), alpha=scalar(op.alpha, op.input)), y=scalar(op.gamma, op.input))
    y = p("mul", x=p.of(op.input), y=scalar(1 / op.alpha, op.input))
    if op.alpha > 0:
        return p("mul", x=p("elu", x=y, alpha=scalar(1, op.input)), y=scalar(op.alpha, op.input))
    zero = scalar(0, op.input)
    below = p("mul", x=p("sub", x=p("exp", x=y), y=scalar(1, op.input)), y=scalar(op.alpha, op.input))
    return p("add", x=p("maximum", x=p.of(op.input), y=zero), y=p("minimum", x=below, y=zero))


@emits("PRelu")
def prelu(op: Any, p: Program) -> Argument:
    x, zero = p.of(op.input), scalar(0, op.input)
    below = p("mul", x=p("minimum", x=x, y=zero), y=p.of(op.slope))
    return p("add", x=p("maximum", x=x, y=zero), y=below)


@emits("Clip")
def clip(op: Any, p: Program) -> Argument:
    y = p.of(op.input)
    if not isinstance(op.input.element, FloatType):
        return within(p, y, op.min, op.max, op.input)
    if op.min > -math.inf:
        y = p("maximum", x=y, y=scalar(op.min, op.input))
    return p("minimum", x=y, y=scalar(op.max, op.input)) if op.max < math.inf else p("identity", x=y)


@emits("Softmax")
def softmax(op: Any, p: Program) -> Argument:
    """Of the logarithm: `x - log(sum(exp(x)))`."""
    x = p.of(op.input) if op.beta == 1.0 else p("mul", x=p.of(op.input), y=scalar(op.beta, op.input))
    axis = op.axis % op.input.rank
    if not op.log:
        return p("softmax", x=x, axis=axis)
    return p("sub", x=x, y=p("reduce_log_sum_exp", x=x, axes=[axis], keep_dims=True))


# --- several operands

_BINARY = {
    "Sub": "sub", "Mul": "mul", "Div": "real_div", "Max": "maximum", "Min": "minimum", "Pow": "pow", "FloorMod": "mod",
    "LogicalAnd": "logical_and", "LogicalOr": "logical_or", "LogicalXor": "logical_xor"}
_RELATIONS = {
    "Equal": "equal", "NotEqual": "not_equal", "Greater": "greater", "GreaterOrEqual": "greater_equal", "Less": "less",
    "LessOrEqual": "less_equal"}


@emits(*_BINARY)
def binary(op: Op, p: Program) -> Argument:
    name = op.name.partition(".")[2]
    if name == "Div" and isinstance(op.operands[0].element, IntegerType):
        raise Unsupported("Core ML divides integers down, not towards zero", "cast to floats, or use FloorDiv")
    terms = [p.of(value) for value in op.operands]
    made = reduce(lambda a, b: p(_BINARY[name], x=a, y=b), terms)
    return activated(op, p, made if len(terms) > 1 else p("identity", x=made))


@emits("FloorDiv")
def floor_div(op: Any, p: Program) -> Argument:
    """MIL's is of integers what the hub's is; of floats it is not the floor of the rounded quotient: 19 of 6 by 0.3."""
    a, b = p.of(op.a), p.of(op.b)
    if isinstance(op.a.element, IntegerType):
        return activated(op, p, p("floor_div", x=a, y=b))
    return activated(op, p, p("floor", x=p("real_div", x=a, y=b)))


@emits("Add")
def add(op: Any, p: Program) -> Argument:
    """The sum, each operand times its coefficient."""
    factors = op.coeff if op.coeff is not None else [1.0] * len(op.inputs)
    terms = [p.of(x) if factor == 1.0 else p("mul", x=p.of(x), y=scalar(factor, x))
             for x, factor in zip(op.inputs, factors, strict=True)]
    return activated(op, p, reduce(lambda a, b: p("add", x=a, y=b), terms) if len(terms) > 1 else p("identity", x=terms[0]))


def reshaped(p: Program, x: Argument, shape: Sequence[int]) -> Argument:
    """The same numbers by another shape: of no dimensions, which is none that MIL reshapes to, by leaving all out."""
    if isinstance(x, np.ndarray):
        return x.reshape(tuple(shape))
    return p("reshape", x=x, shape=list(shape)) if len(shape) else p("squeeze", x=x)


def tiled(p: Program, value: Value, wanted: Sequence[int]) -> Argument:
    """A value repeated along dimensions of size 1, or new ones, so that it has a shape."""
    shape = value.static_shape
    whole = (*(1,) * (len(wanted) - len(shape)), *shape)
    x = p.of(value) if whole == shape else reshaped(p, p.of(value), whole)
    return p("tile", x=x, reps=[size // old for size, old in zip(wanted, whole, strict=True)])


@emits("AddConst")
def add_constant(op: Any, p: Program) -> Argument:
    """Of what is added to integers the hub cuts the fraction off."""
    number = op.const_val if isinstance(op.input.element, FloatType) else np.trunc(op.const_val)
    return activated(op, p, p("add", x=p.of(op.input), y=scalar(number, op.input)))


@emits("MulConst")
def times_constant(op: Any, p: Program) -> Argument:
    return activated(op, p, p("mul", x=p.of(op.input), y=scalar(op.const_val, op.input)))


@emits("Scale")
def scale(op: Any, p: Program) -> Argument:
    return activated(op, p, p("add", x=p("mul", x=p.of(op.input), y=p.of(op.scale)), y=p.of(op.bias)))


@emits("SquaredDifference")
def squared_difference(op: Any, p: Program) -> Argument:
    away = p("sub", x=p.of(op.a), y=p.of(op.b))
    return p("mul", x=away, y=away)


@emits("Compare")
def compare(op: Any, p: Program) -> Argument:
    return p(_RELATIONS[str(op.mode)], x=p.of(op.lhs), y=p.of(op.rhs))


@emits("Where")
def where(op: Any, p: Program) -> Argument:
    """MIL takes the shape of what is chosen from alone, and not of the condition."""
    wanted = op.results[0].static_shape
    both = np.broadcast_shapes(op.tbrn.static_shape, op.fbrn.static_shape)
    a = p.of(op.tbrn) if both == wanted else tiled(p, op.tbrn, wanted)
    return p("select", cond=p.of(op.condition), a=a, b=p.of(op.fbrn))


# --- over dimensions

_REDUCTIONS = {
    "ReduceMean": "reduce_mean", "ReduceSum": "reduce_sum", "ReduceMax": "reduce_max", "ReduceMin": "reduce_min",
    "ReduceProd": "reduce_prod", "ReduceL1": "reduce_l1_norm", "ReduceL2": "reduce_l2_norm",
    "ReduceSumSquare": "reduce_sum_square", "ReduceLogSumExp": "reduce_log_sum_exp"}
_OF_ONE = {"ReduceL1": "abs", "ReduceL2": "abs", "ReduceSumSquare": "square"}
"""What reductions give of one element, but for those that give the element itself."""


@emits("Reduce")
def reduction(op: Any, p: Program) -> Argument:
    name = _REDUCTIONS.get(str(op.mode))
    if name is None:
        raise Unsupported(f"Core ML has no {op.mode}")
    if op.input.element == BOOL:
        raise Unsupported("Core ML reduces numbers, and this are truth values", "cast to integers")
    if not op.axes:
        return p(_OF_ONE.get(str(op.mode), "identity"), x=p.of(op.input))
    return p(name, x=p.of(op.input), axes=[axis % op.input.rank for axis in op.axes], keep_dims=bool(op.keepdims))


def _over(p: Program, call: str, x: Argument, axes: list[int]) -> Argument:
    """A sum or mean over dimensions, which stay with size 1; over none, what it is of: MIL takes no empty list of them."""
    return p(call, x=x, axes=axes, keep_dims=True) if axes else x


@emits("Arg")
def arg(op: Any, p: Program) -> Argument:
    if op.select_last_index:
        raise Unsupported("Core ML gives the first of equal elements, not the last")
    return p("reduce_argmax" if str(op.mode) == "ArgMax" else "reduce_argmin",
             x=p.of(op.input), axis=op.axis % op.input.rank, keep_dims=bool(op.keepdims))


@emits("CumSum")
def cumsum(op: Any, p: Program) -> Argument:
    return p("cumsum", x=p.of(op.input), axis=op.axis % op.input.rank, exclusive=bool(op.exclusive),
             reverse=bool(op.reverse))


def _vector(p: Program, value: Value | None, rank: int, axis: int) -> Argument:
    """A vector beside a tensor of that rank, along an axis; constants alone."""
    held = p.of(value) if value is not None else None
    return None if held is None else held.reshape([-1 if place == axis else 1 for place in range(rank)]) if isinstance(
        held, np.ndarray) else p("reshape", x=held, shape=[value.static_shape[0] if place == axis else 1  # type: ignore[union-attr]
                                                          for place in range(rank)])


@emits("BatchNorm")
def batch_norm(op: Any, p: Program) -> Argument:
    """By its formula: MIL's takes constants and three to five dimensions alone."""
    rank = op.input.rank
    axis = rank - 1 if str(op.layout) == "NHWC" else min(1, rank - 1)
    mean, variance, gamma, beta = (_vector(p, each, rank, axis) for each in (op.mean, op.variance, op.gamma, op.beta))
    root = p("sqrt", x=p("add", x=variance, y=scalar(op.epsilon, op.input)))
    y = p("real_div", x=p("sub", x=p.of(op.input), y=mean), y=root)
    y = y if gamma is None else p("mul", x=y, y=gamma)
    return activated(op, p, y if beta is None else p("add", x=y, y=beta))


def _centred(op: Any, p: Program, x: Argument, axes: list[int], epsilon: float) -> Argument:
    away = p("sub", x=x, y=_over(p, "reduce_mean", x, axes))
    variance = _over(p, "reduce_mean", p("mul", x=away, y=away), axes)
    return p("real_div", x=away, y=p("sqrt", x=p("add", x=variance, y=scalar(epsilon, op.input))))


def _weighted(p: Program, y: Argument, weight: Argument, bias: Argument) -> Argument:
    y = y if weight is None else p("mul", x=y, y=weight)
    return y if bias is None else p("add", x=y, y=bias)


@emits("LayerNorm")
def layer_norm(op: Any, p: Program) -> Argument:
    axes = list(range(op.axis % op.input.rank, op.input.rank))
    weight, bias = (p.of(each) if each is not None else None for each in (op.weight, op.bias))
    return _weighted(p, _centred(op, p, p.of(op.input), axes, op.eps), weight, bias)


@emits("InstanceNorm")
def instance_norm(op: Any, p: Program) -> Argument:
    need_channels_second(op)
    rank = op.input.rank
    y = _centred(op, p, p.of(op.input), list(range(2, rank)), op.eps)
    return _weighted(p, y, _vector(p, op.weight, rank, 1), _vector(p, op.bias, rank, 1))


@emits("GroupNorm")
def group_norm(op: Any, p: Program) -> Argument:
    need_channels_second(op)
    shape = op.input.static_shape
    grouped = p("reshape", x=p.of(op.input), shape=[shape[0], op.num_groups, -1])
    y = p("reshape", x=_centred(op, p, grouped, [2], op.eps), shape=list(shape))
    return _weighted(p, y, _vector(p, op.weight, len(shape), 1), _vector(p, op.bias, len(shape), 1))


@emits("RMSNorm", "Normalize")
def over_root(op: Any, p: Program) -> Argument:
    """`x / sqrt(mean(x^2) + eps)`; `x / sqrt(max(sum(x^2), eps))`."""
    x, is_mean = p.of(op.input), op.name == "top.RMSNorm"
    rank = op.input.rank
    axes = list(range(op.axis % rank, rank)) if is_mean else [axis % rank for axis in op.axes]
    total = _over(p, "reduce_mean" if is_mean else "reduce_sum", p("mul", x=x, y=x), axes)
    total = p("add" if is_mean else "maximum", x=total, y=scalar(op.eps, op.input))
    y = p("real_div", x=x, y=p("sqrt", x=total))
    return y if not is_mean or op.weight is None else p("mul", x=y, y=p.of(op.weight))


@emits("LRN")
def lrn(op: Any, p: Program) -> Argument:
    need_channels_second(op)
    return p("local_response_norm", x=p.of(op.input), size=op.size, alpha=scalar(op.alpha, op.input),
             beta=scalar(op.beta, op.input), k=scalar(op.bias, op.input))
