"""From the hub to TensorFlow Lite, for float and quantized models.

A module a family of ops, each with a `RewriteTable`. A quantized op becomes the operator whose kernel in LiteRT gives the
integers that the hub's op is declared to give (`transload_hub.ops.rounding`). What LiteRT has no such kernel for is a table,
where it is a function of one quantized number, or goes through floats, as it does everywhere (`fallback`).
"""

from __future__ import annotations

from transload.rewrite import RewriteTable
from transload_hub.simplify.einsum import TABLE as PRODUCTS
from transload_hub.simplify.floor_division import TABLE as FLOORED
from transload_hub.simplify.recurrent import TABLE as UNROLLED

from . import (
    activation,
    bits,
    cast,
    constant,
    control,
    conv,
    elementwise,
    fallback,
    functions,
    gather,
    matmul,
    movement,
    normalization,
    pool,
    reduce,
    resize,
    scatter,
    slicing,
)

__all__ = ["TABLE"]

FAMILIES = (
    constant, cast, conv, matmul, pool, elementwise, functions, bits, activation, movement, slicing, gather, scatter, reduce,
    resize, normalization, control)

TABLE: RewriteTable = sum((family.TABLE for family in FAMILIES), RewriteTable()) + FLOORED + PRODUCTS + UNROLLED
TABLE += fallback.table_for(TABLE)
