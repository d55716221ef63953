"""LiteRT's rounding in place of the model's, where it is asked for: what that is judged by."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload_targets.tflite.lowering.rounding import rounds_otherwise

from tests.support.graphs import Graph
from tests.support.small_onnx import saved


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


@pytest.mark.parametrize(("kind", "attributes", "scale"), [
    ("Add", {}, 0.0625), ("Sub", {}, 0.0625), ("Max", {}, 0.0311),
    ("AveragePool", {"kernel_shape": [2, 2], "strides": [2, 2]}, 0.0625)])
def test_what_a_refusal_advises_leads_to_a_result_that_passes(
    kind: str, attributes: dict[str, Any], scale: float, tmp_path: Path,
) -> None:
    """A fifth to a half of the numbers are a step off where scales are such: with the option alone verification failed."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
    path = saved(tmp_path / "m.onnx", [
        ("DequantizeLinear", "x fine zero", "a"), ("Transpose", "x", "turned", {"perm": [0, 1, 3, 2]}),
        ("DequantizeLinear", "turned fine zero", "b"), (kind, "a" if attributes else "a b", "made", attributes),
        ("QuantizeLinear", "made coarse zero", "y")],
        [1, 4, 8, 8], {"fine": 0.03125, "coarse": scale}, "INT8", "INT8", zero=np.array(0, np.int8))
    with pytest.raises(ConversionError) as refused:
        transload.convert(path, "tflite")
    for hint in {finding.hint for finding in refused.value.findings}:
        options = dict(each.split("=") for each in re.findall(r"--option (\w+=\w+)", hint))
        tolerance = re.findall(r"--tolerance (\w+=\d+)", hint)
        verdict = transload.convert(path, "tflite", options=options, tolerance=tolerance).verification
        assert verdict is not None and verdict.passed, verdict
