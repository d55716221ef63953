"""Products with a constant vector as products with a matrix of one column: the pass `vectors-to-matrices`.

A quantized product has a scale for each output channel of its weights. A vector has no dimension that counts these: its only one
is summed over, and numbers that are summed have one scale.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transload.ir import FloatType, Module, Value
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable, apply_greedily

if TYPE_CHECKING:
    from ..ops.matmul import MatMul

__all__ = ["vectors_to_matrices"]

TABLE = RewriteTable()


def vectors_to_matrices(module: Module) -> bool:
    """Products of floats with a constant vector give a column, which is reshaped. Returns whether there were any."""
    return apply_greedily(module, TABLE)


@TABLE("top.MatMul")
def matmul(op: MatMul, rw: Rewriter) -> Value | None:
    vector = constant_of(op.right)
    if vector is None or op.right.rank != 1 or not isinstance(op.output.element_or_none, FloatType) or not op.output.is_static:
        return None
    name = f"{op.output.name}/column" if op.output.name else None
    last = {key: value for key, value in op.attributes.items() if key in ("do_relu", "relu_limit")}
    product = {key: value for key, value in op.attributes.items() if key != "right_transpose"}
    if op.bias is not None:  # it lies along the rows of the column, and is added to what these become
        product = {key: value for key, value in product.items() if key not in last}
    made = rw.emit("top.MatMul", op.input, rw.constant(vector.numpy()[:, None]), location=name, **product)
    made = rw.emit("top.Reshape", made, shape=op.output.static_shape)
    return made if op.bias is None else rw.emit("top.Add", made, op.bias, **last)
