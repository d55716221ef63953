"""Pooling against onnxruntime."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from transload.ir import F32, I4, I8, QuantType
from transload_hub.scales import activation_bounds

GEOMETRIES = [
    ((9,), (3,), (2,), (1, 1)),
    ((8, 9), (2, 2), (2, 2), (0, 0, 0, 0)),
    ((8, 9), (3, 4), (1, 3), (1, 2, 2, 3)),
    ((7, 7), (7, 7), (1, 1), (0, 0, 0, 0)),
    ((7, 6), (7, 3), (1, 2), (0, 1, 0, 1)),
    ((5, 6, 4), (2, 3, 2), (1, 2, 2), (1, 0, 0, 1, 1, 0)),
]


def both_layouts(run_op, name, x, **attributes):
    first = run_op(name, x, **attributes)
    last = run_op(name, np.ascontiguousarray(np.moveaxis(x, 1, -1)), layout="NHWC", **attributes)
    np.testing.assert_array_equal(np.moveaxis(last, -1, 1), first)
    return first


def counts_padding_at_the_end(onnx_op) -> bool:
    """Whether onnxruntime's mean over three dimensions is over the padding at their ends, where there is none before them.

    From its pull request 27375 on; 1.23.2, the last for Python 3.10, took another dimension's padding.
    """
    ones = np.ones((1, 1, 2, 2, 2), np.float32)
    means = onnx_op("AveragePool", ones, kernel_shape=(2, 2, 2), pads=(0, 0, 0, 1, 0, 0), count_include_pad=1)
    return means.min() == 0.5


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("include", [False, True])
def test_avg_pool(run_op, onnx_op, near, rng, geometry, include):
    sizes, kernel, strides, pads = geometry
    if include and len(sizes) == 3 and not counts_padding_at_the_end(onnx_op):
        pytest.skip("this onnxruntime divides by another dimension's padding (1.23.2, the last for Python 3.10)")
    x = rng.standard_normal((2, 3, *sizes)).astype(np.float32)
    expected = onnx_op("AveragePool", x, kernel_shape=kernel, strides=strides, pads=pads, count_include_pad=int(include))
    attributes = {"kernel_shape": kernel, "strides": strides, "pads": pads, "count_include_pad": include}
    near(both_layouts(run_op, "AvgPool", x, **attributes), expected)


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("dilated", [False, True])
def test_max_pool(run_op, onnx_op, rng, geometry, dilated):
    sizes, kernel, strides, pads = geometry
    if dilated and kernel[0] == sizes[0]:
        pytest.skip("does not fit")
    dilations = (2,) + (1,) * (len(sizes) - 1) if dilated else (1,) * len(sizes)
    x = rng.standard_normal((2, 3, *sizes)).astype(np.float32) - 2
    expected = onnx_op("MaxPool", x, kernel_shape=kernel, strides=strides, pads=pads, dilations=dilations)
    attributes = {"kernel_shape": kernel, "strides": strides, "pads": pads, "dilations": dilations}
    np.testing.assert_array_equal(both_layouts(run_op, "MaxPool", x, **attributes), expected)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32])
def test_max_pool_of_integers(run_op, rng, dtype):
    x = rng.integers(0, 100, (1, 2, 6, 6)).astype(dtype)
    x = x - 120 if dtype == np.int8 else x
    x = x.astype(dtype)
    result = run_op("MaxPool", x, kernel_shape=(3, 3), strides=(3, 3))
    np.testing.assert_array_equal(result, x.reshape(1, 2, 2, 3, 2, 3).max(axis=(3, 5)))


def test_quantized(run_op, rng):
    type_ = QuantType(I8, F32, (0.5,), (-3,))
    x = rng.integers(-128, 128, (1, 4, 4, 2)).astype(np.int8)
    attributes = {"kernel_shape": (2, 2), "strides": (2, 2), "layout": "NHWC"}
    windows = x.reshape(1, 2, 2, 2, 2, 2)
    np.testing.assert_array_equal(run_op("MaxPool", (x, type_), **attributes), windows.max(axis=(2, 4)))
    # ReLU of stored integers: nothing below the zero point, nothing above the limit's number
    clipped = np.clip(windows.max(axis=(2, 4)), -3, 9)
    np.testing.assert_array_equal(run_op("MaxPool", (x, type_), do_relu=True, relu_limit=6.0, **attributes), clipped)
    mean = windows.astype(np.float64).mean(axis=(2, 4))
    result = run_op("AvgPool", (x, type_), **attributes)
    assert np.abs(result - mean).max() <= 0.5


@pytest.mark.parametrize(("steps", "zero_point"), [(20 / 255, -128), (2 / 3, 5), (4 / 6, -7), (8 / 13, 0)])
def test_limits_of_stored_integers_are_those_of_lowerings(run_op, steps, zero_point):
    type_ = QuantType(I8, F32, (float(np.float32(steps)),), (zero_point,))  # 6 and 1 are halfway between two numbers in float32
    x = np.full((1, 1, 2, 2), 127, np.int8)
    for limit in (1.0, 6.0):
        wanted = activation_bounds(type_, 0.0, limit)[1]
        found = run_op("MaxPool", (x, type_), kernel_shape=(2, 2), strides=(2, 2), do_relu=True, relu_limit=limit)
        assert found.item() == wanted
        assert run_op("Pad", (x, type_), paddings=(1, 0, 0, 0, 0, 0, 0, 0), val=limit).flat[0] == wanted


def test_quantized_to_four_bits(run_op):
    type_ = QuantType(I4, F32, (0.5,), (-3,))
    x = (np.arange(16) - 8).astype(ml_dtypes.int4).reshape(1, 1, 4, 4)
    result = run_op("MaxPool", (x, type_), kernel_shape=(2, 2), strides=(2, 2), do_relu=True, relu_limit=4.0)
    np.testing.assert_array_equal(result.astype(np.int8), [[[[-3, -1], [5, 5]]]])
    both = run_op("Concat", (x, type_), (x, type_), axis=0, do_relu=True)
    assert both.dtype == ml_dtypes.int4 and both.astype(np.int8).min() == -3


def test_window_in_the_padding_only(run_op):
    x = np.ones((1, 1, 2), np.float32)
    result = run_op("AvgPool", x, kernel_shape=(2,), strides=(2,), pads=(2, 0))
    np.testing.assert_array_equal(result, [[[0.0, 1.0]]])


def test_the_greatest_of_truth_values_beside_padding(run_op):
    """Padding is False, the least of them: minus infinity is none of them, and was True."""
    x = np.zeros((1, 1, 2, 3), bool)
    x[0, 0, 1, 2] = True
    made = both_layouts(run_op, "MaxPool", x, kernel_shape=(2, 2), pads=(1, 1, 1, 1))
    np.testing.assert_array_equal(made[0, 0], [[0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
