"""Softmax: in float, and in fixed point exactly as LiteRT's reference kernels compute it for int8 and int16."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import F32, I8, I16, I32, FloatType, QuantType, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.scales import apply_scale, exp_on_negative_values, scale32, softmax_input_scale

from ... import build
from ..arithmetic.rescaling import i32, narrow, quant, scaled, widen
from ..arithmetic.tables import follows_litert, in_integers, int16_table
from .common import static_shape

if TYPE_CHECKING:
    from transload_hub.ops.activation import Softmax

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("top.Softmax")
def softmax(op: Softmax, rw: Rewriter) -> Value | None:
    """`exp(x - max)` over its sum, or the logarithm of that; in f32, as f16 cannot count more powers than 65504."""
    element = op.result.element
    if not isinstance(op.input.element, FloatType) or not isinstance(element, FloatType):
        return None
    x = build.cast(rw, op.input, F32)
    axis = op.axis % x.rank
    if op.beta != 1.0:
        x = build.mul(rw, x, build.float_scalar_like(rw, x, op.beta))
    moved = rw.emit("tosa.sub", x, rw.emit("tosa.reduce_max", x, axis=axis))
    powers = rw.emit("tosa.exp", moved)
    total = rw.emit("tosa.reduce_sum", powers, axis=axis)
    if op.log:
        return build.cast(rw, rw.emit("tosa.sub", moved, rw.emit("tosa.log", total)), element)
    return build.cast(rw, build.mul(rw, powers, rw.emit("tosa.reciprocal", total)), element)


@TABLE("top.Softmax")
def quantized_softmax(op: Softmax, rw: Rewriter) -> Value | None:
    source, target = quant(op.input), quant(op.result)
    if source is None or target is None or not source.per_tensor or not target.per_tensor or op.log:
        return None
    if not op.beta > 0:  # the exponentials of differences to the greatest number are not below 1 then: LiteRT has no such kernel
        return None
    shape = static_shape(op.input)
    if not shape or 0 in shape:
        return None
    axis = op.axis % len(shape)
    order = (*(i for i in range(len(shape)) if i != axis), axis)
    x = build.transpose(rw, op.input, order)
    rows = x if x.rank <= 4 else build.reshape(rw, x, (math.prod(shape) // shape[axis], shape[axis]))
    if source.storage == I8 and _is_unit(target, I8, 8) and shape[axis] <= 1 << 12:
        made = _softmax_int8(rw, rows, source, target, op.beta, 8)
    elif source.storage == I8 and _is_unit(target, I16, 16) and shape[axis] <= 1 << 12:
        made = _softmax_int8(rw, rows, source, target, op.beta, 16)
    elif source.storage == I16 and _is_signed_unit(target) and (follows_litert(rw) or in_integers(rw)):
        made = _softmax_int16(rw, rows, source, target, op.beta)
    else:
        return None
    made = build.reshape(rw, made, tuple(shape[i] for i in order))
    return build.transpose(rw, made, tuple(np.argsort(order)))


def _near(scale: float, wanted: float) -> bool:
    """Whether LiteRT takes a scale for the one that its kernel produces."""
    return math.isclose(scale, wanted, rel_tol=1e-3)


def _is_signed_unit(type_: QuantType) -> bool:
    """Whether a type is the one of LiteRT's int16 kernel, of which 0 to 1 are one half."""
    return type_.storage == I16 and type_.zero_point == 0 and _near(type_.scale, 2.0**-15)


def _is_unit(type_: QuantType, storage: Any, bits: int) -> bool:
    """Whether a type covers 0 to 1 with all its numbers."""
    return type_.storage == storage and type_.zero_point == -(1 << (bits - 1)) and _near(type_.scale, 2.0**-bits)


def _difference(rw: Rewriter, rows: Value) -> Value:
    """Each number less the greatest of its row (the last dimension), in i32."""
    most = rw.emit("tosa.reduce_max", rows, axis=rows.rank - 1)
    return rw.emit("tosa.sub", widen(rw, rows), widen(rw, most))


def _high_multiply(rw: Rewriter, a: Value, b: Value | int, bits: int = 31) -> Value:
    """`a * b / 2**bits`, rounded, in 64 bits."""
    return build.mul(rw, a, i32(rw, b, a) if isinstance(b, int) else b, bits, element=I32)


def exponentials(source: QuantType, beta: float) -> np.ndarray:
    """exp(beta * scale * d) in Q0.31 for differences d from -255 to 0; 0 where LiteRT leaves a number out."""
    scale, least = softmax_input_scale(beta, source.scale)
    differences = np.arange(-255, 1, dtype=np.int64)
    kept = np.where(differences >= least, differences, 0)
    fixed = apply_scale(kept, scale)
    return np.where(differences >= least, exp_on_negative_values(fixed, 5), 0)


def _softmax_int8(rw: Rewriter, rows: Value, source: QuantType, target: QuantType, beta: float, bits: int) -> Value:
    """Exponentials in Q0.31 from tables, their sum in Q12.19, its reciprocal by Newton's method, the product rounded."""
    powers = _lookup_q31(rw, _difference(rw, rows), exponentials(source, beta))
    # halves up, and the addends are not negative: as gemmlowp's division
    addends = rw.emit("tosa.arithmetic_right_shift", powers, i32(rw, 12, powers), round=True)
    total = rw.emit("tosa.reduce_sum", addends, axis=powers.rank - 1)
    zeros = rw.emit("tosa.clz", total)
    half_sum = rw.emit("tosa.logical_left_shift", total, rw.emit("tosa.sub", zeros, i32(rw, 1, zeros)))
    reciprocal = _reciprocal(rw, half_sum)
    product = _high_multiply(rw, powers, reciprocal, 30)
    shift = rw.emit("tosa.sub", i32(rw, 43 - bits, zeros), zeros)
    made = rw.emit("tosa.arithmetic_right_shift", product, shift, round=True)
    return narrow(rw, made, 1.0, target)


def _reciprocal(rw: Rewriter, d: Value) -> Value:
    """`1/2 / d` in Q2.29 of `d` from 1/2 to 1 in Q0.31: gemmlowp's three steps of Newton's method from 48/17 - 32/17 d.

    The result, from 1/2 to 1 in Q0.31 when doubled, is used with one bit less of a shift.
    """
    x = rw.emit("tosa.add", _high_multiply(rw, d, -1010580540), i32(rw, 1515870810, d))
    for _ in range(3):
        rest = rw.emit("tosa.sub", i32(rw, 1 << 29, d), _high_multiply(rw, d, x))
        step = rw.emit("tosa.logical_left_shift", _high_multiply(rw, x, rest), i32(rw, 2, d))
        x = rw.emit("tosa.add", x, step)
    return x


def _lookup_q31(rw: Rewriter, difference: Value, values: np.ndarray) -> Value:
    """256 numbers of 31 bits, looked up for differences from -255 to 0: a table of int8 for each byte, and their sum.

    On NPUs these take less time to load than tables of int16, which would hold 21 bits.
    """
    index = build.rescale(rw, difference, [1 << 30], [30], 0, 127, I8)
    parts = []
    for place, shift in enumerate((0, 8, 14, 22)):  # the upper two less by 2 bits, as RESCALE has 30 for its result
        part = build.table(rw, index, (((values >> 8 * place) & 255) - 128).astype(np.int8))
        parts.append(build.rescale(rw, part, [1 << 30], [30 - shift], -128, 0, I32))
    upper = rw.emit("tosa.logical_left_shift", rw.emit("tosa.add", parts[3], parts[2]), i32(rw, 2, difference))
    return rw.emit("tosa.add", upper, rw.emit("tosa.add", parts[1], parts[0]))


def _softmax_int16(rw: Rewriter, rows: Value, source: QuantType, target: QuantType, beta: float) -> Value:
    """Exponentials and reciprocal from interpolated tables, all in 16 bits."""
    unit = _storage16(2.0 / 65535)
    exp_table = int16_table(_storage16(10.0 / 65535, 32767), unit, np.exp, np.float64)
    reciprocal_table = int16_table(_storage16(1.0 / 65535, -32768), unit, lambda x: 1.0 / (1.0 + x), np.float64)
    factor = float(np.float32(source.scale) * np.float32(beta)) / (10.0 / 65535.0)
    moved = _scaled_wrapping(rw, _difference(rw, rows), factor)
    moved = rw.emit("tosa.add", moved, i32(rw, 32767, moved))
    index = build.rescale(rw, moved, [1 << 30], [30], 0, 0, I16)
    powers = _interpolated(rw, index, exp_table)
    total = rw.emit("tosa.reduce_sum", powers, axis=powers.rank - 1)
    zeros = rw.emit("tosa.clz", total)
    normal = rw.emit("tosa.logical_left_shift", total, rw.emit("tosa.sub", zeros, i32(rw, 1, zeros)))
    place = rw.emit("tosa.arithmetic_right_shift", normal, i32(rw, 14, normal), round=True)
    place = rw.emit("tosa.sub", place, i32(rw, (1 << 15) + (1 << 16), place))
    reciprocal = _interpolated(rw, build.rescale(rw, place, [1 << 30], [30], 0, 0, I16), reciprocal_table)
    product = build.mul(rw, powers, reciprocal, element=I32)
    made = rw.emit("tosa.arithmetic_right_shift", product, rw.emit("tosa.sub", i32(rw, 31, zeros), zeros), round=True)
    made = build.clamp(rw, made, 0, 32767)
    return rw.emit("tosa.cast", made, element=target)


def _scaled_wrapping(rw: Rewriter, difference: Value, factor: float) -> Value:
    """A difference of two 16-bit numbers times a factor; too large ones lose their upper bits.

    LiteRT shifts the difference to the left in 32 bits before it multiplies. Only the factor of a layer whose
    input spans an attention mask (-1e9 where no one looks) is so large that bits are lost, or that the shift is over 31,
    of which processors take the lower 5 bits. What is left is then a number of its own, which we owe to the reference.
    """
    mantissa, exponent = math.frexp(factor)
    if exponent <= 15:  # 17 bits and 15 more
        return scaled(rw, difference, scale32(factor))
    shifted = rw.emit("tosa.logical_left_shift", difference, i32(rw, exponent & 31, difference))
    return scaled(rw, shifted, scale32(mantissa))


def _storage16(scale: float, zero_point: int = 0) -> QuantType:
    return QuantType(I16, F32, (scale,), (zero_point,))


def _interpolated(rw: Rewriter, index: Value, entries: np.ndarray) -> Value:
    """A table's result rounded to its own 16 bits, in i32."""
    wide = build.table(rw, index, entries)
    return rw.emit("tosa.arithmetic_right_shift", wide, i32(rw, 7, wide), round=True)
