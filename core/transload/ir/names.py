"""Names of which each is given once."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["FreshNames"]


class FreshNames:
    """Gives names that no other has: a name that is taken gets a number behind it.

    Where thousands ask for the same name, each takes the next number: none is looked for from the first on.
    """

    def __init__(self, taken: Iterable[str] = (), first: int = 1) -> None:
        self.taken = set(taken)
        self._first = first
        self._numbers: dict[str, int] = {}

    def __call__(self, wanted: str) -> str:
        """`wanted`, or `wanted_N` with the first number that is free."""
        name, number = wanted, self._numbers.get(wanted, self._first)
        while name in self.taken:
            name, number = f"{wanted}_{number}", number + 1
        self._numbers[wanted] = number
        self.taken.add(name)
        return name
