"""The option `hybrid`: integer weights with float activations, as LiteRT computes them, and in floats with a bound."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transload import convert
from transload.api import legalize, load, lower, run
from transload.ir import F32, Dense, Op
from transload.verification.bounds import check_bounds
from transload_converters.tflite.runtime import open_model

T, N, I, H, P = 4, 2, 6, 5, 3
random = np.random.default_rng(7)


def floats(*shape: int) -> tuple[Any, ...]:
    return shape, "float32", random.normal(0, 0.5, shape).astype(np.float32)


def integers(*shape: int, scales: Any = None, axis: int = 0) -> tuple[Any, ...]:
    given = [0.01] if scales is None else scales
    return shape, "int8", random.integers(-127, 128, shape).astype(np.int8), (given, [0] * len(given), axis)


def state(*shape: int) -> tuple[Any, ...]:
    return shape, "float32", "variable"


def lstm(out: int = H, *, cifg: bool = False, peephole: bool = False, projection: bool = False) -> list[Any]:
    def gates(make: Callable[[], Any]) -> list[Any]:
        return [None if cifg else make(), *(make() for _ in range(3))]

    peepholes = [None if cifg else integers(H), integers(H), integers(H)] if peephole else [None] * 3
    projected = [integers(out, H), floats(out)] if projection else [None, None]
    return [*gates(lambda: integers(H, I)), *gates(lambda: integers(H, out)), *peepholes, *gates(lambda: floats(H)), *projected]


def both_directions(aux: bool, own: bool) -> list[Any]:
    """The operands of a bidirectional LSTM behind the input; an auxiliary input with weights of its own, or without."""
    states = [state(N, H) for _ in range(4)]
    more = [((T, N, I), "float32") if aux else None, *(integers(H, I) if own else None for _ in range(8))]
    return [*lstm(), *lstm(), *states, *more]


def layer() -> list[Any]:
    return [integers(H, I), integers(H, H), floats(H), state(N, H)]


X, SEQUENCE = ((N, I), "float32"), ((T, N, I), "float32")
TANH: dict[str, Any] = {"fused_activation_function": "TANH"}
BOTH = {"time_major": True, "merge_outputs": False, **TANH}
TWO = [((T, N, H), "float32")] * 2
BATCH_FIRST, OF_BATCHES = ((N, T, I), "float32"), [((N, T, H), "float32")] * 2
EACH_WAY = {**BOTH, "time_major": False}

RECURRENT: dict[str, tuple[str, list[Any], list[Any], dict[str, Any], int]] = {
    "rnn": ("RNN", [X, *layer()], [((N, H), "float32")], TANH, 3),
    "rnn sequence": (
        "UNIDIRECTIONAL_SEQUENCE_RNN", [SEQUENCE, *layer()], [((T, N, H), "float32")], {"time_major": True, **TANH}, 3),
    # With time first, LiteRT's hybrid bidirectional layer computes something else than with the batch first.
    "rnn both": ("BIDIRECTIONAL_SEQUENCE_RNN", [BATCH_FIRST, *layer(), *layer(), None, None, None], OF_BATCHES, EACH_WAY, 3),
    "rnn both, linked": (
        "BIDIRECTIONAL_SEQUENCE_RNN", [BATCH_FIRST, *layer(), *layer(), BATCH_FIRST, integers(H, I), integers(H, I)],
        OF_BATCHES, EACH_WAY, 3),
    "rnn both, parallel": (
        "BIDIRECTIONAL_SEQUENCE_RNN", [BATCH_FIRST, *layer(), *layer(), BATCH_FIRST, None, None], OF_BATCHES, EACH_WAY, 3),
    "lstm step": ("LSTM", [X, *lstm(), state(N, H), state(N, H)], [((N, H), "float32")], TANH, 4),
    **{f"lstm {note or 'plain'}": (
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        [SEQUENCE, *lstm(P if "projection" in form else H, **dict.fromkeys(form, True)),
         state(N, P if "projection" in form else H), state(N, H)],
        [((T, N, P if "projection" in form else H), "float32")],
        {"time_major": True, "cell_clip": 0.8, "proj_clip": 0.5, **TANH}, 4)
       for form in ((), ("cifg",), ("peephole",), ("projection",), ("cifg", "peephole", "projection"))
       for note in (" ".join(form),)},
    "lstm both": ("BIDIRECTIONAL_SEQUENCE_LSTM", [SEQUENCE, *both_directions(False, False)], TWO, BOTH, 3),
    "lstm both, linked": ("BIDIRECTIONAL_SEQUENCE_LSTM", [SEQUENCE, *both_directions(True, True)], TWO, BOTH, 3),
    "lstm both, parallel": ("BIDIRECTIONAL_SEQUENCE_LSTM", [SEQUENCE, *both_directions(True, False)], TWO, BOTH, 3),
    "svdf": (
        "SVDF", [X, integers(6, I), integers(6, 4), floats(3), state(N, 24)], [((N, 3), "float32")],
        {"rank": 2, "fused_activation_function": "RELU"}, 4),
    "fully connected": (
        "FULLY_CONNECTED", [X, integers(H, I), floats(H)], [((N, H), "float32")], {"fused_activation_function": "RELU"}, 9),
    "matrix product": ("BATCH_MATMUL", [SEQUENCE, integers(I, H)], [((T, N, H), "float32")], {}, 4),
    "matrix product, turned": ("BATCH_MATMUL", [SEQUENCE, integers(H, I)], [((T, N, H), "float32")], {"adj_y": True}, 4),
}

IMAGE = ((2, 7, 6, 4), "float32")
EACH = [0.01, 0.02, 0.005, 0.013, 0.009, 0.011]
SAME = {"padding": "SAME", "stride_w": 1, "stride_h": 2, "dilation_w_factor": 1, "dilation_h_factor": 1}
IMAGES: dict[str, tuple[str, list[Any], list[Any], dict[str, Any], int]] = {
    "convolution": ("CONV_2D", [IMAGE, integers(6, 3, 3, 4), floats(6)], [((2, 4, 6, 6), "float32")], SAME, 3),
    "convolution, a scale each": (
        "CONV_2D", [IMAGE, integers(6, 3, 3, 4, scales=EACH), floats(6)], [((2, 4, 6, 6), "float32")],
        {**SAME, "fused_activation_function": "RELU6"}, 5),
    "depthwise": (
        "DEPTHWISE_CONV_2D", [IMAGE, integers(1, 3, 3, 4, scales=EACH[:4], axis=3), floats(4)], [((2, 7, 6, 4), "float32")],
        {**SAME, "stride_h": 1, "depth_multiplier": 1}, 6),
}


def model_of(write: Callable[..., bytes], name: str, asymmetric: bool, folder: Path) -> Path:
    operator, inputs, outputs, options, version = (RECURRENT | IMAGES)[name]
    if name in RECURRENT:
        options = {**options, "asymmetric_quantize_inputs": asymmetric}
    path = folder / "model.tflite"
    path.write_bytes(write(operator, inputs, outputs, options, version=version))
    return path


def inputs_of(path: Path, seed: int = 0) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    return {
        argument.name: generator.normal(0.3, 1, argument.type.shape).astype(np.float32)
        for argument in load(path).body_of_main.arguments}


@pytest.fixture
def compared(write: Callable[..., bytes], tmp_path: Path) -> Callable[..., tuple[list[np.ndarray], list[np.ndarray]]]:
    """What LiteRT and the model in TOSA compute of the same numbers."""
    pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")

    def compare(name: str, asymmetric: bool = False, **options: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
        path = model_of(write, name, asymmetric, tmp_path)
        given = inputs_of(path)
        expected = list(open_model(path)(given).values())
        return expected, list(run(lower(load(path), "tosa", **options), given).values())

    return compare


@pytest.mark.parametrize("asymmetric", [False, True])
@pytest.mark.parametrize("name", RECURRENT)
def test_layers_are_computed_as_litert_does(name: str, asymmetric: bool, compared: Callable[..., Any]) -> None:
    for expected, actual in zip(*compared(name, asymmetric), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("name", IMAGES)
def test_images_are_computed_as_litert_does(name: str, compared: Callable[..., Any]) -> None:
    for expected, actual in zip(*compared(name), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("asymmetric", [False, True])
@pytest.mark.parametrize("name", [*RECURRENT, *IMAGES])
def test_floats_keep_their_bound(name: str, asymmetric: bool, write: Callable[..., bytes], tmp_path: Path) -> None:
    path = model_of(write, name, asymmetric, tmp_path)
    made = convert(path, "tosa", tmp_path / "out", options={"hybrid": "float"})
    assert made.verification is not None
    if made.verification.status == "skipped":
        pytest.skip(made.verification.why)
    assert made.verified, made.verification.broken
    assert made.verification.bounds
    for bounded in made.verification.bounds:
        assert bounded.kept
        assert bounded.max_abs > 0, "LiteRT quantizes the activations"
    assert "tosa.floor" not in {op.name for op in made.module.ops()}


@pytest.mark.parametrize(("dtype", "zero"), [("uint8", 128), ("uint8", 121), ("int8", 3)])
@pytest.mark.parametrize("choice", ["exact", "float"])
def test_weights_are_read_as_signed_bytes(
    dtype: str, zero: int, choice: str, write: Callable[..., bytes], tmp_path: Path,
) -> None:
    """LiteRT's hybrid kernels take no notice of zero points, and read uint8 as int8."""
    stored = random.integers(-127, 128, (H, I)).astype(np.int8).view(dtype)
    path = tmp_path / "model.tflite"
    path.write_bytes(write("FULLY_CONNECTED", [X, ((H, I), dtype, stored, ([0.01], [zero])), floats(H)], [((N, H), "float32")]))
    made = convert(path, "tosa", tmp_path / "out", options={"hybrid": choice})
    assert made.verification is not None
    if made.verification.status == "skipped":
        pytest.skip(made.verification.why)
    assert made.verified
    if choice == "exact":
        assert made.verification.tensors[0].metrics["max_abs"] <= 1e-6


def test_bound_is_that_of_the_weights(write: Callable[..., bytes], tmp_path: Path) -> None:
    """Half a step of the activations, each times the absolute weights of an output, and hardly more."""
    pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
    path = model_of(write, "fully connected", False, tmp_path)
    given = inputs_of(path)
    reference = open_model(path)(given, keep=True)
    source = load(path)
    hub, result = legalize(source, hybrid="float"), lower(source, "tosa", hybrid="float")
    _, (bounded,), _ = check_bounds(result, hub, given, reference, "reference")
    weights = np.abs(next(op for op in hub.ops() if op.name == "top.MatMul").operands[1].op.value.numpy()).sum(axis=1)
    (x,) = given.values()
    step = np.abs(x).max(axis=1) / 127
    assert bounded.bound == pytest.approx(float((step[:, None] / 2 * weights).max()), rel=1e-3)


def test_wrong_weights_break_the_bound(write: Callable[..., bytes], tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
    path = model_of(write, "convolution", False, tmp_path)
    given = inputs_of(path)
    source = load(path)
    hub, result = legalize(source, hybrid="float"), lower(source, "tosa", hybrid="float")
    weights = next(op for op in result.ops() if op.name == "tosa.conv2d").operands[1]
    holder: Op = weights.op  # type: ignore[assignment]
    (key,) = [key for key, value in holder.attributes.items() if isinstance(value, Dense)]
    holder.attributes[key] = Dense((holder.attributes[key].numpy() * np.float32(1.2)).astype(np.float32))
    _, (bounded,), _ = check_bounds(result, hub, given, open_model(path)(given, keep=True), "reference")
    assert not bounded.kept


def test_embedding_is_dequantized(compared: Callable[..., Any], write: Callable[..., bytes], tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
    path = tmp_path / "model.tflite"
    path.write_bytes(write("EMBEDDING_LOOKUP", [((3,), "int32"), integers(8, 5)], [((3, 5), "float32")], {}, version=3))
    given = {"in0": np.array([1, 7, 0], np.int32)}
    (expected,) = open_model(path)(given).values()
    for choice in ("exact", "float"):
        (actual,) = run(lower(load(path), "tosa", hybrid=choice), given).values()
        np.testing.assert_array_equal(actual, expected)


DYNAMIC_RANGE = ["mlperf_ad_dynamic_range", "mlperf_kws_float", "dtln_1_dynamic_range", "fastestdet_tflite"]


@pytest.mark.models
@pytest.mark.parametrize("name", DYNAMIC_RANGE)
def test_models_keep_their_bounds(name: str, models: Path, tmp_path: Path) -> None:
    paths = sorted((models / "tflite" / name).glob("*.tflite"))
    if not paths:
        pytest.skip(f"{name} is not there")
    made = convert(paths[0], "tosa", tmp_path, options={"hybrid": "float"})
    assert made.verification is not None
    if made.verification.status == "skipped":
        pytest.skip(made.verification.why)
    assert made.verified, made.verification.broken
    assert all(bounded.kept for bounded in made.verification.bounds)
    products = {"tfl.conv_2d", "tfl.depthwise_conv_2d", "tfl.fully_connected"}
    hybrid = [
        op for op in load(paths[0]).ops() if op.name in products and op.operands[0].element == F32 != op.operands[1].element]
    assert len(made.verification.bounds) == len(hybrid)


@pytest.mark.models
@pytest.mark.parametrize("name", DYNAMIC_RANGE)
def test_models_are_exact(name: str, models: Path, tmp_path: Path) -> None:
    paths = sorted((models / "tflite" / name).glob("*.tflite"))
    if not paths:
        pytest.skip(f"{name} is not there")
    made = convert(paths[0], "tosa", tmp_path)
    assert made.verification is not None
    if made.verification.status == "skipped":
        pytest.skip(made.verification.why)
    assert all(tensor.metrics["cos"] >= 0.999999 for tensor in made.verification.tensors)
