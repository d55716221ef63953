"""The pass `vectors-to-matrices`: a product with a constant vector gives a column, and computes the same; in integers, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload
from transload.metrics import sqnr
from transload.passes.manager import Pipeline
from transload.quantization import floats_in

from tests.support.graphs import Graph, execute, op_names

CASES = [
    ((2, 5, 3), None, {}, ["MatMul", "Reshape"]),
    ((3, 5), None, {"left_transpose": True, "do_relu": True}, ["MatMul", "Reshape"]),
    ((3,), None, {}, ["MatMul", "Reshape"]), ((5, 3), (5,), {"do_relu": True, "relu_limit": 0.5}, ["MatMul", "Reshape", "Add"])]


@pytest.mark.parametrize(("shape", "bias", "attributes", "wanted"), CASES)
def test_a_vector_is_a_column(shape: tuple[int, ...], bias: Any, attributes: dict[str, Any], wanted: list[str]) -> None:
    g = Graph(shape)
    more = [] if bias is None else [g.random(*bias)]
    module = g.done(g.MatMul(g.inputs[0], g.random(3), *more, **attributes))
    (before,) = execute(module)
    assert Pipeline.parse("vectors-to-matrices").run(module)[0].modified
    assert op_names(module) == wanted
    np.testing.assert_allclose(execute(module)[0], before, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("shape", "bias", "attributes", "wanted"), CASES)
def test_vectors_are_quantized(shape: tuple[int, ...], bias: Any, attributes: dict[str, Any], wanted: list[str]) -> None:
    """Their numbers had scales each of its own, although they are summed; with a bias for each row that was an error."""
    g = Graph(shape)
    more = [] if bias is None else [g.random(*bias)]
    module = g.done(g.MatMul(g.inputs[0], g.random(3), *more, **attributes))
    samples = [{"x0": g.random(*shape)} for _ in range(8)]
    quantized = transload.quantize(module, "int8", samples)
    assert not floats_in(quantized)
    outputs = [np.stack([next(iter(transload.run(each, sample).values())) for sample in samples]) for each in (module, quantized)]
    assert sqnr(*outputs) > 30
