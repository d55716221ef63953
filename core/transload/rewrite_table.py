"""Tables of rewrite functions by op name; `transload.rewrite` applies them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import PluginError, Unsupported
from .watched import Watched, told

if TYPE_CHECKING:
    from .ir.core import Op
    from .rewrite import Rewriter

__all__ = ["Concerns", "RewriteFunction", "RewriteTable"]

RewriteFunction = Callable[[Any, "Rewriter"], Any]
"""Called with the ops of the names it was registered for, so that it may say `op: Conv`."""
F = TypeVar("F", bound=RewriteFunction)


class RewriteTable(Watched):
    """Rewrite functions by op name."""

    def __init__(self) -> None:
        self.functions: dict[str, list[RewriteFunction]] = {}

    def __repr__(self) -> str:
        return f"<table of rewrites: of {told(self.functions)}>"

    @property
    def facts(self) -> dict[str, list[RewriteFunction]]:
        """The table as facts of kind "canonicalization"."""
        return self.functions

    def __call__(self, *names: str) -> Callable[[F], F]:
        """Decorator: use the function for the ops of these names, or of `"dialect.*"`; `PluginError` for other names."""
        for name in names:
            if not isinstance(name, str) or not all(name.partition(".")[::2]):
                raise PluginError(f"a table of rewrites is asked for rules of {name!r:.60}, and an op is called 'dialect.op'")

        def add(function: F) -> F:
            for name in names:
                rules = self.functions.setdefault(name, [])
                again = next((place for place, rule in enumerate(rules) if _defines_anew(function, rule)), None)
                if again is None:
                    rules.append(function)
                else:
                    rules[again] = function
            self.changed()
            return function

        return add

    def refuse(self, reasons: Mapping[str, tuple[str, str]]) -> None:
        """Say of ops that cannot be converted why, and what to do: op name -> (why, hint)."""
        for name, (why, hint) in reasons.items():
            rules = self.functions.setdefault(name, [])
            again = next((place for place, rule in enumerate(rules) if isinstance(rule, _Refusal)), len(rules))
            rules[again:again + 1] = [_Refusal(why, hint)]  # of two only the first would be heard
        self.changed()

    def refusal(self, name: str) -> tuple[str, str] | None:
        """Why no op of this name is converted, and what to do, where that was said and nothing else was."""
        functions = self.get(name)
        refusals = [function for function in functions if isinstance(function, _Refusal)]
        return (refusals[0].why, refusals[0].hint) if refusals and len(refusals) == len(functions) else None

    def __add__(self, other: RewriteTable) -> RewriteTable:
        joined = RewriteTable()
        for table in (self, other):
            for name, functions in table.functions.items():
                joined.functions.setdefault(name, []).extend(functions)
        return joined

    def __contains__(self, name: str) -> bool:
        return name in self.functions or f"{name.partition('.')[0]}.*" in self.functions

    def get(self, name: str) -> list[RewriteFunction]:
        exact = self.functions.get(name, [])
        wild = self.functions.get(f"{name.partition('.')[0]}.*")
        return exact + wild if wild else exact


def _defines_anew(function: RewriteFunction, other: RewriteFunction) -> bool:
    """Whether a function takes the other's place: one of a module, under the same name, as a cell of a notebook that is run again
    has it. Many are called `_`, lambda, or as the function within another that makes them."""
    name = getattr(function, "__qualname__", "")
    return name.strip("_") != "" and "<" not in name and (function.__module__, name) == (
        getattr(other, "__module__", None), getattr(other, "__qualname__", None))


class _Refusal:
    """A rewrite function that refuses its op."""

    def __init__(self, why: str, hint: str) -> None:
        self.why = why
        self.hint = hint

    def __call__(self, op: Op, rw: Rewriter) -> Any:
        raise Unsupported(self.why, self.hint)


class Concerns(dict[str, bool]):
    """Whether ops of a name are for a table to rewrite: those of the dialects it starts from, and those that it names.

    It is asked of every op that is there or made, and there are few names.
    """

    def __init__(self, prefixes: tuple[str, ...], table: RewriteTable) -> None:
        super().__init__()
        self.prefixes = prefixes
        self.table = table

    def __missing__(self, name: str) -> bool:
        found = self[name] = name.startswith(self.prefixes) or name in self.table.functions
        return found
