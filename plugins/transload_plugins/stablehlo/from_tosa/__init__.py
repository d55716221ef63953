"""From TOSA to StableHLO: the same bits of integers, floats within TOSA's own bounds.

A module a chapter of TOSA, each with a `RewriteTable`. Shapes are static in both; what TOSA reads from operands
(shapes, zero points, scales) become attributes or part of the arithmetic.
"""

from __future__ import annotations

from transload.rewrite import RewriteTable

from . import control, convolution, elementwise, fourier, movement, pooling, rescale, resize, shapes, variables

__all__ = ["TABLE"]

FAMILIES = (shapes, movement, rescale, convolution, pooling, elementwise, resize, fourier, control, variables)

TABLE: RewriteTable = sum((family.TABLE for family in FAMILIES), RewriteTable())
