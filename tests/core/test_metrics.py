"""Measures of nearness."""

from __future__ import annotations

import json
import math
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.cli import run
from transload.context import Context
from transload.errors import UsageError
from transload.metrics import cosine, euclid, max_abs, sqnr
from transload.plugin import Metric
from transload.plugin_host import Host


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-160, 1e160, 1e300])
def test_squares_neither_overflow_nor_vanish(scale: float) -> None:
    a, b = np.array([1.0, 2, 3]), np.array([1.0, 2, -3])
    for metric in (cosine, euclid, sqnr):
        assert metric(a * scale, b * scale) == pytest.approx(metric(a, b), rel=1e-12)


@pytest.mark.parametrize("size", [1, 3, 1000, 4096])
def test_equal_tensors_have_a_cosine_of_exactly_1(size: int) -> None:
    for seed in range(20):
        x = np.random.default_rng(seed).standard_normal(size)
        assert cosine(x, x.copy()) == 1


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_a_cosine_is_of_directions_alone(scale: float) -> None:
    a = np.array([1.0, 2, 3])
    assert cosine(a, a * scale) == pytest.approx(1, rel=1e-12) == cosine(a * scale, a)


def test_equal_tensors_are_as_near_as_can_be():
    x = np.arange(6, dtype=np.float32)
    assert cosine(x, x) == 1
    assert euclid(x, x) == 1
    assert max_abs(x, x) == 0
    assert sqnr(x, x) == math.inf


def test_known_distances():
    a, b = np.array([3.0, 4.0]), np.array([3.0, 0.0])
    assert cosine(a, b) == pytest.approx(0.6)
    assert euclid(a, b) == pytest.approx(1 - 4 / 5)
    assert max_abs(a, b) == 4
    assert sqnr(a, b) == pytest.approx(10 * math.log10(25 / 16))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("other", [np.inf, np.nan, 1.0])
def test_what_is_not_finite_is_measured_without_a_warning(other):
    a, b = np.array([1.0, 2.0, 3e300]), np.array([1.0, -np.inf, other])
    for measure in (cosine, euclid, max_abs, sqnr):
        assert isinstance(measure(a, b), float) and isinstance(measure(b, a), float)
    assert sqnr(np.zeros(2), b[:2]) == -math.inf


def test_zeros_infinities_and_nan():
    zero = np.zeros(3)
    assert cosine(zero, zero) == 1
    assert cosine(zero, np.ones(3)) == 0
    assert euclid(zero, zero) == 1
    infinite = np.array([np.inf, 1.0, np.nan])
    assert max_abs(infinite, infinite) == 0
    assert math.isnan(cosine(np.ones(3), np.array([np.nan, 1, 1])))


def test_large_integers_do_not_overflow():
    a, b = np.array([127], np.int8), np.array([-128], np.int8)
    assert max_abs(a, b) == 255


def test_a_plugins_metric_is_a_column(examples: Path, tmp_path: Path, capsys: Any):
    host = Host()
    host.metrics["worst"] = Metric("worst", lambda reference, actual: 0.125, "a constant", heading="worst of all")
    model = str(examples / "digits" / "digits_int8.tflite")
    with Context(host).bind():
        assert run(["convert", model, "-o", str(tmp_path)]) == 0
        assert run(["compare", model, str(tmp_path / "digits_int8.tosa")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.count("worst of all") == said.count("0.125") == 2 and said.count("SQNR dB") == 2


def test_a_plugins_metric_has_a_tolerance(examples: Path, tmp_path: Path):
    host = Host()
    host.metrics["worst"] = Metric("worst", lambda reference, actual: 0.125, "a constant")
    model = examples / "digits" / "digits_int8.tflite"
    with Context(host).bind():
        within = transload.convert(model, out=tmp_path, tolerance=["worst=0.2"])
        assert within.verification.passed
        assert json.loads((tmp_path / "report.json").read_text())["tolerance"]["worst"] == 0.2
        beyond = transload.convert(model, out=tmp_path, tolerance=["worst=0.1"])
        assert beyond.verification.failed and "worst 0.125, allowed 0.1" in beyond.verification.broken[0]
        with pytest.raises(UsageError, match="no tolerance is called 'best'"):
            transload.convert(model, out=tmp_path, tolerance=["best=1"])


def test_what_is_not_finite_in_both_says_nothing_against_them() -> None:
    """The square roots of some negative numbers: the others decide."""
    reference, actual = np.array([np.nan, np.inf, 1.0, 2.0]), np.array([np.nan, np.inf, 1.0, 2.000001])
    assert cosine(reference, actual) > 0.9999 and euclid(reference, actual) > 0.9999 and sqnr(reference, actual) > 90
    assert np.isnan(cosine(reference, np.array([1.0, np.inf, 1.0, 2.0])))


def test_the_greatest_float_masks_as_infinity_does():
    a = np.array([1.0, -np.inf, 2.0])
    b = np.array([1.0, -3.4028234663852886e38, 2.0])
    assert cosine(a, b) == cosine(b, a) == pytest.approx(1.0) and euclid(a, b) == 1.0
    assert not cosine(a, -b) > 0.5


@pytest.mark.one_in(3)
@pytest.mark.parametrize("metric", [cosine, euclid, max_abs, sqnr])
def test_large_tensors_are_compared_part_by_part(metric: Any) -> None:
    """In float64 all at once it took ten times what they have."""
    a = np.ones(6 << 20, np.float32)
    b = a.copy()
    b[-1] = 3.0
    tracemalloc.start()
    made = metric(a, b)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * a.nbytes, f"{peak >> 20} MiB"
    assert made != metric(a, a)
