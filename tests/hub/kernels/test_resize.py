"""Resampling against onnxruntime, ONNX's reference and TFLite's definition."""

from __future__ import annotations

import numpy as np
import pytest

SIZES = [((4, 5), (8, 10)), ((4, 5), (3, 3)), ((4, 6), (7, 4)), ((4, 5), (1, 1)), ((1, 1), (3, 4)), ((6, 5), (6, 10)),
         ((3, 3), (9, 7))]
COORDINATES = ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric"]


def resize(onnx_op, x, sizes, judge="onnxruntime", **attributes):
    return onnx_op("Resize", x, None, None, np.array([*x.shape[:2], *sizes]), opset=19, judge=judge, **attributes)


def both_layouts(run_op, x, **attributes):
    first = run_op("Interp", x, **attributes)
    last = run_op("Interp", np.ascontiguousarray(np.moveaxis(x, 1, -1)), layout="NHWC", **attributes)
    np.testing.assert_array_equal(np.moveaxis(last, -1, 1), first)
    return first


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("coord_mode", COORDINATES)
@pytest.mark.parametrize("nearest_mode", ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
def test_nearest(run_op, onnx_op, rng, sizes, coord_mode, nearest_mode):
    before, after = sizes
    x = rng.standard_normal((2, 3, *before)).astype(np.float32)
    expected = resize(
        onnx_op, x, after, mode="nearest", coordinate_transformation_mode=coord_mode, nearest_mode=nearest_mode,
        judge="reference")
    result = both_layouts(run_op, x, sizes=after, mode="nearest", coord_mode=coord_mode, nearest_mode=nearest_mode)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("sizes", SIZES)
def test_tf_half_pixel_for_nn(run_op, onnx_op, rng, sizes):
    """Gone from ONNX since opset 13."""
    before, after = sizes
    x = rng.standard_normal((2, 3, *before)).astype(np.float32)
    nothing = np.zeros(0, np.float32)
    expected = onnx_op(
        "Resize", x, nothing, nothing, np.array([2, 3, *after]), opset=11, mode="nearest", nearest_mode="floor",
        coordinate_transformation_mode="tf_half_pixel_for_nn")
    result = both_layouts(run_op, x, sizes=after, mode="nearest", coord_mode="tf_half_pixel_for_nn", nearest_mode="floor")
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("scale", [0.4, 0.7, 0.9, 1.3, 1.7, 2.5, 57 / 34, 82 / 26])
@pytest.mark.parametrize(
    "coord_mode", ["asymmetric", "half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "tf_half_pixel_for_nn"])
@pytest.mark.parametrize("nearest_mode", ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
def test_nearest_with_scales_rounds_as_the_runtime(run_op, onnx_op, scale, coord_mode, nearest_mode):
    """Halves too, of which a scale of 32 bits leaves a place next to them."""
    opset = 11 if coord_mode == "tf_half_pixel_for_nn" else 19
    nothing = np.zeros(0, np.float32) if opset == 11 else None
    for size in (5, 13, 26, 34, 50):
        x = np.arange(size, dtype=np.float32).reshape(1, 1, size, 1)
        scales = np.array([1, 1, scale, 1], np.float32)
        attributes = {"mode": "nearest", "nearest_mode": nearest_mode}
        expected = onnx_op(
            "Resize", x, nothing, scales, opset=opset, coordinate_transformation_mode=coord_mode, **attributes)
        result = run_op(
            "Interp", x, sizes=expected.shape[2:], scales=(float(scales[2]), 1.0), coord_mode=coord_mode, **attributes)
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("coord_mode", COORDINATES)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_linear_and_cubic(run_op, onnx_op, near, rng, sizes, coord_mode, mode):
    before, after = sizes
    x = rng.standard_normal((2, 3, *before)).astype(np.float32)
    expected = resize(onnx_op, x, after, mode=mode, coordinate_transformation_mode=coord_mode)
    near(both_layouts(run_op, x, sizes=after, mode=mode, coord_mode=coord_mode), expected)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("coord_mode", ["half_pixel", "asymmetric"])
@pytest.mark.parametrize("exclude", [False, True])
def test_cubic_options(run_op, onnx_op, near, rng, sizes, coord_mode, exclude):
    before, after = sizes
    x = rng.standard_normal((1, 2, *before)).astype(np.float32)
    expected = resize(onnx_op, x, after, mode="cubic", coordinate_transformation_mode=coord_mode, exclude_outside=int(exclude),
                      cubic_coeff_a=-0.5)
    result = both_layouts(run_op, x, sizes=after, mode="cubic", coord_mode=coord_mode, exclude_outside=exclude, cubic_coeff=-0.5)
    near(result, expected)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("coord_mode", ["half_pixel", "asymmetric", "align_corners"])
@pytest.mark.parametrize("exclude", [False, True])
def test_antialias(run_op, onnx_op, near, rng, mode, coord_mode, exclude):
    x = rng.standard_normal((1, 1, 8, 9)).astype(np.float32)
    expected = resize(onnx_op, x, (5, 3), mode=mode, coordinate_transformation_mode=coord_mode, antialias=1,
                      exclude_outside=int(exclude), judge="reference")
    result = both_layouts(run_op, x, sizes=(5, 3), mode=mode, coord_mode=coord_mode, antialias=True, exclude_outside=exclude)
    near(result, expected)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_scales_that_are_not_the_ratio(run_op, onnx_op, near, rng, mode):
    x = rng.standard_normal((1, 2, 5, 6)).astype(np.float32)
    scales = np.array([1, 1, 1.3, 2.25], np.float32)
    expected = onnx_op("Resize", x, None, scales, mode=mode, opset=19)
    near(both_layouts(run_op, x, sizes=expected.shape[2:], mode=mode, scales=(float(scales[2]), 2.25)), expected)


@pytest.mark.parametrize("sizes", [((5,), (9,)), ((3, 4, 2), (5, 2, 4))])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_other_ranks(run_op, onnx_op, near, rng, sizes, mode):
    x = rng.standard_normal((2, 3, *sizes[0])).astype(np.float32)
    near(both_layouts(run_op, x, sizes=sizes[1], mode=mode), resize(onnx_op, x, sizes[1], mode=mode, judge="reference"))


@pytest.mark.parametrize(("align", "half"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("sizes", [(5, 8), (8, 5), (3, 9), (7, 1), (1, 4), (10, 4), (4, 10), (6, 6)])
def test_tflite_nearest(run_op, align, half, sizes):
    """The definition in TFLite: its scale is a fraction of sizes, its rounding `floor`, or with align_corners `round`."""
    before, after = sizes
    x = np.arange(before, dtype=np.float32).reshape(1, 1, before)
    scale = (before - 1) / (after - 1) if align and after > 1 else before / after
    place = (np.arange(after) + (0.5 if half else 0)) * scale
    where = np.floor(place + 0.5) if align else np.floor(place + 1e-9)
    mode = "align_corners" if align else "tf_half_pixel_for_nn" if half else "asymmetric"
    result = run_op("Interp", x, sizes=(after,), coord_mode=mode, nearest_mode="round_prefer_ceil" if align else "floor")
    np.testing.assert_array_equal(result[0, 0], np.clip(where, 0, before - 1))


def test_whole_coordinates_come_out_whole(run_op):
    """`place * in / out`, not `place * (in / out)`: 3 * (7/21) must not fall below 1."""
    for before in range(1, 40):
        for factor in range(1, 8):
            x = np.arange(before, dtype=np.float32).reshape(1, 1, before)
            result = run_op("Interp", x, sizes=(before * factor,), coord_mode="asymmetric", nearest_mode="floor")
            np.testing.assert_array_equal(result[0, 0], np.repeat(x[0, 0], factor))


def test_integers(run_op):
    x = np.array([[[0, 10, 255]]], np.uint8)
    np.testing.assert_array_equal(run_op("Interp", x, sizes=(6,)), [[[0, 0, 10, 10, 255, 255]]])
    assert run_op("Interp", x, sizes=(6,), mode="cubic").max() == 255  # no wrapping round


@pytest.mark.parametrize("coord_mode", COORDINATES)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_interpolation_with_scales(run_op, onnx_op, near, rng, coord_mode, mode):
    x = rng.standard_normal((1, 2, 5, 6)).astype(np.float32)
    scales = np.array([1, 1, 1.3, 0.7], np.float32)
    expected = onnx_op("Resize", x, None, scales, mode=mode, opset=19, coordinate_transformation_mode=coord_mode)
    result = run_op("Interp", x, sizes=expected.shape[2:], mode=mode, coord_mode=coord_mode, scales=tuple(map(float, scales[2:])))
    near(result, expected)
