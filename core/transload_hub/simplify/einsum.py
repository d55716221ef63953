"""Einstein sums, written out: the pass `write-out-einsums`, and a table for lowerings that have no such operator.

The operands are joined from the left, two at a time. Subscripts of both that nothing else needs are summed by a
MatMul, of which the other common ones are the batch; where there are none to sum, the two are multiplied
element by element. Each step is `top` ops, which are then lowered, or quantized, like any other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import OpenSizes
from transload.ir import Module, Value
from transload.ir.build import constant_of
from transload.rewrite import Rewriter, RewriteTable, apply_greedily

from ..ops.matmul import expand_equation
from .constant_products import PRODUCT

if TYPE_CHECKING:
    from ..ops.matmul import Einsum

__all__ = ["TABLE", "write_out_einsums"]

TABLE = RewriteTable()
"""Sums of any equation; of quantized tensors nothing."""
KNOWN = RewriteTable()
"""The same, where the shapes are known; others stay."""


def write_out_einsums(module: Module) -> bool:
    """Write out the Einstein sums of a module whose shapes are known. Returns whether there were any."""
    return apply_greedily(module, KNOWN)


@KNOWN("top.Einsum")
def of_known_shapes(op: Einsum, rw: Rewriter) -> Value | None:
    """The sum, where the shapes of its operands are known."""
    return einsum(op, rw) if all(value.known_shape is not None for value in op.inputs) else None


@TABLE("top.Einsum")
def einsum(op: Einsum, rw: Rewriter) -> Value | None:
    """See the module. Raises `Unsupported` for shapes that are not known."""
    if any(value.is_quantized for value in (*op.operands, *op.results)):
        return None
    terms, outcome = expand_equation(op, [value.rank for value in op.inputs])
    return _Sum(op, rw, terms).made(terms, outcome)


def _static_shape(value: Value) -> tuple[int, ...]:
    shape = value.known_shape
    if shape is None:
        raise OpenSizes(f"is of {value.type}, and products are written out")
    return shape


class _Sum:
    """The sum of one op on its way. A factor is a value and its term, the subscript of each of its dimensions."""

    def __init__(self, op: Einsum, rw: Rewriter, terms: Sequence[str]) -> None:
        self.op = op
        self.rw = rw
        self.products: list[Value] = []
        self.sizes: dict[str, int] = {}
        for term, value in zip(terms, op.inputs, strict=True):
            for letter, size in zip(term, _static_shape(value), strict=True):
                self.sizes[letter] = size if self.sizes.get(letter, 1) == 1 else self.sizes[letter]

    def made(self, terms: Sequence[str], outcome: str) -> Value:
        """The result. Products that something follows are called after it (`PRODUCT`), as others are that layers are made of."""
        pending = [self.plain(value, term) for value, term in zip(self.op.inputs, terms, strict=True)]
        value, term = pending.pop(0)
        while True:
            needed = set(outcome).union(*(other for _, other in pending))
            value, term = self.summed(value, term, [letter for letter in term if letter not in needed])
            if not pending:
                break
            other, other_term = pending.pop(0)
            later = set(outcome).union(*(rest for _, rest in pending))
            mine = [letter for letter in other_term if letter not in later and letter not in term]
            value, term = self.joined(value, term, *self.summed(other, other_term, mine), later)
        result = self.ordered(value, term, outcome)
        name = self.op.output.name
        for product in self.products:
            if product is not result and name and product.op is not None:
                product.op.location = name + PRODUCT
        return result

    def emit(self, name: str, *operands: Value, **attributes: Any) -> Value:
        return self.rw.emit(f"top.{name}", *operands, **attributes)

    def reshaped(self, value: Value, shape: tuple[int, ...]) -> Value:
        """The value in another shape; a constant as one, so that weights are."""
        if _static_shape(value) == shape:
            return value
        dense = constant_of(value)
        if dense is not None:
            return self.rw.constant(dense.numpy().reshape(shape), element=value.element)
        return self.emit("Reshape", value, shape=shape)

    def ordered(self, value: Value, term: str, wanted: str) -> Value:
        """The value with its subscripts in another order; a constant as one."""
        if term == wanted:
            return value
        order, dense = tuple(term.index(letter) for letter in wanted), constant_of(value)
        if dense is not None:
            return self.rw.constant(np.ascontiguousarray(dense.numpy().transpose(order)), element=value.element)
        return self.emit("Permute", value, order=order)

    def plain(self, value: Value, term: str) -> tuple[Value, str]:
        """The operand with each subscript once: of repeated ones the diagonal, without those that it is spread along."""
        for letter in dict.fromkeys(term):
            while term.count(letter) > 1:
                value, term = self.diagonal(value, term, letter)
        shape = _static_shape(value)
        kept = [dim for dim, letter in enumerate(term) if shape[dim] == self.sizes[letter]]
        return self.reshaped(value, tuple(shape[dim] for dim in kept)), "".join(term[dim] for dim in kept)

    def diagonal(self, value: Value, term: str, letter: str) -> tuple[Value, str]:
        """The elements at which the first two occurrences of a subscript are equal, which is the last then: of rows of n*n
        numbers each (n+1)th. Nothing is multiplied, so that what is beside them may be infinite."""
        first = term.index(letter)
        second = term.index(letter, first + 1)
        rest = [dim for dim in range(len(term)) if dim not in (first, second)]
        shape = _static_shape(value)
        outer, size = tuple(shape[dim] for dim in rest), shape[first]
        order = (*rest, first, second)
        if order != tuple(range(len(term))):
            value = self.emit("Permute", value, order=order)
        value = self.reshaped(value, (*outer, size * size))
        ends, steps = (*outer, size * size), (*(1,) * len(outer), size + 1)
        value = self.emit("Slice", value, offset=(0,) * len(ends), ends=ends, steps=steps)
        return value, "".join(term[dim] for dim in rest) + letter

    def summed(self, value: Value, term: str, letters: Sequence[str]) -> tuple[Value, str]:
        """Without the subscripts `letters`, summed over."""
        if not letters:
            return value, term
        axes = tuple(term.index(letter) for letter in letters)
        made = self.emit("Reduce", value, axes=axes, keepdims=False, mode="ReduceSum")
        return made, "".join(letter for letter in term if letter not in letters)

    def joined(self, a: Value, a_term: str, b: Value, b_term: str, later: set[str]) -> tuple[Value, str]:
        """The product of two factors, summed over what both have and nothing needs later."""
        both = [letter for letter in a_term if letter in b_term]
        inner = "".join(letter for letter in both if letter not in later)
        batch = "".join(letter for letter in both if letter in later)
        left = "".join(letter for letter in a_term if letter not in b_term)
        right = "".join(letter for letter in b_term if letter not in a_term)
        made = batch + left + right
        shape = tuple(self.sizes[letter] for letter in made)
        if inner:
            a, left_transpose = self.matrix(a, a_term, batch, left, inner)
            b, right_transpose = self.matrix(b, b_term, batch, inner, right)
            turned = {"left_transpose": True if left_transpose else None, "right_transpose": True if right_transpose else None}
            self.products.append(self.emit("MatMul", a, b, **turned))
            return self.reshaped(self.products[-1], shape), made
        a, b = self.ordered(a, a_term, batch + left), self.ordered(b, b_term, batch + right)
        spread_a = (*shape[: len(batch) + len(left)], *(1,) * len(right))
        spread_b = (*shape[: len(batch)], *(1,) * len(left), *(self.sizes[letter] for letter in right))
        return self.emit("Mul", self.reshaped(a, spread_a), self.reshaped(b, spread_b)), made

    def matrix(self, value: Value, term: str, batch: str, rows: str, columns: str) -> tuple[Value, bool]:
        """A factor as [batch, rows, columns], each of these one dimension, the first only where there is one: layers have two.

        Where its dimensions are there in the order [batch, columns, rows] it stays so, and True is given with it.
        """
        turned = term == batch + columns + rows != batch + rows + columns
        if turned:
            rows, columns = columns, rows
        sizes = [math.prod(self.sizes[letter] for letter in letters) for letters in (batch, rows, columns)]
        value = self.ordered(value, term, batch + rows + columns)
        return self.reshaped(value, tuple(sizes if batch else sizes[1:])), turned
