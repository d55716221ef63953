"""Following ops from one stage to the next: which became which, and by which rules.

A rewrite is noted with the ops themselves (`transload.trace.trace_links`), so what stands in a stage is followed back, rewrite by
rewrite, to ops of the stage before. Where a stage makes another module, as a quantizer does, or a pass puts one op in the place
of another without a rule, ops are the same that compute a tensor of one name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transload.ir import Op
from transload.trace import Link, Rewrite

from .graph import Graph

__all__ = ["Lineage"]


class Lineage:
    """The rules of all stages, and what they made of which op."""

    def __init__(self) -> None:
        self.rules: list[dict[str, str]] = []
        self._places: dict[tuple[str, str], int] = {}

    def between(self, before: Graph, after: Graph, links: Sequence[Link]) -> list[list[Any]]:
        """For each op of `after` that is not the same as before: its place, those of what it came from, and the rules."""
        made_by: dict[Op, list[Link]] = {}
        for link in links:
            for made in link.made:
                if made is not link.op:
                    made_by.setdefault(made, []).append(link)
        changed: dict[Op, list[Rewrite]] = {}
        for link in links:
            if link.op in link.made:
                changed.setdefault(link.op, []).append(link.rewrite)
        named = _by_name(before)
        found: list[list[Any]] = []
        for place, op in enumerate(after.ops):
            origins, rewrites = _back(op, before, made_by, changed)
            if not origins:
                origins = named.get(_key(op)) or named.get(op.origin) or []
            rules = list(dict.fromkeys(self._place(rewrite) for rewrite in rewrites))
            found.append([place, sorted(set(origins)), rules])
        return found

    def _place(self, rewrite: Rewrite) -> int:
        key = rewrite.rule, rewrite.step
        known = self._places.get(key)
        if known is None:
            known = self._places[key] = len(self.rules)
            self.rules.append({"rule": rewrite.rule, "plugin": rewrite.plugin, "source": rewrite.source, "step": rewrite.step})
        return known


def _back(
    op: Op, before: Graph, made_by: dict[Op, list[Link]], changed: dict[Op, list[Rewrite]],
) -> tuple[list[int], list[Rewrite]]:
    """The places of the ops of the stage before that an op comes from, and the rewrites on the way, the first first."""
    origins: list[int] = []
    rewrites: list[Rewrite] = []
    seen = {op}
    pending = [op]
    while pending:
        each = pending.pop()
        rewrites += reversed(changed.get(each, []))
        if each in before.places:
            origins.append(before.places[each])
        for link in made_by.get(each, ()):
            if each in before.places and link.op not in before.places:
                continue  # what was there before, and took over the results of something made since
            rewrites.append(link.rewrite)
            if link.op not in seen:
                seen.add(link.op)
                pending.append(link.op)
    rewrites.reverse()
    return origins, rewrites


def _by_name(graph: Graph) -> dict[str | None, list[int]]:
    """The ops of a stage by the tensor that they compute, and, of those that are a part of something, by that."""
    named: dict[str | None, list[int]] = {}
    for place, op in enumerate(graph.ops):
        for key in {_key(op), op.origin}:
            if key:
                named.setdefault(key, []).append(place)
    return named


def _key(op: Op) -> str | None:
    return op.results[0].name if op.results else None
