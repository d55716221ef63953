"""Samples that belong to who goes through them, and say all that a model takes.

A generator may fill one array again and again, and give it every time. States of the model are rarely said: they are as at first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

import numpy as np

from ..ir import Module, initial_states
from .samples import Samples
from .sources import own

__all__ = ["owned"]


def owned(samples: Any, module: Module) -> Any:
    """Samples of the same kind (a sequence, an iterator, something else to go through), each of them its reader's own and whole.

    A state of the module that a sample does not say is in it, as it is at first. Lists, tuples and `Samples` hold theirs
    themselves, and are given back as they are where nothing lacks; so is what is no samples at all.
    """
    if isinstance(samples, Samples):
        return samples.with_states(module)
    if isinstance(samples, np.ndarray | Mapping | str) or not isinstance(samples, Iterable):
        return samples
    initial = initial_states(module)

    def whole(sample: Any) -> Any:
        return {**initial, **sample} if initial and isinstance(sample, Mapping) else sample

    if isinstance(samples, list | tuple):
        return [*map(whole, samples)] if initial else samples

    def taken(sample: Any) -> Any:
        return whole(own(sample))

    if isinstance(samples, Iterator):
        return map(taken, samples)
    if isinstance(samples, Sequence):
        return _OwnedSequence(samples, taken)
    return _OwnedCollection(samples, taken) if isinstance(samples, Sized) else _Owned(samples, taken)


class _Owned:
    def __init__(self, samples: Any, taken: Callable[[Any], Any]) -> None:
        self._samples, self._taken = samples, taken

    def __iter__(self) -> Iterator[Any]:
        return map(self._taken, self._samples)


class _OwnedCollection(_Owned):
    def __len__(self) -> int:
        return len(self._samples)


class _OwnedSequence(_OwnedCollection, Sequence[Any]):
    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self._taken(each) for each in self._samples[place]]
        return self._taken(self._samples[place])
