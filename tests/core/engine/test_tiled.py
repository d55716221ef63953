"""Arrays side by side."""

from __future__ import annotations

import numpy as np
import pytest

from transload.engine.tiled import tiled


@pytest.mark.parametrize(("shape", "counts"), [
    ((2, 3), (2, 2)), ((2, 3), (2,)), ((3,), (2, 2)), ((), (2,)), ((), ()), ((2, 0), (3, 1)),
    ((2, 3), (2, 1, 3)), ((2, 3), (0, 2))])
def test_it_is_that_of_numpy(shape: tuple[int, ...], counts: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    np.testing.assert_array_equal(tiled(x, counts), np.tile(x, counts))


def test_copies_without_an_element_take_no_place() -> None:
    assert tiled(np.zeros((2, 3)), (2**31 - 1, 0)).shape == (2**32 - 2, 0)
