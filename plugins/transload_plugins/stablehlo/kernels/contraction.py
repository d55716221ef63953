"""Kernels of dot_general and convolution.

Sums are taken in f64 (of integers in 64 bits, wrapping around) and rounded once to the result's elements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from transload.ir import Op
from transload.ir.constants import dtype_of
from transload.ir.types import QuantType

from ..dialect.base import padding_of
from .movement import check_shape, padded
from .table import Array, exact_dtype, fit, kernel

if TYPE_CHECKING:
    from ..dialect.contraction import Convolution, Dot, DotGeneral, DynamicConv, Einsum, UnaryEinsum


def _result_dtype(op: Op) -> np.dtype:
    element = op.result.element
    return dtype_of(element.expressed if isinstance(element, QuantType) else element)


def _exact(x: Array, dtype: np.dtype) -> Array:
    """Operands in the dtype that sums for a result of `dtype` are taken in."""
    x = np.asarray(x)
    target = exact_dtype(dtype)
    if dtype == np.bool_:
        return x.astype(np.int64)
    if x.dtype != np.bool_ and target.kind in "iu":
        return x.astype(exact_dtype(x.dtype)).astype(target)
    return x.astype(target)


def _rounded(out: Array, dtype: np.dtype) -> Array:
    return out != 0 if dtype == np.bool_ else fit(out, dtype)


def contract(
    lhs: Array, rhs: Array, batch: tuple[Sequence[int], Sequence[int]], over: tuple[Sequence[int], Sequence[int]]
) -> Array:
    """dot_general of two arrays of one dtype."""
    rest = [[d for d in range(x.ndim) if d not in batch[i] and d not in over[i]] for i, x in enumerate((lhs, rhs))]
    a = np.transpose(lhs, [*batch[0], *rest[0], *over[0]])
    b = np.transpose(rhs, [*batch[1], *over[1], *rest[1]])
    batches = a.shape[: len(batch[0])]
    m, n = [lhs.shape[d] for d in rest[0]], [rhs.shape[d] for d in rest[1]]
    k = math.prod(lhs.shape[d] for d in over[0])
    product = a.reshape((*batches, math.prod(m), k)) @ b.reshape((*batches, k, math.prod(n)))
    return product.reshape((*batches, *m, *n))


@kernel("dot_general")
def dot_general(op: DotGeneral, lhs: Array, rhs: Array) -> Array:
    d, dtype = op.dot_dimension_numbers, _result_dtype(op)
    out = contract(
        _exact(lhs, dtype),
        _exact(rhs, dtype),
        (d.lhs_batching_dimensions, d.rhs_batching_dimensions),
        (d.lhs_contracting_dimensions, d.rhs_contracting_dimensions),
    )
    return _rounded(out, dtype)


@kernel("dot")
def dot(op: Dot, lhs: Array, rhs: Array) -> Array:
    dtype = _result_dtype(op)
    return _rounded(contract(_exact(lhs, dtype), _exact(rhs, dtype), ((), ()), ((np.ndim(lhs) - 1,), (0,))), dtype)


@kernel("einsum", "unary_einsum")
def einsum(op: Einsum | UnaryEinsum, *arrays: Array) -> Array:
    dtype = _result_dtype(op)
    return _rounded(np.einsum(op.einsum_config, *(_exact(array, dtype) for array in arrays)), dtype)


# --- convolution


def _convolve(lhs: Array, rhs: Array, op: Convolution | DynamicConv, spatial: Sequence[int]) -> Array:
    """Of `lhs` N, space, C (padded and dilated) and `rhs` space, C, F: windows gathered place by place and multiplied."""
    out = np.zeros((lhs.shape[0], *spatial, rhs.shape[-1]), lhs.dtype)
    if not out.size:
        return out
    kernel_shape = rhs.shape[:-2]
    for place in np.ndindex(*kernel_shape):
        window = lhs[
            (
                slice(None),
                *(
                    slice(at * dilation, at * dilation + (count - 1) * stride + 1, stride)
                    for at, dilation, count, stride in zip(place, op.rhs_dilation, spatial, op.window_strides, strict=True)
                ),
            )
        ]
        out += window @ rhs[place]
    return out


def _convolution(op: Convolution | DynamicConv, lhs: Array, rhs: Array, padding: Sequence[Sequence[int]]) -> Array:
    d, dtype = op.dimension_numbers, _result_dtype(op)
    x = np.transpose(_exact(lhs, dtype), [d.input_batch_dimension, *d.input_spatial_dimensions, d.input_feature_dimension])
    w = np.transpose(
        _exact(rhs, dtype), [*d.kernel_spatial_dimensions, d.kernel_input_feature_dimension, d.kernel_output_feature_dimension]
    )
    # Reversal swaps a window's elements, which meets the same products as a reversed kernel.
    w = np.flip(w, tuple(axis for axis, flag in enumerate(op.window_reversal) if flag))
    x = padded(
        x,
        np.zeros((), x.dtype),
        [0, *(low for low, _ in padding), 0],
        [0, *(high for _, high in padding), 0],
        [0, *(dilation - 1 for dilation in op.lhs_dilation), 0],
    )
    spatial = []
    for size, window, dilation, stride in zip(x.shape[1:-1], w.shape[:-2], op.rhs_dilation, op.window_strides, strict=True):
        reach = (window - 1) * dilation + 1 if window else 0
        spatial.append(0 if size <= 0 or reach > size else (size - reach) // stride + 1)
    groups = max(op.feature_group_count, op.batch_group_count)
    axis = -1 if op.feature_group_count > 1 else 0
    parts = [_convolve(a, b, op, spatial) for a, b in zip(np.split(x, groups, axis), np.split(w, groups, -1), strict=True)]
    out = np.concatenate(parts, -1) if groups > 1 else parts[0]
    order = [d.output_batch_dimension, *d.output_spatial_dimensions, d.output_feature_dimension]
    return _rounded(np.transpose(out, np.argsort(order)), dtype)


@kernel("convolution")
def convolution(op: Convolution, lhs: Array, rhs: Array) -> Array:
    return _convolution(op, lhs, rhs, padding_of(op, np.ndim(lhs) - 2))


@kernel("dynamic_conv")
def dynamic_conv(op: DynamicConv, lhs: Array, rhs: Array, padding: Array) -> Array:
    return check_shape(op, _convolution(op, lhs, rhs, np.asarray(padding).tolist()))
