"""From the hub to TOSA, for float and quantized models.

A module a family of ops, each with a `RewriteTable`; rewrites of quantized forms come before those of floats.
The last two take any op that nothing else converts in its quantized form: by a table if it is a function of
one quantized number, else through floats.
"""

from __future__ import annotations

from transload.rewrite import RewriteTable
from transload_hub.simplify.einsum import TABLE as PRODUCTS
from transload_hub.simplify.floor_division import TABLE as FLOORED
from transload_hub.simplify.recurrent import TABLE as UNROLLED

from .ops import (
    activation,
    block_products,
    cast,
    control,
    conv,
    division,
    elementwise,
    functions,
    gather,
    matmul,
    movement,
    normalization,
    ordering,
    pool,
    quantized,
    quantized_functions,
    reduce,
    resize,
    softmax,
)

__all__ = ["TABLE"]

FAMILIES = (
    cast, conv, block_products, matmul, pool, quantized, quantized_functions, activation, softmax, elementwise, division,
    functions, movement, reduce, resize, gather, ordering, normalization, control)

TABLE: RewriteTable = sum((family.TABLE for family in FAMILIES), RewriteTable() + FLOORED)
TABLE += PRODUCTS + UNROLLED + quantized_functions.FALLBACK + quantized.FALLBACK
