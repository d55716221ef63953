"""Cases that are drawn by number, and judged by something else than the tool: one module for each promise that a user relies on.

    python -m tests.drawn                               # the promises there are, and their sentences
    python -m tests.drawn KIND [--first N] [--count N] [--folder build/drawn]   # goes on where it ended
    python -m tests.drawn KIND --only N                 # one case, here, with the traceback of what it raises

A module of this package that is a promise has `SAMPLE`, how many cases CI draws, and `draw(number, folder) -> Outcome`: the case
of that number, the same whenever it is drawn again, made in an empty folder and judged. What the tool raises and the promise does
not allow may leave `draw`: it is a finding, too.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """How a case ended."""

    word: str
    """A word or two, which is counted: "exact", "refused", "not judged"."""
    wrong: str | None = None
    """What a user would complain of, in a line or more, with what it takes to see it; the first line names the class."""
