"""Batch normalization, linear algebra, Fourier transforms, random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import I32, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables

from ..types import shape_of
from .table import cut_axis, like, permute, product, refuse_complex, reshape, static

if TYPE_CHECKING:
    from ..dialect.numeric import BatchNormGrad, BatchNormInference, BatchNormTraining, Cholesky, Rng, TriangularSolve

__all__ = ["TABLE", "factored"]

TABLE = RewriteTable()

STEPS = 64
"""The largest matrix that is solved or factored, a row a step."""


# --- batch normalization

def _column(rw: Rewriter, vector: Value, rank: int, feature: int) -> Value:
    """A vector along the feature dimension."""
    if feature == rank - 1:
        return vector
    shape = [1] * rank
    shape[feature] = -1
    return rw.emit("top.Reshape", vector, shape=tuple(shape))


def _normalized(
    rw: Rewriter, op: BatchNormInference | BatchNormTraining, x: Value, mean: Value, variance: Value, scale: Value,
    offset: Value,
) -> Value:
    """`top.BatchNorm` with the features last or second, where they are brought if they are elsewhere."""
    feature, rank = op.feature_index, x.rank
    given: dict[str, Any] = {"epsilon": float(op.epsilon)}
    if rank == 1:
        flat = rw.emit("top.BatchNorm", reshape(rw, x, (1, *shape_of(x))), mean, variance, scale, offset, layout="NHWC", **given)
        return reshape(rw, flat, shape_of(x))
    if feature in (1, rank - 1):
        return rw.emit(
            "top.BatchNorm", x, mean, variance, scale, offset, layout="NHWC" if feature == rank - 1 else "NCHW", **given)
    order = [axis for axis in range(rank) if axis != feature] + [feature]
    made = rw.emit("top.BatchNorm", permute(rw, x, order), mean, variance, scale, offset, layout="NHWC", **given)
    return permute(rw, made, [order.index(axis) for axis in range(rank)])


@TABLE("stablehlo.batch_norm_inference")
def batch_norm_inference(op: BatchNormInference, rw: Rewriter) -> Value:
    """`top.BatchNorm`."""
    x, scale, offset, mean, variance = op.operands
    return _normalized(rw, op, x, mean, variance, scale, offset)


@TABLE("stablehlo.batch_norm_training")
def batch_norm_training(op: BatchNormTraining, rw: Rewriter) -> list[Value]:
    """Mean and variance of the batch, and `top.BatchNorm` by them."""
    x, scale, offset = op.operands
    rank, feature = x.rank, op.feature_index
    axes = tuple(axis for axis in range(rank) if axis != feature)
    mean = rw.emit("top.Reduce", x, axes=axes, keepdims=False, mode="ReduceMean")
    centred = rw.emit("top.Sub", x, _column(rw, mean, rank, feature))
    variance = rw.emit("top.Reduce", rw.emit("top.Square", centred), axes=axes, keepdims=False, mode="ReduceMean")
    return [_normalized(rw, op, x, mean, variance, scale, offset), mean, variance]


@TABLE("stablehlo.batch_norm_grad")
def batch_norm_grad(op: BatchNormGrad, rw: Rewriter) -> list[Value]:
    """The specification's formula."""
    x, scale, mean, variance, grad = op.operands
    rank, feature = x.rank, op.feature_index
    axes = tuple(axis for axis in range(rank) if axis != feature)
    count = product([static(x)[axis] for axis in axes])

    def column(vector: Value) -> Value:
        return _column(rw, vector, rank, feature)

    def summed(value: Value) -> Value:
        return rw.emit("top.Reduce", value, axes=axes, keepdims=False, mode="ReduceSum")

    centred = rw.emit("top.Sub", x, column(mean))
    shifted = rw.emit("top.Add", variance, like(rw, variance, op.epsilon))
    inverse = rw.emit("top.Rsqrt", shifted)
    grad_offset, products = summed(grad), summed(rw.emit("top.Mul", grad, centred))
    inner = rw.emit("top.Sub", rw.emit("top.Mul", grad, like(rw, grad, count)), column(grad_offset))
    along = rw.emit("top.Div", products, shifted)
    inner = rw.emit("top.Sub", inner, rw.emit("top.Mul", centred, column(along)))
    factor = rw.emit("top.Mul", rw.emit("top.Mul", scale, inverse), like(rw, scale, 1 / max(count, 1)))
    return [rw.emit("top.Mul", inner, column(factor)), rw.emit("top.Mul", products, inverse), grad_offset]


# --- linear algebra

def _entry(rw: Rewriter, x: Value, row: int, column: int) -> Value:
    """[.., 1, 1]"""
    return cut_axis(rw, cut_axis(rw, x, x.rank - 2, row, row + 1), x.rank - 1, column, column + 1)


def _swapped(rw: Rewriter, x: Value) -> Value:
    """The last two dimensions swapped."""
    return permute(rw, x, (*range(x.rank - 2), x.rank - 1, x.rank - 2))


def _check_size(n: int) -> None:
    if n > STEPS:
        raise Unsupported(f"a matrix of {n} rows takes {n} steps; up to {STEPS} are made", "compute it before, or in blocks")


@TABLE("stablehlo.cholesky")
def cholesky(op: Cholesky, rw: Rewriter) -> Value:
    """Column by column: `l[:, j] = (a[:, j] - l[:, :j] l[j, :j]) / l[j, j]`."""
    refuse_complex(op)
    a = op.operands[0]
    n = static(a, "the matrix")[-1]
    _check_size(n)
    if n == 0 or 0 in a.shape:
        return a
    lower = a if op.lower else _swapped(rw, a)
    rank = a.rank
    columns: list[Value] = []
    for j in range(n):
        rest = cut_axis(rw, cut_axis(rw, lower, rank - 1, j, j + 1), rank - 2, j, n)  # [.., n - j, 1]
        if columns:
            known = columns[0] if j == 1 else rw.emit("top.Concat", *columns, axis=rank - 1)  # [.., n, j]
            below, own = cut_axis(rw, known, rank - 2, j, n), cut_axis(rw, known, rank - 2, j, j + 1)
            rest = rw.emit("top.Sub", rest, rw.emit("top.MatMul", below, own, right_transpose=True))
        pivot = rw.emit("top.Rsqrt", cut_axis(rw, rest, rank - 2, 0, 1))
        column = rw.emit("top.Mul", rest, pivot)
        if j:
            above = [0] * (2 * rank)
            above[rank - 2] = j
            column = rw.emit("top.Pad", column, paddings=tuple(above))
        columns.append(column)
    made = columns[0] if n == 1 else rw.emit("top.Concat", *columns, axis=rank - 1)
    return made if op.lower else _swapped(rw, made)


@TABLE("stablehlo.triangular_solve")
def triangular_solve(op: TriangularSolve, rw: Rewriter) -> Value:
    """Row by row, each less what the rows before contribute."""
    refuse_complex(op)
    a, b = op.operands
    n = static(a, "the matrix")[-1]
    _check_size(n)
    if 0 in static(b, "the right side"):
        return b
    lower = op.lower
    if op.transpose_a in ("TRANSPOSE", "ADJOINT"):
        a, lower = _swapped(rw, a), not lower
    if not op.left_side:
        a, b, lower = _swapped(rw, a), _swapped(rw, b), not lower
    rank = b.rank
    rows: list[Value] = []
    order: Sequence[int] = range(n) if lower else range(n - 1, -1, -1)
    for i in order:
        row = cut_axis(rw, b, rank - 2, i, i + 1)
        if rows:
            known = rows if lower else rows[::-1]
            joined = known[0] if len(known) == 1 else rw.emit("top.Concat", *known, axis=rank - 2)
            factors = cut_axis(rw, a, rank - 2, i, i + 1)
            factors = cut_axis(rw, factors, rank - 1, *((0, i) if lower else (i + 1, n)))
            row = rw.emit("top.Sub", row, rw.emit("top.MatMul", factors, joined))
        rows.append(row if op.unit_diagonal else rw.emit("top.Div", row, _entry(rw, a, i, i)))
    ordered = rows if lower else rows[::-1]
    made = ordered[0] if n == 1 else rw.emit("top.Concat", *ordered, axis=rank - 2)
    return made if op.left_side else _swapped(rw, made)


def factored(rw: Rewriter, a: Value) -> tuple[Value, Value]:
    """LU factors of matrices in one, and for each row the one that it was exchanged with: column by column.

    The greatest element on and below the diagonal is looked for, its row exchanged with the diagonal's by selecting
    among rows, and what is below made zero: `a[i, :] -= a[i, k] / a[k, k] * a[k, :]`.
    """
    rows, columns = static(a, "the matrix")[-2:]
    _check_size(max(rows, columns))
    rank, count = a.rank, min(rows, columns)
    numbers = rw.constant(tables.arange(rows, dtype=np.int32).reshape(rows, 1))
    below = rw.constant(tables.arange(columns, dtype=np.int32).reshape(1, columns))
    pivots: list[Value] = []
    for k in range(count):
        column = cut_axis(rw, cut_axis(rw, a, rank - 1, k, k + 1), rank - 2, k, rows)
        place = rw.emit("top.Arg", rw.emit("top.Abs", column), axis=rank - 2, mode="ArgMax", element=I32)  # [.., 1, 1]
        place = rw.emit("top.Add", place, like(rw, place, k))
        pivots.append(reshape(rw, place, (*shape_of(a)[:-2], 1)))
        chosen = rw.emit("top.Compare", numbers, place, mode="Equal")
        picked = rw.emit("top.Where", chosen, a, like(rw, a, 0))
        pivot_row = rw.emit("top.Reduce", picked, axes=(rank - 2,), mode="ReduceSum")
        own_row = cut_axis(rw, a, rank - 2, k, k + 1)
        diagonal = rw.emit("top.Compare", numbers, like(rw, numbers, k), mode="Equal")
        a = rw.emit("top.Where", diagonal, pivot_row, rw.emit("top.Where", chosen, own_row, a))
        multiplier = rw.emit("top.Div", cut_axis(rw, a, rank - 1, k, k + 1), _entry(rw, a, k, k))
        update = rw.emit("top.Sub", a, rw.emit("top.Mul", multiplier, pivot_row))
        is_below = rw.emit("top.Compare", numbers, like(rw, numbers, k), mode="Greater")
        right = rw.emit("top.Compare", below, like(rw, below, k), mode="Greater")
        here = rw.emit("top.Compare", below, like(rw, below, k), mode="Equal")
        changed = rw.emit("top.Where", right, update, rw.emit("top.Where", here, multiplier, a))
        a = rw.emit("top.Where", is_below, changed, a)
    return a, pivots[0] if count == 1 else rw.emit("top.Concat", *pivots, axis=rank - 2)


# --- random numbers

@TABLE("stablehlo.rng")
def rng(op: Rng, rw: Rewriter) -> Value:
    """Refused: the numbers are left to whoever runs the program."""
    shape = static(op.results[0], "the result")
    if 0 in shape:
        return rw.constant(tables.zeros(shape, np.float32), op.results[0].element)
    raise Unsupported("makes random numbers by a generator of the machine's own", "give the numbers as an input")
