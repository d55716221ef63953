"""Normalization against onnxruntime or ONNX's reference."""

from __future__ import annotations

import numpy as np
import pytest

SHAPES = [(2, 6), (2, 6, 5), (2, 6, 4, 5), (1, 6, 2, 3, 4)]


def last(x):
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


def both_layouts(run_op, name, x, *others, **attributes):
    first = run_op(name, x, *others, **attributes)
    np.testing.assert_allclose(np.moveaxis(run_op(name, last(x), *others, layout="NHWC", **attributes), -1, 1), first, rtol=1e-5,
                               atol=1e-6)
    return first


@pytest.fixture
def x_of(rng):
    return lambda shape: (rng.standard_normal(shape) * 3 + 1).astype(np.float32)


@pytest.mark.parametrize("shape", SHAPES)
def test_batch_norm(run_op, onnx_op, near, x_of, shape):
    x, gamma, beta, mean = x_of(shape), x_of(6), x_of(6), x_of(6)
    variance = np.abs(x_of(6)) + 0.1
    expected = onnx_op("BatchNormalization", x, gamma, beta, mean, variance, epsilon=1e-3)
    near(both_layouts(run_op, "BatchNorm", x, mean, variance, gamma, beta, epsilon=1e-3), expected)
    plain = onnx_op("BatchNormalization", x, np.ones_like(gamma), np.zeros_like(beta), mean, variance, epsilon=1e-3)
    near(both_layouts(run_op, "BatchNorm", x, mean, variance, epsilon=1e-3, do_relu=True), np.maximum(plain, 0))


@pytest.mark.parametrize("axis", [-1, -2, 1, 2, 0])
def test_layer_norm(run_op, onnx_op, near, x_of, axis):
    x = x_of((3, 4, 5))
    shape = x.shape[axis:]
    weight, bias = x_of(shape), x_of(shape)
    near(run_op("LayerNorm", x, weight, bias, axis=axis), onnx_op("LayerNormalization", x, weight, bias, axis=axis))
    near(run_op("LayerNorm", x, weight, axis=axis, eps=0.1), onnx_op("LayerNormalization", x, weight, axis=axis, epsilon=0.1))
    ones = np.ones(shape, np.float32)
    near(run_op("LayerNorm", x, axis=axis), onnx_op("LayerNormalization", x, ones, axis=axis))


@pytest.mark.parametrize("axis", [-1, 1])
def test_rms_norm(run_op, near, x_of, axis):
    x = x_of((3, 4, 5))
    weight = x_of(x.shape[axis:])
    axes = tuple(range(axis % 3, 3))
    plain = x / np.sqrt(np.square(x.astype(np.float64)).mean(axis=axes, keepdims=True) + 1e-5)
    near(run_op("RMSNorm", x, weight, axis=axis), plain * weight)
    near(run_op("RMSNorm", x, axis=axis), plain)


@pytest.mark.parametrize("shape", SHAPES[1:])
def test_instance_norm(run_op, onnx_op, near, x_of, shape):
    x, weight, bias = x_of(shape), x_of(6), x_of(6)
    near(both_layouts(run_op, "InstanceNorm", x, weight, bias, eps=1e-2),
         onnx_op("InstanceNormalization", x, weight, bias, epsilon=1e-2))


@pytest.mark.parametrize("shape", SHAPES[1:])
@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_group_norm(run_op, onnx_op, near, x_of, shape, groups):
    x, weight, bias = x_of(shape), x_of(6), x_of(6)
    expected = onnx_op("GroupNormalization", x, weight, bias, num_groups=groups, epsilon=1e-2, judge="reference")
    near(both_layouts(run_op, "GroupNorm", x, weight, bias, num_groups=groups, eps=1e-2), expected)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9])
def test_lrn(run_op, onnx_op, near, x_of, size):
    x = x_of((2, 6, 3, 4))
    result = both_layouts(run_op, "LRN", x, size=size, alpha=0.3, beta=0.6, bias=1.5)
    # by the letter of ONNX's formula (its reference evaluator goes through too few channels)
    squares = np.stack([np.square(x[:, max(c - (size - 1) // 2, 0) : c + size // 2 + 1]).sum(axis=1) for c in range(6)], axis=1)
    near(result, x / (1.5 + 0.3 / size * squares) ** 0.6)
    if size % 2:
        near(result, onnx_op("LRN", x, size=size, alpha=0.3, beta=0.6, bias=1.5))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_normalize(run_op, onnx_op, near, x_of, axis):
    x = x_of((3, 4, 5))
    near(run_op("Normalize", x, axes=(axis,)), onnx_op("LpNormalization", x, axis=axis, p=2))
    squares = np.square(x).sum(axis=(1, 2), keepdims=True)
    near(run_op("Normalize", x, axes=(1, -1), eps=50.0), x / np.sqrt(np.maximum(squares, 50)))


def test_large_means_lose_nothing(run_op):
    """Variance is of the centred values: no cancellation."""
    x = (np.random.default_rng(0).standard_normal((1, 2, 1000)) + 1e4).astype(np.float32)
    exact = x.astype(np.float64)
    exact = (exact - exact.mean(axis=2, keepdims=True)) / exact.std(axis=2, keepdims=True)
    np.testing.assert_allclose(run_op("InstanceNorm", x, eps=0.0), exact, atol=1e-3)


@pytest.mark.parametrize("shape", [(2, 0, 3, 3), (0, 4, 3, 3), (2, 4, 0, 3)])
def test_lrn_of_nothing(run_op, shape):
    result = run_op("LRN", np.zeros(shape, np.float32), size=3, layout="NCHW")
    assert np.asarray(result).shape == shape
