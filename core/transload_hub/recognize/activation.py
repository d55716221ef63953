"""Activation functions written out: by libraries that have no op for them, or by a decomposition on the way.

Every pattern keeps the meaning on all finite numbers, infinities and NaN, up to the rounding of floats, with one
exception that only gains: `log(1 + exp(x))` overflows where `Softplus` does not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from transload.ir import Op, Value
from transload.rewrite import Rewriter, RewriteTable

from ..algebra.affine import is_ranked_float, used_once
from ..algebra.match import inputs_of, is_near, is_static_float, linear, made_by, number, only_serves, product

if TYPE_CHECKING:
    from ..ops.activation import Clip
    from ..ops.base import Unary
    from ..ops.elementwise import Add, AddConst, Div, Max, Min, Mul, MulConst, Scale, UnaryNumber, Where

__all__ = ["GATED", "TABLE", "limits_of"]

TABLE = RewriteTable()
GATED = RewriteTable()
"""The part of the table that finds products of a number and a function of it."""


# --- limits


@TABLE("top.Max", "top.Min", "top.Clip")
def limits(op: Clip | Max | Min, rw: Rewriter) -> Value | None:
    """`max(x, 0)` is a ReLU; `min(max(x, a), b)` and `max(min(x, b), a)` with `a <= b` are a Clip."""
    outer = limits_of(op)
    if outer is None or not is_ranked_float(outer[0]) or outer[0].type != op.results[0].type:
        return None
    x, low, high = outer
    maker = made_by(x, "Max", "Min", "Relu", "Clip") if used_once(x) else None
    inner = limits_of(maker) if maker is not None else None
    if inner is not None and inner[0].type == x.type and max(low, inner[1]) <= min(high, inner[2]):
        return _clip(rw, inner[0], max(low, inner[1]), min(high, inner[2]))
    if low == 0 and high > 0:
        return _clip(rw, x, low, high)
    return None


def limits_of(op: Op) -> tuple[Value, float, float] | None:
    """An op as `min(max(x, low), high)`: x, low and high; of numbers only, and in that order."""
    if op.name == "top.Relu":
        return op.input, 0.0, _limit_of(op)
    if op.name == "top.Clip":
        return (op.input, op.min, op.max) if op.min <= op.max else None
    for x, other in inputs_of(op):
        bound = number(other)
        if bound is not None and not math.isnan(bound):
            return (x, bound, math.inf) if op.name == "top.Max" else (x, -math.inf, bound)
    return None


def _limit_of(op: Op) -> float:
    """The limit of the ReLU that an op is or ends with: a negative one says that there is none."""
    limit: float = op.attribute("relu_limit", -1.0)
    return limit if limit >= 0 else math.inf


def _clip(rw: Rewriter, x: Value, low: float, high: float) -> Value:
    if low == 0 and high > 0:
        return rw.emit("top.Relu", x, relu_limit=None if math.isinf(high) else high)
    return rw.emit("top.Clip", x, min=low, max=high)


_RANGES = {"top.Erf": (-1.0, 1.0), "top.Tanh": (-1.0, 1.0), "top.Softsign": (-1.0, 1.0), "top.HardSigmoid": (0.0, 1.0)}


@TABLE("top.Clip")
def clip_of_bounded(op: Clip, rw: Rewriter) -> Value | None:
    """A clip to limits that a function does not exceed goes: approximations of erf and tanh end with one."""
    maker = made_by(op.input, "Erf", "Tanh", "Softsign", "HardSigmoid", "Sigmoid")
    if maker is None or not is_ranked_float(op.input):
        return None
    plain = maker.name != "top.Sigmoid" or (maker.scale, maker.bias, maker.log) == (1.0, 0.0, False)
    low, high = _RANGES.get(maker.name, (0.0, 1.0))
    return op.input if plain and op.min <= low and op.max >= high else None


_NOT_NEGATIVE = ("Exp", "Abs", "Square", "Sqrt", "Relu", "Sigmoid", "HardSigmoid", "Softplus", "Softmax")


@TABLE("top.Abs")
def absolute_of_not_negative(op: UnaryNumber, rw: Rewriter) -> Value | None:
    """`|x|` of what is not negative: JAX's logsumexp takes one of the sum of exponentials."""
    total = made_by(op.input, "Reduce")
    value = total.input if total is not None and total.mode in ("ReduceSum", "ReduceMean", "ReduceMax") else op.input
    maker = made_by(value, *_NOT_NEGATIVE)
    if maker is None or not is_ranked_float(op.input) or (maker.name in ("top.Sigmoid", "top.Softmax") and maker.log):
        return None
    return op.input if maker.name != "top.Sigmoid" or (maker.scale, maker.bias) == (1.0, 0.0) else None


@TABLE("top.Neg")
def twice_negated(op: UnaryNumber, rw: Rewriter) -> Value | None:
    """`-(-x)`."""
    inner = made_by(op.input, "Neg")
    return inner.input if inner is not None and is_ranked_float(op.input) else None


class _Limited(NamedTuple):
    """`min(max(scale * source + shift, 0), limit)`, with a limit that is not negative."""

    source: Value
    scale: float
    shift: float
    limit: float


def _limited(value: Value) -> _Limited | None:
    """A value as a limited affine function, whether the ReLU is an op or part of one."""
    op = value.op
    if op is None:
        return None
    if op.name == "top.Relu":
        inner = linear(op.input) if used_once(op.input) else None
        return _Limited(inner.source, inner.scale, inner.shift, _limit_of(op)) if inner is not None else None
    if op.name == "top.Clip" and op.min == 0 <= op.max:
        inner = linear(op.input) if used_once(op.input) else None
        return _Limited(inner.source, inner.scale, inner.shift, op.max) if inner is not None else None
    if op.attribute("do_relu", False) and len(op.operands) <= 2:
        shift = op.const_val if op.name == "top.AddConst" else None
        source = op.operands[0]
        if op.name == "top.Add" and op.attribute("coeff") is None:
            found = next(((x, number(c)) for x, c in inputs_of(op) if number(c) is not None and x.type == value.type), None)
            source, shift = found if found is not None else (source, None)
        if shift is not None:
            return _Limited(source, 1.0, shift, _limit_of(op))
    return None


@TABLE("top.Clip", "top.Relu", "top.Mul", "top.MulConst", "top.Div")
def hard_sigmoid(op: Op, rw: Rewriter) -> Value | None:
    """`min(max(x/6 + 1/2, 0), 1)`, also as `relu6(x + 3) / 6`, and Keras's older `min(max(x/5 + 1/2, 0), 1)`."""
    result = op.results[0]
    if not is_static_float(result):
        return None
    if op.name in ("top.Clip", "top.Relu"):
        gate, factor, value = _limited(result), 1.0, result
    else:
        outer = linear(result)
        if outer.shift != 0 or outer.source is result or not used_once(outer.source):
            return None
        gate, factor, value = _limited(outer.source), outer.scale, outer.source
    if gate is None or gate.source is value or gate.source.type != result.type or not is_near(gate.limit * factor, 1, result):
        return None
    if is_near(gate.shift * factor, 0.5, result):
        for alpha in (1 / 6, 0.2):
            if is_near(gate.scale * factor, alpha, result):
                return rw.emit("top.HardSigmoid", gate.source, alpha=alpha, beta=0.5)
    return None


# --- products of a number and a function of it


@GATED("top.Mul", "top.MulConst", "top.Div")
def gated(op: Div | Mul | MulConst, rw: Rewriter) -> Value | None:
    """GELU, SiLU, HardSwish, Mish: `x * gate(x)`, constant factors anywhere."""
    result = op.results[0]
    if not is_static_float(result) or op.do_relu:
        return None
    parts = product(result)
    if len(parts.over) != 2 or parts.under:
        return None
    for x, gate in (parts.over, parts.over[::-1]):
        if x.type != result.type or not used_once(gate):
            continue
        found = _gate(x, gate, parts.factor)
        if found is not None and only_serves(op, [x]):
            name, attributes = found
            return rw.emit(f"top.{name}", x, **attributes)
    return None


def _gate(x: Value, gate: Value, factor: float) -> tuple[str, dict[str, Any]] | None:
    """The activation that `factor * x * gate` is."""
    hard = _limited(gate)
    if hard is not None and hard.source is x and all(
            is_near(value, wanted, x) for value, wanted in
            ((factor * hard.scale, 1 / 6), (hard.shift, 3 * hard.scale), (hard.limit, 6 * hard.scale))):
        return "HardSwish", {}
    inner = linear(gate)
    curve: Any = made_by(inner.source, "Sigmoid", "HardSigmoid", "Tanh", "Erf")
    if curve is None:
        from .erf import is_complementary_error_function

        argument = is_complementary_error_function(gate) if is_near(factor, 0.5, x) else None
        of_x = product(argument) if argument is not None else None
        is_gelu = of_x is not None and of_x.over == [x] and not of_x.under and is_near(of_x.factor, -math.sqrt(0.5), x)
        return ("GELU", {}) if is_gelu else None
    scale, shift = factor * inner.scale, factor * inner.shift
    if curve.name == "top.Erf":  # x/2 * (1 + erf(x / sqrt(2))), and with 1 - erf(-x / sqrt(2))
        of_x = product(curve.input)
        same = of_x.over == [x] and not of_x.under and is_near(of_x.factor * scale, 0.5 * math.sqrt(0.5), x)
        return ("GELU", {}) if same and is_near(abs(scale), 0.5, x) and is_near(shift, 0.5, x) else None
    if curve.name == "top.Tanh":  # x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))
        if is_near(scale, 0.5, x) and is_near(shift, 0.5, x):
            return ("GELU", {"approx": True}) if _cubic(curve.input, x, math.sqrt(2 / math.pi)) else None
        softplus = made_by(curve.input, "Softplus")
        mish = softplus is not None and softplus.input is x and is_near(scale, 1, x) and shift == 0
        return ("Mish", {}) if mish else None
    if not is_near(scale, 1, x) or shift != 0:
        return None
    if curve.name == "top.HardSigmoid":
        same = curve.input is x and is_near(curve.alpha, 1 / 6, x) and is_near(curve.beta, 0.5, x)
        return ("HardSwish", {}) if same else None
    if (curve.scale, curve.bias, curve.log) != (1.0, 0.0, False):
        return None
    if curve.input is x:
        return "SiLU", {}
    # 1/2 * (1 + tanh(u)) is sigmoid(2u)
    return ("GELU", {"approx": True}) if _cubic(curve.input, x, 2 * math.sqrt(2 / math.pi)) else None


def _cubic(value: Value, x: Value, factor: float) -> bool:
    """Whether a value is `factor * (x + 0.044715 x^3)`, or with x set apart: `factor * x * (1 + 0.044715 x^2)`."""
    parts = product(value)
    if parts.under or not is_near(parts.factor, factor, x):
        return False
    if len(parts.over) == 1:
        total = made_by(parts.over[0], "Add")
        return total is not None and any(a is x and _powers(b, x) == 3 for a, b in inputs_of(total))
    if len(parts.over) == 2 and any(part is x for part in parts.over):
        other = parts.over[1] if parts.over[0] is x else parts.over[0]
        inner = linear(other)
        return is_near(inner.shift, 1, x) and _powers(inner.source, x, inner.scale) == 2
    return False


def _powers(value: Value, x: Value, factor: float = 1.0) -> float | None:
    """The p for which `factor * value` is `0.044715 * x^p`, or None."""
    parts = product(value)
    if parts.under or not is_near(parts.factor * factor, 0.044715, x):
        return None
    total = 0.0
    for term in parts.over:
        power = _power(term, x)
        if power is None:
            return None
        total += power
    return total


def _power(value: Value, x: Value) -> float | None:
    """The p for which a value is `x ** p`, or None."""
    if value is x:
        return 1.0
    op = made_by(value, "Square", "Pow", "Mul")
    if op is None or any(operand is not x for operand in (op.operands if op.name == "top.Mul" else op.operands[:1])):
        return None
    return 2.0 if op.name == "top.Square" else number(op.exponent) if op.name == "top.Pow" else float(len(op.operands))


# --- sigmoid and its relatives


@TABLE("top.Div", "top.Reciprocal")
def quotients(op: Div | Unary, rw: Rewriter) -> Value | None:
    """`1 / (1 + exp(-x))` is a Sigmoid, `x` times it a SiLU; `x / (1 + |x|)` is a Softsign."""
    result = op.results[0]
    parts = product(result)
    if not is_static_float(result) or len(parts.under) != 1 or not is_near(parts.factor, 1, result):
        return None
    below = linear(parts.under[0])
    curve = made_by(below.source, "Exp", "Abs")
    if curve is None or (below.scale, below.shift) != (1.0, 1.0) or below.source.type != result.type:
        return None
    if curve.name == "top.Abs":
        same = len(parts.over) == 1 and parts.over[0] is curve.input and only_serves(op, [curve.input])
        return rw.emit("top.Softsign", curve.input) if same else None
    if not used_once(below.source) or len(parts.over) > 1:
        return None
    negated = product(curve.input)
    turned = negated.factor == -1 and len(negated.over) == 1 and not negated.under
    argument = negated.over[0] if turned else curve.input
    if argument.type != result.type or not only_serves(op, [argument]):  # the factor of -1 may have had a shape of its own
        return None
    if not parts.over:
        return rw.emit("top.Sigmoid", argument if turned else rw.emit("top.Neg", argument))
    return rw.emit("top.SiLU", argument) if turned and parts.over[0] is argument else None


@TABLE("top.Add", "top.AddConst", "top.Scale")
def sigmoid_by_tanh(op: Add | AddConst | Scale, rw: Rewriter) -> Value | None:
    """`1/2 + 1/2 tanh(x / 2)` is a Sigmoid."""
    result = op.results[0]
    if not is_static_float(result) or op.do_relu:
        return None
    outer = linear(result)
    curve = made_by(outer.source, "Tanh")
    if curve is None or (outer.scale, outer.shift) != (0.5, 0.5) or not only_serves(op, [curve.input]):
        return None
    inner = linear(curve.input)
    if not used_once(curve.input) or (inner.scale, inner.shift) != (0.5, 0.0):
        return None
    return rw.emit("top.Sigmoid", inner.source)


# --- softplus


@TABLE("top.Log", "top.Log1p")
def softplus(op: Unary, rw: Rewriter) -> Value | None:
    """`log(1 + exp(x))`."""
    inside = op.input
    if op.name == "top.Log":
        inner = linear(inside)
        if inner.source is inside or (inner.scale, inner.shift) != (1.0, 1.0):
            return None
        inside = inner.source
    curve = made_by(inside, "Exp")
    if curve is None or not is_static_float(curve.input) or not only_serves(op, [curve.input]):
        return None
    return rw.emit("top.Softplus", curve.input)


@TABLE("top.Add")
def stable_softplus(op: Add, rw: Rewriter) -> Value | None:
    """`max(x, 0) + log(1 + exp(-|x|))`: as JAX's `logaddexp(x, 0)` has it."""
    if made_by(op.results[0], "Add") is None or not is_static_float(op.results[0]):
        return None
    for left, right in inputs_of(op):
        relu, rest = made_by(left, "Relu"), made_by(right, "Softplus")
        if relu is None or rest is None or relu.relu_limit >= 0:
            continue
        inner = linear(rest.input)
        size = made_by(inner.source, "Abs")
        if size is not None and size.input is relu.input and (inner.scale, inner.shift) == (-1.0, 0.0) and only_serves(
                op, [relu.input]):
            return rw.emit("top.Softplus", relu.input)
    return None


@TABLE("top.Where")
def guarded(op: Where, rw: Rewriter) -> Value | None:
    """Softplus with the guards that JAX and PyTorch write: `x` where x is NaN, or so large that softplus is x."""
    curve = made_by(op.fbrn, "Softplus")
    condition = made_by(op.condition, "Compare", "IsNaN")
    if curve is None or condition is None or op.tbrn is not curve.input or op.output.type != curve.output.type:
        return None
    if condition.name == "top.IsNaN":
        same = condition.input is curve.input
    elif condition.mode == "NotEqual":
        same = condition.lhs is condition.rhs is curve.input
    else:
        above = number(condition.rhs)
        same = (condition.mode in ("Greater", "GreaterOrEqual") and condition.lhs is curve.input and above is not None
                and above >= (34 if str(curve.input.element) == "f64" else 15))
    return curve.output if same else None


@TABLE("top.Neg")
def log_sigmoid(op: UnaryNumber, rw: Rewriter) -> Value | None:
    """`-softplus(-x)` is the logarithm of the sigmoid."""
    curve = made_by(op.input, "Softplus")
    inside = made_by(curve.input, "Neg") if curve is not None else None
    if inside is None or not is_static_float(op.results[0]) or not only_serves(op, [inside.input]):
        return None
    return rw.emit("top.Sigmoid", inside.input, log=True)


TABLE = TABLE + GATED
