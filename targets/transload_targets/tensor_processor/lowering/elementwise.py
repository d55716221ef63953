"""Elementwise ops of two tensors (TPU-MLIR manual 6.3.3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import I32, FloatType, IntegerType, Op, QuantType, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.ops.rounding import AT_ONCE
from transload_hub.scales import per_step

from ..chip import Chip
from .common import activation, chip_of, need, quantized, reshape, same_numbers, static
from .conversion import requantized
from .scaling import eight_bits, rescale, ways_of

if TYPE_CHECKING:
    from transload_hub.ops.elementwise import Add, Max, Min, Mul, Sub

__all__ = ["TABLE", "equal_rank"]

TABLE = RewriteTable()


def equal_rank(rw: Rewriter, *values: Value) -> list[Value]:
    """Values of one rank: the others with dimensions of size 1 in front, constants at once."""
    rank = max(len(static(value)) for value in values)
    made = []
    for value in values:
        shape = (1,) * (rank - len(static(value))) + static(value)
        array = rw.constant_of(value)
        fixed = array is not None and static(value) != shape
        made.append(rw.constant(array.reshape(shape), element=value.element) if fixed else reshape(rw, value, shape))
    return _alike_before(rw, made) if rank > 4 else made


def _alike_before(rw: Rewriter, values: Sequence[Value]) -> list[Value]:
    """Values of one rank, of more than four dimensions: all but the last three are one in the chip (`shapes`), so that a value
    that is broadcast along some of them, and not along others, is repeated."""
    wanted = [max(sizes) if 0 not in sizes else 0 for sizes in zip(*(static(value)[:-3] for value in values), strict=True)]
    made = []
    for value in values:
        repeated = [axis for axis, size in enumerate(wanted) if static(value)[axis] != size]
        array = rw.constant_of(value)
        if math.prod(static(value)[:-3]) == 1 or not repeated:
            made.append(value)
        elif array is not None:
            made.append(rw.constant(np.broadcast_to(array, (*wanted, *static(value)[-3:])), element=value.element))
        else:
            need(rw, "concat", value)
            for axis in repeated:
                value = _repeated(rw, value, axis, wanted[axis])
            made.append(value)
    return made


def _repeated(rw: Rewriter, value: Value, axis: int, count: int) -> Value:
    """`value` so many times one after the other along a dimension: the half of them twice, and one more where that is odd."""
    if count == 1:
        return value
    half = _repeated(rw, value, axis, count // 2)
    made: Value = rw.emit("tpu.concat", *(half, half, value)[: 2 + count % 2], axis=axis, element=value.element)
    return made


def _two(op: Op, rw: Rewriter, operation: str) -> list[Value]:
    """The two operands, of one rank, which the chip can join in this way."""
    if len(op.operands) != 2:
        raise Unsupported(f"{len(op.operands)} operands at once")
    need(rw, operation, *op.operands, op.results[0])
    return equal_rank(rw, *op.operands)


def _types(op: Op, wide: str = "") -> list[QuantType] | None:
    """The types of operands and result where all are quantized with 8 or 16 bits; None where none is; else `Unsupported`.

    With `wide` the result may have 32 bits, or all of them, on one scale.
    """
    values = [*op.operands, op.results[0]]
    types = [quantized(value) for value in values]
    there = [type_ for type_ in types if type_ is not None]
    if len(there) == len(types):
        narrow = there if wide != "result" else there[:-1]
        if all(type_.storage.width in (8, 16) for type_ in narrow):
            return there
        plain = all(type_.storage == I32 and same_numbers(type_, there[0]) and not type_.zero_point for type_ in there)
        if wide == "all" and plain:
            return there
    if any(value.is_quantized for value in values):
        stored = ", ".join(str(value.stored_element) for value in values)
        raise Unsupported(f"numbers stored as {stored}, some of them quantized, have no common arithmetic")
    return None


def _plain(op: Op) -> None:
    """`Unsupported` of operands that are neither floats of one type nor integers of 32 bits."""
    elements = {value.element for value in (*op.operands, op.results[0])}
    element = elements.pop()
    if elements or not (isinstance(element, FloatType) or (isinstance(element, IntegerType) and element.width == 32)):
        raise Unsupported(f"no arithmetic of {element}")


@TABLE("top.Add")
def add(op: Add, rw: Rewriter) -> Value:
    return _sum(op, rw, op.coeff or (1.0,) * len(op.inputs))


@TABLE("top.Sub")
def sub(op: Sub, rw: Rewriter) -> Value:
    return _sum(op, rw, (1.0, -1.0))


def _sum(op: Op, rw: Rewriter, coefficients: Sequence[float]) -> Value:
    a, b = _two(op, rw, "add")
    types = _types(op, "all")
    if types is None and a.is_float:
        a, b = _times(rw, a, coefficients[0]), _times(rw, b, abs(coefficients[1]))
        coefficients = (1.0, -1.0 if coefficients[1] < 0 else 1.0)
    plain = types is None or types[-1].storage == I32
    if coefficients[0] <= 0 or coefficients[1] == 0 or (plain and (coefficients[0] != 1 or abs(coefficients[1]) != 1)):
        raise Unsupported(f"a sum with factors {tuple(coefficients)}")
    attributes: dict[str, Any] = {"subtract": coefficients[1] < 0, **activation(op)}
    if types is None:
        _plain(op)
        return rw.emit("tpu.add", a, b, element=op.results[0].element, **attributes)
    if types[-1].storage == I32:
        return rw.emit("tpu.add", a, b, element=types[-1], **attributes)
    left, right, target = types
    attributes.update(a_zero=left.zero_point, b_zero=right.zero_point, output_zero=target.zero_point)
    reals = [type_.scale * abs(c) for type_, c in zip((left, right), coefficients, strict=True)]
    arithmetic = _eight_bit_sum if chip_of(rw).multiplier_bits == 8 else _exact_sum
    return rw.emit("tpu.add", a, b, element=target, **attributes, **arithmetic(chip_of(rw), op, types, reals))


def _times(rw: Rewriter, value: Value, factor: float) -> Value:
    """An operand of a sum of floats by its factor."""
    if factor == 1:
        return value
    need(rw, "unary", value)
    made: Value = rw.emit("tpu.unary", value, function="mul", alpha=factor)
    return made


def _exact_sum(chip: Chip, op: Op, types: Sequence[QuantType], reals: Sequence[float]) -> dict[str, Any]:
    """Both operands with 20 bits of fraction (of 16-bit numbers 15) on a scale twice the greater, as LiteRT's kernels."""
    left, right, target = types
    narrow = all(type_.storage.width == 8 for type_ in types)
    far = max(max(t.zero_point - t.storage_min, t.storage_max - t.zero_point) for t in (left, right))
    bits = 20 if narrow else 14 if far > 1 << 15 else 15
    headroom = 2.0 * max(reals)
    rounding = str(op.attribute("rounding", "double"))
    at_once = rounding in AT_ONCE
    bits += int(narrow and at_once)  # the real sum is what is rounded: as fine as 31 bits allow
    first, second = (rescale(chip, per_step(real, headroom), "once" if at_once else "double") for real in reals)
    last = rescale(chip, per_step(headroom, (1 << bits) * target.scale), rounding)
    if last.rounding != first.rounding:
        raise Unsupported("a sum of which operands and result are rounded in two ways")
    return {"left_shift": bits, "a_multiplier": first.multiplier, "a_shift": first.shift, "b_multiplier": second.multiplier,
            "b_shift": second.shift, **last.attributes}


FRACTION = 7
"""Bits of fraction with which operands of a sum are scaled by multipliers of 8 bits."""


def _eight_bit_sum(chip: Chip, op: Op, types: Sequence[QuantType], reals: Sequence[float]) -> dict[str, Any]:
    """`(a * M_a >> s_a) + (b * M_b >> s_b)` with multipliers of 8 bits (manual 6.3.3, which has one shift for both).

    Each operand has the shift that makes its own multiplier the nearest, and bits of fraction until the sum is rounded.
    """
    most = (1 << chip.shift_bits) - 1
    first, second = (eight_bits(per_step(real, types[-1].scale), most) for real in reals)
    way = ways_of(chip, str(op.attribute("rounding", "double")))
    return {
        "left_shift": FRACTION, "a_multiplier": first[0], "a_shift": first[1], "b_multiplier": second[0], "b_shift": second[1],
        "multiplier": 1, "shift": FRACTION, "rounding": way}


@TABLE("top.Mul")
def mul(op: Mul, rw: Rewriter) -> Value:
    a, b = _two(op, rw, "mul")
    types = _types(op, "result")
    if types is None:
        _plain(op)
        return rw.emit("tpu.mul", a, b, element=op.result.element, **activation(op))
    left, right, target = types
    if math.prod(max(t.zero_point - t.storage_min, t.storage_max - t.zero_point) for t in (left, right)) >= 1 << 31:
        raise Unsupported("products of more than 32 bits")
    rounding = str(op.rounding)
    number: Any = np.float32 if rounding in ("double", "float32") else np.float64
    real = float(number(np.float32(left.scale)) * np.float32(right.scale) / np.float32(target.scale))
    scale = rescale(chip_of(rw), real, rounding)
    return rw.emit(
        "tpu.mul", a, b, element=target, a_zero=left.zero_point, b_zero=right.zero_point, output_zero=target.zero_point,
        **scale.attributes, **activation(op))


@TABLE("top.Max", "top.Min")
def extreme(op: Max | Min, rw: Rewriter) -> Value:
    """In the result's type, two at a time."""
    name = "maximum" if op.name == "top.Max" else "minimum"
    target = op.result.quant
    values = list(op.inputs)
    if target is not None:
        for value in values:
            if value.quant is None or not same_numbers(value.quant, target):
                _types(op)
        values = [requantized(rw, value, target, str(op.rounding)) for value in values]
    need(rw, name, *values)
    values = equal_rank(rw, *values)
    made = values[0]
    for value in values[1:]:
        made = rw.emit(f"tpu.{name}", made, value)
    if made.shape != op.result.shape:
        raise Unsupported(f"the extreme of {made.type}, which is {op.result.type}")
    return made
