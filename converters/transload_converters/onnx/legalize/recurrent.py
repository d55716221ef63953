"""LSTM, GRU and RNN."""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import Op, Value
from transload.rewrite import Rewriter

from .table import Impossible, OnnxTable, attr, flag, need, operand, shape_of

TABLE = OnnxTable()

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
    """DynamicQuantizeLSTM: an LSTM with its weights dequantized.

    onnxruntime also rounds the input and, at each step, the hidden state to 8 bits over the range that they have then;
    here they stay floats, which is nearer to the network that was quantized.
    """
    weights, recurrence = (_dequantized(op, rw, index, scale) for index, scale in ((1, 8), (2, 10)))
    lengths, attributes = _common(op, rw, "LSTM", recurrence)
    values = rw.emit(
        "top.LSTM", need(op, 0), weights, recurrence, operand(op, 3), operand(op, 5), operand(op, 6), operand(op, 7), lengths,
        input_forget=flag(op, "input_forget", 0) or None, **attributes)
    return _results(op, values)


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
