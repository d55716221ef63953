"""What kernels ask of the block that they are in, found once a run.

A kernel knows its op alone. Some computing depends on what else is in the block, which costs a look at every op of it: asked by
each of many convolutions, that grows with the square of a network's size. A module stays as it is while it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..ir import Block

__all__ = ["fact_of", "facts_kept"]

_FACTS: ContextVar[dict[tuple[Block, Callable[[Block], bool]], bool] | None] = ContextVar("facts", default=None)


@contextmanager
def facts_kept() -> Iterator[None]:
    """A run, in which facts are kept that are asked for; a run inside another keeps them there."""
    if _FACTS.get() is not None:
        yield
        return
    token = _FACTS.set({})
    try:
        yield
    finally:
        _FACTS.reset(token)


def fact_of(block: Block, find: Callable[[Block], bool]) -> bool:
    """`find(block)`, computed once in a run; each time where nothing runs."""
    facts = _FACTS.get()
    if facts is None:
        return find(block)
    key = block, find
    if key not in facts:
        facts[key] = find(block)
    return facts[key]
