"""A placement in as few bytes as are found; with a capacity alone, `memory.plan` gives the first that fits."""

from __future__ import annotations

from collections.abc import Sequence

from transload import memory

__all__ = ["densest"]

SECONDS = 2.0
"""That are spent on fewer bytes at most, where not as few are found at once as there have to be."""


def densest(asked: Sequence[memory.Buffer], capacity: int, alignment: int) -> memory.Plan:
    """Place buffers in as few bytes as are found in some time. Raises `PlacementError` where they do not fit into `capacity`."""
    plan = memory.plan(asked, seconds=SECONDS, alignment=alignment)
    return plan if plan.peak <= capacity else memory.plan(asked, capacity, seconds=5.0, alignment=alignment)
