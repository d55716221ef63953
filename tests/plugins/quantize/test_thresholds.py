"""Histograms and the ranges that methods take from them."""

from __future__ import annotations

import numpy as np
import pytest

from transload.errors import UsageError
from transload_plugins.quantize.calibration import calibrate
from transload_plugins.quantize.histogram import BINS, ENDS, MANUAL_BINS, Histogram
from transload_plugins.quantize.thresholds import METHODS, _Sums, entropy, kl, minmax, mse, percentile, quantization_errors

from tests.support.graphs import Graph


@pytest.fixture
def normal() -> np.ndarray:
    return np.random.default_rng(0).normal(0.0, 1.0, 50_000).astype(np.float32)


def test_counts_are_those_of_the_numbers(normal: np.ndarray) -> None:
    histogram = Histogram([normal])
    assert (histogram.low, histogram.high, histogram.total) == (normal.min(), normal.max(), normal.size)
    assert BINS / 2 <= histogram.farthest / histogram.width < BINS
    bins, counts = np.unique(np.trunc(normal.astype(np.float64) / histogram.width), return_counts=True)
    expected = dict(zip(bins, counts, strict=True))
    assert {place - (BINS - 1): count for place, count in enumerate(histogram.counts) if count} == expected


def test_distances_from_zero_are_counted_in_the_bins_of_the_manual(normal: np.ndarray) -> None:
    found = Histogram([normal]).magnitudes()
    expected, _ = np.histogram(np.abs(normal), bins=MANUAL_BINS, range=(0, float(np.abs(normal).max())))
    assert found.sum() == pytest.approx(normal.size)
    np.testing.assert_allclose(np.cumsum(found), np.cumsum(expected), atol=0.002 * normal.size)


def test_the_order_and_the_workers_make_no_difference() -> None:
    """Parts of very different range, so that bins double in between, down to numbers that are not normal."""
    rng = np.random.default_rng(0)
    parts = [(rng.standard_normal(500) * 10.0 ** power).astype(np.float32) for power in (-3, 2, -40, 0, 5, -6, 20)]
    parts.append(np.array([0.0, -0.0, -1e-42, 1e-40, 3e38], np.float32))
    whole, backwards, joined = Histogram(parts), Histogram(reversed(parts)), Histogram(parts[3:])
    joined.join(Histogram(parts[:3]))
    joined.join(Histogram())
    for other in (backwards, joined):
        assert (other.low, other.high, other.exponent) == (whole.low, whole.high, whole.exponent)
        np.testing.assert_array_equal(other.counts, whole.counts)
        assert other.arrays == whole.arrays == len(parts)
        np.testing.assert_array_equal(other.ends, whole.ends)


def test_the_ends_are_those_of_the_arrays_that_reach_farthest(normal: np.ndarray) -> None:
    parts = normal.reshape(50, -1)
    found = Histogram(parts)
    np.testing.assert_array_equal(found.ends[0], np.sort(-parts.min(axis=1))[::-1][:ENDS])
    np.testing.assert_array_equal(found.ends[1], np.sort(parts.max(axis=1))[::-1][:ENDS])


def test_bins_are_those_that_the_whole_range_would_have_begun_with(normal: np.ndarray) -> None:
    grown = Histogram([normal[:1000] / 64, normal])
    at_once = Histogram()
    at_once.add(np.concatenate((normal, normal[:1000] / 64)))
    np.testing.assert_array_equal(grown.counts, at_once.counts)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_numbers_of_other_widths_are_counted(dtype: type, normal: np.ndarray) -> None:
    assert Histogram([normal.astype(dtype)]).total == normal.size


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(wrong: float) -> None:
    with pytest.raises(UsageError, match="not finite"):
        Histogram([np.array([0.0, wrong, 1.0])])


def test_first_from_is_a_search_among_the_centers(normal: np.ndarray) -> None:
    histogram = Histogram([normal])
    numbers = np.concatenate((np.linspace(-9, 9, 1001), histogram.centers[::97], [0.0]))
    np.testing.assert_array_equal(histogram.first_from(numbers), np.searchsorted(histogram.centers, numbers))


@pytest.mark.parametrize("array", [np.zeros(5), np.full(5, 3.0), -np.arange(5.0), np.array([1e-38]), np.array([-7.5])])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("bits", [8, 16])
def test_every_method_stays_within_what_was_seen(method: str, array: np.ndarray, symmetric: bool, bits: int) -> None:
    low, high = METHODS[method](Histogram([array]), bits, symmetric)
    assert min(array.min(), 0.0) <= low <= high <= max(array.max(), 0.0)


def test_percentile_is_numpys(normal: np.ndarray) -> None:
    found = percentile(Histogram([normal]), share=0.99)
    np.testing.assert_allclose(found, np.quantile(normal, [0.01, 0.99]), atol=0.01)


def test_mse_is_the_least_of_all_cuts(normal: np.ndarray) -> None:
    """Against the error of really quantizing, on a grid of symmetric cuts."""
    histogram = Histogram([normal, np.array([40.0], np.float32)])
    numbers = np.append(normal, 40.0)

    def error(low: float, high: float) -> float:
        scale = (high - low) / 255
        stored = np.clip(np.round(numbers / scale) + np.round(-low / scale), 0, 255)
        return float(np.mean(((stored - np.round(-low / scale)) * scale - numbers) ** 2))

    best = min(error(-low, high) for low in np.linspace(2, 5, 13) for high in np.linspace(2, 40, 39))
    assert error(*mse(histogram)) <= best * 1.02
    assert error(*mse(histogram)) < error(*minmax(histogram))


@pytest.mark.parametrize("symmetric", [False, True])
def test_of_few_numbers_more_than_was_seen_is_held(symmetric: bool) -> None:
    """On 16 samples of 10 numbers, fifty times: what others lose is less than with ranges that end where the samples did."""
    rng = np.random.default_rng(0)
    others = rng.exponential(1.0, 10_000)
    held = {"stretched": 0.0, "seen": 0.0}
    for _ in range(50):
        histogram = Histogram(rng.exponential(1.0, (16, 10)))
        kept = mse(histogram, 8, symmetric)
        assert kept[1] >= histogram.high * 0.9
        held["stretched"] += float(quantization_errors(Histogram([others]), [kept], 8, symmetric)[0])
        held["seen"] += float(quantization_errors(Histogram([others]), [minmax(histogram)], 8, symmetric)[0])
    assert held["stretched"] < 0.7 * held["seen"]


def test_of_many_numbers_and_of_those_that_end_alike_what_was_seen_is_held(normal: np.ndarray) -> None:
    many = Histogram(normal.reshape(5, -1))
    limited = Histogram(np.clip(normal[:200], -1.0, 1.0).reshape(10, -1))
    for histogram in (many, limited):
        low, high = mse(histogram)
        assert histogram.low <= low <= high <= histogram.high


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(("bits", "kept"), [
    (8, (-3.0, 3.0)), (8, (-1.0, 4.0)), (4, (-3.0, 2.0)), (16, (-3.0, 3.0)), (16, (-9.0, 9.0))])
def test_the_error_is_that_of_quantizing(normal: np.ndarray, bits: int, kept: tuple[float, float], symmetric: bool) -> None:
    half = 1 << (bits - 1)
    scale = max(map(abs, kept)) / (half - 1) if symmetric else (kept[1] - kept[0]) / (2 * half - 1)
    zero = 0.0 if symmetric else np.round(-kept[0] / scale) - half
    numbers = normal.astype(np.float64)
    stored = np.clip(np.round(numbers / scale) + zero, -half, half - 1)
    [found] = quantization_errors(Histogram([normal]), [kept], bits, symmetric)
    assert found == pytest.approx(np.mean(((stored - zero) * scale - numbers) ** 2), rel=0.02)


def test_where_zero_points_are_zero_the_far_end_decides(normal: np.ndarray) -> None:
    """A tail on one side: with a zero point the other end is kept as it is, without one both lie at one distance."""
    histogram = Histogram([normal, np.full(5, 40.0, np.float32)])
    low, high = mse(histogram, 8, True)
    assert -low == pytest.approx(min(high, -float(normal.min())))
    errors = quantization_errors(histogram, [(low, high), mse(histogram, 8, False), minmax(histogram)], 8, True)
    assert errors[0] <= errors.min() * 1.001


def manuals_threshold(numbers: np.ndarray) -> float:
    """The pseudo-code of the TPU-MLIR manual (7.3.1), line by line, on numbers without those next to zero."""
    absmax = float(np.abs(numbers).max())
    bins = np.histogram(np.abs(numbers), 2048, (0.0, absmax))[0].astype(float)
    bins[0] = 0.0
    divergence = {}
    for i in range(128, 2048, 128):
        outliers = bins[i:].sum()
        floats = np.append(bins[:i - 1], bins[i - 1] + outliers)
        floats /= floats.sum()
        merged = bins[:i].reshape(128, i // 128).sum(axis=1)
        integers = np.repeat(merged / (i // 128), i // 128)
        integers /= integers.sum()
        divergence[i] = sum(p * np.log(p / max(q, 1e-12)) for p, q in zip(floats, integers, strict=True) if p > 0)
    best = min(divergence, key=divergence.__getitem__)
    return (best + 0.5) * absmax / 2048


@pytest.mark.parametrize("shape", ["normal", "relu", "laplace", "heavy", "uniform", "relu6"])
def test_kl_is_the_manuals_pseudo_code(shape: str) -> None:
    rng = np.random.default_rng(7)
    numbers = {
        "normal": lambda: rng.normal(size=100_000), "relu": lambda: np.maximum(rng.normal(size=100_000), 0.0),
        "laplace": lambda: rng.laplace(size=100_000), "heavy": lambda: rng.standard_t(4, size=100_000),
        "uniform": lambda: rng.uniform(-1, 1, 100_000), "relu6": lambda: np.clip(4 * rng.normal(size=100_000), 0, 6),
    }[shape]().astype(np.float32)
    found = max(map(abs, kl(Histogram([numbers]), 8, True)))
    assert found == pytest.approx(manuals_threshold(numbers), rel=1e-5)


def test_zeros_behind_a_relu_do_not_drown_the_rest() -> None:
    """Counted, they would have half of the range cut off: 18 dB instead of 40."""
    numbers = np.maximum(np.random.default_rng(0).normal(size=200_000), 0.0).astype(np.float32)
    histogram = Histogram([numbers])
    [error] = quantization_errors(histogram, [kl(histogram, 8, True)], 8, True)
    assert 10 * np.log10(np.mean(numbers.astype(float) ** 2) / error) > 39


def test_kl_cuts_an_outlier_off(normal: np.ndarray) -> None:
    low, high = kl(Histogram([normal, np.array([60.0], np.float32)]))
    assert high < 10.0
    assert low >= normal.min()


def test_thresholds_are_chosen_where_zero_points_may_be_zero() -> None:
    """Half of the time of choosing goes into them."""
    g = Graph((1, 8))
    module = g.done(g.Mul(g.inputs[0], 2.0))
    sample = {"x0": np.linspace(-3, 1, 8, dtype=np.float32)[None]}
    assert [bool(calibrate(module, [sample], symmetric=symmetric).thresholds) for symmetric in (None, True, False)] == [
        True, True, False]


@pytest.mark.parametrize("method", ["kl", "entropy"])
@pytest.mark.parametrize("bins", [256, 1024, 4096])
def test_cuts_lie_at_as_many_bins_as_are_asked_for(normal: np.ndarray, method: str, bins: int) -> None:
    histogram = Histogram([normal])
    low, high = {"kl": kl, "entropy": entropy}[method](histogram, bins=bins)
    cut = max(-low, high) / histogram.farthest * bins
    assert cut == pytest.approx(bins) or (cut - 0.5) % (128 if method == "kl" else 8) == pytest.approx(0, abs=1e-6)
    g = Graph((1, 8))
    assert calibrate(g.done(g.Mul(g.inputs[0], 2.0)), [{"x0": normal[:8][None]}], method, bins=bins).bins == bins


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("tail", [1.0, 30.0, 3000.0])
def test_ranges_that_are_not_counted_are_not_the_least(bits: int, symmetric: bool, tail: float, normal: np.ndarray) -> None:
    histogram = Histogram([normal, np.array([tail, -2 * tail], np.float32)])
    ranges = np.linspace(1 / 64, 1, 64)[:, None] * [histogram.low, histogram.high]
    sums = _Sums(histogram)
    every, found = sums.errors(ranges, bits, symmetric), sums.least(ranges, bits, symmetric)
    counted = np.isfinite(found)
    np.testing.assert_array_equal(found[counted], every[counted])
    assert every.argmin() == found.argmin()
    assert every[~counted].min(initial=np.inf) > 1.4 * every.min()
