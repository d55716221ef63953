"""Activations that choose by the sign of their argument: LeakyRelu, PRelu, Elu, Celu, Selu, and the log-sigmoid by parts.

Libraries write them as a Where, as a maximum, or as the sum of a function of the positive and one of the negative part.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from transload.ir import Value
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable

from ..algebra.match import Linear, inputs_of, is_near, is_static_float, linear, made_by, number, only_serves

if TYPE_CHECKING:
    from ..ops.elementwise import Add, Max, Mul, MulConst, Sub, Where

__all__ = ["TABLE", "expm1_of"]

TABLE = RewriteTable()


class _BySign(NamedTuple):
    """`above` where x is greater than 0, `below` where it is less; at 0 and at NaN one of them."""

    x: Value
    above: Value
    below: Value


def _by_sign(op: Where) -> _BySign | None:
    """A Where as a choice by the sign of a value."""
    test = made_by(op.condition, "Compare")
    if test is None or test.mode not in ("Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
        return None
    for x, zero, first in ((test.lhs, test.rhs, "Greater"), (test.rhs, test.lhs, "Less")):
        if number(zero) == 0 and x.type == op.results[0].type:
            branches = (op.tbrn, op.fbrn) if test.mode.startswith(first) else (op.fbrn, op.tbrn)
            return _BySign(x, *branches)
    return None


@TABLE("top.Where")
def chosen_by_sign(op: Where, rw: Rewriter) -> Value | None:
    """LeakyRelu `x or a*x`, PRelu with a constant tensor for a, Elu `x or a*(exp(x) - 1)`."""
    choice = _by_sign(op) if is_static_float(op.results[0]) else None
    if choice is None or choice.above is not choice.x:
        return None
    x = choice.x
    below = linear(choice.below)
    if below.source is x and below.shift == 0 and choice.below is not x:
        return rw.emit("top.LeakyRelu", x, alpha=below.scale) if only_serves(op, [x]) else None
    scaled = made_by(choice.below, "Mul")
    if scaled is not None:
        for slope, other in inputs_of(scaled):
            if other is x and constant_of(slope) is not None and only_serves(op, [x]):
                return rw.emit("top.PRelu", x, slope)
    power = expm1_of(below)
    if power is not None and _is_negative_part(power[1], x) and only_serves(op, [x]):
        return rw.emit("top.Elu", x, alpha=power[0])
    return None


def expm1_of(below: Linear) -> tuple[float, Value] | None:
    """The a and u for which a value is `a * (exp(u) - 1)`; also by `tanh(u/2) * (exp(u) + 1)`, and as the Elu of a negative u."""
    curve = made_by(below.source, "Exp", "Elu", "Mul")
    if curve is None:
        return None
    if curve.name == "top.Exp":
        return (below.scale, curve.input) if below.scale == -below.shift else None
    if below.shift != 0:
        return None
    if curve.name == "top.Elu":
        cut = linear(curve.input)
        negative = cut.scale > 0 and cut.shift == 0 and _is_cut_at_zero(cut.source)
        return (below.scale * curve.alpha, curve.input) if negative else None
    for left, right in inputs_of(curve):
        half, sum_ = made_by(left, "Tanh"), linear(right)
        power = made_by(sum_.source, "Exp")
        if half is None or power is None or (sum_.scale, sum_.shift) != (1.0, 1.0):
            continue
        # u may itself be an affine function of something, and u/2 may then have been computed from that
        inner, whole = linear(half.input), linear(power.input)
        if inner.source is power.input:
            whole = Linear(power.input, 1.0, 0.0)
        if inner.source is whole.source and (2 * inner.scale, 2 * inner.shift) == (whole.scale, whole.shift):
            return below.scale, power.input
    return None


def _is_cut_at_zero(value: Value) -> bool:
    """Whether a value is some x where that is negative, and 0 elsewhere."""
    op = made_by(value, "Min", "Where", "Clip")
    if op is None:
        return False
    if op.name == "top.Min":
        return any(number(bound) == 0 for bound in op.operands)
    if op.name == "top.Clip":
        return op.min == -math.inf and op.max == 0
    choice = _by_sign(op)
    return choice is not None and choice.below is choice.x and number(choice.above) == 0


def _is_negative_part(value: Value, x: Value) -> bool:
    """Whether a value is x wherever that is negative."""
    if value is x:
        return True
    op = made_by(value, "Min", "Where", "Clip")
    if op is None:
        return False
    if op.name == "top.Min":
        return any(a is x and (bound := number(b)) is not None and bound >= 0 for a, b in inputs_of(op))
    if op.name == "top.Clip":
        return op.input is x and op.min == -math.inf and op.max >= 0
    choice = _by_sign(op)
    return choice is not None and choice.x is x and choice.below is x


@TABLE("top.Max")
def leaky_by_max(op: Max, rw: Rewriter) -> Value | None:
    """`max(x, a*x)` with a from 0 to 1 is a LeakyRelu."""
    for x, other in inputs_of(op):
        below = linear(other)
        if below.source is x and other is not x and below.shift == 0 and 0 < below.scale < 1 and is_static_float(x):
            return rw.emit("top.LeakyRelu", x, alpha=below.scale) if only_serves(op, [x]) else None
    return None


_SELU_ALPHA, _SELU_GAMMA = 1.6732632423543772, 1.0507009873554805


@TABLE("top.Mul", "top.MulConst")
def selu(op: Mul | MulConst, rw: Rewriter) -> Value | None:
    """`1.0507 * elu(x)` with alpha 1.6733 (Klambauer et al., 2017)."""
    result = op.results[0]
    outer = linear(result)
    curve = made_by(outer.source, "Elu")
    if curve is None or outer.shift != 0 or op.do_relu or not only_serves(op, [curve.input]):
        return None
    if not is_near(curve.alpha, _SELU_ALPHA, result) or not is_near(outer.scale, _SELU_GAMMA, result):
        return None
    return rw.emit("top.Selu", curve.input, alpha=curve.alpha, gamma=outer.scale)


@TABLE("top.Add", "top.Sub")
def sum_of_parts(op: Add | Sub, rw: Rewriter) -> Value | None:
    """`relu(x) + f(min(x, 0))`, as Keras and PyTorch write LeakyRelu, PRelu, Elu, Selu and Celu; of `-relu(-x)`, too."""
    result = op.results[0]
    if made_by(result, "Add", "Sub") is None or len(op.operands) != 2 or not is_static_float(result):
        return None
    sign = 1.0 if op.name == "top.Add" else -1.0
    for left, right in list(inputs_of(op)) if sign > 0 else [op.operands]:
        above, below = linear(left), linear(right)
        relu = made_by(above.source, "Relu")
        if relu is None or relu.relu_limit >= 0 or above.shift != 0 or relu.input.type != result.type:
            continue
        x: Value = relu.input
        made = _negative_part_added(rw, x, above.scale, below._replace(scale=sign * below.scale, shift=sign * below.shift))
        if made is not None and only_serves(op, [x]):
            name, attributes = made
            slope = attributes.pop("slope", None)
            return rw.emit(f"top.{name}", x, *([] if slope is None else [slope]), **attributes)
    return None


def _negative_part_added(rw: Rewriter, x: Value, gain: float, below: Linear) -> tuple[str, dict[str, Any]] | None:
    """The activation that `gain * relu(x)` plus `below` is, where the latter is 0 for positive x."""
    sign = _sign_of_negative_part(below.source, x)
    if sign is not None:
        return ("LeakyRelu", {"alpha": sign * below.scale}) if gain == 1 and below.shift == 0 else None
    scaled = made_by(below.source, "Mul")
    if scaled is not None and gain == 1 and below.shift == 0 and abs(below.scale) == 1:
        for slope, part in inputs_of(scaled):
            sign, held = _sign_of_negative_part(part, x), constant_of(slope)
            if sign is not None and held is not None:
                turned = sign * below.scale < 0
                return "PRelu", {"slope": rw.constant(-held.numpy(), slope.element) if turned else slope}
    power = expm1_of(below)
    if power is None:
        return None
    alpha, inner = power[0], linear(power[1])
    if inner.shift != 0 or not (_sign_of_negative_part(inner.source, x) == 1 or _is_where_negative(inner.source, x)):
        return None
    if gain == 1:
        if inner.scale == 1:
            return "Elu", {"alpha": alpha}
        return ("Celu", {"alpha": alpha}) if is_near(inner.scale * alpha, 1, x) else None
    if inner.scale == 1 and is_near(alpha / gain, _SELU_ALPHA, x) and is_near(gain, _SELU_GAMMA, x):
        return "Selu", {"alpha": alpha / gain, "gamma": gain}
    return None


def _is_where_negative(value: Value, x: Value) -> bool:
    """Whether a value is `x < 0 ? x : 0`."""
    return value is not x and _is_cut_at_zero(value) and _is_negative_part(value, x)


def _sign_of_negative_part(value: Value, x: Value) -> int | None:
    """1 where a value is `min(x, 0)`, -1 where it is `relu(-x)`, None of others."""
    least = made_by(value, "Min", "Clip")
    if least is not None and least.name == "top.Min":
        return 1 if any(a is x and number(b) == 0 for a, b in inputs_of(least)) else None
    if least is not None:
        return 1 if least.input is x and least.min == -math.inf and least.max == 0 else None
    relu = made_by(value, "Relu")
    inner = made_by(relu.input, "Neg") if relu is not None and relu.relu_limit < 0 else None
    return -1 if inner is not None and inner.input is x else None


@TABLE("top.Sub")
def log_sigmoid_by_min(op: Sub, rw: Rewriter) -> Value | None:
    """`min(x, 0) - log(1 + exp(-|x|))` is the logarithm of the sigmoid, as PyTorch has it."""
    left, right = op.operands
    rest = made_by(right, "Softplus")
    if rest is None or op.do_relu or not is_static_float(op.results[0]):
        return None
    inner = linear(rest.input)
    size = made_by(inner.source, "Abs")
    if size is None or (inner.scale, inner.shift) != (-1.0, 0.0) or _sign_of_negative_part(left, size.input) != 1:
        return None
    if size.input.type != op.results[0].type:  # the 0 of the minimum may have had a shape of its own
        return None
    return rw.emit("top.Sigmoid", size.input, log=True) if only_serves(op, [size.input]) else None


@TABLE("top.Where")
def clip_by_where(op: Where, rw: Rewriter) -> Value | None:
    """`x > c ? c : x` is `min(x, c)`, its opposite a maximum, and so is a choice by x of what x was limited to before."""
    test = made_by(op.condition, "Compare")
    if test is None or test.mode not in ("Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
        return None
    bound = number(op.tbrn)
    if bound is None or math.isnan(bound) or op.fbrn.type != op.results[0].type or not is_static_float(op.fbrn):
        return None
    for x, other, greater in ((test.lhs, test.rhs, "Greater"), (test.rhs, test.lhs, "Less")):
        if number(other) != bound:
            continue
        above = test.mode.startswith(greater)
        if x is not op.fbrn:
            before = made_by(op.fbrn, "Max" if above else "Min")  # hard_tanh: x > 1 ? 1 : max(x, -1)
            limit = next((number(b) for a, b in inputs_of(before) if a is x), None) if before is not None else None
            if limit is None or (limit > bound if above else limit < bound):
                continue
        return rw.emit("top.Min" if above else "top.Max", op.fbrn, op.tbrn)
    return None
