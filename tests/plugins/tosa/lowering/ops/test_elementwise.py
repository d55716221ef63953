"""Elementwise operators on floats and plain integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from transload.errors import ConversionError

Same = Callable[..., Any]

FLOATS = np.concatenate([
    np.random.default_rng(0).normal(size=(7, 60)) * np.array([[1e-6], [1e-3], [0.3], [1], [3], [30], [1e5]]),
    np.array([[0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3e9, -3e9] + [0.1] * 50]),
]).astype(np.float32)
UNITS = np.concatenate([np.random.default_rng(1).uniform(-1, 1, 400), [0, 0.9999999, -0.9999999, 1e-7, 1e-20]]).astype(np.float32)


@pytest.mark.parametrize("name", [
    "Abs", "Neg", "Floor", "Ceil", "Round", "Sign", "Square", "Erf", "Tanh", "Atan", "Asinh", "Reciprocal"])
def test_functions_of_all_numbers(same_op: Same, name: str) -> None:
    x = FLOATS if name != "Reciprocal" else FLOATS[:7]
    same_op(name, x)


@pytest.mark.parametrize("name", ["Log", "Sqrt", "Rsqrt"])
def test_functions_of_positive_numbers(same_op: Same, name: str) -> None:
    same_op(name, np.abs(FLOATS[:7]))


@pytest.mark.parametrize("name", ["Exp", "Sinh", "Cosh", "Log1p", "Sin", "Cos"])
def test_functions_of_moderate_numbers(same_op: Same, name: str) -> None:
    same_op(name, np.clip(FLOATS, -0.99 if name == "Log1p" else -10, 10), tolerance=2e-5)


@pytest.mark.parametrize("name", ["Asin", "Acos", "Atanh", "Tan"])
def test_functions_near_zero(same_op: Same, name: str) -> None:
    same_op(name, UNITS)


def test_acosh(same_op: Same) -> None:
    same_op("Acosh", np.abs(FLOATS) + 1)


@pytest.mark.parametrize("name", ["Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Log1p", "Round", "Sqrt", "Elu", "Softplus"])
def test_the_ends_of_the_range(same_op: Same, name: str) -> None:
    ends = {"Asin": [1, -1], "Acos": [1, -1], "Log1p": [np.inf, 0], "Sqrt": [0, np.inf]}.get(name, [np.inf, -np.inf])
    same_op(name, np.array(ends, np.float32), official=False)


def test_rounding_is_to_even(same_op: Same) -> None:
    module = same_op("Round", np.array([0.5, 1.5, 2.5, -0.5, -1.5, 8388609.0, 2**31, -3e9], np.float32))
    assert any(op.name == "tosa.cast" for op in module.ops())


@pytest.mark.parametrize("limits", [(-1.0, 2.0), (0.0, math.inf), (-math.inf, 0.5), (3.0, 1.0)])
def test_clip(same_op: Same, limits: tuple[float, float]) -> None:
    same_op("Clip", FLOATS, min=limits[0], max=limits[1])
    same_op("Clip", np.clip(FLOATS, -1e9, 1e9).astype(np.int32), min=limits[0], max=max(limits))


BINARY = ["Add", "Sub", "Mul", "Div", "Max", "Min", "SquaredDifference", "Atan2"]


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("shapes", [((3, 4, 5), (4, 1)), ((5,), (2, 3, 5)), ((), (2, 2)), ((2, 1, 3, 1), (1, 4, 1, 5))])
def test_floats_broadcast(same_op: Same, normal: Any, name: str, shapes: Any) -> None:
    same_op(name, *(normal(*shape) for shape in shapes))


def test_more_than_two_operands(same_op: Same, normal: Any) -> None:
    same_op("Add", normal(2, 3), normal(3), normal(1, 3))
    same_op("Add", normal(2, 3), normal(3), coeff=(2.0, -0.5))
    same_op("Max", normal(2, 3), normal(3), normal(2, 1))


def test_activation_of_sums(same_op: Same, normal: Any) -> None:
    same_op("Add", normal(4, 5), normal(5), do_relu=True)
    same_op("Mul", normal(4, 5), normal(5), do_relu=True, relu_limit=0.5)
    same_op("Scale", normal(2, 3, 4), normal(4), normal(4), do_relu=True)
    same_op("AddConst", normal(4), const_val=0.5)
    same_op("MulConst", normal(4), const_val=-2.0, do_relu=True)


@pytest.mark.parametrize("name", ["FloorDiv", "FloorMod", "TruncMod"])
def test_quotients_and_rests(same_op: Same, name: str) -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(-60, 60, (20, 30)).astype(np.float32)
    b = (rng.integers(1, 50, (20, 1)) * rng.choice([-1, 1], (20, 1))).astype(np.float32)
    same_op(name, a, b)  # whole quotients, which a product with the reciprocal misses
    for dtype in (np.int32, np.int16, np.int8):
        same_op(name, a.astype(dtype), b.astype(dtype))
    if name != "FloorDiv":
        same_op(name, np.array([3, -3], np.float32), np.array([[np.inf], [-np.inf]], np.float32), official=False)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32])
@pytest.mark.parametrize("name", [
    "Add", "Sub", "Mul", "Div", "Max", "Min", "SquaredDifference", "BitwiseAnd", "BitwiseOr", "BitwiseXor"])
def test_integers(same_op: Same, sample: Any, name: str, dtype: Any) -> None:
    b = sample(dtype, 4, 1)
    same_op(name, sample(dtype, 3, 4, 5), np.where(b == 0, 3, b).astype(dtype))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32])
def test_integer_functions(same_op: Same, sample: Any, dtype: Any) -> None:
    x = sample(dtype, 4, 5)
    for name in ("Abs", "Neg", "Sign", "Square", "Floor", "BitwiseNot"):
        same_op(name, x)
    places = np.abs(sample(dtype, 4, 1))
    for name in ("ShiftLeft", "ShiftRight"):
        same_op(name, x, places)
        same_op(name, x, places % 7, constants=[1])


@pytest.mark.parametrize("mode", ["Equal", "NotEqual", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"])
def test_comparisons(same_op: Same, sample: Any, mode: str) -> None:
    for dtype in (np.float32, np.int32, np.int8):
        a = (sample(dtype, 6, 7) // 8).astype(dtype)
        same_op("Compare", a, a[2], mode=mode)
    if "Equal" in mode and "Or" not in mode:
        same_op("Compare", sample(bool, 4, 5), sample(bool, 5), mode=mode)


def test_logic(same_op: Same, sample: Any) -> None:
    for name in ("LogicalAnd", "LogicalOr", "LogicalXor"):
        same_op(name, sample(bool, 3, 4), sample(bool, 4))
    same_op("LogicalNot", sample(bool, 3, 4))


def test_not_a_number(same_op: Same) -> None:
    x = np.array([1, np.nan, np.inf, -np.inf], np.float32)
    same_op("IsNaN", x, official=False)
    same_op("IsInf", x, official=False)
    same_op("Sign", x, official=False)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int8, bool])
def test_where(same_op: Same, sample: Any, dtype: Any) -> None:
    same_op("Where", sample(bool, 3, 1), sample(dtype, 4), sample(dtype, 2, 3, 4))


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, -1, -3, 0.5, -0.5, 18, 19])
def test_powers_with_constant_exponents(same_op: Same, exponent: float) -> None:
    x = np.array([[0.3, 1.7, 2.1], [0.9, 1.1, 1.3]], np.float32)
    x = x if exponent in (0.5, -0.5) else x * np.array([1, -1, 1], np.float32)
    same_op("Pow", x, np.array(exponent, np.float32), constants=[1], tolerance=2e-5)
    if exponent == 2:
        same_op("Pow", x.astype(np.int32) + 3, np.array(exponent, np.int32), constants=[1])


def test_powers(same_op: Same) -> None:
    rng = np.random.default_rng(0)
    same_op("Pow", rng.uniform(0.1, 4, (5, 6)).astype(np.float32), rng.normal(size=6).astype(np.float32), tolerance=3e-5)
    bases = rng.choice([-3.0, -1.5, 0.5, 2.0], (5, 6)).astype(np.float32)
    same_op("Pow", bases, rng.integers(-3, 4, (5, 6)).astype(np.float32), tolerance=3e-5)
    same_op("Pow", bases, np.full((1, 6), 0.25, np.float32), official=False, tolerance=3e-5)


def test_high_ranks_are_merged(same_op: Same, normal: Any) -> None:
    a, b = normal(2, 1, 2, 3, 1, 2, 2, 3), normal(2, 2, 3)
    for name in ("Add", "Mul", "Div"):
        same_op(name, a, b)
    for name in ("Neg", "Exp", "Round", "Atan"):
        same_op(name, a)
    same_op("Where", a > 0, a, b)


def test_integers_and_numbers_that_are_none(same: Same) -> None:
    """Half of an integer was taken to be nothing, and of a power an internal text spoke; whole floats are exponents."""
    x = np.array([4, 9, -7, 0], np.int32)
    for coeff in ((0.5, 1.0), (1.0, float("inf"))):
        with pytest.raises(ConversionError, match="is no integer, and the tensor is of i32"):
            same(lambda rw, x, coeff=coeff: rw.emit("top.Add", x, x, coeff=coeff), x)
    same(lambda rw, x: rw.emit("top.Add", x, x, coeff=(2.0, -3.0)), x)
    for exponents in ([0.5], [-1.0], [0.5, 2.0, 1.0, 3.0], [float("nan")], [float("inf")]):
        with pytest.raises(ConversionError, match="powers that are no whole numbers from 0 on"):
            same(lambda rw, x, e=exponents: rw.emit("top.Pow", x, rw.constant(np.array(e, np.float32))), x)
    same(lambda rw, x: rw.emit("top.Pow", x, rw.constant(np.array([0, 3, 5, 2], np.float32))), x)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_subscripts_that_are_floats_are_cut_off(same: Same, dtype: Any) -> None:
    def make(rw: Any, x: Any) -> Any:
        return rw.emit("top.OneHot", x, *(rw.constant(np.array(n, np.float32)) for n in (1, 0)), depth=4)

    same(make, np.array([1.7, 2.5, -1.4, 0.6, 3.5, -0.75], dtype))
