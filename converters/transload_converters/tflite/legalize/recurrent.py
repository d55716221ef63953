"""Recurrent layers of floats. Their state starts with zeros in every run.

TFLite keeps the state of a recurrent operator from one run to the next, in variable tensors that are zero at first.
A compiled model has no memory between runs, so each run starts anew; a model that is fed a stream piece by
piece must take and give its state as inputs and outputs.

Sources: `tensorflow/lite/kernels/lstm.cc`, `lstm_eval.cc`, `unidirectional_sequence_lstm.cc`,
`bidirectional_sequence_lstm.cc`, `basic_rnn.cc`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, FloatType, Op, QuantType, Value
from transload.ir.core import is_absent
from transload.rewrite import Rewriter, RewriteTable

from .common import activate, is_float, limited, static_shape
from .recurrent_integer import integer_lstm
from .recurrent_steps import MOST_STEPS, Lstm, unrolled_lstm

TABLE = RewriteTable()

#: Operand numbers of the LSTM operators.
_W, _R, _P, _B = (1, 2, 3, 4), (5, 6, 7, 8), (9, 10, 11), (12, 13, 14, 15)
_PROJECTION, _PROJECTION_BIAS, _H, _C, _NORMS = 16, 17, 18, 19, (20, 21, 22, 23)

_ONNX_ACTIVATIONS = {"TANH": "Tanh", "RELU": "Relu", "NONE": "Affine"}


@TABLE("tfl.unidirectional_sequence_lstm")
def unidirectional_sequence_lstm(op: Op, rw: Rewriter) -> Value:
    """UNIDIRECTIONAL_SEQUENCE_LSTM: of floats, with float or quantized weights, or all of integers."""
    lstm = _lstm_of(op, rw, op.operands)
    if isinstance(lstm.value.element, QuantType):
        return integer_lstm(op, rw, lstm)
    if not isinstance(op.results[0].element, FloatType):
        raise Unsupported(
            f"it takes floats and gives {op.results[0].element}; LiteRT does not run that either",
            "convert the model again with 8-bit activations, or none of the quantization of activations")
    return _sequence(op, rw, lstm)


@TABLE("tfl.lstm")
def lstm(op: Op, rw: Rewriter) -> Any:
    """LSTM: one step."""
    step = _lstm_of(op, rw, op.operands, time_major=True)
    if not is_float(step.value):
        raise Unsupported("a single LSTM step of integers is not supported", "use UNIDIRECTIONAL_SEQUENCE_LSTM")
    step = dataclasses.replace(step, value=rw.emit("top.Unsqueeze", step.value, axes=(0,)))
    return [*[rw.none("top")] * (len(op.results) - 1), rw.emit("top.Squeeze", _sequence(op, rw, step), axes=(0,))]


@TABLE("tfl.bidirectional_sequence_lstm")
def bidirectional_sequence_lstm(op: Op, rw: Rewriter) -> Any:
    """BIDIRECTIONAL_SEQUENCE_LSTM: two layers, the second over the reversed sequence."""
    operands = op.operands
    if any(not is_absent(operand) for operand in operands[39:]):
        raise Unsupported("an auxiliary input is not supported")
    forward = _lstm_of(op, rw, (*operands[:18], *operands[35:37]))
    backward = _lstm_of(op, rw, (operands[0], *operands[18:35], *operands[37:39]))
    if not is_float(forward.value):
        raise Unsupported("a bidirectional LSTM of integers does not run in LiteRT either")
    outputs = (_sequence(op, rw, forward), _sequence(op, rw, dataclasses.replace(backward, reverse=True)))
    return rw.emit("top.Concat", *outputs, axis=-1) if op.attribute("merge_outputs") else outputs


def _lstm_of(op: Op, rw: Rewriter, operands: Sequence[Value], time_major: bool | None = None) -> Lstm:
    """The parts of an LSTM; those that are absent are None, a state of zeros too."""
    def part(index: int) -> Value | None:
        value = operands[index] if index < len(operands) else None
        return None if is_absent(value) else value

    def state(index: int) -> Value | None:
        value = part(index)
        held = rw.constant_of(value)
        zero = value.element.zero_points[0] if value is not None and isinstance(value.element, QuantType) else 0
        return None if held is not None and not np.any(held != zero) else value

    return Lstm(
        value=operands[0],
        weights=tuple(part(i) for i in _W), recurrent=tuple(part(i) for i in _R), peepholes=tuple(part(i) for i in _P),
        biases=tuple(part(i) for i in _B), norms=tuple(part(i) for i in _NORMS),
        projection=part(_PROJECTION), projection_bias=part(_PROJECTION_BIAS), state=state(_H), cell=state(_C),
        activation=op.attribute("fused_activation_function"), cell_clip=op.attribute("cell_clip"),
        projection_clip=op.attribute("proj_clip"),
        time_major=bool(op.attribute("time_major")) if time_major is None else time_major,
        reverse=False)


def _sequence(op: Op, rw: Rewriter, lstm: Lstm) -> Value:
    """The hidden states of a sequence of floats: one hub op where it can say it, else step by step."""
    lstm = _with_float_weights(rw, lstm)
    if lstm.projection is not None or lstm.cell_clip > 0 or any(lstm.norms) or lstm.activation not in _ONNX_ACTIVATIONS:
        return unrolled_lstm(op, rw, lstm)
    w_i, w_f, w_c, w_o = lstm.weights
    r_i, r_f, r_c, r_o = lstm.recurrent
    b_i, b_f, b_c, b_o = lstm.biases
    p_i, p_f, p_o = lstm.peepholes
    if w_i is None:
        # The input gate is 1 - sigmoid(z), z being the forget gate's sum; and that is sigmoid(-z).
        w_i, r_i, b_i = (rw.emit("top.Neg", part) for part in (w_f, r_f, b_f))  # type: ignore[misc]
        p_i = None if p_f is None else rw.emit("top.Neg", p_f)
    hidden = static_shape(r_o, "the recurrent weights", 2)[0]  # type: ignore[arg-type]
    zeros = rw.constant(np.zeros(hidden, np.float32))
    bias = rw.emit("top.Concat", *(part or zeros for part in (b_i, b_o, b_f, b_c)), *[zeros] * 4, axis=0)
    peephole = None
    if p_f is not None or p_o is not None:
        peephole = _directed(rw, rw.emit("top.Concat", *(part or zeros for part in (p_i, p_o, p_f)), axis=0))
    state, cell = (_state(rw, lstm, part) for part in (lstm.state, lstm.cell))
    activation = _ONNX_ACTIVATIONS[lstm.activation]
    affine: dict[str, Any] = {"activation_alpha": (1.0, 1.0), "activation_beta": (0.0, 0.0)} if activation == "Affine" else {}
    output, _, _ = rw.emit(
        "top.LSTM", lstm.value, _directed(rw, rw.emit("top.Concat", w_i, w_o, w_f, w_c, axis=0)),
        _directed(rw, rw.emit("top.Concat", r_i, r_o, r_f, r_c, axis=0)), _directed(rw, bias), state, cell, peephole,
        hidden_size=hidden, direction="reverse" if lstm.reverse else "forward", batch_first=not lstm.time_major,
        activations=None if activation == "Tanh" else ["Sigmoid", activation, activation], **affine)
    return rw.emit("top.Squeeze", output, axes=(1 if lstm.time_major else 2,))


def _with_float_weights(rw: Rewriter, lstm: Lstm) -> Lstm:
    """Quantized weights dequantized (LiteRT would quantize the activations instead, and differ a little)."""
    def real(part: Value | None) -> Value | None:
        return part if part is None or is_float(part) else rw.emit("top.Cast", part, element=F32)

    def all_real(parts: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        return tuple(map(real, parts))

    return dataclasses.replace(
        lstm, weights=all_real(lstm.weights), recurrent=all_real(lstm.recurrent), peepholes=all_real(lstm.peepholes),
        biases=all_real(lstm.biases), norms=all_real(lstm.norms), projection=real(lstm.projection))


def _directed(rw: Rewriter, value: Value) -> Value:
    """With the dimension of directions in front."""
    return rw.emit("top.Unsqueeze", value, axes=(0,))


def _state(rw: Rewriter, lstm: Lstm, state: Value | None) -> Value | None:
    """A first state with the dimension of directions where the hub has it."""
    return None if state is None else rw.emit("top.Unsqueeze", state, axes=(0 if lstm.time_major else 1,))


@TABLE("tfl.basic_lstm")
def basic_lstm(op: Op, rw: Rewriter) -> Any:
    """LSTM with the kernel BASIC: one step, its four gates in one product; gives its state and its inner sums, too."""
    value, activations, weights, bias, state = op.operands
    if not is_float(value):
        raise Unsupported("a basic LSTM step of integers is not supported")
    joined = rw.emit("top.Concat", value, activations, axis=-1)
    sums = rw.emit("top.MatMul", joined, weights, bias, right_transpose=True)
    size = static_shape(state, "the state", 2)[-1]
    input_gate, new, forget_gate, output_gate = rw.emit("top.Split", sums, axis=-1, split_size=(size,) * 4)
    kept = rw.emit("top.Mul", rw.emit("top.Sigmoid", forget_gate), state)
    added = rw.emit("top.Mul", rw.emit("top.Sigmoid", input_gate), rw.emit("top.Tanh", new))
    cell = rw.emit("top.Add", kept, added)
    output = rw.emit("top.Mul", rw.emit("top.Sigmoid", output_gate), rw.emit("top.Tanh", cell))
    return output, cell, joined, sums


@TABLE("tfl.unidirectional_sequence_rnn")
def unidirectional_sequence_rnn(op: Op, rw: Rewriter) -> Value:
    """UNIDIRECTIONAL_SEQUENCE_RNN: the state starts with zeros in every run."""
    return _rnn_sequence(op, rw, op.operands[1:4])


@TABLE("tfl.bidirectional_sequence_rnn")
def bidirectional_sequence_rnn(op: Op, rw: Rewriter) -> Any:
    """BIDIRECTIONAL_SEQUENCE_RNN: two layers, the second over the reversed sequence."""
    operands = op.operands
    if any(not is_absent(operand) for operand in operands[9:]):
        raise Unsupported("an auxiliary input is not supported")
    outputs = (_rnn_sequence(op, rw, operands[1:4]), _rnn_sequence(op, rw, operands[5:8], reverse=True))
    return rw.emit("top.Concat", *outputs, axis=-1) if op.attribute("merge_outputs") else outputs


def _rnn_sequence(op: Op, rw: Rewriter, parts: Sequence[Value], reverse: bool = False) -> Value:
    """The hidden states of a sequence, by weights [H, I], recurrent weights [H, H] and a bias [H]."""
    value, time_major = op.operands[0], bool(op.attribute("time_major"))
    weights, recurrent, bias = _float_rnn(rw, value, parts)
    activation = op.attribute("fused_activation_function")
    if activation not in _ONNX_ACTIVATIONS:
        return _unrolled_rnn(op, rw, weights, recurrent, bias, reverse)
    hidden = static_shape(recurrent, "the recurrent weights", 2)[0]
    both = rw.emit("top.Concat", bias, rw.constant(np.zeros(hidden, np.float32)), axis=0)
    name = _ONNX_ACTIVATIONS[activation]
    affine: dict[str, Any] = {"activation_alpha": (1.0,), "activation_beta": (0.0,)} if name == "Affine" else {}
    output, _ = rw.emit(
        "top.RNN", value, _directed(rw, weights), _directed(rw, recurrent), _directed(rw, both), hidden_size=hidden,
        direction="reverse" if reverse else "forward", batch_first=not time_major, activations=[name], **affine)
    return rw.emit("top.Squeeze", output, axes=(1 if time_major else 2,))


def _unrolled_rnn(op: Op, rw: Rewriter, weights: Value, recurrent: Value, bias: Value, reverse: bool) -> Value:
    """Step by step, for activations that the hub's op does not have."""
    value, axis = op.operands[0], 0 if op.attribute("time_major") else 1
    n_steps = limited(static_shape(value, "the input", 3)[axis], "the number of steps", MOST_STEPS)
    sums = rw.emit("top.MatMul", value, weights, bias, right_transpose=True)
    inputs = rw.emit("top.Unpack", sums, axis=axis) if n_steps > 1 else (rw.emit("top.Squeeze", sums, axes=(axis,)),)
    state: Value | None = None
    outputs: list[Value] = []
    for total in reversed(inputs) if reverse else inputs:
        if state is not None:
            total = rw.emit("top.Add", total, rw.emit("top.MatMul", state, recurrent, right_transpose=True))
        state = activate(rw, op, total, op.attribute("fused_activation_function"))
        outputs.append(state)
    return rw.emit("top.Pack", *(reversed(outputs) if reverse else outputs), axis=axis)


def _float_rnn(rw: Rewriter, value: Value, parts: Sequence[Value]) -> list[Value]:
    """Weights, recurrent weights and bias as floats."""
    if not is_float(value):
        raise Unsupported(f"a recurrent layer of {value.element} is not supported")
    return [part if is_float(part) else rw.emit("top.Cast", part, element=F32) for part in parts]


@TABLE("tfl.rnn")
def rnn(op: Op, rw: Rewriter) -> Value:
    """RNN: one step; the state starts with zeros, unless it is computed."""
    value, *parts, state = op.operands
    weights, recurrent, bias = _float_rnn(rw, value, parts)
    sums = rw.emit("top.MatMul", value, weights, bias, right_transpose=True)
    sums = rw.emit("top.Add", sums, rw.emit("top.MatMul", state, recurrent, right_transpose=True))
    return activate(rw, op, sums, op.attribute("fused_activation_function"))
