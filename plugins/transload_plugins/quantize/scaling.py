"""Weights multiplied by factors of their input channels before they are rounded, where channels reach unlike far.

A channel whose numbers are large makes errors of its weights large. Multiplied by a factor, its weights have finer steps beside
those of their group; what the layer takes is divided by it, a product of floats with a constant: the layer computes the same. The
factors are `a ** alpha`, where `a` is the root of the mean square of a channel on samples; alpha is whichever leaves least
error in the sums of the layer, by the second moments of its inputs, rounding against each other included.

Source: J. Lin et al., "AWQ: activation-aware weight quantization for LLM compression and acceleration", MLSys 2024, section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transload.engine.quantized import dequantize
from transload.ir import Dense, Op, QuantType, dtype_of
from transload.ir.build import Builder

from .groups import channel_axis, input_channels
from .rounding import grouped

__all__ = ["divided", "scaled"]

Array = NDArray[np.float64]
Made = tuple[QuantType, NDArray[Any]]
Make = Callable[[Array, Array], Made]
"""Of weights, and of the moments of what they are multiplied by, the type and the integers."""

EXPONENTS = (0.25, 0.5, 0.75)
LEAST = 1e-2
"""The least reach of a channel beside the farthest: one that was silent on the samples may not be so on others."""
GAIN = 0.9
"""What is left of a layer's error where factors are worth their product."""


def scaled(op: Op, numbers: Array, moments: Array, make: Make) -> tuple[Made, Array | None]:
    """The type and the integers of an op's weights, and the factors by which they are multiplied [C]; None: best as they are."""
    best, found = make(numbers, moments), None
    if op.name != "top.MatMul" and op.attribute("group", 1) != 1:
        return best, None
    axis = input_channels(op) % numbers.ndim
    spread = [-1 if place == axis else 1 for place in range(numbers.ndim)]
    owners = grouped(op, np.broadcast_to(np.arange(numbers.shape[axis]).reshape(spread), numbers.shape))[0, 0]
    reach = np.sqrt(np.bincount(owners, np.diag(moments[0])) / np.bincount(owners))
    if not np.isfinite(reach).all() or not reach.any():
        return best, None
    reach = np.maximum(reach / reach.max(), LEAST)
    least = GAIN * _error(op, numbers, moments, best)
    for exponent in EXPONENTS:
        factors = reach ** exponent
        factors = (factors / np.sqrt(factors.max() * factors.min())).astype(np.float32).astype(np.float64)
        inside = moments / (factors[owners][:, None] * factors[owners])
        multiplied = numbers * factors.reshape(spread)
        made = make(multiplied, inside)
        error = _error(op, multiplied, inside, made)
        if error < least:
            least, best, found = error, made, factors
    return best, found


def _error(op: Op, numbers: Array, moments: Array, made: Made) -> float:
    """The squared error of an op's sums."""
    type_, integers = made
    off = grouped(op, numbers - dequantize(integers, type_, np.float64))
    return float(np.einsum("god,god->", off @ moments, off))


def divided(op: Any, factors: Array) -> None:
    """Let an op take its input divided by factors of the channels."""
    value = op.operands[0]
    shape = [-1 if place == channel_axis(op) else 1 for place in range(value.rank)]
    inverse = (1.0 / factors).astype(dtype_of(value.element)).reshape(shape)
    name = op.origin
    build = Builder(op.parent, before=op, location=f"{name}/scaled" if name else None)
    op.set_operand(0, build.emit("top.Mul", value, build.constant(Dense(inverse), element=value.element)))
