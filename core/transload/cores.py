"""How much work there may be at a time."""

from __future__ import annotations

import os
from typing import Any

from .errors import UsageError

__all__ = ["MOST_WORKERS", "cores", "workers_or_cores"]

MOST_WORKERS = 1024
"""Processes or threads of this machine that may be asked for: each takes a megabyte or more."""


def cores() -> int:
    """The cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def workers_or_cores(workers: Any, most: int = MOST_WORKERS) -> int:
    """How many workers are asked for; where it is None, one a core, up to `most`. Raises `UsageError` for none, or too many."""
    if workers is None:
        return min(cores(), most)
    if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= MOST_WORKERS:
        raise UsageError(f"{workers!r} workers are asked for; 1 is the least, and {MOST_WORKERS:,} the most")
    return workers
