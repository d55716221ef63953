"""From StableHLO to the hub, op by op: a module a family of ops.

What several ops of `top` say together (softmax, layer normalization, GELU, ...) is found afterwards, on `top`, by the
pass `recognize`.
"""

from __future__ import annotations

from transload.rewrite import RewriteTable

from . import (
    binary,
    bits,
    calls,
    complex_numbers,
    contraction,
    control,
    convolution,
    elementwise,
    folding,
    indexing,
    means,
    movement,
    numeric,
    ordering,
    quantized,
    reduction,
    refused,
    scatter,
    structure,
    windows,
)

__all__ = ["TABLE"]

FAMILIES = (
    folding, complex_numbers, quantized, bits, means, elementwise, binary, movement, contraction, convolution, reduction, windows,
    indexing, scatter, ordering, control, calls, numeric, structure, refused)
"""Constants first, then what looks at types and at what went before, then the ops themselves."""

TABLE: RewriteTable = sum((family.TABLE for family in FAMILIES), RewriteTable())
