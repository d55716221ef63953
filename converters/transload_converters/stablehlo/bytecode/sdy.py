"""Attributes of the dialect `sdy` in bytecode: how a program is spread over devices, which does not change what it computes.

They are passed over: dictionaries leave them out.
"""

from __future__ import annotations

from typing import Any

from .entries import PASSED_OVER, EntryCursor

__all__ = ["read_attribute", "read_type"]


def read_attribute(r: EntryCursor, code: int) -> Any:
    """Any attribute of the dialect, whatever it says."""
    r.take(r.left)
    return PASSED_OVER


def read_type(r: EntryCursor, code: int) -> Any:
    """The dialect has no types."""
    r.error("the dialect sdy has no types")
