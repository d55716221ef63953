"""RSQRT of int8 against LiteRT, over all numbers: it counts in fixed point, and not by a table of real results."""

from __future__ import annotations

import math

import numpy as np
import pytest

import transload

from tests.support.litert import run_litert
from tests.support.tflite_models import read_bytes, write_operator

pytest.importorskip("ai_edge_litert")


@pytest.mark.parametrize("seed", range(6))
def test_inverse_roots_of_all_bytes(seed: int) -> None:
    """One number of ten thousand was a step off."""
    random, numbers = np.random.default_rng(seed), np.arange(-127, 128).astype(np.int8)
    for _ in range(25):
        scale = float(np.float32(10 ** random.uniform(-3, 1)))
        step = float(np.float32(random.uniform(0.3, 3) / math.sqrt(scale) / 200))
        content = write_operator(
            "RSQRT", [((255,), "int8", None, ((scale,), (-128,)))],
            [((255,), "int8", None, ((step,), (int(random.integers(-128, 20)),)))], version=2)
        (ours,) = transload.run(transload.lower(read_bytes(content), "top"), {"in0": numbers}).values()
        np.testing.assert_array_equal(ours, run_litert(content, {"in0": numbers}, True)[0])
