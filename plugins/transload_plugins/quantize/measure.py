"""The histograms of all tensors of a module over samples: one pass, several threads, fixed memory, and resumable.

Samples are taken as they come and let go when they are counted; no more wait than keep the threads busy. Counts are integers, and
bins follow from the numbers alone (`Histogram`), so that neither the number of threads nor an interruption changes the result.
"""

from __future__ import annotations

import contextvars
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice, pairwise
from operator import length_hint
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any

import numpy as np

from transload.cores import workers_or_cores
from transload.errors import ReadError, UsageError
from transload.ir import Module, input_names
from transload.samples.owned import need_sample
from transload.samples.samples import Samples
from transload.shell import quoted

from .histogram import Histogram
from .observe import observed
from .running import Runner
from .state import State

__all__ = ["Counting", "Progress", "Sample", "Spread", "measured", "some_of"]

Sample = Mapping[str, Any]
Progress = Callable[[int, int | None], None]
"""Told how many samples are done, and how many there are where that is known."""
SAVED_EVERY = 64
"""Samples between two saves of the state."""


class Spread:
    """Samples as they are gone through, of which some are kept: from `most / 2` to `most`, one of each of as many stretches.

    Whenever there are more, of each two stretches that follow each other one's is let go. Which one is left to chance, always the
    same: of samples in order of their class the first alone would be of one, and so would every tenth where classes take turns.
    """

    def __init__(self, samples: Iterable[Sample], most: int) -> None:
        self._samples = samples
        self._most = most
        self.kept: list[Sample] = []

    def __iter__(self) -> Iterator[Sample]:
        self.kept = []
        chances: list[float] = []
        stretch = 1
        for number, sample in enumerate(self._samples):
            if number == stretch * self._most:
                better = [max(range(self._most)[at:at + 2], key=chances.__getitem__) for at in range(0, self._most, 2)]
                self.kept, chances = [self.kept[at] for at in better], [chances[at] for at in better]
                stretch *= 2
            chance = Random(number).random()
            if number % stretch == 0:
                self.kept.append(sample)
                chances.append(chance)
            elif chance > chances[-1]:
                self.kept[-1], chances[-1] = sample, chance
            yield sample

    def some(self, most: int) -> list[Sample]:
        """So many of those that were kept, or fewer."""
        return [self.kept[place] for place in _places(len(self.kept), most)]


def some_of(samples: Iterable[Sample], most: int) -> tuple[list[Sample], Iterable[Sample]]:
    """So many samples or fewer to look at beforehand, and an iterable of all of them.

    They are from everywhere where it is known how many there are: folders are often sorted by class, whose first say little of
    the rest. Where that is all of them, they are not read again.
    """
    count = None if isinstance(samples, Iterator) else _count_of(samples)
    if count is not None and count <= most:
        every = list(samples)
        return every, every
    if isinstance(samples, Sequence):
        return [samples[place] for place in _places(len(samples), most)], samples
    if isinstance(samples, Iterator):
        begun = list(islice(samples, most))
        return begun, chain(begun, samples)
    if isinstance(samples, Samples):
        return list(samples.some(most)), samples
    if count is None:
        return list(islice(samples, most)), samples
    places = set(_places(count, most))
    return [sample for place, sample in enumerate(islice(samples, max(places, default=-1) + 1)) if place in places], samples


def _count_of(samples: Iterable[Sample]) -> int | None:
    """How many there are, where that is known: what streams may have a `len()` that raises, as `Samples` do, and loaders."""
    try:
        return len(samples) if isinstance(samples, Sized) else None
    except TypeError:
        return None


def _places(count: int, most: int) -> list[int]:
    """So many places of `count`, or all: one of each of as many stretches, left to chance, always the same."""
    stretches = min(count, most)
    ends = [count * index // stretches for index in range(stretches + 1)] if stretches else []
    chance = Random(count)
    return [chance.randrange(start, end) for start, end in pairwise(ends)]


def measured(
    module: Module, samples: Iterable[Sample], *, workers: int | None = None, resume: str | Path | None = None,
    progress: Progress | None = None, floats: Collection[str] = (),
) -> tuple[dict[str, Histogram], int]:
    """A histogram of each tensor that `observed` names, and how many samples there were, which are gone through once.

    `workers` is the number of threads, by default that of the cores. Where a path is given to `resume` at, the state is saved
    there now and then, and a run that finds one goes on from it; it is removed at the end. Of `floats`, tensors that stay such,
    numbers that are not finite are passed over. Raises `UsageError` where there is no sample, where one lacks an input, or a
    tensor is not finite on it, and where a state is of another module or other samples.
    """
    total = length_hint(samples) or None  # 0 where it is not known
    counting = Counting(module, total, floats)
    state = State.open(Path(resume), module) if resume is not None else None
    if state is not None and state.histograms:
        if state.histograms.keys() != counting.histograms.keys():
            raise ReadError(f"{resume}: has histograms of other tensors", hint="remove the file to calibrate from the beginning")
        counting.add(state.histograms)
    count = 0
    with ThreadPoolExecutor(workers_or_cores(workers)) as pool:
        waiting: deque[Future[None]] = deque()
        try:
            for count, sample in enumerate(samples, 1):
                if state is not None and state.has(count, sample):
                    continue
                waiting.append(pool.submit(contextvars.copy_context().run, counting.see, count, sample))
                _finish(waiting, 2 * pool._max_workers)
                if state is not None and count % SAVED_EVERY == 0:
                    _finish(waiting, 0)
                    state.save(counting.histograms, count, sample)
                if progress is not None:
                    progress(count, total)
            _finish(waiting, 0)
        finally:
            for future in waiting:
                future.cancel()
    if not count:
        raise UsageError("calibration needs samples, and there is none")
    if state is not None:
        state.finish(count)
    return counting.histograms, count


def _finish(waiting: deque[Future[None]], most: int) -> None:
    """Wait until no more samples than so many are under way; of several that fail, the first one's error is raised."""
    while len(waiting) > most:
        waiting.popleft().result()


class Counting:
    """Histograms of a module's tensors, that several threads add to."""

    def __init__(self, module: Module, total: int | None, floats: Collection[str] = ()) -> None:
        self.inputs = input_names(module.main)
        self.floats = floats
        names = list(observed(module))
        self.runner = Runner(module, names, **({} if total is None else {"runs": total}))
        self.histograms = {name: Histogram() for name in names}
        self._locks = {name: Lock() for name in names}

    def add(self, histograms: Mapping[str, Histogram]) -> None:
        """What was counted before."""
        for name, histogram in histograms.items():
            self.histograms[name].join(histogram)

    def see(self, number: int, sample: Sample) -> None:
        """Count the tensors on one sample, the `number`-th."""
        need_sample(sample, self.inputs, number)

        def tell(name: str, array: np.ndarray) -> None:
            try:
                with self._locks[name]:
                    self.histograms[name].add(array)
            except UsageError as error:
                if name in self.floats and name not in self.inputs:
                    with self._locks[name]:
                        self.histograms[name].add(array[np.isfinite(array)])
                    return
                hint = error.hint if name in self.inputs or not _finite(sample) else (
                    "the sample is finite, and the model makes them, as by a logarithm of 0: "
        f"--floats {quoted(name)} leaves that float")
                raise UsageError(f"tensor {name!r} in sample {number} {error.message}", hint=hint) from None

        self.runner.visit(sample, tell)


def _finite(sample: Sample) -> bool:
    arrays = [np.asarray(array) for array in sample.values()]
    return all(bool(np.isfinite(array).all()) for array in arrays if array.dtype.kind in "fc")
