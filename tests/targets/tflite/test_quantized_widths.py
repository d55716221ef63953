"""Tensors of 16 bits among those of 8: LiteRT's kernels have operands and results of one width, and so has what we make."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.api import at_hub
from transload_converters.tflite.runtime import open_model
from transload_plugins.quantize.calibration import calibrate
from transload_plugins.quantize.quantize import quantize_module
from transload_plugins.quantize.scheme import SCHEMES

from tests.support.graphs import Graph


@pytest.mark.parametrize("wide", [("x0",), ("conv",), ("depthwise",), ("layer",), ("conv", "depthwise"), ("x0", "conv", "layer")])
def test_what_surrounds_16_bits_is_the_same_bits_everywhere(wide: tuple[str, ...], tmp_path: Path) -> None:
    graph = Graph((1, 6, 6, 3))
    window = {"kernel_shape": (3, 3), "layout": "NHWC"}
    made = graph.Conv(
        graph.inputs[0], graph.random(4, 3, 3, 3), graph.random(4), pads=(1, 1, 1, 1), location="conv", **window)
    made = graph.Conv(made, graph.random(4, 3, 3, 1), graph.random(4), group=4, location="depthwise", **window)
    flat = graph.Reshape(made, shape=(1, 64))
    hub = at_hub(graph.done(graph.MatMul(flat, graph.random(64, 5), graph.random(5), location="layer")))
    samples = [{"x0": np.random.default_rng(seed).normal(0, 1, (1, 6, 6, 3)).astype(np.float32)} for seed in range(8)]
    ranges = calibrate(hub, samples[:4]).kept(False)
    module = quantize_module(hub, SCHEMES["int8"], ranges, wide=wide)
    tosa = transload.lower(module, "tosa")
    litert = open_model(transload.save(transload.lower(module, "tfl"), tmp_path / "made.tflite"))
    for sample in samples:
        here, there, theirs = (next(iter(outputs.values())) for outputs in (
            transload.run(module, sample, engine="reference"), transload.run(tosa, sample), litert(sample)))
        assert np.array_equal(here, there)
        assert np.array_equal(there, theirs)
