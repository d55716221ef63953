"""Steps of training, of domain `ai.onnx.preview.training`: Adagrad, Adam and Momentum, for any number of tensors.

Source: the pseudo code in the schemas of the `onnx` package. Operands: the rate, how many steps were done, then all the
tensors, all their gradients and each of the states; results: the tensors and each of the states.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from transload.errors import Unsupported
from transload.ir import Op, Value, dtype_of
from transload.rewrite import Rewriter

from .table import OnnxTable, attr, cast, choice, need, reshape

TABLE = OnnxTable()

_TRAINING = "onnx.ai.onnx.preview.training"
Step = Callable[[Value, Value, Value, Value, list[Value]], list[Value]]


def _times(rw: Rewriter, value: Value, factor: float) -> Value:
    return rw.emit("top.MulConst", value, const_val=factor)


def _regularized(op: Op, rw: Rewriter, x: Value, gradient: Value) -> Value:
    """The gradient with that of half the squares of `x`, times a coefficient."""
    coefficient = float(attr(op, "norm_coefficient", 0.0))
    return gradient if not coefficient else rw.emit("top.Add", _times(rw, x, coefficient), gradient)


def _for_each(op: Op, states: int, rw: Rewriter, step: Step) -> list[Value]:
    """`step(rate, count, x, gradient, states)` for each tensor, its results put in the order of the operator's."""
    parts = 2 + states
    many, left = divmod(len(op.operands) - 2, parts)
    if left or many < 1:
        raise Unsupported(f"has {len(op.operands)} operands, not a rate, a count and {parts} for each tensor")
    rate, count = need(op, 0), reshape(rw, need(op, 1), ())
    made = []
    for i in range(many):
        x, gradient, *state = (need(op, 2 + i + part * many) for part in range(parts))
        made.append(step(cast(rw, reshape(rw, rate, ()), x.element), count, x, gradient, state))
    return [results[part] for part in range(1 + states) for results in made]


def _begun(rw: Rewriter, count: Value, then: Value, otherwise: Value) -> Value:
    """`then` where steps were done before, else `otherwise`."""
    begun = rw.emit("top.Compare", count, rw.constant(np.zeros((), dtype_of(count.element))), mode="Greater")
    return rw.emit("top.Where", begun, then, otherwise)


def _number(rw: Rewriter, like: Value, number: float) -> Value:
    return rw.constant(np.array(number, dtype_of(like.element)), element=like.element)


@TABLE(f"{_TRAINING}.Adagrad")
def adagrad(op: Op, rw: Rewriter) -> list[Value]:
    """Adagrad: the rate over the root of the summed squares of the gradients."""
    decay, epsilon = float(attr(op, "decay_factor", 0.0)), float(attr(op, "epsilon", 1e-6))

    def step(rate: Value, count: Value, x: Value, gradient: Value, states: list[Value]) -> list[Value]:
        slower = rw.emit("top.AddConst", _times(rw, cast(rw, count, x.element), decay), const_val=1.0)
        gradient = _regularized(op, rw, x, gradient)
        squares = rw.emit("top.Add", states[0], rw.emit("top.Square", gradient))
        root = rw.emit("top.AddConst", rw.emit("top.Sqrt", squares), const_val=epsilon)
        moved = rw.emit("top.Div", rw.emit("top.Mul", rw.emit("top.Div", rate, slower), gradient), root)
        return [rw.emit("top.Sub", x, moved), squares]

    return _for_each(op, 1, rw, step)


@TABLE(f"{_TRAINING}.Adam")
def adam(op: Op, rw: Rewriter) -> list[Value]:
    """Adam: means of the gradients over the roots of the means of their squares."""
    defaults = {"alpha": 0.9, "beta": 0.999, "epsilon": 1e-6}
    alpha, beta, epsilon = (float(attr(op, name, default)) for name, default in defaults.items())
    after = 1.0 - float(attr(op, "norm_coefficient_post", 0.0))

    def less(power: Value, base: float, like: Value) -> Value:
        raised = rw.emit("top.Pow", _number(rw, like, base), power)
        return rw.emit("top.AddConst", rw.emit("top.Neg", raised), const_val=1.0)

    def step(rate: Value, count: Value, x: Value, gradient: Value, states: list[Value]) -> list[Value]:
        gradient = _regularized(op, rw, x, gradient)
        mean = rw.emit("top.Add", _times(rw, states[0], alpha), _times(rw, gradient, 1 - alpha))
        squares = rw.emit("top.Add", _times(rw, states[1], beta), _times(rw, rw.emit("top.Square", gradient), 1 - beta))
        root = rw.emit("top.AddConst", rw.emit("top.Sqrt", squares), const_val=epsilon)
        power = rw.emit("top.Max", cast(rw, count, x.element), _number(rw, x, 1.0))  # with none, the rate is as it is
        corrected = rw.emit("top.Div", rw.emit("top.Mul", rate, rw.emit("top.Sqrt", less(power, beta, x))), less(power, alpha, x))
        moved = rw.emit("top.Mul", _begun(rw, count, corrected, rate), rw.emit("top.Div", mean, root))
        return [_times(rw, rw.emit("top.Sub", x, moved), after), mean, squares]

    return _for_each(op, 2, rw, step)


@TABLE(f"{_TRAINING}.Momentum")
def momentum(op: Op, rw: Rewriter) -> list[Value]:
    """Momentum, standard or Nesterov's."""
    alpha, beta = float(attr(op, "alpha", 0.0)), float(attr(op, "beta", 0.0))
    mode = choice(op, "mode", ("standard", "nesterov"), "standard")

    def step(rate: Value, count: Value, x: Value, gradient: Value, states: list[Value]) -> list[Value]:
        gradient = _regularized(op, rw, x, gradient)
        share = _begun(rw, count, _number(rw, x, beta), _number(rw, x, 1.0))
        moving = rw.emit("top.Add", _times(rw, states[0], alpha), rw.emit("top.Mul", gradient, share))
        way = moving if mode == "standard" else rw.emit("top.Add", gradient, _times(rw, moving, alpha))
        return [rw.emit("top.Sub", x, rw.emit("top.Mul", way, rate)), moving]

    return _for_each(op, 1, rw, step)
