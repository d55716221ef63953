"""Integers that no scale belongs to, and those whose scale LiteRT does not look at, against LiteRT."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import transload
from transload.ir import Module

pytest.importorskip("ai_edge_litert")


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16"])
@pytest.mark.parametrize(("sizes", "way"), [
    ((5, 9), "half_pixel_centers"), ((2, 2), "half_pixel_centers"), ((4, 7), "align_corners"), ((6, 8), "")])
def test_what_comes_between_pixels_is_rounded(
    judge: Callable[..., Module], write: Callable[..., bytes], dtype: str, sizes: tuple[int, int], way: str,
) -> None:
    """It was cut off, where no scale was said."""
    size = ((2,), "int32", np.array(sizes, np.int32))
    options = {way: True} if way else {}
    content = write("RESIZE_BILINEAR", [((1, 3, 4, 2), dtype), size], [((1, *sizes, 2), dtype)], options, version=4)
    limits = np.iinfo(dtype)
    image = np.random.default_rng(1).integers(limits.min, limits.max, (1, 3, 4, 2), dtype, endpoint=True)
    hub = judge(content, {"in0": image})
    ours, lowered = (transload.run(each, {"in0": image}).values() for each in (hub, transload.lower(hub, "stablehlo")))
    assert np.array_equal(*ours, *lowered)
