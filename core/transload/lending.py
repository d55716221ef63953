"""What somebody else's function is given of arrays that others go on using: it may be written to compute in place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["copied", "read_only"]


def copied(value: Any) -> Any:
    """A value with copies of the arrays in it, by name or in tuples."""
    return _each(value, lambda array: array.copy())


def read_only(value: Any) -> Any:
    """A value with arrays in it, by name or in tuples, that raise `ValueError` where they are written to."""
    return _each(value, _locked)


def _locked(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    numpy = sys.modules.get("numpy")  # where nobody imported it, nothing is one of its arrays
    if numpy is not None and isinstance(value, numpy.ndarray):
        return change(value)
    if isinstance(value, Mapping):
        return {name: _each(each, change) for name, each in value.items()}
    return tuple(_each(each, change) for each in value) if type(value) is tuple else value
