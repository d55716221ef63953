"""Samples that a result is judged by: what they are called, and what they say together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from heapq import nlargest
from operator import itemgetter
from typing import Any

import numpy as np

from ..escapes import escaped
from .differences import TensorDifference, is_farther, together
from .excuses import Broken, Excuse
from .verdict import Verification

__all__ = ["Sample", "Together", "named"]

_NOTES = 4
"""Of those on single samples, how many are told."""
_MOST = 8
"""How many of the samples with most steps to count are kept."""


class Sample(dict[str, np.ndarray]):
    """Arrays by input, and what the sample is called that they are of: its place says nothing, as those that vary come first."""

    def __init__(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        super().__init__(arrays)
        self.name = name


def named(samples: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Samples with their names: their own (`Samples.named`), or else their places."""
    from ..samples.samples import Samples

    return samples.named() if isinstance(samples, Samples) else (
        (f"sample {number}", sample) for number, sample in enumerate(samples, 1))


class Together:
    """The verdict on a first sample, made one on all that are added: it shows each output where it was farthest.

    How many numbers are a step away is counted over all of them: four of ten may be by chance, and not on each sample.
    """

    def __init__(self, verdict: Verification, first: Mapping[str, np.ndarray]) -> None:
        self._verdict, self._last = verdict, first
        self._notes = list[str]()
        self._counted = dict[int, TensorDifference]()
        self._farthest = list[tuple[int, Mapping[str, np.ndarray]]]()
        verdict.samples = 1

    def leave_out(self, given: Mapping[str, np.ndarray], why: str) -> None:
        """Note that a sample was not judged by."""
        self._notes.append(f"{_name(given)} is left out: {why}")

    def count(self, given: Mapping[str, np.ndarray], tensors: Mapping[int, TensorDifference]) -> Set[int]:
        """Count the steps in a sample's outputs, by place; says of which there are any to count."""
        counted = {index: tensor for index, tensor in tensors.items() if tensor.dtype != "bool"}
        apart = sum(tensor.others.apart for tensor in counted.values() if tensor.others is not None)
        self._farthest = nlargest(_MOST, [*self._farthest, (apart, given)], key=itemgetter(0))
        for index, tensor in counted.items():
            self._counted[index] = together(self._counted[index], tensor) if index in self._counted else tensor
        return counted.keys()

    def add(self, once: Verification, given: Mapping[str, np.ndarray], anew: Collection[int]) -> None:
        """Add what was judged on one more sample, where the outputs at the places `anew` say something for the first time."""
        verdict, self._last = self._verdict, given
        verdict.samples += 1
        for index, tensor in enumerate(once.tensors):
            if once.broken or index in anew or is_farther(tensor, verdict.tensors[index]):
                verdict.tensors[index] = tensor
        if once.broken:
            verdict.broken, verdict.bounds = once.broken, once.bounds
        self._notes += [note for note in once.notes if note not in verdict.notes and note not in self._notes]

    @property
    def tensors(self) -> list[TensorDifference]:
        """The outputs, with what was counted of all samples."""
        return [self._counted.get(index, tensor) for index, tensor in enumerate(self._verdict.tensors)]

    def end(self, beyond: Broken, excuse: Excuse) -> None:
        """Say which sample is wrong, or that all together are, by the limits that `tensors` break, by place.

        What all break together may have an `excuse` (`Excuses.of_all`), looked for on those that are a step away most often.
        """
        verdict, notes = self._verdict, self._notes
        of_all = {index: beyond[index] for index in self._counted if index in beyond}
        if of_all and not verdict.broken:
            of_all, excused = excuse([given for _, given in self._farthest], of_all)
            notes[:0] = [note for note in excused if note not in notes]
        wrong = [reason for reasons in of_all.values() for reason in reasons]
        if verdict.broken:
            before = f"; on the {verdict.samples - 1:,} judged before it passed" if verdict.samples > 1 else ""
            notes.insert(0, f"that, and the table, is of {_name(self._last)}{before}")
        elif wrong:
            verdict.broken = wrong
            notes.insert(0, "that is so of all samples together; the table shows each output where it was farthest")
        hidden = len(notes) - _NOTES
        verdict.notes += notes if hidden <= 1 else [*notes[:_NOTES], f"and {hidden} more notes on single samples"]


def _name(given: Mapping[str, np.ndarray]) -> str:
    return escaped(given.name) if isinstance(given, Sample) else "what is given"
