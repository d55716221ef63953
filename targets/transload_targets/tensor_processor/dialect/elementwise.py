"""Elementwise ops of two tensors, of one rank, that broadcast."""

from __future__ import annotations

from transload.ir.declare import BOOLEAN, INT, DeclaredOp, attribute, operand, result

from .base import TPU, Rescaled, broadcast

__all__: list[str] = []


class Pair(DeclaredOp):
    """Base of ops of two tensors."""

    a = operand("a tensor")
    b = operand("another, of the same rank and element type; sizes are equal or 1")
    output = result("of the broadcast shape; the element type is the caller's")
    traits = ("elementwise",)
    infer = broadcast


class RescaledPair(Pair, Rescaled):
    """Base of those on quantized numbers."""

    a_zero = attribute(INT, "zero point of a", default=0)
    b_zero = attribute(INT, "zero point of b", default=0)
    multiplier = attribute(INT, "by what the result is multiplied; absent: it is not scaled", optional=True)
    shift = attribute(INT, "by how many bits it is then shifted to the right", default=0)


@TPU.op("add")
class Add(RescaledPair):
    """A sum, or a difference (TPU-MLIR manual 6.3.3).

    Of integers `t = round(((x - zero) << left_shift) * multiplier / 2**shift)` of each operand x with its own numbers, and
    `clamp(round((t_a + t_b) * multiplier / 2**shift) + output_zero)`; what has no multiplier is not scaled. int32 without any
    wraps.
    """

    subtract = attribute(BOOLEAN, "whether b is subtracted", default=False)
    left_shift = attribute(INT, "bits of fraction with which the operands are scaled", default=0)
    a_multiplier = attribute(INT, "by what a is multiplied", optional=True)
    a_shift = attribute(INT, "by how many bits that is shifted to the right", default=0)
    b_multiplier = attribute(INT, "by what b is multiplied", optional=True)
    b_shift = attribute(INT, "by how many bits that is shifted to the right", default=0)


@TPU.op("mul")
class Mul(RescaledPair):
    """A product; of integers `clamp(round((a - a_zero) * (b - b_zero) * multiplier / 2**shift) + output_zero)`."""


@TPU.op("maximum")
class Maximum(Pair):
    """The greater of two elements, of one type."""


@TPU.op("minimum")
class Minimum(Pair):
    """The lesser of two elements, of one type."""
