"""Constant weights that absorb a Permute: `flatten` of a feature map in front of a fully connected layer.

A channels-first model flattens `[N, C, H, W]` to `[N, C*H*W]` and multiplies by a constant matrix.
Where the map is stored as `[N, H, W, C]`, the rows of the matrix are put into that order instead.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ir import Module, Op, TensorType, Value
from ..ir.build import Builder, constant_of
from ..ir.constants import Dense, LazyData

__all__ = ["absorb_permutes"]


def absorb_permutes(module: Module) -> bool:
    """Remove each Permute that the weight of a MatMul can absorb; whether there was one."""
    changed = False
    for op in module.walk():
        if op.name == "top.MatMul":
            changed |= _absorb(op)
    return changed


def _absorb(matmul: Op) -> bool:
    """`MatMul(f(Reshape(Permute(x))), W)` to `MatMul(f(Reshape(x)), W')` with f elementwise, where the rows allow it."""
    weight: Value = matmul.right
    dense = constant_of(weight)
    if dense is None or len(dense.shape) != 2 or matmul.left_transpose:
        return False
    reshape = _through_elementwise(matmul.input)
    if reshape is None or reshape.name != "top.Reshape" or len(reshape.result.uses) != 1:
        return False
    permute = reshape.operands[0].op
    if permute is None or permute.name != "top.Permute" or len(permute.result.uses) != 1:
        return False
    source = permute.operands[0]
    if not (isinstance(source.type, TensorType) and source.type.is_static and isinstance(reshape.result.type, TensorType)):
        return False
    order: tuple[int, ...] = tuple(axis % source.rank for axis in permute.order)
    if getattr(weight.element, "axis", None) == (1 if matmul.right_transpose else 0):
        return False  # a scale for each row
    rows = dense.shape[1] if matmul.right_transpose else dense.shape[0]
    new_order = _row_order(source.type.shape, order, reshape.result.type.shape, rows)  # type: ignore[arg-type]
    if new_order is None:
        return False
    matmul.operands = tuple(
        _reordered(weight, dense, new_order, matmul.right_transpose, matmul) if operand is weight else operand
        for operand in matmul.operands)
    reshape.operands = (source,)
    permute.erase()
    if not weight.uses and weight.op is not None:
        weight.op.erase()
    return True


def _through_elementwise(value: Value) -> Op | None:
    """The op that makes `value`, looked for behind elementwise ops of one operand that nobody else uses."""
    op = value.op
    while op is not None and len(op.operands) == 1 and len(op.results) == 1 and len(op.result.uses) == 1:
        declaration = op.declaration
        if declaration is None or "elementwise" not in declaration.traits or getattr(op.result.element, "axis", None) is not None:
            break
        op = op.operands[0].op
    return op


def _row_order(shape: tuple[int, ...], order: tuple[int, ...], flat: tuple[int, ...], rows: int) -> np.ndarray | None:
    """For each row of the new weight the row of the old one; None where the Permute mixes rows and columns.

    `shape` is that of the Permute's operand, `flat` that of the reshaped tensor, whose last dimension
    of size `rows` is multiplied.
    """
    if not flat or flat[-1] != rows or rows == 0:
        return None
    tail = len(order)  # the trailing dimensions of the Permute's result that become the rows
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


def _reordered(weight: Value, dense: Dense, rows: np.ndarray, transposed: bool, before: Op) -> Value:
    axis = 1 if transposed else 0
    data: Any = LazyData(lambda: np.ascontiguousarray(np.take(dense.numpy(), rows, axis)), dense.shape, dense.data.dtype)
    maker: Op = weight.op  # type: ignore[assignment]
    builder = Builder(before.parent, before, maker.location)  # type: ignore[arg-type]
    return builder.create(maker.name, (), (weight.type,), {"value": Dense(data, dense.type)}).result
