"""Weights that are stored as integers and used as real numbers: as real numbers, or by ops that any target has.

`dequantize-weights` computes them. `spell-out-weights` says those that are to stay stored by a cast of plain integers, a
difference and a product with one number for each group, which broadcast to the groups, and a reshape.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from transload.budget import budget
from transload.engine.quantized import dequantize
from transload.ir import (
    F32,
    I32,
    Dense,
    FloatType,
    IntegerType,
    LazyData,
    Op,
    Packed4Data,
    QuantType,
    TensorType,
    Value,
    dtype_of,
)
from transload.ir.build import constant_of
from transload.ir.quantization import split_shapes
from transload.rewrite import Rewriter, RewriteTable, apply_greedily

from ..algebra.affine import least_normal

if TYPE_CHECKING:
    from ..ops.cast import Cast

__all__ = [
    "MOVED", "blocks_apart", "dequantize_weights", "fades", "grid_of", "integers_of", "real_weight", "rescaled",
    "reshaped_data", "spell_out_weights"]

TABLE = RewriteTable()


def dequantize_weights(module: Op) -> bool:
    """Replace each cast of a quantized constant to floats by a constant, computed when it is first looked at."""
    return apply_greedily(module, TABLE)


@TABLE("top.Cast")
def real_weight(op: Cast, rw: Rewriter) -> Any:
    """The constant; None of any other cast, and where constants have grown as far as they may."""
    source, element = op.operands[0], op.results[0].element
    kind: QuantType = source.element  # type: ignore[assignment]
    dense = constant_of(source)
    if dense is None or not isinstance(kind, QuantType) or not isinstance(element, FloatType):
        return None
    dtype = dtype_of(element)
    if not budget().may_fold(dense.nbytes, math.prod(dense.shape) * dtype.itemsize):
        return None
    return rw.constant(LazyData(lambda: dequantize(dense.numpy(), kind, dtype), dense.shape, dtype), element=element)


def spell_out_weights(module: Op) -> bool:
    """Replace each cast of a quantized constant that is to stay stored by ops on the plain integers, which stay so."""
    return apply_greedily(module, STORED)


STORED = RewriteTable()


@STORED("top.Cast")
def spelled_out(op: Cast, rw: Rewriter) -> Any:
    """`(stored - zero point) * scale` in float32, where blocks have dimensions of their own; None of any other cast.

    Integers are signed, and have 4 bits at least, as all targets hold them: unsigned ones, and zero points, are less by half.
    """
    source, element = op.operands[0], op.results[0].element
    kind: QuantType = source.element  # type: ignore[assignment]
    dense = constant_of(source)
    if dense is None or not op.stored or not isinstance(kind, QuantType) or not isinstance(element, FloatType):
        return None
    shape = dense.shape
    split, grid = blocks_apart(kind, shape)
    shift = 1 << (kind.storage.width - 1) if kind.storage.unsigned else 0
    storage = IntegerType(max(kind.storage.width, 4))
    data = reshaped_data(dense, split)
    if storage != kind.storage:
        dtype = dtype_of(storage)
        data = LazyData(lambda: (dense.numpy().astype(np.int64) - shift).astype(dtype).reshape(split), split, dtype)
    held = rw.constant(Dense(data, TensorType(split, storage)))
    numbers: Value = rw.emit("top.Cast", held, element=F32, stored=True)
    points = np.array(kind.zero_points, np.float32) - np.float32(shift)
    if points.any():
        numbers = rw.emit("top.Sub", numbers, rw.constant(np.broadcast_to(points, kind.count).reshape(grid)))
    numbers = rw.emit("top.Mul", numbers, rw.constant(kind.scale_array.astype(np.float32).reshape(grid)))
    if split != shape:
        numbers = rw.emit("top.Reshape", numbers, shape=shape)
    return numbers if element == F32 else rw.emit("top.Cast", numbers, element=element)


def blocks_apart(kind: QuantType, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A shape in which blocks and the places in them are dimensions of their own, as few as do, and that of the scales."""
    split: list[int] = []
    grid: list[int] = []
    for size, count in zip(*split_shapes(kind, shape), strict=True):
        if size == 1:
            continue
        if split and (count == 1) == (grid[-1] == 1):
            split[-1], grid[-1] = split[-1] * size, grid[-1] * count
        else:
            split.append(size)
            grid.append(count)
    return tuple(split or [1]), tuple(grid or [1])


def reshaped_data(dense: Dense, shape: tuple[int, ...]) -> Any:
    """The data of a constant in another shape, as it is held."""
    data = dense.data
    if isinstance(data, Packed4Data):
        return Packed4Data(data.packed, shape, data.signed)
    return LazyData(lambda: dense.numpy().reshape(shape), shape, data.dtype)


# --- integers that stay what they are, whatever is done to the real numbers

MOVED = RewriteTable()


def integers_of(value: Value | None) -> tuple[Dense, QuantType] | None:
    """The integers of which a tensor is the real numbers by a cast, and their type: of a constant that is not to stay stored."""
    op = value.op if value is not None else None
    if op is None or op.name != "top.Cast" or op.attribute("stored", False):
        return None
    if not isinstance(op.results[0].element_or_none, FloatType):
        return None
    dense, kind = constant_of(op.operands[0]), op.operands[0].quant
    return (dense, kind) if dense is not None and kind is not None and kind.blocks is None else None


def _real_again(rw: Rewriter, numbers: np.ndarray, kind: QuantType, like: Value) -> Value:
    fold, rw.fold = rw.fold, False
    try:
        held = rw.constant(numbers.astype(dtype_of(kind.storage)), element=kind)
        return rw.emit("top.Cast", held, element=like.element)
    finally:
        rw.fold = fold


@MOVED("top.Reshape", "top.Permute", "top.Squeeze", "top.Unsqueeze", "top.Slice", "top.Reverse", "top.Expand", "top.Tile")
def moved_weight(op: Op, rw: Rewriter) -> Value | None:
    """What moves the real numbers of a weight moves its integers, where the scales are still those of one dimension."""
    found = integers_of(op.operands[0])
    if found is None or len(op.operands) != 1 or len(op.results) != 1:
        return None
    dense, kind = found

    def moved(array: np.ndarray, element: IntegerType) -> np.ndarray | None:
        given = rw.constant(array, element=element)
        made = constant_of(rw.emit(op.name, given, element=element, **op.attributes))
        return None if made is None else made.numpy()

    numbers = moved(dense.numpy(), kind.storage)
    if numbers is None:
        return None
    if kind.axis is not None:
        shape = [1] * len(dense.shape)
        shape[kind.axis] = kind.count
        places = np.arange(kind.count, dtype=np.int32).reshape(shape)
        owners = moved(np.ascontiguousarray(np.broadcast_to(places, dense.shape)), I32)
        kind_moved = None if owners is None else _along_one(kind, owners)
        if kind_moved is None:
            return None
        kind = kind_moved
    return _real_again(rw, numbers, kind, op.results[0])


def _along_one(kind: QuantType, owners: np.ndarray) -> QuantType | None:
    """The type of a tensor whose numbers have the scales that `owners` say; None where these vary along two dimensions."""
    if not owners.size:
        return None
    for axis in range(owners.ndim):
        rows = np.moveaxis(owners, axis, 0).reshape(owners.shape[axis], -1)
        if (rows == rows[:, :1]).all():
            taken = rows[:, 0]
            return kind.replace(
                scales=kind.scale_array[taken], zero_points=tuple(np.array(kind.zero_points)[taken].tolist()), axis=axis)
    return None


def fades(exact: np.ndarray, meant: np.ndarray, dtype: np.dtype, axis: int | None) -> bool:
    """Whether weights of an output channel are less than their type holds with all its digits, and what they give is seen.

    `meant` says which are not 0, however small; `axis` is the dimension of the channels, and without one all are taken
    together. A few small ones are lost in what the greatest of their channel gives. A whole channel may be that small where the
    others are so much greater that it is nothing in what an error of theirs is rounded to, as channels of float32 are that a
    training gave up.
    """
    sizes = np.abs(exact)
    others = tuple(dim for dim in range(sizes.ndim) if dim != axis)
    small = (sizes.max(others, initial=0.0) < least_normal(dtype)) & meant.any(others)
    return bool(small.any()) and sizes.max() < least_normal(dtype) / float(ml_dtypes.finfo(dtype).eps) ** 2


def rescaled(weights: Value, axis: int, factors: np.ndarray, rw: Rewriter) -> Value | None:
    """Weights that integers stand for times a factor for each index of a dimension: the same integers, by other scales.

    Negative factors turn the integers round; None where their type ends before that, or a scale is none of float32, or the real
    numbers are none of their type.
    """
    found = integers_of(weights)
    if found is None or found[1].axis not in (None, axis):
        return None
    dense, kind = found
    stored = dense.numpy().astype(np.int64)
    shape = [1] * stored.ndim
    shape[axis] = len(factors)
    points = np.broadcast_to(np.array(kind.zero_points), factors.shape)
    point, sign = points.reshape(shape), np.sign(factors).astype(np.int64).reshape(shape)
    numbers = (stored - point) * sign + point
    scales = np.broadcast_to(kind.scale_array, factors.shape)
    scales = np.where(factors == 0, scales, scales * np.abs(factors)).astype(np.float32).astype(np.float64)
    if numbers.min(initial=0) < kind.storage_min or numbers.max(initial=0) > kind.storage_max:
        return None
    if not (np.isfinite(scales) & (scales > 0)).all():
        return None
    exact, dtype = (numbers - point) * scales.reshape(shape), dtype_of(weights.element)
    if fades(exact, exact != 0, dtype, axis) or np.abs(exact).max(initial=0.0) > float(ml_dtypes.finfo(dtype).max):
        return None
    held = kind.replace(scales=scales, zero_points=tuple(points.tolist()), axis=axis)
    return _real_again(rw, numbers, held, weights)


_FEW = 8
"""Numbers of a row that say on which grid it may be, before all of them are looked at."""
_MOST = 127


def grid_of(rows: np.ndarray, most: int = _MOST) -> np.ndarray:
    """For each row of float64 the step, a float32, of which all its numbers are whole multiples, up to `most`; 0 where none is.

    As float32 holds them: weights that were rounded to integers and are floats again, whatever became of them since.
    """
    found = np.zeros(len(rows))
    farthest = np.abs(rows).max(axis=1, initial=0.0)
    found[farthest == 0] = 1.0
    pending = np.flatnonzero(farthest > 0)
    for count in range(1, most + 1):
        steps = (farthest[pending, None] / count).astype(np.float32).astype(np.float64)
        likely = _are_whole(rows[pending, :_FEW], steps)
        likely[likely] = _are_whole(rows[pending[likely]], steps[likely])
        found[pending[likely]] = steps[likely, 0]
        pending = pending[~likely]
    return found


def _are_whole(rows: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Which rows are of whole numbers of their steps."""
    with np.errstate(all="ignore"):
        counts = rows / steps
        whole: np.ndarray = (np.abs(counts - np.rint(counts)) < 5e-5).all(axis=1)
    return whole
