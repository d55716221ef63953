"""Cases of which a part is run each time, and all of them by `make test-all`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

__all__ = ["leave_out", "sampled"]


def sampled(values: Iterable[Any], some: Iterable[Any]) -> list[Any]:
    """Values for `parametrize`: those that are not among `some` are marked `slow`."""
    few = [*some]
    return [value if value in few else pytest.param(value, marks=pytest.mark.slow) for value in values]


def leave_out(items: Sequence[pytest.Item]) -> None:
    """Mark as `slow` the cases of a test that is marked `one_in(n)`, but for the first of each `n` that are not slow anyway.

    Where a single case is asked for, it is the first.
    """
    cases: dict[tuple[str, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("one_in") and not item.get_closest_marker("slow"):
            cases[item.parent.nodeid if item.parent is not None else "", item.originalname].append(item)
    for several in cases.values():
        mark = several[0].get_closest_marker("one_in")
        (step,) = mark.args if mark is not None else (1,)
        for place, item in enumerate(several):
            if place % step:
                item.add_marker(pytest.mark.slow)
