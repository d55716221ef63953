"""Ops that only move elements, as copies within global memory: a fact of the kind `copies`, a function of the op."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    holds.
    """

    copies: tuple[Copy, ...]
    same: bool = False
    fill: int | float | None = None


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
    """One copy, by the strides of the result's dimensions in the input."""
    shape, steps = tuple(op.output.shape), row_major(op.input.shape)
    return Copies((_part(0, shape, [steps[axis] for axis in op.order], row_major(shape), 0, 0),))


@COPIES("concat")
def concat(op: Any) -> Copies:
    """A copy for each input."""
    steps = row_major(op.output.shape)
    copies, first = [], 0
    for number, value in enumerate(op.operands):
        copies.append(_part(number, value.shape, row_major(value.shape), steps, 0, first * steps[op.axis]))
        first += value.shape[op.axis]
    return Copies(tuple(copies))


@COPIES("slice")
def slices(op: Any) -> Copies:
    """One copy, from where it starts and by its steps."""
    steps = row_major(op.input.shape)
    first = sum(start * step for start, step in zip(op.starts, steps, strict=True))
    return Copies((_part(0, op.output.shape, [step * by for step, by in zip(steps, op.steps, strict=True)],
                         row_major(op.output.shape), first, 0),))


@COPIES("pad")
def pad(op: Any) -> Copies:
    """The value everywhere, then the input in the midst of it."""
    steps = row_major(op.output.shape)
    first = sum(before * step for before, step in zip(op.before, steps, strict=True))
    return Copies((_part(0, op.input.shape, row_major(op.input.shape), steps, 0, first),), fill=op.value)
