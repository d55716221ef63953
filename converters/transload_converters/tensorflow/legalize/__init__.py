"""`tf` to `top`: one function an op of TensorFlow, by family."""

from __future__ import annotations

from transload.rewrite import RewriteTable

from . import (
    activation,
    control,
    conv,
    elementwise,
    fused,
    gather,
    gradient,
    image,
    lists,
    matmul,
    matrix,
    movement,
    normalization,
    pool,
    quantize,
    random,
    recurrent,
    reduce,
    segment,
    shape,
    special,
    spectral,
    suppression,
    unsupported,
)

__all__ = ["TABLE"]

TABLE = RewriteTable() + spectral.SHARED
for _family in (
    spectral, activation, control, conv, elementwise, fused, gather, gradient, image, lists, matmul, matrix, movement,
    normalization, pool, quantize, random, recurrent, reduce, segment, shape, special, suppression, unsupported,
):
    TABLE = TABLE + _family.TABLE
