"""How much Python does, counted: the same on every machine and under every load, where seconds are not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

__all__ = ["steps_of"]


def steps_of(work: Callable[[], object]) -> int:
    """The instructions of Python's own that a call executes; those of libraries in C count as one each."""
    count = 0

    def trace(frame: Any, event: str, argument: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
