"""Calibration by a cluster: each worker counts the tensors of some samples, and what they counted is joined.

Counts do not depend on who counted first (`Histogram`), so neither how many workers there are, nor one that ends and whose
samples another counts, changes the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import length_hint
from typing import Any

import numpy as np

from transload.errors import TransloadError, UsageError
from transload.ir import Module
from transload.scale import Crew
from transload.text import parse_module
from transload.text.printer import print_module

from .histogram import Histogram
from .measure import Counting, Progress, Sample
from .state import packed, unpacked

__all__ = ["Counter", "counted_by"]

Arrays = list[dict[str, np.ndarray]]
"""Samples, as arrays by input name."""

FIRST = 4
"""Samples that travel together at first, so that all workers have something to do soon."""
TOGETHER = 16
"""The most that do so later: each answer has the histograms of all tensors, of however few samples."""
BYTES = 8 << 20
"""The most that several samples which travel together take; Dask warns of 10 MiB and more."""


class Counter:
    """In a worker: a module, as text, and what its tensors are on samples."""

    def __init__(self, text: bytes, total: int | None) -> None:
        self._counting = Counting(parse_module(text), total)

    def __call__(self, first: int, samples: list[Sample]) -> dict[str, Any]:
        """The histograms of some samples, the first of which has this number, as arrays, and their names."""
        counting = self._counting
        counting.histograms = {name: Histogram() for name in counting.histograms}
        for number, sample in enumerate(samples, first):
            counting.see(number, sample)
        found: dict[str, Any] = packed(counting.histograms)
        return {**found, "names": found["names"].tolist()}


def counted_by(
    scheduler: Any, module: Module, samples: Iterable[Sample], progress: Progress | None,
) -> tuple[dict[str, Histogram], int]:
    """As `measured`, by the workers of a Dask cluster. Of several samples that fail, the error of one is raised."""
    total = length_hint(samples) or None
    text = print_module(module, constants="resource").encode()
    found: dict[str, Histogram] = {}
    sizes: list[int] = []
    done = 0

    def tasks() -> Iterator[tuple[int, Arrays]]:
        count = 0
        for some in _grouped(samples):
            sizes.append(len(some))
            yield count + 1, some
            count += len(some)

    with Crew(scheduler=scheduler) as crew:
        for task, answer in crew.called("transload_plugins.quantize.counters:Counter", (text, total), tasks()):
            if isinstance(answer, TransloadError):
                raise answer
            for name, histogram in unpacked({**answer, "names": np.array(answer["names"], np.str_)}).items():
                found.setdefault(name, Histogram()).join(histogram)
            done += sizes[task]
            if progress is not None:
                progress(done, total)
    if not sizes:
        raise UsageError("calibration needs samples, and there is none")
    return found, done


def _grouped(samples: Iterable[Sample]) -> Iterator[Arrays]:
    """Samples as arrays, so many at a time as travel together: an eighth of what there was before, within the limits."""
    some: Arrays = []
    count = size = 0
    for sample in samples:
        arrays = {name: np.asarray(array) for name, array in sample.items()}
        more = sum(array.nbytes for array in arrays.values())
        if some and (len(some) >= min(max(FIRST, count // 8), TOGETHER) or size + more > BYTES):
            yield some
            some, count, size = [], count + len(some), 0
        some.append(arrays)
        size += more
    if some:
        yield some
