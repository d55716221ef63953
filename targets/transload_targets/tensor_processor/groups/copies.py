"""Ops that only move elements, as copies within global memory: a fact of the kind `copies`, a function of the op."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from transload.facts import FactTable

__all__ = ["COPIES", "Copies", "Copy", "row_major"]


@dataclass(frozen=True)
class Copy:
    """Elements of operand number `operand` that go to the result: their shape, where the first is and how far the next, in
    elements.
    """

    operand: int
    shape: tuple[int, ...]
    source: int
    source_steps: tuple[int, ...]
    target: int
    target_steps: tuple[int, ...]


@dataclass(frozen=True)
class Copies:
    """What an op moves. `same`: nothing, the result has the bytes of its only operand. `fill` is what the rest of the result
    holds. `gather`: the dimensions [.., A, ..] of the first operand, of which the second has the indices of the parts to take.
    `sources` are what the copies' `operand` counts, where that is not the op's operands.
    """

    copies: tuple[Copy, ...]
    same: bool = False
    fill: int | float | None = None
    gather: tuple[int, int, int] | None = None
    sources: tuple[Any, ...] = ()


COPIES = FactTable("tpu")


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Elements between neighbours of each dimension."""
    return tuple(prod(shape[axis + 1:]) for axis in range(len(shape)))


def _part(operand: int, shape: Sequence[int], source: Sequence[int], target: Sequence[int], first: int, into: int) -> Copy:
    return Copy(operand, tuple(shape), first, tuple(source), into, tuple(target))


@COPIES("reshape")
def reshape(op: Any) -> Copies:
    """The same bytes."""
    return Copies((_part(0, (), (), (), 0, 0),), same=True)


@COPIES("permute")
def permute(op: Any) -> Copies:
    """One copy, by the strides of the result's dimensions in the input; the same bytes where only dimensions of size 1 move."""
    shape, steps = tuple(op.output.shape), row_major(op.input.shape)
    if [axis for axis in op.order if op.input.shape[axis] > 1] == [axis for axis, size in enumerate(op.input.shape) if size > 1]:
        return Copies((_part(0, (), (), (), 0, 0),), same=True)
    return Copies((_part(0, shape, [steps[axis] for axis in op.order], row_major(shape), 0, 0),))


@COPIES("concat")
def concat(op: Any) -> Copies:
    """A copy for each input."""
    steps = row_major(op.output.shape)
    copies, first = [], 0
    for number, value in enumerate(op.inputs):
        copies.append(_part(number, value.shape, row_major(value.shape), steps, 0, first * steps[op.axis]))
        first += value.shape[op.axis]
    return Copies(tuple(copies))


@COPIES("slice")
def slices(op: Any) -> Copies:
    """One copy, from where it starts and by its steps; where these go backwards, which the DMA does not, one for each place."""
    steps, into = row_major(op.input.shape), row_major(op.sizes)
    backwards = [axis for axis, by in enumerate(op.steps) if by < 0]
    shape = [1 if axis in backwards else size for axis, size in enumerate(op.sizes)]
    strides = [step * max(by, 1) for step, by in zip(steps, op.steps, strict=True)]
    start = sum(first * step for first, step in zip(op.starts, steps, strict=True))
    copies = []
    for places in product(*(range(op.sizes[axis]) for axis in backwards)):
        source = start + sum(place * op.steps[axis] * steps[axis] for place, axis in zip(places, backwards, strict=True))
        target = sum(place * into[axis] for place, axis in zip(places, backwards, strict=True))
        copies.append(_part(0, shape, strides, into, source, target))
    return Copies(tuple(copies))


@COPIES("pad")
def pad(op: Any) -> Copies:
    """The value everywhere, then the input in the midst of it."""
    steps = row_major(op.output.shape)
    first = sum(before * step for before, step in zip(op.pads, steps, strict=False))
    return Copies((_part(0, op.input.shape, row_major(op.input.shape), steps, 0, first),), fill=op.value)


@COPIES("gather")
def gather(op: Any) -> Copies:
    """One move that takes parts by indices; the copies say which operands it reads, and how much of them."""
    shape, count = op.input.shape, prod(op.indices.shape)
    lead, size, rest = prod(shape[: op.axis]), shape[op.axis], prod(shape[op.axis + 1 :])
    return Copies((_part(0, (lead * count * rest,), (), (), 0, 0), _part(1, (count,), (), (), 0, 0)), gather=(lead, size, rest))
