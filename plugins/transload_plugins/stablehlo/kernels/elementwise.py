"""Element-wise kernels. They read dtypes from their arrays alone, so that functions of scalars also run on whole tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from ml_dtypes import finfo

from transload.ir import Op
from transload.ir.constants import dtype_of
from transload.ir.types import QuantType
from transload_hub.kernels.common import raised

from ..types import quant_of
from .table import (
    Array,
    dequantize,
    exact_dtype,
    fit,
    int_bits,
    is_float_dtype,
    is_int_dtype,
    is_unsigned,
    kernel,
    quantize,
    wide,
)

if TYPE_CHECKING:
    from ..dialect.binary import (
        Atan2,
        Clamp,
        Compare,
        Complex,
        Convert,
        Divide,
        Power,
        Remainder,
        Select,
        UniformDequantize,
        UniformQuantize,
    )
    from ..dialect.elementwise import Abs, CountLeadingZeros, Imag, IsFinite, Not, Popcnt, Real, ReducePrecision, Sign

Function = Callable[..., Array]


def _arithmetic(name: str, compute: Function) -> None:
    """A kernel that is exact in the elements' own format."""

    @kernel(name)
    def run(op: Op, *arrays: Array) -> Array:
        dtype = np.asarray(arrays[0]).dtype
        return fit(compute(*map(wide, arrays)), dtype)


def _function(name: str, compute: Function, complex_compute: Function | None = None) -> None:
    """A kernel of a function that is computed in double precision and rounded once."""

    @kernel(name)
    def run(op: Op, *arrays: Array) -> Array:
        dtype = np.asarray(arrays[0]).dtype
        exact = exact_dtype(dtype)
        chosen = complex_compute if dtype.kind == "c" and complex_compute is not None else compute
        return fit(chosen(*(np.asarray(array).astype(exact, copy=False) for array in arrays)), dtype)


# --- one operand


def _complex(real: Array, imag: Array) -> Array:
    """A complex number of its parts: `real + 1j * imag` would make NaN of an infinite one."""
    out = np.empty(np.shape(real), np.result_type(real, np.complex64))
    out.real, out.imag = real, imag
    return out


def _complex_logistic(x: Array) -> Array:
    """`1 / (1 + e^-z)`, on the left `e^z / (1 + e^z)`: of a number without overflow."""
    left = np.real(x) < 0
    small = np.exp(np.where(left, x, -x))
    return np.where(left, small, 1) / (1 + small)


def _logistic(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def _complex_cbrt(x: Array) -> Array:
    return np.where(x == 0, 0, np.exp(np.log(np.where(x == 0, 1, x)) / 3))


def _complex_log1p(x: Array) -> Array:
    real, imag = np.real(x), np.imag(x)
    # log|1 + x|, exact near zero: half of log1p of |1 + x|^2 - 1.
    near = (np.abs(real) < 0.5) & (np.abs(imag) < 0.5)
    magnitude = np.where(near, 0.5 * np.log1p(real * (2 + real) + imag * imag), np.log(np.hypot(real + 1, imag)))
    return _complex(magnitude, np.arctan2(imag, real + 1))


def _complex_expm1(x: Array) -> Array:
    real, imag = np.real(x), np.imag(x)
    half = np.sin(imag / 2)
    whole = np.exp(x)  # which knows the limits at infinity
    left = np.where(np.exp(real) == 0, -1, np.expm1(real) * np.cos(imag) - 2 * half * half)
    return _complex(left, np.imag(whole))


def _rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


def _complex_rsqrt(x: Array) -> Array:
    """Zero of what is infinite in either part."""
    endless = np.isinf(np.real(x)) | np.isinf(np.imag(x))
    return np.where(endless, 0, 1 / np.sqrt(np.where(endless, 1, x)))


def _afz(x: Array) -> Array:
    whole = np.trunc(x)
    return whole + np.copysign(np.abs(x - whole) >= 0.5, x)


_function("cbrt", np.cbrt, _complex_cbrt)
_function("cosine", np.cos)
_function("exponential", np.exp)
_function("exponential_minus_one", np.expm1, _complex_expm1)
_function("log", np.log)
_function("log_plus_one", np.log1p, _complex_log1p)
_function("logistic", _logistic, _complex_logistic)
_function("rsqrt", _rsqrt, _complex_rsqrt)
_function("sine", np.sin)
_function("sqrt", np.sqrt)
_function("tan", np.tan)
_function("tanh", np.tanh)
_arithmetic("ceil", np.ceil)
_arithmetic("floor", np.floor)
_arithmetic("round_nearest_afz", _afz)
_arithmetic("round_nearest_even", np.rint)
_arithmetic("negate", lambda x: np.negative(x))


@kernel("abs")
def absolute(op: Abs, x: Array) -> Array:
    x = np.asarray(x)
    if x.dtype.kind == "c":
        return np.hypot(np.real(x).astype(np.float64), np.imag(x).astype(np.float64)).astype(np.real(x).dtype)
    return fit(np.abs(wide(x)), x.dtype)


@kernel("sign")
def sign(op: Sign, x: Array) -> Array:
    x = np.asarray(x)
    if x.dtype.kind == "c":
        exact = x.astype(np.complex128)
        size = np.abs(exact)
        out = np.empty_like(exact)
        for into, part in ((out.real, exact.real), (out.imag, exact.imag)):  # a complex quotient has NaN of 1 over infinity
            np.divide(part, np.where(size == 0, 1, size), out=into)
        return np.where(np.isnan(x), complex(np.nan, np.nan), out).astype(x.dtype)
    if is_int_dtype(x.dtype):
        return fit(np.sign(wide(x)), x.dtype)
    w = wide(x)
    return fit(np.where((w == 0) | np.isnan(w), w, np.sign(w)), x.dtype)


@kernel("not")
def complement(op: Not, x: Array) -> Array:
    x = np.asarray(x)
    return fit(np.invert(wide(x)), x.dtype)


def _as_unsigned(x: Array) -> tuple[Array, int]:
    """The bits of integers as uint64, and how many they are."""
    x = np.asarray(x)
    bits = int_bits(x.dtype)
    mask = np.uint64((1 << bits) - 1)
    return wide(x).astype(np.int64 if not is_unsigned(x.dtype) else np.uint64).astype(np.uint64) & mask, bits


@kernel("popcnt")
def popcnt(op: Popcnt, x: Array) -> Array:
    bits, width = _as_unsigned(x)
    count = np.zeros(bits.shape, np.int64)
    for place in range(width):
        count += ((bits >> np.uint64(place)) & np.uint64(1)).astype(np.int64)
    return fit(count, np.asarray(x).dtype)


@kernel("count_leading_zeros")
def count_leading_zeros(op: CountLeadingZeros, x: Array) -> Array:
    bits, width = _as_unsigned(x)
    count = np.full(bits.shape, width, np.int64)
    for place in range(width):
        count = np.where((bits >> np.uint64(place)) & np.uint64(1), width - 1 - place, count)
    return fit(count, np.asarray(x).dtype)


@kernel("is_finite")
def is_finite(op: IsFinite, x: Array) -> Array:
    return np.isfinite(wide(x))


@kernel("real")
def real(op: Real, x: Array) -> Array:
    return np.real(x)


@kernel("imag")
def imag(op: Imag, x: Array) -> Array:
    x = np.asarray(x)
    return np.imag(x) if x.dtype.kind == "c" else np.zeros_like(x)


@kernel("complex")
def complex_of(op: Complex, lhs: Array, rhs: Array) -> Array:
    lhs, rhs = np.broadcast_arrays(lhs, rhs)
    out = np.empty(lhs.shape, np.complex64 if lhs.dtype == np.float32 else np.complex128)
    out.real, out.imag = lhs, rhs
    return out


@kernel("reduce_precision")
def reduce_precision(op: ReducePrecision, x: Array) -> Array:
    """Rounding to even by adding to the bits; exponents beyond the range become infinity or zero.

    f16, and what it holds, are rounded as f16, whose least numbers a wider type has with exponents of their own.
    """
    x = np.asarray(x)
    w = x.astype(np.float16) if x.dtype.itemsize < 4 and finfo(x.dtype).maxexp <= 16 else wide(x)
    layouts: dict[Any, tuple[Any, int, int]] = {
        np.dtype(np.float16): (np.uint16, 10, 5),
        np.dtype(np.float32): (np.uint32, 23, 8), np.dtype(np.float64): (np.uint64, 52, 11)}
    word, mantissa, exponent = layouts[w.dtype]
    bits = np.ascontiguousarray(w).reshape(-1).view(word)
    one = word(1)
    if op.mantissa_bits < mantissa:
        drop = word(mantissa - op.mantissa_bits)
        half = (one << (drop - one)) - one
        bits = bits + half + ((bits >> drop) & one)
        bits = bits & ~((one << drop) - one)
    if op.exponent_bits < exponent:
        sign_bit = bits & (one << word(mantissa + exponent))
        field = (bits >> word(mantissa)) & word((1 << exponent) - 1)
        bias, reduced = (1 << (exponent - 1)) - 1, (1 << (op.exponent_bits - 1)) - 1
        infinity = word(((1 << exponent) - 1) << mantissa)
        bits = np.where(field > word(bias + reduced), sign_bit | infinity, bits)
        bits = np.where(field <= word(bias - reduced), sign_bit, bits)
    out = bits.astype(word).view(w.dtype).reshape(w.shape)
    return fit(np.where(np.isnan(w), w, out), x.dtype)


# --- two operands


def _bool_or(number: Function, boolean: Function) -> Function:
    return lambda a, b: boolean(a, b) if a.dtype == np.bool_ else number(a, b)


def _pick(a: Array, b: Array, first: Array) -> Array:
    """Complex `a` where `first`, else `b`."""
    return np.where(first, a, b)


def _complex_less(a: Array, b: Array) -> Array:
    return (a.real < b.real) | ((a.real == b.real) & (a.imag < b.imag))


def _maximum(a: Array, b: Array) -> Array:
    if a.dtype.kind == "c":
        return _pick(b, a, _complex_less(a, b))
    out = np.maximum(a, b)
    if a.dtype.kind == "f":  # +0 is above -0
        out = np.where((a == 0) & (b == 0), a + b, out)
    return out


def _minimum(a: Array, b: Array) -> Array:
    if a.dtype.kind == "c":
        return _pick(a, b, _complex_less(a, b))
    out = np.minimum(a, b)
    if a.dtype.kind == "f":
        out = np.where((a == 0) & (b == 0), -((-a) + (-b)), out)
    return out


_arithmetic("add", _bool_or(np.add, np.logical_or))
_arithmetic("subtract", np.subtract)
_arithmetic("multiply", _bool_or(np.multiply, np.logical_and))
_arithmetic("maximum", _maximum)
_arithmetic("minimum", _minimum)
_arithmetic("and", np.bitwise_and)
_arithmetic("or", np.bitwise_or)
_arithmetic("xor", np.bitwise_xor)


def _quotient(a: Array, b: Array) -> Array:
    """Integer division cut off; by zero all bits are set, and the least number by -1 is itself, as on XLA."""
    zero = b == 0
    safe = np.where(zero, 1, b).astype(b.dtype)
    if is_unsigned(a.dtype):
        return np.where(zero, np.array(-1).astype(a.dtype), a // safe)
    floor = a // safe
    out = floor + ((floor * safe != a) & ((a < 0) != (safe < 0)))
    return np.where(zero, -1, np.where(safe == -1, np.negative(a), out)).astype(a.dtype)


def _complex_quotient(a: Array, b: Array) -> Array:
    """Of what is infinite, and over zero, an infinite one, and zero over what is infinite, not NaN (C11, annex G.5.1)."""
    out = np.divide(a, b)
    lost = np.isnan(out.real) & np.isnan(out.imag)
    ones, others = (_complex(*(np.copysign(np.isinf(part), part) for part in (z.real, z.imag))) for z in (a, b))
    out = np.where(lost & np.isinf(a) & np.isfinite(b), _times_conjugate(ones, b, np.inf), out)
    out = np.where(lost & np.isfinite(a) & np.isinf(b), _times_conjugate(a, others, 0), out)
    size = np.copysign(np.inf, b.real)
    return np.where((b == 0) & ~(np.isnan(a.real) & np.isnan(a.imag)), _complex(size * a.real, size * a.imag), out)


def _times_conjugate(a: Array, b: Array, factor: float) -> Array:
    """A real number times one complex number times the conjugate of another."""
    return _complex(factor * (a.real * b.real + a.imag * b.imag), factor * (a.imag * b.real - a.real * b.imag))


@kernel("divide")
def divide(op: Divide, lhs: Array, rhs: Array) -> Array:
    dtype = np.asarray(lhs).dtype
    a, b = wide(lhs), wide(rhs)
    if dtype.kind == "c":
        return fit(_complex_quotient(a, b), dtype)
    return fit(_quotient(a, b) if is_int_dtype(dtype) else np.divide(a, b), dtype)


@kernel("remainder")
def remainder(op: Remainder, lhs: Array, rhs: Array) -> Array:
    dtype = np.asarray(lhs).dtype
    a, b = wide(lhs), wide(rhs)
    if is_int_dtype(dtype):
        return fit(np.where(b == 0, a, a - _quotient(a, b) * b), dtype)
    if dtype.kind == "c":
        ratio = a / b
        return (a - (np.trunc(ratio.real) + 1j * np.trunc(ratio.imag)) * b).astype(dtype)
    return fit(np.fmod(a, b), dtype)


def _int_power(a: Array, b: Array) -> Array:
    """By squaring, wrapping around; negative exponents give 0, but for 1 and -1."""
    a, b = np.broadcast_arrays(a, b)
    out, base, left = np.ones_like(a), a.copy(), np.where(b < 0, 0, b).astype(np.uint64)
    while left.any():
        out = np.where(left & np.uint64(1), out * base, out)
        base = base * base
        left = left >> np.uint64(1)
    odd = (b & 1).astype(bool)
    negative = np.where(a == 1, 1, np.where(a == -1, np.where(odd, -1, 1), 0)) if not is_unsigned(a.dtype) else out
    return np.where(b < 0, negative, out).astype(a.dtype)


def _complex_power(a: Array, b: Array) -> Array:
    """`e^(b log a)`; 1 of the exponent 0 and of the base 1, and of a real exponent what zero and infinity go to, as in XLA."""
    log, angle = np.log(np.hypot(a.real, a.imag)), np.arctan2(a.imag, a.real)
    size, turn = np.exp(b.real * log - b.imag * angle), b.real * angle + b.imag * log
    ends = ((a == 0) & (b.real > 0)) | ((a == np.inf) & (np.abs(b.real) > 0))
    out = np.where(ends & (b.imag == 0), _complex(size, np.zeros_like(size)), _complex(size * np.cos(turn), size * np.sin(turn)))
    return np.where((b == 0) | (a == 1), 1, out)


@kernel("power")
def power(op: Power, lhs: Array, rhs: Array) -> Array:
    dtype = np.asarray(lhs).dtype
    if is_int_dtype(dtype):
        return fit(_int_power(wide(lhs), wide(rhs)), dtype)
    exact = exact_dtype(dtype)
    a, b = np.asarray(lhs).astype(exact), np.asarray(rhs).astype(exact)
    if dtype.kind == "c":
        return _complex_power(a, b).astype(dtype)
    return fit(raised(a, b), dtype)


@kernel("atan2")
def atan2(op: Atan2, lhs: Array, rhs: Array) -> Array:
    dtype = np.asarray(lhs).dtype
    exact = exact_dtype(dtype)
    y, x = np.asarray(lhs).astype(exact), np.asarray(rhs).astype(exact)
    if dtype.kind == "c":
        return (-1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))).astype(dtype)
    return fit(np.arctan2(y, x), dtype)


def _shift(op_name: str) -> None:
    @kernel(op_name)
    def run(op: Op, lhs: Array, rhs: Array) -> Array:
        lhs = np.asarray(lhs)
        value, bits = _as_unsigned(lhs)
        amount, _ = _as_unsigned(rhs)
        beyond = amount >= np.uint64(bits)  # a negative amount, too
        safe = np.where(beyond, np.uint64(0), amount)
        if op_name == "shift_left":
            out = np.where(beyond, np.uint64(0), value << safe)
        else:
            out = np.where(beyond, np.uint64(0), value >> safe)
            if op_name == "shift_right_arithmetic":
                full = np.uint64((1 << bits) - 1)
                negative = (value >> np.uint64(bits - 1)).astype(bool)
                fill = np.where(beyond, full, full & ~(full >> safe))
                out = np.where(negative, out | fill, out)
        return fit((out & np.uint64((1 << bits) - 1)).astype(np.int64), lhs.dtype)


for _name in ("shift_left", "shift_right_arithmetic", "shift_right_logical"):
    _shift(_name)


# --- comparison, selection, conversion

_COMPARE: dict[str, Function] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "GE": np.greater_equal,
    "GT": np.greater,
    "LE": np.less_equal,
    "LT": np.less,
}


def total_order(x: Array) -> Array:
    """Integers that are ordered as floats are in total order: -NaN < -inf < -0 < +0 < inf < NaN."""
    width = x.dtype.itemsize
    signed = np.dtype(f"i{width}").type
    bits = np.ascontiguousarray(x).reshape(-1).view(signed).reshape(np.shape(x))
    return np.where(bits < 0, np.invert(bits) ^ np.iinfo(signed).min, bits)


@kernel("compare")
def compare(op: Compare, lhs: Array, rhs: Array) -> Array:
    direction = op.comparison_direction
    lhs, rhs = np.asarray(lhs), np.asarray(rhs)
    if lhs.dtype.kind == "c":
        less = _complex_less(lhs, rhs)
        if direction in ("LT", "LE"):
            return less | (lhs == rhs) if direction == "LE" else less
        if direction in ("GT", "GE"):
            return _complex_less(rhs, lhs) | ((lhs == rhs) if direction == "GE" else False)
        return _COMPARE[direction](lhs, rhs)
    if op.compare_type == "TOTALORDER" and is_float_dtype(lhs.dtype):
        return _COMPARE[direction](total_order(lhs), total_order(rhs))
    return _COMPARE[direction](wide(lhs), wide(rhs))


@kernel("select", quantized="moves")
def select(op: Select, pred: Array, on_true: Array, on_false: Array) -> Array:
    return np.where(pred, on_true, on_false)


@kernel("clamp")
def clamp(op: Clamp, low: Array, x: Array, high: Array) -> Array:
    dtype = np.asarray(x).dtype
    return fit(_minimum_of(_maximum_of(wide(x), wide(low)), wide(high)), dtype)


def _maximum_of(a: Array, b: Array) -> Array:
    return np.logical_or(a, b) if a.dtype == np.bool_ else _maximum(*np.broadcast_arrays(a, b))


def _minimum_of(a: Array, b: Array) -> Array:
    return np.logical_and(a, b) if a.dtype == np.bool_ else _minimum(*np.broadcast_arrays(a, b))


def convert_to(x: Array, dtype: Any) -> Array:
    """Numbers as another dtype: floats to integers cut off and saturated, NaN to 0, to booleans whether not zero."""
    x, dtype = np.asarray(x), np.dtype(dtype)
    if x.dtype == dtype:
        return x
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = x.real
    if dtype == np.bool_:
        return wide(x) != 0
    if dtype.kind == "c":
        return wide(x).astype(dtype)
    if is_int_dtype(dtype):
        if not is_float_dtype(x.dtype):
            return fit(wide(x), dtype)
        bits = int_bits(dtype)
        low, high = (0, (1 << bits) - 1) if is_unsigned(dtype) else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        whole = np.trunc(np.nan_to_num(wide(x).astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf))
        inside = (whole >= low) & (whole < float(high) + 1 if bits == 64 else whole <= high)
        holder = np.uint64 if is_unsigned(dtype) else np.int64
        out = np.where(inside, whole, 0).astype(holder)
        out = np.where(whole < low, np.array(low, holder), np.where(inside, out, np.array(high, holder)))
        return fit(out, dtype)
    return fit(wide(x), dtype)


@kernel("convert")
def convert(op: Convert, x: Array) -> Array:
    return convert_to(x, dtype_of(op.result.element))


@kernel("uniform_quantize", quantized="native")
def uniform_quantize(op: UniformQuantize, x: Array) -> Array:
    before = op.operands[0].element
    return quantize(dequantize(x, before) if isinstance(before, QuantType) else x, quant_of(op.result))


@kernel("uniform_dequantize", quantized="native")
def uniform_dequantize(op: UniformDequantize, x: Array) -> Array:
    return dequantize(x, quant_of(op.operands[0]))
