"""Products whose matrix of weights stands on the left, as those of layers: the pass `left-constants-to-layers`.

`K X` is `(X^T K^T)^T`: with weights on the right a product is what schemes and kernels of layers take. A vector on either side
is a matrix of one row, and the result has the shape that it had.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from transload.ir import Module, Value
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable, apply_greedily

from .constant_products import PRODUCT

if TYPE_CHECKING:
    from ..ops.matmul import MatMul

__all__ = ["left_constants_to_layers"]

TABLE = RewriteTable()


def left_constants_to_layers(module: Module) -> bool:
    """Products of floats whose left matrix alone is constant are transposed: what is computed is multiplied by the weights.
    Returns whether there were any."""
    return apply_greedily(module, TABLE)


@TABLE("top.MatMul")
def _on_the_right(op: MatMul, rw: Rewriter) -> Value | None:
    value, name = op.right, op.output.name
    if constant_of(op.input) is None or constant_of(value) is not None or not op.output.is_float or not op.input.is_float:
        return None
    weights = _matrix(rw, op.input)
    if not op.output.is_static and (value.rank == 1 or op.input.rank == 1 or op.input.rank > value.rank):
        return None  # its shape has to be said
    if value.rank == 1:
        value = rw.emit("top.Reshape", value, shape=(1, weights.shape[-2 if op.left_transpose and op.input.rank > 1 else -1]))
    elif not op.right_transpose:
        value = rw.emit("top.Permute", value, order=_swapped(value.rank))
    last = {key: kept for key, kept in op.attributes.items() if key in ("do_relu", "relu_limit")}
    own = {} if op.bias is not None else last
    made = rw.emit(
        "top.MatMul", value, weights, location=f"{name}{PRODUCT}" if name else None,
        right_transpose=op.input.rank == 1 or not op.left_transpose, **own)
    if op.input.rank > 1 and op.right.rank > 1:
        made = rw.emit("top.Permute", made, order=_swapped(made.rank))
    if made.rank != op.output.rank:
        made = rw.emit("top.Reshape", made, shape=op.output.static_shape)
    return made if op.bias is None else rw.emit("top.Add", made, op.bias, **last)


def _matrix(rw: Rewriter, weights: Value) -> Value:
    """The weights as a matrix: a vector as one row, and of a batch of one matrix that matrix; others as they are."""
    if weights.rank > 1 and (weights.rank == 2 or math.prod(weights.static_shape[:-2]) != 1):
        return weights
    dense = constant_of(weights)
    assert dense is not None
    numbers = dense.numpy()
    return rw.constant(numbers[None, :] if weights.rank == 1 else numbers.reshape(numbers.shape[-2:]))


def _swapped(rank: int) -> tuple[int, ...]:
    """The order of dimensions in which the last two change places."""
    return (*range(rank - 2), rank - 1, rank - 2)
