"""Whole models as StableHLO, run by XLA, against what runs them in their own framework."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.api import legalize, lower, run
from transload.ir import QuantType, dtype_of, input_names
from transload.plugin import resolve
from transload.plugin_host import host

FLOATS = [
    "tflite/support_mobilenet_v1_0.25_224_float", "tflite/mlperf_vww_float", "tflite/kwt1_keyword_transformer",
    "tflite/support_movie_review_embedding", "onnx/dtln_1", "onnx/mnist_8", "onnx/super_resolution",
    "onnx/derived_kwt1_transformer_f32",
]  # fmt: skip
MORE_FLOATS = [
    "tflite/dtln_1_float", "tflite/mediapipe_face_detection_short_range", "tflite/mediapipe_knift_float",
    "tflite/mlperf_ad_float", "tflite/mlperf_kws_float", "tflite/mlperf_resnet8_float", "tflite/support_deeplabv3_float",
    "tflite/tflm_hello_world_float", "tflite/tflm_mnist_lstm_float", "tflite/ultraface_slim_320_float",
    "onnx/derived_mobilenet_v1_0.25_224_f32", "onnx/fastestdet", "onnx/gtcrn", "onnx/ultraface_rfb_320",
    "onnx/ultraface_slim_320_simplified",
]  # fmt: skip
INTEGERS = ["tflite/mlperf_kws_int8", "tflite/coral_mobilenet_v1_0.25_128_quant", "tflite/arm_kws_ds_cnn_int16x8"]
MORE_INTEGERS = [
    "tflite/arm_kws_dnn_s_int8", "tflite/arm_kws_ds_cnn_s_int8", "tflite/coral_deeplabv3_mnv2_dm05_quant",
    "tflite/coral_mobilenet_v2_1.0_224_quant", "tflite/mlperf_ad_int8", "tflite/mlperf_resnet8_int8", "tflite/mlperf_vww_int8",
    "tflite/support_mobilenet_v1_0.25_224_quant", "tflite/tflm_hello_world_int8", "tflite/tflm_micro_speech_int8",
]  # fmt: skip


def slow(names):
    return [pytest.param(name, marks=pytest.mark.slow) for name in names]


def results(models, name):
    """What XLA gives for a model, and what its own runtime does."""
    file = next(file for file in sorted((models / name).iterdir()) if file.suffix in (".tflite", ".onnx"))
    module = transload.load(file)
    runtime = next(runtime for runtime in host().runtimes.values() if runtime.format == module.source_format)
    if resolve(runtime.available)() is not None:
        pytest.skip(f"{runtime.name} is not installed")
    rng = np.random.default_rng(0)
    top = legalize(module)
    given = {}
    for key, value in zip(input_names(top.main), top.body_of_main.arguments, strict=True):
        element = value.element.storage if isinstance(value.element, QuantType) else value.element
        dtype = dtype_of(element)
        low, high = (-1, 1) if dtype.kind == "f" else (0, 2) if element == value.element else element.range
        draw = rng.uniform if dtype.kind == "f" else rng.integers
        given[key] = draw(low, high, value.shape).astype(dtype)
    wanted = resolve(runtime.open)(file)(given)
    mine = run(lower(top, "stablehlo"), given, engine="xla")
    return list(mine.values()), list(wanted.values())


@pytest.mark.models
@pytest.mark.parametrize("name", [*FLOATS, *slow(MORE_FLOATS)])
def test_floats(xla, models, name):
    for mine, wanted in zip(*results(models, name), strict=True):
        assert (mine.shape, mine.dtype) == (wanted.shape, wanted.dtype)
        assert np.abs(mine - wanted).max() <= 1e-5 * np.abs(wanted).max()


@pytest.mark.models
@pytest.mark.parametrize("name", [*INTEGERS, *slow(MORE_INTEGERS)])
def test_integers_are_the_same_bits(xla, models, name):
    for mine, wanted in zip(*results(models, name), strict=True):
        assert mine.dtype == wanted.dtype
        np.testing.assert_array_equal(mine, wanted)
