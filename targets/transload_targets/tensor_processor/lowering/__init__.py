"""From the hub to dialect `tpu`, for one chip: what it cannot compute stays an op of the hub, and runs on the host.

A module a family of ops, each with a `RewriteTable`. Its functions see the chip by `chip_of(rw)`; they return None, or raise
`Unsupported` with the reason, where the chip has no such operation, element type or way of rescaling.
"""

from __future__ import annotations

from transload.rewrite import RewriteTable

from . import (
    conversion,
    deconvolution,
    elementwise,
    floats,
    functions,
    gathering,
    movement,
    pooling,
    products,
    resizing,
    rows,
)

__all__ = ["TABLE"]

FAMILIES = (
    products, deconvolution, elementwise, pooling, resizing, rows, conversion, movement, gathering, functions, floats)

TABLE: RewriteTable = sum((family.TABLE for family in FAMILIES), RewriteTable())
TABLE += functions.FALLBACK
