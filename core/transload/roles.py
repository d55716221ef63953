"""Dialects that core knows by the part they play, not by their name: a plugin says it where it registers them."""

from __future__ import annotations

from .errors import PluginError
from .plugin import DialectSpec
from .plugin_host import host

__all__ = ["hub", "in_role"]


def in_role(role: str) -> DialectSpec:
    """The dialect that plays a part. Raises `PluginError` where none does, or more than one."""
    found = [spec for spec in host().dialects.values() if spec.role == role]
    if len(found) != 1:
        there = ", ".join(repr(spec.name) for spec in found) or "none"
        raise PluginError(
            f"one dialect has to have the role {role!r}, and there is {there}",
            hint="`transload plugins` shows what is loaded, and what failed to load and why")
    return found[0]


def hub() -> DialectSpec:
    """The dialect that every framework's model comes to, and from which every target's starts."""
    return in_role("hub")
