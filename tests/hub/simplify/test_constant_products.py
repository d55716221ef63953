"""The pass `constants-to-layers`: products with constants have a matrix of weights, or no bias; quantized they are integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import F32, I8, Module, QuantType, TensorType
from transload.metrics import sqnr
from transload.passes.manager import Pipeline
from transload.quantization import floats_in

from tests.support.graphs import Graph, execute, op_names

CASES = [
    ((2, 5, 3), (3,), None, {}, ["MatMul", "Reshape"]),
    ((3, 5), (3,), None, {"left_transpose": True, "do_relu": True}, ["MatMul", "Reshape"]),
    ((3,), (3,), None, {}, ["MatMul", "Reshape"]),
    ((5, 3), (3,), (5,), {"do_relu": True, "relu_limit": 0.5}, ["MatMul", "Reshape", "Add"]),
    ((2, 5, 3), (1, 4, 3), None, {"right_transpose": True}, ["MatMul"]),
    ((5, 3), (1, 1, 3, 4), (4,), {"do_relu": True}, ["MatMul", "Reshape", "Add"]),
    ((2, 5, 3), (2, 3, 4), (4,), {"do_relu": True}, ["MatMul", "Add"])]
"""Shapes of the input, the constant and the bias, attributes, and what comes of it."""


def product(shape: tuple[int, ...], constant: tuple[int, ...], bias: Any, attributes: dict[str, Any]) -> Module:
    g = Graph(shape)
    more = [] if bias is None else [g.random(*bias)]
    return g.done(g.MatMul(g.inputs[0], g.random(*constant), *more, **attributes))


@pytest.mark.parametrize(("shape", "constant", "bias", "attributes", "wanted"), CASES)
def test_they_are_layers(
    shape: tuple[int, ...], constant: tuple[int, ...], bias: Any, attributes: dict[str, Any], wanted: list[str],
) -> None:
    module = product(shape, constant, bias, attributes)
    (before,) = execute(module)
    assert Pipeline.parse("constants-to-layers").run(module)[0].modified
    assert op_names(module) == wanted
    np.testing.assert_allclose(execute(module)[0], before, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("shape", "constant", "bias", "attributes", "wanted"), CASES)
def test_they_are_integers(
    shape: tuple[int, ...], constant: tuple[int, ...], bias: Any, attributes: dict[str, Any], wanted: list[str],
) -> None:
    """A vector's numbers had scales each of its own, although they are summed; of batches TOSA computed floats."""
    module = product(shape, constant, bias, attributes)
    random = np.random.default_rng(1)
    samples = [{"x0": random.standard_normal(shape).astype(np.float32)} for _ in range(8)]
    quantized = transload.quantize(module, "int8", samples)
    assert not floats_in(quantized)
    outputs = [np.stack([next(iter(transload.run(each, sample).values())) for sample in samples]) for each in (module, quantized)]
    assert sqnr(*outputs) > 28
    lowered = transload.lower(quantized, "tosa")
    products = [op for op in lowered.body_of_main if op.name in ("tosa.matmul", "tosa.conv2d")]
    assert products and not any(value.is_float for op in products for value in op.operands)


@pytest.mark.parametrize("transposed", [False, True])
def test_scales_by_column_of_a_batch_are_integers_in_tosa(transposed: bool) -> None:
    """As other tools quantize them: they were computed with floats, and rounded otherwise than the hub says."""
    g = Graph(TensorType((2, 5, 3), QuantType(I8, F32, (0.02,), (3,))))
    numbers, scales = np.random.default_rng(0).integers(-127, 128, (2, 3, 4)).astype(np.int8), 0.01 * 2.0 ** np.arange(4)
    stored = np.ascontiguousarray(numbers.swapaxes(1, 2)) if transposed else numbers
    weights = g.builder.constant(stored, QuantType(I8, F32, tuple(scales), (0,) * 4, 1 if transposed else 2))
    made = g.MatMul(g.inputs[0], weights, right_transpose=transposed, rounding="once",
                    types=[TensorType((2, 5, 4), QuantType(I8, F32, (0.1,), (-5,)))])
    module = g.done(made)
    lowered = transload.lower(module, "tosa")
    products = [op for op in lowered.body_of_main if op.name == "tosa.matmul"]
    assert products and not any(value.is_float for op in products for value in op.operands)
    x = np.random.default_rng(1).integers(-128, 128, (2, 5, 3)).astype(np.int8)
    wanted = np.clip(np.floor((x.astype(int) - 3) @ numbers.astype(int) * (0.02 * scales / 0.1) + 0.5) - 5, -128, 127)
    for each in (module, lowered):
        np.testing.assert_array_equal(transload.run(each, {"x0": x})["y0"], wanted)
