"""Matrix products: dot_general contracts any dimensions, so nothing is transposed for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from transload.ir import I32, Type, Value
from transload.ir.build import Builder
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.ops.matmul import expand_equation

from .. import build
from .common import finish, promoted, static_shape, widened
from .conv import contracted, sum_type

if TYPE_CHECKING:
    from transload_hub.ops.matmul import Einsum, MatMul

__all__ = ["TABLE"]

TABLE = RewriteTable()


def _factors(rw: Builder, a: Value, b: Value, target: Type) -> tuple[Value, Value, Type]:
    """Two factors as they are contracted, and the type of the sums."""
    if a.is_float != b.is_float or (a.is_float and a.element != b.element):
        a, b = promoted(rw, a, b)
    total = sum_type(a, b, target)
    return contracted(rw, a, total), contracted(rw, b, total), total


@TABLE("top.MatMul")
def matmul(op: MatMul, rw: Rewriter) -> Value:
    """The product of the last two dimensions, broadcast over those before, plus the bias."""
    a, b, total = _factors(rw, op.input, op.right, op.result.element)
    inner_a = a.rank - (2 if op.left_transpose and a.rank > 1 else 1)
    inner_b = b.rank - (1 if (op.right_transpose and b.rank > 1) or b.rank == 1 else 2)
    batch_a, batch_b = static_shape(a)[:-2], static_shape(b)[:-2]
    if any(size != 1 for size in batch_b):
        a, inner_a = _with_batch(rw, a, inner_a, batch_a, batch_b)
        b, inner_b = _with_batch(rw, b, inner_b, batch_b, batch_a)
        batch = tuple(range(max(len(batch_a), len(batch_b))))
        y = build.dot_general(rw, a, b, ((inner_a,), (inner_b,)), (batch, batch), total)
    else:  # one matrix for all: the rows of all products are those of one
        if len(batch_b):
            b, inner_b = build.reshape(rw, b, static_shape(b)[-2:]), inner_b - len(batch_b)
        y = build.dot_general(rw, a, b, ((inner_a,), (inner_b,)), element=total)
    y = build.reshape(rw, y, static_shape(op.result))
    if op.bias is not None:
        y = build.binary(rw, "add", y, build.convert(rw, op.bias, y.element))
    return finish(rw, op, y)


def _with_batch(rw: Builder, x: Value, inner: int, batch: tuple[int, ...], other: tuple[int, ...]) -> tuple[Value, int]:
    """A factor with the dimensions that both broadcast to in front, and where its contracted dimension is then."""
    matrix = static_shape(x)[len(batch) :]
    common = np.broadcast_shapes(batch, other)
    return build.broadcast(rw, x, (*common, *matrix)), inner + len(common) - len(batch)


# --- Einsum


@TABLE("top.Einsum")
def einsum(op: Einsum, rw: Rewriter) -> Value:
    """Operands one after the other: those so far with the next, over the subscripts that nothing after them needs."""
    terms, outcome = expand_equation(op, [value.rank for value in op.inputs])
    sizes: dict[str, int] = {}
    for term, value in zip(terms, op.inputs, strict=True):
        for letter, size in zip(term, static_shape(value), strict=True):
            sizes[letter] = size if sizes.get(letter, 1) == 1 else sizes[letter]
    target = op.result.element
    values = list(op.inputs)
    if not values[0].is_float:
        total = I32 if target.width <= 32 else target  # type: ignore[attr-defined]
        values = [build.convert(rw, value, total) for value in values]
    parts = [_plain_term(rw, value, term, sizes) for value, term in zip(values, terms, strict=True)]
    value, letters = parts[0]
    for index, (other, others) in enumerate(parts[1:], 1):
        needed = set(outcome).union(*(later for _, later in parts[index + 1 :]))
        value, letters = _contracted_pair(rw, value, letters, other, others, needed, target)
    value, letters = _summed(rw, value, letters, set(outcome))
    kept = [letter for letter in outcome if letter in letters]
    value = build.transpose(rw, value, [letters.index(letter) for letter in kept])
    y = build.spread(rw, value, [sizes[letter] for letter in outcome], [outcome.index(letter) for letter in kept])
    return finish(rw, op, y)


def _plain_term(rw: Builder, value: Value, term: str, sizes: dict[str, int]) -> tuple[Value, str]:
    """An operand whose subscripts are all different: of repeated ones the diagonal, without those that it is spread along."""
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            value, term = _diagonal(rw, value, term, letter)
    kept = [i for i, letter in enumerate(term) if static_shape(value)[i] == sizes[letter]]
    value = build.reshape(rw, value, [static_shape(value)[i] for i in kept])
    return value, "".join(term[i] for i in kept)


def _diagonal(rw: Builder, value: Value, term: str, letter: str) -> tuple[Value, str]:
    """The elements at which the first two occurrences of a subscript are equal."""
    first = term.index(letter)
    second = term.index(letter, first + 1)
    shape = static_shape(value)
    same = build.compare(rw, "EQ", build.iota(rw, shape, first, I32), build.iota(rw, shape, second, I32))
    value = build.reduce(rw, build.select(rw, same, value, 0), (second,), "add")
    return value, term[:second] + term[second + 1 :]


def _summed(rw: Builder, value: Value, letters: str, needed: set[str]) -> tuple[Value, str]:
    """A value summed over the subscripts that are not needed."""
    gone = [i for i, letter in enumerate(letters) if letter not in needed]
    if not gone:
        return value, letters
    return build.reduce(rw, widened(rw, value), gone, "add"), "".join(letter for letter in letters if letter in needed)


def _contracted_pair(
    rw: Builder, a: Value, left: str, b: Value, right: str, needed: set[str], target: Type
) -> tuple[Value, str]:
    """The product of two values, summed over what only they have and nothing needs."""
    a, left = _summed(rw, a, left, needed | set(right))
    b, right = _summed(rw, b, right, needed | set(left))
    batch = [letter for letter in left if letter in right and letter in needed]
    gone = [letter for letter in left if letter in right and letter not in needed]
    a, b, total = _factors(rw, a, b, target)
    y = build.dot_general(
        rw, a, b, ([left.index(x) for x in gone], [right.index(x) for x in gone]),
        ([left.index(x) for x in batch], [right.index(x) for x in batch]), total)
    rest = [letter for letter in left + right if letter not in batch and letter not in gone]
    return y, "".join([*batch, *rest])
