"""Declarations of a framework's operators that are made when they are first asked for: a model uses few of thousands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from .declare import OpDeclaration

__all__ = ["OpsOnDemand"]


class OpsOnDemand(dict[str, OpDeclaration], ABC):
    """A dialect's `ops` by name. Gone through, they are those that are listed; more may be there when asked for."""

    @abstractmethod
    def declare(self, name: str) -> OpDeclaration | None:
        """The declaration of an op that was not asked for before; None where there is no such op."""

    @abstractmethod
    def listed(self) -> Sequence[str]:
        """The names of all ops that going through gives, in order."""

    def get(self, name: str, default: Any = None) -> Any:
        found = super().get(name)
        if found is None and (found := self.declare(name)) is not None:
            self[name] = found
        return default if found is None else found

    def __missing__(self, name: str) -> OpDeclaration:
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        declaration: OpDeclaration = found
        return declaration

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.listed())

    def __len__(self) -> int:
        return len(self.listed())

    def keys(self) -> Any:
        return self.listed()

    def values(self) -> Any:
        return [self[name] for name in self.listed()]

    def items(self) -> Any:
        return [(name, self[name]) for name in self.listed()]
