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
    """Where a module has quantized ops, its run gives the integers `lowered`, which are TOSA's, and all ops are known exactly.

    Floats that a model is given are quantized by a division in the hub, as frameworks do, and by the product with the reciprocal
    in TOSA, which has no division: what lies midway between two integers may become the other one.
    """
    if not has_quantized(hub):
        return
    steps = int(any(value.is_float and user.name == "top.Cast" for value in hub.body_of_main.arguments for user in value.uses))
    execute = prepare(hub)
    assert not execute.notes
    outputs = execute(dict(zip(input_names(hub.main), given, strict=True)))
    for (name, mine), theirs in zip(outputs.items(), lowered, strict=True):
        near = same_integers(mine, theirs) or (steps > 0 and _off(mine, theirs) <= steps)
        assert near, f"{name}: the hub's integers are not TOSA's"


def _off(mine: np.ndarray, theirs: np.ndarray) -> int:
    """By how much integers of one kind are apart at most."""
    return int(np.abs(mine.astype(np.int64) - theirs.view(mine.dtype).astype(np.int64)).max(initial=0))
