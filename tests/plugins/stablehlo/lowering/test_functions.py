"""Functions that StableHLO lacks: how near they are to those of exact arithmetic, in XLA and in our kernels."""

from __future__ import annotations

import math

import numpy as np
import pytest

from transload.api import run
from transload.ir import TensorType, element_type_of, new_module, set_results
from transload.ir.build import Builder
from transload_plugins.stablehlo import functions


def computed(function, x, engine):
    module = new_module()
    module.add_function("main", [TensorType(x.shape, element_type_of(x.dtype))], ["x"])
    set_results(module.main, [function(Builder(module.body_of_main), module.body_of_main.arguments[0])], ["y"])
    return run(module, {"x": x}, engine=engine)["y"]


def units(y, exact):
    """The greatest error in units of the last place of the exact result."""
    return float(np.max(np.abs(y.astype(np.float64) - exact) / np.spacing(np.abs(exact.astype(y.dtype))).astype(np.float64)))


CASES = {
    "erf": (math.erf, -5, 5, 2), "asin": (math.asin, -1, 1, 4), "acos": (math.acos, -0.999, 0.999, 4),
    "atan": (math.atan, -50, 50, 3), "sinh": (math.sinh, -80, 80, 8), "cosh": (math.cosh, -80, 80, 8),
    "asinh": (math.asinh, -300, 300, 5), "acosh": (math.acosh, 1, 300, 5), "atanh": (math.atanh, -0.99, 0.99, 5),
}  # fmt: skip


@pytest.mark.parametrize("engine", ["reference", "xla"])
@pytest.mark.parametrize("name", CASES)
def test_single_precision(xla, name, engine):
    exact, low, high, bound = CASES[name]
    x = np.concatenate([np.linspace(low, high, 20001), np.linspace(max(low, -1), min(high, 1), 20001) if low < 1 else []])
    x = x.astype(np.float32)
    wanted = np.array([exact(float(v)) for v in x])
    keep = np.abs(wanted) > 1e-30
    assert units(computed(getattr(functions, name), x, engine)[keep], wanted[keep]) <= bound


@pytest.mark.parametrize("engine", ["reference", "xla"])
@pytest.mark.parametrize("name", CASES)
def test_double_precision(xla, name, engine):
    exact, low, high, _ = CASES[name]
    x = np.linspace(low, high, 10001)
    wanted = np.array([exact(float(v)) for v in x])
    # XLA's own log_plus_one is exact to 2e-14
    np.testing.assert_allclose(computed(getattr(functions, name), x, engine), wanted, rtol=3e-14, atol=1e-16)


def test_far_out(xla):
    """Where a formula would overflow or lose everything, another one is taken."""
    x = np.array([1e-30, 1e10, 1e30, 3e38, np.inf, -1e30, -np.inf], np.float32)
    for name, exact in {"asinh": np.arcsinh, "acosh": np.arccosh, "erf": np.sign}.items():
        with np.errstate(all="ignore"):
            wanted = exact(x.astype(np.float64))
        y = computed(getattr(functions, name), x, "xla")
        np.testing.assert_allclose(y[1:], wanted[1:], rtol=1e-6)
    assert computed(functions.erf, x, "xla")[0] == np.float32(1e-30 * 2 / math.sqrt(math.pi))
    large = np.array([88.0, 89.0, -89.0, 90.0], np.float32)
    with np.errstate(over="ignore"):
        wanted = np.sinh(large.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(computed(functions.sinh, large, "xla"), wanted, rtol=1e-5)
