"""Operands that an op leaves out at its end: its kernel is given None for them, as for those that are absent before others."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import takewhile
from typing import Any

from ..ir import Op

__all__ = ["given_absent"]

_NAMED = ("run", "values", "watch", "options")
"""What kernels are given by name."""


def given_absent(op: Op, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of an op, called with None for each operand left out for which it has a parameter without a default."""
    slots = op.declaration.operands if op.declaration is not None else ()
    left_out = sum(1 for _ in takewhile(lambda slot: not slot.variadic, slots)) - len(op.operands)
    if left_out <= 0:
        return kernel
    try:
        parameters = inspect.signature(kernel).parameters.values()
    except (TypeError, ValueError):  # of one that is not written in Python
        return kernel
    wanted = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
              and each.default is each.empty and each.name not in _NAMED]
    absent = [None] * min(len(wanted) - 1 - len(op.operands), left_out)
    if not absent:
        return kernel

    def padded(op: Op, *arrays: Any, **how: Any) -> Any:
        return kernel(op, *arrays, *absent, **how)

    vars(padded).update(getattr(kernel, "__dict__", {}))  # which objects with slots have not
    return padded
