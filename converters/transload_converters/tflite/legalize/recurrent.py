"""Recurrent layers of floats. Where their state comes from and goes to is said in `state`.

Sources: `tensorflow/lite/kernels/lstm.cc`, `lstm_eval.cc`, `unidirectional_sequence_lstm.cc`,
`bidirectional_sequence_lstm.cc`, `bidirectional_sequence_rnn.cc`, `basic_rnn.cc`, `kernel_utils.cc`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, FloatType, Op, QuantType, Value
from transload.ir.core import is_absent
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables

from .common import activate, is_hybrid, limited, static_shape
from .hybrid import products, real
from .recurrent_integer import integer_lstm
from .recurrent_legacy import integer_step
from .recurrent_steps import MOST_STEPS, Layer, Lstm, unrolled_lstm
from .state import is_zero, n_states

TABLE = RewriteTable()

#: Operand numbers of the LSTM operators.
_W, _R, _P, _B = (1, 2, 3, 4), (5, 6, 7, 8), (9, 10, 11), (12, 13, 14, 15)
_PROJECTION, _PROJECTION_BIAS, _H, _C, _NORMS = 16, 17, 18, 19, (20, 21, 22, 23)

_ONNX_ACTIVATIONS = {"TANH": "Tanh", "RELU": "Relu", "NONE": "Affine"}


@TABLE("tfl.unidirectional_sequence_lstm")
def unidirectional_sequence_lstm(op: Op, rw: Rewriter) -> Any:
    """UNIDIRECTIONAL_SEQUENCE_LSTM: of floats, with float or quantized weights, or all of integers."""
    lstm = _lstm_of(op, rw, op.operands)
    if isinstance(lstm.value.element, QuantType):
        return integer_lstm(op, rw, lstm).results(n_states(op))
    lstm = dataclasses.replace(lstm, recurrent=tuple(_matrix(rw, part) for part in lstm.recurrent))
    if not isinstance(op.results[0].element, FloatType):
        raise Unsupported(
            f"it takes floats and gives {op.results[0].element}; LiteRT does not run that either",
            "convert the model again with 8-bit activations, or none of the quantization of activations")
    return _sequence(op, rw, lstm).results(n_states(op))


@TABLE("tfl.lstm")
def lstm(op: Op, rw: Rewriter) -> Any:
    """LSTM: one step. Its last result is the output; the others are scratch."""
    step = _lstm_of(op, rw, op.operands, time_major=True)
    step = dataclasses.replace(step, value=rw.emit("top.Unsqueeze", step.value, axes=(0,), element=step.value.element))
    layer = integer_lstm(op, rw, step) if not step.value.is_float else _sequence(op, rw, step)
    output = rw.emit("top.Squeeze", layer.outputs, axes=(0,), element=layer.outputs.element)
    scratch = len(op.results) - n_states(op) - 1
    return [*[rw.none("top")] * scratch, output, *layer.results(n_states(op))[1:]]


@TABLE("tfl.bidirectional_sequence_lstm")
def bidirectional_sequence_lstm(op: Op, rw: Rewriter) -> Any:
    """BIDIRECTIONAL_SEQUENCE_LSTM: two layers, the second over the reversed sequence.

    An auxiliary input with weights is added to what both see; one without is what the second layer sees.
    """
    operands = op.operands
    value, aux = operands[0], _present(operands, 39)
    forward = _lstm_of(op, rw, (*operands[:18], *operands[35:37]))
    backward = dataclasses.replace(_lstm_of(op, rw, (value, *operands[18:35], *operands[37:39])), reverse=True)
    if not value.is_float:
        raise Unsupported("a bidirectional LSTM of integers does not run in LiteRT either")
    weights = [tuple(_present(operands, i) for i in range(first, first + 4)) for first in (40, 44)]
    if aux is not None and weights[0][1] is not None:
        forward, backward = (
            dataclasses.replace(each, aux=aux, aux_weights=own) for each, own in zip((forward, backward), weights, strict=True))
    elif aux is not None:
        backward = dataclasses.replace(backward, value=aux)
    return _both(op, rw, _sequence(op, rw, forward), _sequence(op, rw, backward))


def _both(op: Op, rw: Rewriter, forward: Layer, backward: Layer) -> list[Value]:
    """The outputs of two directions, side by side where they are to be merged, and the states."""
    outputs = [forward.outputs, backward.outputs]
    if op.attribute("merge_outputs"):
        outputs = [rw.emit("top.Concat", *outputs, axis=-1)]
        # Files may keep a second result, which nothing computes.
        others = op.results[1:len(op.results) - n_states(op)]
        if any(other.uses for other in others):
            raise Unsupported("its second output is asked for, and where outputs are merged nothing computes that")
        outputs += [rw.none("top")] * len(others)
    if len(outputs) != len(op.results) - n_states(op):
        raise Unsupported(f"gives {len(outputs)} sequences, and the file has tensors for {len(op.results) - n_states(op)}")
    return [*outputs, *forward.results(n_states(op))[1:], *backward.results(n_states(op))[1:]]


def _present(operands: Sequence[Value], index: int) -> Value | None:
    """An operand, or None where it is left out."""
    value = operands[index] if index < len(operands) else None
    return None if is_absent(value) else value


def _lstm_of(op: Op, rw: Rewriter, operands: Sequence[Value], time_major: bool | None = None) -> Lstm:
    """The parts of an LSTM; those that are absent are None, a state of zeros too."""
    def parts(indices: Sequence[int]) -> tuple[Value | None, ...]:
        return tuple(_present(operands, index) for index in indices)

    if operands[0].is_float and op.attribute("fused_activation_function") == "NONE":
        raise Unsupported("an LSTM without activation: LiteRT leaves unwritten what it would multiply the output gate by",
                          "give it TANH")
    missing = [name for gate, name in enumerate(("forget", "cell", "output"), 1)
               if _present(operands, _W[gate]) is None or _present(operands, _R[gate]) is None]
    if missing:
        raise Unsupported(f"has no weights for {', '.join(missing)} gates: the input gate alone may be left out",
                          "the file breaks a rule of LiteRT's")
    norms = [value is not None for value in parts(_NORMS)][0 if _present(operands, _W[0]) is not None else 1:]
    if any(norms) and not all(norms):
        raise Unsupported("has coefficients of a layer normalization for some of its gates alone",
                          "the file breaks a rule of LiteRT's")
    return Lstm(
        value=operands[0], weights=parts(_W), recurrent=parts(_R), peepholes=parts(_P), biases=parts(_B), norms=parts(_NORMS),
        projection=_present(operands, _PROJECTION), projection_bias=_present(operands, _PROJECTION_BIAS),
        state=_first_state(rw, _present(operands, _H)), cell=_first_state(rw, _present(operands, _C)),
        activation=op.attribute("fused_activation_function"), cell_clip=op.attribute("cell_clip"),
        projection_clip=op.attribute("proj_clip"),
        time_major=bool(op.attribute("time_major")) if time_major is None else time_major,
        reverse=False)


def _matrix(rw: Rewriter, weights: Value | None) -> Value | None:
    """Recurrent weights; a vector of them is the diagonal of a matrix, whatever the option `diagonal_recurrent_tensors` says."""
    if weights is None or weights.rank != 1:
        return weights
    if weights.is_quantized:
        raise Unsupported("a diagonal of quantized recurrent weights is not supported: what LiteRT computes of it is no product "
                          "with a diagonal matrix", "leave the recurrent weights as floats, or write the matrices out")
    size = limited(static_shape(weights, "the recurrent weights", 1)[0], "the size of a diagonal", 1 << 12)
    zero = rw.constant(np.zeros((), np.float32))
    return rw.emit("top.Where", rw.constant(tables.eye(size, dtype=np.bool_), element=BOOL), _directed(rw, weights), zero)


def _first_state(rw: Rewriter, state: Value | None) -> Value | None:
    """A first state, or None where it is known to be zeros."""
    return None if state is None or is_zero(rw, state) else state


def _sequence(op: Op, rw: Rewriter, lstm: Lstm) -> Layer:
    """A layer of floats: one hub op where it can say it, else step by step."""
    hybrid = any(part is not None and is_hybrid(lstm.value, part) for part in lstm.weights + lstm.recurrent)
    simple = lstm.projection is None and lstm.cell_clip <= 0 and not any(lstm.norms) and lstm.aux is None
    if hybrid or not simple or lstm.activation not in _ONNX_ACTIVATIONS:
        return unrolled_lstm(op, rw, lstm)
    lstm = _with_float_weights(rw, lstm)
    w_i, w_f, w_c, w_o = lstm.weights
    r_i, r_f, r_c, r_o = lstm.recurrent
    b_i, b_f, b_c, b_o = lstm.biases
    p_i, p_f, p_o = lstm.peepholes
    hidden = static_shape(r_o, "the recurrent weights", 2)[0]
    zeros = rw.constant(tables.zeros(hidden, np.float32))
    if w_i is None:
        # The input gate is 1 - sigmoid(z), z being the forget gate's sum; and that is sigmoid(-z).
        w_i, r_i, b_i = (rw.emit("top.Neg", part) for part in (w_f, r_f, b_f or zeros))
        p_i = None if p_f is None else rw.emit("top.Neg", p_f)
    bias = rw.emit("top.Concat", *(part or zeros for part in (b_i, b_o, b_f, b_c)), *[zeros] * 4, axis=0)
    peephole = None
    if p_f is not None or p_o is not None:
        peephole = _directed(rw, rw.emit("top.Concat", *(part or zeros for part in (p_i, p_o, p_f)), axis=0))
    state, cell = (_state(rw, lstm.time_major, part) for part in (lstm.state, lstm.cell))
    activation = _ONNX_ACTIVATIONS[lstm.activation]
    affine: dict[str, Any] = {"activation_alpha": (1.0, 1.0), "activation_beta": (0.0, 0.0)} if activation == "Affine" else {}
    made = rw.emit(
        "top.LSTM", lstm.value, _directed(rw, rw.emit("top.Concat", w_i, w_o, w_f, w_c, axis=0)),
        _directed(rw, rw.emit("top.Concat", r_i, r_o, r_f, r_c, axis=0)), _directed(rw, bias), state, cell, peephole,
        hidden_size=hidden, direction="reverse" if lstm.reverse else "forward", batch_first=not lstm.time_major,
        activations=None if activation == "Tanh" else ["Sigmoid", activation, activation], **affine)
    return _layer(op, rw, made, lstm.time_major)


def _layer(op: Op, rw: Rewriter, made: Sequence[Value], time_major: bool) -> Layer:
    """The results of a hub op without the dimension of directions; states only where they are asked for."""
    outputs = rw.emit("top.Squeeze", made[0], axes=(1 if time_major else 2,))
    if not n_states(op):
        return Layer(outputs, outputs)
    last = [rw.emit("top.Squeeze", value, axes=(0 if time_major else 1,)) for value in made[1:]]
    return Layer(outputs, *last)


def _with_float_weights(rw: Rewriter, lstm: Lstm) -> Lstm:
    """Quantized weights dequantized."""
    def floats(parts: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        return tuple(None if part is None else real(rw, part) for part in parts)

    return dataclasses.replace(
        lstm, weights=floats(lstm.weights), recurrent=floats(lstm.recurrent), peepholes=floats(lstm.peepholes),
        biases=floats(lstm.biases))


def _directed(rw: Rewriter, value: Value) -> Value:
    """With the dimension of directions in front."""
    return rw.emit("top.Unsqueeze", value, axes=(0,))


def _state(rw: Rewriter, time_major: bool, state: Value | None) -> Value | None:
    """A first state with the dimension of directions where the hub has it."""
    return None if state is None else rw.emit("top.Unsqueeze", state, axes=(0 if time_major else 1,))


@TABLE("tfl.basic_lstm")
def basic_lstm(op: Op, rw: Rewriter) -> Any:
    """LSTM with the kernel BASIC: one step, its four gates in one product; gives its state and its inner sums, too."""
    if len(op.operands) != 5:
        raise Unsupported(f"an LSTM with the kernel BASIC has 5 operands, and here are {len(op.operands)}")
    if len(op.results) > 4:
        raise Unsupported(f"an LSTM with the kernel BASIC has 4 results, and here are {len(op.results)}")
    value, activations, weights, bias, state = op.operands
    if not value.is_float:
        return integer_step(op, rw)
    joined = rw.emit("top.Concat", value, activations, axis=-1)
    sums = rw.emit("top.MatMul", joined, weights, bias, right_transpose=True)
    size = static_shape(state, "the state", 2)[-1]
    input_gate, new, forget_gate, output_gate = rw.emit("top.Split", sums, axis=-1, split_size=(size,) * 4)
    kept = rw.emit("top.Mul", rw.emit("top.Sigmoid", forget_gate), state)
    added = rw.emit("top.Mul", rw.emit("top.Sigmoid", input_gate), rw.emit("top.Tanh", new))
    cell = rw.emit("top.Add", kept, added)
    output = rw.emit("top.Mul", rw.emit("top.Sigmoid", output_gate), rw.emit("top.Tanh", cell))
    return output, cell, joined, sums


@dataclasses.dataclass(frozen=True)
class _Rnn:
    """The operands of a plain recurrent layer: weights [H, I], recurrent weights [H, H], a bias [H], a first state [N, H]."""

    value: Value
    weights: Value
    recurrent: Value
    bias: Value
    state: Value | None
    aux: Value | None = None
    aux_weights: Value | None = None
    reverse: bool = False


def _rnn_of(op: Op, rw: Rewriter, first: int) -> _Rnn:
    if len(op.operands) < first + 4:
        raise Unsupported(f"it has {len(op.operands)} operands, and needs {first + 4} at least")
    value, (weights, recurrent, bias, state) = op.operands[0], op.operands[first : first + 4]
    if not value.is_float:
        raise Unsupported(f"a recurrent layer of {value.element} is not supported")
    hidden = static_shape(weights, "the weights", 2)[0]
    if recurrent.shape != (hidden, hidden):
        raise Unsupported(f"the recurrent weights of {hidden} units are {recurrent.type}, not {hidden}x{hidden}")
    return _Rnn(value, weights, recurrent, bias, _first_state(rw, state))


@TABLE("tfl.unidirectional_sequence_rnn")
def unidirectional_sequence_rnn(op: Op, rw: Rewriter) -> Any:
    """UNIDIRECTIONAL_SEQUENCE_RNN."""
    return _rnn_sequence(op, rw, _rnn_of(op, rw, 1)).results(n_states(op))


@TABLE("tfl.bidirectional_sequence_rnn")
def bidirectional_sequence_rnn(op: Op, rw: Rewriter) -> Any:
    """BIDIRECTIONAL_SEQUENCE_RNN: two layers, the second over the reversed sequence; an auxiliary input as with the LSTM.

    Where the batch comes first, LiteRT's kernel hands the input to both layers, and an auxiliary input without weights
    to none.
    """
    forward, backward = _rnn_of(op, rw, 1), dataclasses.replace(_rnn_of(op, rw, 5), reverse=True)
    aux, own, other = (_present(op.operands, index) for index in (9, 10, 11))
    if aux is not None and own is not None:
        forward = dataclasses.replace(forward, aux=aux, aux_weights=own)
        backward = dataclasses.replace(backward, aux=aux, aux_weights=other)
    elif aux is not None and op.attribute("time_major"):
        backward = dataclasses.replace(backward, value=aux)
    return _both(op, rw, _rnn_sequence(op, rw, forward), _rnn_sequence(op, rw, backward))


def _rnn_sequence(op: Op, rw: Rewriter, rnn: _Rnn) -> Layer:
    """A layer: one hub op where it can say it, else step by step."""
    time_major = bool(op.attribute("time_major"))
    activation = op.attribute("fused_activation_function")
    if is_hybrid(rnn.value, rnn.weights) or activation not in _ONNX_ACTIVATIONS or rnn.aux is not None:
        return _unrolled_rnn(op, rw, rnn, 0 if time_major else 1)
    hidden = static_shape(rnn.recurrent, "the recurrent weights", 2)[0]
    both = rw.emit("top.Concat", rnn.bias, rw.constant(tables.zeros(hidden, np.float32)), axis=0)
    name = _ONNX_ACTIVATIONS[activation]
    affine: dict[str, Any] = {"activation_alpha": (1.0,), "activation_beta": (0.0,)} if name == "Affine" else {}
    made = rw.emit(
        "top.RNN", rnn.value, _directed(rw, real(rw, rnn.weights)), _directed(rw, real(rw, rnn.recurrent)), _directed(rw, both),
        _state(rw, time_major, rnn.state), hidden_size=hidden, direction="reverse" if rnn.reverse else "forward",
        batch_first=not time_major, activations=[name], **affine)
    return _layer(op, rw, made, time_major)


def _unrolled_rnn(op: Op, rw: Rewriter, rnn: _Rnn, axis: int) -> Layer:
    """Step by step, for activations that the hub's op does not have, and for integer weights."""
    n_steps = limited(static_shape(rnn.value, "the input", 3)[axis], "the number of steps", MOST_STEPS)
    if n_steps < 1:
        raise Unsupported("a sequence of no steps is not supported")
    sums = _rnn_inputs(op, rw, rnn)
    inputs = rw.emit("top.Unpack", sums, axis=axis) if n_steps > 1 else (rw.emit("top.Squeeze", sums, axes=(axis,)),)
    state = rnn.state
    outputs: list[Value] = []
    for total in reversed(inputs) if rnn.reverse else inputs:
        state = _rnn_step(op, rw, rnn, total, state)
        outputs.append(state)
    return Layer(rw.emit("top.Pack", *(reversed(outputs) if rnn.reverse else outputs), axis=axis), outputs[-1])


def _rnn_inputs(op: Op, rw: Rewriter, rnn: _Rnn) -> Value:
    """The bias and what the inputs give, of all steps."""
    sums = rw.emit("top.Add", products(op, rw, rnn.value, [rnn.weights]), rnn.bias)
    if rnn.aux is None or rnn.aux_weights is None:
        return sums
    return rw.emit("top.Add", sums, products(op, rw, rnn.aux, [rnn.aux_weights]))


def _rnn_step(op: Op, rw: Rewriter, rnn: _Rnn, total: Value, state: Value | None) -> Value:
    """The next state; a state of None is one of zeros, which adds nothing."""
    if state is not None:
        total = rw.emit("top.Add", total, products(op, rw, state, [rnn.recurrent]))
    return activate(rw, op, total, op.attribute("fused_activation_function"))


@TABLE("tfl.rnn")
def rnn(op: Op, rw: Rewriter) -> Any:
    """RNN: one step."""
    layer = _rnn_of(op, rw, 1)
    state = _rnn_step(op, rw, layer, _rnn_inputs(op, rw, layer), layer.state)
    return Layer(state, state).results(n_states(op))
