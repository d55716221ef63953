"""Diagonals and bands of matrices, by tables of places; determinants; and what is computed of constant matrices only."""

from __future__ import annotations

import math

import numpy as np

from transload.budget import budget
from transload.errors import Unsupported
from transload.ir import Op, Value, dtype_of
from transload.rewrite import Rewriter
from transload_hub import tables
from transload_hub.build import reshape, scalar_like
from transload_hub.determinant import determinant

from .table import TfTable, attr, constant_array, constant_int, constant_ints, need_place, shape_of

TABLE = TfTable()

_WORK = 1 << 33
"""Multiplications that may be made of constant matrices: a few seconds' work."""


class _Diagonals:
    """Diagonals `low` to `high` of matrices [rows, columns] as [diagonals, longest]: which place holds which element.

    Diagonal d > 0 is above the main one. A shorter one stands at the left or the right end of its row, as `align` says of those
    above and below. Source: the documentation of `tf.raw_ops.MatrixDiagV3`.
    """

    def __init__(self, rows: int, columns: int, low: int, high: int, align: str) -> None:
        if low > high or not -rows < low < columns or not -rows < high < columns:
            raise Unsupported(f"matrices of {rows} by {columns} have no diagonals {low} to {high}")
        need_place(rows, columns)
        need_place((high - low + 1) * min(rows, columns))
        self.rows, self.columns, self.low, self.high = rows, columns, low, high
        self.lengths = {d: min(rows + min(d, 0), columns - max(d, 0)) for d in range(low, high + 1)}
        self.longest = max(self.lengths.values())
        above, below = align.split("_")
        self.offsets = {
            d: 0 if (d >= 0 and above == "LEFT") or (d <= 0 and below == "LEFT") else self.longest - length
            for d, length in self.lengths.items()}

    @property
    def size(self) -> int:
        """How many places there are for elements of diagonals."""
        return (self.high - self.low + 1) * self.longest

    def elements(self) -> tuple[np.ndarray, np.ndarray]:
        """The number of each diagonal's elements in the matrix, row by row, and the number of their places."""
        in_matrix, in_rows = [], []
        for d, length in self.lengths.items():
            step = tables.arange(length)
            in_matrix.append((step + max(-d, 0)) * self.columns + step + max(d, 0))
            in_rows.append((self.high - d) * self.longest + self.offsets[d] + step)
        return np.concatenate(in_matrix), np.concatenate(in_rows)


def _band(op: Op, rw: Rewriter, index: int) -> tuple[int, int]:
    """The first and the last diagonal: 0, one, or two numbers."""
    numbers = constant_ints(rw, op.operands[index], "the numbers of diagonals") if op.name.endswith(("V2", "V3")) else (0,)
    if not 1 <= len(numbers) <= 2:
        raise Unsupported(f"the numbers of diagonals are {list(numbers)}: one, or the first and the last")
    return numbers[0], numbers[-1]


def _align(op: Op) -> str:
    return str(attr(op, "align", "RIGHT_LEFT")) if op.name.endswith("V3") else "LEFT_LEFT"


def _picked(rw: Rewriter, parts: list[Value], table: np.ndarray) -> Value:
    """Of [batch, n] parts behind each other, the elements at the places of a table."""
    joined = rw.emit("top.Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
    return rw.emit("top.Gather", joined, rw.constant(table.astype(np.int32)), axis=1)


def _filling(rw: Rewriter, op: Op, value: Value, index: int, batch: int) -> Value:
    """What stands where no element is: [batch, 1]."""
    given = op.operands[index] if op.name.endswith(("V2", "V3")) else scalar_like(rw, value, 0)
    return rw.emit("top.Expand", reshape(rw, given, (1, 1)), shape=(batch, 1))


@TABLE("MatrixDiag", "MatrixDiagV2", "MatrixDiagV3")
def matrix_diag(op: Op, rw: Rewriter) -> Value:
    """MatrixDiag, V2, V3: matrices with the given diagonals."""
    value = op.operands[0]
    sizes = shape_of(value, least=1)
    low, high = _band(op, rw, 1)
    count = high - low + 1
    least = (sizes[-1] - min(high, 0), sizes[-1] + max(low, 0))
    rows, columns = -1, -1
    if len(op.operands) > 1:
        rows, columns = (constant_int(rw, op.operands[i], "the size of the matrices") for i in (2, 3))
    if rows == columns == -1:
        rows = columns = max(least)
    rows, columns = (wanted if wanted != -1 else own for wanted, own in zip((rows, columns), least, strict=True))
    diagonals = _Diagonals(rows, columns, low, high, _align(op))
    outer = sizes[:-1] if count == 1 else sizes[:-2]
    batch = math.prod(outer)
    table = tables.full(rows * columns, diagonals.size)
    in_matrix, in_rows = diagonals.elements()
    table[in_matrix] = in_rows
    parts = [reshape(rw, value, (batch, diagonals.size)), _filling(rw, op, value, 4, batch)]
    return reshape(rw, _picked(rw, parts, table), (*outer, rows, columns))


@TABLE("MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3")
def matrix_diag_part(op: Op, rw: Rewriter) -> Value:
    """MatrixDiagPart, V2, V3: the diagonals of matrices."""
    value = op.operands[0]
    *outer, rows, columns = shape_of(value, least=2)
    diagonals = _Diagonals(rows, columns, *_band(op, rw, 1), _align(op))
    batch = math.prod(outer)
    table = np.full(diagonals.size, rows * columns)
    in_matrix, in_rows = diagonals.elements()
    table[in_rows] = in_matrix
    picked = _picked(rw, [reshape(rw, value, (batch, rows * columns)), _filling(rw, op, value, 2, batch)], table)
    count = diagonals.high - diagonals.low + 1
    return reshape(rw, picked, (*outer, *((count,) if count > 1 else ()), diagonals.longest))


@TABLE("MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3")
def matrix_set_diag(op: Op, rw: Rewriter) -> Value:
    """MatrixSetDiag, V2, V3: matrices with other diagonals."""
    value, given = op.operands[:2]
    *outer, rows, columns = sizes = shape_of(value, least=2)
    diagonals = _Diagonals(rows, columns, *_band(op, rw, 2), _align(op))
    batch = math.prod(outer)
    table = tables.arange(rows * columns)
    in_matrix, in_rows = diagonals.elements()
    table[in_matrix] = rows * columns + in_rows
    parts = [reshape(rw, value, (batch, rows * columns)), reshape(rw, given, (batch, diagonals.size))]
    return reshape(rw, _picked(rw, parts, table), sizes)


@TABLE("MatrixBandPart")
def matrix_band_part(op: Op, rw: Rewriter) -> Value:
    """MatrixBandPart: zeros outside a constant number of diagonals below and above the main one; negative: all of them."""
    value = op.operands[0]
    rows, columns = shape_of(value, least=2)[-2:]
    need_place(rows, columns)
    below, above = (constant_int(rw, operand, "the width of the band") for operand in op.operands[1:])
    off = tables.arange(columns) - tables.arange(rows)[:, None]
    inside = ((below < 0) | (-off <= below)) & ((above < 0) | (off <= above))
    return rw.emit("top.Where", rw.constant(inside), value, scalar_like(rw, value, 0))


# --- what takes matrices apart

@TABLE("MatrixInverse", "MatrixDeterminant", "Cholesky", "MatrixSolve", "MatrixTriangularSolve")
def of_constants(op: Op, rw: Rewriter) -> Value:
    """MatrixInverse, MatrixDeterminant, Cholesky, MatrixSolve, MatrixTriangularSolve of constants: computed now.

    The determinant of a matrix that is computed is found by elimination.
    """
    if op.name == "tf.MatrixDeterminant" and rw.constant_of(op.operands[0]) is None:
        shape_of(op.operands[0], least=2, what="the matrix")
        return determinant(rw, op.operands[0])
    matrix, *rest = (constant_array(rw, value, "the matrix").astype(np.float64) for value in op.operands)
    name = op.name.removeprefix("tf.")
    for value in op.operands:
        shape_of(value, least=2, what="the matrix")
    if rest and matrix.shape[:-1] != rest[0].shape[:-1]:
        raise Unsupported(f"a matrix of {list(matrix.shape)} does not fit one of {list(rest[0].shape)}")
    work = matrix.size * matrix.shape[-1]
    if work > _WORK or not budget().may_fold(matrix.nbytes, matrix.nbytes, work):
        raise Unsupported(f"takes apart matrices of shape {list(matrix.shape)}, which would take too long")
    if name == "MatrixTriangularSolve":
        matrix = np.tril(matrix) if attr(op, "lower", True) else np.triu(matrix)
    if attr(op, "adjoint", False):
        matrix = np.swapaxes(matrix, -1, -2)
    try:
        if name == "Cholesky":
            found = np.linalg.cholesky(matrix)
        elif name == "MatrixDeterminant":
            found = np.linalg.det(matrix)
        else:
            found = np.linalg.solve(matrix, rest[0]) if rest else np.linalg.inv(matrix)
    except np.linalg.LinAlgError as error:
        raise Unsupported(f"the matrix has none: {error}") from None
    element = op.operands[0].element
    return rw.constant(np.asarray(found).astype(dtype_of(element)), element=element)
