"""The pass `scales-to-products`: what scales channels becomes a depthwise convolution, and computes the same."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.metrics import sqnr
from transload.passes.manager import Pipeline
from transload.quantization import floats_in

from tests.support.graphs import Graph, execute, op_names


@pytest.mark.parametrize(("shape", "constant", "wanted"), [
    ((2, 5, 4, 6), (5, 1, 1), ["Conv"]), ((2, 5, 4, 6), (1, 1, 1, 6), ["Conv"]), ((2, 5, 6), (1, 5, 1), ["Conv"]),
    ((2, 5, 6), (6,), ["Conv"]), ((2, 6), (6,), ["Reshape", "Conv", "Reshape"]), ((2, 6), (2, 1), ["Mul", "Add"]),
    ((2, 5, 4, 6), (4, 1), ["Mul", "Add"]), ((2, 5, 4, 6), (5, 4, 6), ["Mul", "Add"]),
    ((2, 3, 2, 2, 2), (3, 1, 1, 1), ["Mul", "Add"])])
def test_a_scale_is_a_product(shape: tuple[int, ...], constant: tuple[int, ...], wanted: list[str]) -> None:
    g = Graph(shape)
    module = g.done(g.Scale(g.inputs[0], g.random(*constant), g.random(*constant), do_relu=True, relu_limit=1.5))
    (before,) = execute(module)
    assert Pipeline.parse("scales-to-products").run(module)[0].modified
    assert op_names(module) == wanted
    np.testing.assert_allclose(execute(module)[0], before, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("factors", "wanted"), [
    ([1.0, 1.1, -0.9, 300.0, 1.2], ["Conv"]), ([1.0, 1.1, -0.9, 3.0, 1.2], ["Mul"]), ([np.inf, 1, 1, 1, 1], ["Mul"])])
def test_factors_that_one_scale_would_not_serve(factors: list[float], wanted: list[str]) -> None:
    g = Graph((2, 5, 4, 6))
    module = g.done(g.Mul(np.reshape(factors, (5, 1, 1)), g.inputs[0]))
    (before,) = execute(module)
    Pipeline.parse("scales-to-products").run(module)
    assert op_names(module) == wanted
    np.testing.assert_allclose(execute(module)[0], before, rtol=1e-6)


def test_normalizations_before_convolutions_are_integers() -> None:
    """As DenseNets and ResNets v2 have them; they stayed floats, also for chips that have none."""
    g = Graph((1, 4, 6, 6))
    features, count = g.inputs[0], 4
    for _ in range(2):
        factors, shifts = (np.exp(g.random(count, 1, 1) * scale) - 1 for scale in (1.5, 0.3))
        normalized = g.Scale(features, factors.astype(np.float32), shifts.astype(np.float32), do_relu=True)
        more = g.Conv(normalized, g.random(4, count, 3, 3) / 6, g.random(4), kernel_shape=(3, 3), pads=(1, 1, 1, 1))
        features, count = g.Concat(features, more, axis=1), count + 4
    module = g.done(g.AvgPool(features, kernel_shape=(6, 6)))
    rng = np.random.default_rng(2)
    samples = [{"x0": rng.normal(size=(1, 4, 6, 6)).astype(np.float32)} for _ in range(12)]
    made = transload.quantize(module, "int8", samples[:6], islands="none")
    assert not floats_in(made)
    tosa = transload.lower(made, "tosa")
    wanted, hub, lowered = (
        np.stack([transload.run(each, sample, engine="reference")["y0"] for sample in samples[6:]])
        for each in (module, made, tosa))
    assert sqnr(wanted, hub) > 30.0
    np.testing.assert_array_equal(hub, lowered)
