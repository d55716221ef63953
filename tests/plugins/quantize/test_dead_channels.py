"""Channels whose weights are all zero, and layers behind what is zero, give their biases; infinite biases are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import UsageError
from transload.ir import Module

from tests.support.onnx_models import make_model, node

CHOSEN = np.random.default_rng(3)


def model(folder: Path, bias: np.ndarray) -> Module:
    """A convolution whose channels 1 and 3 have no weights."""
    weights = CHOSEN.normal(scale=1e-3, size=(4, 1, 3, 3)).astype(np.float32)
    weights[[1, 3]] = 0
    made = make_model([node("Conv", ["x", "w", "b"], ["y"], pads=[1] * 4)], {"x": np.zeros((1, 1, 8, 8), np.float32)}, ["y"],
                      {"w": weights, "b": bias.astype(np.float32)})
    file = folder / "model.onnx"
    file.write_bytes(made.SerializeToString())
    return transload.load(file)


@pytest.mark.parametrize("scheme", ["int8", "uint8", "int16x8", "w4a8"])
def test_a_channel_without_weights_gives_its_bias(scheme: str, tmp_path: Path) -> None:
    """Its bias was in steps of the activations': of 31, where pixels reach 8000, so that 5 was 0."""
    samples = [{"x": CHOSEN.integers(0, 8001, (1, 1, 8, 8)).astype(np.float32)} for _ in range(8)]
    floats = model(tmp_path, np.array([1, 5, -1, 7]))
    made = transload.quantize(floats, scheme, samples)
    (wanted,), (found,) = transload.run(floats, samples[0]).values(), transload.run(made, samples[0]).values()
    step = 2 * np.abs(wanted).max() / 65535 if scheme == "int16x8" else np.ptp(wanted) / 255
    np.testing.assert_allclose(found[:, [1, 3]], wanted[:, [1, 3]], atol=step)


def test_a_layer_behind_zeros_gives_its_bias(tmp_path: Path) -> None:
    """What was zero on all samples had a step of 1, and the bias behind it one of a weight's."""
    bias = np.array([0.013, -0.02, 0.011, 0.004], np.float32)
    nodes = [node("Relu", ["x"], ["r"]), node("MatMul", ["r", "w"], ["m"]), node("Add", ["m", "b"], ["y"])]
    weights = CHOSEN.normal(scale=5.0, size=(8, 4)).astype(np.float32)
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model(nodes, {"x": np.zeros((2, 8), np.float32)}, ["y"], {"w": weights, "b": bias}).SerializeToString())
    samples = [{"x": -CHOSEN.random((2, 8)).astype(np.float32)} for _ in range(4)]
    made = transload.quantize(transload.load(file), "int8", samples)
    (found,) = transload.run(made, samples[0]).values()
    np.testing.assert_allclose(found, np.broadcast_to(bias, (2, 4)), atol=np.ptp(bias) / 255)


@pytest.mark.parametrize("options", [{}, {"power_of_two": True}])
def test_an_infinite_bias_is_refused(options: dict[str, bool], tmp_path: Path) -> None:
    """Its channel had a scale that is none: modules that no target took, or an OverflowError."""
    bias = np.array([1.0, 2.0, -np.inf, 1.0])
    nodes = [node("Conv", ["x", "w", "b"], ["c"]), node("Relu", ["c"], ["y"])]
    made = make_model(nodes, {"x": np.zeros((1, 2, 4, 4), np.float32)}, ["y"],
                      {"w": CHOSEN.normal(size=(4, 2, 1, 1)).astype(np.float32), "b": bias.astype(np.float32)})
    file = tmp_path / "model.onnx"
    file.write_bytes(made.SerializeToString())
    samples = [{"x": CHOSEN.normal(size=(1, 2, 4, 4)).astype(np.float32)} for _ in range(2)]
    with pytest.raises(UsageError, match="infinities, or what are no numbers") as caught:
        transload.quantize(transload.load(file), "int8", samples, **options)
    assert "--floats" in (caught.value.hint or "")


def test_groups_of_weights_beside_a_mask(tmp_path: Path) -> None:
    """All tensors were measured, and masks of minus infinity refused; int8 takes them."""
    mask = np.where(np.tri(6), 0.0, -np.inf).astype(np.float32)
    nodes = [node("MatMul", ["x", "w"], ["q"]), node("Transpose", ["q"], ["k"], perm=[1, 0]), node("MatMul", ["q", "k"], ["s"]),
             node("Add", ["s", "mask"], ["t"]), node("Softmax", ["t"], ["p"], axis=-1), node("MatMul", ["p", "q"], ["y"])]
    weights = CHOSEN.normal(size=(32, 32)).astype(np.float32) / 6
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model(
        nodes, {"x": np.zeros((6, 32), np.float32)}, ["y"], {"w": weights, "mask": mask}).SerializeToString())
    samples = [{"x": CHOSEN.normal(size=(6, 32)).astype(np.float32)} for _ in range(4)]
    floats = transload.load(file)
    made = transload.quantize(floats, "w4a8", samples, q_group_size=32)
    (wanted,), (found,) = transload.run(floats, samples[0]).values(), transload.run(made, samples[0]).values()
    assert np.linalg.norm(found - wanted) < 0.2 * np.linalg.norm(wanted)


@pytest.mark.parametrize("operator", ["Sum", "Mean"])
def test_sums_of_several_go_to_tflite(operator: str, tmp_path: Path) -> None:
    """LiteRT has kernels for two operands; what is summed on the way has a range of its own."""
    weights = {name: CHOSEN.normal(size=(4, 2, 1, 1)).astype(np.float32) for name in "abc"}
    nodes = [node("Conv", ["x", name], [f"{name}x"]) for name in weights]
    nodes.append(node(operator, [f"{name}x" for name in weights], ["y"]))
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model(nodes, {"x": np.zeros((1, 2, 4, 4), np.float32)}, ["y"], weights).SerializeToString())
    samples = [{"x": CHOSEN.normal(size=(1, 2, 4, 4)).astype(np.float32)} for _ in range(4)]
    made = transload.convert(file, "tflite", tmp_path / "out", quantize="int8", data=samples)
    assert made.verification is not None and made.verification.passed
    assert made.verification.quantized[0].metrics["sqnr"] > 25
    table = transload.calibrate(transload.load(file), samples)
    again = transload.convert(file, "tflite", tmp_path / "again", quantize="int8", quantizer_options={"calibration": table})
    assert again.verification is not None and again.verification.passed
    words = transload.quantize(transload.load(file), "int8", samples, layers={"y": "F32"})
    assert words.quantization is not None and {"y", "y#1"} <= words.quantization.floats.keys()
    if operator == "Sum":  # as tables of others are
        without = {name: kept for name, kept in table.ranges.items() if name != "y#1"}
        assert len(without) < len(table.ranges)
        transload.quantize(transload.load(file), "int8", calibration=type(table)(without))


@pytest.mark.parametrize("channels", [1, 3])
def test_one_bias_of_all_channels(channels: int) -> None:
    """A scalar has no axis, and each channel steps of its own: it ended in an IndexError."""
    weights = CHOSEN.normal(size=(8, channels)).astype(np.float32)
    module = transload.load(text=f"""
        "func.func"() ({{
        ^bb0(%x: tensor<4x8xf32> loc("x")):
          %w = "top.Weight"() {{value = dense<{weights.tolist()}> : tensor<8x{channels}xf32>}} : () -> tensor<8x{channels}xf32>
          %b = "top.Weight"() {{value = dense<0.75> : tensor<f32>}} : () -> tensor<f32>
          %y = "top.MatMul"(%x, %w, %b) : (tensor<4x8xf32>, tensor<8x{channels}xf32>, tensor<f32>) -> tensor<4x{channels}xf32>
          "func.return"(%y) : (tensor<4x{channels}xf32>) -> ()
        }}) {{function_type = (tensor<4x8xf32>) -> tensor<4x{channels}xf32>, sym_name = "main"}} : () -> ()""", format="mlir")
    samples = [{"x": CHOSEN.normal(size=(4, 8)).astype(np.float32)} for _ in range(8)]
    made = transload.quantize(module, "int8", samples)
    (wanted,), (found,) = transload.run(module, samples[0]).values(), transload.run(made, samples[0]).values()
    np.testing.assert_allclose(found, wanted, atol=3 * np.ptp(wanted) / 255)
