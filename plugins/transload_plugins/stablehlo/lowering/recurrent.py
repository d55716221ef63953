"""Recurrent layers with ONNX's semantics: the input's part of all gates by one product, then a loop over time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from transload.ir import I32, Op, Value
from transload.ir.build import Builder
from transload.rewrite import Rewriter, RewriteTable, Unsupported

from .. import build, functions
from ..build import binary, clamp, compare, select, unary
from .common import finish, static_shape, widened
from .gather import take_along
from .movement import reversed_places

if TYPE_CHECKING:
    from transload_hub.ops.recurrent import GRU, LSTM, RNN

__all__ = ["TABLE"]

TABLE = RewriteTable()

UNROLLED = 8
"""Up to how many steps of time stand one after the other in the program; more are a loop."""

Function = Callable[[Builder, Value], Value]
Step = Callable[[Builder, Value, list[Value]], list[Value]]
"""The next states, of the input's part of the gates at one time, [N, gates*H], and the states, [N, H] each."""


def _leaky(rw: Builder, x: Value, alpha: float) -> Value:
    return select(rw, compare(rw, "GE", x, 0), x, binary(rw, "multiply", x, alpha))


def _thresholded(rw: Builder, x: Value, alpha: float) -> Value:
    return select(rw, compare(rw, "GT", x, alpha), x, 0)


def _elu(rw: Builder, x: Value, alpha: float) -> Value:
    below = binary(rw, "multiply", unary(rw, "exponential_minus_one", binary(rw, "minimum", x, 0)), alpha)
    return select(rw, compare(rw, "GE", x, 0), x, below)


def _affine(rw: Builder, x: Value, alpha: float, beta: float) -> Value:
    return binary(rw, "add", binary(rw, "multiply", x, alpha), beta)


def _scaled_tanh(rw: Builder, x: Value, alpha: float, beta: float) -> Value:
    return binary(rw, "multiply", unary(rw, "tanh", binary(rw, "multiply", x, beta)), alpha)


def _softsign(rw: Builder, x: Value) -> Value:
    return binary(rw, "divide", x, binary(rw, "add", unary(rw, "abs", x), 1))


PLAIN: dict[str, Function] = {
    "relu": lambda rw, x: binary(rw, "maximum", x, 0), "tanh": lambda rw, x: unary(rw, "tanh", x),
    "sigmoid": lambda rw, x: unary(rw, "logistic", x), "softsign": _softsign, "softplus": functions.softplus,
}  # fmt: skip
WITH_ALPHA: dict[str, tuple[Callable[[Builder, Value, float], Value], float]] = {
    "leakyrelu": (_leaky, 0.01), "thresholdedrelu": (_thresholded, 1.0), "elu": (_elu, 1.0)}  # fmt: skip
WITH_BOTH: dict[str, tuple[Callable[[Builder, Value, float, float], Value], float, float]] = {
    "affine": (_affine, 1.0, 0.0), "scaledtanh": (_scaled_tanh, 1.0, 1.0),
    "hardsigmoid": (lambda rw, x, a, b: clamp(rw, _affine(rw, x, a, b), 0, 1), 0.2, 0.5),
}  # fmt: skip
"""Activation functions by ONNX's names, with the defaults of their parameters."""


def _activations(op: Op, defaults: tuple[str, ...], directions: int) -> list[list[Function]]:
    """The activation functions of each direction. Those with parameters take the next of the lists."""
    alphas, betas = iter(op.activation_alpha or ()), iter(op.activation_beta or ())
    names = [name.lower() for name in op.activations or ()] or list(defaults) * directions
    made = [_function(name, alphas, betas) for name in names]
    n = len(defaults)
    chosen = [made[direction * n : direction * n + n] for direction in range(directions)]
    return [part if len(part) == n else made[:n] for part in chosen]


def _function(name: str, alphas: Iterator[float], betas: Iterator[float]) -> Function:
    if name in PLAIN:
        return PLAIN[name]
    if name in WITH_ALPHA:
        of_one, alpha = WITH_ALPHA[name]
        first = next(alphas, alpha)
        return lambda rw, x: of_one(rw, x, first)
    of_two, alpha, beta = WITH_BOTH[name]
    one, other = next(alphas, alpha), next(betas, beta)
    return lambda rw, x: of_two(rw, x, one, other)


class _Layer:
    """What the three layers share: layouts, directions, lengths of sequences, the loop over time."""

    def __init__(self, op: Op, rw: Rewriter, gates: int, defaults: tuple[str, ...]) -> None:
        self.op, self.rw, self.gates = op, rw, gates
        x = widened(rw, op.input)
        self.x = build.transpose(rw, x, (1, 0, 2)) if op.batch_first else x  # [T, N, I]
        self.time, self.batch = static_shape(self.x)[:2]
        if self.time >= 1 << 31:
            raise Unsupported(f"its {self.time:,} steps are more than i32 counts")
        self.hidden = op.hidden_size
        self.element = x.element
        self.directions = 2 if op.direction == "bidirectional" else 1
        self.activations = _activations(op, defaults, self.directions)
        self.lengths = None if op.sequence_lens is None else build.convert(rw, op.sequence_lens, I32)

    def part(self, value: Value, direction: int) -> Value:
        """What belongs to a direction: [D, ..] without its first dimension, computed in the layer's type."""
        wide = build.convert(self.rw, value, self.element)
        return build.reshape(self.rw, build.cut(self.rw, wide, 0, direction, 1), static_shape(wide)[1:])

    def state(self, initial: Value | None, direction: int) -> Value:
        """The first state of a direction, [N, H]."""
        if initial is None:
            return build.filled(self.rw, (self.batch, self.hidden), self.element)
        value = build.transpose(self.rw, initial, (1, 0, 2)) if self.op.batch_first else initial
        return self.part(value, direction)

    def biases(self, direction: int) -> tuple[Value, Value]:
        """The bias of the input and that of the hidden state, [gates*H] each."""
        width = self.gates * self.hidden
        if self.op.bias is None:
            zeros = build.filled(self.rw, (width,), self.element)
            return zeros, zeros
        both = self.part(self.op.bias, direction)
        return build.cut(self.rw, both, 0, 0, width), build.cut(self.rw, both, 0, width, width)

    def clipped(self, rw: Builder, x: Value) -> Value:
        limit = self.op.clip
        return x if limit is None else clamp(rw, x, -limit, limit)

    def gate(self, rw: Builder, x: Value, index: int, count: int = 1) -> Value:
        """Gates from number `index` on, of [N, gates*H]."""
        return build.cut(rw, x, 1, index * self.hidden, count * self.hidden)

    def product(self, rw: Builder, x: Value, matrix: Value) -> Value:
        """`x @ matrix.T`: [.., K] by [M, K]."""
        return build.dot_general(rw, x, matrix, ((x.rank - 1,), (1,)))

    def _reversed(self, x: Value) -> Value:
        """[T, N, ..] with time turned round, of each sequence by itself."""
        if self.lengths is None:
            return build.reverse(self.rw, x, (0,))
        shape = static_shape(x)
        lengths = build.spread(self.rw, self.lengths, shape, (1,))
        return take_along(self.rw, x, reversed_places(self.rw, shape, 0, lengths), 0)

    def _step(self, rw: Builder, step: Step, inputs: Value, states: list[Value], time: Value) -> tuple[Value, list[Value]]:
        """The output and the states after a step; what is over keeps its states, and puts out zeros."""
        following = step(rw, inputs, states)
        if self.lengths is None:
            return following[0], following
        going = build.spread(rw, compare(rw, "LT", time, self.lengths), (self.batch, self.hidden), (0,))
        kept = [select(rw, going, new, old) for new, old in zip(following, states, strict=True)]
        return select(rw, going, following[0], 0), kept

    def _loop(self, inputs: Value, states: list[Value], step: Step) -> tuple[Value, list[Value]]:
        """All outputs, [T, N, H], and the last states."""
        rw, width = self.rw, static_shape(inputs)[2]
        row = (1, self.batch, self.hidden)
        if self.time == 0:
            return build.filled(rw, (0, self.batch, self.hidden), self.element), states
        if self.time <= UNROLLED:
            outputs = []
            for t in range(self.time):
                now = build.reshape(rw, build.cut(rw, inputs, 0, t, 1), (self.batch, width))
                output, states = self._step(rw, step, now, states, build.scalar(rw, t, I32))
                outputs.append(build.reshape(rw, output, row))
            return build.concat(rw, outputs, 0), states

        def body(inner: Builder, time: Value, outputs: Value, *current: Value) -> Sequence[Value]:
            zero = build.scalar(inner, 0, I32)
            now = inner.emit("stablehlo.dynamic_slice", inputs, time, zero, zero, slice_sizes=(1, self.batch, width))
            now = build.reshape(inner, now, (self.batch, width))
            output, following = self._step(inner, step, now, list(current), time)
            written = inner.emit(
                "stablehlo.dynamic_update_slice", outputs, build.reshape(inner, output, row), time, zero, zero)
            return [binary(inner, "add", time, 1), written, *following]

        first = [build.scalar(rw, 0, I32), build.filled(rw, (self.time, self.batch, self.hidden), self.element), *states]
        last = build.while_(rw, first, lambda inner, time, *_: compare(inner, "LT", time, self.time), body)
        return last[1], list(last[2:])

    def run(self, initial: Sequence[Value | None], make_step: Callable[[int, list[Function]], Step]) -> tuple[Value, ...]:
        """Y and the last states."""
        op, rw = self.op, self.rw
        every: list[Value] = []
        last: list[list[Value]] = []
        for direction in range(self.directions):
            backward = op.direction == "reverse" or direction == 1
            sequence = self._reversed(self.x) if backward else self.x
            inputs = self.product(rw, sequence, self.part(op.filter, direction))
            states = [self.state(value, direction) for value in initial]
            outputs, states = self._loop(inputs, states, make_step(direction, self.activations[direction]))
            outputs = self._reversed(outputs) if backward else outputs
            every.append(build.reshape(rw, outputs, (self.time, 1, self.batch, self.hidden)))
            last.append([build.reshape(rw, state, (1, self.batch, self.hidden)) for state in states])
        results: list[Value] = [build.concat(rw, every, 1), *(build.concat(rw, parts, 0) for parts in zip(*last, strict=True))]
        if op.batch_first:
            results = [build.transpose(rw, results[0], (2, 0, 1, 3)), *(build.transpose(rw, x, (1, 0, 2)) for x in results[1:])]
        return tuple(finish(rw, op, value, index) for index, value in enumerate(results))


def _sum(rw: Builder, *terms: Value) -> Value:
    total = terms[0]
    for term in terms[1:]:
        total = binary(rw, "add", total, term)
    return total


@TABLE("top.LSTM")
def lstm(op: LSTM, rw: Rewriter) -> tuple[Value, ...]:
    """Gates i, o, f, c: `c' = f*c + i*n`, `h' = o*tanh(c')`; peepholes add their part of the cell state."""
    layer = _Layer(op, rw, 4, ("sigmoid", "tanh", "tanh"))

    def make_step(direction: int, activations: list[Function]) -> Step:
        squash, candidate, out = activations
        matrix = layer.part(op.recurrence, direction)
        offset = binary(rw, "add", *layer.biases(direction))
        peep = None if op.peephole is None else layer.part(op.peephole, direction)

        def seen(inner: Builder, gate: Value, index: int, cell: Value) -> Value:
            if peep is None:
                return gate
            weights = build.cut(inner, peep, 0, index * layer.hidden, layer.hidden)
            return binary(inner, "add", gate, binary(inner, "multiply", cell, weights))

        def step(inner: Builder, inputs: Value, states: list[Value]) -> list[Value]:
            h, c = states
            gates = _sum(inner, inputs, layer.product(inner, h, matrix), offset)
            i, o, f, n = (layer.gate(inner, gates, index) for index in range(4))
            i = squash(inner, layer.clipped(inner, seen(inner, i, 0, c)))
            if op.input_forget:
                f = binary(inner, "subtract", 1, i)
            else:
                f = squash(inner, layer.clipped(inner, seen(inner, f, 2, c)))
            new = binary(inner, "multiply", i, candidate(inner, layer.clipped(inner, n)))
            c = binary(inner, "add", binary(inner, "multiply", f, c), new)
            o = squash(inner, layer.clipped(inner, seen(inner, o, 1, c)))
            return [binary(inner, "multiply", o, out(inner, c)), c]

        return step

    return layer.run([op.initial_h, op.initial_c], make_step)


@TABLE("top.GRU")
def gru(op: GRU, rw: Rewriter) -> tuple[Value, ...]:
    """Gates z, r, n: `h' = (1 - z)*n + z*h`."""
    layer = _Layer(op, rw, 3, ("sigmoid", "tanh"))
    hidden = layer.hidden

    def make_step(direction: int, activations: list[Function]) -> Step:
        squash, candidate = activations
        matrix = layer.part(op.recurrence, direction)
        for_gates, for_candidate = build.cut(rw, matrix, 0, 0, 2 * hidden), build.cut(rw, matrix, 0, 2 * hidden, hidden)
        of_input, of_hidden = layer.biases(direction)
        offset = build.cut(rw, binary(rw, "add", of_input, of_hidden), 0, 0, 2 * hidden)
        input_n, hidden_n = (build.cut(rw, bias, 0, 2 * hidden, hidden) for bias in (of_input, of_hidden))

        def step(inner: Builder, inputs: Value, states: list[Value]) -> list[Value]:
            h = states[0]
            gates = _sum(inner, layer.gate(inner, inputs, 0, 2), layer.product(inner, h, for_gates), offset)
            gates = squash(inner, layer.clipped(inner, gates))
            z, r = layer.gate(inner, gates, 0), layer.gate(inner, gates, 1)
            if op.linear_before_reset:
                state = binary(inner, "multiply", r, _sum(inner, layer.product(inner, h, for_candidate), hidden_n))
            else:
                state = _sum(inner, layer.product(inner, binary(inner, "multiply", r, h), for_candidate), hidden_n)
            n = candidate(inner, layer.clipped(inner, _sum(inner, layer.gate(inner, inputs, 2), input_n, state)))
            new = binary(inner, "multiply", binary(inner, "subtract", 1, z), n)
            return [binary(inner, "add", new, binary(inner, "multiply", z, h))]

        return step

    return layer.run([op.initial_h], make_step)


@TABLE("top.RNN")
def rnn(op: RNN, rw: Rewriter) -> tuple[Value, ...]:
    """`h' = tanh(W x + R h + b)`."""
    layer = _Layer(op, rw, 1, ("tanh",))

    def make_step(direction: int, activations: list[Function]) -> Step:
        matrix = layer.part(op.recurrence, direction)
        offset = binary(rw, "add", *layer.biases(direction))

        def step(inner: Builder, inputs: Value, states: list[Value]) -> list[Value]:
            total = _sum(inner, inputs, layer.product(inner, states[0], matrix), offset)
            return [activations[0](inner, layer.clipped(inner, total))]

        return step

    return layer.run([op.initial_h], make_step)
