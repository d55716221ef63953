"""Coverage: which ops of a dialect have a way to another dialect or a target."""

from __future__ import annotations

from typing import Any

from . import registry
from .errors import UsageError
from .plugin_host import host
from .routes import find_route

__all__ = ["coverage"]


def coverage(source: str, target: str) -> list[dict[str, Any]]:
    """A row an op of dialect `source`: `op`, `covered`, `by`, the conversion that rewrites it, and `why` not.

    `target` is a dialect or a target's name. An op counts as covered where the first conversion on the
    route has a rewrite for it; whether every form of it converts is what converting tells.
    """
    there = host()
    accepted = there.targets[target].accepts if target in there.targets else (target,)
    dialect = registry.dialect(source)
    if dialect is None:
        raise UsageError(f"no dialect is called {source!r}", hint=f"dialects: {', '.join(registry.dialect_names())}")
    route = find_route(source, accepted, there.conversions)
    first = route[0] if route else None
    table = there.table(first.name) if first is not None and first.table is not None else None
    rows = []
    for name, declaration in sorted(dialect.ops.items()):
        if declaration.traits & {"constant", "terminator"} or name == dialect.none:
            continue
        refusal = table.refusal(name) if table is not None else None
        covered = refusal is None and (first is None or (table is not None and name in table))
        by = first.name if covered and first is not None else ""
        rows.append({"op": name, "covered": covered, "by": by, "why": refusal[0] if refusal is not None else ""})
    return rows
