"""Recurrent layers, unrolled over time: the pass `unroll-recurrent`, and a table for lowerings that have no such layers.

Each step becomes `top` ops - matrix products, activations, sums - which are then lowered, or quantized, like any other. The
product of all inputs with their weights is taken once, before the first step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import OpenSizes, Unsupported
from transload.ir import Module, Op, Value
from transload.rewrite import Rewriter, RewriteTable, apply_greedily

if TYPE_CHECKING:
    from ..ops.recurrent import GRU, LSTM, RNN

__all__ = ["TABLE", "unroll_recurrent"]

TABLE = RewriteTable()
"""All three layers, of any number of steps; of quantized ones nothing."""

Function = Callable[[Value], Value]
Step = Callable[[Value, "list[Value | None]"], "list[Value]"]

_NAMED = {"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid", "softsign": "Softsign", "softplus": "Softplus"}
_WITH_ALPHA = {"leakyrelu": ("LeakyRelu", 0.01), "thresholdedrelu": ("ThresholdedRelu", 1.0), "elu": ("Elu", 1.0)}
_WITH_BETA = {"affine": (1.0, 0.0), "scaledtanh": (1.0, 1.0), "hardsigmoid": (0.2, 0.5)}


def unroll_recurrent(module: Module, steps: int = 64) -> bool:
    """Write out the recurrent layers of a module that have at most so many steps. Returns whether there were any."""
    table = RewriteTable()
    for name, functions in TABLE.functions.items():
        for function in functions:
            table(name)(partial(_if_short, function, steps))
    return apply_greedily(module, table)


def _if_short(function: Callable[..., Any], steps: int, op: Any, rw: Rewriter) -> Any:
    shape = op.input.known_shape
    return function(op, rw) if shape is not None and 0 < shape[1 if op.batch_first else 0] <= steps else None


def _static_shape(value: Value, what: str) -> tuple[int, ...]:
    shape = value.known_shape
    if shape is None:
        raise OpenSizes(f"{what} is of type {value.type}, and steps are written out")
    return shape


def _plain(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add to `TABLE` a rewrite of ops none of whose operands and results is quantized."""
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        def rewrite(op: Op, rw: Rewriter) -> Any:
            return None if any(value.is_quantized for value in (*op.operands, *op.results)) else function(op, rw)

        TABLE(*names)(rewrite)
        return function

    return add


class _Layer:
    """What the three layers share: layouts, directions, lengths of sequences, the loop over time.

    A step takes the input's part of the gates at one time, [N, gates*H], and the states, [N, H] each, the hidden one
    first (None: zeros), and gives the next states.
    """

    def __init__(self, op: Op, rw: Rewriter, gates: int) -> None:
        self.op = op
        self.rw = rw
        self.gates = gates
        self.hidden: int = op.hidden_size
        x = op.input if not op.batch_first else self.emit("Permute", op.input, order=(1, 0, 2))
        self.x: Value = x  # [T, N, I]
        self.time, self.batch, self.inputs = _static_shape(x, "the sequence")
        self.directions = 2 if op.direction == "bidirectional" else 1
        if self.time == 0:
            raise Unsupported("the sequence has no steps")
        if rw.budget is not None and self.time > rw.budget.ops:  # before anything of that size is made
            rw.budget.over()

    def emit(self, name: str, *operands: Value | None, **attributes: Any) -> Any:
        return self.rw.emit(f"top.{name}", *operands, **attributes)

    def constant(self, array: Any) -> Value:
        return self.rw.constant(np.asarray(array, np.float32), self.op.input.element)

    def part(self, value: Value | None, direction: int, axis: int = 0) -> Value | None:
        """`value` without its dimension of directions."""
        if value is None:
            return None
        rank = value.rank
        shape = list(_static_shape(value, "the tensor"))
        starts, ends = [0] * rank, list(shape)
        starts[axis], ends[axis] = direction, direction + 1
        one = self.emit("Slice", value, offset=tuple(starts), ends=tuple(ends), steps=(1,) * rank)
        return self.emit("Reshape", one, shape=tuple(shape[:axis] + shape[axis + 1 :]))

    def state(self, initial: Value | None, direction: int) -> Value | None:
        """The first state of a direction, [N, H]; None: zeros, which files often say as a constant."""
        value = self.part(initial, direction, 1 if self.op.batch_first else 0)
        held = None if value is None else self.rw.constant_of(value)
        return value if held is None or held.any() else None

    def columns(self, value: Value, start: int, count: int) -> Value:
        """`count` columns, in units of H, of [.., k*H]."""
        shape = _static_shape(value, "the tensor")
        begin, end = start * self.hidden, (start + count) * self.hidden
        if (begin, end) == (0, shape[-1]):
            return value
        rank = len(shape)
        return self.emit(
            "Slice", value, offset=(*(0,) * (rank - 1), begin), ends=(*shape[:-1], end), steps=(1,) * rank)

    def clipped(self, x: Value) -> Value:
        limit = self.op.clip
        return x if limit is None else self.emit("Clip", x, min=-limit, max=limit)

    def activations(self, defaults: Sequence[str]) -> list[list[Function]]:
        """The activation functions of each direction. Those with parameters take the next of the lists."""
        op = self.op
        alphas, betas = iter(op.activation_alpha or ()), iter(op.activation_beta or ())

        def function(name: str) -> Function:
            if name in _NAMED:
                return lambda x: self.emit(_NAMED[name], x)
            if name in _WITH_ALPHA:
                kind, default = _WITH_ALPHA[name]
                alpha = next(alphas, default)
                return lambda x: self.emit(kind, x, alpha=alpha)
            alpha, beta = (next(given, default) for given, default in zip((alphas, betas), _WITH_BETA[name], strict=True))
            if name == "hardsigmoid":
                return lambda x: self.emit("HardSigmoid", x, alpha=alpha, beta=beta)
            if name == "affine":
                return lambda x: self.emit("AddConst", self.emit("MulConst", x, const_val=alpha), const_val=beta)
            return lambda x: self.emit("MulConst", self.emit("Tanh", self.emit("MulConst", x, const_val=beta)), const_val=alpha)

        names = [name.lower() for name in op.activations or ()] or list(defaults) * self.directions
        functions = [function(name) for name in names]
        n = len(defaults)
        chosen = [functions[d * n : d * n + n] for d in range(self.directions)]
        return [some if len(some) == n else functions[:n] for some in chosen]

    def bias(self, direction: int) -> tuple[Value | None, Value | None]:
        """The bias of the inputs and that of the hidden state, [gates*H] each."""
        both = self.part(self.op.bias, direction)
        if both is None:
            return None, None
        return self.columns(both, 0, self.gates), self.columns(both, self.gates, self.gates)

    def run(self, states: list[list[Value | None]], offsets: list[Value | None], steps: list[Step]) -> list[Value]:
        """Y and the last states. `offsets[d]` is added to the gates of all inputs of direction d."""
        every: list[Value] = []
        last: list[list[Value]] = []
        for direction in range(self.directions):
            backward = self.op.direction == "reverse" or direction == 1
            outputs, final = self._run_direction(backward, direction, states[direction], offsets[direction], steps[direction])
            every.append(self.emit("Pack", *outputs, axis=0))  # [T, N, H]
            last.append(final)
        first = self.op.batch_first
        results = [self.emit("Pack", *every, axis=1)]  # [T, D, N, H]
        results += [self.emit("Pack", *parts, axis=1 if first else 0) for parts in zip(*last, strict=True)]
        if first:
            results[0] = self.emit("Permute", results[0], order=(2, 0, 1, 3))
        return results

    def _run_direction(
        self, backward: bool, direction: int, states: list[Value | None], offset: Value | None, step: Step,
    ) -> tuple[list[Value], list[Value]]:
        lengths = self.op.sequence_lens
        sequence = self.x
        if backward and lengths is not None:
            sequence = self.emit("ReverseSequence", sequence, lengths, seq_axis=0, batch_axis=1)
        flat = self.emit("Reshape", sequence, shape=(self.time * self.batch, self.inputs))
        weights = self.part(self.op.filter, direction)
        operands = [flat, weights] if offset is None else [flat, weights, offset]
        width = self.gates * self.hidden
        gates = self.emit("Reshape", self.emit("MatMul", *operands, right_transpose=True), shape=(self.time, self.batch, width))
        inputs = self.emit("Unpack", gates, axis=0)
        inputs = list(inputs) if isinstance(inputs, tuple) else [inputs]
        if backward and lengths is None:
            inputs.reverse()
        outputs: list[Value] = []
        current = list(states)
        for time, at_time in enumerate(inputs):
            following: list[Value] = step(at_time, current)
            shown = following[0]
            if lengths is not None:
                shown, following = self._masked(time, lengths, following, current)
            outputs.append(shown)
            current = list(following)
        if backward and lengths is None:
            outputs.reverse()
        if backward and lengths is not None:
            packed = self.emit("ReverseSequence", self.emit("Pack", *outputs, axis=0), lengths, seq_axis=0, batch_axis=1)
            unpacked = self.emit("Unpack", packed, axis=0)
            outputs = list(unpacked) if isinstance(unpacked, tuple) else [unpacked]
        return outputs, current  # type: ignore[return-value]

    def _masked(
        self, time: int, lengths: Value, following: list[Value], current: list[Value | None],
    ) -> tuple[Value, list[Value]]:
        """What is shown and kept of a step: past the end of a sequence zeros, and the states as they were."""
        column = self.emit("Reshape", lengths, shape=(self.batch, 1))
        step = self.rw.constant(np.full((1, 1), time, np.int32), lengths.element)
        going = self.emit("Compare", column, step, mode="Greater")
        zero = self.constant(np.zeros((1, 1)))
        kept = [
            self.emit("Where", going, new, zero if old is None else old) for new, old in zip(following, current, strict=True)]
        return self.emit("Where", going, following[0], zero), kept


def _added(layer: _Layer, *terms: Value | None) -> Value | None:
    """The sum of the terms that are there."""
    there = [term for term in terms if term is not None]
    return None if not there else there[0] if len(there) == 1 else layer.emit("Add", *there)


@_plain("top.LSTM")
def lstm(op: LSTM, rw: Rewriter) -> list[Value]:
    """Gates i, o, f, c of one product; see the op for the formulas. Without states to start from their terms are left out."""
    layer = _Layer(op, rw, 4)
    functions = layer.activations(("sigmoid", "tanh", "tanh"))

    def make_step(direction: int) -> Step:
        squash, candidate, out = functions[direction]
        matrix = layer.part(op.recurrence, direction)
        peephole = layer.part(op.peephole, direction)

        def gate(x: Value, place: int, peep: int, cell: Value | None) -> Value:
            x = layer.columns(x, place, 1)
            if peephole is not None and cell is not None:
                x = layer.emit("Add", x, layer.emit("Mul", cell, layer.columns(peephole, peep, 1)))
            return squash(layer.clipped(x))

        def step(inputs: Value, states: list[Value | None]) -> list[Value]:
            h, c = states
            x = inputs if h is None else layer.emit("Add", inputs, layer.emit("MatMul", h, matrix, right_transpose=True))
            if peephole is None:
                together = squash(layer.clipped(layer.columns(x, 0, 3)))
                i, o, f = (layer.columns(together, place, 1) for place in range(3))
            else:
                i, f = gate(x, 0, 0, c), gate(x, 2, 2, c)
            if op.input_forget:
                f = layer.emit("Sub", layer.constant(np.ones((1, 1))), i)
            n = layer.emit("Mul", i, candidate(layer.clipped(layer.columns(x, 3, 1))))
            cell = n if c is None else layer.emit("Add", layer.emit("Mul", f, c), n)
            if peephole is not None:
                o = gate(x, 1, 1, cell)
            return [layer.emit("Mul", o, out(cell)), cell]

        return step

    every = range(layer.directions)
    return layer.run(
        [[layer.state(op.initial_h, d), layer.state(op.initial_c, d)] for d in every],
        [_added(layer, *layer.bias(d)) for d in every], [make_step(d) for d in every])


@_plain("top.GRU")
def gru(op: GRU, rw: Rewriter) -> list[Value]:
    """Gates z, r together, then the candidate, whose hidden part depends on r; see the op for the formulas."""
    layer = _Layer(op, rw, 3)
    functions = layer.activations(("sigmoid", "tanh"))
    offsets: list[Value | None] = []

    def make_step(direction: int) -> Step:
        squash, candidate = functions[direction]
        matrix: Value = layer.part(op.recurrence, direction)  # type: ignore[assignment]
        h_size = layer.hidden
        of_input, of_hidden = layer.bias(direction)
        hidden_n = None if of_hidden is None else layer.columns(of_hidden, 2, 1)
        if of_input is None or of_hidden is None:
            offsets.append(None)
        else:  # the hidden bias of z and r, too, is added to all inputs at once
            zeros = layer.constant(np.zeros(h_size))
            offsets.append(layer.emit("Add", of_input, layer.emit("Concat", layer.columns(of_hidden, 0, 2), zeros, axis=0)))
        rows = (0, 2 * h_size, 3 * h_size)
        gates_matrix, candidate_matrix = (
            layer.emit("Slice", matrix, offset=(a, 0), ends=(b, h_size), steps=(1, 1)) for a, b in pairwise(rows))

        def step(inputs: Value, states: list[Value | None]) -> list[Value]:
            h = states[0]
            gates = layer.columns(inputs, 0, 2)
            if h is not None:
                gates = layer.emit("Add", gates, layer.emit("MatMul", h, gates_matrix, right_transpose=True))
            gates = squash(layer.clipped(gates))
            z, r = layer.columns(gates, 0, 1), layer.columns(gates, 1, 1)
            recurrent: Value | None = hidden_n
            if h is not None:
                inner = h if op.linear_before_reset else layer.emit("Mul", r, h)
                recurrent = _added(layer, layer.emit("MatMul", inner, candidate_matrix, right_transpose=True), hidden_n)
            if recurrent is not None and op.linear_before_reset:
                recurrent = layer.emit("Mul", r, recurrent)
            n = candidate(layer.clipped(_added(layer, layer.columns(inputs, 2, 1), recurrent)))  # type: ignore[arg-type]
            if h is None:
                return [layer.emit("Mul", layer.emit("Sub", layer.constant(np.ones((1, 1))), z), n)]
            return [layer.emit("Add", n, layer.emit("Mul", z, layer.emit("Sub", h, n)))]

        return step

    every = range(layer.directions)
    steps = [make_step(d) for d in every]
    return layer.run([[layer.state(op.initial_h, d)] for d in every], offsets, steps)


@_plain("top.RNN")
def rnn(op: RNN, rw: Rewriter) -> list[Value]:
    """One gate; see the op for the formula."""
    layer = _Layer(op, rw, 1)
    functions = layer.activations(("tanh",))

    def make_step(direction: int) -> Step:
        matrix = layer.part(op.recurrence, direction)

        def step(inputs: Value, states: list[Value | None]) -> list[Value]:
            h = states[0]
            x = inputs if h is None else layer.emit("Add", inputs, layer.emit("MatMul", h, matrix, right_transpose=True))
            return [functions[direction][0](layer.clipped(x))]

        return step

    every = range(layer.directions)
    states = [[layer.state(op.initial_h, d)] for d in every]
    return layer.run(states, [_added(layer, *layer.bias(d)) for d in every], [make_step(d) for d in every])
