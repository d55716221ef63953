"""Recurrent layers, with ONNX's semantics."""

from __future__ import annotations

from transload.ir.core import Op
from transload.ir.declare import (
    BOOLEAN,
    FLOAT,
    FLOATS,
    INT,
    INT_TENSOR,
    LIST,
    DeclaredOp,
    attribute,
    constraint,
    enum,
    operand,
    result,
)
from transload.ir.types import TensorType

from .base import REAL_TENSOR, TOP
from .infer import need_rank, unify
from .rounding import rounds

ACTIVATIONS = (
    "Affine", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "ScaledTanh", "Sigmoid", "Softplus", "Softsign", "Tanh",
    "ThresholdedRelu")
"""Names that `activations` may hold, ONNX's."""


def _default_direction(op: Op) -> str:
    return "bidirectional" if op.attributes.get("bidirectional", False) else "forward"


class Recurrent(DeclaredOp):
    """Base of the recurrent layers: sizes T (time), N (batch), I (input), H (hidden), D (directions, 1 or 2)."""

    input = operand("[T, N, I], or [N, T, I] with batch_first", type=REAL_TENSOR)
    filter = operand("weights of the input, [D, gates*H, I]", type=REAL_TENSOR)
    recurrence = operand("weights of the hidden state, [D, gates*H, H]", type=REAL_TENSOR)
    bias = operand("[D, 2*gates*H]: those of the input, then those of the hidden state", type=REAL_TENSOR, optional=True)
    initial_h = operand("[D, N, H], or [N, D, H] with batch_first; absent: zeros", type=REAL_TENSOR, optional=True)
    hidden_size = attribute(INT, "H")
    bidirectional = attribute(BOOLEAN, "whether there is a second layer that goes backward", default=False)
    direction = attribute(enum("forward", "reverse", "bidirectional"), "which way through time", default=_default_direction)
    batch_first = attribute(BOOLEAN, "whether the batch is the first dimension", default=False)
    activations = attribute(LIST, "names of the activation functions of each direction, as in ONNX", optional=True)
    activation_alpha = attribute(FLOATS, "alpha of those that have one, in order", optional=True)
    activation_beta = attribute(FLOATS, "beta of those that have one, in order", optional=True)
    clip = attribute(FLOAT, "bound of the absolute value of an activation's input; absent: none", optional=True)
    rounding = rounds("exact", "once")

    @constraint
    def directions_agree(op) -> bool:
        """bidirectional, where given, says the same as direction"""
        return "bidirectional" not in op.attributes or op.bidirectional == (op.direction == "bidirectional")

    @constraint
    def activations_are_known(op) -> bool | str:
        """activations are functions that ONNX names"""
        known = {name.lower() for name in ACTIVATIONS}
        wrong = [name for name in op.activations or () if not isinstance(name, str) or name.lower() not in known]
        return not wrong or f"{wrong} are not among {', '.join(ACTIVATIONS)}"


def _infer(op: GRU | LSTM | RNN, gates: int, states: tuple[str, ...]) -> list[TensorType]:
    """The types of Y and of the last states, after checking the operands against each other."""
    shape = need_rank(op, op.input, "the input", (3,)) or (None, None, None)
    time, batch, inputs = shape if not op.batch_first else (shape[1], shape[0], shape[2])
    directions = 2 if op.direction == "bidirectional" else 1
    hidden = op.hidden_size
    state = (directions, batch, hidden) if not op.batch_first else (batch, directions, hidden)
    for name, wanted in {
        "filter": (directions, gates * hidden, inputs), "recurrence": (directions, gates * hidden, hidden),
        "bias": (directions, 2 * gates * hidden), "peephole": (directions, 3 * hidden), "sequence_lens": (batch,),
        **dict.fromkeys(states, state),
    }.items():
        value = op.operand(name) if name in op.declaration.getters else None
        held = None if value is None else need_rank(op, value, name, (len(wanted),))
        for place, (a, b) in enumerate(zip(wanted, held or wanted, strict=True)):
            unify(op, a, b, f"dimension {place} of {name}")
    every = (time, directions, batch, hidden) if not op.batch_first else (batch, time, directions, hidden)
    element = op.input.element
    return [TensorType(every, element), *(TensorType(state, element) for _ in states)]


@TOP.op("LSTM")
class LSTM(Recurrent):
    """Long short-term memory (TPU-MLIR manual 13.1, LSTMOp; ONNX LSTM). Gates in the order i, o, f, c.

    `i, f, o = sigmoid(W x + R h + b (+ P c))`, `c' = f*c + i*tanh(W x + R h + b)`, `h' = o*tanh(c')`; the peephole of o
    sees c'.
    """

    initial_c = operand("as initial_h, of the cell state", type=REAL_TENSOR, optional=True)
    peephole = operand("[D, 3*H], for i, o, f; absent: zeros", type=REAL_TENSOR, optional=True)
    sequence_lens = operand("[N], how many steps each sequence has; absent: all", type=INT_TENSOR, optional=True)
    output = result("Y, the hidden states: [T, D, N, H], or [N, T, D, H] with batch_first")
    last_h = result("Y_h, the last hidden state: [D, N, H], or [N, D, H]")
    last_c = result("Y_c, the last cell state: as Y_h")
    input_forget = attribute(BOOLEAN, "whether f is 1 - i", default=False)

    def infer(op) -> list[TensorType]:
        return _infer(op, 4, ("initial_h", "initial_c"))


@TOP.op("GRU")
class GRU(Recurrent):
    """Gated recurrent unit (ONNX GRU; TPU-MLIR's top.GRU). Gates in the order z, r, h.

    `z, r = sigmoid(W x + R h + b)`, `n = tanh(W x + R (r*h) + b)` or, with linear_before_reset,
    `tanh(W x + Wb + r*(R h + Rb))`; `h' = (1 - z)*n + z*h`.
    """

    sequence_lens = operand("[N], how many steps each sequence has; absent: all", type=INT_TENSOR, optional=True)
    output = result("Y, the hidden states: [T, D, N, H], or [N, T, D, H] with batch_first")
    last_h = result("Y_h, the last hidden state: [D, N, H], or [N, D, H]")
    linear_before_reset = attribute(BOOLEAN, "whether r is applied after the product with R", default=False)

    def infer(op) -> list[TensorType]:
        return _infer(op, 3, ("initial_h",))


@TOP.op("RNN")
class RNN(Recurrent):
    """Simple recurrence, `h' = tanh(W x + R h + b)` (ONNX RNN, TFLite UNIDIRECTIONAL_SEQUENCE_RNN)."""

    sequence_lens = operand("[N], how many steps each sequence has; absent: all", type=INT_TENSOR, optional=True)
    output = result("Y, the hidden states: [T, D, N, H], or [N, T, D, H] with batch_first")
    last_h = result("Y_h, the last hidden state: [D, N, H], or [N, D, H]")

    def infer(op) -> list[TensorType]:
        return _infer(op, 1, ("initial_h",))
