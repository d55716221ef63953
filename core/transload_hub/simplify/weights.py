"""Weights that are stored as integers and used as real numbers: as real numbers, or by ops that any target has.

`dequantize-weights` computes them. `spell-out-weights` says those that are to stay stored by a cast of plain integers, a
difference and a product with one number for each group, which broadcast to the groups, and a reshape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from transload.engine.quantized import dequantize
from transload.ir import F32, Dense, FloatType, IntegerType, LazyData, Op, Packed4Data, QuantType, TensorType, Value, dtype_of
from transload.ir.build import constant_of
from transload.ir.quantization import split_shapes
from transload.rewrite import Rewriter, RewriteTable, apply_greedily

if TYPE_CHECKING:
    from ..ops.cast import Cast

__all__ = ["blocks_apart", "dequantize_weights", "real_weight", "reshaped_data", "spell_out_weights"]

TABLE = RewriteTable()


def dequantize_weights(module: Op) -> bool:
    """Replace each cast of a quantized constant to floats by a constant, computed when it is first looked at."""
    return apply_greedily(module, TABLE)


@TABLE("top.Cast")
def real_weight(op: Cast, rw: Rewriter) -> Any:
    """The constant; None of any other cast."""
    source, element = op.operands[0], op.results[0].element
    kind: QuantType = source.element  # type: ignore[assignment]
    dense = constant_of(source)
    if dense is None or not isinstance(kind, QuantType) or not isinstance(element, FloatType):
        return None
    dtype = dtype_of(element)
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
