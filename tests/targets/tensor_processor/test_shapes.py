"""Tensors of any rank in the four dimensions of the chip."""

from __future__ import annotations

import numpy as np
import pytest

from transload_targets.tensor_processor.shapes import from_local, local_shape, to_local


@pytest.mark.parametrize(("shape", "local"), [
    ((), (1, 1, 1, 1)), ((5,), (1, 5, 1, 1)), ((3, 5), (1, 5, 3, 1)), ((2, 3, 5), (2, 5, 3, 1)), ((2, 3, 4, 5), (2, 3, 4, 5)),
    ((6, 2, 3, 4, 5), (12, 3, 4, 5))])
def test_there_and_back(shape: tuple[int, ...], local: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    made = to_local(array)
    assert local_shape(shape) == made.shape == local
    np.testing.assert_array_equal(from_local(made, shape), array)


def test_the_features_of_a_matrix_are_channels() -> None:
    array = np.arange(30).reshape(2, 3, 5)
    assert to_local(array)[1, 4, 2, 0] == array[1, 2, 4]
