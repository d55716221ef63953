"""Kernels of batch normalization, linear algebra and Fourier transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from transload.ir.constants import dtype_of
from transload.ir.types import QuantType

from .table import Array, exact_dtype, fit, kernel

if TYPE_CHECKING:
    from ..dialect.numeric import BatchNormGrad, BatchNormInference, BatchNormTraining, Cholesky, Fft, TriangularSolve

# --- batch normalization, in double precision and rounded at the end


def _spread(vector: Array, rank: int, feature: int) -> Array:
    """A vector along the feature dimension of a tensor."""
    return np.asarray(vector).astype(np.float64).reshape([-1 if d == feature else 1 for d in range(rank)])


def _others(rank: int, feature: int) -> tuple[int, ...]:
    return tuple(d for d in range(rank) if d != feature)


@kernel("batch_norm_inference")
def batch_norm_inference(op: BatchNormInference, x: Array, scale: Array, offset: Array, mean: Array, variance: Array) -> Array:
    rank, feature = np.ndim(x), op.feature_index
    wide = np.asarray(x).astype(np.float64)
    centred = wide - _spread(mean, rank, feature)
    deviation = np.sqrt(_spread(variance, rank, feature) + op.epsilon)
    return fit(_spread(scale, rank, feature) * (centred / deviation) + _spread(offset, rank, feature), np.asarray(x).dtype)


@kernel("batch_norm_training")
def batch_norm_training(op: BatchNormTraining, x: Array, scale: Array, offset: Array) -> tuple[Array, Array, Array]:
    dtype, wide = np.asarray(x).dtype, np.asarray(x).astype(np.float64)
    axes = _others(wide.ndim, op.feature_index)
    mean = wide.mean(axes)
    variance = ((wide - _spread(mean, wide.ndim, op.feature_index)) ** 2).mean(axes)
    out = _spread(scale, wide.ndim, op.feature_index) * (
        (wide - _spread(mean, wide.ndim, op.feature_index)) / np.sqrt(_spread(variance, wide.ndim, op.feature_index) + op.epsilon)
    ) + _spread(offset, wide.ndim, op.feature_index)
    return fit(out, dtype), fit(mean, dtype), fit(variance, dtype)


@kernel("batch_norm_grad")
def batch_norm_grad(
    op: BatchNormGrad, x: Array, scale: Array, mean: Array, variance: Array, grad: Array,
) -> tuple[Array, Array, Array]:
    dtype, wide, grad = np.asarray(x).dtype, np.asarray(x).astype(np.float64), np.asarray(grad).astype(np.float64)
    rank, feature = wide.ndim, op.feature_index
    axes = _others(rank, feature)
    count = wide.size / max(wide.shape[feature], 1)
    centred = wide - _spread(mean, rank, feature)
    spread_variance = _spread(variance, rank, feature) + op.epsilon
    deviation = np.sqrt(spread_variance)
    sums = np.sum(grad, axes, keepdims=True)
    products = np.sum(grad * centred, axes, keepdims=True)
    inner = grad * count - sums - products * centred / spread_variance
    grad_operand = _spread(scale, rank, feature) / deviation / count * inner
    return fit(grad_operand, dtype), fit(np.sum(grad * (centred / deviation), axes), dtype), fit(np.sum(grad, axes), dtype)


# --- linear algebra


@kernel("cholesky")
def cholesky(op: Cholesky, a: Array) -> Array:
    """NaN where a matrix is not positive-definite; zero in the other triangle."""
    dtype = np.asarray(a).dtype
    wide = np.asarray(a).astype(exact_dtype(dtype))
    lower = wide if op.lower else np.conj(np.swapaxes(wide, -1, -2))
    out = np.zeros_like(lower)
    for index in np.ndindex(*lower.shape[:-2]):
        matrix = np.tril(lower[index])
        full = matrix + np.conj(np.tril(matrix, -1).T)
        try:
            out[index] = np.linalg.cholesky(full)
        except np.linalg.LinAlgError:
            out[index] = np.tril(np.full_like(full, np.nan))
    return fit(out if op.lower else np.conj(np.swapaxes(out, -1, -2)), dtype)


@kernel("triangular_solve")
def triangular_solve(op: TriangularSolve, a: Array, b: Array) -> Array:
    dtype = np.asarray(b).dtype
    exact = exact_dtype(dtype)
    matrix, right = np.asarray(a).astype(exact), np.asarray(b).astype(exact)
    matrix = np.tril(matrix) if op.lower else np.triu(matrix)
    lower = op.lower
    if op.transpose_a != "NO_TRANSPOSE":
        matrix, lower = np.swapaxes(matrix, -1, -2), not lower
        if op.transpose_a == "ADJOINT":
            matrix = np.conj(matrix)
    if not op.left_side:  # x a = b is a^T x^T = b^T
        matrix, right, lower = np.swapaxes(matrix, -1, -2), np.swapaxes(right, -1, -2), not lower
    out = np.zeros_like(right)
    size = matrix.shape[-1]
    for row in range(size) if lower else range(size - 1, -1, -1):
        known = np.einsum("...k,...kn->...n", matrix[..., row, :], out)
        rest = right[..., row, :] - known
        out[..., row, :] = rest if op.unit_diagonal else rest / matrix[..., row, row, None]
    return fit(out if op.left_side else np.swapaxes(out, -1, -2), dtype)


# --- Fourier transforms


@kernel("fft")
def fft(op: Fft, x: Array) -> Array:
    element = op.result.element
    dtype = dtype_of(element.expressed if isinstance(element, QuantType) else element)
    x = np.asarray(x)
    axes = list(range(x.ndim - len(op.fft_length), x.ndim))
    if 0 in x.shape:
        return np.zeros([0 if size is None else size for size in op.result.shape], dtype)
    wide = x.astype(exact_dtype(x.dtype))
    if op.fft_type == "FFT":
        return np.fft.fftn(wide, axes=axes).astype(dtype)
    if op.fft_type == "IFFT":
        return np.fft.ifftn(wide, axes=axes).astype(dtype)
    if op.fft_type == "RFFT":
        return np.fft.rfftn(wide, axes=axes).astype(dtype)
    return np.fft.irfftn(wide, s=op.fft_length, axes=axes).astype(dtype)
