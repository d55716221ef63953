"""Histograms and the ranges that methods take from them."""

from __future__ import annotations

import numpy as np
import pytest

from transload.errors import UsageError
from transload_plugins.quantize.histogram import BINS, Extent, Histogram
from transload_plugins.quantize.thresholds import METHODS, kl, minmax, mse, percentile, quantization_error


def histogram_of(*arrays: np.ndarray) -> Histogram:
    extent = Extent()
    for array in arrays:
        extent = extent.seen(array)
    histogram = Histogram(extent)
    for array in arrays:
        histogram.add(array)
    return histogram


@pytest.fixture
def normal() -> np.ndarray:
    return np.random.default_rng(0).normal(0.0, 1.0, 50_000).astype(np.float32)


def test_counts_are_those_of_the_numbers(normal: np.ndarray) -> None:
    histogram = histogram_of(normal)
    assert histogram.total == normal.size
    assert histogram.magnitudes().sum() == normal.size
    expected, _ = np.histogram(np.abs(normal), bins=BINS, range=(0, float(np.abs(normal).max())))
    assert np.abs(histogram.magnitudes() - expected).sum() <= 4, "but for numbers on an edge"


def test_workers_in_any_order_count_the_same(normal: np.ndarray) -> None:
    parts = np.array_split(normal, 7)
    extent = Extent()
    for part in reversed(parts):
        extent = extent.joined(Extent().seen(part))
    whole, joined = histogram_of(normal), Histogram(extent)
    for part in parts[3:] + parts[:3]:
        worker = Histogram(extent)
        worker.add(part)
        joined.join(worker)
    assert joined.extent == whole.extent
    np.testing.assert_array_equal(joined.counts, whole.counts)


@pytest.mark.parametrize("array", [np.zeros(5), np.full(5, 3.0), -np.arange(5.0), np.array([1e-38]), np.array([-7.5])])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_stays_within_what_was_seen(method: str, array: np.ndarray) -> None:
    low, high = METHODS[method](histogram_of(array))
    assert array.min() <= low <= high <= array.max()


def test_percentile_is_numpys(normal: np.ndarray) -> None:
    found = percentile(histogram_of(normal), 0.99)
    np.testing.assert_allclose(found, np.quantile(normal, [0.01, 0.99]), atol=0.01)


def test_mse_is_the_least_of_all_cuts(normal: np.ndarray) -> None:
    """Against the error of really quantizing, on a grid of symmetric cuts."""
    histogram = histogram_of(normal, np.array([40.0], np.float32))
    numbers = np.append(normal, 40.0)

    def error(low: float, high: float) -> float:
        scale = (high - low) / 255
        stored = np.clip(np.round(numbers / scale) + np.round(-low / scale), 0, 255)
        return float(np.mean(((stored - np.round(-low / scale)) * scale - numbers) ** 2))

    best = min(error(-low, high) for low in np.linspace(2, 5, 13) for high in np.linspace(2, 40, 39))
    assert error(*mse(histogram)) <= best * 1.02
    assert error(*mse(histogram)) < error(*minmax(histogram))


def test_the_error_is_that_of_quantizing(normal: np.ndarray) -> None:
    scale = 6.0 / 255
    zero = np.round(3.0 / scale)
    stored = np.clip(np.round(normal / scale) + zero, 0, 255)
    assert quantization_error(histogram_of(normal), (-3.0, 3.0)) == pytest.approx(
        np.mean(((stored - zero) * scale - normal) ** 2), rel=0.02)


def test_kl_cuts_an_outlier_off(normal: np.ndarray) -> None:
    low, high = kl(histogram_of(normal, np.array([60.0], np.float32)))
    assert high < 10.0
    assert low >= normal.min()


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_numbers_without_a_range_are_refused(number: float) -> None:
    with pytest.raises(UsageError, match="not finite"):
        Extent().seen(np.array([1.0, number]))
