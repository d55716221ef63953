"""Outputs of which one row is wrong: beside thousands of others that does not show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transload.verification import offsets
from transload.verification.differences import difference
from transload.verification.limits import broken_limits
from transload.verification.offsets import unit_of
from transload.verification.parts import measure_parts
from transload.verification.tolerance import Tolerance


def limits_broken(reference: np.ndarray, actual: np.ndarray, **more: Any) -> list[str]:
    unit = unit_of(np.dtype(np.float32), reference.dtype, actual.dtype)
    return broken_limits(difference("y", reference, actual), Tolerance(**more), unit=unit)


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("place", [0, 2000, 8191])
def test_one_row_of_thousands(axis: int, place: int) -> None:
    """Zeros, other signs, and another size; what is within a quarter of it is noise, and tolerances that let it pass count."""
    rows = noise(8192, 16)
    for row in (0 * rows[0], np.abs(rows[place]) / 2, 1.4 * rows[place]):
        wrong = rows.copy()
        wrong[place] = row
        right, wrong = (np.moveaxis(each, 0, axis) for each in (rows, wrong))
        assert f"at place {place} of dimension {axis}" in limits_broken(right, wrong)[0]
        assert not limits_broken(right, wrong, cos=0.99) and not limits_broken(right, wrong, euclid=-1.0)
    near = rows.copy()
    near[place] *= np.float32(1.1)
    assert not limits_broken(np.moveaxis(rows, 0, axis), np.moveaxis(near, 0, axis))


def test_what_is_noise_everywhere_or_of_large_numbers() -> None:
    rows = noise(4096, 16)
    small = rows * np.where(np.arange(4096) == 7, 1e-3, 1.0).astype(np.float32)[:, None]
    assert not limits_broken(small, small + 1e-3 * noise(4096, 16, seed=1))  # more than all of row 7
    large = rows * np.where(np.arange(4096) == 7, 1e-6, 1.0).astype(np.float32)[:, None]
    rounded = large.copy()
    rounded[7] += 1e-6 * noise(16, seed=2)
    assert not limits_broken(large, rounded)
    halves, others = (each.astype(np.float16) for each in (small, small))
    others[7] *= 2  # as roundings of halves to the largest
    assert not limits_broken(halves, others)


def test_masks_and_what_is_no_number_are_left_out() -> None:
    rows = noise(4096, 16)
    rows[:, 3], rows[5, 5] = -1e9, np.inf
    wrong = rows.copy()
    assert not limits_broken(rows, wrong)
    wrong[9, 4:] = 0.0
    assert "at place 9 of dimension 0" in limits_broken(rows, wrong)[0]


def test_what_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = noise(4096, 16)
    wrong = rows.copy()
    wrong[4092] = 0.0
    for right, other in ((rows[:, 0], wrong[:, 0]), (rows > 0, wrong > 0), (rows * 1j, wrong * 1j), (rows[:0], rows[:0]),
                         (rows[:, :3], wrong[:, :3]), (rows, rows + np.float32(1e-7)), (0 * rows, wrong)):
        assert measure_parts(right, other) is None
    monkeypatch.setattr(offsets, "_MOST", rows.size // 4)  # every fourth row
    found = measure_parts(rows, wrong)
    assert found is not None and [(part.dimension, part.place) for part in found.wrong] == [(0, 4092)]
