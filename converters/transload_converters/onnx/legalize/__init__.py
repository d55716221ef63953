"""ONNX to `top`: one small function an operator, then QDQ patterns made into quantized ops.

The functions are grouped by subject; `table` holds what they share. An operator means what the model's
opset says it means: `opset(op)`.
"""

from __future__ import annotations

from functools import reduce as _join
from operator import add

from transload.rewrite import RewriteTable

from . import (
    activation,
    arithmetic,
    attention,
    contrib,
    contrib_norms,
    contrib_tables,
    control,
    convolution,
    creation,
    detection,
    functions,
    indexing,
    matmul,
    ml,
    movement,
    nchwc,
    normalization,
    pooling,
    quantize,
    random,
    recurrent,
    reduce,
    resize,
    rotary,
    sampling,
    sequences,
    signal,
    text,
    training,
    trees,
)

__all__ = ["TABLE"]

_FAMILIES = (
    activation, arithmetic, attention, contrib, contrib_norms, contrib_tables, control, convolution, creation, detection,
    functions, indexing, matmul, ml, movement, nchwc, normalization, pooling, quantize, random, recurrent, reduce, resize,
    rotary, sampling, sequences, signal, text, training, trees)

TABLE: RewriteTable = _join(add, (family.TABLE for family in _FAMILIES), RewriteTable())
