"""Powers, angles and areas of zeros with signs, infinities and what is no number: as numpy, in our kernels and Arm's model.

TOSA leaves POW of such numbers open, and Arm's model refuses them: these are judged in our kernels alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transload.api import lower, run
from transload.ir import Module, TensorType, Value, element_type_of
from transload.ir.build import Builder
from transload.testing import build_module

from tests.support.tosa_reference import run_module

NUMBERS = [0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 1 / 3, 1.5, -2.5, 3, -3, 17, -17, 41, -101, 1e4, -1e4, np.inf, -np.inf, np.nan]
GREAT = [3e19, -3e19, 2e38, -3e38, 1e-30, -1e-30]
HALVES = [6e-8, -6e-8, 65504.0, -60000.0]
"""The least and nearly the greatest f16, whose reciprocals are none, or have lost bits."""


def _numbers(dtype: Any) -> np.ndarray:
    return np.array(NUMBERS + (HALVES if dtype is np.float16 else GREAT), dtype)


def _check(module: Module, arrays: list[np.ndarray], wanted: np.ndarray, off: float) -> None:
    lowered = lower(module)
    made = list(run(lowered, {f"x{i}": array for i, array in enumerate(arrays)}).values())
    if not any(op.name == "tosa.pow" for op in lowered.ops()):
        made += run_module(lowered, arrays)
    for found in made:
        np.testing.assert_allclose(found.astype(np.float64), wanted.astype(np.float64), rtol=off)
        bits = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found)[bits], np.signbit(wanted)[bits])


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(("name", "function"), [("Pow", np.power), ("Atan2", np.arctan2)])
def test_of_two(name: str, function: Callable[..., Any], dtype: Any) -> None:
    arrays = [grid.ravel() for grid in np.meshgrid(_numbers(dtype), _numbers(dtype))]
    types = [TensorType(array.shape, element_type_of(array.dtype)) for array in arrays]
    with np.errstate(all="ignore"):
        wanted = function(*(array.astype(np.float32) for array in arrays)).astype(dtype)
    module = build_module(types, lambda rw, a, b: rw.emit(f"top.{name}", a, b))
    _check(module, arrays, wanted, 2e-5 if dtype is np.float32 else 2e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("exponent", [-1, 2, 3, -3, 4, -16, 17, -17, 20, -101])
def test_powers_by_a_whole_constant(exponent: int, dtype: Any) -> None:
    x = _numbers(dtype)

    def make(rw: Builder, x: Value) -> Value:
        return rw.emit("top.Pow", x, rw.constant(np.array(exponent, dtype)))

    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(np.float32), np.float32(exponent)).astype(dtype)
    module = build_module([TensorType(x.shape, element_type_of(x.dtype))], make)
    _check(module, [x], wanted, 2e-5 if dtype is np.float32 else 4e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("how", ["Relu", "Clip", "fused"])
def test_infinity_stays_where_nothing_limits_it(how: str, dtype: Any) -> None:
    """The greatest finite number as CLAMP's limit takes infinity away."""
    def make(rw: Builder, x: Value) -> Value:
        if how == "fused":
            return rw.emit("top.Add", x, rw.constant(np.zeros((), dtype)), do_relu=True)
        return rw.emit("top.Clip", x, min=-math.inf, max=2.0) if how == "Clip" else rw.emit("top.Relu", x)

    x = _numbers(dtype)[1:] + dtype(0)  # without negative zeros: max(-0, 0) may be either zero
    wanted = np.minimum(x, dtype(2)) if how == "Clip" else np.maximum(x, dtype(0))
    _check(build_module([TensorType(x.shape, element_type_of(x.dtype))], make), [x], wanted, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_area_of_the_hyperbolic_cosine(dtype: Any) -> None:
    x = np.concatenate([_numbers(dtype), np.array([1 + 2**-10, 1.25, 99, 101], dtype)])
    with np.errstate(all="ignore"):
        wanted = np.arccosh(x.astype(np.float32)).astype(dtype)
    module = build_module([TensorType(x.shape, element_type_of(x.dtype))], lambda rw, x: rw.emit("top.Acosh", x))
    _check(module, [x], wanted, 2e-5 if dtype is np.float32 else 2e-2)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("alpha", [0.0, 1e-50, 1e-9, 0.25, 1.0, 2.0, -0.5])
def test_infinity_is_not_bent_by_a_slope_of_zero(alpha: float, dtype: Any) -> None:
    """Nor by one that is zero in the type: the product with infinity, which is no number, is not that of what is positive."""
    x = np.array([np.inf, 3.0, 0.0, -4.0, np.nan], dtype)
    with np.errstate(all="ignore"):
        wanted = np.where(x >= 0, x, x * dtype(alpha))
    module = build_module([TensorType(x.shape, element_type_of(x.dtype))], lambda rw, x: rw.emit("top.LeakyRelu", x, alpha=alpha))
    _check(module, [x], wanted, 2e-3)
