"""Options and operands that kernels look at only in one form, against LiteRT."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from transload.ir import Module

pytest.importorskip("ai_edge_litert")


@pytest.mark.parametrize("shape", [
    np.array([2, 3], np.int64), np.array([-1], np.int64), np.array([[3, 2]], np.int32), np.array(6, np.int32)], ids=repr)
@pytest.mark.parametrize("new_shape", [[6], [1, 6]], ids=str)
def test_a_shape_that_is_no_vector_of_int32_is_not_looked_at(
    judge: Callable[..., Module], write: Callable[..., bytes], shape: np.ndarray, new_shape: list[int],
) -> None:
    """LiteRT takes the option then."""
    tensors = [((2, 3), "float32"), (shape.shape, str(shape.dtype), shape)]
    judge(write("RESHAPE", tensors, [(tuple(new_shape), "float32")], {"new_shape": new_shape}))


def test_a_shape_of_int64_that_is_computed_is_not_looked_at(judge: Callable[..., Module], write: Callable[..., bytes]) -> None:
    tensors = [((2, 3), "float32"), ((1,), "int64")]
    judge(write("RESHAPE", tensors, [((6,), "float32")], {"new_shape": [6]}))
