"""`tf` to `top`: one function an op of TensorFlow, by family."""

from __future__ import annotations

from transload.rewrite import RewriteTable

from . import (
    activation,
    control,
    conv,
    elementwise,
    gather,
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
    spectral,
    suppression,
    unsupported,
)

__all__ = ["TABLE"]

TABLE = RewriteTable() + spectral.SHARED
for _family in (
    spectral, activation, control, conv, elementwise, gather, image, lists, matmul, matrix, movement, normalization, pool,
    quantize, random, recurrent, reduce, segment, shape, suppression, unsupported,
):
    TABLE = TABLE + _family.TABLE
