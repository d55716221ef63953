"""Rounding of weights against each other where they share scales in groups, for schemes of weights alone.

As `rounding` does it for a scale of each channel: by the second moments `H` of a layer's inputs the error of its sums is
`(w - q)' H (w - q)`; weights are rounded in the order of falling moments, and what remains of each goes to those still to be
rounded. Scales are chosen before, so that a weight finds its group's wherever it stands in that order.

Source: E. Frantar et al., "GPTQ: accurate post-training quantization for generative pre-trained transformers", ICLR 2023, with
static groups as its authors' program has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transload.ir import Module, Op, QuantType, Value
from transload.ir.quantization import spread

from .rounding import BLOCK, Layer, grouped, in_order, layer_of, see_inputs, ungrouped

__all__ = ["compensated", "compensated_floats", "moments_of"]

Array = NDArray[np.float64]
Nearest = Callable[[Array, Array, Array], Array]
"""What is stored of weights, given their scales and their zero points."""
ROWS = 1 << 20
"""Weights that are rounded at a time, about: what is made of them on the way takes many times the room of the weights."""


def moments_of(module: Module, ops: Sequence[Op], samples: Sequence[Mapping[str, Any]]) -> dict[Op, Array]:
    """Of each op that sums products with constant weights the second moments of its inputs on samples, [groups, D, D].

    Those with too many inputs to a sum have none, nor those of computed shapes.
    """
    inputs: dict[Value, list[Layer]] = {}
    for op in ops:
        layer = layer_of(op)
        if layer is not None:
            inputs.setdefault(op.operands[0], []).append(layer)
    if not inputs:
        return {}
    see_inputs(module, inputs, samples)
    return {layer.op: layer.moments() for there in inputs.values() for layer in there if layer.rows}


def compensated(op: Op, numbers: NDArray[np.floating], type_: QuantType, moments: Array) -> NDArray[np.int64]:
    """The integers of an op's weights in a type, by the moments of what they are multiplied by."""
    def laid_out(values: Any) -> NDArray[Any]:
        return grouped(op, np.broadcast_to(spread(values, type_, numbers.ndim, np.float64), numbers.shape))

    def nearest(weights: Array, scales: Array, points: Array) -> Array:
        found: Array = np.clip(np.round(weights / scales) + points, type_.storage_min, type_.storage_max)
        return found

    dtype = np.int8 if type_.storage.width <= 8 else np.int64
    result: NDArray[np.int64] = _compensated(
        op, numbers, laid_out(type_.scales), laid_out(type_.zero_points), nearest, np.dtype(dtype), moments)
    return result


def compensated_floats(
    op: Op, numbers: NDArray[np.floating], scales: Array, held: Callable[[Array], NDArray[Any]], moments: Array,
) -> NDArray[Any]:
    """An op's weights over their scales, which broadcast to them, as floats of few bits: `held` gives the nearest."""
    def nearest(weights: Array, scales: Array, points: Array) -> Array:
        return held(weights / scales).astype(np.float64)

    laid_out = grouped(op, np.broadcast_to(scales, numbers.shape))
    return held(_compensated(op, numbers, laid_out, np.zeros_like(laid_out), nearest, np.dtype(np.float64), moments))


def _compensated(
    op: Op, numbers: NDArray[np.floating], scales: Array, points: Array, nearest: Nearest, dtype: np.dtype[Any], moments: Array,
) -> NDArray[Any]:
    """Stored numbers of an op's weights; scales and points [G, O, D], one for each weight.

    Output channels do not depend on each other: so many are rounded at a time as `ROWS` says.
    """
    order, passed = in_order(moments)
    weights = grouped(op, numbers)
    result = np.empty(weights.shape, dtype)
    rows = max(1, ROWS // (weights.shape[0] * weights.shape[2]))
    for start in range(0, weights.shape[1], rows):
        some = (slice(None), slice(start, start + rows))
        result[some] = _rounded(weights[some].astype(np.float64), scales[some], points[some], nearest, order, passed)
    return ungrouped(op, result, numbers.shape)


def _rounded(
    weights: Array, scales: Array, points: Array, nearest: Nearest, order: NDArray[np.intp], passed: Array,
) -> Array:
    """What is stored of weights [G, O, D], with the scale and the zero point of each."""
    places = np.broadcast_to(order[:, None, :], weights.shape)
    given, scales, points = (np.take_along_axis(array, places, 2) for array in (weights, scales, points))
    left, found = given.copy(), np.zeros_like(given)
    for start in range(0, left.shape[2], BLOCK):
        stop = min(start + BLOCK, left.shape[2])
        remains = np.zeros((*left.shape[:2], stop - start))
        for place in range(start, stop):
            scale, point = scales[:, :, place], points[:, :, place]
            stored = nearest(left[:, :, place], scale, point)
            found[:, :, place] = stored
            remains[:, :, place - start] = given[:, :, place] - (stored - point) * scale
            left[:, :, place + 1:stop] += remains[:, :, place - start, None] * passed[:, place, None, place + 1:stop]
        left[:, :, stop:] += remains @ passed[:, start:stop, stop:]
    result = np.empty_like(found)
    np.put_along_axis(result, places, found, 2)
    return result
