"""Reductions and extremes against onnxruntime."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from transload.ir import I32

MODES = ["ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
         "ReduceLogSumExp", "ReduceSumSquare"]
AXES = [(0,), (1,), (-1,), (0, 2), (-2, -1), (0, 1, 2)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("keepdims", [False, True])
def test_floats(run_op, onnx_op, near, rng, mode, axes, keepdims):
    x = rng.uniform(0.1, 3, (3, 4, 5)).astype(np.float32)
    if mode != "ReduceLogSum":
        x *= rng.choice([-1, 1], x.shape).astype(np.float32)
    expected = onnx_op(mode, x, np.array(axes), keepdims=int(keepdims))
    near(run_op("Reduce", x, axes=axes, keepdims=keepdims, mode=mode), expected, 2e-5)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode not in ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp")])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integers(run_op, onnx_op, rng, mode, dtype):
    x = rng.integers(-5, 6, (3, 4)).astype(dtype)
    judge = "reference" if mode == "ReduceL1" else "onnxruntime"
    if mode == "ReduceMean":
        expected = np.trunc(x.sum(axis=1, keepdims=True) / 4).astype(dtype)
    else:
        expected = np.asarray(onnx_op(mode, x, np.array([1]), judge=judge)).astype(dtype)
    np.testing.assert_array_equal(run_op("Reduce", x, axes=(1,), mode=mode), expected)


def test_flags(run_op, rng):
    x = rng.integers(0, 2, (5, 3)).astype(bool)
    np.testing.assert_array_equal(run_op("Reduce", x, axes=(1,), mode="ReduceAll", keepdims=False), x.all(1))
    np.testing.assert_array_equal(run_op("Reduce", x, axes=(0,), mode="ReduceAny"), x.any(0, keepdims=True))
    np.testing.assert_array_equal(run_op("Reduce", x, axes=(0,), mode="ReduceMax"), x.any(0, keepdims=True))


def test_nothing_to_reduce(run_op):
    x = np.array([[-1.5, 2.0]], np.float32)
    np.testing.assert_array_equal(run_op("Reduce", x, axes=(), mode="ReduceSum"), x)
    np.testing.assert_array_equal(run_op("Reduce", x, axes=(), mode="ReduceSumSquare"), x * x)
    np.testing.assert_array_equal(run_op("Reduce", x, axes=(), mode="ReduceL2"), np.abs(x))


@pytest.mark.parametrize(("mode", "value"), [
    ("ReduceSum", 0), ("ReduceProd", 1), ("ReduceMax", -np.inf), ("ReduceMin", np.inf), ("ReduceL2", 0),
    ("ReduceLogSumExp", -np.inf)])
def test_empty(run_op, mode, value):
    x = np.zeros((2, 0), np.float32)
    np.testing.assert_array_equal(run_op("Reduce", x, axes=(1,), mode=mode, keepdims=False), [value, value])


def test_empty_integers(run_op):
    x = np.zeros((0, 2), np.int8)
    np.testing.assert_array_equal(run_op("Reduce", x, axes=(0,), mode="ReduceMax", keepdims=False), [-128, -128])


def test_log_sum_exp_does_not_overflow(run_op):
    x = np.array([[1000.0, 1000.0], [-1000.0, -1000.0], [-np.inf, 0.0]], np.float32)
    result = run_op("Reduce", x, axes=(1,), mode="ReduceLogSumExp", keepdims=False)
    np.testing.assert_allclose(result, [1000.6931, -999.3069, 0.0], rtol=1e-6)


def test_long_sums_are_exact(run_op):
    x = np.full((1 << 20,), 0.1, np.float32)
    np.testing.assert_allclose(run_op("Reduce", x, axes=(0,), mode="ReduceSum", keepdims=False), np.float32(0.1) * float(1 << 20))
    half = np.full((4096,), 1.0, ml_dtypes.bfloat16)
    assert float(run_op("Reduce", half, axes=(0,), mode="ReduceSum", keepdims=False)) == 4096


@pytest.mark.parametrize("mode", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("last", [False, True])
def test_arg(run_op, onnx_op, rng, mode, axis, keepdims, last):
    x = rng.integers(0, 3, (4, 5, 6)).astype(np.float32)
    expected = onnx_op(mode, x, axis=axis, keepdims=int(keepdims), select_last_index=int(last))
    attributes = {"axis": axis, "keepdims": keepdims, "mode": mode, "select_last_index": last}
    np.testing.assert_array_equal(run_op("Arg", x, **attributes), expected)
    assert run_op("Arg", x.astype(np.int8), element=I32, **attributes).dtype == np.int32
