"""Poolings that LiteRT has no operator of are written in others. What is wanted is what onnxruntime gives of the source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload

from tests.support.small_onnx import saved

pytest.importorskip("onnxruntime")
pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")

WINDOWS = [
    ([1, 2, 9], {"kernel_shape": [3], "dilations": [2], "pads": [1, 1]}),
    ([1, 2, 7, 6], {"kernel_shape": [3, 2], "dilations": [2, 2], "pads": [1, 1, 1, 1], "strides": [2, 1]}),
    ([1, 2, 7, 6], {"kernel_shape": [2, 2], "dilations": [1, 3], "strides": [1, 2], "ceil_mode": 1}),
    ([2, 2, 5, 7, 6], {"kernel_shape": [2, 3, 2], "pads": [0, 1, 1, 1, 1, 0], "strides": [1, 2, 2]}),
]


@pytest.mark.parametrize("quantize", [None, "int8", "int16x8"])
@pytest.mark.parametrize(("shape", "window"), WINDOWS)
def test_the_greatest_of_windows_with_holes_and_of_volumes(
    shape: list[int], window: dict[str, Any], quantize: str | None, tmp_path: Path,
) -> None:
    """All numbers are below those of a padding with zeros."""
    path = saved(tmp_path / "m.onnx", [("Sub", "x far", "m"), ("MaxPool", "m", "y", window)], shape, {"far": 9.0})
    data = [{"x": np.random.default_rng(seed).standard_normal(shape).astype(np.float32)} for seed in range(3)]
    how: dict[str, Any] = {"quantize": quantize, "data": data} if quantize else {}
    verdict = transload.convert(path, "tflite", tmp_path / "out", **how).verification
    assert verdict is not None and verdict.passed, verdict


@pytest.mark.parametrize("activation", [("Relu", "h", "y"), ("Clip", "h low high", "y")])
def test_with_an_activation(activation: tuple[str, str, str], tmp_path: Path) -> None:
    window = {"kernel_shape": [2, 2], "dilations": [2, 2]}
    constants = {"low": 0.0, "high": 1.5} if activation[0] == "Clip" else {}
    path = saved(tmp_path / "m.onnx", [("MaxPool", "x", "h", window), activation], [1, 3, 8, 8], constants)
    verdict = transload.convert(path, "tflite", tmp_path / "out").verification
    assert verdict is not None and verdict.passed, verdict
