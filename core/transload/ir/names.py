"""Names of which each is given once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .build import constant_of
from .core import Op
from .locations import NamedLocation
from .module import Module

__all__ = ["FreshNames", "numbered", "tell_apart"]


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


def numbered(names: Sequence[str], taken: Iterable[str] = ()) -> list[str]:
    """The names, each once: the last of a name stays as it is, and those before it are `name#1`, `name#2`; so are all that are
    `taken` already.

    The last is the tensor itself where what a framework has as one op became several of its name.
    """
    given = set(taken)
    used, last = given | set(names), {name: place for place, name in enumerate(names)}
    numbers: dict[str, int] = {}
    found: list[str] = []
    for place, name in enumerate(names):
        told = name
        if place != last[name] or name in given:
            number = numbers.get(name, 0) + 1
            while (told := f"{name}#{number}") in used:
                number += 1
            numbers[name] = number
            used.add(told)
        found.append(told)
    return found


def tell_apart(module: Module) -> None:
    """Number ops whose names occur again (`numbered`), as in programs whose names say where in a source they are.

    Those of the main function come first: what is inside of loops and other functions does not count there. Constants, and ops
    that are parts of others, keep their names.
    """
    function = module.functions.get("main", next(iter(module.functions.values()), None))
    blocks = function.regions[0].blocks if function is not None else []
    own = [op for block in blocks for op in block if _is_named(op)]
    others = [op for op in module.walk() if _is_named(op) and op.parent not in blocks]
    told = numbered([str(op.location) for op in own])
    told += numbered([str(op.location) for op in others], told)
    for op, name in zip((*own, *others), told, strict=True):
        if name != op.location:
            op.location = NamedLocation(name, op.location.child) if isinstance(op.location, NamedLocation) else name


def _is_named(op: Op) -> bool:
    """Whether an op computes something that has a name."""
    return isinstance(op.location, str) and bool(op.results) and constant_of(op.results[0]) is None
