"""Normalizations, in both layouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Same = Callable[..., Any]

SHAPES = [("NHWC", (2, 4, 5, 6)), ("NCHW", (2, 6, 4, 5)), ("NHWC", (3, 6)), ("NCHW", (2, 6, 7))]


@pytest.mark.parametrize(("layout", "shape"), SHAPES)
def test_per_channel(same_op: Same, normal: Any, layout: str, shape: tuple[int, ...]) -> None:
    def positive() -> np.ndarray:
        return np.abs(normal(6)) + np.float32(0.1)

    for constants in ((), (1, 2, 3, 4)):
        same_op("BatchNorm", normal(*shape), normal(6), positive(), normal(6), normal(6), layout=layout, constants=constants)
        same_op("BatchNorm", normal(*shape), normal(6), positive(), layout=layout, constants=constants, do_relu=True, epsilon=0.1)
    same_op("GroupNorm", normal(*shape), normal(6), normal(6), num_groups=3, layout=layout, tolerance=2e-5)
    if len(shape) > 2:
        same_op("InstanceNorm", normal(*shape), normal(6), normal(6), layout=layout, constants=[1, 2], tolerance=2e-5)
        same_op("InstanceNorm", normal(*shape), layout=layout, tolerance=2e-5)
    for size in (1, 2, 3, 5, 8):
        same_op("LRN", normal(*shape), size=size, layout=layout, alpha=0.3, beta=0.5 if size == 3 else 0.75)


def test_constant_batch_norm_is_two_operators(same_op: Same, normal: Any) -> None:
    parameters = [np.abs(normal(4)) + np.float32(0.1) for _ in range(4)]
    names = [op.name for op in same_op("BatchNorm", normal(1, 3, 3, 4), *parameters, layout="NHWC", constants=range(1, 5)).ops()]
    assert [name for name in names if name.startswith("tosa.") and "const" not in name] == ["tosa.mul", "tosa.add"]


@pytest.mark.parametrize("axis", [-1, 1])
def test_over_trailing_dimensions(same_op: Same, normal: Any, axis: int) -> None:
    same_op("LayerNorm", normal(2, 3, 4), normal(4), normal(4), axis=axis, tolerance=2e-5)
    same_op("LayerNorm", normal(2, 3, 4), axis=axis, eps=0.1, tolerance=2e-5)
    same_op("RMSNorm", normal(2, 3, 4), normal(4), axis=axis, tolerance=2e-5)


def test_unit_length(same_op: Same, normal: Any) -> None:
    same_op("Normalize", normal(2, 3, 4), axes=(1, 2))
    same_op("Normalize", np.zeros((2, 3), np.float32), axes=(-1,))
