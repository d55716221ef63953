"""Options that targets and conversions declare: name -> (type, default, what it does)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import UsageError

__all__ = ["Options", "settings_of", "typed"]

Options = Mapping[str, tuple[type | tuple[str, ...], Any, str]]
"""The type is bool, int, float, str, or a tuple of the words that can be chosen from."""


def settings_of(declared: Options, given: Mapping[str, Any]) -> dict[str, Any]:
    """The value of every declared option: the one given, as text or as a value, or its default."""
    return {
        name: typed(name, given[name], wanted) if name in given else default
        for name, (wanted, default, _) in declared.items()
    }


def typed(name: str, value: Any, wanted: type | tuple[str, ...]) -> Any:
    """The value of option `name`, read from text where it is text. Raises `UsageError` where it is not of its type."""
    if isinstance(wanted, tuple):
        if value not in wanted:
            raise UsageError(f"option {name} must be {' or '.join(wanted)}, not {value!r}")
        return value
    if not isinstance(value, str) or wanted is str:
        return value
    if wanted is bool:
        if value.lower() in ("true", "1", "yes", "on"):
            return True
        if value.lower() in ("false", "0", "no", "off"):
            return False
        raise UsageError(f"option {name} must be true or false, not {value!r}")
    try:
        return wanted(value)
    except ValueError:
        raise UsageError(f"option {name} must be {wanted.__name__}, not {value!r}") from None
