"""Outputs that are the same on all inputs tried, though these differ, as they might be whatever was computed of them.

A picture made black and white at 128 is black wherever noise around zero is, and what a network makes of it is its biases.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from ..ir import Module, Op, Value

__all__ = ["Steady"]


class Steady:
    """Which outputs of a model, of those that are computed of its inputs, have been the same on all inputs so far."""

    def __init__(self, hub: Module | None, chosen: Collection[int] = ()) -> None:
        """Where there is no `hub`, nothing is known of any output. Those at the places `chosen`, labels and truths, are left out:
        other rules say whether they tell anything."""
        self._asked = [] if hub is None else _arguments_of_outputs(hub)
        self._first: tuple[Sequence[np.ndarray], Sequence[np.ndarray]] | None = None
        self._varies = set(chosen)
        self.places = set[int]()
        """The places of the outputs that were the same on two or more inputs that differ in what they are computed of."""

    def note(self, given: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        """Take in what a model gave: arrays of its inputs and of its outputs, in order, of any type."""
        if self._first is None:
            self._first = given, outputs
            return
        inputs, before = self._first
        for place, (old, new, asked) in enumerate(zip(before, outputs, self._asked, strict=False)):
            if place in self._varies:
                continue
            if not _same(old, new):
                self._varies.add(place)
                self.places.discard(place)
            elif any(number < len(given) and not _same(inputs[number], given[number]) for number in asked):
                self.places.add(place)


def _same(old: np.ndarray, new: np.ndarray) -> bool:
    old, new = np.asarray(old), np.asarray(new)
    return old.shape == new.shape and bool(((old == new) | ((old != old) & (new != new))).all())


def _arguments_of_outputs(hub: Module) -> list[frozenset[int]]:
    """The arguments, by number, of which each output is computed."""
    body = hub.body_of_main
    known = {argument: frozenset((number,)) for number, argument in enumerate(body.arguments)}
    for op in body:
        asked = frozenset[int]().union(*(known.get(value, frozenset()) for value in _taken(op)))
        known.update(dict.fromkeys(op.results, asked))
    return [known.get(value, frozenset()) for value in body.terminator.operands]


def _taken(op: Op) -> list[Value]:
    """All values that an op takes, or ops in its regions."""
    return [value for each in op.walk() for value in each.operands]
