"""What was typed where a command line runs: commands that are advised take over what is said there of the same things.

    with typed_by(lambda name, without, more, needs: ["--mean", "127.5"]):
        typed("eval", (), (), ())  # ["--mean", "127.5"]
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["typed", "typed_by"]

Typed = Callable[[str, Collection[str], Collection[str], Collection[str]], list[str]]
"""What `typed` gives, of the same arguments."""
_TYPED: ContextVar[Typed | None] = ContextVar("what was typed", default=None)


@contextmanager
def typed_by(find: Typed) -> Iterator[None]:
    """While it is open, `find` says what was typed."""
    token = _TYPED.set(find)
    try:
        yield
    finally:
        _TYPED.reset(token)


def typed(name: str, without: Collection[str], more: Collection[str], needs: Collection[str]) -> list[str]:
    """The options of the command that runs which the command `name` has, too; none where no command line runs.

    But for flags of `without`, and those of `more` that take one value, as they are said anew; `needs` will be said in any case.
    """
    find = _TYPED.get()
    return find(name, without, more, needs) if find is not None else []
