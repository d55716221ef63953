"""PyTorch's operators to `top`: one small function an operator.

The functions are grouped by subject; `table` holds what they share.
"""

from __future__ import annotations

from functools import reduce as _join
from operator import add

from transload.rewrite import RewriteTable

from . import (
    complex_numbers,
    control,
    convolution,
    creation,
    differences,
    elementwise,
    indexing,
    matmul,
    movement,
    normalization,
    pooling,
    quantize,
    recurrent,
    reduce,
    resize,
    spectral,
    unary,
    vision,
)

__all__ = ["TABLE"]

_FAMILIES = (
    complex_numbers, spectral,  # asked first: they take complex numbers alone, but for windows
    control, convolution, creation, differences, elementwise, indexing, matmul, movement, normalization, pooling, quantize,
    recurrent, reduce, resize, unary, vision)

TABLE: RewriteTable = _join(add, (family.TABLE for family in _FAMILIES), RewriteTable())
