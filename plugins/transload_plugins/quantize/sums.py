"""Which products an op with weights sums: how many, and along which dimensions of its weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .groups import rule_of

__all__ = ["places_of", "summed"]


def places_of(op: Any) -> tuple[int, Sequence[int], int]:
    """Of an op's weights the dimension that groups lie along, those of kernels, and how many indices of the first a sum takes."""
    rule = rule_of(op)
    assert rule is not None and rule.weights is not None
    shape = op.operands[rule.weights].static_shape
    rank = len(shape)
    if op.name == "top.MatMul":
        along = rank - 1 if rank == 1 or op.right_transpose else rank - 2
        return along, (), shape[along]
    kernel = range(2, rank) if op.layout == "NCHW" else range(1, rank - 1)
    if op.name == "top.Deconv":
        along = 0 if op.layout == "NCHW" else rank - 1
        return along, kernel, shape[along] // op.group
    along = 1 if op.layout == "NCHW" else rank - 1
    return along, kernel, shape[along]


def summed(op: Any) -> int:
    """How many products make a sum of an op."""
    rule = rule_of(op)
    assert rule is not None and rule.weights is not None
    shape = op.operands[rule.weights].static_shape
    _, inside, along = places_of(op)
    return along * math.prod(shape[place] for place in inside)
