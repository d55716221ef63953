"""The plugin host: finds plugins, isolates the broken ones, and keeps what they register.

pluggy's own loader stops at the first plugin that fails to import. This one loads each entry point of
group `transload` by itself, keeps the error of one that fails (with its distribution's name and
version) and goes on; `transload plugins` shows it. `TRANSLOAD_PLUGINS` narrows what loads: a comma
list of entry-point names, or names with `-` in front of those to leave out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.metadata import EntryPoint, entry_points
from threading import RLock
from typing import TYPE_CHECKING, Any

import pluggy

from . import hookspecs
from .context import current, use_host
from .errors import PluginError, UsageError
from .facts import FactKind, FactMap, Facts, Given, need_kind
from .plugin import Conversion, DialectSpec, resolve
from .suggest import nearest

if TYPE_CHECKING:
    import numpy as np

    from .ir import Op

__all__ = ["Host", "PluginInfo", "host", "use_host"]

GROUP = "transload"
FOUNDATION = "transload.foundation"
"""Group of the plugins that others stand on (the hub): `TRANSLOAD_PLUGINS` leaves none of them out."""
CORE = "transload.builtin_plugin"


@dataclass
class PluginInfo:
    """What became of one entry point."""

    name: str
    distribution: str
    version: str
    module: str
    error: str | None = None
    skipped: bool = False
    registered: dict[str, list[str]] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Which plugin it is, in messages."""
        return f"{self.name} ({self.distribution} {self.version})" if self.version else f"{self.name} ({self.distribution})"


class Host:
    """Loads plugins and answers what there is.

    `points` replaces the installed entry points (for tests); `only` replaces `TRANSLOAD_PLUGINS`.
    """

    def __init__(self, points: list[EntryPoint] | None = None, only: str | None = None) -> None:
        self.manager = pluggy.PluginManager("transload")
        self.manager.add_hookspecs(hookspecs)
        self.plugins: list[PluginInfo] = []
        self._fact_maps: dict[str, FactMap] = {}
        self._given_facts: tuple[dict[str, FactKind], list[Given]] | None = None
        self._tables: dict[str, Any] = {}
        self._collected: dict[str, dict[str, Any]] = {}
        self._lock = RLock()
        found = list(entry_points(group=GROUP)) if points is None else points
        self._load(list(entry_points(group=FOUNDATION)), found, os.environ.get("TRANSLOAD_PLUGINS", "") if only is None else only)

    def _load(self, foundation: list[EntryPoint], points: list[EntryPoint], only: str) -> None:
        wanted = [name.strip() for name in only.split(",") if name.strip()]
        keep = {name for name in wanted if not name.startswith("-")}
        drop = {name[1:] for name in wanted if name.startswith("-")}
        always = [EntryPoint("core", CORE, FOUNDATION), *sorted(foundation, key=lambda p: p.name)]
        seen: set[tuple[str, str]] = set()
        for point in [*always, *sorted(points, key=lambda p: p.name)]:
            if (point.name, point.value) in seen:  # the same distribution found twice on sys.path
                continue
            seen.add((point.name, point.value))
            distribution = getattr(point, "dist", None)
            info = PluginInfo(
                point.name,
                distribution.name if distribution else "transload",
                distribution.version if distribution else "",
                point.value,
            )
            self.plugins.append(info)
            if point.group != FOUNDATION and ((keep and point.name not in keep) or point.name in drop):
                info.skipped = True
                continue
            try:
                self._register(point, info)
            except Exception as error:  # a broken plugin is reported and stops nobody else
                info.error = f"{type(error).__name__}: {error}"
        unknown = (keep | drop) - {info.name for info in self.plugins}
        if unknown:
            raise UsageError(
                f"TRANSLOAD_PLUGINS names plugins that are not installed: {', '.join(sorted(unknown))}",
                hint=f"installed: {', '.join(info.name for info in self.plugins)}",
            )

    def _register(self, point: EntryPoint, info: PluginInfo) -> None:
        plugin = point.load()
        name = f"{info.distribution}:{info.name}"
        misspelt = [
            member
            for member in dir(plugin)
            if getattr(getattr(plugin, member), "transload_impl", None) is not None and not hasattr(hookspecs, member)
        ]
        if misspelt:
            hooks = [hook for hook in dir(hookspecs) if hook.startswith("register_")]
            raise PluginError(
                f"{', '.join(misspelt)} is no hook of Transload", hint=f"did you mean {nearest(misspelt[0], hooks)}?"
            )
        self.manager.register(plugin, name)
        try:
            self.manager.check_pending()
        except pluggy.PluginValidationError as error:
            self.manager.unregister(name=name)
            raise PluginError(str(error)) from None

    def _collect(self, hook: str, names: Callable[[Any], str]) -> dict[str, Any]:
        """What plugins register by a hook, keyed by name; the hook is called once, whoever asks in how many threads."""
        with self._lock:
            if hook not in self._collected:
                self._collected[hook] = self._call_hook(hook, names)
            return self._collected[hook]

    def _call_hook(self, hook: str, names: Callable[[Any], str]) -> dict[str, Any]:
        """What all plugins register by a hook, by name."""
        collected: dict[str, Any] = {}
        for info, mine in self._called(hook):
            for item in mine:
                name = names(item)
                if name in collected:
                    info.error = f"{hook}: {name!r} is registered twice; the first one stays"
                    continue
                collected[name] = item
                info.registered.setdefault(hook.removeprefix("register_"), []).append(name)
        return collected

    def _called(self, hook: str) -> Iterator[tuple[PluginInfo, list[Any]]]:
        """Call one hook of every plugin by itself: what each registers."""
        for info in self.plugins:
            plugin = self.manager.get_plugin(f"{info.distribution}:{info.name}")
            call = getattr(plugin, hook, None) if plugin is not None else None
            if call is None or getattr(call, "transload_impl", None) is None:
                continue
            mine: list[Any] = []
            try:
                call(mine.append)
            except Exception as error:  # a broken hook, likewise
                info.error = f"{hook}: {type(error).__name__}: {error}"
                continue
            yield info, mine

    @cached_property
    def dialects(self) -> dict[str, DialectSpec]:
        return self._collect("register_dialects", lambda item: item.name)

    @cached_property
    def readers(self) -> dict[str, Any]:
        return self._collect("register_readers", lambda item: item.name)

    @cached_property
    def writers(self) -> dict[str, Any]:
        return self._collect("register_writers", lambda item: item.name)

    @cached_property
    def conversions(self) -> dict[str, Conversion]:
        return self._collect("register_conversions", lambda item: item.name)

    @cached_property
    def passes(self) -> dict[str, Any]:
        return self._collect("register_passes", lambda item: item.name)

    @cached_property
    def engines(self) -> dict[str, Any]:
        return self._collect("register_engines", lambda item: item.name)

    @cached_property
    def runtimes(self) -> dict[str, Any]:
        return self._collect("register_runtimes", lambda item: item.name)

    @cached_property
    def quantizers(self) -> dict[str, Any]:
        return self._collect("register_quantizers", lambda item: item.name)

    @cached_property
    def targets(self) -> dict[str, Any]:
        return self._collect("register_targets", lambda item: item.name)

    @cached_property
    def metrics(self) -> dict[str, Any]:
        return self._collect("register_metrics", lambda item: item.name)

    @property
    def _facts(self) -> tuple[dict[str, FactKind], list[Given]]:
        """The kinds of facts, and the tables that are registered."""
        with self._lock:
            if self._given_facts is None:
                self._given_facts = self._collect_facts()
            return self._given_facts

    def _collect_facts(self) -> tuple[dict[str, FactKind], list[Given]]:
        """Call the hook for facts; a table of a kind that does not exist is its plugin's error."""
        kinds: dict[str, FactKind] = {}
        given: list[tuple[PluginInfo, Facts]] = []
        for info, mine in self._called("register_facts"):
            for item in mine:
                if not isinstance(item, FactKind):
                    given.append((info, item))
                elif item.name in kinds:
                    info.error = f"register_facts: the kind {item.name!r} is declared twice; the first one stays"
                else:
                    kinds[item.name] = item
                    info.registered.setdefault("kinds of facts", []).append(item.name)
        tables = []
        for info, item in given:
            try:
                need_kind(item.kind, kinds)
            except UsageError as error:
                info.error = f"register_facts: {error.message} ({error.hint})"
                continue
            tables.append(Given(item, info.label))
            info.registered.setdefault("facts", []).append(f"{item.kind} of {item.dialect}")
        return kinds, tables

    @property
    def fact_kinds(self) -> dict[str, FactKind]:
        """What can be said of ops."""
        return self._facts[0]

    def facts(self, kind: str) -> FactMap:
        """The facts of a kind, by op name (None of an op of which there is none); see `transload.facts`."""
        found = self._fact_maps.get(kind)
        if found is None:
            found = self._fact_maps[kind] = FactMap(
                need_kind(kind, self.fact_kinds), lambda dialect: self._given(kind, dialect), self._ops_of)
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
            owner = next((info.label for info in self.plugins if dialect in info.registered.get("dialects", ())), repr(dialect))
            given.insert(0, Given(Facts(kind, dialect, own), owner))
        return given

    def _ops_of(self, dialect: str) -> Iterable[str] | None:
        """The names of the ops that a dialect declares; None where nobody registered it."""
        spec = self.dialects.get(dialect)
        return None if spec is None else resolve(spec.load).ops

    @cached_property
    def commands(self) -> dict[str, Any]:
        return self._collect("register_commands", lambda item: item[0])

    def everything(self) -> None:
        """Call every hook, so that `plugins` is complete."""
        for kind in (
            "dialects",
            "readers",
            "writers",
            "conversions",
            "passes",
            "engines",
            "runtimes",
            "quantizers",
            "targets",
            "metrics",
            "commands",
            "fact_kinds",
        ):
            getattr(self, kind)

    def get(self, kind: str, name: str) -> Any:
        """The registered object of a kind ("targets", "passes", ...) by name; `UsageError` names the nearest."""
        there = getattr(self, kind)
        if name in there:
            return there[name]
        guess = nearest(name, there)
        listing = kind if kind in ("targets", "passes") else "plugins"
        raise UsageError(
            f"no {kind.removesuffix('s') if kind != 'passes' else 'pass'} is called {name!r}",
            hint=(f"did you mean {guess!r}? " if guess else "") + f"`transload {listing}` lists all {len(there)}",
        )

    def table(self, conversion: str) -> Any:
        """The rewrite table of a conversion, with what other plugins add to it."""
        table = self._tables.get(conversion)
        if table is None:
            table = resolve(self.conversions[conversion].table)
            for other in self.conversions.values():
                if other.extends == conversion:
                    table = resolve(other.table) + table  # additions come first, so that they can override
            self._tables[conversion] = table
        return table

    def kernel(self, op_name: str) -> tuple[Callable[..., Any], str] | None:
        """The kernel of an op and how it treats quantized operands, or None."""
        return self.facts("kernel")[op_name]  # type: ignore[no-any-return]

    @cached_property
    def fold(self) -> Callable[[Op], Sequence[np.ndarray] | None]:
        """`fold(op)`: an op whose operands are all constant, computed by the kernels; see `transload.engine.fold.fold_op`."""
        from .engine.fold import fold_op

        return partial(fold_op, kernel_of=self.kernel)


def host() -> Host:
    """The host of the context that is bound, or of the process; see `transload.context`."""
    return current().host
