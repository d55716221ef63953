"""LSTM, GRU and RNN."""

from __future__ import annotations

from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import Op, Value
from transload.rewrite import Rewriter

from .table import Impossible, OnnxTable, attr, need, operand, shape_of

TABLE = OnnxTable()

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def _common(op: Op, rw: Rewriter, kind: str) -> tuple[Value | None, dict[str, Any]]:
    """The lengths of the sequences where they differ from the longest, and the attributes that all three kinds have."""
    value, recurrence = need(op, 0, "X"), need(op, 2, "R")
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
        "hidden_size": attr(op, "hidden_size") or shape_of(recurrence)[-1], "direction": attr(op, "direction", "forward"),
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
    if shape_of(recurrence)[1] != _GATES[kind] * attributes["hidden_size"]:
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
        lengths, input_forget=bool(attr(op, "input_forget", 0)) or None, **attributes)
    return _results(op, values)


@TABLE("onnx.GRU")
def gru(op: Op, rw: Rewriter) -> list[Value]:
    """GRU."""
    lengths, attributes = _common(op, rw, "GRU")
    values = rw.emit(
        "top.GRU", need(op, 0), need(op, 1), need(op, 2), operand(op, 3), operand(op, 5), lengths,
        linear_before_reset=bool(attr(op, "linear_before_reset", 0)) or None, **attributes)
    return _results(op, values)


@TABLE("onnx.RNN")
def rnn(op: Op, rw: Rewriter) -> list[Value]:
    """RNN."""
    lengths, attributes = _common(op, rw, "RNN")
    values = rw.emit("top.RNN", need(op, 0), need(op, 1), need(op, 2), operand(op, 3), operand(op, 5), lengths, **attributes)
    return _results(op, values)
