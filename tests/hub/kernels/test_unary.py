"""Functions of one operand against onnxruntime or numpy."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from transload_hub.kernels.unary import erf

RANGES = {"Log": (0.01, 9), "Sqrt": (0, 9), "Asin": (-1, 1), "Acos": (-1, 1), "Acosh": (1, 9), "Atanh": (-0.99, 0.99),
          "Exp": (-9, 9), "Sinh": (-5, 5), "Cosh": (-5, 5), "Reciprocal": (0.1, 9)}
ONNX_FUNCTIONS = [
    "Abs", "Neg", "Exp", "Log", "Sqrt", "Reciprocal", "Floor", "Ceil", "Round", "Sign", "Sin", "Cos", "Tan", "Asin", "Acos",
    "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh", "Erf", "Softplus", "Softsign", "Mish", "HardSwish",
]


@pytest.mark.parametrize("name", ONNX_FUNCTIONS)
def test_functions(run_op, onnx_op, near, name):
    low, high = RANGES.get(name, (-9, 9))
    x = np.linspace(low, high, 301, dtype=np.float32).reshape(7, 43)
    near(run_op(name, x), onnx_op(name, x, opset=22), 2e-6)


ACTIVATIONS = [
    ("Relu", {}, "Relu", {}),
    ("LeakyRelu", {"alpha": 0.2}, "LeakyRelu", {"alpha": 0.2}),
    ("Sigmoid", {}, "Sigmoid", {}),
    ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}, "HardSigmoid", {"alpha": 0.3, "beta": 0.4}),
    ("GELU", {}, "Gelu", {}),
    ("GELU", {"approx": True}, "Gelu", {"approximate": "tanh"}),
    ("Elu", {"alpha": 1.5}, "Elu", {"alpha": 1.5}),
    ("Selu", {}, "Selu", {}),
    ("Selu", {"alpha": 2.0, "gamma": 3.0}, "Selu", {"alpha": 2.0, "gamma": 3.0}),
    ("Celu", {"alpha": 2.0}, "Celu", {"alpha": 2.0}),
    ("ThresholdedRelu", {"alpha": 1.25}, "ThresholdedRelu", {"alpha": 1.25}),
    ("Shrink", {"bias": 0.5, "lambd": 1.5}, "Shrink", {"bias": 0.5, "lambd": 1.5}),
]


@pytest.mark.parametrize(("name", "attributes", "onnx_name", "onnx_attributes"), ACTIVATIONS)
def test_activations(run_op, onnx_op, near, name, attributes, onnx_name, onnx_attributes):
    x = np.linspace(-12, 12, 200, dtype=np.float32).reshape(2, 4, 25)
    near(run_op(name, x, **attributes), onnx_op(onnx_name, x, opset=22, **onnx_attributes), 2e-6)


def test_the_rest(run_op, near):
    x = np.linspace(-8, 8, 101, dtype=np.float32)
    real = x.astype(np.float64)
    logistic = 1 / (1 + np.exp(-real))
    near(run_op("SiLU", x), real * logistic, 1e-6)
    near(run_op("Square", x), real * real, 1e-6)
    near(run_op("Rsqrt", np.abs(x) + 1), 1 / np.sqrt(np.abs(real) + 1), 1e-6)
    near(run_op("Log1p", np.abs(x) * 1e-6), np.log1p(np.abs(real) * 1e-6), 1e-9)
    near(run_op("Sigmoid", x, scale=2.0, bias=-1.0), 2 * logistic - 1, 1e-6)
    near(run_op("Sigmoid", x, log=True), np.log(logistic), 1e-6)
    near(run_op("Relu", x, relu_limit=6.0), np.clip(real, 0, 6), 0)
    near(run_op("Clip", x, min=-1.0, max=2.5), np.clip(real, -1, 2.5), 0)
    near(run_op("Clip", x, min=-math.inf, max=2.5), np.minimum(real, 2.5), 0)


def test_extremes_are_finite(run_op):
    x = np.array([-1e4, -200, 0, 200, 1e4], np.float32)
    np.testing.assert_array_equal(run_op("Sigmoid", x), [0, 0, 0.5, 1, 1])
    np.testing.assert_allclose(run_op("Sigmoid", x, log=True), [-1e4, -200, math.log(0.5), 0, 0], rtol=1e-6)
    np.testing.assert_allclose(run_op("Softplus", x), [0, 0, math.log(2), 200, 1e4], rtol=1e-6)
    np.testing.assert_allclose(run_op("Mish", x), [0, 0, 0, 200, 1e4], rtol=1e-6)
    np.testing.assert_allclose(run_op("Elu", x), [-1, -1, 0, 200, 1e4], rtol=1e-6)


def test_erf_is_exact():
    x = np.concatenate([np.linspace(-7, 7, 20001), [1e-300, -1e-9, 0.03125, 1e9, -np.inf, np.inf]])
    exact = np.array([math.erf(value) for value in x])
    assert np.abs(erf(x) - exact).max() < 4e-16
    tiny = np.array([1e-9, -1e-20, 1e-3])
    np.testing.assert_allclose(erf(tiny), [math.erf(value) for value in tiny], rtol=1e-15)
    assert np.isnan(erf(np.array([np.nan])))[0]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
def test_integers(run_op, dtype):
    x = np.array([0, 3, 7, 100], dtype) if np.dtype(dtype).kind == "u" else np.array([-7, 0, 3, 100], dtype)
    for name in ("Floor", "Ceil", "Round"):
        np.testing.assert_array_equal(run_op(name, x), x)
    np.testing.assert_array_equal(run_op("Relu", x), np.maximum(x, 0))
    np.testing.assert_array_equal(run_op("Relu", x, relu_limit=6.0), np.clip(x, 0, 6))
    np.testing.assert_array_equal(run_op("Sign", x), np.sign(x))
    np.testing.assert_array_equal(run_op("Clip", x, min=-1e30, max=1e30), x)
    np.testing.assert_array_equal(run_op("Clip", x, min=0.5, max=9.5), np.clip(x, 1, 9))


def test_round_halves_to_even_and_tests(run_op):
    np.testing.assert_array_equal(
        run_op("Round", np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], np.float32)), [-2, -2, 0, 0, 2, 2])
    x = np.array([1, np.nan, np.inf, -np.inf], np.float32)
    np.testing.assert_array_equal(run_op("IsNaN", x), [False, True, False, False])
    np.testing.assert_array_equal(run_op("IsInf", x), [False, False, True, True])


def test_prelu(run_op, onnx_op, rng):
    x = rng.standard_normal((2, 3, 4, 4)).astype(np.float32)
    for shape in ((3, 1, 1), (1,), (2, 3, 4, 4), (4,)):
        slope = rng.standard_normal(shape).astype(np.float32)
        np.testing.assert_array_equal(run_op("PRelu", x, slope), onnx_op("PRelu", x, slope))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
@pytest.mark.parametrize("log", [False, True])
def test_softmax(run_op, onnx_op, near, rng, axis, log):
    x = (rng.standard_normal((3, 4, 5)) * 30).astype(np.float32)
    near(run_op("Softmax", x, axis=axis, log=log), onnx_op("LogSoftmax" if log else "Softmax", x, axis=axis), 1e-6)
    near(run_op("Softmax", x, axis=axis, log=log, beta=0.5), run_op("Softmax", x / 2, axis=axis, log=log), 1e-6)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_other_floats(run_op, dtype):
    x = np.linspace(-3, 3, 41).astype(dtype)
    for name in ("Tanh", "SiLU", "GELU", "Softplus", "Erf", "HardSwish"):
        result = run_op(name, x)
        assert result.dtype == dtype
        wide = run_op(name, x.astype(np.float64))
        np.testing.assert_allclose(result.astype(np.float64), wide, rtol=2 * float(ml_dtypes.finfo(dtype).eps), atol=1e-6)
