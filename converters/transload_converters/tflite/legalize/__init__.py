"""Legalization: the dialect `tfl` to the hub dialect `top`, one function an operator, one file a family."""

from __future__ import annotations

from . import (
    activation,
    constants,
    control,
    conv,
    custom,
    elementwise,
    gather,
    matmul,
    movement,
    pool,
    quantization,
    recurrent,
    reduce,
    resize,
    slicing,
    spectral,
    stablehlo,
    suppression,
    svdf,
    unsupported,
    variables,
)

__all__ = ["TABLE"]

TABLE = (
    spectral.TABLE + constants.TABLE + elementwise.TABLE + activation.TABLE + conv.TABLE + matmul.TABLE + pool.TABLE
    + reduce.TABLE + movement.TABLE + slicing.TABLE + gather.TABLE + resize.TABLE + quantization.TABLE + recurrent.TABLE
    + svdf.TABLE + control.TABLE + variables.TABLE + custom.TABLE + suppression.TABLE + stablehlo.TABLE + unsupported.TABLE
)
"""The rewrite of each op of `tfl`."""
