"""From the hub to ONNX: each op by the operators of opset 21 that say the same; quantized models in QDQ form.

A module a family of ops, each with a `RewriteTable`. Before them quantized ops are spelled out between casts
(`spell-out-quantized`), and channels are second, where ONNX has them.
"""

from __future__ import annotations

from transload.rewrite import RewriteTable
from transload_hub.simplify.floor_division import TABLE as FLOORED

from . import (
    activation,
    constant,
    control,
    convolution,
    elementwise,
    indexing,
    matmul,
    movement,
    normalization,
    quantize,
    recurrent,
    reduce,
    resize,
)

__all__ = ["TABLE"]

FAMILIES = (
    constant, elementwise, activation, quantize, convolution, matmul, normalization, reduce, movement, indexing, resize,
    recurrent, control,
)  # fmt: skip

TABLE: RewriteTable = sum((family.TABLE for family in FAMILIES), RewriteTable() + FLOORED)
