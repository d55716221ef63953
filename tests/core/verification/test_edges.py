"""Numbers next to a border, which runtimes round to either side, and single numbers that are 0 in one of them."""

from __future__ import annotations

import numpy as np
import pytest

from transload.verification.differences import difference
from transload.verification.edges import _explained
from transload.verification.limits import broken_limits
from transload.verification.tolerance import Tolerance

RIGHT = np.array([0, 0, 0, 11, 27, 30], np.float32)


@pytest.mark.parametrize(("right", "taken", "said"), [
    (RIGHT, RIGHT - (RIGHT == 0), True), (RIGHT, RIGHT - 1, None), (RIGHT * 0, RIGHT * 0 - 1, False)])
def test_what_is_next_to_a_border_is_open(right: np.ndarray, taken: np.ndarray, said: bool | None) -> None:
    """Three numbers just below 0 were rounded to it by the runtime: the others tell, if there are any."""
    assert _explained(right, taken, iter([right, right - (right == 0)]), 2.5e-7) is said


def test_one_number_that_is_zero_in_one_runtime() -> None:
    """The logarithm of gamma at 1 is a difference of larger terms: it was a cosine of 0 from 0."""
    for a, b, broken in ((0.0, 4.8e-7, False), (4.8e-7, 0.0, False), (0.0, 1e-4, True), (1e-6, 3e-6, True)):
        apart = difference("y", np.array([a], np.float32), np.array([b], np.float32))
        assert bool(broken_limits(apart, Tolerance())) is broken
