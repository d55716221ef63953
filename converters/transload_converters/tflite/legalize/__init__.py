"""Legalization: the dialect `tfl` to the hub dialect `top`, one function an operator, one file a family."""

from __future__ import annotations

from typing import Any

from transload.ir import Module
from transload.plugin_host import host
from transload.rewrite import convert_ops

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
    state,
    suppression,
    svdf,
    unsupported,
    variables,
)

__all__ = ["TABLE", "legalize"]

TABLE = (
    spectral.TABLE + constants.TABLE + elementwise.TABLE + activation.TABLE + conv.TABLE + matmul.TABLE + pool.TABLE
    + reduce.TABLE + movement.TABLE + slicing.TABLE + gather.TABLE + resize.TABLE + quantization.TABLE + recurrent.TABLE
    + svdf.TABLE + control.TABLE + variables.TABLE + custom.TABLE + suppression.TABLE + stablehlo.TABLE + unsupported.TABLE
)
"""The rewrite of each op of `tfl`."""


STABLEHLO = "stablehlo-to-top"
"""The conversion whose rules take on what the operators that are StableHLO's become."""


def legalize(module: Module, **options: Any) -> None:
    """Convert a module in place. Raises `ConversionError` with every op that could not be.

    Subgraphs that only operators run are put where they are run, and are no functions of the module any more.
    `options` are those of `choices`.
    """
    table = host().table("tfl-to-top")
    if STABLEHLO in host().conversions and any(
            op.name in stablehlo.TABLE.functions or op.name.startswith("tfl.stablehlo_") for op in module.walk()):
        table += host().table(STABLEHLO)  # they take a while to import, and few files need them
    explicit = options.get("state") == "explicit"
    variables.resolve_variables(module, table, explicit)
    if explicit:
        state.expose_states(module)
    with control.subgraphs_of(module, table, options):
        convert_ops(module, table, "tfl", hint=_hint, options=options)


def _hint(op_name: str) -> str:
    return f"a plugin can add it: register_conversions with Conversion(extends='tfl-to-top', table=<with {op_name!r}>)"
