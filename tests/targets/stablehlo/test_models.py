"""Real models exported to StableHLO and run by XLA, against the frameworks' own runtimes; all of them in the benchmark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.plugin import resolve
from transload.plugin_host import host
from transload.verification.inputs import random_inputs

pytest.importorskip("jaxlib", reason="install jaxlib to run by XLA")

QUICK = [
    "tflite/tflm_hello_world_int8", "tflite/mlperf_kws_int8", "tflite/arm_kws_dnn_s_int8", "tflite/tflm_micro_speech_int8",
    "tflite/tflm_hello_world_float", "onnx/mnist_8"]
LONG = [
    "tflite/arm_kws_ds_cnn_int16x8", "tflite/tflm_mnist_lstm_int8", "tflite/mlperf_resnet8_int8", "tflite/mlperf_vww_int8",
    "tflite/coral_mobilenet_v1_0.25_128_quant", "tflite/support_mobilenet_v1_0.25_224_quant", "tflite/mlperf_ad_int8",
    "tflite/mlperf_resnet8_float", "tflite/kwt1_keyword_transformer", "onnx/super_resolution",
    "onnx/derived_mobilenet_v1_0.25_224_f32"]


def model_in(folder: Path) -> tuple[Path, str]:
    """The model's file, and the name of the runtime that judges it."""
    for suffix, judge in ((".tflite", "litert"), (".onnx", "onnxruntime")):
        found = sorted(folder.glob(f"*{suffix}"))
        if found:
            return found[0], judge
    pytest.skip(f"{folder} is not there")


def compare(wanted: dict[str, np.ndarray], got: list[np.ndarray]) -> None:
    """Integers to the bit; floats to 1e-5 of the greatest."""
    assert len(wanted) == len(got)
    for a, b in zip(wanted.values(), got, strict=True):
        if a.dtype.kind in "iub":
            assert b.dtype == a.dtype
            np.testing.assert_array_equal(b.reshape(a.shape), a)
        else:
            np.testing.assert_allclose(b.reshape(a.shape), a, rtol=0, atol=1e-5 * np.abs(a).max(initial=1))


def exported(models: Path, name: str) -> tuple[Any, list[np.ndarray], dict[str, np.ndarray]]:
    """The module in StableHLO, inputs, and what the model's own runtime gives for them."""
    path, judge = model_in(models / name)
    runtime = host().get("runtimes", judge)
    why = resolve(runtime.available)()
    if why:
        pytest.skip(why)
    source = transload.load(path)
    inputs = random_inputs(source, transload.legalize(source))
    return transload.lower(source, "stablehlo"), list(inputs.values()), resolve(runtime.open)(path)(inputs)


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in LONG)])
def test_in_xla(name: str, models: Path) -> None:
    module, inputs, wanted = exported(models, name)
    given = dict(zip(random_inputs(module), inputs, strict=True))
    compare(wanted, list(transload.run(module, given, engine="xla").values()))


@pytest.mark.parametrize("name", ["tflite/mlperf_kws_int8", pytest.param("tflite/tflm_mnist_lstm_int8", marks=pytest.mark.slow)])
def test_in_iree(name: str, models: Path, tmp_path: Path, iree: Callable[..., list[np.ndarray]]) -> None:
    module, inputs, wanted = exported(models, name)
    compare(wanted, iree(transload.save(module, tmp_path / "model.mlirbc"), inputs))


def test_types_of_the_model_stay(models: Path) -> None:
    """An unsigned model takes and gives unsigned numbers, though TOSA has none."""
    path, _ = model_in(models / "tflite/support_mobilenet_v1_0.25_224_quant")
    module = transload.lower(transload.load(path), "stablehlo")
    type_ = module.main.attributes["function_type"]
    assert [str(each.element) for each in (*type_.inputs, *type_.results)] == ["ui8", "ui8"]
