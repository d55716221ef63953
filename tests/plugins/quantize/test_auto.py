"""The method `auto`: ranges by the error at the outputs of the ops that use a tensor."""

from __future__ import annotations

import numpy as np
import pytest

import transload
from transload.errors import UsageError
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



def test_ranges_are_tried_on_as_many_samples_as_are_asked_for(samples: list[dict[str, np.ndarray]]) -> None:
    module = ignoring(0.5)
    tuned = {tune: transload.calibrate(module, samples, "auto", tune=tune).tuned for tune in (1, 3, 17, 100)}
    assert tuned == {1: 1, 3: 3, 17: 17, 100: len(samples)}
    assert transload.calibrate(module, samples, "auto").tuned <= 8


def test_ranges_are_tried_on_other_samples(samples: list[dict[str, np.ndarray]]) -> None:
    """One of those that are counted has a number far from all others, which matters where it is among those that tune."""
    module = ignoring(5.0)
    quiet = [{"x0": sample["x0"] * (np.arange(10) < 9)} for sample in samples]
    loud = [{"x0": sample["x0"] * (np.arange(10) == 9)} for sample in samples[3:4]]
    kept = {name: transload.calibrate(module, samples, "auto", tune=2, tune_samples=some).thresholds["x0"]
            for name, some in (("quiet", quiet), ("loud", loud))}
    assert kept["loud"] > 1.5 * kept["quiet"]
    assert transload.calibrate(module, samples, "auto", tune=2, tune_samples=quiet).tuned == 2


@pytest.mark.parametrize(("method", "options", "says"), [
    ("mse", {"tune": 3}, "tunes on no samples"), ("kl", {"tune_samples": [{}]}, "tunes on no samples"),
    ("auto", {"tune": 0}, "1 is the least"), ("auto", {"tune_samples": []}, "there is none"),
    ("auto", {"tune_samples": [{"other": 1}]}, "has no 'x0'"),
    ("mse", {"bins": 2048}, "no number of bins"), ("kl", {"bins": 100}, "cannot have 100 bins"),
    ("kl", {"bins": 1 << 20}, "from 256 to 4096"), ("entropy", {"bins": 2000}, "a multiple of 128")])
def test_numbers_that_a_method_does_not_take(
    samples: list[dict[str, np.ndarray]], method: str, options: dict[str, object], says: str,
) -> None:
    with pytest.raises(UsageError) as error:
        transload.calibrate(ignoring(0.5), samples[:2], method, **options)
    assert says in f"{error.value.message} {error.value.hint}"
