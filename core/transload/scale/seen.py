"""Whether those who do the work know what this process does: plugins that are not installed are known to it alone.

A worker is an isolated process (`transload.child`), or one of a cluster: it has the plugins of installed packages, and neither
what a program registered itself (`host().register`) nor what only `PYTHONPATH` leads to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..errors import TransloadError, UsageError
from ..plugin_host import host
from ..registration import singular
from .crew import Crew

__all__ = ["absent", "is_of_others", "need_seen"]


def need_seen(crew: Crew, used: Iterable[tuple[str, str]]) -> None:
    """Raise `UsageError` where what is used, each a kind and a name, is of a plugin that a worker does not have."""
    asked = sorted({each for each in used if is_of_others(*each)})
    if not asked:
        return
    ((_, answer),) = crew.done("transload.scale.seen:absent", [(asked,)])
    if isinstance(answer, TransloadError):
        raise answer
    for kind, name in answer:
        raise UsageError(
            f"{singular(kind)} {name!r} is of {host().owner(kind, name)}, and the processes that work on many models have no "
            "such one: they see the plugins of installed packages, not what this process registered, or found by PYTHONPATH",
            hint="install the plugin's package (pip install -e DIR, with its entry point), or convert one model at a time")


def is_of_others(kind: str, name: str) -> bool:
    """Whether an object, by kind and name, is of a plugin that does not come with Transload."""
    owner = host().owner(kind, name)
    return owner is not None and not owner.is_ours


def absent(used: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """In a worker: what of these is not there."""
    return [each for each in used if each[1] not in getattr(host(), each[0])]
