"""Multipliers, rounding and fixed point, as numbers."""

from __future__ import annotations

import numpy as np
import pytest

from transload.errors import Unsupported
from transload.ir import F32, I8, I16, QuantType
from transload_hub.scales import (
    Scale,
    activation_bounds,
    apply_scale,
    divide_by_power_of_two,
    exp_on_negative_values,
    high_multiply,
    scale16,
    scale32,
    scale_exact,
    scales32,
)
from transload_plugins.tosa.lowering.arithmetic.fixed_point_tables import ENTRY_OFFSET, sigmoid_entries, sigmoid_values

RNG = np.random.default_rng(0)


def test_double_round_is_two_roundings() -> None:
    x = RNG.integers(-(1 << 30), 1 << 30, 100_000)
    for real in (0.7, 0.31, 0.011, 2.0**-7, 3e-6):
        scale = scale32(real)
        shift = scale.shift - 31
        np.testing.assert_array_equal(apply_scale(x, scale), divide_by_power_of_two(high_multiply(x, scale.multiplier), shift))


@pytest.mark.parametrize("real", [1.0, 0.5, 0.75, 1 / 3, 1e-9, 12345.678, 1 - 2**-40])
def test_scale32_is_near(real: float) -> None:
    scale = scale32(real)
    assert 1 << 30 <= scale.multiplier < 1 << 31
    assert abs(scale.real / real - 1) <= 2**-31


def test_scales_that_cannot_be() -> None:
    assert scale32(0.0).multiplier == 0
    assert scale32(1e-12).multiplier == 0
    for real in (-1.0, float("nan"), float("inf"), 2.0**40):
        with pytest.raises(Unsupported):
            scale32(real)
    with pytest.raises(Unsupported):
        scale16(1e6)


@pytest.mark.parametrize("real", [2.0**-7, 3 * 2.0**-9, 0.0123, 0.9999])
def test_exact_scale_rounds_halves_away_from_zero(real: float) -> None:
    x = RNG.integers(-60_000, 60_000, 100_000)
    product = x * real
    wanted = np.sign(product) * np.floor(np.abs(product) + 0.5)
    np.testing.assert_array_equal(apply_scale(x, scale_exact(real), double_round=False), wanted)


def test_exponential_is_near() -> None:
    """By 492 of 2^31 at most, of all numbers; that of 20,000 drawn ones was less by chance."""
    x = -np.concatenate([np.arange(1 << 24), np.sort(np.random.default_rng(0).integers(0, 1 << 31, 10_000))])
    short = np.abs(exp_on_negative_values(x, 5) - np.exp(x / 2.0**26) * 2.0**31)
    assert 490 < short.max() < 493


def test_sigmoid_values_are_near() -> None:
    exact = 65536 / (1 + np.exp(-np.arange(256) / 24))
    assert np.abs(sigmoid_values() - exact).max() < 1.2


def test_sigmoid_entries_interpolate_the_values_by_8_bits() -> None:
    values, entries = sigmoid_values(), sigmoid_entries().astype(np.int64)
    place = np.arange(255 << 8)
    base, fraction = place >> 7, place & 127
    looked_up = (entries[base] << 7) + (entries[base + 1] - entries[base]) * fraction + (ENTRY_OFFSET << 7)
    first, part = values[place >> 8], place & 255
    np.testing.assert_array_equal(looked_up, (first << 8) + (values[(place >> 8) + 1] - first) * part)
    assert np.all(entries[510:] == 2 * 65535 - ENTRY_OFFSET)


def test_activation_bounds() -> None:
    type_ = QuantType(I8, F32, (0.05,), (-10,))
    assert activation_bounds(type_) is None
    assert activation_bounds(type_, 0.0) == (-10, 127)
    assert activation_bounds(type_, 0.0, 6.0) == (-10, 110)
    assert activation_bounds(QuantType(I16, F32, (0.05,), (0,)), -1.0, 1.0) == (-20, 20)
    narrow = QuantType(I8, F32, (0.05,), (0,), storage_min=-127)
    assert activation_bounds(narrow) == (-127, 127)
    halfway = QuantType(I8, F32, (float(np.float32(20 / 255)),), (-128,))  # 6 is at 76.5 in float32, below it in float64
    assert activation_bounds(halfway, 0.0, 6.0) == (-128, -51)
    assert activation_bounds(narrow, 0.0, 1e39) == (0, 127)


def test_scale_real() -> None:
    assert Scale(1 << 30, 31).real == 0.5


@pytest.mark.parametrize("extreme", [0.0, 2.0**-40, 2.0**-31, 2.0**-30, 2.0**28, 2.0**28.9, 1 - 2.0**-40, 0.5])
def test_many_factors_become_what_each_becomes_alone(extreme: float) -> None:
    reals = np.append(np.random.default_rng(0).uniform(1e-6, 4.0, 40), extreme)
    multipliers, shifts = scales32(reals)
    assert list(zip(map(int, multipliers), map(int, shifts), strict=True)) == [tuple(scale32(real)) for real in reals.tolist()]


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -1.0, 2.0**30])
def test_a_factor_that_cannot_be_is_refused_among_many(wrong: float) -> None:
    with pytest.raises(Unsupported):
        scales32(np.append(np.ones(40), wrong))
