"""Biases of batches of quantized products: the same bits in the hub, in TOSA and in LiteRT's reference kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.ir import Module
from transload_converters.tflite.runtime import open_model
from transload_hub.simplify.bias_terms import terms

from tests.support.graphs import Graph


def _graph(form: str, bias: np.ndarray) -> Module:
    graph = Graph((2, 3, 5, 6))
    x = graph.inputs[0]
    if form == "by itself":
        return graph.done(graph.MatMul(x, x, graph.constant(bias[:5]), right_transpose=True))
    if form == "columns by itself":
        return graph.done(graph.MatMul(x, x, graph.constant(bias[:6]), left_transpose=True, do_relu=True))
    if form == "constant on the left":
        matrix = np.random.default_rng(3).normal(0, 0.4, (7, 5)).astype(np.float32)
        return graph.done(graph.MatMul(graph.constant(matrix), x, graph.constant(bias[:6])))
    return graph.done(graph.MatMul(graph.Softmax(x, axis=-1), x, graph.constant(bias[:1]), right_transpose=True))


@pytest.mark.parametrize("scheme", ["int8", "uint8", "int8-sym", "int16x8"])
@pytest.mark.parametrize("form", ["by itself", "columns by itself", "constant on the left", "behind a softmax"])
@pytest.mark.parametrize("size", [0.3, 40.0])
def test_a_bias_of_a_batch_is_the_same_bits_everywhere(form: str, scheme: str, size: float, tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    samples = [{"x0": (generator.normal(0.5, 1, (2, 3, 5, 6))).astype(np.float32)} for _ in range(6)]
    made = _graph(form, (generator.normal(0, size, 6)).astype(np.float32))
    module = transload.quantize(made, scheme, samples, islands="none")
    assert any(op.name == "top.MatMul" and op.result.quant is not None and len(op.operands) == 3 for op in module.ops())
    tosa = transload.lower(module, "tosa")
    litert = open_model(transload.save(transload.lower(module, "tfl"), tmp_path / "made.tflite"))
    for sample in samples:
        here, there, theirs = (next(iter(outputs.values())) for outputs in (
            transload.run(module, sample, engine="reference"), transload.run(tosa, sample), litert(sample)))
        np.testing.assert_array_equal(there, theirs)
        np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize("scheme", ["int8", "uint8", "int16x8"])
def test_so_is_that_of_a_layer_which_becomes_a_batch(scheme: str, tmp_path: Path) -> None:
    """`rounding=litert` makes batches of exact products by computed matrices, behind the pass, which were refused."""
    generator = np.random.default_rng(5)
    graph = Graph((5, 6), (6, 4))
    made = graph.done(graph.MatMul(*graph.inputs, graph.constant(generator.normal(0, 0.3, 4).astype(np.float32))))
    samples = [{name: generator.normal(0.5, 1, shape).astype(np.float32) for name, shape in (("x0", (5, 6)), ("x1", (6, 4)))}
               for _ in range(6)]
    module = transload.quantize(made, scheme, samples, islands="none")
    for op in module.ops():
        if op.name == "top.MatMul":
            op.attributes["rounding"] = "exact"
    lowered = transload.lower(module, "tfl", rounding="litert")
    assert any(op.name == "tfl.batch_matmul" for op in lowered.ops())
    litert = open_model(transload.save(lowered, tmp_path / "made.tflite"))
    for sample in samples:
        (here,), (theirs,) = transload.run(module, sample, engine="reference").values(), litert(sample).values()
        step = np.diff(np.unique(here)).min()
        assert np.abs(theirs - here).max() <= 1.01 * step, "rounded otherwise, by one step"


@pytest.mark.parametrize("ends", [
    ((-120, 135), (-3, 252)), ((0, 255), (-128, 127)), ((-255, 0), (0, 255)), ((-128, 127), (0, 255))])
def test_the_terms_of_a_bias_add_up_to_it(ends: tuple[tuple[int, int], tuple[int, int]]) -> None:
    bias = np.array([0, 1, -1, 127, -128, 70_000, -123_456, 2_000_001])
    if min(ends[0]) == 0 == min(ends[1]) or ends[0][1] == 0:
        bias = -np.abs(bias)
    made = terms(bias, *ends)
    assert made is not None
    factors, rows = made
    np.testing.assert_array_equal(factors @ rows, bias)
    for numbers, (low, high) in zip(made, ends, strict=True):
        assert low <= numbers.min() and numbers.max() <= high


def test_no_terms_that_are_positive_make_what_is_below_zero_and_few_none_that_is_far() -> None:
    assert terms(np.array([-1]), (0, 255), (0, 255)) is None
    assert terms(np.array([2**31 - 1]), (-128, 127), (-128, 127)) is None
    assert terms(np.array([2**31 - 1]), (-32768, 32767), (-32768, 32767)) is not None
