"""The pass `dequantize-weights`: weights that are stored as integers, and used as real numbers, become real numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transload.engine.quantized import dequantize
from transload.ir import FloatType, LazyData, Op, QuantType, dtype_of
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable, apply_greedily

if TYPE_CHECKING:
    from ..ops.cast import Cast

__all__ = ["dequantize_weights", "real_weight"]

TABLE = RewriteTable()


def dequantize_weights(module: Op) -> bool:
    """Replace each cast of a quantized constant to floats by a constant, computed when it is first looked at."""
    return apply_greedily(module, TABLE)


@TABLE("top.Cast")
def real_weight(op: Cast, rw: Rewriter) -> Any:
    """The constant; None of any other cast."""
    source, element = op.operands[0], op.results[0].element
    kind: QuantType = source.element  # type: ignore[assignment]
    dense = constant_of(source)
    if dense is None or not isinstance(kind, QuantType) or not isinstance(element, FloatType):
        return None
    dtype = dtype_of(element)
    return rw.constant(LazyData(lambda: dequantize(dense.numpy(), kind, dtype), dense.shape, dtype), element=element)
