"""The hub's quantized ops, run by the reference engine as they are, beside their lowering to TOSA."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transload.engine.reference import prepare
from transload.ir import Module, input_names

__all__ = ["has_quantized", "hub_agrees", "same_integers"]


def has_quantized(hub: Module) -> bool:
    return any(value.is_quantized for op in hub.ops() for value in (*op.operands, *op.results))


def same_integers(mine: np.ndarray, theirs: np.ndarray) -> bool:
    """Whether two arrays hold the same integers; signed ones that carry unsigned ones are read as such, floats not looked at."""
    if theirs.dtype.kind not in "iub":
        return True
    if mine.dtype != theirs.dtype and mine.dtype.itemsize == theirs.dtype.itemsize:
        theirs = theirs.view(mine.dtype)
    return np.array_equal(mine, theirs)


def hub_agrees(hub: Module, given: Sequence[np.ndarray], lowered: Sequence[np.ndarray]) -> None:
    """Where a module has quantized ops, its run gives the integers `lowered`, which are TOSA's, and all ops are known exactly."""
    if not has_quantized(hub):
        return
    execute = prepare(hub)
    assert not execute.notes
    outputs = execute(dict(zip(input_names(hub.main), given, strict=True)))
    for (name, mine), theirs in zip(outputs.items(), lowered, strict=True):
        assert same_integers(mine, theirs), f"{name}: the hub's integers are not TOSA's"
