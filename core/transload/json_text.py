"""JSON of anything that we report: valid everywhere, in particular without the `Infinity` and `NaN` that Python writes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from typing import Any

__all__ = ["json_text", "plain"]


def json_text(value: Any) -> str:
    """JSON text, indented, of what `plain` makes of a value."""
    return json.dumps(plain(value), indent=2, allow_nan=False)


def plain(value: Any) -> Any:
    """A value as dictionaries, lists, texts and numbers.

    Dataclasses become dictionaries by field, numpy's numbers and arrays ours, and numbers that are not finite the texts
    "Infinity", "-Infinity" and "NaN", as in the JSON of Protocol Buffers: `float()` of Python reads them. What is none of
    these (a path, a type) is said as text.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _number(float(value))
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(key): plain(entry) for key, entry in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, list | tuple | Set):
        return [plain(entry) for entry in value]
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return plain(value.tolist())
    return str(value)


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
