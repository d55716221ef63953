"""LSTM, GRU and RNN."""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, Op, TensorType, Value
from transload.rewrite import Rewriter

from .movement import slice_along
from .table import Impossible, OnnxTable, attr, flag, need, operand, reshape, shape_of

TABLE = OnnxTable()

MOST_STEPS = 256
"""How many steps are written out one by one."""

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def _common(op: Op, rw: Rewriter, kind: str, recurrence: Value | None = None) -> tuple[Value | None, dict[str, Any]]:
    """The lengths of the sequences where they differ from the longest, and the attributes that all three kinds have."""
    value, recurrence = need(op, 0, "X"), need(op, 2, "R") if recurrence is None else recurrence
    layout = attr(op, "layout", 0)
    shape = shape_of(value)
    if len(shape) != 3:
        raise Impossible(f"works on a tensor of shape {shape}, and needs one of rank 3")
    if layout not in (0, 1):
        raise Unsupported(f"layout is {layout}, and must be 0 or 1")
    time = shape[1 if layout else 0]
    lengths = operand(op, 4)
    if lengths is not None:
        known = rw.constant_of(lengths)
        if known is not None and (np.asarray(known) == time).all():
            lengths = None
    attributes: dict[str, Any] = {
        "hidden_size": attr(op, "hidden_size") or shape_of(recurrence, 3)[-1], "direction": attr(op, "direction", "forward"),
        "batch_first": bool(layout) or None}
    if "activations" in op.attributes:
        attributes["activations"] = list(op.attributes["activations"])
    for key in ("activation_alpha", "activation_beta"):
        if op.attributes.get(key):
            attributes[key] = tuple(map(float, op.attributes[key]))
    if attr(op, "clip"):
        attributes["clip"] = float(attr(op, "clip"))
    if attributes["direction"] not in ("forward", "reverse", "bidirectional"):
        raise Unsupported(f"direction is {attributes['direction']!r}")
    if shape_of(recurrence, 3)[1] != _GATES[kind] * attributes["hidden_size"]:
        raise Unsupported(f"the recurrence weights {shape_of(recurrence)} do not fit hidden_size {attributes['hidden_size']}")
    return lengths, attributes


def _results(op: Op, values: tuple[Value, ...]) -> list[Value]:
    return list(values)[: len(op.results)]


@TABLE("onnx.LSTM")
def lstm(op: Op, rw: Rewriter) -> list[Value]:
    """LSTM."""
    lengths, attributes = _common(op, rw, "LSTM")
    values = rw.emit(
        "top.LSTM", need(op, 0), need(op, 1), need(op, 2), operand(op, 3), operand(op, 5), operand(op, 6), operand(op, 7),
        lengths, input_forget=flag(op, "input_forget", 0) or None, **attributes)
    return _results(op, values)


@TABLE("onnx.com.microsoft.DynamicQuantizeLSTM")
def dynamic_quantize_lstm(op: Op, rw: Rewriter) -> list[Value]:
    """DynamicQuantizeLSTM: onnxruntime rounds the input, and at each step the hidden state, to 8 bits over their range.

    So it is written out step by step; one that is too long for that, or that has more than a plain LSTM, is an LSTM of floats
    with its weights dequantized.
    """
    lengths, attributes = _common(op, rw, "LSTM", _dequantized(op, rw, 2, 10))
    rest = [name for name in attributes if name not in ("hidden_size", "direction", "batch_first")]
    plain = lengths is None and not rest and operand(op, 7) is None and not flag(op, "input_forget", 0)
    if plain and 0 < shape_of(need(op, 0))[1 if attributes["batch_first"] else 0] <= MOST_STEPS:
        return _results(op, _step_by_step(op, rw, attributes))
    weights, recurrence = (_dequantized(op, rw, index, scale) for index, scale in ((1, 8), (2, 10)))
    values = rw.emit(
        "top.LSTM", need(op, 0), weights, recurrence, operand(op, 3), operand(op, 5), operand(op, 6), operand(op, 7), lengths,
        input_forget=flag(op, "input_forget", 0) or None, **attributes)
    return _results(op, values)


def _step_by_step(op: Op, rw: Rewriter, attributes: dict[str, Any]) -> tuple[Value, ...]:
    """The hidden states of all steps, the last one and the last cell, of all directions."""
    turned, direction, count = bool(attributes["batch_first"]), attributes["direction"], shape_of(need(op, 2))[0]
    x = rw.emit("top.Permute", need(op, 0), order=(1, 0, 2)) if turned else need(op, 0)
    made = [_one_direction(op, rw, x, d, direction == "reverse" or d == 1, turned) for d in range(count)]
    hidden = rw.emit("top.Pack", *(states for states, _, _ in made), axis=1)  # [T, D, N, H]
    if turned:
        hidden = rw.emit("top.Permute", hidden, order=(2, 0, 1, 3))
    axis = 1 if turned else 0
    return hidden, *(rw.emit("top.Pack", *(each[i] for each in made), axis=axis) for i in (1, 2))


def _one_direction(op: Op, rw: Rewriter, x: Value, place: int, backward: bool, turned: bool) -> tuple[Value, Value, Value]:
    """One direction: its hidden states `[T, N, H]`, the last one and the last cell."""
    size, (time, batch, _) = shape_of(need(op, 2))[1], shape_of(x)

    def part(value: Value | None, axis: int = 0) -> Value | None:
        return None if value is None else rw.emit("top.Squeeze", slice_along(rw, value, axis, place, place + 1), axes=(axis,))

    axis = 1 if turned else 0
    state, cell, bias = part(operand(op, 5), axis), part(operand(op, 6), axis), part(operand(op, 3))
    if bias is not None:
        bias = rw.emit("top.Add", *(slice_along(rw, bias, 0, 4 * size * i, 4 * size * (i + 1)) for i in range(2)))
    inputs = _product(op, rw, reshape(rw, x, (time * batch, shape_of(x)[2])), place, 1, 8)
    states: list[Value] = []
    for step in range(time)[::-1] if backward else range(time):
        sums = slice_along(rw, inputs, 0, step * batch, (step + 1) * batch)
        if state is not None:  # a state of zeros adds nothing
            sums = rw.emit("top.Add", sums, _product(op, rw, state, place, 2, 10))
        if bias is not None:
            sums = rw.emit("top.Add", sums, bias)
        i, o, f, c = rw.emit("top.Split", sums, axis=1, split_size=(size,) * 4)
        new = rw.emit("top.Mul", rw.emit("top.Sigmoid", i), rw.emit("top.Tanh", c))
        cell = new if cell is None else rw.emit("top.Add", rw.emit("top.Mul", rw.emit("top.Sigmoid", f), cell), new)
        state = rw.emit("top.Mul", rw.emit("top.Sigmoid", o), rw.emit("top.Tanh", cell))
        states.append(state)
    assert state is not None and cell is not None
    return rw.emit("top.Pack", *(states[::-1] if backward else states), axis=0), state, cell


def _product(op: Op, rw: Rewriter, value: Value, place: int, index: int, scale: int) -> Value:
    """The product of a matrix, rounded to 8 bits over its range, and one direction's integer weights, as floats."""
    stored, scales = (np.asarray(rw.need_constant(need(op, i), "a quantized weight")) for i in (index, scale))
    zeros = rw.constant_of(operand(op, scale + 1))

    def own(numbers: np.ndarray) -> Value:
        chosen = numbers.reshape(-1) if numbers.size == 1 else numbers.reshape(len(stored), -1)[place]
        return rw.constant(chosen.reshape(()) if chosen.size == 1 else chosen)

    zero = rw.none("top") if zeros is None else own(np.asarray(zeros))
    operands = [value, rw.constant(np.ascontiguousarray(stored[place])), own(scales), zero]
    kind = TensorType((shape_of(value)[0], stored.shape[2]), F32)
    return rw.create("onnx.com.microsoft.DynamicQuantizeMatMul", operands, [kind], {"domain": "com.microsoft"}).results[0]


def _dequantized(op: Op, rw: Rewriter, index: int, scale: int) -> Value:
    """A weight `[directions, inputs, gates]`, scaled per direction or gate, as reals `[directions, gates, inputs]`."""
    stored, scales = (rw.need_constant(need(op, i), "a quantized weight") for i in (index, scale))
    zeros = rw.constant_of(operand(op, scale + 1))
    if stored.ndim != 3:
        raise Impossible(f"has a weight of shape {stored.shape}, and needs one of rank 3")
    count = stored.shape[0]

    def spread(numbers: np.ndarray) -> np.ndarray:
        if numbers.size not in (1, count, count * stored.shape[2]):
            raise Unsupported(f"{numbers.size} scales or zero points do not fit a weight of shape {stored.shape}")
        return numbers.reshape(1 if numbers.size == 1 else count, 1, -1)

    centred = stored.astype(np.float32) - (0 if zeros is None else spread(np.asarray(zeros)).astype(np.float32))
    return rw.constant(np.ascontiguousarray((centred * spread(scales).astype(np.float32)).transpose(0, 2, 1)))


@TABLE("onnx.GRU")
def gru(op: Op, rw: Rewriter) -> list[Value]:
    """GRU."""
    lengths, attributes = _common(op, rw, "GRU")
    values = rw.emit(
        "top.GRU", need(op, 0), need(op, 1), need(op, 2), operand(op, 3), operand(op, 5), lengths,
        linear_before_reset=flag(op, "linear_before_reset", 0) or None, **attributes)
    return _results(op, values)


@TABLE("onnx.RNN")
def rnn(op: Op, rw: Rewriter) -> list[Value]:
    """RNN."""
    lengths, attributes = _common(op, rw, "RNN")
    values = rw.emit("top.RNN", need(op, 0), need(op, 1), need(op, 2), operand(op, 3), operand(op, 5), lengths, **attributes)
    return _results(op, values)
