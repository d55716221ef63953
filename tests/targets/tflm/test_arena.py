"""The least arena of a model is found by trying."""

from __future__ import annotations

import pytest

from transload.worker import ChildLate
from transload_targets.tflm.interpreter import arena_of


class Slow:
    """A model that is loaded in any memory, and never ends in less than it needs."""

    data = b""

    def __init__(self, needs: int) -> None:
        self.needs = needs

    def refusal(self, arena: int, run: bool = True) -> str | None:
        if run and arena < self.needs:
            raise ChildLate("tflite-micro took longer than 600 s")
        return None


def test_what_never_ends_in_too_little_memory_is_given_more() -> None:
    assert arena_of(Slow(1000)) == 1008  # type: ignore[arg-type]


def test_what_never_ends_is_told() -> None:
    with pytest.raises(ChildLate, match="longer than 600 s"):
        arena_of(Slow(1 << 40))  # type: ignore[arg-type]
