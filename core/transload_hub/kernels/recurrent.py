"""Kernels: recurrent layers, as ONNX defines them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.plugin import KernelTable

from .common import Array, finish, wide
from .unary import sigmoid, softplus

if TYPE_CHECKING:
    from ..ops.recurrent import GRU, LSTM, RNN

__all__ = ["KERNELS"]

KERNELS = KernelTable()

Function = Callable[[Array], Array]
Step = Callable[[Array, list[Array]], list[Array]]

_WITHOUT_PARAMETERS: dict[str, Function] = {
    "relu": lambda x: np.maximum(x, 0), "tanh": np.tanh, "sigmoid": sigmoid, "softsign": lambda x: x / (1 + np.abs(x)),
    "softplus": softplus,
}
_WITH_ALPHA: dict[str, tuple[Callable[[Array, float], Array], float]] = {
    "leakyrelu": (lambda x, a: np.where(x >= 0, x, a * x), 0.01),
    "thresholdedrelu": (lambda x, a: np.where(x > a, x, 0), 1.0),
    "elu": (lambda x, a: np.where(x >= 0, x, a * np.expm1(np.minimum(x, 0))), 1.0),
}
_WITH_ALPHA_AND_BETA: dict[str, tuple[Callable[[Array, float, float], Array], float, float]] = {
    "affine": (lambda x, a, b: a * x + b, 1.0, 0.0),
    "scaledtanh": (lambda x, a, b: a * np.tanh(b * x), 1.0, 1.0),
    "hardsigmoid": (lambda x, a, b: np.clip(a * x + b, 0, 1), 0.2, 0.5),
}


def _activations(op: GRU | LSTM | RNN, defaults: tuple[str, ...], directions: int) -> Iterator[list[Function]]:
    """The activation functions of each direction. Those with parameters take the next of the lists."""
    alphas, betas = iter(op.activation_alpha or ()), iter(op.activation_beta or ())

    def function(name: str) -> Function:
        if name in _WITHOUT_PARAMETERS:
            return _WITHOUT_PARAMETERS[name]
        if name in _WITH_ALPHA:
            of_one, alpha = _WITH_ALPHA[name]
            alpha = next(alphas, alpha)
            return lambda x: of_one(x, alpha)
        of_two, alpha, beta = _WITH_ALPHA_AND_BETA[name]
        alpha, beta = next(alphas, alpha), next(betas, beta)
        return lambda x: of_two(x, alpha, beta)

    names = [name.lower() for name in op.activations or ()] or list(defaults) * directions
    functions = [function(name) for name in names]
    n = len(defaults)
    for direction in range(directions):
        chosen = functions[direction * n : direction * n + n]
        yield chosen if len(chosen) == n else functions[:n]


class _Layer:
    """What the three layers share: layouts, directions, lengths of sequences, the loop over time.

    A step takes the input's part of the gates at one time, [N, gates*H], and the states, [N, H] each, the
    hidden one first, and gives the next states.
    """

    def __init__(self, op: GRU | LSTM | RNN, x: Array, lengths: Array | None) -> None:
        self.op = op
        self.x = wide(x).swapaxes(0, 1) if op.batch_first else wide(x)  # [T, N, I]
        self.time, self.batch = self.x.shape[:2]
        self.dtype = self.x.dtype
        self.hidden = op.hidden_size
        self.directions = 2 if op.direction == "bidirectional" else 1
        self.lengths = None if lengths is None else wide(lengths).astype(np.int64)

    def state(self, initial: Array | None, direction: int) -> Array:
        """The first state of a direction, [N, H]."""
        if initial is None:
            return np.zeros((self.batch, self.hidden), self.dtype)
        value = wide(initial)
        return value[:, direction] if self.op.batch_first else value[direction]

    def clipped(self, x: Array) -> Array:
        limit = self.op.clip
        return x if limit is None else np.clip(x, -limit, limit)

    def _reversed(self, x: Array) -> Array:
        """[T, N, ..] with time turned round, of each sequence by itself."""
        if self.lengths is None:
            return x[::-1]
        time = np.arange(self.time)[:, None]
        where = np.where(time < self.lengths, self.lengths - 1 - time, time)
        return x[where, np.arange(self.batch)]

    def run(self, states: list[list[Array]], gates: list[Array], steps: list[Step]) -> tuple[Array, ...]:
        """Y and the last states. `gates[d]` holds the weights [gates*H, I] of direction d, `steps[d]` its step."""
        op = self.op
        every = np.zeros((self.time, self.directions, self.batch, self.hidden), self.dtype)
        last: list[list[Array]] = []
        for direction in range(self.directions):
            backward = op.direction == "reverse" or direction == 1
            sequence = self._reversed(self.x) if backward else self.x
            inputs = np.matmul(sequence, gates[direction].T)
            current = states[direction]
            outputs = np.zeros((self.time, self.batch, self.hidden), self.dtype)
            for t in range(self.time):
                following = steps[direction](inputs[t], current)
                if self.lengths is None:
                    outputs[t] = following[0]
                else:
                    going = (t < self.lengths)[:, None]
                    outputs[t] = np.where(going, following[0], 0)
                    following = [np.where(going, new, old) for new, old in zip(following, current, strict=True)]
                current = following
            every[:, direction] = self._reversed(outputs) if backward else outputs
            last.append(current)
        results = [every, *(np.stack(parts) for parts in zip(*last, strict=True))]
        if op.batch_first:
            results = [np.moveaxis(results[0], 2, 0), *(part.swapaxes(0, 1) for part in results[1:])]
        return tuple(finish(op, part, index) for index, part in enumerate(results))


def _halves(bias: Array | None, direction: int, width: int, dtype: Any) -> tuple[Array, Array]:
    """The bias of the input and that of the hidden state, [width] each."""
    if bias is None:
        return np.zeros(width, dtype), np.zeros(width, dtype)
    both = wide(bias)[direction]
    return both[:width], both[width:]


@KERNELS("top.LSTM")
def lstm(
    op: LSTM, x: Array, weights: Array, recurrence: Array, bias: Array | None = None, initial_h: Array | None = None,
    initial_c: Array | None = None, peephole: Array | None = None, sequence_lens: Array | None = None,
) -> tuple[Array, ...]:
    layer = _Layer(op, x, sequence_lens)
    hidden, clipped = layer.hidden, layer.clipped

    def make_step(direction: int, functions: list[Function]) -> Step:
        squash, candidate, out = functions
        matrix = wide(recurrence)[direction].T
        offset = np.add(*_halves(bias, direction, 4 * hidden, layer.dtype))
        peep = np.zeros(3 * hidden, layer.dtype) if peephole is None else wide(peephole)[direction]
        peep_i, peep_o, peep_f = np.split(peep, 3)

        def step(inputs: Array, state: list[Array]) -> list[Array]:
            h, c = state
            i, o, f, n = np.split(inputs + np.matmul(h, matrix) + offset, 4, axis=1)
            i = squash(clipped(i + peep_i * c))
            f = 1 - i if op.input_forget else squash(clipped(f + peep_f * c))
            c = f * c + i * candidate(clipped(n))
            o = squash(clipped(o + peep_o * c))
            return [o * out(c), c]

        return step

    functions = list(_activations(op, ("sigmoid", "tanh", "tanh"), layer.directions))
    every = range(layer.directions)
    return layer.run(
        [[layer.state(initial_h, d), layer.state(initial_c, d)] for d in every], [wide(weights)[d] for d in every],
        [make_step(d, functions[d]) for d in every])


@KERNELS("top.GRU")
def gru(
    op: GRU, x: Array, weights: Array, recurrence: Array, bias: Array | None = None, initial_h: Array | None = None,
    sequence_lens: Array | None = None,
) -> tuple[Array, ...]:
    layer = _Layer(op, x, sequence_lens)
    hidden, clipped = layer.hidden, layer.clipped

    def make_step(direction: int, functions: list[Function]) -> Step:
        squash, candidate = functions
        matrix = wide(recurrence)[direction]
        for_gates, for_candidate = matrix[: 2 * hidden].T, matrix[2 * hidden :].T
        of_input, of_hidden = _halves(bias, direction, 3 * hidden, layer.dtype)
        offset = (of_input + of_hidden)[: 2 * hidden]
        input_n, hidden_n = of_input[2 * hidden :], of_hidden[2 * hidden :]

        def step(inputs: Array, state: list[Array]) -> list[Array]:
            h = state[0]
            gates = squash(clipped(inputs[:, : 2 * hidden] + np.matmul(h, for_gates) + offset))
            z, r = gates[:, :hidden], gates[:, hidden:]
            if op.linear_before_reset:
                recurrent = r * (np.matmul(h, for_candidate) + hidden_n)
            else:
                recurrent = np.matmul(r * h, for_candidate) + hidden_n
            n = candidate(clipped(inputs[:, 2 * hidden :] + input_n + recurrent))
            return [(1 - z) * n + z * h]

        return step

    functions = list(_activations(op, ("sigmoid", "tanh"), layer.directions))
    every = range(layer.directions)
    return layer.run(
        [[layer.state(initial_h, d)] for d in every], [wide(weights)[d] for d in every],
        [make_step(d, functions[d]) for d in every])


@KERNELS("top.RNN")
def rnn(
    op: RNN, x: Array, weights: Array, recurrence: Array, bias: Array | None = None, initial_h: Array | None = None,
    sequence_lens: Array | None = None,
) -> tuple[Array, ...]:
    layer = _Layer(op, x, sequence_lens)

    def make_step(direction: int, functions: list[Function]) -> Step:
        matrix = wide(recurrence)[direction].T
        offset = np.add(*_halves(bias, direction, layer.hidden, layer.dtype))

        def step(inputs: Array, state: list[Array]) -> list[Array]:
            return [functions[0](layer.clipped(inputs + np.matmul(state[0], matrix) + offset))]

        return step

    functions = list(_activations(op, ("tanh",), layer.directions))
    every = range(layer.directions)
    return layer.run(
        [[layer.state(initial_h, d)] for d in every], [wide(weights)[d] for d in every],
        [make_step(d, functions[d]) for d in every])
