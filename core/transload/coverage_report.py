"""Coverage: which ops of a dialect have a way to another dialect or a target, and how exactly they were seen to arrive.

What tests measured is the *evidence* of a conversion: a JSON file that its plugin ships and names in
`Conversion.evidence`. Tests write it, and it says what it says for one source dialect and one dialect at the end:

    {"from": "framework", "to": "acme",
     "judge": "who says what is right",
     "formats": {"f32": "float32", ...},
     "results": {"framework.add": {"f32": {"cases": 41, "kind": "float", "off": 0.0},
                                   "u8":  {"cases": 20, "kind": "integer", "off": 1, "why": "how that comes"},
                                   "bool": {"cases": 0, "why": "why there is none"}}},
     "targets": [{"names": ["acme-1", "acme-2"], "taken": {"framework.add": {"u8": 12}}, "why": {"framework.exp": "floats"}}]}

A cell may name another `judge`. `off` is by how much the worst element differs: of integers in steps, of floats relative to
their size. Number formats are the conversion's own; `formats` says what they are called, in the order of a table's columns.
`targets` says of those that were there which cases their own check took, by number format, and of an op of which they took
none, why.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from .errors import ConversionError, PluginError, UsageError
from .ir import registry
from .kinds import TEXT, takes
from .plugin import Conversion
from .plugin_host import host
from .routes import find_route
from .suggest import nearest

__all__ = ["coverage", "evidence", "first_reached", "reached", "sources", "verdict"]


def sources(target: str) -> list[str]:
    """The dialects that readers give and that a way leads from to a dialect or target."""
    there = host()
    found = []
    for dialect in dict.fromkeys(reader.dialect for reader in there.readers.values()):
        try:
            if find_route(dialect, _accepted(target), there.conversions):
                found.append(dialect)
        except ConversionError:
            continue
    return found


def reached(target: str) -> str:
    """What conversions do lead to, the nearest name to a `target` first."""
    there = list(dict.fromkeys([*host().targets, *(each.target for each in host().conversions.values())]))
    guess = nearest(target, there)
    return (f"did you mean {guess!r}? " if guess else "") + f"there are {', '.join(there)}{host().absent()}"


def _accepted(target: str) -> tuple[str, ...]:
    """The dialects of a target, or the dialect of that name; `UsageError` for a name of neither."""
    there = host()
    if target not in there.targets and target not in registry.dialect_names() and all(
            each.target != target for each in there.conversions.values()):
        raise UsageError(f"no target and no dialect is called {target!r}", hint=reached(target))
    return there.targets[target].accepts if target in there.targets else (target,)


@takes(source=TEXT, target=TEXT)
def coverage(source: str, target: str) -> list[dict[str, Any]]:
    """A row an op of dialect `source`: `op`, `covered`, `by`, the conversion that rewrites it, `why` not, `evidence`, `taken`.

    `target` is a dialect or a target's name. An op counts as covered where the first conversion on the
    route has a rewrite for it, and, where it was measured, any case of it converts and is taken by the target;
    whether every form of it converts is what converting tells. `evidence` holds what tests measured at a dialect on the
    route, by number format; nothing where no conversion on the route ships such. `taken` is how many of those cases the
    target took, by number format; None where it is no target, or was not there to be asked.
    """
    there = host()
    accepted = _accepted(target)
    dialect = registry.dialect(source)
    if dialect is None:
        known = ", ".join(registry.dialect_names())
        raise UsageError(f"no dialect is called {source!r}", hint=f"dialects: {known}{there.absent()}")
    route = find_route(source, accepted, there.conversions)
    first = route[0] if route else None
    table = there.table(first.name) if first is not None and first.table is not None else None
    found = evidence(source, target)
    measured = found.get("results", {})
    asked = _asked(found, target)
    rows = []
    for name, declaration in sorted(dialect.ops.items()):
        if declaration.traits & {"constant", "terminator"} or name == dialect.none:
            continue
        refusal = table.refusal(name) if table is not None else None
        covered = refusal is None and (first is None or (table is not None and name in table))
        why = refusal[0] if refusal is not None else ""
        cells = measured.get(name, {})
        if covered and cells and not any(cell["cases"] for cell in cells.values()):
            covered, why = False, next(iter(cells.values()))["why"]
        if covered and asked is not None and name in asked["why"]:
            covered, why = False, asked["why"][name]
        rows.append({
            "op": name, "covered": covered, "by": first.name if covered and first is not None else "",
            "why": why, "evidence": cells, "taken": asked["taken"].get(name, {}) if asked is not None else None,
        })
    return rows


def first_reached(source: str, target: str) -> str | None:
    """The dialect that rows of `coverage` speak of, where nothing was measured and the route goes on behind it; else None."""
    route = find_route(source, _accepted(target), host().conversions)
    return route[0].target if len(route) > 1 else None


def _asked(found: dict[str, Any], target: str) -> dict[str, Any] | None:
    """What the evidence says of a target; None where it was not asked."""
    return next((group for group in found.get("targets", ()) if target in group["names"]), None)


def evidence(source: str, target: str) -> dict[str, Any]:
    """What tests measured of the way from dialect `source` to `target`, a dialect or a target; empty where nothing is known.

    It counts where it was measured at a dialect that the route passes. Raises `PluginError` for a file that is none.
    """
    there = host()
    route = find_route(source, _accepted(target), there.conversions)
    passed = {conversion.target for conversion in route}
    for conversion in route:
        if conversion.evidence is not None:
            found = _read(conversion)
            if found["from"] == source and found["to"] in passed:
                return found
    return {}


def _read(conversion: Conversion) -> dict[str, Any]:
    package, _, name = (conversion.evidence or "").partition(":")
    try:
        found = json.loads(resources.files(package).joinpath(name).read_text(encoding="utf-8"))
    except (OSError, ValueError, ModuleNotFoundError) as error:
        raise PluginError(f"the evidence {conversion.evidence!r} of {conversion.name} cannot be read: {error}") from None
    missing = {"from", "to", "judge", "formats", "results"} - set(found if isinstance(found, dict) else ())
    if missing:
        raise PluginError(f"the evidence {conversion.evidence!r} of {conversion.name} lacks {', '.join(sorted(missing))}")
    return found


def verdict(cell: dict[str, Any]) -> str:
    """What the evidence for an op in a number format comes to: `exact`, `within 1`, `3e-07`; `-` where there is none."""
    if not cell.get("cases"):
        return "-"
    if not cell["off"]:
        return "exact"
    return f"within {cell['off']}" if cell["kind"] == "integer" else f"{cell['off']:.0e}"
