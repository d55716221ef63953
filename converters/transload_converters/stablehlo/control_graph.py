"""The graph of a function's blocks: jumps, loops, dominators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from transload.ir.core import Block, Value

__all__ = ["END", "Edge", "Loop", "Tangled", "dominates", "dominators"]


class Tangled(Exception):
    """Why a function's control flow cannot be structured."""


class _End:
    """Where the paths of a scope end: at the function's return, or at the end of a loop's body."""


END: Any = _End()


@dataclass
class Edge:
    """A jump: to a block with the values of its arguments, or to `END` with what is returned."""

    target: Any
    values: tuple[Value, ...]
    origin: Edge | None = None
    """Of an exit of a loop that was emitted: the jump inside of the loop that it stands for."""


class Loop:
    """A natural loop: its header, and all blocks from which the header is reached without leaving it."""

    def __init__(self, header: Block) -> None:
        self.header = header
        self.blocks: set[Block] = {header}


def dominators(order: Sequence[Any], before: Callable[[Any], Iterable[Any]], place: dict[Any, int]) -> dict[Any, Any]:
    """Immediate dominators by Cooper, Harvey and Kennedy's iteration; `order` begins with the root."""
    above: dict[Any, Any] = {order[0]: order[0]}

    def common(a: Any, b: Any) -> Any:
        while a is not b:
            while place[a] > place[b]:
                a = above[a]
            while place[b] > place[a]:
                b = above[b]
        return a

    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            best = None
            for each in before(node):
                if each in above:
                    best = each if best is None else common(best, each)
            if best is not None and above.get(node) is not best:
                above[node] = best
                changed = True
    return above


def dominates(a: Any, b: Any, above: dict[Any, Any]) -> bool:
    while b is not a:
        if above[b] is b:
            return False
        b = above[b]
    return True
