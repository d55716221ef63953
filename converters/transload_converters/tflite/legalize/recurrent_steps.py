"""An LSTM written out step by step, for what the hub's LSTM op does not have: projection, layer norm, clipping."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.ir import Op, Value
from transload.rewrite import Rewriter

from .common import activate, limited, scalar, static_shape

__all__ = ["MOST_STEPS", "Lstm", "input_sums", "unrolled_lstm"]

MOST_STEPS = 4096
"""How many steps are written out one by one."""
_EPSILON = 1e-8
"""Added to the variance in layer normalization (kNormalizationConstant of `tensor_utils`)."""


@dataclasses.dataclass(frozen=True)
class Lstm:
    """The operands and options of an LSTM operator; None for what is absent.

    `value` is [T, N, I] with `time_major`, else [N, T, I]. Weights [H, I], recurrent weights [H, H or P] and
    biases [H] are in TFLite's order: input, forget, cell, output gate; peepholes [H] for the input, forget and
    output gate; layer-norm coefficients [H] as the weights; projection [P, H].
    """

    value: Value
    weights: tuple[Value | None, ...]
    recurrent: tuple[Value | None, ...]
    peepholes: tuple[Value | None, ...]
    biases: tuple[Value | None, ...]
    norms: tuple[Value | None, ...]
    projection: Value | None
    projection_bias: Value | None
    state: Value | None
    cell: Value | None
    activation: str
    cell_clip: float
    projection_clip: float
    time_major: bool
    reverse: bool

    @property
    def time_axis(self) -> int:
        return 0 if self.time_major else 1


def unrolled_lstm(op: Op, rw: Rewriter, lstm: Lstm) -> Value:
    """The hidden states of all steps, in the layout of the input."""
    sizes = static_shape(lstm.value, "the input", 3)
    inputs = input_sums(rw, lstm, [
        None if weights is None else rw.emit("top.MatMul", lstm.value, weights, right_transpose=True)
        for weights in lstm.weights])
    batch = sizes[1 - lstm.time_axis]
    recurrent = lstm.recurrent[3]
    cells = static_shape(lstm.weights[3], "the weights", 2)[0]  # type: ignore[arg-type]
    hidden = static_shape(recurrent, "the recurrent weights", 2)[1]  # type: ignore[arg-type]
    state = lstm.state or rw.constant(np.zeros((batch, hidden), np.float32))
    cell = lstm.cell or rw.constant(np.zeros((batch, cells), np.float32))
    outputs = []
    for sums in inputs:
        state, cell = _step(op, rw, lstm, sums, state, cell)
        outputs.append(state)
    if lstm.reverse:
        outputs.reverse()
    return rw.emit("top.Pack", *outputs, axis=lstm.time_axis)


def input_sums(rw: Rewriter, lstm: Lstm, products: Sequence[Value | None]) -> list[list[Value | None]]:
    """For each step, in the order they are taken, what the input gives to each gate.

    `products` are those of the whole sequence, which is one product a gate instead of one a gate and step.
    """
    n_steps = limited(static_shape(lstm.value, "the input", 3)[lstm.time_axis], "the number of steps", MOST_STEPS)
    by_gate: list[Sequence[Value | None]] = []
    for product in products:
        steps = [None] * n_steps if product is None else rw.emit("top.Unpack", product, axis=lstm.time_axis)
        by_gate.append([steps] if isinstance(steps, Value) else steps)
    order = range(n_steps - 1, -1, -1) if lstm.reverse else range(n_steps)
    return [[gate[step] for gate in by_gate] for step in order]


def _step(
    op: Op, rw: Rewriter, lstm: Lstm, inputs: Sequence[Value | None], state: Value, cell: Value,
) -> tuple[Value, Value]:
    """One step: the next hidden state and cell."""
    def gate(index: int, peephole: Value | None, seen: Value) -> Value:
        sums: Any = inputs[index]
        sums = rw.emit("top.Add", sums, rw.emit("top.MatMul", state, lstm.recurrent[index], right_transpose=True))
        if peephole is not None:
            sums = rw.emit("top.Add", sums, rw.emit("top.Mul", seen, peephole))
        norm, bias = lstm.norms[index], lstm.biases[index]
        if norm is not None:
            return rw.emit("top.LayerNorm", sums, norm, bias, axis=-1, eps=_EPSILON)
        return sums if bias is None else rw.emit("top.Add", sums, bias)

    peephole_i, peephole_f, peephole_o = lstm.peepholes
    forget = rw.emit("top.Sigmoid", gate(1, peephole_f, cell))
    if lstm.weights[0] is None:
        admit = rw.emit("top.Sub", scalar(rw, 1.0), forget)
    else:
        admit = rw.emit("top.Sigmoid", gate(0, peephole_i, cell))
    new = activate(rw, op, gate(2, None, cell), lstm.activation)
    cell = rw.emit("top.Add", rw.emit("top.Mul", forget, cell), rw.emit("top.Mul", admit, new))
    if lstm.cell_clip > 0:
        cell = rw.emit("top.Clip", cell, min=-lstm.cell_clip, max=lstm.cell_clip)
    out = rw.emit("top.Sigmoid", gate(3, peephole_o, cell))
    state = rw.emit("top.Mul", out, activate(rw, op, cell, lstm.activation))
    if lstm.projection is not None:
        state = rw.emit("top.MatMul", state, lstm.projection, lstm.projection_bias, right_transpose=True)
        if lstm.projection_clip > 0:
            state = rw.emit("top.Clip", state, min=-lstm.projection_clip, max=lstm.projection_clip)
    return state, cell
