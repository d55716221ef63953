"""Sums of products: convolutions and matrix products, scaled to a quantized type where a multiplier is given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from transload_hub.kernels.conv import strides_of

from .floats import clamped, in_order, is_float, wide
from .scaling import channels, narrowed, scaled

__all__ = ["OPERATIONS", "conv2d", "matmul"]

OPERATIONS = ("conv2d", "matmul")

UNFOLDED = 1 << 25
"""Bytes of unfolded windows that are made at a time."""


def finish(
    sums: np.ndarray, bias: np.ndarray | None, multiplier: np.ndarray | None, shift: np.ndarray | None, axis: int, *,
    dtype: str, output_zero: int, rounding: str, low: float | None, high: float | None,
) -> np.ndarray:
    """Sums plus the bias of their channel (dimension `axis`), scaled by its multiplier and shift, in the result's type.

    Without a multiplier, integer sums are the result. Floats are multiplied before the bias is added.
    """
    if is_float(sums):
        real = sums if multiplier is None else sums * channels(wide(multiplier), sums.ndim, axis)
        return clamped(real if bias is None else real + channels(wide(bias), sums.ndim, axis), dtype, low, high)
    if bias is not None:
        sums = sums + channels(bias, sums.ndim, axis).astype(np.int64)
    if multiplier is not None:
        sums = scaled(sums, channels(multiplier, sums.ndim, axis), channels(shift, sums.ndim, axis), rounding)
    return narrowed(sums + output_zero, dtype, low, high)


def exact_type(bound: int) -> Any:
    """The float type in which sums of integers up to `bound` are exact: a mantissa holds each partial sum, in any order."""
    return np.float32 if bound <= 1 << 24 else np.float64


def centred(x: np.ndarray, zero: int) -> np.ndarray:
    """Stored integers less their zero point."""
    return x.astype(np.int32) - np.int32(zero) if zero else x.astype(np.int32)


def conv2d(
    x: np.ndarray, weights: np.ndarray, bias: np.ndarray | None = None, multiplier: np.ndarray | None = None,
    shift: np.ndarray | None = None, *, dtype: str, strides: Sequence[int] = (1, 1), pads: Sequence[int] = (0, 0, 0, 0),
    dilations: Sequence[int] = (1, 1), groups: int = 1, input_zero: int = 0, weight_zero: int = 0, output_zero: int = 0,
    rounding: str = "double", low: float | None = None, high: float | None = None,
) -> np.ndarray:
    """`x` [N, C, H, W] with `weights` [O, C/groups, KH, KW]; see `tpu.conv2d`. `pads` are top, left, bottom, right."""
    floats = is_float(x)
    if floats:
        data, kernel = wide(x), wide(weights)
    else:
        whole, kernel = centred(x, input_zero), centred(weights, weight_zero)
        most = int(np.abs(kernel.astype(np.int64)).sum(axis=(1, 2, 3)).max(initial=0)) * int(np.abs(whole).max(initial=0))
        real = exact_type(most)
        data, kernel = whole.astype(real), kernel.astype(real)
    top, left, bottom, right = pads
    if any(pads):
        data = np.pad(data, ((0, 0), (0, 0), (top, bottom), (left, right)))
    if groups == x.shape[1] and weights.shape[1] == 1:
        sums = _depthwise(data, kernel, strides, dilations)
    else:
        sums = np.concatenate([
            _dense(part, rows, strides, dilations, floats)
            for part, rows in zip(np.split(data, groups, 1), np.split(kernel, groups), strict=True)], axis=1)
    if not floats:
        sums = sums.astype(np.int64)
    return finish(
        sums, bias, multiplier, shift, 1, dtype=dtype, output_zero=output_zero, rounding=rounding, low=low, high=high)


def _places(size: int, extent: int, stride: int, dilation: int) -> int:
    return (size - (extent - 1) * dilation - 1) // stride + 1


def _dense(
    x: np.ndarray, weights: np.ndarray, strides: Sequence[int], dilations: Sequence[int], floats: bool,
) -> np.ndarray:
    """All products of a group, by unfolded windows; a strip of rows at a time."""
    n, c, h, w = x.shape
    o, _, kh, kw = weights.shape
    oh, ow = (_places(*each) for each in zip((h, w), (kh, kw), strides, dilations, strict=True))
    steps = x.strides
    view = np.lib.stride_tricks.as_strided(
        x, (n, oh, ow, c, kh, kw),
        (steps[0], *strides_of(steps[2:], strides, (oh, ow)), steps[1], *strides_of(steps[2:], dilations, (kh, kw))),
        writeable=False)
    matrix = np.ascontiguousarray(weights.reshape(o, -1).T)
    out = np.empty((n, oh, ow, o), x.dtype)
    rows = max(1, UNFOLDED // max(1, ow * len(matrix) * x.itemsize))
    for image in range(n):
        for start in range(0, oh, rows):
            strip = view[image, start : start + rows].reshape(-1, len(matrix))
            product = in_order(strip, matrix) if floats else strip @ matrix
            out[image, start : start + rows] = product.reshape(-1, ow, o)
    return out.transpose(0, 3, 1, 2)


def _depthwise(x: np.ndarray, weights: np.ndarray, strides: Sequence[int], dilations: Sequence[int]) -> np.ndarray:
    """Products of each channel with its own filters: a sum over the places of the kernel, in their order."""
    n, c, h, w = x.shape
    o, _, kh, kw = weights.shape
    oh, ow = (_places(*each) for each in zip((h, w), (kh, kw), strides, dilations, strict=True))
    sums = np.zeros((n, c, o // c, oh, ow), x.dtype)
    term = np.empty_like(sums)
    filters = weights.reshape(c, o // c, kh, kw)
    for ky in range(kh):
        for kx in range(kw):
            first_y, first_x = ky * dilations[0], kx * dilations[1]
            part = x[:, :, first_y : first_y + (oh - 1) * strides[0] + 1 : strides[0],
                     first_x : first_x + (ow - 1) * strides[1] + 1 : strides[1]]
            np.multiply(part[:, :, None], filters[None, :, :, ky, kx, None, None], out=term)
            np.add(sums, term, out=sums)
    return sums.reshape(n, o, oh, ow)


def matmul(
    a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None, multiplier: np.ndarray | None = None,
    shift: np.ndarray | None = None, *, dtype: str, transposed: bool = False, input_zero: int = 0, weight_zero: int = 0,
    output_zero: int = 0, rounding: str = "double", low: float | None = None, high: float | None = None,
) -> np.ndarray:
    """`a` [.., M, K] by `b` [.., K, N], or [.., N, K] where `transposed`; see `tpu.matmul`."""
    floats = is_float(a)
    right = b.swapaxes(-1, -2) if transposed else b
    if floats:
        sums = _ordered(wide(a), wide(right))
    else:
        left, whole = centred(a, input_zero), centred(right, weight_zero)
        most = int(np.abs(left).max(initial=0)) * int(np.abs(whole.astype(np.int64)).sum(axis=-2).max(initial=0))
        real = exact_type(most)
        sums = (left.astype(real) @ whole.astype(real)).astype(np.int64)
    return finish(
        sums, bias, multiplier, shift, sums.ndim - 1, dtype=dtype, output_zero=output_zero, rounding=rounding, low=low, high=high)


def _ordered(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Products of stacks of matrices of float32, term by term."""
    if right.ndim == 2:
        return in_order(left.reshape(-1, left.shape[-1]), right).reshape(*left.shape[:-1], right.shape[-1])
    lead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    many = math.prod(lead)
    lefts = np.broadcast_to(left, (*lead, *left.shape[-2:])).reshape(many, *left.shape[-2:])
    rights = np.broadcast_to(right, (*lead, *right.shape[-2:])).reshape(many, *right.shape[-2:])
    made = [in_order(one, other) for one, other in zip(lefts, rights, strict=True)]
    return np.stack(made).reshape(*lead, left.shape[-2], right.shape[-1])
