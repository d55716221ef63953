"""Calibration by a cluster: each worker counts the tensors of some samples, and what they counted is joined.

Counts do not depend on who counted first (`Histogram`), so neither how many workers there are, nor one that ends and whose
samples another counts, changes the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
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

TOGETHER = 4
"""Samples that travel together."""


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
    count = done = 0

    def tasks() -> Iterator[tuple[int, list[dict[str, np.ndarray]]]]:
        nonlocal count
        source = iter(samples)
        while some := [{name: np.asarray(array) for name, array in sample.items()} for sample in islice(source, TOGETHER)]:
            yield count + 1, some
            count += len(some)

    with Crew(scheduler=scheduler) as crew:
        for _, answer in crew.called("transload_plugins.quantize.counters:Counter", (text, total), tasks()):
            if isinstance(answer, TransloadError):
                raise answer
            for name, histogram in unpacked({**answer, "names": np.array(answer["names"], np.str_)}).items():
                found.setdefault(name, Histogram()).join(histogram)
            done += TOGETHER
            if progress is not None:
                progress(min(done, count), total)
    if not count:
        raise UsageError("calibration needs samples, and there is none")
    return found, count
