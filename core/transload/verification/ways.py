"""A judge that does not agree with itself: a runtime that computes a model in several ways, each as right as the other.

onnxruntime computes a QDQ graph in floats, node by node, or in integers, its patterns fused, by the level of optimization.
Roundings fall differently, and through a deep network that adds up to more than any tolerance. A result cannot be nearer to
such a runtime than the runtime is to itself: each output is judged by the nearest of the ways, and must be no further
from it than the ways are from each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice
from typing import Any

import numpy as np

from .differences import TensorDifference, compare_outputs, is_as_near

__all__ = ["Judgement", "Ways"]

_MORE = 3
"""On how many further inputs it is looked how far apart the ways are, where those given do not suffice."""

Run = Callable[..., dict[str, np.ndarray]]


@dataclass(frozen=True)
class Judgement:
    """Each output's difference from the nearest way, which way that was, and the places of those that are near enough."""

    tensors: list[TensorDifference]
    nearest: list[str]
    excused: dict[int, TensorDifference]
    """By place, how far the ways themselves are apart."""


class Ways:
    """The ways by name, the usual one first."""

    def __init__(self, runs: Mapping[str, Run]) -> None:
        self.runs = runs

    def judge(
        self, given: Mapping[str, Any], actual: Mapping[str, np.ndarray], suspects: Sequence[int],
        further: Iterable[Mapping[str, Any]], chosen: Collection[int] = (),
    ) -> Judgement:
        """Judge the outputs `actual` on the inputs `given`; of those at the places `chosen`, by how many are the same.

        `suspects` are the places of the outputs that are not near enough to the usual way; where they are further from the
        nearest than the ways are apart on these inputs, how far they are apart on `further` ones counts, too.
        """
        computed = {name: run(given) for name, run in self.runs.items()}
        against = {name: compare_outputs(outputs, actual) for name, outputs in computed.items()}
        nearest = [
            max(against, key=lambda name: _nearness(against[name][index], index in chosen)) for index in range(len(actual))]
        tensors = [against[name][index] for index, name in enumerate(nearest)]
        excused: dict[int, TensorDifference] = {}
        pending = set(suspects)
        results = chain([computed], ({name: run(more) for name, run in self.runs.items()} for more in islice(further, _MORE)))
        while pending and (results_of_all := next(results, None)) is not None:
            for spread in _spreads(results_of_all):
                for index in [index for index in pending if _no_further(tensors[index], spread[index], index in chosen)]:
                    excused[index] = spread[index]
                    pending.discard(index)
        return Judgement(tensors, nearest, excused)


def _nearness(tensor: TensorDifference, is_chosen: bool) -> float:
    """How near a result is to one way; least where no number says it, which is neither more nor less than any."""
    near = tensor.equal if is_chosen else tensor.metrics["euclid"]
    return -math.inf if near is None or math.isnan(near) else near


def _spreads(computed: Mapping[str, dict[str, np.ndarray]]) -> list[list[TensorDifference]]:
    """How far each pair of ways is apart, output by output."""
    return [compare_outputs(computed[a], computed[b]) for a, b in combinations(computed, 2)]


def _no_further(ours: TensorDifference, theirs: TensorDifference, is_chosen: bool) -> bool:
    """Whether a result is at least as near to its reference as another reference is."""
    if is_chosen:
        return _nearness(ours, True) >= _nearness(theirs, True)
    return is_as_near(ours, theirs)
