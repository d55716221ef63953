"""Plugins found, loaded and registered: the broken ones isolated, and what each registers kept by kind and name.

pluggy's own loader stops at the first plugin that fails to import. This one loads each entry point of
group `transload` by itself, keeps the error of one that fails (with its distribution's name and
version) and goes on; `transload plugins` shows it. What a plugin registers is looked at at once
(`transload.registration`). `TRANSLOAD_PLUGINS` narrows what loads: a comma list of entry-point names, or names with `-` in front
of those to leave out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, Coroutine, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any
from weakref import ReferenceType, ref

import pluggy

from . import hookspecs
from .errors import Finding, PluginError, UsageError
from .facts import FactKind, FactMap, Facts, Given, need_kind
from .forks import thread_lock
from .guard import FOREIGN, OwnPlugin, PluginInfo, process_kept, said
from .installed import ENTRIES, installed, named
from .interrupts import is_interrupt
from .plugin import Conversion, DialectSpec
from .registration import KINDS, Register, admit, parts_taken, singular, wrong_facts, wrong_hooks
from .suggest import nearest

if TYPE_CHECKING:
    from importlib.metadata import Distribution

    from .context import Declarations
    from .ir.declare import Dialect

__all__ = ["PluginRegistry"]

GROUP = "transload"
FOUNDATION = "transload.foundation"
"""Group of the plugins that others stand on (the hub): `TRANSLOAD_PLUGINS` leaves none of them out."""
CORE = "transload.builtin_plugin"


@dataclass(frozen=True)
class _Plugin:
    """A plugin that is loaded: the object with its hooks."""

    info: PluginInfo
    hooks: Any


class PluginRegistry:
    """Loads plugins, and keeps what each registers.

    `points` replaces the installed entry points (for tests); `only` replaces `TRANSLOAD_PLUGINS`. Raises `UsageError` for what is
    no list of entry points, or no text, and where that names plugins which are not installed.
    """

    def __init__(self, points: list[EntryPoint] | None = None, only: str | None = None) -> None:
        if points is not None and not (
                isinstance(points, list | tuple) and all(map(_is_entry_point, points))):
            raise UsageError(f"Host() takes a list of importlib.metadata.EntryPoint, and was given {points!r:.100}",
                             hint="an object with hooks: Host().register(plugin)")
        if not isinstance(only, str | None):
            raise UsageError(f"Host() takes a text as only, and was given {only!r:.100}", hint='as only="acme,-other"')
        self.manager = pluggy.PluginManager("transload")
        self.manager.add_hookspecs(hookspecs)
        self.plugins: list[PluginInfo] = []
        """Every plugin that was found, whatever became of it."""
        self._loaded: list[_Plugin] = []
        self._foundation: list[PluginInfo] = []
        """Those that others stand on."""
        self._registered: list[PluginInfo] = []
        """Those that `register` added."""
        self._dialects: dict[str, Dialect] = {}
        self._fact_maps: dict[str, FactMap] = {}
        self._given_facts: tuple[dict[str, FactKind], list[Given]] | None = None
        self._tables: dict[str, Any] = {}
        self._in_role: dict[str, DialectSpec] = {}
        self._collected: dict[str, dict[str, Any]] = {}
        self._owners: dict[tuple[str, str], PluginInfo] = {}
        self._watchers: list[ReferenceType[Declarations]] = []
        self._asked = ""
        """The hook that is being called, and whose it is."""
        self._lock = thread_lock()
        self._are_all = points is None
        foundation, _ = installed(FOUNDATION)
        found, unreadable = installed(GROUP) if points is None else (points, {})
        self._load(foundation, found, unreadable, only)

    def __repr__(self) -> str:
        counts = {
            "loaded": len(self._loaded), "failed": sum(info.error is not None for info in self.plugins),
            "left out": sum(info.skipped for info in self.plugins)}
        return f"<host of plugins: {', '.join(f'{count} {what}' for what, count in counts.items() if count) or 'none'}>"

    @property
    def is_complete(self) -> bool:
        """Whether all plugins that are installed are there, and none failed: a name that nobody has is a mistake then."""
        return self._are_all and not any(info.skipped or info.errors for info in self.plugins)

    # --- loading

    def _load(
        self, foundation: list[EntryPoint], points: list[EntryPoint], unreadable: Mapping[Distribution, Exception],
        only: str | None,
    ) -> None:
        asked = os.environ.get("TRANSLOAD_PLUGINS", "") if only is None else only
        source = "TRANSLOAD_PLUGINS" if only is None else "only="
        wanted = [name.strip() for name in asked.split(",") if name.strip()]
        keep = {name for name in wanted if not name.startswith("-")}
        drop = {name[1:].strip() for name in wanted if name.startswith("-")} - {""}

        def is_left_out(name: str) -> bool:
            return bool(keep and name not in keep) or name in drop

        for point in [EntryPoint("core", CORE, FOUNDATION), *sorted([*foundation, *points], key=_order)]:
            info = _info_of(point)
            same = next((other for other in self.plugins if other.name == info.name), None)
            if same is not None and (same.distribution, same.module) == (info.distribution, info.module):
                continue  # the same distribution found twice on sys.path
            self.plugins.append(info)
            if point.group == FOUNDATION:
                self._foundation.append(info)
            elif is_left_out(point.name):
                info.skipped = True
                continue
            if same is not None:
                info.blame(f"{same} has this name already and is loaded instead; leave one of the two distributions out")
            else:
                self._load_one(point, info)
        for distribution, error in unreadable.items():
            name, version = named(distribution)
            info = PluginInfo(name, name, version, ENTRIES, skipped=is_left_out(name))
            self.plugins.append(info)
            if not info.skipped:
                info.blame(f"its {ENTRIES} does not read: {said(error)}")
        unknown = (keep | drop) - {info.name for info in self.plugins}
        if unknown:
            raise UsageError(
                f"{source} names plugins that are not installed: {', '.join(sorted(unknown))}",
                hint=f"installed: {', '.join(info.name for info in self.plugins)}",
            )

    def _load_one(self, point: EntryPoint, info: PluginInfo) -> None:
        """Import a plugin; one that is broken is reported and stops nobody else."""
        plugin: Any = None
        if EntryPoint.pattern.match(point.value) is None:
            info.blame(f"its entry point, {point.value!r}, names no module: it is written package.module, or package.module:name")
            return
        try:
            with _kept_by(info):
                plugin = point.load()
        except FOREIGN as error:
            if is_interrupt(error):
                _note_loading(error, info)
                raise
            info.blame_for("", error)
        if _is_being_imported(info.module):  # its hooks are not there yet, nor what the entry point names
            info.errors, info.trace = [], ""
            info.blame("it asks for plugins while it is imported itself: transload.host(), load() and the like go in a function")
        if info.error is not None:
            return
        for problem in wrong_hooks(plugin, info, self.manager):
            info.blame(problem)
        if info.error is None:
            self._loaded.append(_Plugin(info, plugin))

    def register(self, plugin: Any, name: str | None = None, *, replace: bool = False) -> PluginInfo:
        """Add a plugin that no package brings: a module, or any object with hooks.

            class Mine:
                @hookimpl
                def register_metrics(self, register):
                    register(Metric("mean", mean_difference))

            transload.host().register(Mine())

        With `replace`, one that was registered under its name before goes, so that a cell of a notebook can be run again.
        Raises `PluginError` with everything that is wrong with it; then nothing of it is added, and nothing goes. Likewise within
        a hook, where what there is, is being asked for.
        """
        if plugin is None or not isinstance(name, str | None):
            wrong, wanted = (plugin, "a plugin") if plugin is None else (name, "a text as its name=")
            raise UsageError(f"register() takes {wanted}, and was given {wrong!r:.100}",
                             hint="a plugin is a module, or any object with hooks (`transload.hookimpl`)")
        own = _of(plugin, "__name__")
        label = name or own or type(plugin).__name__
        info = OwnPlugin(label, "", "", str(own or _of(type(plugin), "__module__")))
        with self._lock:
            self._need_no_hook(f"register {label!r}")
            if not replace and any(other.name == label for other in self.plugins):
                raise PluginError(f"a plugin is called {label!r} already", hint=(
                    "replace=True puts this one in its place"
                    if self._own(label) is not None else "give another name="))
            self._exchange(_Plugin(info, plugin), self._need_own(label) if replace else None)
        return info

    def unregister(self, name: str) -> None:
        """Leave out a plugin that `register` added. Raises `UsageError` where none is called so, or it is a package's."""
        with self._lock:
            self._need_no_hook(f"leave out {name!r}")
            old = self._need_own(name)
            if old is None:
                there = ", ".join(info.name for info in self._registered)
                raise UsageError(f"no plugin is called {name!r}", hint=f"those that register() added: {there or 'none'}")
            self._exchange(None, old)

    def _need_no_hook(self, what: str) -> None:
        """`PluginError` within a hook: what is there is being asked for, and what would be added meanwhile is lost."""
        if self._asked:
            raise PluginError(
                f"{self._asked} cannot {what}: it is called to say what its own plugin registers",
                hint="it registers by the function `register` that it is given; another plugin is registered before, or after")

    def _own(self, name: str) -> _Plugin | None:
        """The plugin of that name which `register` added."""
        return next((each for each in self._loaded if each.info.name == name and any(
            each.info is info for info in self._registered)), None)

    def _need_own(self, name: str) -> _Plugin | None:
        """The same; `UsageError` for one that a package brings."""
        own = self._own(name)
        if own is None and (other := next((each for each in self.plugins if each.name == name), None)) is not None:
            leaves = "nothing leaves out what others stand on" if other in self._foundation else f"{other.leaving} leaves it out"
            raise UsageError(f"{other} is of a package, which brings it anew in every process",
                             hint=f"{leaves}; give another name=")
        return own

    def _exchange(self, new: _Plugin | None, old: _Plugin | None) -> None:
        """Have a plugin, and another no more. Whoever reads on in another thread has tables of before, which nobody changes."""
        self.everything()
        gone = old.info if old is not None else None
        owners = {key: info for key, info in self._owners.items() if info is not gone}
        collected = {
            kind: {name: item for name, item in items.items() if gone is None or self._owners.get((kind, name)) is not gone}
            for kind, items in self._collected.items()}
        kinds = {name: kind for name, kind in self._facts[0].items()
                 if gone is None or name not in gone.registered.get("kinds of facts", ())}
        tables = [given for given in self._facts[1] if gone is None or given.info is not gone]
        if old is not None:
            self.manager.unregister(old.hooks)
        try:
            if new is not None:
                tables = [*tables, *self._add(new, collected, kinds)]
                owners.update(((kind, name), new.info) for kind in KINDS for name in new.info.registered.get(kind, ()))
            self._need_extended(collected["conversions"], gone)
        except PluginError:
            if new is not None and self.manager.get_plugin(f":{new.info.name}") is new.hooks:
                self.manager.unregister(new.hooks)
            if old is not None:
                self.manager.register(old.hooks, f":{old.info.name}")
            raise
        more = [] if new is None else [new]
        self.plugins = [*(each for each in self.plugins if each is not gone), *(each.info for each in more)]
        self._loaded = [*(each for each in self._loaded if each is not old), *more]
        self._registered = [*(each for each in self._registered if each is not gone), *(each.info for each in more)]
        self._dialects = {name: made for name, made in self._dialects.items() if self._owners.get(("dialects", name)) is not gone}
        self._collected, self._owners, self._given_facts = collected, owners, (kinds, tables)
        self.__dict__.update(collected)
        self.forget()

    def _add(self, plugin: _Plugin, collected: dict[str, dict[str, Any]], kinds: dict[str, FactKind]) -> list[Given]:
        """Enter what a plugin registers; the tables of facts that it gives. `PluginError` says all that is wrong with it."""
        info = plugin.info
        for problem in wrong_hooks(plugin.hooks, info, self.manager):
            info.blame(problem)
        more: list[Given] = []
        if info.error is None:
            added = {kind: self._ask(plugin, kind, collected[kind]) for kind in KINDS}
            more = self._ask_facts([plugin], kinds)
            new = added["conversions"]
            for _, why in _wrong_extensions(new, {**collected["conversions"], **new}):
                info.blame(f"register_conversions: {why}")
            for kind in ("dialects", "targets"):
                for _, why in parts_taken(kind, added[kind], collected[kind]):
                    info.blame(f"register_{kind}: {why}")
            for kind, items in added.items():
                collected[kind].update(items)
            if info.error is None and not info.registered:
                info.blame("it registers nothing")
        if info.error is not None:
            raise PluginError(f"{info} cannot be registered", [Finding(info.name, why) for why in info.errors])
        return more

    def _need_extended(self, conversions: Mapping[str, Conversion], gone: PluginInfo | None) -> None:
        """`PluginError` where a plugin that goes leaves others that extend what it registered."""
        left = [Finding(str(self._owners.get(("conversions", name))), why)
                for name, why in _wrong_extensions(conversions, conversions)]
        if gone is not None and left:
            raise PluginError(f"{gone} cannot go: others extend what it registered", left, hint="leave those out first")

    def forget(self) -> None:
        """Look up anew what was made of tables: there are other plugins, or a table that was read has more in it."""
        with self._lock:
            self._tables, self._in_role, self._fact_maps = {}, {}, {}
            for watcher in self._watchers:
                declarations = watcher()
                if declarations is not None:
                    declarations.forget()

    def watch(self, declarations: Declarations) -> None:
        """Tell these declarations when a plugin is added."""
        with self._lock:
            self._watchers = [each for each in self._watchers if each() is not None]
            self._watchers.append(ref(declarations))

    # --- what plugins register

    def _collect(self, kind: str) -> dict[str, Any]:
        """What plugins register by a hook, keyed by name; the hook is called once, whoever asks in how many threads."""
        with self._lock:
            if kind not in self._collected:
                collected: dict[str, Any] = {}
                for plugin in self._loaded:
                    items = self._ask(plugin, kind, collected)
                    collected.update(items)
                    self._owners.update(((kind, name), plugin.info) for name in items)
                ours = {name: item for name, item in collected.items() if self._owners[kind, name].is_ours}
                for name, why in parts_taken(kind, collected, ours):
                    del collected[name]
                    self._owners.pop((kind, name)).blame(f"register_{kind}: {why}")
                if kind == "conversions":
                    self._leave_out_unextended(collected)
                self._collected[kind] = collected
            return self._collected[kind]

    def _leave_out_unextended(self, conversions: dict[str, Any]) -> None:
        """Leave out conversions that extend what is not there."""
        complete = not any(info.skipped or info.errors for info in self.plugins)  # else it is no fault of its own
        for name, why in _wrong_extensions(conversions, conversions):
            del conversions[name]
            if complete:
                self._owners["conversions", name].blame(f"register_conversions: {why}")

    def _ask(self, plugin: _Plugin, kind: str, there: Mapping[str, Any]) -> dict[str, Any]:
        """Call one hook of one plugin; what it registers and is in order, by name. What is not is noted down, all of it."""
        hook, info = f"register_{kind}", plugin.info
        mine: dict[str, Any] = {}
        given, is_whole = self._called(plugin, hook)
        for item in given:
            name, admitted, problems = admit(kind, item, info)
            if not problems and (name in there or name in mine):
                owner = info if name in mine else self._owners.get((kind, name))
                by = f" by {owner}, too" if owner is not None and owner is not info else ""
                problems = [f"{singular(kind)} {name!r} is registered twice{by}; the first one stays"]
            for problem in problems:
                info.blame(f"{hook}: {problem}")
            if not problems and is_whole:
                mine[name] = admitted
        if mine:
            info.registered[kind] = list(mine)
        return mine

    def _called(self, plugin: _Plugin, hook: str) -> tuple[list[Any], bool]:
        """What a plugin registers by a hook, and whether that is all; it is not where the hook fails, which is noted down."""
        register = Register(plugin.info, hook)
        before, self._asked = self._asked, f"{hook} of {plugin.info}"
        try:
            call = getattr(plugin.hooks, hook, None)
            if call is None or getattr(call, "transload_impl", None) is None:
                return [], True
            with _kept_by(plugin.info):
                wrong = self._not_run(call(register))
        except FOREIGN as error:
            if is_interrupt(error):
                _note_loading(error, plugin.info)
                raise
            plugin.info.blame_for(hook, error)
            return register.given, False
        finally:
            register.is_over, self._asked = True, before
        if wrong is not None:
            plugin.info.blame(f"{hook}: {wrong}")
        return register.given, wrong is None

    @staticmethod
    def _not_run(outcome: Any) -> str | None:
        """What is wrong with a hook whose body has not run when it returns; what it gave is closed."""
        if not isinstance(outcome, Generator | Coroutine | AsyncGenerator):
            return None
        if not isinstance(outcome, AsyncGenerator):
            outcome.close()
        form = "is a generator function (it has a yield)" if isinstance(outcome, Generator) else "is written with `async def`"
        return f"{form}, and calling it registers nothing: write a plain function"

    @property
    def _facts(self) -> tuple[dict[str, FactKind], list[Given]]:
        """The kinds of facts, and the tables that are registered."""
        with self._lock:
            if self._given_facts is None:
                kinds: dict[str, FactKind] = {}
                tables = self._ask_facts(self._loaded, kinds)
                self._given_facts = kinds, tables
            return self._given_facts

    def _ask_facts(self, plugins: Iterable[_Plugin], kinds: dict[str, FactKind]) -> list[Given]:
        """Call the hook for facts: the tables. Kinds are added to `kinds`; a table of a kind that is not there is an error."""
        given: list[tuple[PluginInfo, Facts]] = []
        for plugin in plugins:
            info = plugin.info
            items, is_whole = self._called(plugin, "register_facts")
            for item in items:
                problems = wrong_facts(item)
                if not problems and isinstance(item, FactKind) and item.name in kinds:
                    problems = [f"the kind {item.name!r} is declared twice; the first one stays"]
                for problem in problems:
                    info.blame(f"register_facts: {problem}")
                if problems or not is_whole:
                    continue
                if isinstance(item, FactKind):
                    kinds[item.name] = item
                    info.registered.setdefault("kinds of facts", []).append(item.name)
                else:
                    given.append((info, item))
        tables = []
        for info, item in given:
            try:
                need_kind(item.kind, kinds)
            except UsageError as error:
                info.blame(f"register_facts: {error.message} ({error.hint})")
                continue
            tables.append(Given(item, info.label, info))
            info.registered.setdefault("facts", []).append(f"{item.kind} of {item.dialect}")
        return tables

    def everything(self) -> None:
        """Call every hook, so that `plugins` is complete."""
        for kind in (*KINDS, "fact_kinds"):
            getattr(self, kind)
        for plugin in self._loaded:
            if plugin.info.error is None and not plugin.info.registered:
                plugin.info.blame("it registers nothing")


def _wrong_extensions(conversions: Mapping[str, Conversion], there: Mapping[str, Conversion]) -> list[tuple[str, str]]:
    """Of conversions those that extend what is not there, extends another itself, or leads elsewhere: name and reason."""
    wrong = []
    for name, conversion in conversions.items():
        extended = there.get(conversion.extends) if conversion.extends is not None else None
        if conversion.extends is not None and (extended is None or extended.extends is not None):
            guess = nearest(conversion.extends, [each for each in there if there[each].extends is None])
            why = "extends another itself" if extended is not None else "is not registered"
            wrong.append((name, f"conversion {name!r} extends {conversion.extends!r}, which {why}"
                          + (f"; did you mean {guess!r}?" if guess else "")))
        elif extended is not None and extended.target != conversion.target:
            wrong.append((name, f"conversion {name!r} is to {conversion.target!r}, and extends {conversion.extends!r}, which is "
                          f"to {extended.target!r}"))
    return wrong


def _order(point: EntryPoint) -> tuple[bool, bool, str, str]:
    """Ours before all others, so that nobody takes the place of one, or of what it registers; then by name and distribution."""
    info = _info_of(point)
    return not info.is_ours, point.group != FOUNDATION, info.name, info.distribution


def _is_entry_point(point: Any) -> bool:
    """Whether an object is an entry point: Python's own, or, once that is imported, the package importlib_metadata's."""
    return all(isinstance(getattr(point, name, None), str) for name in ("name", "value", "group")) and hasattr(point, "load")


def _is_being_imported(reference: str) -> bool:
    """Whether the module that an entry point names is in the middle of its import, further up in this very thread."""
    spec = _of(sys.modules.get(reference.partition(":")[0].strip()), "__spec__")
    return bool(getattr(spec, "_initializing", False))


def _of(plugin: Any, member: str) -> Any:
    """A member of a plugin; None where it has none, or fails to say it, which `wrong_hooks` tells."""
    try:
        return getattr(plugin, member, None)
    except FOREIGN as error:
        if is_interrupt(error):
            raise
        return None


def _info_of(point: EntryPoint) -> PluginInfo:
    distribution = getattr(point, "dist", None)
    if distribution is not None:
        return PluginInfo(point.name, *named(distribution), point.value)
    return PluginInfo(point.name, "transload" if point.value == CORE else "", "", point.value)


def _kept_by(info: PluginInfo) -> AbstractContextManager[None]:
    """What keeps the process as it is while a plugin is loaded, or registers: one of ours leaves it so itself."""
    return nullcontext() if info.is_ours else process_kept(streams=True)


def _note_loading(error: BaseException, info: PluginInfo) -> None:
    """Note at Ctrl-C, or what a plugin raises as if it were that, during what it came."""
    with suppress(Exception):  # of a class of the plugin's own
        error.__notes__ = [*getattr(error, "__notes__", ()), (
            f"and plugin {info.name!r} was being loaded (`TRANSLOAD_PLUGINS=-{info.name}` leaves it out)")]
