"""Einstein sums, as matrix products.

The operands are joined from the left, two at a time. Subscripts of both that nothing else needs are summed by a
MatMul, of which the other common ones are the batch; where there are none to sum, the two are multiplied
element by element. Each step is `top` ops, lowered like any other. (tf.Einsum has no lowering.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub import tables
from transload_hub.ops.matmul import expand_equation

from .common import plain_into, static_shape

if TYPE_CHECKING:
    from transload_hub.ops.matmul import Einsum

__all__ = ["TABLE"]

TABLE = RewriteTable()
plain = plain_into(TABLE)


@plain("top.Einsum")
def einsum(op: Einsum, rw: Rewriter) -> Value:
    """See the module."""
    terms, outcome = expand_equation(op, [value.rank for value in op.inputs])
    sizes: dict[str, int] = {}
    for term, value in zip(terms, op.inputs, strict=True):
        for letter, size in zip(term, static_shape(value), strict=True):
            sizes[letter] = max(size, sizes.get(letter, 1))
    pending = [_plain_term(rw, value, term, sizes) for value, term in zip(op.inputs, terms, strict=True)]
    value, term = pending.pop(0)
    while True:
        needed = set(outcome).union(*(other for _, other in pending))
        value, term = _summed(rw, value, term, [letter for letter in term if letter not in needed])
        if not pending:
            return _ordered(rw, value, term, outcome)
        other, other_term = pending.pop(0)
        later = set(outcome).union(*(rest for _, rest in pending))
        mine = [letter for letter in other_term if letter not in later and letter not in term]
        other, other_term = _summed(rw, other, other_term, mine)
        value, term = _joined(rw, value, term, other, other_term, later, sizes)


def _top(rw: Rewriter, name: str, *operands: Value, **attributes: Any) -> Value:
    return rw.emit(f"top.{name}", *operands, **attributes)


def _plain_term(rw: Rewriter, value: Value, term: str, sizes: dict[str, int]) -> tuple[Value, str]:
    """The operand with each subscript once (a diagonal where it was there twice), and of full size."""
    while len(set(term)) != len(term):
        first = next(i for i, letter in enumerate(term) if letter in term[i + 1 :])
        second = term.index(term[first], first + 1)
        shape = static_shape(value)
        mask = tables.eye(shape[first], shape[second], dtype=np.int32)
        spread = [size if dim in (first, second) else 1 for dim, size in enumerate(shape)]
        value = _top(rw, "Mul", value, rw.constant(mask.reshape(spread), value.element))
        value = _top(rw, "Reduce", value, axes=(second,), keepdims=False, mode="ReduceSum")
        term = term[:second] + term[second + 1 :]
    full = tuple(sizes[letter] for letter in term)
    return (value if static_shape(value) == full else _top(rw, "Expand", value, shape=full)), term


def _summed(rw: Rewriter, value: Value, term: str, letters: Sequence[str]) -> tuple[Value, str]:
    """Without the subscripts `letters`, summed over."""
    if not letters:
        return value, term
    axes = tuple(term.index(letter) for letter in letters)
    return _top(rw, "Reduce", value, axes=axes, keepdims=False, mode="ReduceSum"), "".join(c for c in term if c not in letters)


def _ordered(rw: Rewriter, value: Value, term: str, wanted: str) -> Value:
    """The value with its subscripts in another order."""
    return value if term == wanted else _top(rw, "Permute", value, order=tuple(term.index(letter) for letter in wanted))


def _joined(
    rw: Rewriter, a: Value, a_term: str, b: Value, b_term: str, later: set[str], sizes: dict[str, int],
) -> tuple[Value, str]:
    """The product of two operands, summed over what both have and nothing needs later."""
    both = [letter for letter in a_term if letter in b_term]
    inner = "".join(letter for letter in both if letter not in later)
    batch = "".join(letter for letter in both if letter in later)
    left = "".join(letter for letter in a_term if letter not in b_term)
    right = "".join(letter for letter in b_term if letter not in a_term)
    made = batch + left + right

    def size(letters: str) -> int:
        return math.prod(sizes[letter] for letter in letters)

    shape = tuple(sizes[letter] for letter in made)
    a, b = _ordered(rw, a, a_term, batch + left + inner), _ordered(rw, b, b_term, batch + (right if not inner else inner + right))
    if not inner:
        spread_a = (*shape[: len(batch) + len(left)], *(1,) * len(right))
        spread_b = (*shape[: len(batch)], *(1,) * len(left), *(sizes[letter] for letter in right))
        return _top(rw, "Mul", _top(rw, "Reshape", a, shape=spread_a), _top(rw, "Reshape", b, shape=spread_b)), made
    rows = _top(rw, "Reshape", a, shape=(size(batch), size(left), size(inner)))
    columns = _top(rw, "Reshape", b, shape=(size(batch), size(inner), size(right)))
    return _top(rw, "Reshape", _top(rw, "MatMul", rows, columns), shape=shape), made
