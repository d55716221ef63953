"""A batch without images: windows of nothing are none, as the hub computes them, and channels that there are not are told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.testing import build_op


@pytest.mark.parametrize(("name", "image", "weights", "attributes"), [
    ("Conv", (0, 1, 4, 4), (2, 1, 3, 3), {"kernel_shape": (3, 3), "pads": (1, 1, 1, 1)}),
    ("Conv", (0, 2, 4, 4), (2, 1, 3, 3), {"kernel_shape": (3, 3), "group": 2}),
    ("Conv", (0, 1, 6, 6), (2, 1, 2, 2), {"kernel_shape": (2, 2), "strides": (4, 4)}),
    ("Conv", (0, 1, 4, 6, 6), (2, 1, 2, 2, 2), {"kernel_shape": (2, 2, 2)}),
    ("Deconv", (0, 1, 4, 4), (1, 2, 3, 3), {"kernel_shape": (3, 3)}),
    ("MaxPool", (0, 1, 6, 6), None, {"kernel_shape": (2, 2), "strides": (4, 4)}),
    ("AvgPool", (0, 1, 6, 6), None, {"kernel_shape": (2, 2), "strides": (4, 4), "pads": (1, 1, 0, 0)}),
])
def test_no_images(name: str, image: Any, weights: Any, attributes: dict[str, Any]) -> None:
    """It was said that every window lay in the padding."""
    x, *more = [np.ones(shape, np.float32) for shape in (image, weights) if shape is not None]
    module = build_op(f"top.{name}", x, *more, constant=(1,) if more else (), **attributes)
    shapes = [[array.shape for array in transload.run(each, {"x0": x}).values()] for each in (
        module, transload.lower(module, "tosa"))]
    assert shapes[0] == shapes[1] and shapes[0][0][0] == 0


@pytest.mark.parametrize(("image", "weights", "attributes"), [
    ((1, 1, 2, 2), (2, 1, 1, 1), {"kernel_shape": (1, 1), "strides": (9, 9), "pads": (3, 3, 3, 3)}),
    ((2, 3, 2, 4), (4, 3, 2, 3), {"kernel_shape": (2, 3), "strides": (5, 1), "pads": (2, 1, 1, 1)}),
    ((1, 4, 2, 2), (4, 2, 1, 1), {"kernel_shape": (1, 1), "strides": (4, 4), "pads": (1, 1, 1, 1), "group": 2}),
    ((1, 4, 2, 2), (8, 1, 1, 1), {"kernel_shape": (1, 1), "strides": (4, 4), "pads": (1, 1, 1, 1), "group": 4}),
    ((1, 1, 2), (2, 1, 1), {"kernel_shape": (1,), "pads": (3, -2)}),
    ((1, 1, 2, 2, 2), (2, 1, 1, 1, 1), {"kernel_shape": (1, 1, 1), "strides": (1, 4, 1), "pads": (0, 1, 0, 0, 1, 0)}),
])
def test_windows_that_see_nothing_but_padding_give_the_bias(image: Any, weights: Any, attributes: dict[str, Any]) -> None:
    x, w = np.full(image, 3, np.float32), np.full(weights, 2, np.float32)
    bias = np.arange(1, weights[0] + 1, dtype=np.float32)
    module = build_op("top.Conv", x, w, bias, constant=(1, 2), **attributes)
    (hub,), (tosa,) = (list(transload.run(each, {"x0": x}).values()) for each in (module, transload.lower(module, "tosa")))
    np.testing.assert_array_equal(hub, np.broadcast_to(bias.reshape(-1, *(1,) * (len(image) - 2)), hub.shape))
    np.testing.assert_array_equal(tosa, hub)


@pytest.mark.parametrize(("image", "attributes", "why"), [
    ((1, 0, 4, 4), {"kernel_shape": (1, 1)}, "the input has no channels"),
    ((0, 0, 4, 4), {"kernel_shape": (1, 1)}, "the input has no channels"),
])
def test_what_else_is_refused(image: Any, attributes: dict[str, Any], why: str) -> None:
    x, weights = np.ones(image, np.float32), np.ones((2, image[1], 1, 1), np.float32)
    with pytest.raises(ConversionError, match=why):
        transload.lower(build_op("top.Conv", x, weights, constant=(1,), **attributes), "tosa")
