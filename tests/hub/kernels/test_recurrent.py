"""LSTM, GRU and RNN against onnxruntime and ONNX's reference, with every option."""

from __future__ import annotations

import numpy as np
import pytest

from transload.errors import ShapeError
from transload.ir import F32, TensorType

TIME, BATCH, INPUT, HIDDEN = 5, 3, 4, 6
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


@pytest.fixture
def operands(rng):
    """Operands of a layer by name, for any direction."""

    def make(kind, direction):
        d, g = 2 if direction == "bidirectional" else 1, GATES[kind]
        shapes = {
            "x": (TIME, BATCH, INPUT), "w": (d, g * HIDDEN, INPUT), "r": (d, g * HIDDEN, HIDDEN), "b": (d, 2 * g * HIDDEN),
            "h": (d, BATCH, HIDDEN), "c": (d, BATCH, HIDDEN), "p": (d, 3 * HIDDEN)}
        return {name: (rng.standard_normal(shape) * 0.7).astype(np.float32) for name, shape in shapes.items()}

    return make


def both(run_op, onnx_op, near, kind, v, lengths=None, onnx_attributes=None, use=("b", "h", "c", "p"), **attributes):
    """Compare the op with ONNX's; `use` says which optional operands are there."""
    onnx_attributes = {k: v for k, v in attributes.items() if k != "batch_first"} | (onnx_attributes or {})
    b, h, c, p = (v[name] if name in use else None for name in "bhcp")
    extra = (c, p) if kind == "LSTM" else ()
    n = 3 if kind == "LSTM" else 2
    expected = onnx_op(
        kind, v["x"], v["w"], v["r"], b, lengths, h, *extra, outputs=n, hidden_size=HIDDEN, **onnx_attributes)
    if attributes.get("batch_first"):
        x = np.ascontiguousarray(v["x"].swapaxes(0, 1))
        h, c = (None if s is None else np.ascontiguousarray(s.swapaxes(0, 1)) for s in (h, c))
        extra = (c, p) if kind == "LSTM" else ()
        expected = [np.moveaxis(expected[0], 2, 0), *(s.swapaxes(0, 1) for s in expected[1:])]
    else:
        x = v["x"]
    actual = run_op(kind, x, v["w"], v["r"], b, h, *extra, lengths, hidden_size=HIDDEN, **attributes)
    for a, e in zip(actual, expected, strict=True):
        near(a, e, 2e-5)
    return actual


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("batch_first", [False, True])
def test_directions(run_op, onnx_op, near, operands, kind, direction, batch_first):
    both(run_op, onnx_op, near, kind, operands(kind, direction), direction=direction, batch_first=batch_first)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("use", [(), ("b",), ("h",), ("b", "p"), ("c", "b")])
def test_absent_operands(run_op, onnx_op, near, operands, kind, use):
    both(run_op, onnx_op, near, kind, operands(kind, "forward"), use=use)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_lengths(run_op, onnx_op, near, operands, kind, direction):
    lengths = np.array([5, 2, 3], np.int32)
    both(run_op, onnx_op, near, kind, operands(kind, direction), lengths, direction=direction)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_gru_linear_before_reset(run_op, onnx_op, near, operands, direction):
    both(run_op, onnx_op, near, "GRU", operands("GRU", direction), direction=direction, linear_before_reset=True,
         onnx_attributes={"linear_before_reset": 1})


@pytest.mark.parametrize("kind", GATES)
def test_clip(run_op, onnx_op, near, operands, kind):
    both(run_op, onnx_op, near, kind, operands(kind, "forward"), clip=0.3, use=("b", "h", "c"))


def test_lstm_input_forget(run_op, onnx_op, near, operands):
    both(run_op, onnx_op, near, "LSTM", operands("LSTM", "forward"), input_forget=True, onnx_attributes={"input_forget": 1},
         use=("b", "h", "c"))


@pytest.mark.parametrize(("kind", "activations", "parameters"), [
    ("RNN", ["Relu"], {}),
    ("RNN", ["LeakyRelu"], {"activation_alpha": (0.3,)}),
    ("RNN", ["Softsign"], {}),
    ("RNN", ["HardSigmoid"], {"activation_alpha": (0.3,), "activation_beta": (0.4,)}),
    ("GRU", ["HardSigmoid", "Softsign"], {}),
    ("GRU", ["Sigmoid", "ScaledTanh"], {"activation_alpha": (0.9,), "activation_beta": (0.8,)}),
    ("LSTM", ["HardSigmoid", "Softsign", "Relu"], {}),
    ("LSTM", ["Sigmoid", "Elu", "Tanh"], {"activation_alpha": (0.5,)}),
])
def test_activations(run_op, onnx_op, near, operands, kind, activations, parameters):
    both(run_op, onnx_op, near, kind, operands(kind, "forward"), activations=activations, use=("b",), **parameters)


def test_activations_of_both_directions(run_op, onnx_op, near, operands):
    both(run_op, onnx_op, near, "RNN", operands("RNN", "bidirectional"), direction="bidirectional",
         activations=["LeakyRelu", "ThresholdedRelu"], activation_alpha=(0.3, 0.1))


def test_bidirectional_is_another_name(run_op, operands):
    v = operands("LSTM", "bidirectional")
    args = (v["x"], v["w"], v["r"])
    one = run_op("LSTM", *args, hidden_size=HIDDEN, bidirectional=True)
    other = run_op("LSTM", *args, hidden_size=HIDDEN, direction="bidirectional")
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_operands_that_do_not_fit(make_op):
    x, w, r = (TensorType(shape, F32) for shape in ((5, 3, 4), (1, 24, 4), (1, 24, 6)))
    with pytest.raises(ShapeError, match="dimension 1 of filter"):
        make_op("top.GRU", [x, w, r], hidden_size=6)
    with pytest.raises(ShapeError, match="dimension 0 of filter"):
        make_op("top.LSTM", [x, w, r], hidden_size=6, direction="bidirectional")
