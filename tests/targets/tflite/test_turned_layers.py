"""Layers whose input is taken transposed (`Gemm` with transA): the same bits in the hub, in TOSA and in LiteRT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload_converters.tflite.runtime import open_model

from tests.support.graphs import Graph


@pytest.mark.parametrize("scheme", ["int8", "uint8", "int8-per-tensor", "int16x8"])
@pytest.mark.parametrize("rounding", [None, "double"])
@pytest.mark.parametrize("shape", [(5, 6), (2, 5, 6)])
@pytest.mark.parametrize("right_transpose", [True, False])
def test_the_same_bits_everywhere(
    shape: tuple[int, ...], scheme: str, rounding: str | None, right_transpose: bool, tmp_path: Path,
) -> None:
    generator = np.random.default_rng(5)
    graph = Graph(shape)
    matrix = generator.normal(0, 0.4, (7, 5) if right_transpose else (5, 7)).astype(np.float32)
    bias = graph.constant(generator.normal(0, 1, 7).astype(np.float32))
    made = graph.done(graph.MatMul(
        graph.inputs[0], graph.constant(matrix), bias, left_transpose=True, right_transpose=right_transpose))
    samples: list[dict[str, Any]] = [{"x0": generator.normal(0.5, 1, shape).astype(np.float32)} for _ in range(6)]
    module = transload.quantize(made, scheme, samples, islands="none")
    (op,) = (op for op in module.ops() if op.name == "top.MatMul")
    assert op.result.quant is not None
    if rounding is not None:
        op.attributes["rounding"] = rounding
    tosa = transload.lower(module, "tosa")
    litert = open_model(transload.save(transload.lower(module, "tfl"), tmp_path / "made.tflite"))
    for sample in samples:
        here, there, theirs = (next(iter(outputs.values())) for outputs in (
            transload.run(module, sample, engine="reference"), transload.run(tosa, sample), litert(sample)))
        np.testing.assert_array_equal(there, theirs)
        np.testing.assert_array_equal(here, there)
