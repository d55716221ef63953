"""Dialects and targets that core knows by the part they play, not by their name: a plugin says it where it registers them."""

from __future__ import annotations

from .errors import UsageError
from .plugin import DialectSpec, Target
from .plugin_host import host

__all__ = ["default_target", "hub", "in_role"]


def in_role(role: str) -> DialectSpec:
    """The dialect that plays a part. Raises `PluginError` where none does, or more than one."""
    return host().in_role(role)


def hub() -> DialectSpec:
    """The dialect that every framework's model comes to, and from which every target's starts."""
    return in_role("hub")


def default_target() -> Target:
    """The target that is converted for where nobody says which. `UsageError` where there is none, or more than one."""
    found = [target for target in host().targets.values() if getattr(target, "default", False)]
    if len(found) != 1:
        there = " and ".join(target.name for target in found) or "none"
        raise UsageError(f"which target? by default {there} is meant", hint=f"targets: {', '.join(host().targets)}")
    return found[0]
