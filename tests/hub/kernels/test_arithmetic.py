"""Arithmetic, comparison and logic of several operands: against numpy, with any broadcast, and against onnxruntime."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import transload

from tests.support.hub_text import one_op, tensor

BINARY = {
    "Sub": np.subtract, "Max": np.maximum, "Min": np.minimum, "Add": np.add, "Mul": np.multiply,
    "FloorMod": np.mod, "TruncMod": np.fmod, "Atan2": np.arctan2, "SquaredDifference": lambda a, b: np.square(a - b),
    "Div": np.divide, "FloorDiv": lambda a, b: np.floor(a / b),
}
COMPARE = {
    "Equal": np.equal, "NotEqual": np.not_equal, "Greater": np.greater, "GreaterOrEqual": np.greater_equal, "Less": np.less,
    "LessOrEqual": np.less_equal,
}


@pytest.mark.parametrize("name", BINARY)
def test_broadcasts(run_op, name):
    @settings(max_examples=25, deadline=None)
    @given(mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=4), st.integers(0, 1 << 30))
    def check(shapes, seed):
        rng = np.random.default_rng(seed)
        a, b = (rng.uniform(0.5, 3.0, shape).astype(np.float32) for shape in shapes.input_shapes)
        result = run_op(name, a, b)
        assert result.shape == shapes.result_shape
        np.testing.assert_allclose(result, BINARY[name](a, b), rtol=1e-6)

    check()


@pytest.mark.parametrize("name", ["Add", "Mul", "Max", "Min"])
def test_many_operands(run_op, rng, name):
    xs = [rng.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 4), (4,), (3, 1), ())]
    expected = xs[0]
    for x in xs[1:]:
        expected = BINARY[name](expected, x)
    np.testing.assert_allclose(run_op(name, *xs), expected, rtol=1e-6)


def test_relu_of_the_result(run_op):
    a, b = np.array([-3, -1, 0, 2, 9], np.float32), np.float32(1) * np.ones(1, np.float32)
    for name, value in (("Add", a + b), ("Sub", a - b), ("Mul", a * b), ("Div", a / b)):
        np.testing.assert_array_equal(run_op(name, a, b, do_relu=True), np.maximum(value, 0))
        np.testing.assert_array_equal(run_op(name, a, b, do_relu=True, relu_limit=6.0), np.clip(value, 0, 6))
        np.testing.assert_array_equal(run_op(name, a, b, do_relu=True, relu_limit=0.0), np.zeros(5))
    np.testing.assert_array_equal(run_op("AddConst", a, const_val=-1.0, do_relu=True), [0, 0, 0, 1, 8])
    np.testing.assert_array_equal(run_op("MulConst", a, const_val=-2.0, do_relu=True), [6, 2, 0, 0, 0])


def test_coefficients(run_op):
    a, b = np.array([1.0, 2.0], np.float32), np.array([3.0, 5.0], np.float32)
    np.testing.assert_array_equal(run_op("Add", a, b, coeff=(2.0, -1.0)), [-1, -1])
    i, j = np.array([1, 2]), np.array([3, 5])
    np.testing.assert_array_equal(run_op("Add", i, j, coeff=(2.0, -1.0)), [-1, -1])
    np.testing.assert_array_equal(run_op("MulConst", np.array([3, -3]), const_val=0.5), [1, -1])
    np.testing.assert_array_equal(run_op("AddConst", np.array([3, -3]), const_val=2.0), [5, -1])


def test_scale(run_op, rng):
    x, s, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 4, 4), (1, 3, 1, 1), (3, 1, 1)))
    np.testing.assert_allclose(run_op("Scale", x, s, b), x * s + b, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
def test_integers(run_op, rng, dtype):
    signed = np.dtype(dtype).kind == "i"
    a = rng.integers(-100 if signed else 0, 100, 200).astype(dtype)
    b = rng.integers(-7 if signed else 1, 8, 200).astype(dtype)
    b[b == 0] = 3
    np.testing.assert_array_equal(run_op("Add", a, b), a + b)
    np.testing.assert_array_equal(run_op("Mul", a, b), a * b)
    np.testing.assert_array_equal(run_op("Div", a, b), [int(np.trunc(int(x) / int(y))) for x, y in zip(a, b, strict=True)])
    np.testing.assert_array_equal(run_op("FloorDiv", a, b), [int(x) // int(y) for x, y in zip(a, b, strict=True)])
    np.testing.assert_array_equal(run_op("FloorMod", a, b), [int(x) % int(y) for x, y in zip(a, b, strict=True)])
    np.testing.assert_array_equal(run_op("TruncMod", a, b), np.fmod(a, b))
    np.testing.assert_array_equal(run_op("Sub", a, b, do_relu=True, relu_limit=6.5), np.clip(a - b, 0, 6))


def test_angles_of_small_integers(run_op):
    """They are cut off, and 2.9997 is not rounded to 3 before, as numpy does in f16."""
    np.testing.assert_array_equal(run_op("Atan2", np.array([1, -1, 1], np.int8), np.array([-7, -7, 0], np.int8)), [2, -2, 1])


@pytest.mark.parametrize("dtype", [np.uint64, np.int64, np.uint32, np.uint8])
def test_shifts_by_the_width_and_more(run_op, dtype):
    ends = np.iinfo(dtype)
    x = np.array([1, 7, ends.max, ends.min], dtype)
    for amount in (ends.bits - 1, ends.bits, ends.bits + 1, ends.max // 2 + 1, ends.max):
        given = np.full(4, amount, dtype)
        left, right = (
            [shift(int(each), amount) if amount < ends.bits else -1 if sign and each < 0 else 0 for each in x]
            for shift, sign in ((lambda n, by: (n << by) & ((1 << ends.bits) - 1), False), (lambda n, by: n >> by, True)))
        np.testing.assert_array_equal(run_op("ShiftLeft", x, given), np.array(left, np.uint64).astype(dtype))
        np.testing.assert_array_equal(run_op("ShiftRight", x, given), np.array(right, dtype))


def test_division_by_zero_does_not_raise(run_op):
    zero, one = np.zeros(2, np.int32), np.array([1, -1], np.int32)
    for name in ("Div", "FloorDiv", "FloorMod", "TruncMod"):
        assert run_op(name, one, zero).shape == (2,)
    np.testing.assert_array_equal(run_op("Div", one.astype(np.float32), zero.astype(np.float32)), [np.inf, -np.inf])


@pytest.mark.parametrize(("base", "exponent"), [
    (np.float32, np.float32), (np.float32, np.int64), (np.int32, np.int32), (np.int64, np.float32), (np.int32, np.int64)])
def test_pow(run_op, onnx_op, base, exponent):
    a = np.array([1, 2, 3, 4], base)
    b = np.array([2, 0, 3, 1], exponent)
    result = run_op("Pow", a, b)
    np.testing.assert_array_equal(result, onnx_op("Pow", a, b))
    assert result.dtype == a.dtype


def test_pow_of_a_half_is_no_root(run_op, onnx_op):
    """Of one exponent for many numbers, where numpy takes roots."""
    a, b = np.array([-np.inf, -0.0, 0, 4, -4, np.nan], np.float32), np.array(0.5, np.float32)
    result = run_op("Pow", a, b)
    np.testing.assert_array_equal(result, onnx_op("Pow", a, b))
    assert not np.signbit(result[:4]).any()


def test_pow_of_integers_with_negative_exponent(run_op):
    np.testing.assert_array_equal(run_op("Pow", np.array([2, 1, -1, -1, 0]), np.array([-1, -2, -3, -4, -1])), [0, 1, -1, 1, 0])


def test_a_negative_exponent_leaves_the_other_powers_exact(run_op):
    base = np.array([3, 0, 3], np.int64)
    np.testing.assert_array_equal(run_op("Pow", base, np.array([39, -1, 41])), [3**39, 0, 3**41 - 2**64 * 2])
    run = run_op("Pow", np.array([2, -3], np.int32), np.array([2**32, 2**32 + 1]))
    np.testing.assert_array_equal(run, [0, pow(-3, 2**32 + 1, 2**32) - (1 << 32)])


@pytest.mark.parametrize("mode", COMPARE)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.bool_])
def test_compare(run_op, rng, mode, dtype):
    a, b = rng.integers(0, 3, (3, 4)).astype(dtype), rng.integers(0, 3, (4,)).astype(dtype)
    np.testing.assert_array_equal(run_op("Compare", a, b, mode=mode), COMPARE[mode](a, b))


def test_logic_and_bits(run_op, rng):
    p, q = rng.integers(0, 2, (2, 5)).astype(bool), rng.integers(0, 2, (5,)).astype(bool)
    np.testing.assert_array_equal(run_op("LogicalAnd", p, q), p & q)
    np.testing.assert_array_equal(run_op("LogicalOr", p, q), p | q)
    np.testing.assert_array_equal(run_op("LogicalXor", p, q), p ^ q)
    np.testing.assert_array_equal(run_op("LogicalNot", p), ~p)
    a, b = rng.integers(-99, 99, (2, 5)).astype(np.int16), rng.integers(-99, 99, (5,)).astype(np.int16)
    np.testing.assert_array_equal(run_op("BitwiseAnd", a, b), a & b)
    np.testing.assert_array_equal(run_op("BitwiseOr", a, b), a | b)
    np.testing.assert_array_equal(run_op("BitwiseXor", a, b), a ^ b)
    np.testing.assert_array_equal(run_op("BitwiseNot", a), ~a)


def test_shifts_beyond_the_width(run_op):
    a, b = np.array([-5, 5, 100, -1], np.int8), np.array([1, 3, 8, 100], np.int8)
    np.testing.assert_array_equal(run_op("ShiftLeft", a, b), [-10, 40, 0, 0])
    np.testing.assert_array_equal(run_op("ShiftRight", a, b), [-3, 0, 0, -1])
    np.testing.assert_array_equal(run_op("ShiftRight", a.view(np.uint8), b.view(np.uint8)), [125, 0, 0, 0])


def test_where(run_op, rng):
    condition = rng.integers(0, 2, (3, 1)).astype(bool)
    a, b = rng.standard_normal((2, 3, 4)).astype(np.float32), np.float32([7.0])
    np.testing.assert_array_equal(run_op("Where", condition, a, b), np.where(condition, a, b))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_round_once(run_op, rng, dtype):
    xs = [rng.standard_normal(50).astype(dtype) for _ in range(3)]
    exact = sum(x.astype(np.float32) for x in xs).astype(dtype)
    result = run_op("Add", *xs)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, exact)


@pytest.mark.parametrize(("of", "by"), [("ui64", "i8"), ("i64", "ui64"), ("ui64", "i64"), ("i8", "ui64")])
def test_powers_of_signed_by_unsigned_integers_keep_all_digits(of: str, by: str) -> None:
    """ui64 and i64 met in f64."""
    base = np.array([3, 7, 1, 0], of.replace("i", "int"))
    exponent = np.array([41, 23, 9, 0], by.replace("i", "int"))
    module = one_op("top.Pow", "", {"a": tensor((4,), of), "b": tensor((4,), by)}, tensor((4,), of))
    wanted = np.array([pow(int(x), int(y), 1 << 64) for x, y in zip(base, exponent, strict=True)], np.uint64).astype(base.dtype)
    np.testing.assert_array_equal(transload.run(module, {"a": base, "b": exponent})["r"], wanted, strict=True)


def test_zeros_that_are_left_have_the_dividends_sign(run_op):
    a, b = np.array([0.0, -0.0, 6.0, -6.0], np.float32), np.array([[2.0], [-2.0]], np.float32)
    for name in ("FloorMod", "TruncMod"):
        made = run_op(name, a, b)
        np.testing.assert_array_equal(np.signbit(made), [[False, True, False, True]] * 2)
        assert not made.any()
