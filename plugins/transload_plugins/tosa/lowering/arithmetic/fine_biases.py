"""Biases finer than the products they are added to: sums shifted to the left, the bias added in i32, the rescale the less.

`transload_hub.simplify.biases` says why, and what such a bias means. TOSA's convolutions add theirs in steps of the products,
so it comes behind: `logical_left_shift`, `add`, `rescale`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transload.ir import I32, Op, Value, dtype_of
from transload.ir.build import constant_of
from transload.rewrite import Rewriter
from transload_hub.simplify.biases import added_bits, reach_of

from ... import build
from ...dialect.base import storage_of
from .rescaling import quant

__all__ = ["FineBias", "fine_bias"]


class FineBias(NamedTuple):
    """By how many bits a bias is finer than the products, `[O]` or `[1]`, and its numbers in i32, `[O]`."""

    bits: np.ndarray
    numbers: np.ndarray

    def part(self, start: int, count: int) -> FineBias:
        """That of some output channels."""
        span = slice(start, start + count)
        return FineBias(self.bits if len(self.bits) == 1 else self.bits[span], self.numbers[span])

    def added(self, rw: Rewriter, sums: Value) -> Value:
        """Sums of i32, `[.., O]`, in the bias's steps, with it."""
        shape = (1,) * (sums.rank - 1) + (-1,)
        bits, numbers = (build.const(rw, array.astype(dtype_of(I32)).reshape(shape)) for array in (self.bits, self.numbers))
        shifted = rw.emit("tosa.logical_left_shift", sums, bits, element=I32)
        return rw.emit("tosa.add", shifted, numbers, element=I32)

    def factors(self, factors: np.ndarray) -> np.ndarray:
        """What sums in the bias's steps are multiplied by, of what those in the products' steps are."""
        return np.asarray(factors * 2.0 ** -self.bits)


def fine_bias(op: Op, channels: int) -> FineBias | None:
    """The bias of a product, where it is finer and the sums have the bits for it; None: it is as plain as TOSA's own."""
    if len(op.operands) < 3:
        return None
    x, weights, bias = op.operands[:3]
    a, b, held = quant(x), quant(weights), quant(bias)
    dense = constant_of(bias)
    if a is None or b is None or held is None or dense is None or b.blocks is not None or not a.per_tensor:
        return None
    if bias.tensor_type.num_elements != channels or storage_of(bias) != I32 or quant(op.results[0]) is None:
        return None
    bits, reach = added_bits(held, a.scale * b.scale_array), reach_of(op, a, weights, b)
    if bits is None or reach is None:
        return None
    numbers = dense.numpy().reshape(-1).astype(np.int64)
    if ((reach << bits) + np.abs(numbers)).max(initial=0) > I32.range[1]:
        return None
    return FineBias(bits, numbers)
