"""A placement in as few bytes as are found; with a capacity alone, `memory.plan` gives the first that fits."""

from __future__ import annotations

from collections.abc import Sequence

from transload import memory
from transload.errors import PlacementError

__all__ = ["densest"]

SECONDS = 2.0
"""That are spent on fewer bytes at most, where not as few are found at once as there have to be."""


LAST_SECONDS = 5.0
"""That are spent then on a placement that fits, where there is no other way."""


def densest(asked: Sequence[memory.Buffer], capacity: int, alignment: int, kind: str, last: bool = True) -> memory.Plan:
    """Place buffers in as few bytes as are found in some time, in more where it is the `last` way. Raises `PlacementError` where
    they do not fit into `capacity`, with the `kind` of memory: local or global.
    """
    plan = memory.plan(asked, seconds=SECONDS, alignment=alignment)
    if plan.peak <= capacity:
        return plan
    try:
        return memory.plan(asked, capacity, seconds=LAST_SECONDS if last else SECONDS / 4, alignment=alignment)
    except PlacementError as error:
        raise PlacementError(
            f"{kind} memory is too small: {error.message}", error.findings, f"take a chip with more `{kind}_bytes`",
            error.best) from None
