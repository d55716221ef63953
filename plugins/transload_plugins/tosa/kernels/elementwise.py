"""Activations, elementwise operators, comparisons, selection and tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from transload.ir import I8, Op
from transload_hub.kernels.common import raised

from ..dialect.base import storage_of
from .base import float_of, is_float, kernel, limits, result_dtype, scalar_of, to_result

if TYPE_CHECKING:
    from ..dialect.elementwise import (
        Abs,
        ArithmeticRightShift,
        BitwiseNot,
        Clamp,
        Clz,
        IntDiv,
        LogicalLeftShift,
        LogicalNot,
        LogicalRightShift,
        Maximum,
        Minimum,
        Mul,
        Negate,
        Select,
        Table,
    )


def _erf(x: np.ndarray) -> np.ndarray:
    """The error function in float64: a Taylor series near 0, and a continued fraction for the complement elsewhere."""
    shape = x.shape
    x = x.astype(np.float64).reshape(-1)
    size = np.abs(x)
    out = np.ones_like(size)
    near = size < 2.5
    z = size[near]
    square = z * z
    term = z.copy()
    total = z.copy()
    for n in range(1, 60):
        term *= -square / n
        total += term / (2 * n + 1)
    out[near] = total * (2 / np.sqrt(np.pi))
    far = (size >= 2.5) & (size < 6)
    z = size[far]
    fraction = z.copy()
    for n in range(60, 0, -1):
        fraction = z + (n / 2) / fraction
    out[far] = 1 - np.exp(-z * z) / (fraction * np.sqrt(np.pi))
    out[np.isnan(x)] = np.nan
    return np.copysign(out, x).reshape(shape)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _unary_float(name: str, function: Callable[[np.ndarray], np.ndarray]) -> None:
    @kernel(name)
    def run(op: Op, x: np.ndarray) -> np.ndarray:
        return to_result(op, function(float_of(x)))


_FLOAT_FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "tosa.erf": _erf, "tosa.sigmoid": _sigmoid, "tosa.tanh": np.tanh, "tosa.ceil": np.ceil, "tosa.cos": np.cos,
    "tosa.exp": np.exp,
    "tosa.floor": np.floor, "tosa.log": np.log, "tosa.reciprocal": np.reciprocal, "tosa.rsqrt": lambda x: 1 / np.sqrt(x),
    "tosa.sin": np.sin,
}
for _name, _function in _FLOAT_FUNCTIONS.items():
    _unary_float(_name, _function)


@kernel("tosa.clamp")
def clamp(op: Clamp, x: np.ndarray) -> np.ndarray:
    """`min(max(x, min_val), max_val)`; numpy's clip keeps a NaN."""
    low, high = op.attributes["min_val"], op.attributes["max_val"]
    if not is_float(op.operands[0]):
        return np.clip(x, int(low), int(high))
    wide = float_of(x)
    if op.attribute("nan_mode") == "IGNORE":
        return to_result(op, np.fmin(np.fmax(wide, np.float32(low)), np.float32(high)))
    return to_result(op, np.clip(wide, np.float32(low), np.float32(high)))


@kernel("tosa.abs")
def absolute(op: Abs, x: np.ndarray) -> np.ndarray:
    """Absolute value; of the least integer, the greatest."""
    if is_float(op.operands[0]):
        return np.abs(x)
    return np.where(x == np.iinfo(x.dtype).min, np.iinfo(x.dtype).max, np.abs(x)).astype(x.dtype)


@kernel("tosa.bitwise_not")
def bitwise_not(op: BitwiseNot, x: np.ndarray) -> np.ndarray:
    return np.invert(x)


@kernel("tosa.logical_not")
def logical_not(op: LogicalNot, x: np.ndarray) -> np.ndarray:
    return np.logical_not(x)


@kernel("tosa.clz")
def count_leading_zeros(op: Clz, x: np.ndarray) -> np.ndarray:
    """Leading zeros of 32- or 64-bit numbers, by halves."""
    bits = 8 * x.dtype.itemsize
    left = x.view(f"uint{bits}").copy()
    count = np.where(left == 0, bits, 0).astype(x.dtype)
    step = bits // 2
    while step:
        high = left >> np.array(bits - step, left.dtype)
        empty = (high == 0) & (left != 0)
        count += np.where(empty, step, 0).astype(count.dtype)
        left = np.where(empty, left << np.array(step, left.dtype), left)
        step //= 2
    return count


@kernel("tosa.negate")
def negate(op: Negate, x: np.ndarray, input_zp: np.ndarray, output_zp: np.ndarray) -> np.ndarray:
    """`output_zp - (x - input_zp)`, saturated."""
    if is_float(op.operands[0]):
        return np.negative(x)
    return to_result(op, np.clip(scalar_of(output_zp) + scalar_of(input_zp) - x.astype(np.int64), *limits(op)))


# --- binary


def _floats(function: Callable[..., np.ndarray], integers: Callable[..., np.ndarray] | None = None) -> Callable[..., np.ndarray]:
    """A kernel that computes narrow floats in float32, and integers by `integers` (the same function if None)."""

    def run(op: Op, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if is_float(op.operands[0]):
            return to_result(op, function(float_of(a), float_of(b)))
        return (integers or function)(a, b)

    return run


_JOINED: dict[str, Callable[..., np.ndarray]] = {
    "tosa.add": np.add, "tosa.sub": np.subtract, "tosa.pow": raised, "tosa.equal": np.equal, "tosa.greater": np.greater,
    "tosa.greater_equal": np.greater_equal, "tosa.bitwise_and": np.bitwise_and, "tosa.bitwise_or": np.bitwise_or,
    "tosa.bitwise_xor": np.bitwise_xor, "tosa.logical_and": np.logical_and, "tosa.logical_or": np.logical_or,
    "tosa.logical_xor": np.logical_xor,
}
for _name, _join in _JOINED.items():
    kernel(_name)(_floats(_join))


@kernel("tosa.maximum", "tosa.minimum")
def extremum(op: Maximum | Minimum, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The greater or lesser; numpy's maximum keeps a NaN, its fmax passes it over."""
    greater = op.name == "tosa.maximum"
    if not is_float(op.operands[0]):
        return np.maximum(a, b) if greater else np.minimum(a, b)
    ignore = op.attribute("nan_mode") == "IGNORE"
    join = (np.fmax if ignore else np.maximum) if greater else (np.fmin if ignore else np.minimum)
    return to_result(op, join(float_of(a), float_of(b)))


@kernel("tosa.intdiv")
def integer_divide(op: IntDiv, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Quotient toward zero; by 0 it is unpredictable, and 0 here."""
    divisor = np.where(b == 0, 1, b)
    quotient = np.abs(a.astype(np.int64)) // np.abs(divisor.astype(np.int64))
    out = np.where((a < 0) != (b < 0), -quotient, quotient)
    return np.where(b == 0, 0, out).astype(result_dtype(op))


@kernel("tosa.arithmetic_right_shift")
def arithmetic_right_shift(op: ArithmeticRightShift, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`a >> b`, plus the last bit shifted out where it rounds."""
    out = np.right_shift(a, b)
    if op.attribute("round"):
        last = np.right_shift(a, np.maximum(b, 1) - 1) & 1
        out = out + np.where(b > 0, last, 0).astype(out.dtype)
    return to_result(op, out)


@kernel("tosa.logical_left_shift", "tosa.logical_right_shift")
def logical_shift(op: LogicalLeftShift | LogicalRightShift, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Shifts of the bits, zeros moving in."""
    unsigned = np.dtype(f"uint{8 * a.dtype.itemsize}")
    shift = np.left_shift if op.name == "tosa.logical_left_shift" else np.right_shift
    return shift(a.view(unsigned), b.view(unsigned)).view(a.dtype)


@kernel("tosa.mul")
def multiply(op: Mul, a: np.ndarray, b: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """The product; of i32, shifted right and rounded to nearest."""
    if is_float(op.operands[0]):
        return to_result(op, float_of(a) * float_of(b))
    bits = scalar_of(shift)
    if not bits:
        dtype = result_dtype(op)
        return np.multiply(a.astype(dtype, copy=False), b.astype(dtype, copy=False))
    product = np.asarray(a.astype(np.int64) * b.astype(np.int64))
    product += np.int64(1) << np.int64(bits - 1)
    return to_result(op, np.right_shift(product, bits, out=product))


@kernel("tosa.select")
def select(op: Select, condition: np.ndarray, yes: np.ndarray, no: np.ndarray) -> np.ndarray:
    return np.where(condition, yes, no).astype(result_dtype(op), copy=False)


@kernel("tosa.table")
def table(op: Table, x: np.ndarray, entries: np.ndarray) -> np.ndarray:
    """i8: the entry at `x + 128`. i16: between the entries around `x / 128`, 7 bits of fraction (0.30 section 1.9.5)."""
    if storage_of(op.operands[0]) == I8:
        # Entries rotated, so that the bits of x, read as unsigned, are the place.
        return np.concatenate((entries[128:], entries[:128]))[x.view(np.uint8)]
    wide = x.astype(np.int32)
    place = (wide + 32768) >> 7
    fraction = wide & 0x7F
    base = entries.astype(np.int32)
    low = base[place]
    return (low << 7) + (base[place + 1] - low) * fraction
