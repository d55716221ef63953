"""Products whose matrix of weights stands on the left, as those of layers: the pass `left-constants-to-layers`.

`K X` is `(X^T K^T)^T`: with weights on the right a product is what schemes and kernels of layers take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transload.ir import FloatType, Module, Value
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable, apply_greedily

from .constant_products import PRODUCT

if TYPE_CHECKING:
    from ..ops.matmul import MatMul

__all__ = ["left_constants_to_layers"]

TABLE = RewriteTable()


def left_constants_to_layers(module: Module) -> bool:
    """Products of floats whose left matrix alone is constant are transposed: what is computed is multiplied by the weights.
    Returns whether there were any."""
    return apply_greedily(module, TABLE)


@TABLE("top.MatMul")
def _on_the_right(op: MatMul, rw: Rewriter) -> Value | None:
    value, weights, name = op.right, op.input, op.output.name
    if constant_of(weights) is None or constant_of(value) is not None or weights.rank != 2 or value.rank < 2:
        return None
    if not isinstance(op.output.element_or_none, FloatType) or not isinstance(weights.element_or_none, FloatType):
        return None
    swapped = (*range(value.rank - 2), value.rank - 1, value.rank - 2)
    if not op.right_transpose:
        value = rw.emit("top.Permute", value, order=swapped)
    last = {key: kept for key, kept in op.attributes.items() if key in ("do_relu", "relu_limit")}
    own = {} if op.bias is not None else last
    made = rw.emit(
        "top.MatMul", value, weights, location=f"{name}{PRODUCT}" if name else None, right_transpose=not op.left_transpose, **own)
    made = rw.emit("top.Permute", made, order=swapped)
    return made if op.bias is None else rw.emit("top.Add", made, op.bias, **last)
