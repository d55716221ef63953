"""Sums of float products in the order of a specification's loops, where the last bit of a sum decides.

BLAS adds float products in an order of its own, which costs a last bit and is otherwise the better way. But where a
module rounds floats to integers further on, as one that quantizes its activations when it runs, a last bit moves some number
by a whole step, and that the range of all others. There, sums are taken one product after the other, as reference
kernels do.
"""

from __future__ import annotations

import math

import numpy as np

from transload.analysis.movement import any_rounds, is_float_of_integers, origins
from transload.engine.facts import fact_of
from transload.ir import Op
from transload.ir.build import constant_of

__all__ = ["LIMIT", "product", "rounds_floats", "rows_of"]

LIMIT = 1 << 26
"""How many products are summed one after the other at most; beyond, that would take too long."""


def rows_of(array: np.ndarray, kept: int) -> np.ndarray:
    """An array with its first `kept` dimensions as one, and the others as one; any of them may be empty."""
    return array.reshape(math.prod(array.shape[:kept]), math.prod(array.shape[kept:]))


def rounds_floats(op: Op) -> bool:
    """Whether a cast in the block of `op` makes integers of floats, and `op` does not itself multiply such integers."""
    makers = [origin.op for origin in origins(op.operands[0]) if constant_of(origin) is None]
    if makers and all(maker is not None and is_float_of_integers(maker) for maker in makers):
        return False  # any order is exact
    return op.parent is not None and fact_of(op.parent, any_rounds)


def product(left: np.ndarray, right: np.ndarray, in_order: bool) -> np.ndarray:
    """The matrix product `left @ right` of floats [P, K] and [K, C], one term after the other where `in_order`."""
    terms = right.shape[0]
    if not in_order or not terms or left.shape[0] * right.size > LIMIT:
        return left @ right
    columns = np.ascontiguousarray(left.T)
    sums = np.multiply(columns[0][:, None], right[0])
    term = np.empty_like(sums)
    for k in range(1, terms):
        np.multiply(columns[k][:, None], right[k], out=term)
        np.add(sums, term, out=sums)
    return sums
