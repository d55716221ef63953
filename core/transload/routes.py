"""Finding the way from one dialect to another over the registered conversions."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping

from .context import current
from .errors import ConversionError
from .plugin import Conversion

__all__ = ["companions", "find_route", "next_conversion", "read_with"]


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
            hint=f"from {source!r} one can reach: {', '.join(there) or 'nothing'}; plugins add steps by register_conversions"
                 + current().host.absent(),
        )
    return min(reached, key=lambda found: found[:2])[2]


def _steps(conversions: Mapping[str, Conversion]) -> Iterator[tuple[str, Conversion]]:
    """Each conversion with the dialects it starts from: its own, and those of ops that plugins add to its table."""
    for conversion in conversions.values():
        if conversion.extends is None:
            yield conversion.source, conversion
        elif conversion.extends in conversions:
            yield conversion.source, conversions[conversion.extends]


def companions(dialect: str, conversions: Mapping[str, Conversion]) -> set[str]:
    """A dialect, and those whose ops stand beside its own: plugins add them to the tables of conversions that start from it."""
    return {dialect} | {start for start, step in _steps(conversions) if step.source == dialect}


def read_with(dialect: str, conversions: Mapping[str, Conversion]) -> set[str]:
    """The dialects that a file of `dialect` may be read as: its companions, and those that conversions make it of, and that no
    conversion gives."""
    given = {conversion.target for conversion in conversions.values()}
    before = {start for start, step in _steps(conversions) if step.target == dialect and start not in given}
    return companions(dialect, conversions) | before


def next_conversion(
    counts: Mapping[str, int], accepted: Iterable[str], conversions: Mapping[str, Conversion],
    takes: Callable[[Conversion, str], bool] = lambda conversion, dialect: False,
) -> list[Conversion]:
    """The way on for a module with so many ops of each dialect: the route of the dialect that has farthest to go.

    Converted first, it meets the others on their way. Empty where there are only `accepted` dialects and their companions.
    A dialect that no route starts from may be one that a conversion on the way `takes`: its table names ops of it. Raises
    `ConversionError` that names every dialect that no conversions lead on from.
    """
    accepted = list(accepted)
    there = set().union(*(companions(dialect, conversions) for dialect in accepted))
    foreign = sorted((dialect for dialect in counts if dialect not in there), key=lambda dialect: -counts[dialect])
    routes: list[list[Conversion]] = []
    stuck: dict[str, ConversionError] = {}
    for dialect in foreign:
        try:
            routes.append(find_route(dialect, accepted, conversions))
        except ConversionError as error:
            stuck[dialect] = error
    errors = [
        error for dialect, error in stuck.items() if not any(takes(step, dialect) for route in routes for step in route)]
    if errors:
        raise errors[0] if len(errors) == 1 else ConversionError("; ".join(error.message for error in errors), (), errors[0].hint)
    return max(routes, key=len) if routes else []
