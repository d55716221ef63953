"""From the hub to StableHLO, directly: float and integer models, in their own layout and types.

A module a family of ops, each with a `RewriteTable`. Quantized models go by way of TOSA.
"""

from __future__ import annotations

from transload.rewrite import RewriteTable
from transload_hub.simplify.floor_division import TABLE as FLOORED

from . import (
    activation,
    cast,
    constant,
    control,
    conv,
    elementwise,
    gather,
    matmul,
    movement,
    normalization,
    ordering,
    pool,
    recurrent,
    reduce,
    resize,
    space,
)

__all__ = ["TABLE"]

FAMILIES = (
    constant, elementwise, activation, cast, conv, pool, matmul, normalization, reduce, movement, space, gather, ordering,
    resize, recurrent, control,
)  # fmt: skip

TABLE: RewriteTable = sum((family.TABLE for family in FAMILIES), RewriteTable() + FLOORED)
