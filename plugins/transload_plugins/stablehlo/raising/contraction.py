"""Products: dot_general and its older forms as matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from transload.errors import Unsupported
from transload.ir import FloatType, IntegerType, Op, Type, Value
from transload.rewrite import Rewriter, RewriteTable

from ..types import element_of, shape_of
from .table import (
    as_quantized,
    cast,
    empty,
    full,
    materialized,
    permute,
    product,
    refuse_complex,
    reshape,
    static,
)

if TYPE_CHECKING:
    from ..dialect.contraction import Dot, DotGeneral, Einsum, UnaryEinsum

__all__ = ["TABLE", "factors"]

TABLE = RewriteTable()


def factors(rw: Rewriter, a: Value, b: Value, element: Type) -> tuple[Value, Value]:
    """The factors of a sum of products in element types that `top` multiplies for a result of this one.

    Floats of a quantized factor where the other one is float (hybrid). Two of one narrow type stay: the sum is wider.
    """
    if a.is_quantized != b.is_quantized:
        a, b = (cast(rw, x, element_of(x).expressed) if x.is_quantized else x for x in (a, b))
    if a.is_quantized:
        return a, b
    if isinstance(element, IntegerType) and (a.is_bool or b.is_bool or a.element != b.element):
        return cast(rw, a, element), cast(rw, b, element)
    if isinstance(element, FloatType) and a.element != b.element:
        return cast(rw, a, element), cast(rw, b, element)
    if isinstance(element, FloatType) != isinstance(a.element, FloatType):
        return cast(rw, a, element), cast(rw, b, element)
    narrow_floats = isinstance(a.element, FloatType) and a.element != element and str(a.element) not in ("f16", "bf16")
    if narrow_floats:
        return cast(rw, a, element), cast(rw, b, element)
    return a, b


@TABLE("stablehlo.dot_general")
def dot_general(op: DotGeneral, rw: Rewriter) -> Value:
    """Batched dimensions first, those that are left joined into rows and columns, those that are contracted into one."""
    d = op.dot_dimension_numbers
    a, b = op.operands
    return _contracted(
        op, rw, a, b, (d.lhs_batching_dimensions, d.rhs_batching_dimensions),
        (d.lhs_contracting_dimensions, d.rhs_contracting_dimensions))


@TABLE("stablehlo.dot")
def dot(op: Dot, rw: Rewriter) -> Value:
    """The last dimension of the one with the first of the other."""
    a, b = op.operands
    return _contracted(op, rw, a, b, ((), ()), ((a.rank - 1,), (0,)))


def _contracted(
    op: Op, rw: Rewriter, a: Value, b: Value, batch: tuple[Sequence[int], Sequence[int]],
    over: tuple[Sequence[int], Sequence[int]],
) -> Value:
    refuse_complex(op)
    nothing = empty(rw, op)
    if nothing:
        return nothing[0]
    result = op.results[0]
    shape, element = shape_of(result), element_of(result)
    left, right = static(a, "the left operand"), static(b, "the right operand")
    if 0 in left or 0 in right:  # a sum of nothing
        return full(rw, 0, shape, element)
    if result.is_bool:
        raise Unsupported("a product of booleans", "convert to integers first")
    if result.is_quantized and not (a.is_quantized and b.is_quantized):
        made = _product(rw, *factors(rw, a, b, element.expressed), batch, over, element.expressed)
        return as_quantized(rw, reshape(rw, made, shape), element)
    made = _product(rw, *factors(rw, a, b, element), batch, over, element)
    return reshape(rw, made, shape)


def _product(
    rw: Rewriter, a: Value, b: Value, batch: tuple[Sequence[int], Sequence[int]], over: tuple[Sequence[int], Sequence[int]],
    element: Type,
) -> Value:
    a, b = materialized(rw, a), materialized(rw, b)
    order = sorted(range(len(batch[0])), key=lambda i: batch[0][i])  # if they lie so, both stay as they are
    if list(batch[0]) != list(range(len(batch[0]))) or list(batch[1]) != list(range(len(batch[1]))):
        order = list(range(len(batch[0])))
    batches = [tuple(batch[side][i] for i in order) for side in (0, 1)]
    inner = sorted(range(len(over[0])), key=lambda i: over[0][i])
    inners = [tuple(over[side][i] for i in inner) for side in (0, 1)]
    frees = [
        tuple(axis for axis in range(x.rank) if axis not in (*batches[side], *inners[side])) for side, x in enumerate((a, b))]
    sizes = [product([x.shape[axis] for axis in frees[side]]) for side, x in enumerate((a, b))]
    depth = product([a.shape[axis] for axis in inners[0]])
    lead = [a.shape[axis] for axis in batches[0]]
    if not lead:
        return _layer(rw, a, b, frees, inners, sizes, depth, element)
    left, left_transpose = _matrix(rw, a, batches[0], frees[0], inners[0], sizes[0], depth)
    right, right_transpose = _matrix(rw, b, batches[1], inners[1], frees[1], depth, sizes[1])
    return rw.emit(
        "top.MatMul", left, right, left_transpose=left_transpose or None, right_transpose=right_transpose or None,
        element=element)


def _layer(
    rw: Rewriter, a: Value, b: Value, frees: list[tuple[int, ...]], inners: list[tuple[int, ...]], sizes: list[int], depth: int,
    element: Type,
) -> Value:
    """A product without batches. A constant right side is brought into the form of a layer's weight, [N, K]."""
    constant = rw.constant_of(b) is not None
    if constant:
        weight = reshape(rw, permute(rw, b, (*frees[1], *inners[1])), (sizes[1], depth))
        right, right_transpose = weight, True
    else:
        right, right_transpose = _matrix(rw, b, (), inners[1], frees[1], depth, sizes[1])
    last = tuple(range(a.rank - len(inners[0]), a.rank))
    if inners[0] == last and len(frees[0]) > 1 and (constant or right.rank == 2):
        left = reshape(rw, a, (*(shape_of(a)[axis] for axis in frees[0]), depth))
        return rw.emit("top.MatMul", left, right, right_transpose=right_transpose or None, element=element)
    left, left_transpose = _matrix(rw, a, (), frees[0], inners[0], sizes[0], depth)
    return rw.emit(
        "top.MatMul", left, right, left_transpose=left_transpose or None, right_transpose=right_transpose or None,
        element=element)


def _matrix(
    rw: Rewriter, x: Value, batch: Sequence[int], rows: Sequence[int], columns: Sequence[int], height: int, width: int,
) -> tuple[Value, bool]:
    """`x` as [batch.., height, width], or with the last two swapped where its dimensions lie so, and whether they are."""
    lead = [shape_of(x)[axis] for axis in batch]
    straight, swapped = (*batch, *rows, *columns), (*batch, *columns, *rows)
    identity = tuple(range(x.rank))
    if straight != identity and (swapped == identity or _is_cheaper(x, swapped, straight)):
        return reshape(rw, permute(rw, x, swapped), (*lead, width, height)), True
    return reshape(rw, permute(rw, x, straight), (*lead, height, width)), False


def _is_cheaper(x: Value, order: Sequence[int], other: Sequence[int]) -> bool:
    """Whether only an order, and not the other one, leaves all dimensions but those of size 1 where they are."""
    def moves(places: Sequence[int]) -> bool:
        real = [axis for axis in places if x.shape[axis] != 1]
        return real != sorted(real)

    return moves(other) and not moves(order)


@TABLE("stablehlo.einsum", "stablehlo.unary_einsum")
def einsum(op: Einsum | UnaryEinsum, rw: Rewriter) -> Value:
    """A sum of products over letters, which `top` has of factors of the result's type."""
    refuse_complex(op)
    element = op.results[0].element
    equation = op.einsum_config
    values = list(op.operands)
    if len(values) == 2:
        values = list(factors(rw, values[0], values[1], element))
    if not any(value.is_quantized for value in (*values, op.results[0])):
        values = [cast(rw, value, element) for value in values]
    return rw.emit("top.Einsum", *values, equation=equation if "->" in equation else equation + "->", element=element)
