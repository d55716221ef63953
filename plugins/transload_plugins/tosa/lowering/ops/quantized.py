"""Elementwise operators of several quantized operands, as LiteRT's reference kernels compute them.

Sums are taken in 32 bits, the operands first scaled to a common scale with 20 bits of fraction (15 for
int16; 21 where the real sums are what is rounded); products exactly, and scaled once. What has no integer
form here is computed in float between a dequantization and a quantization: the last rule of the table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import F32, I8, I16, I32, Op, QuantType, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables
from transload_hub.scales import COMPARED, Scale, activation_bounds, apply_scale, per_step, scale32

from ... import build
from ...dialect.base import storage_of
from ..arithmetic.fixed_point_tables import joined_unsigned
from ..arithmetic.rescaling import (
    DOUBLE,
    EXACT,
    NEAREST,
    activation_range,
    any_quantized,
    clamp_to,
    dequantize,
    fits_shift,
    greatest_product,
    narrow,
    quant,
    requantize,
    rounding_of,
    same_numbers,
    scaled,
    single_rescale_agrees,
    widen,
)
from ..arithmetic.tables import lookup
from ..prepare.sources import is_unsigned
from .cast import quantize
from .common import compare

if TYPE_CHECKING:
    from transload_hub.ops.elementwise import Add, Compare, Div, Max, Min, Mul, SquaredDifference, Sub, Where
    from transload_hub.ops.movement import Concat

__all__ = ["FALLBACK", "TABLE"]

TABLE = RewriteTable()
FALLBACK = RewriteTable()
"""For every op of `top` that nothing else converts in its quantized form."""


def _integers(values: Sequence[Value], storages: Sequence[Any] = (I8, I16)) -> list[QuantType] | None:
    """The types of values that are all quantized per tensor in small integers; None where one is not."""
    types = [quant(value) for value in values]
    fits = all(t is not None and t.per_tensor and t.storage in storages for t in types)
    return types if fits else None  # type: ignore[return-value]


def _term(rw: Rewriter, x: Value, real: float, bits: int, once: Scale | None = None) -> Value:
    """`(x - zero_point) * 2**bits`, then times `real`, as two roundings; in one `rescale` where that gives the same.

    `once` is the scale of a single rescale that is known to do.
    """
    factor = scale32(real)
    source: QuantType = quant(x)  # type: ignore[assignment]
    if once is None and single_rescale_agrees(source, Scale(1 << 30, 30 - bits), factor):
        once = Scale(factor.multiplier, factor.shift - bits)
    if once is not None and (storage_of(x) == I8 or source.zero_point == 0):
        return build.rescale(rw, x, [once.multiplier], [once.shift], source.zero_point, 0, I32)
    return scaled(rw, widen(rw, x, bits), factor)


@lru_cache(maxsize=256)
def _single_rescales(
    ranges: tuple[tuple[int, int], ...], reals: tuple[float, ...], output: float, bits: int, subtracted: bool, rounding: str,
) -> tuple[Scale, ...] | None:
    """Scales by which one rescale of each of two int8 operands does for their sum or difference, or None.

    `ranges` are the operands' numbers less their zero points. LiteRT rounds twice, which is off by one in the
    last of 20 bits now and then. Compilers for NPUs fuse a single rescale into the addition, and 65,536 sums
    are soon tried: nearly always all results are the same, if need be with a multiplier a little greater or less. So they
    are those of the real sums where these are what is rounded ("once").
    """
    numbers = [tables.arange(low, high + 1, dtype=np.int64) for low, high in ranges]
    factors = [scale32(real) for real in reals]
    last = scale32(output)
    join = np.subtract if subtracted else np.add
    twice = rounding == DOUBLE
    if rounding == NEAREST:
        wanted = np.floor(join.outer(*(x * real for x, real in zip(numbers, reals, strict=True))) * (output * 2.0**bits) + 0.5)
    else:
        wanted = apply_scale(join.outer(*(apply_scale(x << bits, f) for x, f in zip(numbers, factors, strict=True))), last, twice)
    singles = [Scale(f.multiplier, f.shift - bits) for f in factors]
    lesser = int(reals[1] < reals[0])  # the other factor is a half, and exact
    for delta in _NUDGES:
        nudged = singles[lesser]._replace(multiplier=singles[lesser].multiplier + delta)
        tried = tuple(nudged if index == lesser else scale for index, scale in enumerate(singles))
        if any(not fits_shift(x, scale.shift) or scale.multiplier >> 31 for x, scale in zip(numbers, tried, strict=True)):
            return None
        terms = (apply_scale(x, scale, double_round=False) for x, scale in zip(numbers, tried, strict=True))
        if np.array_equal(apply_scale(join.outer(*terms), last, twice), wanted):
            return tried
    return None


FINE = 21
"""Bits of fraction of sums of int8 numbers that are to be those of real numbers: as many as a rescale gives such numbers, which
have 9 bits without their zero point, and need a shift of as many."""
_NUDGES = (0, *(sign * size for size in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32) for sign in (1, -1)))


def _sum_as_stored(op: Op, rw: Rewriter, values: Sequence[Value], coefficients: Sequence[float]) -> Value | None:
    """Sums of products, in i32 on one scale, as they are; None of other types."""
    types = _integers([*values, op.result], (I32,))
    if types is None or coefficients[0] != 1 or any(abs(c) != 1 for c in coefficients):
        return None
    if any(type_.zero_point or not same_numbers(type_, types[-1]) for type_ in types):
        return None
    total, *terms = build.equal_rank(rw, *values)
    for term, c in zip(terms, coefficients[1:], strict=True):
        total = rw.emit("tosa.add" if c > 0 else "tosa.sub", total, term, element=op.result.element)
    return clamp_to(rw, total, activation_bounds(types[-1], *activation_range(op)), op.result.element)


def _weighted_sum(op: Op, rw: Rewriter, values: Sequence[Value], coefficients: Sequence[float]) -> Value | None:
    stored = _sum_as_stored(op, rw, values, coefficients)
    if stored is not None:
        return stored
    types = _integers([*values, op.result])
    if types is None or 0.0 in coefficients:
        return None
    *sources, target = types
    narrow_sum = all(type_.storage == I8 for type_ in types)
    ranges = tuple((type_.storage_min - type_.zero_point, type_.storage_max - type_.zero_point) for type_ in sources)
    one_sided = max(max(-low, high) for low, high in ranges) > 1 << 15  # int16 with a zero point
    bits = (FINE if rounding_of(op) == NEAREST else 20) if narrow_sum else 14 if one_sided else 15
    reals = [type_.scale * abs(c) for type_, c in zip(sources, coefficients, strict=True)]
    headroom = 2.0 ** max(1, math.ceil(math.log2(len(reals)))) * max(reals)
    output = per_step(headroom, (1 << bits) * target.scale)
    factors = [per_step(real, headroom) for real in reals]
    pair = narrow_sum and len(values) == 2 and coefficients[0] > 0 and output < 1
    singles = _single_rescales(ranges, tuple(factors), output, bits, coefficients[-1] < 0, rounding_of(op)) if pair else None
    terms = build.equal_rank(rw, *(
        _term(rw, value, factor, bits, once)
        for value, factor, once in zip(values, factors, singles or (None,) * len(values), strict=True)))
    total = terms[0]
    if coefficients[0] < 0:
        total = build.negate(rw, total)
    for term, c in zip(terms[1:], coefficients[1:], strict=True):
        total = rw.emit("tosa.add" if c > 0 else "tosa.sub", total, term, element=I32)
    return narrow(rw, total, output, op.result.element, activation=activation_range(op))


@TABLE("top.Add")
def add(op: Add, rw: Rewriter) -> Value | None:
    return _weighted_sum(op, rw, op.inputs, op.coeff or (1.0,) * len(op.inputs))


@TABLE("top.Sub")
def sub(op: Sub, rw: Rewriter) -> Value | None:
    return _weighted_sum(op, rw, op.inputs, (1.0, -1.0))


@TABLE("top.Mul")
def mul(op: Mul, rw: Rewriter) -> Value | None:
    types, target = _integers(op.inputs), quant(op.result)
    if types is None or len(types) != 2 or target is None or not target.per_tensor or target.storage not in (I8, I16, I32):
        return None
    a, b = types
    if greatest_product(a, b) > I32.range[1]:
        return None
    plain = a.storage == b.storage and a.zero_point == b.zero_point == 0  # which `mul` takes as they are
    x, y = op.inputs if plain else (widen(rw, value) for value in op.inputs)
    product = build.mul(rw, x, y, element=I32)
    number = np.float32 if rounding_of(op) == DOUBLE or op.rounding == "float32" else np.float64
    real = float(number(np.float32(a.scale)) * np.float32(b.scale) / np.float32(target.scale))
    alone = rounding_of(op) == EXACT and not op.do_relu
    if alone and (exponent := -math.log2(real)).is_integer() and 1 <= exponent <= 32:
        return _divided(rw, product, int(exponent), op.result.element)
    return narrow(rw, product, real, op.result.element, activation=activation_range(op))


def _divided(rw: Rewriter, x: Value, exponent: int, element: Any) -> Value:
    """`x / 2**exponent`, rounded, halves away from zero: they are rounded up, after 1 was taken from negative numbers."""
    below = rw.emit("tosa.arithmetic_right_shift", x, build.scalar(rw, 31, I32, x.rank), round=False, element=I32)
    x = rw.emit("tosa.add", x, below, element=I32)
    return build.rescale(rw, x, [1 << 30], [30 + exponent], 0, element.zero_point, element, rounding="SINGLE_ROUND")


@TABLE("top.SquaredDifference")
def squared_difference(op: SquaredDifference, rw: Rewriter) -> Value | None:
    types = _integers([op.a, op.b, op.result], (I8,))
    if types is None:
        return None
    a, b, target = types
    bits = 7
    twice = 2.0 * max(a.scale, b.scale)
    factors = (per_step(a.scale, twice), per_step(b.scale, twice))
    x, y = build.equal_rank(rw, *(_term(rw, value, factor, bits) for value, factor in zip((op.a, op.b), factors, strict=True)))
    difference = rw.emit("tosa.sub", x, y, element=I32)
    squared = build.mul(rw, difference, difference, element=I32)
    return narrow(rw, squared, per_step(twice * twice, (1 << 2 * bits) * target.scale), op.result.element)


@TABLE("top.Max", "top.Min")
def extreme(op: Max | Min, rw: Rewriter) -> Value | None:
    """In the result's type, where a constant bound is a clamp; else in i32, which is what TOSA compares."""
    types = _integers([*op.inputs, op.result])
    if types is None:
        return None
    target = types[-1]
    largest = op.name == "top.Max"
    values = [requantize(rw, value, target) for value in op.inputs]
    low, high = target.storage.range
    moving: list[Value] = []
    for value in values:
        bound = rw.constant_of(value)
        if bound is not None and bound.size == 1 and value.rank <= op.result.rank and len(values) > 1:
            low, high = (max(low, int(bound.item())), high) if largest else (low, min(high, int(bound.item())))
        else:
            moving.append(value)
    if not moving:
        return None
    result = moving[0]
    if len(moving) > 1:
        result, *others = build.equal_rank(rw, *(widen(rw, value) for value in moving))
        for other in others:
            result = rw.emit("tosa.maximum" if largest else "tosa.minimum", result, other, element=I32)
        result = narrow(rw, result, 1.0, target)
    if result.tensor_type.shape != op.result.tensor_type.shape:
        return None
    return result if (low, high) == target.storage.range else build.clamp(rw, result, low, high, target)


@TABLE("top.Compare")
def compare_quantized(op: Compare, rw: Rewriter) -> Value | None:
    """LiteRT compares with `COMPARED` bits of fraction, each operand times its own scale, which must be less than one.

    With greater scales, operands of one type are compared as they are, others on a common scale.
    """
    types = _integers([op.lhs, op.rhs], (I8, I16))
    if types is None:
        return None
    a, b = op.lhs, op.rhs
    greatest = max(type_.scale for type_ in types)
    if greatest < 1.0:
        a, b = (_term(rw, value, type_.scale, COMPARED) for value, type_ in zip((a, b), types, strict=True))
    elif same_numbers(*types):
        a, b = (build.cast(rw, value, I32) for value in (a, b))
    else:
        bits = 20 if all(type_.storage == I8 for type_ in types) else 15
        a, b = (_term(rw, value, type_.scale / (2.0 * greatest), bits) for value, type_ in zip((a, b), types, strict=True))
    return compare(rw, op.mode, a, b)


@TABLE("top.Where")
def where(op: Where, rw: Rewriter) -> Value | None:
    target = quant(op.result)
    if target is None or _integers([op.tbrn, op.fbrn, op.result], (I8, I16, I32)) is None:
        return None
    values = (requantize(rw, value, target) for value in (op.tbrn, op.fbrn))
    condition, a, b = build.equal_rank(rw, op.condition, *values)
    return rw.emit("tosa.select", condition, a, b, element=target)


@TABLE("top.Concat")
def join_unsigned(op: Concat, rw: Rewriter) -> Value | None:
    """Where uint8 operands of another type than the result's are requantized in float32, as LiteRT has it."""
    types = _integers([*op.inputs, op.result], (I8,))
    if types is None or not is_unsigned(op) or all(same_numbers(type_, types[-1]) for type_ in types):
        return None
    *sources, target = types
    values = [
        value if same_numbers(source, target) else lookup(rw, value, joined_unsigned(source, target), target)
        for value, source in zip(op.inputs, sources, strict=True)]
    return rw.emit("top.Concat", *values, element=op.result.element, **op.attributes)


@TABLE("top.Div")
def divide(op: Div, rw: Rewriter) -> Value | None:
    """By one constant number: one rescale of int16; of int8 a table, which the rule for functions makes."""
    types = _integers([*op.inputs, op.result])
    if types is None or types[0].storage == types[-1].storage == I8:
        return None
    divisor = rw.constant_of(op.inputs[1])
    if divisor is None or divisor.size != 1 or op.inputs[1].rank > op.inputs[0].rank:
        return None
    a, b, target = types
    number = int(divisor.item()) - b.zero_point
    if number == 0:
        return None
    real = per_step(a.scale, abs(number) * b.scale * target.scale)
    x = widen(rw, op.inputs[0])
    return narrow(rw, build.negate(rw, x) if number < 0 else x, real, op.result.element, activation=activation_range(op))


@FALLBACK("top.*")
def through_floats(op: Op, rw: Rewriter) -> Any:
    """The op on real numbers, between dequantization and quantization."""
    if not any_quantized(op) or op.regions or op.name in ("top.Bitcast", "top.Cast", "top.Weight"):
        return None
    operands = [dequantize(rw, value) if quant(value) is not None else value for value in op.operands]
    types = [
        result.tensor_type.with_element(F32) if quant(result) is not None else result.type
        for result in op.results
    ]
    made = rw.create(op.name, operands, types, dict(op.attributes))
    results = [
        quantize(rw, new, quant(old)) if quant(old) is not None else new  # type: ignore[arg-type]
        for old, new in zip(op.results, made.results, strict=True)
    ]
    return results if len(results) != 1 else results[0]
