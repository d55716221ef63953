"""The target that is asked for, the options that it is given, and what is near enough for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from . import roles
from .conversion import owners_of, route_from
from .errors import ConversionError, UsageError
from .options import Owner, own_settings
from .plugin import Target
from .plugin_host import host, misstated

if TYPE_CHECKING:
    from .verification.tolerance import Tolerance

__all__ = ["limits_of", "target_named", "target_options", "usable_target"]


def target_named(name: str | None) -> Target:
    chosen: Target = roles.default_target() if name is None else host().get("targets", name)
    return chosen


def limits_of(
    target: Target, given: Tolerance | Mapping[str, float] | Sequence[str] | None, settings: Mapping[str, Any],
) -> Tolerance:
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
    return own_settings(Owner(target.name, target.options()), given, lambda: _owners_before(target))


def _owners_before(target: Target) -> Iterator[Owner]:
    """Who declares options on any way to a target, the nearest to it first."""
    ways: list[tuple[int, str]] = []
    there = host().conversions
    for name, conversion in there.items():
        if conversion.extends is None:
            with suppress(ConversionError):
                ways.append((len(route_from(Counter([conversion.target]), target.accepts, lambda each: None)), name))
    for _, name in sorted(ways):
        yield from owners_of(there[name])
