"""What a target reports of single tensors: cycles, bytes, and what ran where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["costs_of"]

_NAMES = ("tensor", "name")
"""What rows call the tensor that they are of."""


def costs_of(report: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """By tensor what all rows of a target's report say of it: numbers added up, texts as the first says them.

    Rows are dictionaries with a `tensor` (or `name`) and a number, in lists anywhere in the report: `{"tensor": "conv1",
    "cycles": 1200, "on": "NPU"}`.
    """
    found: dict[str, dict[str, Any]] = {}
    pending: list[Any] = [report]
    while pending:
        each = pending.pop()
        if isinstance(each, Mapping):
            pending.extend(value for value in each.values() if isinstance(value, Mapping | list | tuple))
        elif isinstance(each, list | tuple):
            for row in each:
                if isinstance(row, Mapping) and not _enter(row, found):
                    pending.append(row)
    return found


def _enter(row: Mapping[str, Any], found: dict[str, dict[str, Any]]) -> bool:
    """Take in a row that is of a tensor; whether it is."""
    name = next((row[key] for key in _NAMES if isinstance(row.get(key), str)), None)
    rest = {key: value for key, value in row.items() if key not in _NAMES and isinstance(value, int | float | str)}
    if name is None or "type" in rest or not rest:  # inputs and outputs have types, and cost nothing
        return False
    held = found.setdefault(name, {})
    for key, value in rest.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and isinstance(held.get(key, 0), int | float) and not key.endswith(("percent", "utilisation")):
            held[key] = held.get(key, 0) + value
        else:
            held.setdefault(key, value)
    return True
