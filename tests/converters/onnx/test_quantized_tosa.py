"""Quantized models down to TOSA: results stay within one step of onnxruntime's, whatever the widths and zero points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload_converters.onnx.runtime import open_model

from tests.support.onnx_models import make_model, node

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

G = np.random.default_rng(5)
MS = {"domain": "com.microsoft"}
STEP = np.float32(1e-4)
A, O = ["a_scale", "a_zero"], ["o_scale", "o_zero"]


def real(*shape: int) -> np.ndarray:
    return G.standard_normal(shape).astype(np.float32)


def kinds(dtype: Any, zero: int, result_zero: int, step: float = 1e-4, result_step: float = 1e-4) -> dict[str, Any]:
    return {"a_scale": np.float32(step), "a_zero": dtype(zero), "o_scale": np.float32(result_step), "o_zero": dtype(result_zero)}


def quantized(inputs: Mapping[str, np.ndarray], middle: list[Any]) -> list[Any]:
    """`middle`, from the inputs' dequantized values `x_d`, ... to `r`, and `y`: its result, quantized and dequantized."""
    before = [step for name in inputs for step in (
        node("QuantizeLinear", [name, *A], [f"{name}_q"]), node("DequantizeLinear", [f"{name}_q", *A], [f"{name}_d"]))]
    return [*before, *middle, node("QuantizeLinear", ["r", *O], ["h"]), node("DequantizeLinear", ["h", *O], ["y"])]


@pytest.fixture
def all_steps_off(tmp_path: Path) -> Callable[..., np.ndarray]:
    """`all_steps_off(nodes, inputs, constants, step)`: how many steps the TOSA module's numbers `y` are off onnxruntime's."""

    def run(
        nodes: list[Any], inputs: dict[str, np.ndarray], constants: dict[str, Any], step: float = 1.0, **options: Any,
    ) -> np.ndarray:
        file = tmp_path / "model.onnx"
        file.write_bytes(make_model(nodes, inputs, ["y"], constants, opset=21).SerializeToString())
        wanted = open_model(file)(inputs)["y"]
        got = transload.run(transload.lower(transload.load(file), **options), inputs)["y"]
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        return np.abs(got.astype(np.float64) - wanted.astype(np.float64)) / step

    return run


@pytest.fixture
def steps_off(all_steps_off: Callable[..., np.ndarray]) -> Callable[..., float]:
    """How many steps the TOSA module is off onnxruntime at most."""
    return lambda *args: float(all_steps_off(*args).max())


ONE_SIDED = kinds(np.uint16, 0, 0)
CENTRED = kinds(np.uint16, 32768, 32768)
ASKEW = kinds(np.uint16, 30000, 20000)


@pytest.mark.parametrize("operator", ["Mul", "Add", "Sub"])
@pytest.mark.parametrize("types", [ONE_SIDED, CENTRED, ASKEW])
def test_elements_of_16_bits_and_any_zero_point(steps_off: Callable[..., float], operator: str, types: dict[str, Any]) -> None:
    inputs = {"x": real(4, 9) * 3, "z": real(4, 9) * 3}
    middle = [node(operator, ["x_d", "z_d"], ["r"])]
    assert steps_off(quantized(inputs, middle), inputs, types, STEP) <= 1.01


@pytest.mark.parametrize("scale", [2.0, 1.5, 3.0])
@pytest.mark.parametrize("types", [kinds(np.uint16, 32768, 32768), kinds(np.int16, 0, 0), kinds(np.int8, -3, -3, 0.03, 0.03)])
def test_bilinear_resizing_of_integers(steps_off: Callable[..., float], types: dict[str, Any], scale: float) -> None:
    inputs = {"x": real(1, 2, 6, 8)}
    middle = [node("Resize", ["x_d", "", "scales"], ["r"], mode="linear")]
    constants = {**types, "scales": np.array([1, 1, scale, scale], np.float32)}
    assert steps_off(quantized(inputs, middle), inputs, constants, types["o_scale"]) <= 1.01


@pytest.mark.parametrize("mode", ["half_pixel", "align_corners"])
@pytest.mark.parametrize("step", [0.005, 0.02])
def test_bilinear_resizing_of_bytes_is_rounded_once(steps_off: Callable[..., float], mode: str, step: float) -> None:
    """Signed ones were rounded to the operand's steps first, and the result was up to eleven finer ones off."""
    constants = kinds(np.int8, 3, -2, 0.02, step) | {"sizes": np.array([1, 3, 11, 9])}
    middle = [node("Resize", ["x_d", "", "", "sizes"], ["r"], mode="linear", coordinate_transformation_mode=mode)]
    x = {"x": np.clip(real(1, 3, 5, 4) * 0.2, -0.6, 0.6)}
    assert steps_off(quantized(x, middle), x, constants, step) <= 1.001


@pytest.mark.parametrize("types", [kinds(np.int16, 0, 0, 2e-4, 2e-4), kinds(np.uint16, 32768, 32768, 2e-4, 2e-4)])
@pytest.mark.parametrize("operator", [
    "Tanh", "Sigmoid", "HardSwish", "Elu", "Softplus", "Neg", "Softmax", "AveragePool", "AveragePool pads"])
def test_functions_of_symmetric_16_bits_are_rounded_once(
    all_steps_off: Callable[..., np.ndarray], operator: str, types: dict[str, Any],
) -> None:
    """All but those few whose floats lie so near the middle of two steps that the last bit of float32 decides."""
    types = types | {"o_scale": np.float32(2.0**-15 if operator == "Softmax" else 1.7e-4)}
    inputs = {"x": np.rint(real(1, 4, 12, 24) * np.float32(5e3)) * types["a_scale"]}
    kind, _, pads = operator.partition(" ")
    window: dict[str, Any] = {"kernel_shape": [2, 3]} if kind == "AveragePool" else {}
    middle = [node(kind, ["x_d"], ["r"], **window, **{"pads": [1, 1, 1, 1]} if pads else {})]
    off = all_steps_off(quantized(inputs, middle), inputs, types, types["o_scale"])
    assert off.max() <= 1.01 and (off > 0.5).mean() <= 0.02


@pytest.mark.parametrize("operator", ["Tanh", "Sigmoid", "HardSwish", "Elu", "Softplus", "Neg", "Exp", "Sin"])
@pytest.mark.parametrize("step", [2e-4, 3.1e-5])
def test_functions_of_symmetric_16_bits_in_integers_alone(
    all_steps_off: Callable[..., np.ndarray], operator: str, step: float,
) -> None:
    """Of all numbers: LiteRT's tables are a step off in 3 of 10, and more steps where they saturate."""
    types = kinds(np.int16, 0, 0, 2e-4, step)
    inputs = {"x": np.arange(-32768, 32768, dtype=np.float32)[None] * types["a_scale"]}
    off = all_steps_off(
        quantized(inputs, [node(operator, ["x_d"], ["r"])]), inputs, types, types["o_scale"], rounding="integers")
    far = 0.008 if operator == "HardSwish" else 0.0005  # that one is bent at two places
    assert (off > 0.5).mean() <= 0.012 and (off > 1.01).mean() <= far


@pytest.mark.parametrize("dtype", [np.uint16, np.int16])
def test_sums_of_16_bit_products_beyond_32_bits(steps_off: Callable[..., float], dtype: Any) -> None:
    zero = 32768 if dtype == np.uint16 else 0
    inputs = {"x": np.abs(real(1, 64, 6, 6)) + 1}
    constants = {
        **kinds(dtype, zero, zero, 1e-4, 0.01), "w": G.integers(60, 128, (4, 64, 3, 3)).astype(np.int8), "ws": np.float32(0.001),
        "wz": np.int8(0), "b": np.arange(4, dtype=np.int32) * 100000, "bs": np.float32(1e-7), "bz": np.int32(0)}
    middle = [node("DequantizeLinear", ["w", "ws", "wz"], ["wd"]), node("DequantizeLinear", ["b", "bs", "bz"], ["bd"]),
              node("Conv", ["x_d", "wd", "bd"], ["r"])]
    assert steps_off(quantized(inputs, middle), inputs, constants, 0.01) <= 1.01


@pytest.mark.parametrize("include", [0, 1])
@pytest.mark.parametrize("types", [kinds(np.int8, 5, -7, 0.03, 0.008), kinds(np.uint8, 120, 140, 0.03, 0.008)])
def test_a_mean_in_finer_steps_is_rounded_once(steps_off: Callable[..., float], types: dict[str, Any], include: int) -> None:
    inputs = {"x": real(1, 3, 7, 7)}
    pool = node("AveragePool", ["x_d"], ["r"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=include)
    assert steps_off(quantized(inputs, [pool]), inputs, types, 0.008) <= 1.01


@pytest.mark.parametrize("include", [0, 1])
def test_what_ceil_mode_adds_counts_in_qlinear_average_pool(steps_off: Callable[..., float], include: int) -> None:
    types = kinds(np.uint8, 120, 140, 0.03, 0.008)
    pool = node("QLinearAveragePool", ["h", *A, *O], ["y"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1,
                count_include_pad=include, **MS)
    assert steps_off([node("QuantizeLinear", ["x", *A], ["h"]), pool], {"x": real(1, 3, 6, 8)}, types) <= 1


def test_a_product_with_a_factor(steps_off: Callable[..., float]) -> None:
    constants = {**kinds(np.uint8, 120, 110, 0.02, 0.04), "w": G.integers(-128, 128, (4, 5)).astype(np.int8),
                 "ws": np.array([0.01, 0.02, 0.005, 0.03], np.float32), "wz": np.zeros(4, np.int8),
                 "b": G.integers(-3000, 3000, 4).astype(np.int32)}
    gemm = node("QGemm", ["h", *A, "w", "ws", "wz", "b", *O], ["y"], transB=1, alpha=0.5, **MS)
    assert steps_off([node("QuantizeLinear", ["x", *A], ["h"]), gemm], {"x": real(3, 5)}, constants) <= 1


def test_an_lstm_with_quantized_weights(steps_off: Callable[..., float]) -> None:
    constants = {"w": G.integers(0, 256, (2, 5, 16)).astype(np.uint8), "r": G.integers(0, 256, (2, 4, 16)).astype(np.uint8),
                 "b": real(2, 32), "s": np.full((2, 16), 0.005, np.float32), "z": np.full((2, 16), 128, np.uint8)}
    lstm = node("DynamicQuantizeLSTM", ["x", "w", "r", "b", "", "", "", "", "s", "z", "s", "z"], ["y"], hidden_size=4,
                direction="bidirectional", **MS)
    assert steps_off([lstm], {"x": real(6, 2, 5)}, constants) <= 0.02


def test_a_scale_that_is_no_number_is_refused_with_advice(steps_off: Callable[..., float]) -> None:
    with pytest.raises(ConversionError, match=r"(?s)a scale of inf.*calibrated over finite values"):
        steps_off([node("QuantizeLinear", ["x", *A], ["h"]), node("DequantizeLinear", ["h", *A], ["y"])], {"x": real(3)},
                  {"a_scale": np.float32(np.inf), "a_zero": np.int8(0)})
