"""Recurrent operators against LiteRT: all forms of the LSTM, plain recurrence, SVDF."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.api import legalize
from transload.errors import ConversionError
from transload.ir import Module
from transload.ir.build import Builder

from tests.support.tflite_models import read_bytes

T, N, I, H, P = 4, 2, 3, 5, 4
RNG = np.random.default_rng(3)


def floats(*shape: int) -> tuple[Any, ...]:
    return (shape, "float32", RNG.uniform(-0.9, 0.9, shape).astype(np.float32))


def state(*shape: int) -> tuple[Any, ...]:
    return (shape, "float32", "variable")


def lstm_operands(
    cifg: bool = False,
    peephole: bool = False,
    projection: bool = False,
    norm: bool = False,
    time_major: bool = False,
) -> list[Any]:
    """Operands of UNIDIRECTIONAL_SEQUENCE_LSTM in the schema's order."""
    out = P if projection else H
    value = ((T, N, I) if time_major else (N, T, I), "float32")
    gates = [None if cifg and gate == 0 else floats(H, I) for gate in range(4)]
    recurrent = [None if cifg and gate == 0 else floats(H, out) for gate in range(4)]
    peepholes = [floats(H) if peephole and not (cifg and gate == 0) else None for gate in range(3)]
    biases = [None if cifg and gate == 0 else floats(H) for gate in range(4)]
    projections = [floats(P, H), floats(P)] if projection else [None, None]
    norms = [None if cifg and gate == 0 else floats(H) for gate in range(4)] if norm else []
    return [value, *gates, *recurrent, *peepholes, *biases, *projections, state(N, out), state(N, H), *norms]


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"time_major": True},
        {"cifg": True},
        {"peephole": True},
        {"cifg": True, "peephole": True},
        {"projection": True},
        {"norm": True},
        {"norm": True, "projection": True, "peephole": True, "cifg": True},
    ],
    ids=lambda form: "-".join(form) or "plain",
)
@pytest.mark.parametrize("clip", [0.0, 0.4])
def test_lstm(form: dict[str, bool], clip: float, write: Callable[..., bytes], judge: Callable[..., Module]) -> None:
    time_major = form.get("time_major", False)
    shape = (T, N) if time_major else (N, T)
    options = {"time_major": time_major, "cell_clip": clip, "proj_clip": clip, "fused_activation_function": "TANH"}
    content = write(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        lstm_operands(**form),
        [((*shape, P if form.get("projection") else H), "float32")],
        options,
        version=3,
    )
    hub = judge(content, tolerance=1e-5)
    whole = any(op.name == "top.LSTM" for op in hub.ops())
    assert whole == (not clip and "projection" not in form and "norm" not in form)


def bidirectional(merge: bool) -> tuple[list[Any], list[Any]]:
    """Merged outputs are tried with time first: LiteRT leaves part of them zero where the batch is first."""
    shape = (T, N) if merge else (N, T)

    def direction() -> list[Any]:
        return [
            *(floats(H, I) for _ in range(4)),
            *(floats(H, H) for _ in range(4)),
            None,
            None,
            None,
            *(floats(H) for _ in range(4)),
            None,
            None,
        ]

    operands = [((*shape, I), "float32"), *direction(), *direction(), *(state(N, H) for _ in range(4)), *[None] * 9]
    outputs = [((*shape, 2 * H), "float32")] if merge else [((*shape, H), "float32")] * 2
    return operands, outputs


@pytest.mark.parametrize("merge", [False, True])
def test_bidirectional_lstm(merge: bool, write: Callable[..., bytes], judge: Callable[..., Module]) -> None:
    operands, outputs = bidirectional(merge)
    options = {"merge_outputs": merge, "time_major": merge, "fused_activation_function": "TANH"}
    judge(write("BIDIRECTIONAL_SEQUENCE_LSTM", operands, outputs, options, version=3), tolerance=1e-5)


def test_merged_outputs_are_one(write: Callable[..., bytes], load: Callable[..., Module]) -> None:
    operands, outputs = bidirectional(True)
    options = {"merge_outputs": True, "time_major": True, "fused_activation_function": "TANH"}
    with pytest.raises(ConversionError, match="its second output is asked for"):
        legalize(load(write("BIDIRECTIONAL_SEQUENCE_LSTM", operands, outputs * 2, options, version=3)))


def test_single_step_lstm(write: Callable[..., bytes], judge: Callable[..., Module]) -> None:
    _, *rest = lstm_operands()
    operands = [((N, I), "float32"), *rest[:17], state(N, H), state(N, H)]
    judge(write("LSTM", operands, [((N, H), "float32")], {"fused_activation_function": "TANH"}, version=2), tolerance=1e-5)


def test_basic_lstm(write: Callable[..., bytes], judge: Callable[..., Module]) -> None:
    operands = [((N, I), "float32"), ((N, H), "float32"), floats(4 * H, I + H), floats(4 * H), ((N, H), "float32")]
    outputs = [((N, H), "float32"), ((N, H), "float32"), ((N, I + H), "float32"), ((N, 4 * H), "float32")]
    options = {"kernel_type": "BASIC", "fused_activation_function": "TANH"}
    judge(write("LSTM", operands, outputs, options, version=2), tolerance=1e-5)


@pytest.mark.parametrize("activation", ["TANH", "RELU", "NONE"])
@pytest.mark.parametrize("time_major", [False, True])
def test_rnn_sequence(activation: str, time_major: bool, write: Callable[..., bytes], judge: Callable[..., Module]) -> None:
    shape = (T, N) if time_major else (N, T)
    operands = [((*shape, I), "float32"), floats(H, I), floats(H, H), floats(H), state(N, H)]
    options = {"time_major": time_major, "fused_activation_function": activation}
    judge(write("UNIDIRECTIONAL_SEQUENCE_RNN", operands, [((*shape, H), "float32")], options), tolerance=1e-5)


def test_rnn_step(write: Callable[..., bytes], judge: Callable[..., Module]) -> None:
    operands = [((N, I), "float32"), floats(H, I), floats(H, H), floats(H), state(N, H)]
    judge(write("RNN", operands, [((N, H), "float32")], {"fused_activation_function": "RELU6"}), tolerance=1e-5)


@pytest.mark.parametrize("rank", [1, 2])
def test_svdf(rank: int, write: Callable[..., bytes], judge: Callable[..., Module]) -> None:
    units, memory = 3, 4
    operands = [
        ((N, I), "float32"),
        floats(units * rank, I),
        floats(units * rank, memory),
        floats(units),
        state(N, units * rank * memory),
    ]
    options = {"rank": rank, "fused_activation_function": "RELU"}
    judge(write("SVDF", operands, [((N, units), "float32")], options), tolerance=1e-5)


def test_svdf_of_integers(write: Callable[..., bytes], judge: Callable[..., Module]) -> None:
    units, rank, memory = 3, 2, 4
    filters = units * rank

    def weights(shape: tuple[int, ...], dtype: str, limit: int, scale: float) -> tuple[Any, ...]:
        return (shape, dtype, RNG.integers(-limit, limit, shape).astype(dtype), ([scale], [0]))

    state_type = ((N, filters * memory), "int16", None, ([2.0**-10], [0]), "variable")
    operands = [
        ((N, I), "int8", None, ([0.02], [3])),
        weights((filters, I), "int8", 127, 0.01),
        weights((filters, memory), "int16", 5000, 2.0**-12),
        weights((units,), "int32", 50000, 2.0**-22),
        state_type,
    ]
    content = write(
        "SVDF",
        operands,
        [((N, units), "int8", None, ([0.03], [-5]))],
        {"rank": rank, "fused_activation_function": "RELU"},
        version=3,
    )
    judge(content, steps=1)


def test_lstm_of_integers(models: Any, judge: Callable[..., Module]) -> None:
    content = (models / "tflite/tflm_mnist_lstm_int8/trained_lstm_int8.tflite").read_bytes()
    judge(content, steps=1)


def test_a_state_that_is_dequantized_is_written_as_one(write: Callable[..., bytes], litert: Any, tmp_path: Path) -> None:
    """As files with weights of 16 bits have it; LiteRT's kernel asks for a variable."""
    content = write("UNIDIRECTIONAL_SEQUENCE_LSTM", lstm_operands(), [((N, T, H), "float32")],
                    {"fused_activation_function": "TANH"}, version=3)
    module = read_bytes(content)
    for op in [op for op in module.body_of_main if op.attribute("is_variable", False)]:
        build = Builder(op.parent, op)
        halves = build.constant(np.zeros(op.result.static_shape, np.float16), dialect="tfl")
        op.replace_with([build.emit("tfl.dequantize", halves, types=[op.result.type])])
    transload.save(module, tmp_path / "m.tflite")
    x = RNG.normal(size=(N, T, I)).astype(np.float32)
    (name,) = module.inputs
    made, wanted = (litert(each, {name: x})[0] for each in ((tmp_path / "m.tflite").read_bytes(), content))
    np.testing.assert_allclose(made, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("operator", "operands", "place"), [
    ("UNIDIRECTIONAL_SEQUENCE_LSTM", lstm_operands(), 13), ("UNIDIRECTIONAL_SEQUENCE_RNN", [
        ((N, T, I), "float32"), floats(H, I), floats(H, H), floats(H), state(N, H)], 3)])
def test_a_bias_that_is_no_float_is_refused(operator: str, operands: list[Any], place: int, write: Callable[..., bytes]) -> None:
    """LiteRT's kernels read floats there, beyond the end of the bytes."""
    operands[place] = ((H,), "uint8", np.zeros(H, np.uint8))
    content = write(operator, operands, [((N, T, H), "float32")], {"fused_activation_function": "TANH"}, version=3)
    with pytest.raises(ConversionError, match=f"its bias, operand {place}, is stored as ui8"):
        legalize(read_bytes(content))
