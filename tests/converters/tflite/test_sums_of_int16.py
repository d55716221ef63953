"""Sums of products of int16, which LiteRT scales by what a file says of a bias or by their weights: to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import Module

pytest.importorskip("ai_edge_litert")

RANDOM = np.random.default_rng(3)
IN, WEIGHTS, OUT = 2.1e-4, 3.1e-3, 7.9e-3
Judge = Callable[..., Module]


def numbers(dtype: str, *shape: int) -> np.ndarray:
    most = np.iinfo(dtype).max
    return RANDOM.integers(-most, most, shape, dtype, endpoint=True)


def agrees(content: bytes, x: np.ndarray, judge: Judge, litert: Callable[..., list[np.ndarray]]) -> None:
    """Judge what the hub computes, and TOSA, in which such sums are rescaled."""
    given = {next(iter(judge(content).inputs)): x}
    lowered = transload.lower(transload.load(text=content, format="tflite"), "tosa")
    np.testing.assert_array_equal(next(iter(transload.run(lowered, given).values())), litert(content, given)[0])


@pytest.mark.parametrize("said", ["INT32", "INT64", "FLOAT32"])
@pytest.mark.parametrize("channels", [False, True])
def test_a_transposed_convolution_without_a_bias(
    write: Callable[..., bytes], judge: Judge, litert: Any, said: str, channels: bool,
) -> None:
    """Its sums have 32 bits where a bias would have, and a multiplier of as many."""
    scales = [WEIGHTS * (1 + i) for i in range(4)] if channels else [WEIGHTS]
    x, kernel = numbers("int16", 2, 9, 9, 16), numbers("int8", 4, 3, 3, 16)
    content = write(
        "TRANSPOSE_CONV",
        [((4,), "int32", np.array([2, 9, 9, 4], np.int32)), (kernel.shape, "int8", kernel, (scales, [0] * len(scales), 0)),
         (x.shape, "int16", None, ((IN,), (0,)))],
        [((2, 9, 9, 4), "int16", None, ((OUT,), (0,)))],
        {"padding": "SAME", "stride_h": 1, "stride_w": 1, "quantized_bias_type": said})
    agrees(content, x, judge, litert)


@pytest.mark.parametrize(("bias", "said"), [
    ("int32", "INT32"), ("int32", "FLOAT32"), ("int64", "INT64"), (None, "INT32"), (None, "FLOAT32")])
def test_a_layer_with_weights_of_16_bits(
    write: Callable[..., bytes], judge: Judge, litert: Any, bias: str | None, said: str,
) -> None:
    """Its sums have 64 bits, whatever its bias has; with a bias it was computed in floats."""
    x, weights, step = numbers("int16", 40, 8), numbers("int16", 3, 8), 1e-4
    added = None if bias is None else ((3,), bias, np.array([9_000_000, -2_000_000, 500], bias), ((IN * step,), (0,)))
    content = write(
        "FULLY_CONNECTED",
        [(x.shape, "int16", None, ((IN,), (0,))), (weights.shape, "int16", weights, ((step,), (0,))), added],
        [((40, 3), "int16", None, ((2.9e-4,), (0,)))], {"quantized_bias_type": said}, version=11)
    agrees(content, x, judge, litert)
