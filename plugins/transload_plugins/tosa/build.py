"""Helpers to build TOSA ops, for lowerings and passes.

Each takes a `Builder` (a rewrite's `rw`) and returns the value. Shapes, zero points and scales, which are
operands since TOSA 1.0, are given here as plain numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from transload.budget import budget
from transload.errors import Unsupported
from transload.ir import BF16, BOOL, F16, F32, I8, I16, I32, I48, Dense, TensorType, Type, Value, dtype_of
from transload.ir.attributes import FloatAttr, IntAttr
from transload.ir.build import Builder, constant_of
from transload.ir.types import INDEX, FloatType
from transload.rewrite import Rewriter
from transload_hub.tables import distinct

from .dialect.base import F8E4M3, F8E5M2, shape_type, storage, storage_of
from .dialect.movement import permuted_element, reshaped_element

__all__ = [
    "cast", "clamp", "concat", "const", "equal_rank", "float_scalar_like", "identity", "is_splat", "mul", "negate", "pad",
    "reshape", "rescale", "scalar",
    "shape_const", "slice_", "table", "tile", "transpose", "zero_point",
]


def const(rw: Builder, array: Any, element: Type | None = None) -> Value:
    """A `tosa.const` holding an array (or a `Dense`), of element type `element` where that is not the array's own."""
    return rw.constant(array, element, dialect="tosa")


def shape_const(rw: Builder, sizes: Sequence[int]) -> Value:
    """A `tosa.const_shape`: a value of type `!tosa.shape<N>`."""
    return rw.create("tosa.const_shape", (), (shape_type(len(sizes)),), {"values": _sizes(tuple(sizes))}).results[0]


@lru_cache(maxsize=4096)
def _sizes(sizes: tuple[int, ...]) -> Dense:
    return Dense(np.asarray(sizes, np.int64), TensorType((len(sizes),), INDEX))


@lru_cache(maxsize=4096)
def _number(number: int, element: Type, rank: int) -> Dense:
    """One integer in `rank` dimensions of size 1: constants of it may as well be the same object."""
    dtype = dtype_of(element)
    if dtype.kind in "iu" and not np.iinfo(dtype).min <= number <= np.iinfo(dtype).max:
        raise Unsupported(f"the number {number} does not fit {element}, in which TOSA would compute")
    return Dense(np.full((1,) * rank, number, dtype), TensorType((1,) * rank, storage(element)))


class _Made(dict[tuple[int, int, Type], Value]):
    """The constants of one integer that the rewrites of one run made: by block, data and element type."""


def _integer(rw: Builder, number: int, element: Type, rank: int = 1) -> Value:
    """A constant of one integer: the one that an earlier rewrite of this run made in this block, where there is one.

    Zero points and shifts are half of all that a lowering makes, and a few numbers are most of them. Rewrites follow each
    other in the order of the block, so what an earlier one put before its op lies before this one's. One that nothing uses
    any more, since what used it was folded, is left to be removed.
    """
    data = _number(number, element, rank)
    if not isinstance(rw, Rewriter) or rw.rewriting is None or rw.before is not rw.op:
        return const(rw, data, element)
    made = rw.scratch(_Made)
    key = id(rw.block), id(data), element  # where an id is another's by now, the value lies elsewhere
    value = made.get(key)
    if value is None or not value.uses or value.owner.parent is not rw.block:
        value = made[key] = const(rw, data, element)
    return value


def _integers(rw: Builder, numbers: Sequence[int], element: Type) -> Value:
    """A constant of some integers in a row."""
    if len(numbers) == 1:
        return _integer(rw, numbers[0], element)
    return const(rw, np.asarray(numbers, dtype_of(element)))


def scalar(rw: Builder, value: float, element: Type, rank: int = 1) -> Value:
    """A constant of one element and `rank` dimensions of size 1; of a quantized element, the stored number."""
    if type(value) is int:
        return _integer(rw, value, element, rank)
    return const(rw, np.full((1,) * rank, value, dtype_of(element)), element)


def zero_point(rw: Builder, value: int, element: Type) -> Value:
    """A zero-point operand: one number of the stored type of `element` (an unsigned number keeps its bits)."""
    stored = storage(element)
    if isinstance(stored, FloatType):
        return const(rw, np.full((1,), value, dtype_of(stored)), stored)
    low, high = stored.range  # type: ignore[attr-defined]
    return _integer(rw, (int(value) - low) % (high - low + 1) + low, stored)


def equal_rank(rw: Builder, *values: Value) -> tuple[Value, ...]:
    """The values with sizes of 1 put in front, so that all have the rank of the greatest: TOSA broadcasts no ranks."""
    rank = max(value.rank for value in values)
    return tuple(
        value if value.rank == rank else reshape(
            rw, value, (1,) * (rank - value.rank) + _static(value.shape)) for value in values)


def _static(shape: tuple[int | None, ...]) -> tuple[int, ...]:
    """A shape for `reshape`: one unknown size becomes -1."""
    return tuple(-1 if size is None else size for size in shape)


def _foldable(rw: Builder, x: Value) -> np.ndarray | None:
    """The numbers of a constant, for moving them at once: what folding the op for it would give, without making that first.

    Of one that takes more room as an array than it does now, folding has to say whether it may grow.
    """
    dense = constant_of(x) if rw.fold else None
    if dense is None or dense.nbytes < math.prod(dense.shape) * dense.data.dtype.itemsize:
        return None
    return dense.numpy() if budget().may_fold(dense.nbytes, dense.nbytes) else None


def reshape(rw: Builder, x: Value, shape: Sequence[int | None]) -> Value:
    """`x` in another shape; a constant is reshaped at once, and nothing is made where it has that shape already."""
    shape = tuple(shape)
    if x.tensor_type.shape == shape:
        return x
    if None not in shape and (array := _foldable(rw, x)) is not None:
        return const(rw, array.reshape(shape), reshaped_element(x.tensor_type, shape))  # type: ignore[arg-type]
    return rw.emit("tosa.reshape", x, shape_const(rw, _static(shape)))


def transpose(rw: Builder, x: Value, perms: Sequence[int]) -> Value:
    """`x` with its dimensions permuted; `x` itself where they stay as they are."""
    perms = tuple(map(int, perms))
    if perms == tuple(range(len(perms))):
        return x
    if (array := _foldable(rw, x)) is not None:
        return const(rw, array.transpose(perms), permuted_element(x.tensor_type, perms))
    return rw.emit("tosa.transpose", x, perms=perms)


def slice_(rw: Builder, x: Value, start: Sequence[int], size: Sequence[int]) -> Value:
    """A box of `x`; `x` itself where it is all of it."""
    if x.tensor_type.shape == tuple(size) and not any(start):
        return x
    return rw.emit("tosa.slice", x, shape_const(rw, start), shape_const(rw, size))


def pad(rw: Builder, x: Value, padding: Sequence[int], value: float) -> Value:
    """`x` padded with the stored number `value`: `padding` is (before, after) of each dimension, one after another."""
    if not any(padding):
        return x
    stored = storage_of(x)
    constant = zero_point(rw, int(value), stored) if not isinstance(stored, FloatType) else scalar(rw, value, stored)
    return rw.emit("tosa.pad", x, shape_const(rw, padding), constant)


def tile(rw: Builder, x: Value, multiples: Sequence[int]) -> Value:
    """`x` repeated; `x` itself where all multiples are 1."""
    if all(n == 1 for n in multiples):
        return x
    return rw.emit("tosa.tile", x, shape_const(rw, multiples))


def concat(rw: Builder, values: Sequence[Value], axis: int, element: Type | None = None) -> Value:
    """Values joined along an axis; the value itself where there is one."""
    if len(values) == 1:
        return values[0]
    return rw.emit("tosa.concat", *values, axis=axis, element=element)


def identity(rw: Builder, x: Value) -> Value:
    """A `tosa.identity` of `x`."""
    return rw.emit("tosa.identity", x)


def cast(rw: Builder, x: Value, element: Type) -> Value:
    """`x` as another type; `x` itself where it has that type.

    `tosa.cast` knows no way between booleans and floats, nor between f16 and bf16, nor between floats of 8 bits and anything but
    floats: the first go through i8 or a comparison with zero, the others through f32.
    """
    source, target = storage_of(x), storage(element)
    if x.element == element:
        return x
    small = {source, target} & {F8E4M3, F8E5M2}
    if source in small and (target in small or not isinstance(target, FloatType)):
        x, source = rw.emit("tosa.cast", x, element=F32), F32
    elif target in small and not isinstance(source, FloatType):
        x, source = cast(rw, x, F32), F32
    if isinstance(source, FloatType) and target == BOOL:
        return rw.emit("tosa.logical_not", rw.emit("tosa.equal", x, scalar(rw, 0, source, x.rank)))
    if source == BOOL and isinstance(target, FloatType):
        x = rw.emit("tosa.cast", x, element=I8)
    elif {source, target} == {F16, BF16}:
        x = rw.emit("tosa.cast", x, element=F32)
    return rw.emit("tosa.cast", x, element=element)


def mul(rw: Builder, a: Value, b: Value, shift: int = 0, element: Type | None = None) -> Value:
    """The product of two values, broadcast; ranks are made equal. `shift` is for i32 only."""
    a, b = equal_rank(rw, a, b)
    return rw.emit("tosa.mul", a, b, scalar(rw, shift, I8), element=element)


def negate(rw: Builder, x: Value, input_zp: int = 0, output_zp: int = 0, element: Type | None = None) -> Value:
    """`output_zp - (x - input_zp)`."""
    target = x.element if element is None else element
    return rw.emit("tosa.negate", x, zero_point(rw, input_zp, x.element), zero_point(rw, output_zp, target), element=element)


def table(rw: Builder, x: Value, entries: Any, element: Type | None = None) -> Value:
    """`x` looked up in 256 int8 numbers (i8) or 513 int16 numbers (i16, interpolated to i32)."""
    stored = I8 if storage_of(x) == I8 else I16
    return rw.emit("tosa.table", x, const(rw, np.asarray(entries, dtype_of(stored))), element=element)


def clamp(rw: Builder, x: Value, low: float, high: float, element: Type | None = None) -> Value:
    """`x` between two stored numbers; i32, which `tosa.clamp` does not take, by maximum and minimum."""
    stored = storage_of(x)
    if isinstance(stored, FloatType):
        limits: dict[str, Any] = {"min_val": FloatAttr(low, stored), "max_val": FloatAttr(high, stored)}
    elif stored in (I8, I16):
        least, greatest = stored.range  # type: ignore[attr-defined]
        limits = {"min_val": IntAttr(max(int(low), least), stored), "max_val": IntAttr(min(int(high), greatest), stored)}
    else:
        bound = x
        for name, value in (("tosa.maximum", low), ("tosa.minimum", high)):
            bound = rw.emit(name, bound, scalar(rw, int(value), stored, max(x.rank, 0)), element=element)
        return bound
    return rw.emit("tosa.clamp", x, element=element, **limits)


def rescale(
    rw: Builder, x: Value, multipliers: Sequence[int], shifts: Sequence[int], input_zp: int, output_zp: int, element: Type, *,
    per_channel: bool = False, input_unsigned: bool = False, output_unsigned: bool = False, rounding: str = "SINGLE_ROUND",
    scale32: bool | None = None,
) -> Value:
    """A `tosa.rescale` to `element` (its storage decides the type; a quantized element stays on the result).

    `scale32` is by default True, and False for i48 inputs, whose multipliers have 16 bits.
    """
    if scale32 is None:
        scale32 = storage_of(x) != I48
    multiplier_type = I32 if scale32 else I16
    return rw.emit(
        "tosa.rescale", x, _integers(rw, multipliers, multiplier_type), _integers(rw, shifts, I8),
        zero_point(rw, input_zp, x.element), zero_point(rw, output_zp, element),
        element=element, scale32=scale32, rounding_mode=rounding, per_channel=per_channel, input_unsigned=input_unsigned,
        output_unsigned=output_unsigned)


def is_splat(value: Value, number: float) -> bool:
    """Whether a value is a constant that holds `number` everywhere."""
    dense = constant_of(value)
    return dense is not None and bool(np.all(distinct(dense.numpy()) == number))


def float_scalar_like(rw: Builder, x: Value, value: float) -> Value:
    """A float constant that broadcasts against `x`: of its element type and rank."""
    element = x.element if isinstance(x.element, FloatType) else F32
    return scalar(rw, value, element, x.rank)
