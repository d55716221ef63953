"""Finding the way from one dialect to another over the registered conversions."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping

from .errors import ConversionError
from .plugin import Conversion

__all__ = ["find_route"]


def find_route(source: str, accepted: Iterable[str], conversions: Mapping[str, Conversion]) -> list[Conversion]:
    """The cheapest chain of conversions from dialect `source` to one of `accepted` (Dijkstra's algorithm).

    Empty where `source` is accepted already; among equally cheap ends, the one named first in `accepted`
    wins. Raises `ConversionError` that names what can be reached.
    """
    wanted = list(accepted)
    if source in wanted:
        return []
    steps = list(_steps(conversions))
    best: dict[str, tuple[float, list[Conversion]]] = {}
    queue: list[tuple[float, int, str, list[Conversion]]] = [(0.0, 0, source, [])]
    order = 0
    while queue:
        cost, _, dialect, route = heapq.heappop(queue)
        if dialect in best:
            continue
        best[dialect] = cost, route
        for start, step in steps:
            if start == dialect and step.target not in best:
                order += 1
                heapq.heappush(queue, (cost + step.cost, order, step.target, [*route, step]))
    reached = [(best[dialect][0], place, best[dialect][1]) for place, dialect in enumerate(wanted) if dialect in best]
    if not reached:
        there = sorted(set(best) - {source})
        raise ConversionError(
            f"no conversions lead from {source!r} to {' or '.join(map(repr, wanted))}",
            hint=f"from {source!r} one can reach: {', '.join(there) or 'nothing'}; plugins add steps by register_conversions",
        )
    return min(reached, key=lambda found: found[:2])[2]


def _steps(conversions: Mapping[str, Conversion]) -> Iterator[tuple[str, Conversion]]:
    """Each conversion with the dialects it starts from: its own, and those of ops that plugins add to its table."""
    for conversion in conversions.values():
        if conversion.extends is None:
            yield conversion.source, conversion
        elif conversion.extends in conversions:
            yield conversion.source, conversions[conversion.extends]
