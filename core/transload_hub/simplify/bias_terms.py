"""Biases of batches of quantized products as more terms of their sums: the pass `biases-as-terms`.

LiteRT's BATCH_MATMUL adds no bias to its sums, TOSA none to sums of 48 bits, and a result that is rounded already is another with
something added behind. But a bias is a sum of products of integers itself: to the rows of the one matrix constant numbers are
appended, and to the columns of the other those that, multiplied by them, make the bias. The sums are the same integers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from transload.ir import Dense, Module, QuantType, Value, dtype_of
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable, apply_greedily

if TYPE_CHECKING:
    from ..ops.matmul import MatMul

__all__ = ["biases_as_terms", "terms", "with_terms"]

MOST = 1024
"""Terms of each sum, at most, that make up a bias: it may be far greater than what two numbers of 8 bits multiply to."""
_OF_BYTES, _WIDER = RewriteTable(), RewriteTable()


def biases_as_terms(module: Module, bits: int = 8) -> bool:
    """Make constant biases of batches of products of numbers of `bits` bits or more terms of the sums; whether there were any."""
    return apply_greedily(module, _WIDER if bits > 8 else _OF_BYTES + _WIDER)


@_OF_BYTES("top.MatMul")
def _of_bytes(op: MatMul, rw: Rewriter) -> Value | None:
    return with_terms(op, rw) if _width(op) <= 8 and (op.rounding == "double" or op.right.rank > 2) else None


@_WIDER("top.MatMul")
def _of_more(op: MatMul, rw: Rewriter) -> Value | None:
    """Rounded so, such sums are multiplied by 15 bits."""
    return with_terms(op, rw) if _width(op) > 8 and op.rounding == "double" else None


def _width(op: MatMul) -> int:
    held = op.input.quant
    return held.storage.width if held is not None else 0


def with_terms(op: MatMul, rw: Rewriter) -> Value | None:
    """The product without a bias; None where there is none, or none that makes such terms."""
    left, right = op.input.quant, op.right.quant
    if op.bias is None or left is None or right is None or not (left.per_tensor and right.per_tensor):
        return None
    if not (op.input.is_static and op.right.is_static and op.bias.is_static):
        return None
    is_layer = op.right.rank == 2 and constant_of(op.right) is not None and right.storage.width <= 8
    if is_layer:  # whose bias is its own
        return None
    row = _row(op.bias, left.scale * right.scale)
    columns = 1 if op.right.rank == 1 else op.right.static_shape[-2 if op.right_transpose else -1]
    made = None if row is None else terms(np.broadcast_to(row, (columns,)), _reach(left), _reach(right))
    if made is None:
        return None
    factors, rows = made
    along = -2 if op.left_transpose and op.input.rank > 1 else -1
    across = -1 if op.right_transpose or op.right.rank == 1 else -2
    return rw.emit(
        "top.MatMul", _longer(rw, op.input, along, np.broadcast_to(factors[:, None], (len(factors), 1))),
        _longer(rw, op.right, across, rows), element=op.output.element, **op.attributes)


def _row(bias: Value, scale: float) -> np.ndarray | None:
    """A constant bias as integers in steps of the products, one for each column, or for all of them; None of any other."""
    array, held = constant_of(bias), bias.quant
    if array is None or math.prod(bias.static_shape[:-1]) != 1 or (held is None and not bias.is_float):
        return None
    numbers = array.numpy().reshape(-1)
    if held is not None and not any(held.zero_points) and np.allclose(held.scales, scale, 1e-3, 0):
        return numbers.astype(np.int64)
    real = numbers.astype(np.float64)
    if held is not None:
        real = (real - np.asarray(held.zero_points)) * np.asarray(held.scales)
    steps = np.rint(real / scale)
    return steps.astype(np.int64) if (np.abs(steps) < 2.0**62).all() else None


def _reach(held: QuantType) -> tuple[int, int]:
    """The least and the greatest integer that numbers of a quantized type multiply by: their zero point is off."""
    return held.storage_min - held.zero_point, held.storage_max - held.zero_point


def terms(bias: np.ndarray, left: tuple[int, int], right: tuple[int, int]) -> tuple[np.ndarray, np.ndarray] | None:
    """Factors `[T]` and rows `[T, N]` of integers, each between two ends, whose products add up to a bias `[N]`.

    None where that takes more than `MOST`, or cannot be: of two that are nothing but positive no sum is below zero.
    """
    rest, factors, rows = bias.astype(np.int64), list[int](), list[np.ndarray]()
    for factor in (left[1], left[0], 1, -1):
        while factor and left[0] <= factor <= left[1] and len(factors) <= MOST:
            row = np.clip(np.trunc(rest / factor).astype(np.int64), *right)
            if not row.any():
                break
            rest = rest - row * factor
            factors, rows = [*factors, factor], [*rows, row]
    if rest.any() or len(factors) > MOST:
        return None
    return np.array(factors, np.int64), np.array(rows, np.int64).reshape(len(rows), len(bias))


def _longer(rw: Rewriter, value: Value, axis: int, added: np.ndarray) -> Value:
    """Matrices, or a vector, with the numbers `[T, N]` behind their own along a dimension, the last or that before it."""
    if not len(added):
        return value
    held, shape = value.quant, list(value.static_shape)
    assert held is not None
    shape[axis] = len(added)
    numbers = added[:, 0] if value.rank == 1 else added.T if axis == -1 else added
    stored = np.ascontiguousarray(np.broadcast_to(numbers, shape) + held.zero_point).astype(dtype_of(held.storage))
    return rw.emit("top.Concat", value, rw.constant(Dense(stored), element=held), axis=axis % len(shape), element=value.element)
