"""Numpy kernels that execute the ops of `top`, by family; `KERNELS` holds them all."""

from __future__ import annotations

from transload.plugin import KernelTable

from . import (
    arithmetic,
    cast,
    constant,
    control,
    conv,
    gather,
    matmul,
    movement,
    normalization,
    pool,
    recurrent,
    reduce,
    resize,
    unary,
)

__all__ = ["KERNELS"]

KERNELS = KernelTable()
for _family in (
    arithmetic, cast, constant, control, conv, gather, matmul, movement, normalization, pool, recurrent, reduce, resize, unary,
):
    KERNELS.kernels.update(_family.KERNELS.kernels)
