"""Whole models: what our kernels compute, the file read back and the reference model agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.borders import note_borders
from transload.engine import run_function
from transload.ir import dtype_of
from transload_plugins.tosa.flatbuffer.reader import read_bytes
from transload_plugins.tosa.flatbuffer.writer import serialize


@pytest.mark.models
@pytest.mark.parametrize("name", [
    "coral_mobilenet_v2_1.0_224_quant", "arm_kws_ds_cnn_int16x8", "mlperf_resnet8_int8", "mlperf_resnet8_float",
    "mlperf_kws_int8",
])
def test_model_agrees_with_the_reference_model(name: str, models: Path, reference_model: Any) -> None:
    path = next((models / "tflite" / name).glob("*.tflite"), None)
    if path is None:
        pytest.skip(f"{name} is not among the models")
    source = transload.load(path)
    shapes = {value.name: tuple(size or 1 for size in value.shape) for value in source.body_of_main.arguments}
    if any(None in value.shape for value in source.body_of_main.arguments):
        source = transload.load(path, inputs=shapes)
    module = transload.lower(source, to="tosa")
    data = serialize(module)
    again = read_bytes(data)
    assert serialize(again) == data
    note_borders(again)
    assert list(again.inputs.values()) == list(module.inputs.values())
    rng = np.random.default_rng(7)
    inputs = {}
    for argument, type_ in module.inputs.items():
        dtype = dtype_of(type_.element)
        numbers = rng.integers(-100, 100, type_.shape) if dtype.kind in "iu" else rng.standard_normal(type_.shape)
        inputs[argument] = numbers.astype(dtype)
    ours = run_function(module, inputs)
    theirs = reference_model(data, [array.view(np.int8) if array.dtype == np.uint8 else array for array in inputs.values()])
    for (output, a), b, c in zip(ours.items(), theirs, run_function(again, inputs).values(), strict=True):
        np.testing.assert_array_equal(a, c)
        b = np.asarray(b).view(a.dtype) if a.dtype.kind in "iu" else b
        if a.dtype.kind in "iub":
            np.testing.assert_array_equal(a, b, err_msg=output)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, err_msg=output)
