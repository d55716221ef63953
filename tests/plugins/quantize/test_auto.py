"""The method `auto`: ranges by the error at the outputs of the ops that use a tensor."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.ir import Module
from transload_plugins.quantize.auto import candidates
from transload_plugins.quantize.histogram import Histogram
from transload_plugins.quantize.thresholds import mse

from tests.support.graphs import Graph


def ignoring(weight: float) -> Module:
    """A product of ten columns with weights, the last of which is said."""
    g = Graph((8, 8, 10))
    (x,) = g.inputs
    weights = np.abs(g.random(10, 4))
    weights[-1] = weight
    return g.done(g.MatMul(g.Reshape(x, shape=(64, 10), location="same"), weights, location="y"))


@pytest.fixture(scope="module")
def samples() -> list[dict[str, np.ndarray]]:
    """Normal numbers, and in one of them, in the last column, one that is far from the others."""
    rng = np.random.default_rng(0)
    made = [{"x0": rng.standard_normal((8, 8, 10)).astype(np.float32)} for _ in range(40)]
    made[3]["x0"][0, 0, 9] = 20.0
    return made


@pytest.mark.parametrize(("symmetric", "share"), [(True, 0.5), (False, 0.95)])
def test_what_no_user_looks_at_is_cut(samples: list[dict[str, np.ndarray]], symmetric: bool, share: float) -> None:
    def kept(weight: float, method: str) -> float:
        found = transload.calibrate(ignoring(weight), samples, method, symmetric=symmetric)
        assert found.kept(symmetric)["x0"] == found.kept(symmetric)["same"], "they share a type"
        return found.kept(symmetric)["x0"][1]

    assert kept(0.0, "auto") < share * kept(0.0, "mse")


def test_errors_at_the_outputs_are_fewer(samples: list[dict[str, np.ndarray]]) -> None:
    module = ignoring(0.0)
    wanted = [transload.run(module, sample)["y0"] for sample in samples]

    def error(method: str) -> float:
        quantized = transload.quantize(module, "int8-sym", samples, method=method, bias_correction=False, islands="none")
        return float(sum(np.sum((transload.run(quantized, sample)["y0"] - right) ** 2)
                         for sample, right in zip(samples, wanted, strict=True)))

    assert error("auto") < 0.8 * error("mse")


def test_the_number_of_workers_makes_no_difference(samples: list[dict[str, np.ndarray]]) -> None:
    one, several = (transload.calibrate(ignoring(0.5), samples, "auto", workers=workers) for workers in (1, 5))
    assert one.ranges == several.ranges and one.thresholds == several.thresholds
    assert one.method == "auto"


def test_candidates_differ_and_begin_with_the_least_error() -> None:
    histogram = Histogram([np.random.default_rng(0).standard_normal(5000), np.array([30.0])])
    for symmetric in (False, True):
        found = candidates(histogram, 8, symmetric)
        assert found[0] == mse(histogram, 8, symmetric)
        assert len(found) == len(set(found)) > 4
        assert all(histogram.low <= low <= high <= histogram.high for low, high in found)

