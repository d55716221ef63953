"""What a model's constants make that is not finite is the model's: numpy warned of it, with a path of ours, on the terminal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload

from tests.support.graphs import Graph


@pytest.mark.parametrize("target", ["tosa", "tflite", "tp-small", "onnx", "stablehlo"])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_variance_below_zero_is_no_news(target: str, tmp_path: Path) -> None:
    graph = Graph((1, 2, 3, 3))
    held = [graph.constant(np.array(numbers, np.float32)) for numbers in ([0, 0], [-1, 1], [1, 1], [0, 0])]
    module = graph.done(graph.BatchNorm(graph.inputs[0], *held, layout="NCHW", epsilon=1e-5))
    assert transload.convert(module, target, tmp_path, verify="no").files
