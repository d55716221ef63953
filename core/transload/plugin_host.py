"""The plugin host: finds plugins, isolates the broken ones, and keeps what they register.

pluggy's own loader stops at the first plugin that fails to import. This one loads each entry point of
group `transload` by itself, keeps the error of one that fails (with its distribution's name and
version) and goes on; `transload plugins` shows it. `TRANSLOAD_PLUGINS` narrows what loads: a comma
list of entry-point names, or names with `-` in front of those to leave out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.metadata import EntryPoint, entry_points
from threading import RLock
from typing import TYPE_CHECKING, Any

import pluggy

from . import hookspecs
from .context import current, use_host
from .errors import PluginError, UsageError
from .plugin import Conversion, DialectSpec, KernelTable, resolve
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


class Host:
    """Loads plugins and answers what there is.

    `points` replaces the installed entry points (for tests); `only` replaces `TRANSLOAD_PLUGINS`.
    """

    def __init__(self, points: list[EntryPoint] | None = None, only: str | None = None) -> None:
        self.manager = pluggy.PluginManager("transload")
        self.manager.add_hookspecs(hookspecs)
        self.plugins: list[PluginInfo] = []
        self._kernels: dict[str, tuple[Callable[..., Any], str]] = {}
        self._kernel_dialects: set[str] = set()
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
        """Call one hook of every plugin by itself, and key what it registers by name."""
        collected: dict[str, Any] = {}
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
            for item in mine:
                name = names(item)
                if name in collected:
                    info.error = f"{hook}: {name!r} is registered twice; the first one stays"
                    continue
                collected[name] = item
                info.registered.setdefault(hook.removeprefix("register_"), []).append(name)
        return collected

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
        found = self._kernels.get(op_name)
        if found is None:
            name = op_name.partition(".")[0]
            if name not in self._kernel_dialects:
                spec = self.dialects.get(name)
                table: KernelTable | None = resolve(spec.kernels) if spec is not None else None
                if table is not None:
                    self._kernels.update(table.kernels)
                self._kernel_dialects.add(name)  # last, so that no other thread takes them for read too early
                found = self._kernels.get(op_name)
        return found

    @cached_property
    def fold(self) -> Callable[[Op], Sequence[np.ndarray] | None]:
        """`fold(op)`: an op whose operands are all constant, computed by the kernels; see `transload.engine.fold.fold_op`."""
        from .engine.fold import fold_op

        return partial(fold_op, kernel_of=self.kernel)


def host() -> Host:
    """The host of the context that is bound, or of the process; see `transload.context`."""
    return current().host
