"""Simplifying TOSA graphs: ops that do nothing, and pairs that cancel or join."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import Dense, FloatType, FusedLocation, IntegerType, LazyData, Module, Op, TensorType, Value
from transload.ir.build import constant_of
from transload.rewrite import KEPT, Rewriter, RewriteTable, apply_greedily

from .build import clamp, const, reshape, shape_const
from .dialect.base import dims_of, storage_of

if TYPE_CHECKING:
    from .dialect.conversion import Cast, Identity, Rescale
    from .dialect.elementwise import BitwiseNot, Clamp, LogicalNot
    from .dialect.movement import Concat, Pad, Reshape, Reverse, Slice, Tile, Transpose
    from .dialect.reduction import Reduction
    from .dialect.spatial import MaxPool2d

__all__ = ["TABLE", "canonicalize_tosa"]

TABLE = RewriteTable()


def canonicalize_tosa(module: Module) -> bool:
    """Simplify all of `module` until nothing changes; returns whether anything did."""
    return apply_greedily(module, TABLE, fold=False)


def _maker(value: Value, name: str) -> Op | None:
    """The op that computes a value, if it is of this name."""
    op = value.op
    return op if op is not None and op.name == name else None


def _if_unchanged(op: Op) -> Any:
    """The first operand, where it has the result's type: then it can stand for the result."""
    source = op.operands[0]
    return source if source.type == op.result.type else KEPT


@TABLE("tosa.identity", "tosa.cast")
def does_nothing(op: Cast | Identity, rw: Rewriter) -> Any:
    """An identity, or a cast to the type the tensor has."""
    return _if_unchanged(op)


@TABLE("tosa.reshape")
def simplify_reshape(op: Reshape, rw: Rewriter) -> Any:
    """A reshape to the same shape goes; of a reshape, it takes the place of both; of a constant, it is done now."""
    source, result = op.operands[0], op.result
    shape = result.type.shape if isinstance(result.type, TensorType) else None
    if source.type == result.type and shape is not None and None not in shape:
        return source
    if shape is None or None in shape:
        return KEPT
    inner = _maker(source, "tosa.reshape")
    if inner is not None:
        _hand_on_name(inner)
        return rw.emit("tosa.reshape", inner.operands[0], op.operands[1], element=result.element)
    dense = constant_of(source)
    if dense is not None and dense.type.is_static:
        return const(rw, _reshaped(dense, shape), result.element)  # type: ignore[arg-type]
    return KEPT


def _hand_on_name(op: Op) -> None:
    """Give the name of a reshape that goes to what computes the numbers, where that is only a part of the same tensor."""
    maker, name = op.operands[0].op, op.result.name
    if name is not None and len(op.result.uses) == 1 and maker is not None and len(maker.results) == 1 and (
            isinstance(maker.location, FusedLocation) and maker.location.metadata is not None):
        maker.location = name


def _reshaped(dense: Dense, shape: tuple[int, ...]) -> Dense:
    data = dense.data
    return Dense(LazyData(lambda: data.numpy().reshape(shape), shape, data.dtype), dense.type.with_shape(shape))


@TABLE("tosa.transpose")
def simplify_transpose(op: Transpose, rw: Rewriter) -> Any:
    """Transposes of transposes join; one that moves only sizes of 1 is a reshape; of a constant, it is done now."""
    source, result, perms = op.operands[0], op.result, op.perms
    if perms == tuple(range(len(perms))):
        return _if_unchanged(op)
    inner = _maker(source, "tosa.transpose")
    if inner is not None:
        joined = tuple(inner.perms[axis] for axis in perms)
        if joined == tuple(range(len(joined))):
            return inner.operands[0] if inner.operands[0].type == result.type else KEPT
        return rw.emit("tosa.transpose", inner.operands[0], perms=joined, element=result.element)
    shape = source.type.shape if isinstance(source.type, TensorType) else None
    if shape is None or None in shape or not (_one_scale(source) and _one_scale(result)):
        return KEPT
    dense = constant_of(source)
    if dense is not None:
        data, turned = dense.data, tuple(shape[axis] for axis in perms)
        lazy = LazyData(lambda: np.ascontiguousarray(data.numpy().transpose(perms)), turned, data.dtype)  # type: ignore[arg-type]
        return const(rw, Dense(lazy, dense.type.with_shape(turned)), result.element)
    moved = [axis for axis in perms if shape[axis] != 1]
    if moved == sorted(moved):
        return reshape(rw, source, tuple(shape[axis] for axis in perms))
    return KEPT


def _one_scale(value: Value) -> bool:
    return bool(getattr(value.element, "per_tensor", True))


@TABLE("tosa.reshape")
def reshape_of_transpose(op: Reshape, rw: Rewriter) -> Any:
    """A reshape that undoes a transpose's grouping: transpose, then flatten, where the moved sizes are all 1."""
    inner = _maker(op.operands[0], "tosa.transpose")
    if inner is None or not inner.operands[0].tensor_type.is_static:
        return KEPT
    shape = inner.operands[0].shape
    moved = [axis for axis in inner.perms if shape[axis] != 1]
    if moved != sorted(moved):
        return KEPT
    return rw.emit("tosa.reshape", inner.operands[0], op.operands[1], element=op.result.element)


@TABLE("tosa.add", "tosa.sub", "tosa.mul", "tosa.maximum", "tosa.minimum")
def after_two_reshapes(op: Op, rw: Rewriter) -> Any:
    """An elementwise operator on tensors that were reshaped alike: computed before, and reshaped once."""
    first, second = (_maker(value, "tosa.reshape") for value in op.operands[:2])
    if first is None or second is None or any(len(maker.result.uses) > 1 for maker in (first, second)):
        return KEPT
    a, b = first.operands[0], second.operands[0]
    shapes = [value.shape_or_none for value in (a, b, first.result, second.result)]
    if shapes[0] is None or None in shapes[0] or shapes[0] != shapes[1] or shapes[2] != shapes[3]:
        return KEPT
    for maker in (first, second):
        _hand_on_name(maker)
    made = rw.emit(op.name, a, b, *op.operands[2:], element=op.result.element, **op.attributes)
    return rw.emit("tosa.reshape", made, first.operands[1], element=op.result.element)


@TABLE("tosa.rescale")
def rescale_by_one(op: Rescale, rw: Rewriter) -> Any:
    """A rescale by exactly 1 between equal types and zero points."""
    source, *numbers = op.operands
    if storage_of(source) != storage_of(op.results[0]) or op.input_unsigned or op.output_unsigned:
        return KEPT
    held = [rw.constant_of(value) for value in numbers]
    if any(array is None for array in held):
        return KEPT
    multiplier, shift, input_zp, output_zp = (array.astype(np.int64).reshape(-1) for array in held)
    if input_zp[0] != output_zp[0] or not np.array_equal(multiplier, np.left_shift(np.int64(1), shift)):
        return KEPT
    return _if_unchanged(op)


@TABLE("tosa.pad")
def pad_nothing(op: Pad, rw: Rewriter) -> Any:
    """A pad by zeros."""
    padding = dims_of(op.padding)
    return _if_unchanged(op) if padding is not None and not any(padding) else KEPT


@TABLE("tosa.slice")
def slice_all(op: Slice, rw: Rewriter) -> Any:
    """A slice of the whole; a slice of a slice becomes one."""
    start, size = dims_of(op.start), dims_of(op.size)
    if start is None or size is None or not isinstance(op.result.type, TensorType) or not op.result.type.is_static:
        return KEPT
    if op.input1.tensor_type.shape == size:
        return _if_unchanged(op)
    inner = _maker(op.input1, "tosa.slice")
    outer_start = dims_of(inner.operands[1]) if inner is not None else None
    if inner is None or outer_start is None:
        return KEPT
    joined = tuple(a + b for a, b in zip(start, outer_start, strict=True))
    return rw.emit("tosa.slice", inner.operands[0], shape_const(rw, joined), op.size, element=op.result.element)


@TABLE("tosa.tile")
def tile_once(op: Tile, rw: Rewriter) -> Any:
    """A tile by ones."""
    multiples = dims_of(op.multiples)
    return _if_unchanged(op) if multiples is not None and all(n == 1 for n in multiples) else KEPT


@TABLE("tosa.concat")
def concat_one(op: Concat, rw: Rewriter) -> Any:
    """A concat of one tensor; concats along one axis join, up to the 64 tensors that level 8K allows."""
    if len(op.operands) == 1:
        return _if_unchanged(op)
    parts: list[Value] = []
    joined = False
    for value in op.operands:
        inner = _maker(value, "tosa.concat")
        if inner is not None and inner.axis == op.axis and list(value.uses.values()) == [1]:
            parts.extend(inner.operands)
            joined = True
        else:
            parts.append(value)
    return rw.emit("tosa.concat", *parts, axis=op.axis, element=op.result.element) if joined and len(parts) <= 64 else KEPT


@TABLE("tosa.clamp")
def simplify_clamp(op: Clamp, rw: Rewriter) -> Any:
    """A clamp to the type's whole range goes; of a clamp, both become one."""
    stored = storage_of(op.input)
    low, high = op.min_val, op.max_val
    if isinstance(stored, IntegerType) and (int(low), int(high)) == stored.range:
        return _if_unchanged(op)
    if isinstance(stored, FloatType) and math.isinf(low) and math.isinf(high) and low < high and op.nan_mode == "PROPAGATE":
        return _if_unchanged(op)
    inner = _maker(op.input, "tosa.clamp")
    if inner is None or inner.nan_mode != op.nan_mode or op.nan_mode == "IGNORE":
        return KEPT
    # max and min in turn: what the inner clamp lets through, clamped again.
    joined = [min(max(bound, low), high) for bound in (inner.min_val, inner.max_val)]
    return clamp(rw, inner.operands[0], joined[0], joined[1], element=op.result.element)


@TABLE("tosa.reduce_sum", "tosa.reduce_max", "tosa.reduce_min", "tosa.reduce_product", "tosa.reduce_all", "tosa.reduce_any")
def reduce_one(op: Reduction, rw: Rewriter) -> Any:
    """A reduction of an axis of size 1."""
    shape = op.input.tensor_type.shape
    ignores = op.attributes.get("nan_mode") == "IGNORE"
    return _if_unchanged(op) if shape is not None and shape[op.axis] == 1 and not ignores else KEPT


@TABLE("tosa.max_pool2d")
def pool_one(op: MaxPool2d, rw: Rewriter) -> Any:
    """A pooling over windows of one element, taken everywhere."""
    if op.kernel != (1, 1) or op.stride != (1, 1) or any(op.pad) or op.nan_mode == "IGNORE":
        return KEPT
    return _if_unchanged(op)


@TABLE("tosa.reverse")
def reverse_twice(op: Reverse, rw: Rewriter) -> Any:
    """A reverse of a reverse of the same axis, or of an axis of size 1."""
    inner = _maker(op.input1, "tosa.reverse")
    if inner is not None and inner.axis == op.axis and inner.operands[0].type == op.result.type:
        return inner.operands[0]
    shape = op.input1.tensor_type.shape
    return _if_unchanged(op) if shape is not None and shape[op.axis] == 1 else KEPT


@TABLE("tosa.logical_not", "tosa.bitwise_not")
def not_twice(op: BitwiseNot | LogicalNot, rw: Rewriter) -> Any:
    """A negation of a negation."""
    inner = _maker(op.input1, op.name)
    return inner.operands[0] if inner is not None and inner.operands[0].type == op.result.type else KEPT

