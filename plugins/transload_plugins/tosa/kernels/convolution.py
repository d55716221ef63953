"""Convolutions, as matrix products over unfolded windows.

Integers go through float BLAS, exactly: see `matrix`. Weights are converted once and kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from transload.budget import need_elements
from transload.errors import RunError
from transload.ir import Op
from transload_hub.kernels.conv import strides_of
from transload_hub.kernels.sums import product, rounds_floats

from ..dialect.base import INT4
from .base import float_of, is_float, kernel, prepared, scalar_of
from .matrix import float_dtype, greatest, result_of_sums, shifted

if TYPE_CHECKING:
    from ..dialect.spatial import Conv2d, Conv3d, DepthwiseConv2d, TransposeConv2d

UNFOLD_LIMIT = 1 << 26
"""Bytes of unfolded windows made at a time; a larger convolution goes by strips of rows."""


def _weights(
    op: Op, x: np.ndarray, weight: np.ndarray, input_zp: int, weight_zp: int, sum_axes: tuple[int, ...],
) -> tuple[Any, Any]:
    """The weights as floats, in the narrowest type in which all sums with such inputs are exact, and that type."""
    if is_float(op.operands[0]):
        return prepared.get(weight, ("float",), lambda: float_of(weight)), np.float32

    def make() -> tuple[np.ndarray, Any]:
        if weight.dtype == ml_dtypes.int4 and (weight.astype(np.int8) < INT4[0]).any():
            raise RunError(f"{op.called}: a weight is -8, and TOSA's int4_t ends at -7", hint="hold the weights in i8")
        whole = weight.astype(np.int16) - np.int16(weight_zp)
        sums = np.abs(whole).sum(axis=sum_axes, dtype=np.int64)
        bound = int(sums.max(initial=0)) * greatest(x, input_zp)
        dtype = float_dtype(bound)
        return whole.astype(dtype), dtype

    return prepared.get(weight, ("integer", greatest(x, input_zp), weight_zp, sum_axes), make)


def _input(op: Op, x: np.ndarray, zero_point: int, dtype: Any) -> np.ndarray:
    return float_of(x) if is_float(op.operands[0]) else shifted(x, zero_point, dtype)


def padded(x: np.ndarray, pad: Sequence[int]) -> np.ndarray:
    """`x` (N, spatial..., C) with zeros around: what a zero point subtracted from itself leaves."""
    if not any(pad):
        return x
    spatial = x.ndim - 2
    shape = [x.shape[0], *(x.shape[1 + i] + pad[2 * i] + pad[2 * i + 1] for i in range(spatial)), x.shape[-1]]
    need_elements(shape, "the image with its padding")
    out = np.zeros(shape, x.dtype)
    out[(slice(None), *(slice(pad[2 * i], pad[2 * i] + x.shape[1 + i]) for i in range(spatial)))] = x
    return out


def windows(
    x: np.ndarray, kernel_sizes: Sequence[int], strides: Sequence[int], dilations: Sequence[int], out: Sequence[int],
) -> np.ndarray:
    """A view (N, out..., kernel..., C) of all windows of a padded tensor."""
    steps = x.strides
    return np.lib.stride_tricks.as_strided(
        x, (x.shape[0], *out, *kernel_sizes, x.shape[-1]),
        (steps[0], *strides_of(steps[1:-1], strides, out), *strides_of(steps[1:-1], dilations, kernel_sizes), steps[-1]),
        writeable=False)


@kernel("tosa.conv2d", "tosa.conv3d")
def convolution(
    op: Conv2d | Conv3d, x: np.ndarray, weight: np.ndarray, bias: np.ndarray, input_zp: np.ndarray, weight_zp: np.ndarray,
) -> np.ndarray:
    """`x` (N, spatial..., IC) with `weight` (OC, kernel..., IC), in 2 or 3 dimensions."""
    attributes = op.attributes
    strides, dilations, pad = attributes["stride"], attributes["dilation"], attributes["pad"]
    zero, weight_zero = _zero_points(op, input_zp, weight_zp)
    weights, dtype = _weights(op, x, weight, zero, weight_zero, tuple(range(1, weight.ndim)))
    kernel_sizes, channels = weight.shape[1:-1], weight.shape[0]
    matrix = weights.reshape(channels, math.prod(weights.shape[1:])).T
    in_order = is_float(op.operands[0]) and rounds_floats(op)
    whole = padded(_input(op, x, zero, dtype), pad)
    out = tuple(
        (size - (k - 1) * d - 1) // s + 1
        for size, k, s, d in zip(whole.shape[1:-1], kernel_sizes, strides, dilations, strict=True))
    if not channels:
        return result_of_sums(op, np.zeros((x.shape[0], *out, 0), whole.dtype), bias)
    if math.prod(kernel_sizes) == 1:
        if any(s != 1 for s in strides):
            whole = np.ascontiguousarray(whole[(slice(None), *(slice(None, None, s) for s in strides))])
        sums = product(whole.reshape(-1, whole.shape[-1]), matrix, in_order)
        return result_of_sums(op, sums, bias).reshape(x.shape[0], *out, channels)
    view = windows(whole, kernel_sizes, strides, dilations, out)
    row_bytes = math.prod(out[1:]) * math.prod(kernel_sizes) * x.shape[-1] * max(whole.itemsize, 1)
    rows = max(1, UNFOLD_LIMIT // max(row_bytes, 1))
    if x.shape[0] * out[0] <= rows:
        sums = product(view.reshape(-1, matrix.shape[0]), matrix, in_order)
    else:
        sums = np.empty((x.shape[0], *out, channels), whole.dtype)
        for n in range(x.shape[0]):
            for start in range(0, out[0], rows):
                strip = view[n, start : start + rows]
                part = product(strip.reshape(-1, matrix.shape[0]), matrix, in_order)
                sums[n, start : start + rows] = part.reshape(*strip.shape[: len(out)], channels)
    return result_of_sums(op, sums.reshape(-1, channels), bias).reshape(x.shape[0], *out, channels)


def _zero_points(op: Op, input_zp: np.ndarray, weight_zp: np.ndarray) -> tuple[int, int]:
    if is_float(op.operands[0]):
        return 0, 0
    return scalar_of(input_zp), scalar_of(weight_zp)


@kernel("tosa.depthwise_conv2d")
def depthwise(
    op: DepthwiseConv2d, x: np.ndarray, weight: np.ndarray, bias: np.ndarray, input_zp: np.ndarray, weight_zp: np.ndarray,
) -> np.ndarray:
    """`x` (N,H,W,C) with `weight` (KH,KW,C,M): a sum over the kernel's places of shifted slices times weights."""
    (sy, sx), (dy, dx) = op.attributes["stride"], op.attributes["dilation"]
    zero, weight_zero = _zero_points(op, input_zp, weight_zp)
    weights, dtype = _weights(op, x, weight, zero, weight_zero, (0, 1))
    kh, kw, channels, multiplier = weight.shape
    whole = padded(_input(op, x, zero, dtype), op.attributes["pad"])
    oh = (whole.shape[1] - (kh - 1) * dy - 1) // sy + 1
    ow = (whole.shape[2] - (kw - 1) * dx - 1) // sx + 1
    sums = np.zeros((x.shape[0], oh, ow, channels, multiplier), whole.dtype)
    term = np.empty_like(sums)
    for ky in range(kh):
        for kx in range(kw):
            part = whole[:, ky * dy : ky * dy + (oh - 1) * sy + 1 : sy, kx * dx : kx * dx + (ow - 1) * sx + 1 : sx]
            np.multiply(part[..., None], weights[ky, kx], out=term)
            np.add(sums, term, out=sums)
    return result_of_sums(op, sums.reshape(x.shape[0], oh, ow, channels * multiplier), bias)


@kernel("tosa.transpose_conv2d")
def transpose_convolution(
    op: TransposeConv2d, x: np.ndarray, weight: np.ndarray, bias: np.ndarray, input_zp: np.ndarray, weight_zp: np.ndarray,
) -> np.ndarray:
    """`x` (N,IH,IW,IC) with `weight` (OC,KH,KW,IC): each input place adds its product with the kernel to the result."""
    sy, sx = op.attributes["stride"]
    top, bottom, left, right = op.attributes["out_pad"]
    zero, weight_zero = _zero_points(op, input_zp, weight_zp)
    weights, dtype = _weights(op, x, weight, zero, weight_zero, (1, 2, 3))
    channels, kh, kw, inner = weight.shape
    n, height, width, _ = x.shape
    whole = _input(op, x, zero, dtype).reshape(-1, inner)
    # The sums over the kernel's places are bounded as those over the input channels, so floats stay exact.
    full = np.zeros((n, (height - 1) * sy + kh, (width - 1) * sx + kw, channels), whole.dtype)
    for ky in range(kh):
        for kx in range(kw):
            part = (whole @ weights[:, ky, kx].T).reshape(n, height, width, channels)
            full[:, ky : ky + (height - 1) * sy + 1 : sy, kx : kx + (width - 1) * sx + 1 : sx] += part
    # Padding of the result: places beyond the scattered ones hold the bias alone; negative padding cuts.
    grown = padded(full, [max(p, 0) for p in (top, bottom, left, right)])
    cut = grown[:, max(-top, 0) : grown.shape[1] - max(-bottom, 0), max(-left, 0) : grown.shape[2] - max(-right, 0)]
    return result_of_sums(op, np.ascontiguousarray(cut), bias)
