"""The plain way, to compare with: layers are given up in the order of the loss table until the promise is kept.

TPU-MLIR's `run_qtable.py` goes it (manual, 3.4). It is judged as a search is, on the same samples that are held apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from transload.ir import Module

from ..measure import Sample
from .choosing import by_sensitivity, sensitivities
from .climb import Climb, Point
from .promise import Promise
from .searching import begun

__all__ = ["plain_search"]


def plain_search(
    module: Module, samples: Iterable[Sample], promise: Promise, *, labels: Sequence[Any] | None = None, scheme: str = "int8",
) -> Point:
    """The first choice on the plain way that keeps a promise (`Climb.along`), all given up in floats; the last where none does.

    Raises `UsageError` as `search` does.
    """
    with begun(module, samples, promise, labels=labels, scheme=scheme, types=["F32"]) as start:
        climb = Climb(start.measuring, start.spending, start.real, promise, start.types, start.base, start.free, start.say)
        climb.first = climb.judged(start.base)
        if climb.first.kept:
            return climb.first
        alone = sensitivities(start.measuring, start.free, start.types, start.base)
        return climb.along(list(by_sensitivity(alone, start.base, start.types[-1])))[1]
