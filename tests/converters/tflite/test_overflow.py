"""Where LiteRT's integers overflow, nothing can be judged by what it gives; where they do not, everything can."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.ir import F32, I8, I32, Dense, Module, QuantType, TensorType, new_module, set_results
from transload.ir.build import Builder
from transload_converters.tflite.overflow import overflows

from tests.support.tflite_models import write_operator

X, MADE = QuantType(I8, F32, (0.02,), (-128,)), QuantType(I8, F32, (0.02,), (-128,))


def layer(scales: tuple[float, float], bias: int) -> Module:
    """A matrix product of 64 numbers by two columns of weights, each with a scale of its own."""
    weights = QuantType(I8, F32, scales, (0, 0), 1)
    module = new_module()
    module.add_function("main", [TensorType((1, 64), X)], ["x"])
    build = Builder(module.body_of_main)
    held = np.full((64, 2), 127, np.int8)
    sums = QuantType(I32, F32, tuple(X.scale * scale for scale in scales), (0, 0), 0)
    made = build.emit(
        "top.MatMul", module.body_of_main.arguments[0], build.constant(Dense(held, TensorType((64, 2), weights))),
        build.constant(Dense(np.array([bias, 0], np.int32), TensorType((2,), sums))), types=[TensorType((1, 2), MADE)])
    set_results(module.main, [made])
    return module


@pytest.mark.parametrize(("scales", "bias", "fits"), [
    ((0.01, 0.01), 0, True), ((1e-9, 0.01), 1000, True),  # a channel of next to nothing says nothing of the other
    ((1e-9, 0.01), 2**31 - 1, False)])
def test_each_channel_is_counted_in_its_own_steps(scales: tuple[float, float], bias: int, fits: bool) -> None:
    said = overflows(layer(scales, bias), {"x": np.full((1, 64), 127, np.int8)})
    assert (not said) == fits, said


def test_a_bias_beyond_litert_is_open_where_the_model_is_quantized_again(tmp_path: Path) -> None:
    """LiteRT gives the least number of sums of 2^31 steps; the quantized module gives the greatest, and was called wrong."""
    pytest.importorskip("ai_edge_litert")
    bias = ((6,), "int64", np.array([1 << 40, 5000, -6000, 6000, -1800, 300]), ((2.9e-6,), (0,)))
    weights = np.random.default_rng(0).integers(-127, 128, (6, 3, 3, 4)).astype(np.int8)
    file = tmp_path / "far.tflite"
    file.write_bytes(write_operator(
        "CONV_2D", [((1, 6, 6, 4), "int16", None, ((2.1e-4,), (0,))), ((6, 3, 3, 4), "int8", weights, ((0.0138,), (0,))), bias],
        [((1, 4, 4, 6), "int16", None, ((1.2e-3,), (0,)))], {"padding": "VALID", "stride_w": 1, "stride_h": 1}, version=4))
    samples = [{"in0": np.random.default_rng(seed).integers(-9000, 9000, (1, 6, 6, 4)).astype(np.int16)} for seed in range(2)]
    made = transload.convert(file, "tflite", tmp_path / "out", quantize="int8", data=samples)
    found = made.report.verification
    assert found.status == "inconclusive" and "LiteRT counts steps in 32 bits" in found.why, found
