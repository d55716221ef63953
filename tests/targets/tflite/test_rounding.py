"""LiteRT's rounding in place of the model's, where it is asked for: what that is judged by."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload_targets.tflite.lowering.rounding import rounds_otherwise

from tests.support.graphs import Graph


def test_what_rounds_as_litert_is_near_the_quantized_module_and_not_the_same(tmp_path: Path) -> None:
    """A chain of sums that are rounded once: each was a step off now and then, and the verification failed."""
    graph = Graph((1, 512))
    made = graph.inputs[0]
    for layer in range(12):
        made = graph.Mul(graph.Add(made, graph.random(512)), graph.random(512), location=f"layer{layer}")
    module = graph.done(made)
    samples = [{"x0": np.random.default_rng(seed).normal(0, 1, (1, 512)).astype(np.float32)} for seed in range(6)]
    how = {"quantize": "int8", "data": samples,
           "quantizer_options": {"rounds": "once", "quant_input": "all", "quant_output": "all"}}
    with pytest.raises(ConversionError, match="rounding=litert takes LiteRT's rounding"):
        transload.convert(module, "tflite", tmp_path, **how)
    verdict = transload.convert(module, "tflite", tmp_path, options={"rounding": "litert"}, **how).verification
    assert verdict is not None and verdict.status == "passed", verdict
    assert verdict.tensors[0].metrics["max_abs"] > 0


@pytest.mark.parametrize("rounding", ["kept", "litert"])
def test_it_is_noted_where_it_was_asked_for(rounding: str) -> None:
    graph = Graph((1, 4))
    module = transload.lower(graph.done(graph.Relu(graph.inputs[0])), "tfl", rounding=rounding)
    assert rounds_otherwise(module) == (rounding == "litert")
