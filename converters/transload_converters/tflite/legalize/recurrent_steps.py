"""An LSTM written out step by step, for what the hub's LSTM op does not have: projection, layer norm, clipping, integer weights.

Source: `tensorflow/lite/kernels/lstm_eval.cc`, LstmStepFloat and LstmStepHybrid.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import Op, Value
from transload.rewrite import Rewriter
from transload_hub import tables

from .common import activate, limited, scalar, static_shape
from .hybrid import products, real

__all__ = ["MOST_STEPS", "Layer", "Lstm", "input_sums", "packed", "steps_of", "unrolled_lstm"]

MOST_STEPS = 4096
"""How many steps are written out one by one."""
_EPSILON = 1e-8
"""Added to the variance in layer normalization (kNormalizationConstant of `tensor_utils`)."""


@dataclasses.dataclass(frozen=True)
class Lstm:
    """The operands and options of an LSTM operator; None for what is absent.

    `value` is [T, N, I] with `time_major`, else [N, T, I]. Weights [H, I], recurrent weights [H, H or P] and
    biases [H] are in TFLite's order: input, forget, cell, output gate; peepholes [H] for the input, forget and
    output gate; layer-norm coefficients [H] as the weights; projection [P, H]. `aux` is a second input, with weights of
    its own. A state or cell of None is one of zeros.
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
    aux: Value | None = None
    aux_weights: tuple[Value | None, ...] = ()

    @property
    def time_axis(self) -> int:
        return 0 if self.time_major else 1


@dataclasses.dataclass(frozen=True)
class Layer:
    """What a layer gives: the hidden states of all steps in the layout of the input, the last one, and the last cell."""

    outputs: Value
    state: Value
    cell: Value | None = None

    def results(self, n_states: int) -> tuple[Value, ...]:
        """The outputs and, where they are asked for, the states."""
        states = () if not n_states else (self.state,) if self.cell is None else (self.state, self.cell)
        return (self.outputs, *states)


def unrolled_lstm(op: Op, rw: Rewriter, lstm: Lstm) -> Layer:
    """An LSTM of floats step by step, with real weights or, as LiteRT's hybrid kernel computes it, integer ones."""
    gates = [gate for gate, weights in enumerate(lstm.weights) if weights is not None]
    given = [lstm.recurrent, *([lstm.aux_weights] if lstm.aux is not None else [])]
    missing = [gate for gate in gates if any(weights[gate] is None for weights in given)]
    if missing:
        raise Unsupported(f"gates {missing} have weights for some of their inputs alone", "the file breaks a rule of LiteRT's")
    inputs = products(op, rw, lstm.value, [lstm.weights[gate] for gate in gates])  # type: ignore[misc]
    if not any(lstm.norms) and any(lstm.biases):
        inputs = rw.emit("top.Add", inputs, _side_by_side(rw, lstm, gates))
    if lstm.aux is not None:
        more = products(op, rw, lstm.aux, [lstm.aux_weights[gate] for gate in gates])  # type: ignore[misc]
        inputs = rw.emit("top.Add", inputs, more)
    state, cell = lstm.state, lstm.cell
    outputs = []
    for sums in steps_of(rw, lstm, inputs):
        if state is not None:  # a state of zeros adds nothing
            again = products(op, rw, state, [lstm.recurrent[gate] for gate in gates])  # type: ignore[misc]
            sums = rw.emit("top.Add", sums, again)
        size = static_shape(sums, "the sums of the gates")[-1] // len(gates)
        parts = rw.emit("top.Split", sums, axis=-1, split_size=(size,) * len(gates))
        state, cell = _step(op, rw, lstm, dict(zip(gates, parts, strict=True)), cell)
        outputs.append(state)
    return Layer(packed(rw, lstm, outputs), state, cell)  # type: ignore[arg-type]


def packed(rw: Rewriter, lstm: Lstm, outputs: list[Value], **more: Any) -> Value:
    """The hidden states, in the order they were computed, as one tensor in the layout of the input."""
    return rw.emit("top.Pack", *(reversed(outputs) if lstm.reverse else outputs), axis=lstm.time_axis, **more)


def steps_of(rw: Rewriter, lstm: Lstm, sums: Value) -> list[Value]:
    """A tensor with the dimension of time, step by step in the order that the steps are taken."""
    n_steps = limited(static_shape(lstm.value, "the input", 3)[lstm.time_axis], "the number of steps", MOST_STEPS)
    if n_steps < 1:
        raise Unsupported("a sequence of no steps is not supported")
    steps = rw.emit("top.Unpack", sums, axis=lstm.time_axis)
    taken = [steps] if isinstance(steps, Value) else list(steps)
    return taken[::-1] if lstm.reverse else taken


def _side_by_side(rw: Rewriter, lstm: Lstm, gates: Sequence[int]) -> Value:
    """The biases of the gates in one vector; zeros for one that is absent."""
    size = static_shape(lstm.weights[3], "the weights", 2)[0]
    biases = [lstm.biases[gate] or rw.constant(tables.zeros(size, np.float32)) for gate in gates]
    return rw.emit("top.Concat", *biases, axis=0)


def input_sums(rw: Rewriter, lstm: Lstm, sums: Sequence[Value | None]) -> list[list[Value | None]]:
    """For each step, in the order they are taken, what the input gives to each gate; None for an absent gate.

    `sums` are those of the whole sequence, which is one product a gate instead of one a gate and step.
    """
    by_gate = [None if each is None else steps_of(rw, lstm, each) for each in sums]
    n_steps = next(len(steps) for steps in by_gate if steps is not None)
    return [[None if steps is None else steps[step] for steps in by_gate] for step in range(n_steps)]


def _step(op: Op, rw: Rewriter, lstm: Lstm, sums: dict[int, Value], cell: Value | None) -> tuple[Value, Value]:
    """One step from the gates' sums: the next hidden state and cell. No cell is one of zeros."""
    def gate(index: int, peephole: Value | None = None, seen: Value | None = None) -> Value:
        total = sums[index]
        if peephole is not None and seen is not None:
            total = rw.emit("top.Add", total, rw.emit("top.Mul", seen, peephole))
        norm, bias = lstm.norms[index], lstm.biases[index]
        if norm is None:
            return total
        return rw.emit("top.LayerNorm", total, norm, bias, axis=-1, eps=_EPSILON)

    peephole_i, peephole_f, peephole_o = (None if part is None else real(rw, part) for part in lstm.peepholes)
    new = activate(rw, op, gate(2), lstm.activation)
    needs_forget = cell is not None or 0 not in sums
    forget = rw.emit("top.Sigmoid", gate(1, peephole_f, cell)) if needs_forget else None
    if 0 in sums:
        admit = rw.emit("top.Sigmoid", gate(0, peephole_i, cell))
    else:
        admit = rw.emit("top.Sub", scalar(rw, 1.0), forget)
    added = rw.emit("top.Mul", admit, new)
    cell = added if cell is None else rw.emit("top.Add", rw.emit("top.Mul", forget, cell), added)
    if lstm.cell_clip > 0:
        cell = rw.emit("top.Clip", cell, min=-lstm.cell_clip, max=lstm.cell_clip)
    out = rw.emit("top.Sigmoid", gate(3, peephole_o, cell))
    state = rw.emit("top.Mul", out, activate(rw, op, cell, lstm.activation))
    if lstm.projection is not None:
        state = products(op, rw, state, [lstm.projection])
        if lstm.projection_bias is not None:
            state = rw.emit("top.Add", state, lstm.projection_bias)
        if lstm.projection_clip > 0:
            state = rw.emit("top.Clip", state, min=-lstm.projection_clip, max=lstm.projection_clip)
    return state, cell
