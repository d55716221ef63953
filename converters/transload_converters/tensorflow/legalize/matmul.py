"""Matrix products and what is made of them."""

from __future__ import annotations

from transload.errors import Unsupported
from transload.ir import ComplexType, Op, Value
from transload.rewrite import Rewriter
from transload_hub.build import cast

from .table import TfTable, attr, element_of, shape_of

TABLE = TfTable()


@TABLE("MatMul", "SparseMatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def matmul(op: Op, rw: Rewriter) -> Value:
    """MatMul, SparseMatMul, BatchMatMul, V2 and V3; operands are as wide as the result.

    `grad_x` and `grad_y` say what the product is the gradient of, and turn nothing.
    """
    element = element_of(op)
    left, right = (cast(rw, value, element) for value in op.operands[:2])
    if isinstance(element, ComplexType):
        raise Unsupported("multiplies complex numbers")
    for value in (left, right):
        shape_of(value, least=2)
    names = ("adj_x", "adj_y") if op.name.startswith("tf.Batch") else ("transpose_a", "transpose_b")
    turned = [bool(attr(op, name, False)) for name in names]
    return rw.emit("top.MatMul", left, right, left_transpose=turned[0] or None, right_transpose=turned[1] or None)


@TABLE("Einsum")
def einsum(op: Op, rw: Rewriter) -> Value:
    """Einsum; letters may be large and small, and `...` broadcasts."""
    return rw.emit("top.Einsum", *op.operands, equation=attr(op, "equation"))


@TABLE("Cross")
def cross(op: Op, rw: Rewriter) -> Value:
    """Cross product of vectors of three in the last dimension."""
    a, b = op.operands
    axis = len(shape_of(a, least=1)) - 1
    if shape_of(a)[-1] != 3:
        raise Unsupported(f"the vectors have {shape_of(a)[-1]} numbers, and must have three")

    def turned(value: Value, by: int) -> Value:
        return rw.emit("top.Roll", value, shifts=(-by,), axes=(axis,))

    one, other = (rw.emit("top.Mul", turned(a, i), turned(b, 3 - i)) for i in (1, 2))
    return rw.emit("top.Sub", one, other)
