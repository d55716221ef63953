"""Reductions along one axis, and argmax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .base import float_of, is_float, kernel, limits, to_result

if TYPE_CHECKING:
    from ..dialect.reduction import ReduceAll, ReduceAny, ReduceMax, ReduceMin, ReduceProduct, ReduceSum
    from ..dialect.spatial import ArgMax


@kernel("tosa.reduce_all", "tosa.reduce_any")
def reduce_logical(op: ReduceAll | ReduceAny, x: np.ndarray) -> np.ndarray:
    return (np.all if op.name == "tosa.reduce_all" else np.any)(x, axis=op.attributes["axis"], keepdims=True)


@kernel("tosa.reduce_max", "tosa.reduce_min")
def reduce_extremum(op: ReduceMax | ReduceMin, x: np.ndarray) -> np.ndarray:
    """The greatest or least; NaNs as `nan_mode` says. Of no numbers, the type's least or greatest: what it starts from."""
    greater = op.name == "tosa.reduce_max"
    join: Any = np.maximum if greater else np.minimum
    axis = op.attributes["axis"]
    if not x.shape[axis]:
        low, high = (-np.inf, np.inf) if is_float(op.operands[0]) else limits(op)
        return to_result(op, np.full((*x.shape[:axis], 1, *x.shape[axis + 1 :]), low if greater else high))
    if not is_float(op.operands[0]):
        return join.reduce(x, axis=axis, keepdims=True)
    if op.attribute("nan_mode") == "IGNORE":
        join = np.fmax if greater else np.fmin
    return to_result(op, join.reduce(float_of(x), axis=axis, keepdims=True))


@kernel("tosa.reduce_sum", "tosa.reduce_product")
def reduce_sum(op: ReduceProduct | ReduceSum, x: np.ndarray) -> np.ndarray:
    """Sums and products; of integers modulo their type's size."""
    join: Any = np.add if op.name == "tosa.reduce_sum" else np.multiply
    wide = float_of(x) if is_float(op.operands[0]) else x
    return to_result(op, join.reduce(wide, axis=op.attributes["axis"], keepdims=True, dtype=wide.dtype))


@kernel("tosa.argmax")
def argmax(op: ArgMax, x: np.ndarray) -> np.ndarray:
    """The first place of the greatest; numpy's argmax takes a NaN for the greatest."""
    axis = op.attributes["axis"]
    if is_float(op.operands[0]):
        x = float_of(x)
        if op.attribute("nan_mode") == "IGNORE":
            missing = np.isnan(x)
            least = np.where(missing, -np.inf, x)
            # Where nothing exceeds -inf, the first place that is no NaN.
            bottom = np.isneginf(least.max(axis=axis))
            return to_result(op, np.where(bottom, np.argmin(missing, axis=axis), np.argmax(least, axis=axis)))
    return to_result(op, np.argmax(x, axis=axis))
