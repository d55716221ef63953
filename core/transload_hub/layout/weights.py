"""Constant weights that absorb an order: `flatten` of a feature map in front of a fully connected layer.

A channels-first model flattens `[N, C, H, W]` to `[N, C*H*W]` and multiplies by a constant matrix.
Where the map is stored as `[N, H, W, C]`, the rows of the matrix are put into that order instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from transload.ir import Op, TensorType, Value
from transload.ir.build import Builder, constant_of, part_location
from transload.ir.constants import Dense, LazyData
from transload.ir.quantization import grid_of

from .forms import Form, inverse, stored_shape

__all__ = ["absorber"]


def absorber(reshape: Op) -> Callable[[Form], Callable[[], None] | None] | None:
    """How what follows `reshape` can do with its operand in another form, where it can at all.

    That is where the result goes, through elementwise ops of one operand that nobody else uses, into a
    MatMul with a constant matrix. The function returned takes the operand's form and gives what to do
    to the matrix so that the reshape may be of the stored data instead; None where that is not enough.
    Tensors between the two then hold the numbers of the model's in another order, and have no name of its.
    """
    *between, matmul = _as_far_as_matmul(reshape)
    if matmul.name != "top.MatMul":
        return None
    before, after = reshape.operands[0].type, reshape.results[0].type
    if not (isinstance(before, TensorType) and isinstance(after, TensorType) and before.is_static and after.is_static):
        return None
    weight: Value = matmul.right
    dense: Dense = constant_of(weight)  # type: ignore[assignment]
    axis = 1 if matmul.right_transpose else 0
    if not _of_one_scale(weight, axis):
        return None  # rows would move away from their scales
    shape, flat = before.shape, after.shape

    def absorb(form: Form) -> Callable[[], None] | None:
        rows = _row_order(stored_shape(shape, form), inverse(form), flat, dense.shape[axis])  # type: ignore[arg-type]
        return None if rows is None else lambda: _reorder(matmul, weight, dense, rows, axis, between)

    return absorb


def _as_far_as_matmul(reshape: Op) -> Iterator[Op]:
    """The reshape, the elementwise ops behind it, and last the MatMul that they lead to, if it is one."""
    op, value = reshape, reshape.results[0]
    yield op
    while len(value.uses) == 1:
        op, count = next(iter(value.uses.items()))
        if op.parent is not value.owner.parent or count != 1:
            return
        if op.name == "top.MatMul":
            dense = constant_of(op.right)
            fits = op.operands[0] is value and not op.left_transpose and dense is not None and len(dense.shape) == 2
            if fits:
                yield op
            return
        declaration = op.declaration
        if (
            len(op.operands) != 1 or len(op.results) != 1 or declaration is None or "elementwise" not in declaration.traits
            or not _of_one_scale(op.results[0], -1)
        ):
            return
        yield op
        value = op.results[0]


def _of_one_scale(value: Value, axis: int) -> bool:
    """Whether the indices of a dimension share their scales, if a tensor has any: by none of its own, nor by blocks of them."""
    return value.quant is None or grid_of(value.quant, value.rank).grid[axis] == 1


def _row_order(shape: tuple[int, ...], order: Form, flat: tuple[int, ...], rows: int) -> np.ndarray | None:
    """For each row of the new weight the row of the old one; None where rows and columns are mixed.

    `shape` is the stored one, `order` says for each dimension of the plain tensor which one of the
    stored one it is, `flat` is the reshaped one, whose last dimension of size `rows` is multiplied.
    """
    if not flat or flat[-1] != rows or rows == 0 or 0 in shape:
        return None
    tail = len(order)  # the trailing dimensions that become the rows
    while math.prod(shape[dim] for dim in order[tail:]) < rows and tail > 0:
        tail -= 1
    inner = order[tail:]
    if math.prod(shape[dim] for dim in inner) != rows:
        return None
    in_memory = [dim for dim in range(len(shape)) if shape[dim] != 1]
    outer = [dim for dim in order[:tail] if shape[dim] != 1]
    if in_memory[: len(outer)] != outer:
        return None
    numbers = np.arange(rows).reshape([shape[dim] for dim in inner])
    return numbers.transpose(np.argsort(inner)).reshape(-1)


def _reorder(matmul: Op, weight: Value, dense: Dense, rows: np.ndarray, axis: int, between: list[Op]) -> None:
    for op in between:
        op.location = part_location(op.location, "layout")
    data: Any = LazyData(lambda: np.ascontiguousarray(np.take(dense.numpy(), rows, axis)), dense.shape, dense.data.dtype)
    maker: Op = weight.op  # type: ignore[assignment]
    builder = Builder(matmul.parent, matmul, maker.location)  # type: ignore[arg-type]
    new = builder.create(maker.name, (), (weight.type,), {"value": Dense(data, dense.type)}).result
    matmul.operands = tuple(new if operand is weight else operand for operand in matmul.operands)
