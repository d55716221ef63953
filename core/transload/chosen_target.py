"""The target that is asked for, the options that it is given, and what is near enough for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import roles
from .errors import UsageError
from .options import Owner, own_options, settings_of
from .plugin import Target
from .plugin_host import host, misstated

if TYPE_CHECKING:
    from .verification.tolerance import Tolerance

__all__ = ["limits_of", "target_named", "target_options", "usable_target"]


def target_named(name: str | None) -> Target:
    chosen: Target = roles.default_target() if name is None else host().get("targets", name)
    return chosen


def limits_of(target: Target, given: Tolerance | Sequence[str] | None, settings: Mapping[str, Any]) -> Tolerance:
    """What is near enough: a tolerance that is given, else what is said of it over what the target says."""
    from .verification.tolerance import Tolerance

    if isinstance(given, Tolerance):
        return given
    try:
        near = getattr(target, "near_enough", None)
        own = Tolerance.parse(near(settings) if near is not None else getattr(target, "tolerance", ()))
    except UsageError as error:
        raise misstated("targets", target.name, f"the tolerance of target {target.name!r}", error) from error
    return Tolerance.parse(given or (), own, once=True)


def usable_target(name: str | None) -> Target:
    """A target by name, or the default one; `UsageError` where there is none, or where it cannot be used here."""
    chosen = target_named(name)
    why = chosen.available()
    if why:
        raise UsageError(f"target {chosen.name!r} cannot be used: {why}")
    return chosen


def target_options(target: Target, given: Mapping[str, Any]) -> dict[str, Any]:
    """The target's options with their defaults, and those given, as text or values, in place of them."""
    declared = target.options()
    return settings_of(declared, own_options(Owner(target.name, declared), given))
