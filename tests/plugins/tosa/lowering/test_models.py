"""Real quantized models: every output is LiteRT's, bit by bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from transload.api import load, lower, run
from transload.ir import input_names

INTEGER_MODELS = (
    "arm_kws_basic_lstm_s_int8", "arm_kws_dnn_s_int8", "arm_kws_ds_cnn_int16x8", "arm_kws_ds_cnn_s_int8",
    "coral_mobilenet_v1_0.25_128_quant", "coral_mobilenet_v2_1.0_224_quant", "mlperf_ad_int8", "mlperf_kws_int8",
    "mlperf_resnet8_int8", "mlperf_vww_int8", "support_mobilenet_v1_0.25_224_quant", "tflm_hello_world_int8",
    "tflm_micro_speech_int8", "tflm_mnist_lstm_int8")


@pytest.mark.one_in(3)
@pytest.mark.models
@pytest.mark.parametrize("name", INTEGER_MODELS)
def test_bit_exact(models: Path, name: str) -> None:
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
    path = next((models / "tflite" / name).glob("*.tflite"), None)
    if path is None:
        pytest.skip(f"no model {name}")
    interpreter = litert.Interpreter(str(path), experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    source = load(path)
    module = lower(source)
    rng = np.random.default_rng(0)
    inputs = {}
    for given, detail in zip(input_names(source.main), interpreter.get_input_details(), strict=True):
        dtype = np.dtype(detail["dtype"])
        limits = None if dtype.kind == "f" else np.iinfo(dtype)
        inputs[given] = rng.normal(size=detail["shape"]).astype(dtype) if limits is None else rng.integers(
            limits.min, limits.max, detail["shape"], dtype, endpoint=True)
        interpreter.set_tensor(detail["index"], inputs[given])
    interpreter.invoke()
    ours = run(module, inputs).values()
    for mine, detail in zip(ours, interpreter.get_output_details(), strict=True):
        theirs = interpreter.get_tensor(detail["index"])
        np.testing.assert_array_equal(mine.view(theirs.dtype) if mine.dtype.itemsize == theirs.dtype.itemsize else mine, theirs)
