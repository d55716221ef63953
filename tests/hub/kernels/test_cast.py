"""Cast: every pair of kinds of element types."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from transload.ir import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I4,
    I8,
    I16,
    I32,
    I48,
    I64,
    UI8,
    UI16,
    UI32,
    UI64,
    FloatType,
    IntegerType,
    QuantType,
    dtype_of,
)

FLOATS = [F16, BF16, F32, F64, FloatType("f8E4M3FN")]
INTEGERS = [I4, I8, I16, I32, I48, I64, UI8, UI16, UI32, UI64]
VALUES = np.array([-3.7, -2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 2.5, 3.7])


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", INTEGERS)
def test_float_to_integer(run_op, source, target):
    x = VALUES.astype(dtype_of(source))
    real = x.astype(np.float64)
    away = np.sign(real) * np.floor(np.abs(real) + 0.5)
    rounded = {"Trunc": np.trunc(real), "HalfToEven": np.rint(real), "HalfAwayFromZero": away}
    low, high = target.range
    for mode, whole in rounded.items():
        result = run_op("Cast", x, element=target, round_mode=mode, saturate=True)
        np.testing.assert_array_equal(result.astype(np.float64), np.clip(whole, low, high))
        wrapped = [(int(v) - low) % (1 << target.width) + low for v in whole]
        result = run_op("Cast", x, element=target, round_mode=mode)
        np.testing.assert_array_equal(result.astype(np.int64).astype(object) & 0xFFFF, [w & 0xFFFF for w in wrapped])


@pytest.mark.parametrize("target", [I8, I32, I64, UI8, UI64])
def test_out_of_range(run_op, target):
    low, high = target.range
    x = np.array([1e30, -1e30, np.inf, -np.inf, np.nan, 300.0, -300.0], np.float32)
    saturated = run_op("Cast", x, element=target, saturate=True)
    assert [int(v) for v in saturated] == [high, low, high, low, 0, min(300, high), max(-300, low)]
    wrapped = run_op("Cast", x, element=target)
    assert [int(v) for v in wrapped[2:5]] == [0, 0, 0]
    assert int(wrapped[5]) == (300 - low) % (1 << target.width) + low


@pytest.mark.parametrize("source", [I8, UI8, I16, I32, I64, UI64])
@pytest.mark.parametrize("target", INTEGERS)
def test_integer_to_integer(run_op, source, target):
    low, high = source.range
    numbers = [0, 1, 7, 100, high, low, high - 1]
    x = np.array(numbers, dtype_of(source))
    t_low, t_high = target.range
    wrapped = run_op("Cast", x, element=target)
    assert [int(v) for v in wrapped] == [(n - t_low) % (1 << target.width) + t_low for n in numbers]
    saturated = run_op("Cast", x, element=target, saturate=True)
    assert [int(v) for v in saturated] == [min(max(n, t_low), t_high) for n in numbers]


@pytest.mark.parametrize("type_", [*FLOATS, *INTEGERS])
def test_flags(run_op, type_):
    x = np.array([0, 1, 2, 3]).astype(dtype_of(type_) if not isinstance(type_, IntegerType) or type_.width > 4 else np.int8)
    x = x.astype(dtype_of(type_))
    np.testing.assert_array_equal(run_op("Cast", x, element=BOOL), [False, True, True, True])
    np.testing.assert_array_equal(run_op("Cast", np.array([True, False]), element=type_).astype(np.float32), [1, 0])


def test_small_floats_are_true(run_op):
    np.testing.assert_array_equal(run_op("Cast", np.array([0.1, -0.0, np.nan], np.float32), element=BOOL), [True, False, True])


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", FLOATS)
def test_float_to_float(run_op, source, target):
    x = VALUES.astype(dtype_of(source))
    result = run_op("Cast", x, element=target)
    np.testing.assert_array_equal(result.astype(np.float64), x.astype(np.float64).astype(dtype_of(target)).astype(np.float64))


@pytest.mark.parametrize("storage", [I8, UI8, I16, I32])
@pytest.mark.parametrize("mode", [None, "HalfToEven", "HalfAwayFromZero"])
def test_quantize(run_op, storage, mode):
    type_ = QuantType(storage, F32, (0.5,), (3,))
    x = np.array([-1e9, -1.75, -0.25, 0, 0.25, 0.75, 1.0, 1e9, np.nan], np.float32)
    attributes = {} if mode is None else {"round_mode": mode}
    halves = {"HalfToEven": [-4, 0, 0, 0, 2, 2], None: [-4, -1, 0, 1, 2, 2], "HalfAwayFromZero": [-4, -1, 0, 1, 2, 2]}[mode]
    low, high = storage.range
    ends = [max(low, -(2 * 10**9) + 3), min(high, 2 * 10**9 + 3)]
    expected = [ends[0], *(max(h + 3, low) for h in halves), ends[1], 3]
    assert [int(v) for v in run_op("Cast", x, element=type_, **attributes)] == expected


@pytest.mark.parametrize(("storage", "points", "axis"), [(I8, (3,), None), (UI8, (129,), None), (I16, (-3, 8), 1)])
def test_quantize_to_stored_numbers_that_are_even(run_op, storage, points, axis):
    """StableHLO's `uniform_quantize`: the zero point is added, then halves go to the even number."""
    type_ = QuantType(storage, F32, (0.5,) * len(points), points, axis=axis)
    x = np.repeat(np.float32([-1e9, -1.25, -0.75, -0.25, 0.25, 0.75, 1e9]), 2).reshape(7, 2)
    expected = np.clip(np.rint(x / 0.5 + np.array(points)), *storage.range)
    np.testing.assert_array_equal(run_op("Cast", x, element=type_, round_mode="HalfToEvenStored"), expected)


@pytest.mark.parametrize(("storage", "points", "axis"), [(I8, (3,), None), (UI8, (129,), None), (I16, (-3, 8), 1)])
def test_quantize_halves_up(run_op, storage, points, axis):
    """Fake quantization: below 0, too, and what is just below a half is none."""
    type_ = QuantType(storage, F32, (0.5,) * len(points), points, axis=axis, storage_min=storage.range[0] + 1)
    x = np.repeat(np.float32([-1e9, -1.25, -0.75, -0.25, 0.25, 0.75, 1.25, 1e9, -np.inf, np.inf]), 2).reshape(-1, 2)
    expected = np.clip(np.floor(x / 0.5 + np.array(points) + 0.5), type_.storage_min, type_.storage_max)
    np.testing.assert_array_equal(run_op("Cast", x, element=type_, round_mode="HalfUp"), expected)


def test_a_half_is_told_from_what_is_just_below_it(run_op):
    almost = np.nextafter(np.float32(0.5), np.float32(0))
    type_ = QuantType(UI8, F32, (1.0,), (0,))
    np.testing.assert_array_equal(run_op("Cast", np.array([almost, 0.5], np.float32), element=type_, round_mode="HalfUp"), [0, 1])


def test_quantized_numbers_are_halved_up(run_op):
    source, target = QuantType(I8, F32, (0.25,), (0,)), QuantType(UI8, F32, (0.5,), (128,))
    x = np.array([-3, -1, 0, 1, 3], np.int8)
    np.testing.assert_array_equal(
        run_op("Cast", (x, source), element=target, round_mode="HalfUp"), [127, 128, 128, 129, 130])


def test_halves_go_up_to_16_bits():
    from transload.ir.verify import check
    from transload.testing import build_op

    findings = check(build_op("top.Cast", np.zeros(2, np.float32), element=I32, round_mode="HalfUp"))
    assert "HalfUp or HalfToEvenStored the result is quantized" in str(findings[0])
    type_ = QuantType(I32, F32, (1.0,), (0,))
    assert "16 bits or less" in str(check(build_op("top.Cast", np.zeros(2, np.float32), element=type_, round_mode="HalfUp"))[0])


def test_stored_numbers_are_those_of_quantized_types():
    from transload.ir.verify import check
    from transload.testing import build_op

    findings = check(build_op("top.Cast", np.zeros(2, np.float32), element=I32, round_mode="HalfToEvenStored"))
    assert "HalfToEvenStored the result is quantized" in str(findings[0])


def test_quantize_per_axis_and_narrow(run_op):
    type_ = QuantType(I8, F32, (0.5, 0.25), (0, 10), axis=1, storage_min=-127)
    x = np.array([[1.0, 1.0], [-100.0, 2.0]], np.float32)
    stored = run_op("Cast", x, element=type_)
    np.testing.assert_array_equal(stored, [[2, 14], [-127, 18]])
    np.testing.assert_array_equal(run_op("Cast", (stored, type_), element=F32), [[1, 1], [-63.5, 2]])


def test_quantize_rounds_the_float_quotient(run_op, onnx_op, rng):
    scale = np.float32(0.0173)
    x = (rng.standard_normal(2000) * 2).astype(np.float32)
    expected = onnx_op("QuantizeLinear", x, scale.reshape(()), np.array(5, np.int8), opset=19)
    type_ = QuantType(I8, F32, (float(scale),), (5,))
    np.testing.assert_array_equal(run_op("Cast", x, element=type_, round_mode="HalfToEven"), expected)
    back = onnx_op("DequantizeLinear", expected, scale.reshape(()), np.array(5, np.int8), opset=19)
    np.testing.assert_array_equal(run_op("Cast", (expected, type_), element=F32), back)


def test_rounding_is_exact(run_op):
    """A half added in single precision would carry these over."""
    almost = np.nextafter(np.float32(0.5), np.float32(0))
    odd = np.float32(2**23 + 1)
    x = np.array([almost, -almost, odd, -odd], np.float32)
    result = run_op("Cast", x, element=I32, round_mode="HalfAwayFromZero")
    np.testing.assert_array_equal(result, [0, 0, 2**23 + 1, -(2**23) - 1])
    np.testing.assert_array_equal(run_op("Cast", x, element=QuantType(I32, F32, (1.0,), (0,))), result)


def test_requantize_rounds_once(run_op):
    source, target = QuantType(I32, F32, (0.25,), (0,)), QuantType(UI8, F32, (0.5,), (128,))
    x = np.array([-1000, -3, -1, 0, 1, 3, 1000], np.int32)
    np.testing.assert_array_equal(run_op("Cast", (x, source), element=target), [0, 126, 127, 128, 129, 130, 255])
    np.testing.assert_array_equal(
        run_op("Cast", (x, source), element=target, round_mode="HalfToEven"), [0, 126, 128, 128, 128, 130, 255])
    assert run_op("Cast", (x, source), element=source) is not None
    # the same bits, another sign: int8 to uint8 shifts by 128
    signed, unsigned = QuantType(I8, F32, (0.5,), (-3,)), QuantType(UI8, F32, (0.5,), (125,))
    y = np.arange(-128, 128).astype(np.int8)
    np.testing.assert_array_equal(run_op("Cast", (y, signed), element=unsigned), np.arange(256))


def test_quantized_to_integer_and_bool(run_op):
    type_ = QuantType(I8, F32, (0.5,), (0,))
    x = np.array([-3, 0, 1, 5], np.int8)
    np.testing.assert_array_equal(run_op("Cast", (x, type_), element=I32), [-1, 0, 0, 2])
    np.testing.assert_array_equal(run_op("Cast", (x, type_), element=BOOL), [True, False, True, True])
    np.testing.assert_array_equal(run_op("Cast", np.array([1, 2], np.int32), element=type_), [2, 4])
    np.testing.assert_array_equal(run_op("Cast", np.array([1, 0], ml_dtypes.bfloat16), element=type_), [2, 0])


@pytest.mark.parametrize("scale", [0.7, 0.1, 0.3])
def test_quantized_to_integer_goes_by_float32(run_op, onnx_op, scale):
    """10 times float32's 0.7 is 7 in float32, and less than 7 in double precision."""
    stored = np.arange(-128, 128).astype(np.int8)
    real = onnx_op("DequantizeLinear", stored, np.float32(scale).reshape(()), np.array(0, np.int8), opset=19)
    type_ = QuantType(I8, F32, (float(np.float32(scale)),), (0,))
    np.testing.assert_array_equal(run_op("Cast", (stored, type_), element=I32), real.astype(np.int32))


@pytest.mark.parametrize("source,target", [(I8, UI8), (UI8, I8), (F32, I32), (I64, F64), (I16, BF16)])
def test_bitcast_keeps_the_bits(run_op, source, target):
    x = np.arange(-6, 6).astype(dtype_of(source)).reshape(3, 4)
    result = run_op("Bitcast", x, element=target)
    assert result.dtype == dtype_of(target)
    np.testing.assert_array_equal(result.view(x.dtype), x)


def test_bitcast_of_quantized_numbers_reads_what_is_stored(run_op):
    quantized = QuantType(I8, F32, (0.5,), (3,), None)
    x = np.arange(-6, 6, dtype=np.int8)
    np.testing.assert_array_equal(run_op("Bitcast", x, element=quantized), x)
