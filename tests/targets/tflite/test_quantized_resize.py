"""Resizing that our quantizer made integers of: the same bits in the hub, in TOSA and in LiteRT's reference kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload_converters.tflite.runtime import open_model

from tests.support.graphs import Graph

CASES: dict[str, tuple[tuple[int, ...], str, dict[str, Any]]] = {
    "by quotients of sizes": ((1, 3, 7, 5), "NCHW", {"sizes": (14, 15), "scales": (2.0, 3.0), "coord_mode": "half_pixel"}),
    "by thirds": ((1, 3, 6, 6), "NCHW", {"sizes": (8, 4), "scales": (4 / 3, 2 / 3), "coord_mode": "pytorch_half_pixel"}),
    "symmetric": ((1, 6, 9, 2), "NHWC", {"sizes": (4, 12), "coord_mode": "half_pixel_symmetric"}),
    "corners": ((2, 5, 4, 3), "NHWC", {"sizes": (11, 7), "coord_mode": "align_corners"}),
    "rows alone": ((1, 7, 4), "NHWC", {"sizes": (16,), "coord_mode": "half_pixel"}),
    "edges": ((1, 5, 5, 8), "NHWC", {"sizes": (10, 10), "coord_mode": "asymmetric"}),
}


@pytest.mark.parametrize("scheme", ["int8", "int16x8"])
@pytest.mark.parametrize("name", CASES)
def test_quantized_resizing_is_the_same_bits_everywhere(name: str, scheme: str, tmp_path: Path) -> None:
    shape, layout, attributes = CASES[name]
    graph = Graph(shape)
    made = graph.done(graph.Interp(graph.inputs[0], mode="linear", layout=layout, **attributes))
    samples = [{"x0": np.random.default_rng(seed).normal(0, 1, shape).astype(np.float32)} for seed in range(6)]
    module = transload.quantize(made, scheme, samples[:4])
    assert any(op.name == "top.Interp" and op.result.quant is not None for op in module.ops())
    tosa = transload.lower(module, "tosa")
    litert = open_model(transload.save(transload.lower(module, "tfl"), tmp_path / "made.tflite"))
    (kind,) = [str(op.operands[0].tensor_type.element) for op in tosa.ops() if op.name == "tosa.resize"]
    assert kind in ("i8", "i16")
    for sample in samples:
        here, there, theirs = (next(iter(outputs.values())) for outputs in (
            transload.run(module, sample, engine="reference"), transload.run(tosa, sample), litert(sample)))
        assert np.array_equal(there, theirs)
        assert np.array_equal(here, there)


def test_unsigned_bytes_that_litert_resizes_in_floats_are_as_near_as_quantizing(tmp_path: Path) -> None:
    graph = Graph((2, 4, 5, 1))
    made = graph.done(graph.Interp(graph.inputs[0], mode="linear", layout="NHWC", sizes=(6, 6), coord_mode="asymmetric"))
    samples = [{"x0": np.random.default_rng(seed).uniform(0, 255, (2, 4, 5, 1)).astype(np.float32)} for seed in range(2)]
    artifact = transload.convert(made, "tflite", tmp_path, quantize="uint8", data=samples, verify=True)
    assert artifact.verification is not None and artifact.verification.passed
