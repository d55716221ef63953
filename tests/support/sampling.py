"""Cases of which a part is run each time, and all of them by `make test-all`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["sampled"]


def sampled(values: Iterable[Any], some: Iterable[Any]) -> list[Any]:
    """Values for `parametrize`: those that are not among `some` are marked `slow`."""
    few = [*some]
    return [value if value in few else pytest.param(value, marks=pytest.mark.slow) for value in values]
