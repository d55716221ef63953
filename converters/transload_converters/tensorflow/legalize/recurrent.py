"""Recurrent blocks: cells, and layers of them over time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import Op, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub.build import permute, reshape, scalar_like, slice_along, splat

from .table import TfTable, attr, constant_int, element_of, need_place, shape_of

TABLE = TfTable()

MOST_STEPS = 4096
"""How many steps are written out one by one."""


@dataclass(frozen=True)
class _Lstm:
    """Weights [I + H, 4H] of the input and the last hidden state, peepholes [H], bias [4H], and the order of the gates."""

    weights: Value
    peepholes: tuple[Value, Value, Value] | None
    bias: Value
    gates: str
    forget_bias: float
    clip: float

    def step(self, rw: Rewriter, x: Value, cell: Value, hidden: Value) -> list[Value]:
        """Input gate, cell, forget gate, output gate, candidate, activated cell, hidden state, each [N, H]."""
        size = shape_of(cell, 2, what="the cell state")[1]
        joined = rw.emit("top.Concat", x, hidden, axis=1)
        sums = rw.emit("top.Add", rw.emit("top.MatMul", joined, self.weights), self.bias)
        parts = dict(zip(self.gates, rw.emit("top.Split", sums, axis=1, split_size=(size,) * 4), strict=True))

        def gate(name: str, peephole: int, state: Value) -> Value:
            value = parts[name]
            if name == "f" and self.forget_bias:
                value = rw.emit("top.Add", value, scalar_like(rw, value, self.forget_bias))
            if self.peepholes is not None:
                value = rw.emit("top.Add", value, rw.emit("top.Mul", state, self.peepholes[peephole]))
            return rw.emit("top.Sigmoid", value)

        i, f = gate("i", 0, cell), gate("f", 1, cell)
        candidate = rw.emit("top.Tanh", parts["c"])
        after = rw.emit("top.Add", rw.emit("top.Mul", candidate, i), rw.emit("top.Mul", cell, f))
        if self.clip > 0:
            after = rw.emit("top.Clip", after, min=-self.clip, max=self.clip)
        o = gate("o", 2, after)
        activated = rw.emit("top.Tanh", after)
        return [i, after, f, o, candidate, activated, rw.emit("top.Mul", activated, o)]


def _lstm(op: Op, first: int, gates: str, forget_bias: float, clip: float) -> _Lstm:
    """The operands from `first` on: weights, three peepholes, bias."""
    weights, *peepholes, bias = op.operands[first : first + 5]
    used = (peepholes[0], peepholes[1], peepholes[2]) if attr(op, "use_peephole", False) else None
    return _Lstm(weights, used, bias, gates, forget_bias, clip)


@TABLE("LSTMBlockCell")
def lstm_block_cell(op: Op, rw: Rewriter) -> list[Value]:
    """LSTMBlockCell: one step."""
    x, cell, hidden = op.operands[:3]
    shape_of(x, 2, what="the input")
    lstm = _lstm(op, 3, "icfo", float(attr(op, "forget_bias", 1.0)), float(attr(op, "cell_clip", 3.0)))
    return lstm.step(rw, x, cell, hidden)


@TABLE("BlockLSTM", "BlockLSTMV2")
def block_lstm(op: Op, rw: Rewriter) -> list[Value]:
    """BlockLSTM, BlockLSTMV2: step by step; beyond a constant length everything is 0.

    Where only the hidden states are used, and nothing is peeped at or clipped, it is the hub's own layer.
    """
    length, value, cell, hidden = op.operands[:4]
    time = shape_of(value, 3, what="the input")[0]
    steps = min(constant_int(rw, length, "the length of the sequences"), time)
    if not 1 <= steps <= MOST_STEPS:
        raise Unsupported(f"has {steps} steps; 1 to {MOST_STEPS} can be converted")
    first = op.name == "tf.BlockLSTM"
    lstm = _lstm(op, 4, "icfo" if first else "ifco", float(attr(op, "forget_bias", 1.0)) if first else 0.0,
                 float(attr(op, "cell_clip", 3.0 if first else 0.0)))
    only_hidden = not any(result.uses for result in op.results[:6])
    if only_hidden and lstm.peepholes is None and lstm.clip <= 0 and steps == time:
        every = _layer(rw, value, cell, hidden, lstm)
        return [every] * 7
    results: list[list[Value]] = []
    for place in range(steps):
        x = reshape(rw, slice_along(rw, value, 0, place, place + 1), shape_of(value)[1:])
        results.append(lstm.step(rw, x, cell, hidden))
        cell, hidden = results[-1][1], results[-1][6]
    stacked = [rw.emit("top.Pack", *column, axis=0) for column in zip(*results, strict=True)]
    if steps < time:
        rest = splat(rw, 0, (time - steps, *shape_of(cell)), cell.element)
        stacked = [rw.emit("top.Concat", column, rest, axis=0) for column in stacked]
    return stacked


def _layer(rw: Rewriter, value: Value, cell: Value, hidden: Value, lstm: _Lstm) -> Value:
    """The hidden states [T, N, H] by `top.LSTM`, whose gates are in the order i, o, f, c."""
    _, batch, inputs = shape_of(value)
    size = shape_of(cell, 2, what="the cell state")[1]
    need_place(4 * size)
    order = [lstm.gates.index(gate) for gate in "iofc"]

    def turned(part: Value, rows: int) -> Value:
        """[rows, 4H] as [1, 4H, rows], its gates in the hub's order."""
        split = rw.emit("top.Split", part, axis=1, split_size=(size,) * 4)
        joined = rw.emit("top.Concat", *(split[place] for place in order), axis=1)
        return reshape(rw, permute(rw, joined, (1, 0)), (1, 4 * size, rows))

    bias = reshape(rw, lstm.bias, (1, 4 * size))
    forget = [lstm.forget_bias if gate == "f" else 0.0 for gate in "iofc" for _ in range(size)]
    offset = rw.emit("top.Add", reshape(rw, turned(bias, 1), (4 * size,)), _row(rw, forget, lstm.bias))
    doubled = reshape(rw, rw.emit("top.Concat", offset, splat(rw, 0, (4 * size,), offset.element), axis=0), (1, 8 * size))
    every, _, _ = rw.emit(
        "top.LSTM", value, turned(slice_along(rw, lstm.weights, 0, 0, inputs), inputs),
        turned(slice_along(rw, lstm.weights, 0, inputs, inputs + size), size), doubled,
        reshape(rw, hidden, (1, batch, size)), reshape(rw, cell, (1, batch, size)), hidden_size=size)
    return reshape(rw, every, (shape_of(value)[0], batch, size))


def _row(rw: Rewriter, numbers: list[float], like: Value) -> Value:
    return rw.constant(np.asarray(numbers, dtype_of(like.element)), element=like.element)


@TABLE("GRUBlockCell")
def gru_block_cell(op: Op, rw: Rewriter) -> list[Value]:
    """GRUBlockCell: reset gate, update gate, candidate, hidden state."""
    x, hidden, w_gates, w_candidate, b_gates, b_candidate = op.operands
    size = shape_of(hidden, 2, what="the hidden state")[1]
    joined = rw.emit("top.Concat", x, hidden, axis=1)
    sums = rw.emit("top.Add", rw.emit("top.MatMul", joined, w_gates), b_gates)
    r, u = rw.emit("top.Split", rw.emit("top.Sigmoid", sums), axis=1, split_size=(size, size))
    reset = rw.emit("top.Concat", x, rw.emit("top.Mul", hidden, r), axis=1)
    candidate = rw.emit("top.Tanh", rw.emit("top.Add", rw.emit("top.MatMul", reset, w_candidate), b_candidate))
    kept = rw.emit("top.Mul", u, rw.emit("top.Sub", hidden, candidate))
    return [r, u, candidate, rw.emit("top.Add", candidate, kept)]


# --- cuDNN's layers

_GATES = {"lstm": 4, "gru": 3, "rnn_relu": 1, "rnn_tanh": 1}
_ORDER = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn_relu": (0,), "rnn_tanh": (0,)}
"""Where the hub's gates (i o f c; z r h) are among cuDNN's (i f c o; r z h)."""


@TABLE("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3")
def cudnn_rnn(op: Op, rw: Rewriter) -> list[Value]:
    """CudnnRNN, V2, V3: layers over each other, of one direction or two; what only training uses is empty.

    The parameters are one vector: of each layer and direction the weights of the input and those of the hidden state, gate by
    gate; then the two biases of each. cuDNN's GRU resets after the product.
    """
    kind = attr(op, "rnn_mode", "lstm")
    if attr(op, "input_mode", "linear_input") == "skip_input" or attr(op, "num_proj", 0):
        raise Unsupported("leaves the product with the input out, or projects the hidden state")
    value, first_h, first_c, params = op.operands[:4]
    lengths = op.operands[4] if op.name == "tf.CudnnRNNV3" else None
    time_major = bool(attr(op, "time_major", True)) if op.name == "tf.CudnnRNNV3" else True
    if not time_major:
        value, first_h = permute(rw, value, (1, 0, 2)), permute(rw, first_h, (1, 0, 2))
        first_c = permute(rw, first_c, (1, 0, 2)) if kind == "lstm" else first_c
    directions = 2 if attr(op, "direction", "unidirectional") == "bidirectional" else 1
    layers, _, hidden = shape_of(first_h, 3, what="the first state")
    if layers < directions or layers % directions or hidden < 1:
        raise Unsupported(f"the first state has the shape {list(shape_of(first_h))}, for layers of {directions} directions")
    stack = _Stack(rw, params, kind, directions, hidden, layers // directions, shape_of(value, 3, what="the input")[2])
    last_h: list[Value] = []
    last_c: list[Value] = []
    for layer in range(stack.layers):
        here = slice(layer * directions, (layer + 1) * directions)
        own_h = slice_along(rw, first_h, 0, here.start, here.stop)
        own_c = slice_along(rw, first_c, 0, here.start, here.stop) if kind == "lstm" else None
        value, h, c = stack.layer(layer, value, own_h, own_c, lengths)
        last_h.append(h)
        last_c += [] if c is None else [c]
    outputs: list[Value] = [value, _joined(rw, last_h)]
    outputs.append(_joined(rw, last_c) if last_c else splat(rw, 0, shape_of(first_c), first_c.element))
    if not time_major:
        outputs = [permute(rw, part, (1, 0, 2)) if len(shape_of(part)) == 3 else part for part in outputs]
    return outputs + [splat(rw, 0, (0,), element_of(op, index)) for index in range(3, len(op.results))]


def _joined(rw: Rewriter, parts: list[Value]) -> Value:
    """Values one after the other along the first dimension."""
    joined: Value = rw.emit("top.Concat", *parts, axis=0) if len(parts) > 1 else parts[0]
    return joined


@dataclass(frozen=True)
class _Stack:
    """Layers whose parameters are one vector."""

    rw: Rewriter
    params: Value
    kind: str
    directions: int
    hidden: int
    layers: int
    inputs: int

    @cached_property
    def _shapes(self) -> list[tuple[int, int]]:
        """[gates * hidden, inputs] of the weights of each layer and direction: those of the input, then those of the state."""
        gates, found = _GATES[self.kind], []
        for layer in range(self.layers):
            width = self.inputs if layer == 0 else self.hidden * self.directions
            found += [(gates * self.hidden, width), (gates * self.hidden, self.hidden)] * self.directions
        return found

    @cached_property
    def _starts(self) -> list[int]:
        """Where the weights of each layer and direction begin, and behind them the biases."""
        return [0, *accumulate(math.prod(shape) for shape in self._shapes)]

    def _part(self, start: int, rows: int, columns: int) -> Value:
        """Parameters from `start` on as [1, rows, columns], their gates in the hub's order."""
        whole = slice_along(self.rw, self.params, 0, start, start + rows * columns)
        if _GATES[self.kind] > 1:
            gates = self.rw.emit("top.Split", whole, axis=0, split_size=(self.hidden * columns,) * _GATES[self.kind])
            whole = self.rw.emit("top.Concat", *(gates[place] for place in _ORDER[self.kind]), axis=0)
        return reshape(self.rw, whole, (1, rows, columns))

    def layer(
        self, number: int, value: Value, h: Value | None, c: Value | None, lengths: Value | None,
    ) -> tuple[Value, Value, Value | None]:
        """[T, N, D * H] of one layer, and its last states [D, N, H]."""
        rw, shapes, starts = self.rw, self._shapes, self._starts
        rows = _GATES[self.kind] * self.hidden
        first = 2 * number * self.directions
        weights, recurrences, biases = [], [], []
        for place in range(first, first + 2 * self.directions, 2):
            weights.append(self._part(starts[place], *shapes[place]))
            recurrences.append(self._part(starts[place + 1], *shapes[place + 1]))
            both = [reshape(rw, self._part(starts[-1] + (place + i) * rows, rows, 1), (1, rows)) for i in (0, 1)]
            biases.append(rw.emit("top.Concat", *both, axis=1))
        w, r, b = (_joined(rw, parts) for parts in (weights, recurrences, biases))
        common: dict[str, Any] = {"hidden_size": self.hidden, "direction": "bidirectional" if self.directions == 2 else None}
        held = None if lengths is None or (rw.constant_of(lengths) is not None and (
            rw.constant_of(lengths) == shape_of(value)[0]).all()) else lengths
        last_c = None
        if self.kind == "lstm":
            every, last_h, last_c = rw.emit("top.LSTM", value, w, r, b, h, c, None, held, **common)
        elif self.kind == "gru":
            every, last_h = rw.emit("top.GRU", value, w, r, b, h, held, linear_before_reset=True, **common)
        else:
            names = ["Relu" if self.kind == "rnn_relu" else "Tanh"] * self.directions
            every, last_h = rw.emit("top.RNN", value, w, r, b, h, held, activations=names, **common)
        time, _, batch, _ = shape_of(every)
        flat = reshape(rw, permute(rw, every, (0, 2, 1, 3)), (time, batch, self.directions * self.hidden))
        return flat, last_h, last_c
