"""Products of quantized numbers with weights that have a scale, or a zero point, for each block.

A sum over a dimension whose weights are of several scales is one sum for each group of weights that share theirs, each
scaled by its own factor: as many convolutions as there are groups, whose i32 sums are rescaled to one fine scale, added,
and rescaled to the result's. The fine scale leaves 28 bits to the greatest sum that weights and activations allow, so that
what its rounding loses is far below a step of the result.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from transload.engine.quantized import dequantize
from transload.ir import I8, I32, QuantType, Value
from transload.ir.quantization import grid_of, permuted, sliced, spread
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables
from transload_hub.scales import per_step, scale32

from ... import build
from ..arithmetic.rescaling import activation_range, narrow, quant
from .common import static_shape

if TYPE_CHECKING:
    from transload_hub.ops.matmul import MatMul

__all__ = ["TABLE"]

TABLE = RewriteTable()

GROUPS = 256
"""How many convolutions one product may become; where there would be more, it is computed in float."""

_SUM_BITS = 28
_LOST = 2.0**-8
"""What a step of the fine scale may be of a step of the result."""


@TABLE("top.MatMul")
def by_groups(op: MatMul, rw: Rewriter) -> Value | None:
    """None, and then in float, where the weights are computed, there are too many groups, or 28 bits are too few."""
    source, held, target = quant(op.input), quant(op.right), quant(op.result)
    weights = rw.constant_of(op.right)
    if source is None or held is None or target is None or weights is None:
        return None
    if held.blocks is None and len(set(held.zero_points)) == 1:
        return None  # which one convolution can say
    if not source.per_tensor or source.storage != I8 or held.storage != I8 or weights.ndim != 2 or op.left_transpose:
        return None
    if not op.right_transpose:
        weights, held = weights.T, permuted(held, (1, 0))
    factors, groups = _groups(weights, held, source)
    if groups is None:
        return None
    bias = _real_bias(op, rw)
    if op.bias is not None and bias is None:
        return None
    most = sum(factor.max() * reach for factor, (_, reach) in zip(factors, groups, strict=True))
    most += float(np.abs(bias).max(initial=0.0)) if bias is not None else 0.0
    fine = 2.0 ** (math.ceil(math.log2(most or 1.0)) - _SUM_BITS)
    if fine > target.scale * _LOST:
        return None
    total = _sum(op, rw, factors, [numbers for numbers, _ in groups], source, fine)
    if bias is not None:
        steps = build.const(rw, np.rint(bias / fine).astype(np.int32))
        total = rw.emit("tosa.add", *build.equal_rank(rw, total, steps), element=I32)
    return narrow(rw, total, per_step(fine, target.scale), op.result.element, activation=activation_range(op))


def _groups(
    weights: np.ndarray, held: QuantType, source: QuantType,
) -> tuple[list[np.ndarray], list[tuple[np.ndarray, float]] | None]:
    """Of `weights` `[N, K]`, group by group along K: factors `[N]`, numbers less their zero points, and how far sums reach."""
    size = grid_of(held, 2).sizes[1] or weights.shape[1]
    count = weights.shape[1] // size
    if count > GROUPS:
        return [], None
    widest = max(source.zero_point - source.storage_min, source.storage_max - source.zero_point)
    factors: list[np.ndarray] = []
    groups: list[tuple[np.ndarray, float]] = []
    for start in range(0, weights.shape[1], size):
        part: QuantType = sliced(held, 2, 1, range(start, start + size))  # type: ignore[assignment]
        centred = weights[:, start : start + size].astype(np.int64) - spread(part.zero_points, part, 2, np.int64)
        if centred.min(initial=0) < I8.range[0] or centred.max(initial=0) > I8.range[1]:
            return [], None
        scales = np.broadcast_to(spread(part.scales, part, 2, np.float64), (len(weights), 1)).reshape(-1)
        factors.append(source.scale * scales)
        groups.append((centred.astype(np.int8), float(np.abs(centred).sum(1).max(initial=0)) * widest))
    return factors, groups


def _real_bias(op: MatMul, rw: Rewriter) -> np.ndarray | None:
    """The numbers of a constant bias that says what they are."""
    array, held = rw.constant_of(op.bias), quant(op.bias)
    if array is None:
        return None
    if held is not None:
        return dequantize(array, held, np.float64)
    return array.astype(np.float64) if array.dtype.kind != "i" else None


def _sum(
    op: MatMul, rw: Rewriter, factors: list[np.ndarray], groups: list[np.ndarray], source: QuantType, fine: float,
) -> Value:
    """The sums of all groups in steps of `fine`, as i32 of the result's shape."""
    shape = static_shape(op.input)
    rows, outputs = math.prod(shape[:-1]), len(groups[0])
    x = build.reshape(rw, op.input, (rows, 1, 1, shape[-1]))
    zero_points = build.zero_point(rw, source.zero_point, x.element), build.zero_point(rw, 0, I8)
    nothing = build.const(rw, tables.zeros(outputs, np.int32))
    total: Value | None = None
    start = 0
    for factor, numbers in zip(factors, groups, strict=True):
        size = numbers.shape[1]
        part = build.slice_(rw, x, (0, 0, 0, start), (rows, 1, 1, size))
        made = rw.emit(
            "tosa.conv2d", part, build.const(rw, numbers.reshape(outputs, 1, 1, size)), nothing, *zero_points, element=I32,
            pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1), acc_type=I32)
        scales = [scale32(real) for real in (factor / fine).tolist()]
        one = len(set(scales)) == 1
        made = build.rescale(
            rw, made, [s.multiplier for s in scales[: 1 if one else None]], [s.shift for s in scales[: 1 if one else None]], 0, 0,
            I32, per_channel=not one)
        total = made if total is None else rw.emit("tosa.add", total, made, element=I32)
        start += size
    assert total is not None
    return build.reshape(rw, total, static_shape(op.result))
