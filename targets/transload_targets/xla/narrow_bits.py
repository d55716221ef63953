"""Bits of integers of less than 8, which XLA's CPU backend counts in 8: the copies of the sign that it has there, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from transload.ir import I8, IntegerType, Module, SplatData, Value
from transload.rewrite import Rewriter, RewriteTable

from .prepare_cpu import apply_once

if TYPE_CHECKING:
    from transload_plugins.stablehlo.dialect.elementwise import Popcnt

__all__ = ["count_own_bits"]

_TABLE = RewriteTable()


def count_own_bits(module: Module) -> None:
    """Have no more bits counted than integers of less than 8 have, in place, in a module of stablehlo."""
    apply_once(module, _TABLE)


@_TABLE("stablehlo.popcnt")
def popcnt(op: Popcnt, rw: Rewriter) -> Value | None:
    """Of signed numbers, in i8 without the copies of the sign (`popcnt` of the specification of StableHLO)."""
    x = op.operands[0]
    element, shape = x.element, x.known_shape
    if not isinstance(element, IntegerType) or element.unsigned or element.width >= I8.width or shape is None:
        return None
    wide = rw.emit("stablehlo.convert", x, types=[x.tensor_type.with_element(I8)])
    bits = rw.constant(SplatData((1 << element.width) - 1, shape, np.int8), dialect="stablehlo")
    own = rw.emit("stablehlo.and", wide, bits, types=[wide.type])
    counted = rw.emit("stablehlo.popcnt", own, types=[wide.type])
    return rw.emit("stablehlo.convert", counted, types=[x.type])
