"""Weights of less than a byte that LiteRT's convolutions read as if each number had a byte of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload

from tests.support.tflite_models import write_operator

pytest.importorskip("ai_edge_litert")


@pytest.mark.parametrize(("operator", "given", "weights", "status"), [
    ("CONV_2D", "int8", "int4", "passed"), ("CONV_2D", "int16", "int4", "passed"), ("CONV_2D", "int16", "int2", "inconclusive"),
    ("CONV_2D", "float32", "int4", "passed"), ("CONV_2D", "float32", "int2", "inconclusive"),
    ("DEPTHWISE_CONV_2D", "int8", "int4", "passed"), ("DEPTHWISE_CONV_2D", "int16", "int4", "inconclusive"),
    ("DEPTHWISE_CONV_2D", "int16", "int2", "inconclusive")])
def test_convolutions_by_packed_weights(operator: str, given: str, weights: str, status: str, tmp_path: Path) -> None:
    """By all of LiteRT's kernels results were up to 31,650 steps off, and of floats not even finite."""
    integers = given != "float32"
    step = {"int8": 0.05, "int16": 2e-4}.get(given)
    quant = None if step is None else ((step,), (0,))
    bias = {"int8": "int32", "int16": "int64"}.get(given, "float32")
    numbers = np.random.default_rng(5).integers(-2, 2, (3, 3, 3, 4) if operator == "CONV_2D" else (1, 3, 3, 4)).astype(np.int8)
    made = numbers.shape[0] if operator == "CONV_2D" else 4
    content = write_operator(
        operator, [
            ((1, 6, 5, 4), given, None, quant), (numbers.shape, weights, numbers, ((0.4,), (0,))),
            ((made,), bias, np.ones(made, bias), ((0.4 * (step or 1),), (0,)) if integers else None)],
        [((1, 6, 5, made), given, None, ((4 * step,), (0,)) if step else None)],
        {"stride_w": 1, "stride_h": 1, "padding": "SAME", **({} if made == 3 else {"depth_multiplier": 1})}, version=7)
    file = tmp_path / "packed.tflite"
    file.write_bytes(content)
    made_of = transload.convert(file, "tosa", verify="yes")
    assert made_of.verification is not None and made_of.verification.status == status, made_of.verification
    assert status == "passed" or "as if each had its own byte" in made_of.verification.why
