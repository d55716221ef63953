"""Samples that belong to who goes through them, and say all that a model takes.

A generator may fill one array again and again, and give it every time. States of the model are rarely said: they are as at first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

import numpy as np

from ..errors import UsageError
from ..guard import users_code, users_items
from ..ir import Module, asked_inputs, initial_states
from ..kinds import is_iterable
from .samples import Samples
from .sources import own

__all__ = ["need_sample", "owned"]


def owned(samples: Any, module: Module) -> Any:
    """Samples of the same kind (a sequence, an iterator, something else to go through), each of them its reader's own and whole.

    A state of the module that a sample does not say is in it, as it is at first. `Samples` hold theirs themselves, and are given
    back as they are where nothing lacks; so are lists and tuples, and None. Raises `UsageError` for what is no samples, and for
    one that is no dictionary of arrays with the names of the module's inputs: of a list at once, else as it is gone through.
    """
    if samples is None:
        return None
    if isinstance(samples, Samples):
        return samples.with_states(module)
    if isinstance(samples, np.ndarray | Mapping | str) or not is_iterable(samples):
        shown = repr(samples) if isinstance(samples, str) else type(samples).__name__
        raise UsageError(
            f"samples are dictionaries of arrays by input name, one after the other, and not {shown:.100}", hint=_HINT)
    initial, names = initial_states(module), [*asked_inputs(module)] if module.functions else []

    def whole(number: int, sample: Any) -> Any:
        need_sample(sample, names, number)
        return {**initial, **sample} if initial else sample

    if isinstance(samples, list | tuple):
        every = [whole(*each) for each in enumerate(samples, 1)]
        return every if initial else samples

    def taken(number: int, sample: Any) -> Any:
        return whole(number, own(sample))

    if isinstance(samples, Iterator):
        return _each(samples, taken)
    if isinstance(samples, Sequence):
        return _OwnedSequence(samples, taken)
    return _OwnedCollection(samples, taken) if isinstance(samples, Sized) else _Owned(samples, taken)


_HINT = '[{"image": array}, ...]; transload.open_samples(source, module) makes such of files, folders and arrays'


def need_sample(sample: Any, names: Sequence[str], number: int) -> None:
    """`UsageError` where the `number`-th sample is no dictionary of arrays of numbers, or lacks an input."""
    if not isinstance(sample, Mapping):
        raise UsageError(
            f"sample {number} is no dictionary of arrays by input name, but of type {type(sample).__name__}", hint=_HINT)
    if missing := [name for name in names if name not in sample]:
        there = ", ".join(map(repr, sample)) or "nothing"
        raise UsageError(f"sample {number} has no {', '.join(map(repr, missing))}", hint=f"it has {there}")
    for name in names:
        try:
            array = np.asarray(sample[name])
        except (ValueError, TypeError) as error:
            raise UsageError(f"sample {number}: what input {name!r} is given is no array: {error}") from None
        if array.dtype.kind in "OSUMm":
            raise UsageError(f"sample {number}: what input {name!r} is given holds no numbers, but {array.dtype}")


def _each(samples: Iterable[Any], taken: Callable[[int, Any], Any]) -> Iterator[Any]:
    return (taken(*each) for each in enumerate(users_items(samples), 1))


class _Owned:
    def __init__(self, samples: Any, taken: Callable[[int, Any], Any]) -> None:
        self._samples, self._taken = samples, taken

    def __iter__(self) -> Iterator[Any]:
        return _each(self._samples, self._taken)


class _OwnedCollection(_Owned):
    def __len__(self) -> int:
        with users_code():
            return len(self._samples)


class _OwnedSequence(_OwnedCollection, Sequence[Any]):
    def __getitem__(self, place: Any) -> Any:
        with users_code():
            found = self._samples[place]
        if isinstance(place, slice):
            places = range(len(self))[place]
            return [self._taken(at + 1, each) for at, each in zip(places, found, strict=True)]
        return self._taken(place + 1 if place >= 0 else len(self) + place + 1, found)
