"""Functions that targets compose of their operators keep the digits of small numbers, and reach as far as their results do."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import F16, F32, Module, TensorType
from transload.ir.build import Builder
from transload.testing import build_module
from transload_hub.functions import erfc, expm1

from tests.support.litert import run_litert
from tests.support.tosa_reference import run_module

Function = Callable[[np.ndarray], np.ndarray]


def softplus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def elu(x: np.ndarray, alpha: float = 1.0, width: float = 1.0) -> np.ndarray:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / width))


COMPOSED: dict[str, tuple[str, dict[str, Any], Function]] = {
    "Softplus": ("Softplus", {}, softplus),
    "logarithm of Sigmoid": ("Sigmoid", {"log": True}, lambda x: -softplus(-x)),
    "Mish": ("Mish", {}, lambda x: x * np.tanh(softplus(x))),
    "Elu": ("Elu", {}, elu),
    "Elu of 0.7": ("Elu", {"alpha": 0.7}, lambda x: elu(x, 0.7)),
    "Selu": ("Selu", {}, lambda x: 1.0507009873554805 * elu(x, 1.6732632423543772)),
    "Celu": ("Celu", {"alpha": 0.7}, lambda x: elu(x, 0.7, 0.7)),
    "Log1p": ("Log1p", {}, np.log1p),
    "Sinh": ("Sinh", {}, np.sinh),
    "Cosh": ("Cosh", {}, np.cosh),
    "Softsign": ("Softsign", {}, lambda x: x / (1 + np.abs(x))),
    "Tan": ("Tan", {}, np.tan),
    "Atan": ("Atan", {}, np.arctan),
    "Asin": ("Asin", {}, np.arcsin),
    "Acos": ("Acos", {}, np.arccos),
    "Asinh": ("Asinh", {}, np.arcsinh),
    "Acosh": ("Acosh", {}, np.arccosh),
    "Atanh": ("Atanh", {}, np.arctanh),
}
"""Ops of the hub, their attributes, and what they are in float64."""


def arguments(dtype: Any, function: Function) -> np.ndarray:
    """Numbers of either sign from 1e-30 to 89.4 whose function is a normal number of the type."""
    sizes = np.concatenate([np.logspace(-30, -8, 23), np.logspace(-7, 0, 60), np.linspace(1, 88, 60), [88.5, 88.9, 89.4]])
    x = np.concatenate([sizes, -sizes]).astype(dtype)
    with np.errstate(all="ignore"):
        size = np.abs(function(x.astype(np.float64)))
    return x[(size > np.finfo(dtype).tiny * 16) & (size < np.finfo(dtype).max)]


def on_tosa(module: Module, x: np.ndarray) -> np.ndarray:
    return run_module(transload.lower(module), [x])[0]


def on_tflite(module: Module, x: np.ndarray) -> np.ndarray:
    from transload_converters.tflite.writer_module import serialize

    return run_litert(serialize(transload.lower(module, "tfl")), [x])[0]


def on_stablehlo(module: Module, x: np.ndarray) -> np.ndarray:
    return np.asarray(next(iter(transload.run(transload.lower(module, "stablehlo"), {"x0": x}).values())))


RUNS = {"tosa": on_tosa, "tflite": on_tflite, "stablehlo": on_stablehlo}


@pytest.mark.parametrize("target", RUNS)
@pytest.mark.parametrize("name", COMPOSED)
def test_composed_functions_keep_their_digits(name: str, target: str) -> None:
    op, attributes, function = COMPOSED[name]
    x = arguments(np.float32, function)
    module = build_module([TensorType(x.shape, F32)], lambda b, v: b.emit(f"top.{op}", v, **attributes))
    np.testing.assert_allclose(RUNS[target](module, x), function(x.astype(np.float64)), rtol=1e-6)


@pytest.mark.parametrize("target", RUNS)
def test_celu_of_a_negative_alpha(target: str) -> None:
    """It grows below zero: its exponent is positive there."""
    x = np.concatenate([-np.logspace(-30, 0.7, 60), [0.0, 1e-3, 2.0]]).astype(np.float32)
    module = build_module([TensorType(x.shape, F32)], lambda b, v: b.emit("top.Celu", v, alpha=-0.7))
    np.testing.assert_allclose(RUNS[target](module, x), elu(x.astype(np.float64), -0.7, -0.7), rtol=2e-6)


@pytest.mark.parametrize("name", [name for name in COMPOSED if name not in ("Tan", "Softsign", "Atan")])
def test_of_16_bits_on_tosa(name: str) -> None:
    op, attributes, function = COMPOSED[name]
    x = arguments(np.float16, function)
    module = build_module([TensorType(x.shape, F16)], lambda b, v: b.emit(f"top.{op}", v, **attributes))
    np.testing.assert_allclose(on_tosa(module, x).astype(np.float64), function(x.astype(np.float64)), rtol=1e-3)


def erf_by_quadrature(x: np.ndarray) -> np.ndarray:
    """The error function up to 1, by Gauss and Legendre."""
    points, weights = np.polynomial.legendre.leggauss(20)
    return x / np.sqrt(np.pi) * (np.exp(-np.square(np.multiply.outer(x, (points + 1) / 2))) @ weights)


@pytest.mark.parametrize("target", RUNS)
def test_the_error_function_of_small_numbers(target: str) -> None:
    x = np.concatenate([np.logspace(-30, -1, 60), [0.12, 0.13, 0.5, 1.0]]).astype(np.float32)
    module = build_module([TensorType(x.shape, F32)], lambda b, v: b.emit("top.Erf", v))
    np.testing.assert_allclose(RUNS[target](module, x), erf_by_quadrature(x.astype(np.float64)), rtol=3e-6)


@pytest.mark.parametrize("target", RUNS)
def test_exponentials_less_one_of_small_numbers(target: str) -> None:
    """As StableHLO, TensorFlow and PyTorch have an operator for; TANH, which it is written by, loses small numbers in TOSA."""
    x = arguments(np.float32, np.expm1)
    module = build_module([TensorType(x.shape, F32)], expm1)
    np.testing.assert_allclose(RUNS[target](module, x), np.expm1(x.astype(np.float64)), rtol=1e-6)


@pytest.mark.parametrize("target", RUNS)
def test_what_the_error_function_lacks_to_one(target: str) -> None:
    """As TensorFlow and PyTorch have an operator for: `1 - erf(x)` was 0 from 4 on."""
    x = np.linspace(-5, 9, 400).astype(np.float32)
    module = build_module([TensorType(x.shape, F32)], erfc)
    wanted = np.array([math.erfc(number) for number in x.tolist()])
    np.testing.assert_allclose(RUNS[target](module, x), wanted, rtol=6e-6)


def test_what_the_error_function_lacks_to_one_at_the_ends_of_the_range() -> None:
    x = np.array([-np.inf, -1e30, 0, -0.0, 11, 1e30, np.inf, np.nan], np.float32)
    (found,) = transload.run(transload.lower(build_module([TensorType(x.shape, F32)], erfc)), {"x0": x}).values()
    np.testing.assert_array_equal(found, np.array([2, 2, 1, 1, 0, 0, 0, np.nan], np.float32))


def test_exponentials_less_one_at_the_ends_of_the_range() -> None:
    x = np.array([-np.inf, -1e30, -200, 89, np.inf, np.nan], np.float32)
    (found,) = transload.run(transload.lower(build_module([TensorType(x.shape, F32)], expm1)), {"x0": x}).values()
    np.testing.assert_array_equal(found, np.array([-1, -1, -1, np.inf, np.inf, np.nan], np.float32))


@pytest.mark.parametrize("target", RUNS)
@pytest.mark.parametrize("name", ["Log1p", "exponential less one"])
def test_zeros_keep_their_signs(name: str, target: str) -> None:
    x = np.array([0.0, -0.0, 1.0], np.float32)
    make = expm1 if name != "Log1p" else lambda b, v: b.emit("top.Log1p", v)
    found = RUNS[target](build_module([TensorType(x.shape, F32)], make), x)
    np.testing.assert_array_equal(np.signbit(found), [False, True, False])


def ops_of(name: str, dialect: str) -> int:
    """How many operators one op of the hub becomes."""
    def make(builder: Builder, value: Any) -> Any:
        return builder.emit(f"top.{name}", value)

    lowered = transload.lower(build_module([TensorType((4,), F32)], make), dialect)
    return sum("const" not in op.name for op in lowered.ops() if op.dialect == dialect)


@pytest.mark.parametrize(("name", "tosa", "tflite"), [("Softplus", 10, 10), ("Mish", 8, 7), ("Elu", 9, 1), ("Log1p", 8, 8)])
def test_what_they_cost(name: str, tosa: int, tflite: int) -> None:
    assert (ops_of(name, "tosa"), ops_of(name, "tfl")) == (tosa, tflite)
