"""The way there and back: a model of one operator to the hub, from there to a `.tflite` file again, and both in LiteRT."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transload.api import legalize, lower
from transload.ir import Module
from transload_converters.tflite.writer_module import serialize

from .build import Built, build
from .harness import Refused, loaded, run_litert
from .spec import Case
from .tolerances import needs_usual_kernels
from tests.support import litert

__all__ = ["WrittenCase", "there_and_back"]


class WrittenCase(NamedTuple):
    """A case's model in the hub, what it is fed, and what LiteRT computes of the case's own file and of ours."""

    hub: Module
    built: Built
    expected: list[np.ndarray]
    actual: list[np.ndarray]


def there_and_back(case: Case) -> WrittenCase | None:
    """Both results; None where LiteRT has no kernel for the case. Raises what the lowering to `tfl` raises."""
    built, usual = build(case), needs_usual_kernels(case)
    if case.expect is not None:
        return None
    try:
        expected = run_litert(built, usual)
    except Refused:
        return None
    built = build(case, [array.shape for array in expected])
    hub = legalize(loaded(built))
    content = serialize(lower(hub, "tfl"))
    return WrittenCase(hub, built, expected, litert.run_litert(content, list(built.feeds.values()), reference=not usual))
