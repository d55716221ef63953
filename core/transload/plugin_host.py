"""The plugin host: answers what the plugins registered that are there, each called through its guard (`transload.guard`).

How they are found and loaded is `transload.plugin_registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeVar

from .context import current, use_host
from .errors import PluginError, TransloadError, UsageError
from .facts import FactKind, FactMap, Facts, Given, need_kind
from .guard import Guarded, PluginInfo, failure
from .options import Owner, settings_of
from .plugin import (
    Calibrator,
    Conversion,
    DialectSpec,
    Engine,
    ForeignFormat,
    Metric,
    Pass,
    Quantizer,
    Reader,
    Runtime,
    Score,
    Target,
    Writer,
    resolve,
)
from .plugin_registry import PluginRegistry
from .registration import singular
from .suggest import nearest

if TYPE_CHECKING:
    import numpy as np

    from .ir import Op
    from .ir.declare import Dialect
    from .rewrite import RewriteTable

__all__ = ["Host", "PluginInfo", "host", "use_host"]

Made = TypeVar("Made")

FEW = 24
"""Of so few names a message lists all."""


def _instead_of_a_file(kind: str, name: str) -> str:
    """What to add where a file is given that may describe a chip, in place of a target's name."""
    if kind != "targets" or not (name.lower().endswith(".toml") or "/" in name):
        return ""
    return "; of a chip that a file describes, `transload new-plugin my-chip --kind chip` makes a target"


def misstated(kind: str, name: str, what: str, error: TransloadError) -> PluginError:
    """The error for text of a plugin that does not read: passes, limits; `name` is the object of that kind which says it."""
    owner = host().owner(kind, name)
    return PluginError(f"{f'{owner}: ' if owner is not None else ''}{what}: {error.message}", error.findings, error.hint)


def wished(kind: str, name: str, member: str, owner: Owner, wishes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Values of an owner's options, as an object of a plugin wishes them in a member; `PluginError` where these are none."""
    try:
        if unknown := [key for key in wishes if key not in owner.options]:
            raise UsageError(f"{owner.name} takes no option {', '.join(unknown)}",
                             hint=f"options: {', '.join(sorted(owner.options)) or 'none'}")
        settings_of(owner.options, wishes)
    except UsageError as error:
        raise misstated(kind, name, f"{member} of {singular(kind)} {name!r}", error) from error
    return wishes


class Host(PluginRegistry):
    """Loads plugins (`PluginRegistry`) and answers what there is."""

    @cached_property
    def dialects(self) -> dict[str, DialectSpec]:
        return self._collect("dialects")

    @cached_property
    def readers(self) -> dict[str, Reader]:
        return self._collect("readers")

    @cached_property
    def formats(self) -> dict[str, ForeignFormat]:
        return self._collect("formats")

    @cached_property
    def writers(self) -> dict[str, Writer]:
        return self._collect("writers")

    @cached_property
    def conversions(self) -> dict[str, Conversion]:
        return self._collect("conversions")

    @cached_property
    def passes(self) -> dict[str, Pass]:
        return self._collect("passes")

    @cached_property
    def engines(self) -> dict[str, Engine]:
        return self._collect("engines")

    @cached_property
    def runtimes(self) -> dict[str, Runtime]:
        return self._collect("runtimes")

    @cached_property
    def quantizers(self) -> dict[str, Quantizer]:
        return self._collect("quantizers")

    @cached_property
    def calibrators(self) -> dict[str, Calibrator]:
        return self._collect("calibrators")

    @cached_property
    def targets(self) -> dict[str, Target]:
        return self._collect("targets")

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        return self._collect("metrics")

    @cached_property
    def scores(self) -> dict[str, Score]:
        return self._collect("scores")

    @cached_property
    def commands(self) -> dict[str, Any]:
        return self._collect("commands")

    # --- asking

    def get(self, kind: str, name: str) -> Any:
        """The registered object of a kind ("targets", "passes", ...) by name; `UsageError` names the nearest."""
        there = getattr(self, kind)
        if not isinstance(name, str):
            raise UsageError(f"a {singular(kind)} is said by its name, and {name!r:.100} is none")
        if name in there:
            if (refusal := getattr(there[name], "refusal", None)) is not None:
                raise UsageError(f"{singular(kind)} {name!r} is not to be had: {refusal[0]}", hint=refusal[1])
            return there[name]
        offered = [each for each, thing in there.items() if getattr(thing, "refusal", None) is None]
        guess = nearest(name, offered)
        listing = kind if kind in ("targets", "passes") else "plugins"
        all_of_them = f"`transload {listing}` lists all {len(there)}"
        if 0 < len(offered) <= FEW:
            all_of_them = f"{kind}: {', '.join(offered)}"
        raise UsageError(
            f"no {singular(kind)} is called {name!r}",
            hint=(f"did you mean {guess!r}? " if guess else "") + all_of_them + _instead_of_a_file(kind, name) + self.absent(),
        )

    def engine(self, name: str) -> Callable[..., Any]:
        """What makes a module's function ready to be run by an engine (`Engine.prepare`).

        `UsageError` where there is none of that name, or it cannot be used here.
        """
        chosen: Engine = self.get("engines", name)
        why = resolve(chosen.available)() if chosen.available is not None else None
        if why:
            raise UsageError(f"engine {name!r} cannot be used: {why}")
        prepare: Callable[..., Any] = resolve(chosen.prepare)
        return prepare

    def absent(self) -> str:
        """What to add to a message that something is not there: which plugins failed, and which were left out; or nothing."""
        failed = [f"{info}: {info.error}" for info in self.plugins if info.error is not None]
        skipped = [info.name for info in self.plugins if info.skipped]
        return (f"; not all plugins are in order: {'; '.join(failed)}" if failed else "") + (
            f"; left out by TRANSLOAD_PLUGINS: {', '.join(skipped)}" if skipped else "")

    def owner(self, kind: str, name: str) -> PluginInfo | None:
        """The plugin that registered an object of a kind, by name."""
        getattr(self, kind)
        return self._owners.get((kind, name))

    def plugin_of(self, function: Any) -> PluginInfo | None:
        """The plugin that a function belongs to, by its module, else by the table that holds it; None where it is no plugin's."""
        parts = str(getattr(function, "__module__", None) or type(function).__module__).split(".")
        best: tuple[int, PluginInfo | None] = (0, None)
        for plugin in self._loaded:
            theirs = plugin.info.module.partition(":")[0].split(".")
            shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(parts, theirs, strict=False)))
            if shared > best[0]:
                best = shared, plugin.info
        return best[1] or self._whose_table_holds(function)

    def _whose_table_holds(self, function: Any) -> PluginInfo | None:
        """The plugin of others that registered a function in a table: of rewrites, kernels, facts."""
        lent = getattr(function, "__wrapped__", function)  # as kernels are called
        labels = {plugin.info.label: plugin.info for plugin in self._loaded if not plugin.info.is_ours}
        held: list[tuple[PluginInfo | None, Callable[[], Mapping[str, Any]]]] = [
            (self.owner("conversions", name), partial(self._functions_of, conversion))
            for name, conversion in self.conversions.items()]
        given = [*self._facts[1], *(
            each for name in self.dialects for kind in ("kernel", "canonicalization") for each in self._given(kind, name)[:1])]
        held += [(labels.get(each.plugin), each.entries) for each in given]
        for info, entries in held:
            if info is not None and not info.is_ours:
                with suppress(TransloadError):
                    facts = [each for fact in entries().values() for each in (fact if isinstance(fact, list | tuple) else [fact])]
                    if any(each is function or each is lent for each in facts):
                        return info
        return None

    def _functions_of(self, conversion: Conversion) -> Mapping[str, Any]:
        return self._table_of(conversion).functions

    def in_role(self, role: str) -> DialectSpec:
        """The dialect that plays a part. Raises `PluginError` where none does, or more than one."""
        held = self._in_role
        known = held.get(role)
        if known is not None and self.dialects.get(known.name) is known:
            return known
        found = [spec for spec in self.dialects.values() if spec.role == role]
        if len(found) != 1:
            there = ", ".join(repr(spec.name) for spec in found) or "none"
            raise PluginError(
                f"one dialect has to have the role {role!r}, and there is {there}",
                hint="`transload plugins` shows what is loaded, and what failed to load and why")
        return held.setdefault(role, found[0])

    def dialect(self, name: str) -> Dialect | None:
        """A dialect's declarations, loaded; None where nobody registered it."""
        held = self._dialects
        found, spec = held.get(name), self.dialects.get(name)
        if found is not None or spec is None:
            return found
        from .ir.declare import Dialect

        made = resolve(spec.load)
        if callable(made):
            made = Guarded(made, self._owners["dialects", name], f"dialect {name!r} (load)")()
        dialect = self._right("dialects", name, "load", made, Dialect)
        if dialect.fault:
            raise failure(self.owner("dialects", name), f"dialect {name!r} (load)", TypeError(dialect.fault))
        dialect.watch(self)
        return held.setdefault(name, dialect)

    @property
    def fact_kinds(self) -> dict[str, FactKind]:
        """What can be said of ops."""
        return self._facts[0]

    def facts(self, kind: str) -> FactMap:
        """The facts of a kind, by op name (None of an op of which there is none); see `transload.facts`."""
        held = self._fact_maps  # of now: what is made of tables that change meanwhile is kept by nobody
        found = held.get(kind)
        if found is None:
            found = held[kind] = FactMap(
                need_kind(kind, self.fact_kinds, self.absent()), lambda dialect: self._given(kind, dialect), self._ops_of, self)
        return found

    def fact(self, kind: str, op_name: str) -> Any:
        """The fact of a kind about an op, or None."""
        return self.facts(kind)[op_name]

    def _given(self, kind: str, dialect: str) -> list[Given]:
        """The tables of a kind about a dialect's ops: what its `DialectSpec` names, and what is registered."""
        given = [each for each in self._facts[1] if (each.facts.kind, each.facts.dialect) == (kind, dialect)]
        spec = self.dialects.get(dialect)
        own = {"kernel": spec.kernels, "canonicalization": spec.canonicalize}.get(kind) if spec is not None else None
        if own is not None:
            owner = self.owner("dialects", dialect)
            given.insert(0, Given(Facts(kind, dialect, own), owner.label if owner is not None else repr(dialect), owner))
        return given

    def _ops_of(self, dialect: str) -> Iterable[str] | None:
        """The names of the ops that a dialect declares; None where nobody registered it."""
        found = self.dialect(dialect)
        return None if found is None else found.ops

    def table(self, conversion: str) -> RewriteTable:
        """The rewrite table of a conversion, with what other plugins add to it."""
        held = self._tables
        table = held.get(conversion)
        if table is None:
            table = self._table_of(self.conversions[conversion])
            for other in self.conversions.values():
                if other.extends == conversion:
                    table = self._table_of(other) + table  # additions come first, so that they can override
            held[conversion] = table
        made: RewriteTable = table
        return made

    def _table_of(self, conversion: Conversion) -> RewriteTable:
        from .rewrite import RewriteTable

        if conversion.table is None:
            return RewriteTable()
        table = self._right("conversions", conversion.name, "table", resolve(conversion.table), RewriteTable)
        table.watch(self)
        return table

    def _right(self, kind: str, name: str, member: str, made: Any, wanted: type[Made]) -> Made:
        """An object that a plugin gave, if it is of the class that is wanted; else `PluginFailure`."""
        if isinstance(made, wanted):
            return made
        place = f"{singular(kind)} {name!r} ({member})"
        wrong = TypeError(f"gives a {type(made).__name__}, where a {wanted.__name__} is wanted")
        raise failure(self.owner(kind, name), place, wrong)

    def kernel(self, op_name: str) -> tuple[Callable[..., Any], str] | None:
        """The kernel of an op, or that of all ops of its dialect (`"acme.*"`), and how it treats quantized operands; or None."""
        facts = self.facts("kernel")
        return facts[op_name] or facts[f"{op_name.partition('.')[0]}.*"]

    @cached_property
    def fold(self) -> Callable[[Op], Sequence[np.ndarray] | None]:
        """`fold(op)`: an op whose operands are all constant, computed by the kernels; see `transload.engine.fold.fold_op`."""
        from .engine.fold import fold_op

        return partial(fold_op, kernel_of=self.kernel, facts_of=self.facts)


def host() -> Host:
    """The host of the context that is bound, or of the process; see `transload.context`."""
    return current().host
