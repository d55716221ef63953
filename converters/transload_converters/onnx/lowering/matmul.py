"""Matrix products: Gemm for those of two matrices, MatMul for others."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

from transload.ir import I8, I32, I64, UI8, IntegerType, Value
from transload.rewrite import Rewriter, RewriteTable, Unsupported
from transload_hub.ops.matmul import expand_equation

from .common import as_summed, broadcast, cast, emit, finish, ints, transposed

if TYPE_CHECKING:
    from transload_hub.ops.matmul import Einsum, MatMul

__all__ = ["TABLE"]

TABLE = RewriteTable()


@TABLE("top.MatMul")
def matmul(op: MatMul, rw: Rewriter) -> Value:
    """Gemm or MatMul; of integers of 8 bits whose sums are i32 MatMulInteger.

    Other integers are multiplied as i32, or as i64 where the sums are: lower bits are the same, and wrap round as the op's do.
    Floats are multiplied in the type of their sums, where that is wider.
    """
    a, b = as_summed(rw, op, op.input), as_summed(rw, op, op.right)
    if a.is_float and a.rank == b.rank == 2:
        bias = None if op.bias is None else cast(rw, op.bias, a.element)
        added = bias if bias is not None and bias.rank <= 2 else None
        y = emit(
            rw, "Gemm", a, cast(rw, b, a.element), added, like=op.result, element=a.element,
            transA=int(op.left_transpose) or None, transB=int(op.right_transpose) or None)
        return finish(rw, op, y if bias is added else broadcast(rw, "Add", y, bias))  # type: ignore[arg-type]
    if op.left_transpose and a.rank > 1:
        a = transposed(rw, a, _last_two_swapped(a.rank))
    if op.right_transpose and b.rank > 1:
        b = transposed(rw, b, _last_two_swapped(b.rank))
    target = op.result.element
    if not isinstance(a.element, IntegerType) or not isinstance(target, IntegerType):
        y = emit(rw, "MatMul", a, cast(rw, b, a.element), like=op.result, element=a.element)
    elif target == I32 and {a.element, b.element} <= {I8, UI8}:
        y = emit(rw, "MatMulInteger", a, b, like=op.result)
    else:
        sums = I64 if target.width > 32 else I32
        y = emit(rw, "MatMul", cast(rw, a, sums), cast(rw, b, sums), like=op.result, element=sums)
    if op.bias is not None:
        y = broadcast(rw, "Add", y, cast(rw, op.bias, y.element))
    return finish(rw, op, cast(rw, y, target))  # before the ReLU: sums that wrap round are below 0 where the result's type has it


def _last_two_swapped(rank: int) -> tuple[int, ...]:
    return (*range(rank - 2), rank - 1, rank - 2)


@TABLE("top.Einsum")
def einsum(op: Einsum, rw: Rewriter) -> Value:
    """Einsum, written so that runtimes take it: in ONNX `...` stands for as many dimensions in each term, and onnxruntime wants a
    subscript in each and, of large letters, `->`. Where that is not so, dimensions have letters of their own, scalars one of
    size 1, and what the result has is said."""
    ranks = [value.tensor_type.rank for value in op.inputs]
    known = [rank for rank in ranks if rank is not None]
    if len(known) < len(ranks):
        return emit(rw, "Einsum", *op.inputs, like=op.result, equation=op.equation)
    written = op.equation.replace(" ", "").partition("->")[0].split(",")
    widths = {rank - len(term.replace("...", "")) for term, rank in zip(written, known, strict=True) if "..." in term}
    equation, operands = op.equation, list(op.inputs)
    if len(widths) > 1 or not all(known) or "->" not in equation:
        terms, outcome = expand_equation(op, known)
        free = next((letter for letter in string.ascii_letters if letter not in "".join(terms)), None)
        if free is None and not all(known):
            raise Unsupported("a scalar has no subscript in onnxruntime's Einsum, and none is left for it")
        equation = ",".join(term or str(free) for term in terms) + f"->{outcome}"
        operands = [value if value.rank else emit(rw, "Reshape", value, ints(rw, [1]), shape=(1,)) for value in operands]
    return emit(rw, "Einsum", *operands, like=op.result, equation=equation)
