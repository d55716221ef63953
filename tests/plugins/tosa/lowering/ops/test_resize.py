"""Resizing, in every mode, of floats and of quantized images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transload.ir import F32, I8, I16, UI8, QuantType, TensorType

Same = Callable[..., Any]

COORDINATES = ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn", "half_pixel_symmetric"]
SIZES = [((4, 5), (8, 10)), ((4, 5), (7, 3)), ((6, 6), (3, 2)), ((1, 4), (3, 4)), ((3, 3), (1, 1)), ((8, 8), (12, 20))]


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize(("before", "after"), SIZES)
def test_modes(same_op: Same, normal: Any, coordinates: str, before: Any, after: Any) -> None:
    x = normal(2, *before, 3)
    how = {"sizes": after, "coord_mode": coordinates, "layout": "NHWC"}
    for rounding in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"):
        same_op("Interp", x, mode="nearest", nearest_mode=rounding, **how)
    for mode in ("linear", "cubic"):
        same_op("Interp", x, mode=mode, **how)


def test_weights_beyond_the_border_and_wider_kernels(same_op: Same, normal: Any) -> None:
    x = normal(1, 6, 7, 2)
    for mode in ("linear", "cubic"):
        same_op("Interp", x, sizes=(3, 3), mode=mode, antialias=True, layout="NHWC")
        same_op("Interp", x, sizes=(9, 4), mode=mode, exclude_outside=True, layout="NHWC")


def test_scales_of_their_own(same_op: Same, normal: Any) -> None:
    x = normal(2, 4, 5, 3)
    same_op("Interp", x, sizes=(7, 11), scales=(1.8, 2.3), mode="linear", layout="NHWC")
    how = {"mode": "nearest", "coord_mode": "asymmetric", "nearest_mode": "floor"}
    same_op("Interp", x, sizes=(9, 12), scales=(2.37, 2.5), layout="NHWC", **how)
    same_op("Interp", x, sizes=(9, 12), scales=(2.3700001, 2.5), mode="linear", layout="NHWC")


@pytest.mark.parametrize("rounding", ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
@pytest.mark.parametrize(("before", "after", "scale"), [
    (75, 196, 2.625), (27, 94, 3.5), (143, 929, 6.5), (84, 241, 2.875), (276, 181, 0.65625), (8, 20, 2.5),
    (50, 65, 1.2999999523162842)])
def test_the_nearest_by_scales(same_op: Same, normal: Any, before: int, after: int, scale: float, rounding: str) -> None:
    """What moves places by the centres of pixels is rounded, which no fractions are: RESIZE took neighbours."""
    for coordinates in ("half_pixel", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn", "half_pixel_symmetric"):
        same_op("Interp", normal(1, before, 1), sizes=(after,), scales=(scale,), mode="nearest", nearest_mode=rounding,
                coord_mode=coordinates, layout="NHWC")


def test_an_exact_grid_is_a_resize_and_what_exceeds_it_is_not(same_op: Same, normal: Any) -> None:
    names = [op.name for op in same_op("Interp", normal(1, 40, 60, 2), sizes=(80, 90), mode="linear", layout="NHWC").ops()]
    assert names.count("tosa.resize") == 1 and "tosa.matmul" not in names
    same_op("Interp", normal(1, 1031, 1, 1), sizes=(2063, 1), mode="linear", layout="NHWC")
    same_op("Interp", normal(1, 1031, 1, 1), sizes=(2063, 1), mode="nearest", layout="NHWC")
    same_op("Interp", normal(1, 40, 40, 1), sizes=(2, 2), mode="linear", layout="NHWC")


def test_other_numbers_of_dimensions_and_layouts(same_op: Same, normal: Any) -> None:
    same_op("Interp", normal(1, 4, 1), sizes=(9,), mode="linear", layout="NHWC")
    for mode in ("linear", "nearest"):
        same_op("Interp", normal(2, 3, 4, 5, 2), sizes=(6, 2, 10), mode=mode, layout="NHWC")
    same_op("Interp", normal(2, 3, 4, 5), sizes=(8, 7), mode="linear", layout="NCHW")


@pytest.mark.parametrize("dtype", [np.int32, np.int8, bool])
def test_nearest_of_other_types(same_op: Same, sample: Any, dtype: Any) -> None:
    if dtype is not bool:
        same_op("Interp", sample(dtype, 1, 3, 4, 2), sizes=(6, 5), mode="nearest", layout="NHWC")
    same_op("Upsample", sample(dtype, 1, 3, 4, 2), scale_h=2, scale_w=3, layout="NHWC")


def test_upsample(same_op: Same, normal: Any) -> None:
    same_op("Upsample", normal(2, 3, 4, 2), scale_h=2, scale_w=3, layout="NHWC")
    same_op("Upsample", normal(2, 3, 4, 2), scale_h=1, scale_w=2, do_relu=True, relu_limit=0.5)
    same_op("Upsample", normal(1, 2, 2, 1), scale_h=300, scale_w=1, layout="NHWC")  # beyond RESIZE's scales


STORED = {"int8": (np.int8, I8, 3), "uint8": (np.uint8, UI8, 131), "int16": (np.int16, I16, 0)}


@pytest.mark.parametrize("dtype", list(STORED))
@pytest.mark.parametrize("flags", [(False, False), (False, True), (True, False)])
@pytest.mark.parametrize(("before", "after"), [*SIZES, ((10, 10), (33, 47))])
@pytest.mark.parametrize("operator", ["RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"])
def test_quantized_images_are_those_of_litert(
    judge_op: Any, dtype: str, flags: tuple[bool, bool], before: Any, after: Any, operator: str,
) -> None:
    """int8 bit by bit; uint8, which LiteRT interpolates in float, and halves of odd factors of int16, but for one step."""
    corners, half = flags
    numpy_type, stored, zero_point = STORED[dtype]
    limits = np.iinfo(numpy_type)
    x = np.random.default_rng(0).integers(limits.min, limits.max + 1, (1, *before, 3)).astype(numpy_type)
    type_ = QuantType(stored, F32, (float(np.float32(0.1)),), (zero_point,))
    coordinates = "align_corners" if corners else "half_pixel" if half else "asymmetric"
    how: dict[str, Any] = {"mode": "linear", "coord_mode": coordinates}
    if dtype == "uint8" and operator == "RESIZE_BILINEAR":
        how["rounding"] = "once"
    if operator == "RESIZE_NEAREST_NEIGHBOR":
        how = {
            "mode": "nearest", "coord_mode": "tf_half_pixel_for_nn" if half else coordinates,
            "nearest_mode": "round_prefer_ceil" if corners else "floor"}
    judge_op(
        operator, [(x, (0.1, zero_point), False), (np.array(after, np.int32), None, True)],
        ((1, *after, 3), dtype, (0.1, zero_point)), {"align_corners": corners, "half_pixel_centers": half},
        lambda b, v: b.emit("top.Interp", v, sizes=after, layout="NHWC", **how), [TensorType(x.shape, type_)],
        steps=0 if dtype != "uint8" or how["mode"] == "nearest" else 1, version=4)
