"""Products with a constant as those of layers, with a matrix of weights: the pass `constants-to-layers`.

A quantized layer has a scale for each output channel of its weights, and a bias. A vector has no dimension that counts channels:
its only one is summed over, and numbers that are summed have one scale. Of a batch of matrices each has channels of its own, and
integer chips and formats give it no bias.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from transload.ir import FloatType, Module, Value
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable, apply_greedily

if TYPE_CHECKING:
    from ..ops.matmul import MatMul

__all__ = ["PRODUCT", "constants_to_layers"]

PRODUCT = "/product"
"""Behind the name of what a product was: that of the product, where something is added or reshaped behind it."""
TABLE = RewriteTable()


def constants_to_layers(module: Module) -> bool:
    """Products of floats with a constant vector give a column, which is reshaped; of a batch of one matrix that matrix is taken.
    What is added to them, and to those of a batch, is added behind them. Returns whether there were any."""
    return apply_greedily(module, TABLE)


@TABLE("top.MatMul")
def matmul(op: MatMul, rw: Rewriter) -> Value | None:
    dense = constant_of(op.right)
    if dense is None or not isinstance(op.output.element_or_none, FloatType) or not op.output.is_static or op.right.rank == 2:
        return None
    weights, name = dense.numpy(), op.output.name
    if name and (op.bias is not None or op.right.rank == 1 or op.right.rank > op.input.rank):  # something follows
        name += PRODUCT
    is_layer = op.right.rank == 1 or math.prod(weights.shape[:-2]) == 1
    if op.bias is None and not is_layer:
        return None
    if is_layer:
        weights = weights[:, None] if op.right.rank == 1 else weights.reshape(weights.shape[-2:])
    last = {key: value for key, value in op.attributes.items() if key in ("do_relu", "relu_limit")}
    product = {key: value for key, value in op.attributes.items()
               if (op.bias is None or key not in last) and (op.right.rank > 1 or key != "right_transpose")}
    made = rw.emit("top.MatMul", op.input, rw.constant(weights) if is_layer else op.right, location=name, **product)
    if made.type != op.output.type:
        made = rw.emit("top.Reshape", made, shape=op.output.static_shape)
    return made if op.bias is None else rw.emit("top.Add", made, op.bias, **last)
