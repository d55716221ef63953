"""The benchmark of integers that go out: what its distances mean."""

from __future__ import annotations

import numpy as np
import pytest
from quantized_out import far, spread

STEPS = {"y": 0.5}


def outputs(*numbers: float) -> list[dict[str, np.ndarray]]:
    """A sample each, of an output of two numbers, of which the second is 0."""
    return [{"y": np.array([number, 0.0])} for number in numbers]


def test_distances_are_in_steps_of_the_output():
    found = far(outputs(1.0, 2.0), outputs(1.0, 3.0), STEPS)
    assert found == {"same": 1, "of": 2, "differ": 0.25, "steps": 2.0}


def test_levels_are_runtimes_of_their_own_and_we_are_one_more():
    """Two levels two steps apart: we are in the middle of them on one sample, outside on the other by as much again."""
    found = spread(outputs(1.5, 3.0), [outputs(1.0, 1.0), outputs(2.0, 2.0)], STEPS)
    root = np.sqrt(0.5)
    assert found == pytest.approx({
        "nearest": root * (1 + 2) / 2, "farthest": root * (1 + 4) / 2, "levels": root * 2, "within": 2, "of": 2})


def test_levels_that_agree_have_no_spread():
    found = spread(outputs(1.0, 1.5), [outputs(1.0, 1.0), outputs(1.0, 1.0)], STEPS)
    assert found["levels"] == 0.0 and found["within"] == 1
