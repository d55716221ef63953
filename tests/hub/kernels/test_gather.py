"""Reading and writing by subscripts, and ordering, against onnxruntime and numpy."""

from __future__ import annotations

import numpy as np
import pytest

from transload.errors import RunError, ShapeError
from transload.ir import F32, I8, I32, QuantType, TensorType


@pytest.fixture
def x(rng):
    return rng.standard_normal((3, 4, 5)).astype(np.float32)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_gather(run_op, onnx_op, rng, x, axis, shape, dtype):
    indices = rng.integers(-3, 3, shape).astype(dtype) * np.ones(shape, dtype)
    indices = np.asarray(indices, dtype)
    np.testing.assert_array_equal(run_op("Gather", x, indices, axis=axis), onnx_op("Gather", x, indices, axis=axis))


@pytest.mark.parametrize(("axis", "batch_dims", "shape"), [
    (1, 1, (3,)), (1, 1, (3, 2)), (2, 1, (3, 2)), (2, 2, (3, 4)), (2, 2, (3, 4, 2)), (-1, 2, (3, 4, 2, 1))])
def test_gather_in_batches(run_op, rng, x, axis, batch_dims, shape):
    indices = rng.integers(0, 4, shape)
    within = axis % 3 - batch_dims
    first = (0,) * batch_dims
    expected = np.empty((*shape[:batch_dims], *np.take(x[first], indices[first], within).shape))
    for place in np.ndindex(*shape[:batch_dims]):
        expected[place] = np.take(x[place], indices[place], within)
    np.testing.assert_array_equal(run_op("Gather", x, indices, axis=axis, batch_dims=batch_dims), expected)


@pytest.mark.parametrize(("batch_dims", "shape"), [
    (0, (2, 1)), (0, (2, 2)), (0, (3,)), (0, (2, 2, 3)), (1, (3, 2, 1)), (1, (3, 2)), (2, (3, 4, 1)), (1, (3, 2, 2, 2))])
def test_gather_nd(run_op, onnx_op, rng, x, batch_dims, shape):
    indices = rng.integers(-3, 3, shape)
    expected = onnx_op("GatherND", x, indices, batch_dims=batch_dims)
    np.testing.assert_array_equal(run_op("GatherND", x, indices, batch_dims=batch_dims), expected)


def test_gather_nd_without_subscripts(run_op, x):
    result = run_op("GatherND", x, np.zeros((2, 0), np.int64))
    np.testing.assert_array_equal(result, np.stack([x, x]))


@pytest.mark.parametrize(("axis", "shape"), [(0, (2, 4, 5)), (1, (3, 7, 5)), (2, (2, 3, 1)), (-1, (3, 4, 9))])
def test_gather_elements(run_op, onnx_op, rng, x, axis, shape):
    indices = rng.integers(-3, 3, shape)
    expected = onnx_op("GatherElements", x, indices, axis=axis)
    np.testing.assert_array_equal(run_op("GatherElements", x, indices, axis=axis), expected)


@pytest.mark.parametrize("name", ["Gather", "GatherElements"])
def test_indices_out_of_range_are_an_error(run_op, name):
    x, indices = np.zeros((3,), np.float32), np.array([0, 3])
    with pytest.raises(RunError, match="index 3 is outside a dimension of size 3"):
        run_op(name, x, indices, axis=0)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize("shape", [(4, 1), (4, 2), (4, 3), (2, 2, 2), (3,)])
def test_scatter_nd(run_op, onnx_op, near, rng, x, reduction, shape):
    count = int(np.prod(shape[:-1]))
    places = rng.permutation(9)[:count] if reduction == "none" else rng.integers(0, 9, count)
    indices = np.stack([places % 3, places // 3, places % 4][: shape[-1]], -1).reshape(shape)
    if reduction == "none" and shape == (4, 1):
        indices, shape = indices[:1], (1, 1)
    updates = rng.standard_normal((*shape[:-1], *x.shape[shape[-1] :])).astype(np.float32)
    expected = onnx_op("ScatterND", x, indices, updates, reduction=reduction)
    near(run_op("ScatterND", x, indices, updates, reduction=reduction), expected, 1e-6)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_scatter_elements(run_op, onnx_op, near, rng, x, reduction, axis):
    shape = (2, 3, 2)
    indices = rng.integers(-3, 3, shape)
    if reduction == "none":  # where subscripts repeat, the order would matter
        indices = np.broadcast_to(np.arange(shape[axis]).reshape([-1 if i == axis % 3 else 1 for i in range(3)]), shape).copy()
    updates = rng.standard_normal(shape).astype(np.float32)
    expected = onnx_op("ScatterElements", x, indices, updates, axis=axis, reduction=reduction)
    near(run_op("ScatterElements", x, indices, updates, axis=axis, reduction=reduction), expected, 1e-6)


def test_scatter_of_quantized(run_op):
    type_ = QuantType(I8, F32, (0.5,), (10,))
    x, updates = np.array([10, 12, 14], np.int8), np.array([11, 20], np.int8)
    indices = np.array([[1], [2]])
    np.testing.assert_array_equal(run_op("ScatterND", (x, type_), indices, (updates, type_)), [10, 11, 20])
    # 1.0 + 0.5 and 2.0 + 5.0 in units of 0.5, from zero point 10
    np.testing.assert_array_equal(run_op("ScatterND", (x, type_), indices, (updates, type_), reduction="add"), [10, 13, 24])


def test_scatter_refuses(make_op):
    with pytest.raises(ShapeError, match="updates must be"):
        make_op("top.ScatterND", [TensorType((3, 4), F32), TensorType((2, 1), I32), TensorType((2, 5), F32)])


@pytest.mark.parametrize("axis", [-1, 0, 1, -2])
def test_one_hot(run_op, onnx_op, axis):
    indices = np.array([[0, 2, -1], [3, 7, -9]])
    on, off = np.float32(5).reshape(()), np.float32(1).reshape(())
    expected = onnx_op("OneHot", indices, np.array(4), np.stack([off, on]), axis=axis)
    np.testing.assert_array_equal(run_op("OneHot", indices, on, off, depth=4, axis=axis), expected)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
def test_top_k(run_op, onnx_op, rng, largest, axis, dtype):
    x = rng.integers(0, 5, (4, 5, 6)).astype(dtype)  # many equal ones
    values, indices = run_op("TopK", x, axis=axis, k=3, largest=largest)
    expected, where = onnx_op("TopK", x, np.array([3]), outputs=2, axis=axis, largest=int(largest), judge="reference")
    np.testing.assert_array_equal(values, expected)
    # the first of equal ones comes first
    key = (-1 if largest else 1) * x.astype(np.int64) * 100
    key += np.arange(x.shape[axis]).reshape([-1 if i == axis % 3 else 1 for i in range(3)])
    np.testing.assert_array_equal(indices, np.take(np.argsort(key, axis=axis), range(3), axis=axis))
    del where


def test_top_k_refuses(make_op):
    with pytest.raises(ShapeError, match="cannot take 9"):
        make_op("top.TopK", [TensorType((3, 4), F32)], k=9)


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_cum_sum(run_op, onnx_op, near, rng, axis, exclusive, reverse, dtype):
    x = (rng.standard_normal((3, 4)) * 9).astype(dtype)
    expected = onnx_op("CumSum", x, np.array(axis), exclusive=int(exclusive), reverse=int(reverse))
    near(run_op("CumSum", x, axis=axis, exclusive=exclusive, reverse=reverse), expected)


def test_scatter_without_subscripts_replaces_the_whole(run_op, x):
    updates = np.stack([x + 1, x + 2])
    np.testing.assert_array_equal(run_op("ScatterND", x, np.zeros((2, 0), np.int64), updates), x + 2)
