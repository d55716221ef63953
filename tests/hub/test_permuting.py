"""Merged transposes move what the whole ones do, in as few dimensions as can be."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest

from transload_hub.permuting import merged


@pytest.mark.parametrize("shape", [(), (3,), (1, 1), (2, 1, 3, 4), (2, 2, 2, 2), (1, 3, 1, 2, 1), (2, 0, 3), (2, 3, 1, 4, 5)])
def test_merged_dimensions_move_the_same(shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    for order in permutations(range(len(shape))):
        sizes, after = merged(shape, order)
        moved = x.reshape(sizes).transpose(after)
        np.testing.assert_array_equal(moved.reshape(x.transpose(order).shape), x.transpose(order))
        assert 1 not in sizes
        assert all(second != first + 1 for first, second in pairwise(after)), "no two that could be one"
