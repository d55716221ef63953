"""The pass `recognize-quantized`: quantizing and dequantizing that a program computes by arithmetic, as casts to quantized types.

What exporters decompose (torch's `quantized_decomposed` operators, a network written so in JAX) is

    integers = cast(clip(round(x / scale) + zero point, least, most))        real = (float(integers) - zero point) * scale

with a factor in place of the division, and the difference in floats or in i32. Halves go to the even number. Numbers of 8 and of
16 bits are such; the zero point is a whole number that the type has. Both have to be there: integers that are computed with, and
bytes that come in and are scaled, stay what they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.analysis.movement import moves_of, origins
from transload.ir import F32, IntegerType, Module, Op, QuantType, Value
from transload.ir.build import constant_of
from transload.passes.canonicalize import canonicalize
from transload.rewrite import Rewriter, RewriteTable, apply_greedily

from ..algebra.affine import affine_of, is_ranked_float, relu_of
from ..algebra.match import made_by
from ..simplify.qdq import kept
from .activation import limits_of
from .composites import recognize

if TYPE_CHECKING:
    from ..ops.cast import Bitcast, Cast

__all__ = ["recognize_quantized"]

_FROM, _TO = RewriteTable(), RewriteTable()
_NEAR = 1e-6
"""How near a factor has to be to the inverse of a scale."""


def recognize_quantized(module: Module) -> bool:
    """Make casts from and to quantized types of what computes the like. Returns whether there was any."""
    if not any(op.name == "top.Cast" and _is_stored(op.results[0]) and is_ranked_float(op.operands[0]) for op in module.walk()):
        return False
    recognize(module)
    if not apply_greedily(module, _FROM):
        return False
    apply_greedily(module, _TO)
    canonicalize(module)
    return True


def _is_stored(value: Value) -> bool:
    """Whether a value is of plain integers that quantized numbers are stored in."""
    element = value.element_or_none
    return isinstance(element, IntegerType) and element.width in (8, 16)


def _alone(array: np.ndarray | None) -> float | None:
    """The one number of an array; None where there is no array, or more in it."""
    return None if array is None or array.size != 1 else float(array.reshape(()))


def _factor(op: Op | None) -> tuple[Value, float] | None:
    """What an op multiplies by one positive number alone, and that number."""
    affine = affine_of(op) if op is not None and not op.attribute("do_relu", False) else None
    number = _alone(affine.scale) if affine is not None and affine.shift is None else None
    return None if affine is None or number is None or not 0 < number < np.inf else (affine.source, number)


def _limited(value: Value) -> tuple[Value, float, float]:
    """What is kept between two numbers, and these; the op itself where its own ReLU does that, and where nothing does."""
    clip = made_by(value, "Clip", "Relu", "Max", "Min")
    found = limits_of(clip) if clip is not None else None
    if found is not None:
        return found
    relu = relu_of(value.op) if value.op is not None else {}
    limit = relu.get("relu_limit")
    return (value, 0.0, np.inf if limit is None else limit) if relu else (value, -np.inf, np.inf)


def _shift(value: Value, limited: bool = False) -> tuple[Value, int]:
    """What a whole number is added to, and that number; the value and 0 where there is none, or by an op with a ReLU of its own
    that is not seen to, as `limited` ones are."""
    op = value.op
    affine = affine_of(op) if op is not None and (limited or not op.attribute("do_relu", False)) else None
    number = _alone(affine.shift) if affine is not None and affine.scale is None else None
    return (value, 0) if affine is None or number is None or not number.is_integer() else (affine.source, int(number))


def _kind(storage: IntegerType, scale: float, point: int, low: float, high: float) -> QuantType | None:
    """The quantized type; None where its numbers are none of what stores it."""
    least, most = storage.range
    low, high = max(low, least), min(high, most)
    if not (float(low).is_integer() and float(high).is_integer() and low < high and low <= point <= high):
        return None
    scale = float(np.float32(scale))
    return QuantType(storage, F32, (scale,), (point,), None, int(low), int(high)) if 0 < scale < np.inf else None


def _rounded(op: Any) -> tuple[Value, QuantType] | None:
    """What a cast to integers rounds, and to which quantized type: `cast(clip(round(x / scale) + zero point))`, and without a
    clip where the cast keeps numbers in range. None of other casts."""
    storage = op.output.element
    if not _is_stored(op.output) or not isinstance(storage, IntegerType) or op.input.element_or_none != F32:
        return None
    value, low, high = _limited(op.input)
    if not op.saturate and (low < storage.range[0] or high > storage.range[1]):
        return None
    value, point = _shift(value, limited=value is op.input)
    rounded = made_by(value, "Round")
    given = _factor(rounded.input.op) if rounded is not None else None
    kind = _kind(storage, 1 / given[1], point, low, high) if given is not None else None
    return None if given is None or kind is None else (given[0], kind)


@_TO("top.Cast")
def quantizes(op: Cast, rw: Rewriter) -> Value | None:
    """Where its integers are dequantized somewhere, a cast to the quantized type."""
    found = _rounded(op) if _is_stored(op.results[0]) and _is_taken_as_quantized(op.output) else None
    if found is None:
        return None
    held = rw.emit("top.Cast", found[0], element=found[1], round_mode="HalfToEven", location=op.location)
    return rw.emit("top.Bitcast", held, element=op.output.element)


def _is_taken_as_quantized(value: Value) -> bool:
    """Whether something reads integers as quantized numbers, or those that are moved of them."""
    return any(
        user.results[0].quant is not None if user.name == "top.Bitcast" else
        moves_of(user) is not None and any(map(_is_taken_as_quantized, user.results)) for user in value.uses)


@_FROM("top.Mul", "top.MulConst", "top.Div", "top.Scale")
def dequantizes(op: Op, rw: Rewriter) -> Value | None:
    """`(float(integers) - zero point) * scale`, the difference in floats or in integers of 32 bits."""
    given = _factor(op)
    if given is None or op.results[0].element_or_none != F32:
        return None
    value, shift = _shift(given[0])
    cast = made_by(value, "Cast")
    stored = cast.input if cast is not None else None
    if stored is not None and not _is_stored(stored) and not shift:
        stored, shift = _integer_shift(stored)
    if stored is None or not _is_stored(stored) or not all(
            each.op is not None and each.op.name == "top.Cast" and _rounded(each.op) is not None for each in origins(stored)):
        return None
    storage: Any = stored.element
    kind = _kind(storage, given[1], -shift, *storage.range)
    return None if kind is None else kept(rw, "top.Cast", rw.emit("top.Bitcast", stored, element=kind), element=F32)


def _integer_shift(value: Value) -> tuple[Value | None, int]:
    """The integers that were cast to i32, or wider, and of which a number was taken then, and that number, less."""
    op = made_by(value, "Sub", "Add")
    if op is not None:
        dense = constant_of(op.operands[1])
        number = dense.splat_value() if dense is not None else None
        cast = made_by(op.operands[0], "Cast")
        if number is None or cast is None or not _widens(cast):
            return None, 0
        return cast.input, int(number) if op.name == "top.Add" else -int(number)
    cast = made_by(value, "Cast")
    return (cast.input, 0) if cast is not None and _widens(cast) else (None, 0)


def _widens(cast: Cast) -> bool:
    wide = cast.output.element
    return isinstance(wide, IntegerType) and wide.width >= 32


@_TO("top.Bitcast")
def of_one_scale(op: Bitcast, rw: Rewriter) -> Value | None:
    """What is quantized by a factor and dequantized by its inverse has the scale of the latter."""
    there = op.output.element
    inner = made_by(op.input, "Bitcast")
    here = inner.input.element if inner is not None else None
    maker = made_by(inner.input, "Cast") if inner is not None else None
    if maker is None or not isinstance(here, QuantType) or not isinstance(there, QuantType) or not is_ranked_float(maker.input):
        return None
    if not here.per_tensor or here.storage != there.storage or here.zero_points != there.zero_points:
        return None
    if abs(here.scale / there.scale - 1) > _NEAR:
        return None
    same = there.replace(storage_min=here.storage_min, storage_max=here.storage_max)
    return rw.emit("top.Cast", maker.input, element=same, round_mode="HalfToEven", location=maker.location)
