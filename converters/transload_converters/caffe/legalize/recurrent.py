"""Recurrent layers. Where a sequence begins, data says (`cont`); where that is known to be the first step, they are the hub's.

The state that Caffe keeps from one run to the next is not kept: every run starts from zeros, or from the states that it is given.
Source: J. Donahue et al., "Long-term Recurrent Convolutional Networks", and BVLC Caffe's layers LSTM, RNN and LSTMUnit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import Op, Value
from transload.rewrite import Rewriter
from transload_hub import tables

from .common import CaffeTable, bottom, need, reshape, shape_of, slab

__all__ = ["TABLE"]

TABLE = CaffeTable()
_MOST_STEPS = 1024


def _sequence(rw: Rewriter, x: Value, static: Value | None, weight: Value, weight_static: Value | None) -> tuple[Value, Value]:
    """x as [T, N, I], and the weights for it; what is the same at all steps stands beside each step's own."""
    time, batch, *rest = shape_of(x)
    x = reshape(rw, x, (time, batch, math.prod(rest)))
    if static is None or weight_static is None:
        return x, weight
    size = math.prod(shape_of(static)[1:])
    again = rw.emit("top.Tile", reshape(rw, static, (1, batch, size)), tile=(time, 1, 1))
    return rw.emit("top.Concat", x, again, axis=2), rw.emit("top.Concat", weight, weight_static, axis=1)


def _starts_once(rw: Rewriter, cont: Value) -> bool:
    """Whether it is known that sequences begin at the first step, and there alone."""
    known = rw.constant_of(cont)
    return known is not None and not known[:1].any() and bool((known[1:] == 1).all())


def _steps(rw: Rewriter, x: Value, cont: Value) -> int:
    time, batch = shape_of(x)[:2]
    if shape_of(cont)[:2] != (time, batch) or not 0 < time <= _MOST_STEPS:
        raise Unsupported(f"has {time} steps, and cont of the shape {list(shape_of(cont))}")
    return time


@TABLE("LSTM")
def lstm(op: Any, rw: Rewriter) -> list[Value]:
    """Its four gates in the order i, f, o, g."""
    x, cont = op.operands[:2]
    weight, summand, recurrence = (need(op, place, "weights") for place in (5, 6, 8))
    x, weight = _sequence(rw, x, bottom(op, 2), weight, bottom(op, 7))
    time, batch, _ = shape_of(x)
    size = op.num_output
    _steps(rw, x, cont)
    if _starts_once(rw, cont):  # states that are given do not matter then
        made, last_h, last_c = rw.emit("top.LSTM", x, *_hub_weights(rw, weight, summand, recurrence, size), hidden_size=size)
        made = reshape(rw, made, (time, batch, size))
        return [made, last_h, last_c][: len(op.results)]
    zeros = rw.constant(tables.zeros((batch, size), np.float32))
    h, c = (zeros if state is None else reshape(rw, state, (batch, size)) for state in (bottom(op, 3), bottom(op, 4)))
    gates = _products(rw, x, weight, summand)
    outputs = []
    for step in range(time):
        alive = reshape(rw, slab(rw, cont, 0, step, step + 1), (batch, 1))
        own = reshape(rw, slab(rw, gates, 0, step, step + 1), (batch, 4 * size))
        sums = rw.emit("top.MatMul", rw.emit("top.Mul", h, alive), recurrence, right_transpose=True)
        c, h = _unit(rw, rw.emit("top.Add", own, sums), c, alive)
        outputs.append(reshape(rw, h, (1, batch, size)))
    made = rw.emit("top.Concat", *outputs, axis=0) if time > 1 else outputs[0]
    states = [reshape(rw, state, (1, batch, size)) for state in (h, c)]
    return [made, *states][: len(op.results)]


def _products(rw: Rewriter, x: Value, weight: Value, summand: Value) -> Value:
    """[T, N, gates]: the part of the sums that does not depend on the state, of all steps at once."""
    time, batch, size = shape_of(x)
    made = rw.emit("top.MatMul", reshape(rw, x, (time * batch, size)), weight, summand, right_transpose=True)
    return reshape(rw, made, (time, batch, shape_of(made)[1]))


def _unit(rw: Rewriter, sums: Value, c: Value, alive: Value) -> tuple[Value, Value]:
    """The next c and h, of the sums [N, 4H] of the gates."""
    size = shape_of(sums)[1] // 4
    i, f, o, g = rw.emit("top.Split", sums, axis=1, split_size=(size,) * 4)
    i, f, o = (rw.emit("top.Sigmoid", gate) for gate in (i, f, o))
    kept = rw.emit("top.Mul", rw.emit("top.Mul", f, alive), c)
    c = rw.emit("top.Add", kept, rw.emit("top.Mul", i, rw.emit("top.Tanh", g)))
    return c, rw.emit("top.Mul", o, rw.emit("top.Tanh", c))


def _hub_weights(rw: Rewriter, weight: Value, summand: Value, recurrence: Value, size: int) -> tuple[Value, Value, Value]:
    """The weights of an LSTM with the gates in the hub's order, i, o, f, c."""
    order = tables.arange(4 * size).reshape(4, size)[[0, 2, 1, 3]].reshape(-1)
    indices = rw.constant(order.astype(np.int32))
    weight, recurrence, summand = (rw.emit("top.Gather", value, indices, axis=0) for value in (weight, recurrence, summand))
    both = rw.emit("top.Concat", summand, rw.constant(tables.zeros(4 * size, np.float32)), axis=0)
    return (
        reshape(rw, weight, (1, *shape_of(weight))), reshape(rw, recurrence, (1, *shape_of(recurrence))),
        reshape(rw, both, (1, 8 * size)))


@TABLE("Lstm")
def plain_lstm(op: Any, rw: Rewriter) -> Value:
    """One that starts from zeros; its sums may be clipped when it is trained, not when it runs."""
    x, weight, recurrence, summand = op.operands
    x, weight = _sequence(rw, x, None, weight, None)
    size = op.num_output
    made, _, _ = rw.emit("top.LSTM", x, *_hub_weights(rw, weight, summand, recurrence, size), hidden_size=size)
    return reshape(rw, made, (*shape_of(x)[:2], size))


@TABLE("LSTMUnit")
def lstm_unit(op: Op, rw: Rewriter) -> list[Value]:
    """One step, of [1, N, ..]."""
    c, sums, cont = op.operands
    shape = shape_of(c)
    batch, size = shape[-2], shape[-1]
    if math.prod(shape) != batch * size or math.prod(shape_of(sums)) != 4 * batch * size or math.prod(shape_of(cont)) != batch:
        raise Unsupported(f"its bottoms have the shapes {', '.join(str(list(shape_of(value))) for value in op.operands)}")
    made = _unit(
        rw, reshape(rw, sums, (batch, 4 * size)), reshape(rw, c, (batch, size)), reshape(rw, cont, (batch, 1)))
    return [reshape(rw, value, shape) for value in made]


@TABLE("RNN")
def rnn(op: Any, rw: Rewriter) -> list[Value]:
    """A layer of tanh behind one of tanh."""
    x, cont = op.operands[:2]
    weight, summand, recurrence, weight_out, summand_out = (need(op, place, "weights") for place in (4, 5, 7, 8, 9))
    x, weight = _sequence(rw, x, bottom(op, 2), weight, bottom(op, 6))
    time, batch, _ = shape_of(x)
    size = op.num_output
    _steps(rw, x, cont)
    if _starts_once(rw, cont):
        both = rw.emit("top.Concat", summand, rw.constant(tables.zeros(size, np.float32)), axis=0)
        states, last = rw.emit(
            "top.RNN", x, *(reshape(rw, value, (1, *shape_of(value))) for value in (weight, recurrence, both)), hidden_size=size)
        states = reshape(rw, states, (time, batch, size))
    else:
        states, last = _tanh_steps(rw, _products(rw, x, weight, summand), cont, recurrence, bottom(op, 3))
    flat = reshape(rw, states, (time * batch, size))
    made = rw.emit("top.Tanh", rw.emit("top.MatMul", flat, weight_out, summand_out, right_transpose=True))
    return [reshape(rw, made, (time, batch, shape_of(made)[1])), last][: len(op.results)]


def _tanh_steps(rw: Rewriter, sums: Value, cont: Value, recurrence: Value, h: Value | None) -> tuple[Value, Value]:
    """All states [T, N, H], and the last one."""
    time, batch, size = shape_of(sums)
    h = rw.constant(tables.zeros((batch, size), np.float32)) if h is None else reshape(rw, h, (batch, size))
    outputs = []
    for step in range(time):
        alive = reshape(rw, slab(rw, cont, 0, step, step + 1), (batch, 1))
        own = reshape(rw, slab(rw, sums, 0, step, step + 1), (batch, size))
        past = rw.emit("top.MatMul", rw.emit("top.Mul", h, alive), recurrence, right_transpose=True)
        h = rw.emit("top.Tanh", rw.emit("top.Add", own, past))
        outputs.append(reshape(rw, h, (1, batch, size)))
    states = rw.emit("top.Concat", *outputs, axis=0) if time > 1 else outputs[0]
    return states, reshape(rw, h, (1, batch, size))
