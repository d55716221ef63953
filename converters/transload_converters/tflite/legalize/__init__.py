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

_OF_REAL = (
    constants.TABLE + elementwise.TABLE + activation.TABLE + conv.TABLE + matmul.TABLE + pool.TABLE
    + reduce.TABLE + movement.TABLE + slicing.TABLE + gather.TABLE + resize.TABLE + quantization.TABLE + recurrent.TABLE
    + svdf.TABLE + control.TABLE + variables.TABLE + custom.TABLE + suppression.TABLE + stablehlo.TABLE
)
"""The rules for real numbers, by family."""
TABLE = spectral.TABLE + spectral.refusing(_OF_REAL) + _OF_REAL + unsupported.TABLE
"""The rewrite of each op of `tfl`."""
