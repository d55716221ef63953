"""Samples that belong to who goes through them: a generator may fill one array again and again, and give it every time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

import numpy as np

from .samples import Samples
from .sources import own

__all__ = ["owned"]


def owned(samples: Any) -> Any:
    """Samples of the same kind (a sequence, an iterator, something else to go through), each of them its reader's own.

    Lists, tuples and `Samples` hold theirs themselves, and are given back as they are; so is what is no samples at all.
    """
    if isinstance(samples, Samples | list | tuple | np.ndarray | Mapping | str) or not isinstance(samples, Iterable):
        return samples
    if isinstance(samples, Iterator):
        return map(own, samples)
    if isinstance(samples, Sequence):
        return _OwnedSequence(samples)
    return _OwnedCollection(samples) if isinstance(samples, Sized) else _Owned(samples)


class _Owned:
    def __init__(self, samples: Any) -> None:
        self._samples = samples

    def __iter__(self) -> Iterator[Any]:
        return map(own, self._samples)


class _OwnedCollection(_Owned):
    def __len__(self) -> int:
        return len(self._samples)


class _OwnedSequence(_OwnedCollection, Sequence[Any]):
    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [own(each) for each in self._samples[place]]
        return own(self._samples[place])
