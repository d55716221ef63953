"""Matrix products."""

from __future__ import annotations

import string

from transload.ir.declare import BOOLEAN, STRING, DeclaredOp, attribute, operand, result, variadic
from transload.ir.types import TensorType, Type

from .base import NUMBER_TENSOR, TOP, Product
from .infer import Shape, broadcast_shapes, fail, shape_of, show, unify
from .rounding import rounds

__all__ = ["expand_equation"]


@TOP.op("MatMul")
class MatMul(Product):
    """The matrix product of the last two dimensions, broadcast over those before (TPU-MLIR manual 13.1, MatMulOp).

    As numpy's `matmul`: a left operand of rank 1 is a row, a right one a column, and that dimension is not in the
    result. A fully connected layer is `MatMul(x[.., K], w[N, K], b[N])` with right_transpose.
    """

    input = operand("[.., M, K], or [.., K, M] with left_transpose", type=NUMBER_TENSOR)
    right = operand("[.., K, N], or [.., N, K] with right_transpose", type=NUMBER_TENSOR)
    bias = operand("broadcasts to the result, mostly [N]", type=NUMBER_TENSOR, optional=True)
    output = result("[.., M, N]")
    left_transpose = attribute(BOOLEAN, "whether to swap the last two dimensions of the input", default=False)
    right_transpose = attribute(BOOLEAN, "whether to swap the last two dimensions of the right operand", default=False)
    rounding = rounds("exact", "double", "once", "float32")

    def infer(op) -> Type:
        left, right = shape_of(op.input), shape_of(op.right)
        if left is None or right is None:
            return TensorType(None, op.input.element)
        if not left or not right:
            fail(op, "a scalar has no matrix product")
        rows = left[-2:-1] if len(left) > 1 else ()
        inner_left = left[-1]
        if op.left_transpose and len(left) > 1:
            rows, inner_left = left[-1:], left[-2]
        columns = right[-1:] if len(right) > 1 else ()
        inner_right = right[-2] if len(right) > 1 else right[-1]
        if op.right_transpose and len(right) > 1:
            columns, inner_right = right[-2:-1], right[-1]
        if inner_left is not None and inner_right is not None and inner_left != inner_right:
            fail(op, f"{show(left)} and {show(right)} have no product: {inner_left} columns against {inner_right} rows")
        batch = broadcast_shapes(op, left[:-2], right[:-2])
        shape: Shape | None = (*(batch or ()), *rows, *columns)
        if op.bias is not None:
            joined = broadcast_shapes(op, shape, shape_of(op.bias))
            if joined is not None and shape is not None and (len(joined) > len(shape) or any(
                    None not in (one, other) and one != other for one, other in zip(joined, shape, strict=True))):
                fail(op, f"the bias {show(shape_of(op.bias))} does not broadcast to the product {show(shape)}")
        return TensorType(shape, op.input.element)


@TOP.op("Einsum")
class Einsum(DeclaredOp):
    """A sum of products over subscripts named by letters (ONNX Einsum, numpy `einsum`): `"bij,bjk->bik"`."""

    inputs = variadic("one tensor per term of the equation", type=NUMBER_TENSOR)
    output = result("as the equation says")
    equation = attribute(STRING, "terms separated by commas, `->`, and the result's subscripts; `...` broadcasts")
    rounding = rounds("exact", "once")

    def infer(op) -> Type:
        element = op.operands[0].element if op.operands else fail(op, "there are no operands")
        shapes = [shape_of(value) for value in op.inputs]
        if any(shape is None for shape in shapes):
            return TensorType(None, element)
        terms, outcome = expand_equation(op, [len(shape) for shape in shapes if shape is not None])
        sizes: dict[str, int | None] = {}
        for term, shape in zip(terms, shapes, strict=True):
            own: dict[str, int | None] = {}
            for letter, size in zip(term, shape or (), strict=True):
                own[letter] = unify(op, own.get(letter), size, f"sizes of subscript {letter!r} in {op.equation!r}")
                old = sizes.get(letter, 1)
                if old == 1 or size == 1:
                    sizes[letter] = size if old == 1 else old
                else:
                    sizes[letter] = unify(op, old, size, f"sizes of subscript {letter!r} in {op.equation!r}")
        return TensorType(tuple(sizes[letter] for letter in outcome), element)


def expand_equation(op: Einsum, ranks: list[int]) -> tuple[list[str], str]:
    """The terms and the result of an equation, with `...` replaced by letters of its own (the last ones free).

    `ranks` are those of the operands. Without `->` the result has, in order of the alphabet, the
    letters that occur once, behind those of `...`.
    """
    left, arrow, right = op.equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        fail(op, f"equation {op.equation!r} has {len(terms)} terms for {len(ranks)} operands")
    free = [letter for letter in string.ascii_letters if letter not in op.equation]
    widths = [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks, strict=True)]
    for term, rank, width in zip(terms, ranks, widths, strict=True):
        if width < 0 or (width > 0 and "..." not in term):
            fail(op, f"term {term!r} of equation {op.equation!r} does not fit an operand of rank {rank}")
        if not set(term.replace("...", "")) <= set(string.ascii_letters):
            fail(op, f"term {term!r} of equation {op.equation!r} has other characters than letters and `...`")
    widest = max((width for term, width in zip(terms, widths, strict=True) if "..." in term), default=0)
    if widest > len(free):
        fail(op, f"equation {op.equation!r} needs more letters than there are")
    letters = "".join(free[:widest])
    expanded = [term.replace("...", letters[widest - width :]) for term, width in zip(terms, widths, strict=True)]
    if not arrow:
        joined = "".join(expanded)
        once = sorted(letter for letter in set(joined) if joined.count(letter) == 1 and letter not in letters)
        return expanded, letters + "".join(once)
    outcome = right.replace("...", letters)
    unknown = set(outcome) - set("".join(expanded))
    if unknown:
        fail(op, f"the result of equation {op.equation!r} has subscripts {sorted(unknown)} that no term has")
    if len(set(outcome)) != len(outcome):
        fail(op, f"the result of equation {op.equation!r} has a subscript twice")
    return expanded, outcome
