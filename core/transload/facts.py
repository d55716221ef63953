"""Facts about ops: open tables by op name, which any plugin extends for its own ops or for others'.

A fact is of a *kind* (`FactKind`): what executes an op, how it is simplified, that it only moves numbers, in which layouts
it can run. A plugin declares kinds, and gives tables of facts, through one hook:

    @hookimpl
    def register_facts(register):
        register(Facts("moves", "acme", "acme_package.facts:MOVES"))

Whoever needs to know asks by kind and op name, and keeps no list of names of its own:

    moves = host().facts("moves")
    if moves[op.name] is not None: ...

A table is loaded when an op of its dialect is first asked about. One op has one fact of a kind: where two plugins give it, and
neither says that it overrides, asking is a `PluginError` that names both. Facts of kinds that *add up* (simplifications)
are joined instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from typing import Any

from .classes import is_a
from .errors import PluginError, PluginFailure, Unsupported, UsageError
from .guard import FOREIGN, PluginInfo, failure, goes_through, is_whole, process_kept
from .lending import lending
from .outcomes import a_kind
from .plugin import resolve
from .suggest import nearest
from .watched import Watched, Watcher, told

__all__ = ["FactKind", "FactMap", "FactTable", "Facts", "Given", "need_kind"]


@dataclass(frozen=True)
class FactKind:
    """A kind of fact: its name, what a fact of it says, who asks for it, and of which class it is.

    `type` is a class, several, or text that names such (`"package.module:NAME"`); None: anything.
    """

    name: str
    says: str
    asked_by: str
    type: Any = None
    adds_up: bool = False
    """Whether the facts of several plugins about one op are sequences to be joined; else an op has one fact."""
    declared: bool = True
    """Whether it is only of ops that their dialect declares: a name that it does not have is then a mistake."""
    gives: Any = None
    """What a fact that is a function gives: a class, or text that names one (several, and None, in a tuple), or text that names a
    function of the outcome and the arguments that says what is wrong, or None. What others' give is looked at there."""
    refuses: bool = False
    """Whether functions of a fact raise `Unsupported` to who asks, as a rule does; from others it is a `ConversionError`."""

    def is_object(self, fact: Any) -> bool:
        """Whether a fact is an object that is read, which may have functions and even be called, and not a function itself."""
        if not (classes := self._classes()):
            return is_dataclass(fact) and not isinstance(fact, type)
        return isinstance(fact, tuple(each for each in classes if each is not Callable))

    def is_called(self, fact: Any) -> bool:
        """Whether a fact is called for what it says: a function, an object like one; a class where a function is wanted."""
        return _is_function(fact) or (isinstance(fact, type) and Callable in self._classes())

    def _classes(self) -> tuple[Any, ...]:
        """The classes of its facts; none where these may be anything."""
        wanted = resolve(self.type)
        return wanted if isinstance(wanted, tuple) else () if wanted is None else (wanted,)

    def wrong(self, outcome: Any, arguments: Iterable[Any]) -> str | None:
        """What is wrong with what a function gave as a fact of this kind, or None."""
        wanted = [resolve(each) for each in (self.gives if isinstance(self.gives, tuple) else (self.gives,))]
        classes = tuple(each for each in wanted if isinstance(each, type))
        if not classes:
            return None if self.gives is None else wanted[0](outcome, *arguments)
        if isinstance(outcome, classes) or (outcome is None and None in wanted):
            return None
        names = " or ".join([f"a {each.__name__}" for each in classes] + ["None"] * (None in wanted))
        return f"gives {a_kind(outcome)}, where {names} is wanted"


@dataclass(frozen=True)
class Facts:
    """A table of facts of one kind about ops of one dialect, a plugin's own or another's.

    `table` is a mapping of op names (in full, `"acme.HardMish"`) to facts, or an object whose attribute `facts` is one
    (`FactTable`, `KernelTable`, `RewriteTable`), or text `"package.module:NAME"` that names such, loaded when it is needed.
    """

    kind: str
    dialect: str
    table: Any
    overrides: bool = False
    """Whether it takes the place of facts that other plugins give of the same ops."""


class FactTable(dict[str, Any], Watched):
    """Facts by op name; called with names it is a decorator that adds the function it decorates.

    `FactTable("acme")` completes names without a dialect: `@RULES("HardMish", "SoftMish")`.
    """

    def __init__(self, dialect: str = "") -> None:
        super().__init__()
        self.dialect = dialect

    def __repr__(self) -> str:
        about = f" for {self.dialect!r}" if self.dialect else ""
        return f"<table of facts{about}: of {told(self)}>"

    def __call__(self, *names: str) -> Callable[[Any], Any]:
        def add(fact: Any) -> Any:
            self.add(fact, *names)
            return fact

        return add

    def add(self, fact: Any, *names: str) -> None:
        """Say one thing of several ops."""
        for name in names:
            self[self._full(name)] = fact

    def __setitem__(self, name: str, fact: Any) -> None:
        super().__setitem__(name, fact)
        self.changed()

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self.changed()

    # These of a dictionary change it by themselves, not by the two above.
    clear, pop, popitem = MutableMapping.clear, MutableMapping.pop, MutableMapping.popitem
    setdefault, update = MutableMapping.setdefault, MutableMapping.update

    def __ior__(self, more: Any) -> FactTable:  # type: ignore[override,misc]
        self.update(more)
        return self

    def _full(self, name: str) -> str:
        return name if not self.dialect or "." in name else f"{self.dialect}.{name}"


@dataclass(frozen=True)
class Given:
    """Facts, and who registered them, for messages."""

    facts: Facts
    plugin: str
    info: PluginInfo | None = None
    """The plugin itself, where it is one of others'."""

    def guarded(self, kind: FactKind, name: str, fact: Any) -> Any:
        """A fact about the op `name`; of a function of others', one that says whose it is where it fails, or gives what is
        no fact of its kind. Likewise the functions that an object has.

        Kernels of others are lent the arrays that other ops go on using.
        """
        owner = self.info
        if owner is None or owner.is_ours:
            return fact
        if self.facts.kind == "kernel":
            function, mode = fact
            return lending(function), mode
        if not kind.is_object(fact):
            return self._called(owner, kind, name, fact) if kind.is_called(fact) else fact
        made = fact
        for each in fields(fact) if is_dataclass(fact) else ():
            value = getattr(fact, each.name)
            if each.init and _is_function(value):
                made = copy(fact) if made is fact else made  # and not `replace`, which asks a class of others to be made again
                object.__setattr__(made, each.name, self._called(owner, kind, name, value, each.name == "function"))
        return made

    def _called(
        self, owner: PluginInfo, kind: FactKind, name: str, function: Callable[..., Any], says_it: bool = True,
    ) -> Callable[..., Any]:
        """A function of another's plugin, a member of a fact of a kind, or what `says_it`, as one that is a fact by itself."""
        place = f"the fact {self.facts.kind!r} of {name}"
        makes_kernel = self.facts.kind == "integers"

        def called(*arguments: Any, **named: Any) -> Any:
            try:
                with process_kept():
                    said = function(*arguments, **named)
                wrong = kind.wrong(said, arguments) if says_it else None
            except FOREIGN as error:
                if goes_through(error, owner) or (kind.refuses and is_a(error, Unsupported) and is_whole(error)):
                    raise
                raise failure(owner, place, error) from error
            if wrong is not None:
                raise failure(owner, place, TypeError(wrong))
            return lending(said) if makes_kernel and callable(said) else said

        return wraps(function)(called)

    def entries(self) -> Mapping[str, Any]:
        """The facts by op name; `PluginError` where the table cannot be had or is none."""
        what = f"the facts {self.facts.kind!r} of {self.facts.dialect!r} that plugin {self.plugin} gives"
        try:
            table = resolve(self.facts.table)
        except PluginFailure as error:
            if error.plugin is not None:  # it says all that there is to say
                raise
            cause = error.__cause__ or error
            raise PluginError(f"{what} cannot be loaded: {type(cause).__name__}: {cause}") from cause
        found = getattr(table, "facts", table)
        if not isinstance(found, Mapping):
            raise PluginError(f"{what} are no table: {type(table).__name__}", hint="a mapping of op names to facts")
        foreign = [name for name in found if name.partition(".")[0] != self.facts.dialect]
        if foreign:
            raise PluginError(
                f"{what} are about ops of another dialect: {', '.join(map(repr, foreign[:4]))}",
                hint="register a table for each dialect")
        return found


class FactMap(dict[str, Any]):
    """The facts of one kind, by op name: `map[name]` is None of an op of which there is none.

    Made by `Host.facts`, of what `given_of(dialect)` says is registered. `get` and `in` see only what was asked for before:
    ask by `[]`.
    """

    def __init__(
        self, kind: FactKind, given_of: Callable[[str], Iterable[Given]], ops_of: Callable[[str], Iterable[str] | None],
        watcher: Watcher | None = None,
    ) -> None:
        super().__init__()
        self.kind = kind
        self._given_of = given_of
        self._ops_of = ops_of
        self._watcher = watcher
        self._loaded: dict[str, dict[str, Any]] = {}

    def __missing__(self, op_name: str) -> Any:
        fact = self[op_name] = self.of_dialect(op_name.partition(".")[0]).get(op_name)
        return fact

    def of_dialect(self, dialect: str) -> Mapping[str, Any]:
        """All facts of this kind about ops of a dialect."""
        loaded = self._loaded.get(dialect)
        if loaded is None:
            tables = [(given, given.entries()) for given in self._given_of(dialect)]
            for given, table in tables:
                self._check(dialect, given, table)
                if self._watcher is not None and isinstance(held := resolve(given.facts.table), Watched):
                    held.watch(self._watcher)
            loaded = self._loaded[dialect] = _joined(tables) if self.kind.adds_up else _one_each(self.kind, tables)
        return loaded

    def _check(self, dialect: str, given: Given, table: Mapping[str, Any]) -> None:
        """That a table is about ops that there are, and says what its kind says."""
        known = self._ops_of(dialect) if self.kind.declared else None
        wanted = resolve(self.kind.type)
        for name, fact in table.items():
            if wanted is not None and not isinstance(fact, wanted):
                raise PluginError(
                    f"plugin {given.plugin} gives as fact {self.kind.name!r} of {name} a {type(fact).__name__}",
                    hint=f"it is {self.kind.says}")
            if known is not None and name not in known and not name.endswith(".*"):
                guess = nearest(name, known)
                raise PluginError(
                    f"plugin {given.plugin} gives the fact {self.kind.name!r} of {name}, which dialect {dialect!r} does not have",
                    hint=f"did you mean {guess}?" if guess else "")


def _is_function(value: Any) -> bool:
    """Whether a value is called for what it says: a function, or an object that is called like one."""
    return callable(value) and not isinstance(value, type)


_Tables = list[tuple[Given, Mapping[str, Any]]]


def _joined(tables: _Tables) -> dict[str, Any]:
    """The facts of all plugins about each op; additions to a dialect come first, so that they can override."""
    joined: dict[str, Any] = {}
    for _, table in reversed(tables):
        for name, fact in table.items():
            joined[name] = [*joined.get(name, ()), *fact]
    return joined


def _one_each(kind: FactKind, tables: _Tables) -> dict[str, Any]:
    """The one fact about each op; `PluginError` where it has two of equal right."""
    found: dict[str, tuple[Given, Any]] = {}
    for given, table in tables:
        for name, fact in table.items():
            held = found.get(name)
            if held is not None and held[0].facts.overrides == given.facts.overrides:
                leaves = f", or one is left out: {given.info.leaving}" if given.info is not None else ""
                raise PluginError(
                    f"plugins {held[0].plugin} and {given.plugin} both give the fact {kind.name!r} of {name}",
                    hint=f"one of them says Facts(..., overrides=True){leaves}")
            if held is None or given.facts.overrides:
                found[name] = given, fact
    return {name: given.guarded(kind, name, fact) for name, (given, fact) in found.items()}


def need_kind(name: str, kinds: Mapping[str, FactKind], absent: str = "") -> FactKind:
    """The kind of that name; `UsageError` names the nearest, and adds what may be `absent` (`Host.absent`)."""
    kind = kinds.get(name)
    if kind is None:
        guess = nearest(name, kinds)
        raise UsageError(
            f"no kind of fact is called {name!r}",
            hint=(f"did you mean {guess!r}? " if guess else "") + f"there are {', '.join(sorted(kinds))}{absent}")
    return kind
