"""What a plugin registers, looked at as it is registered: types, names, and the text that names code.

    checked, problems = admit("targets", item, info)

Every problem of an object is found at once, before anything of it is used. What is admitted stands behind the plugin's guard
(`transload.guard`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pluggy

from . import hookspecs
from .errors import PluginError, written
from .facts import FactKind, Facts
from .fields import tuples_of, wrong_fields
from .guard import FOREIGN, Guarded, GuardedObject, PluginInfo, Reference, imported, said
from .interrupts import is_interrupt
from .options import required
from .outcomes import (
    KEEPS,
    LENDS,
    LETS,
    MAKERS,
    READS,
    TARGET_KEEPS,
    TARGET_LENDS,
    TARGET_LETS,
    TARGET_READS,
    TARGET_TAKES,
    a_kind,
    taken,
    wrong_options,
)
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
)
from .suggest import nearest

__all__ = ["KINDS", "OUR_COMMANDS", "Register", "admit", "parts_taken", "singular", "wrong_facts", "wrong_hooks"]

KINDS: dict[str, type] = {
    "dialects": DialectSpec, "readers": Reader, "writers": Writer, "conversions": Conversion, "passes": Pass, "engines": Engine,
    "runtimes": Runtime, "quantizers": Quantizer, "calibrators": Calibrator, "targets": Target, "metrics": Metric,
    "scores": Score, "commands": tuple, "formats": ForeignFormat,
}
"""The hooks, `register_` left out, and the class of what each takes."""

_NAME = re.compile(r"[A-Za-z0-9_][\w.+-]*", re.ASCII)
OUR_COMMANDS = frozenset({
    "compare", "completion", "convert", "coverage", "eval", "extract", "gen-input", "inspect", "new-plugin", "npz", "ops",
    "opt", "passes", "plugins", "run", "targets",
})
"""The commands that a plugin's cannot take the place of: those of `transload.cli.app`."""
_SUFFIX = re.compile(r"(\.[^./\\]+)+")
_EVIDENCE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[^:]+", re.ASCII)
_REFERENCE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


class Register:
    """What a hook is given to register things with, for as long as it runs."""

    def __init__(self, info: PluginInfo, hook: str) -> None:
        self.info, self.hook = info, hook
        self.given: list[Any] = []
        self.is_over = False

    def __call__(self, item: Any) -> None:
        if self.is_over:
            raise PluginError(f"{self.info}: {self.hook} is over, and what it was given registers nothing any more",
                              hint="transload.host().register(plugin) adds more, later")
        self.given.append(item)


def singular(kind: str) -> str:
    """"target" of "targets"."""
    return "pass" if kind == "passes" else kind.removesuffix("s")


def admit(kind: str, item: Any, plugin: PluginInfo) -> tuple[str, Any, list[str]]:
    """The name of a registered object, the object behind its plugin's guard, and everything that is wrong with it.

    Nothing may be wrong with what is used; the name is there for the message even where something is.
    """
    try:
        return _admitted(kind, item, plugin)
    except FOREIGN as error:  # a property of its own, say
        if is_interrupt(error):
            raise
        return "", item, [f"gives {a_kind(item)} that cannot be looked at: {said(error)}"]


def _admitted(kind: str, item: Any, plugin: PluginInfo) -> tuple[str, Any, list[str]]:
    if kind == "commands":
        return _admit_command(item)
    if kind == "targets":
        return _admit_target(item, plugin)
    wanted: type[Any] = KINDS[kind]
    if not isinstance(item, wanted):
        return "", item, [f"gives {a_kind(item)}, where a {wanted.__name__} is wanted"]
    problems = _Problems(singular(kind), item)
    problems.name("name")
    _CHECKS[kind](problems, item)
    problems.fields(wanted)
    if problems.found:
        return _name_for_messages(item.name), item, problems.found
    place = f"{singular(kind)} {item.name!r}"
    code = {
        member: Guarded(
            value, plugin, f"{place} ({member})", lets=LETS.get((kind, member), ()), takes=taken(kind, member, item),
            reads=READS.get((kind, member)), makes=MAKERS.get((kind, member)), lends=LENDS.get((kind, member)),
            keeps=KEEPS.get((kind, member)))
        for member in _CODE.get(kind, ()) if (value := getattr(item, member)) is not None}
    data = {
        member: Reference(value, plugin, f"{place} ({member})")
        for member in _DATA.get(kind, ()) if isinstance(value := getattr(item, member), str)}
    return item.name, replace(item, **tuples_of(item, wanted), **code, **data), []


def _name_for_messages(name: Any) -> str:
    """The name of what is registered, which may be none."""
    return str.__str__(name) if isinstance(name, str) else written(name)


class _Problems:
    """What is wrong with one object."""

    def __init__(self, kind: str, item: Any) -> None:
        self.kind = kind
        self.item = item
        self.found: list[str] = []
        self.told: set[str] = set()
        """The members of which something is said already."""

    def add(self, why: str, *members: str) -> None:
        self.told.update(members)
        name = getattr(self.item, "name", None)
        self.found.append(f"{self.kind} {name!r}: {why}" if isinstance(name, str) and name else f"a {self.kind}: {why}")

    def fields(self, of: type) -> None:
        """All members of the class `of` by their annotations, but for those of which more is said."""
        for member, wanted in wrong_fields(self.item, of):
            if member not in self.told:
                self.add(f"{member} must be {wanted}, and is {written(getattr(self.item, member)):.100}", member)

    def name(self, member: str, optional: bool = False) -> None:
        value = getattr(self.item, member)
        if not (value is None and optional) and not (isinstance(value, str) and _NAME.fullmatch(value)):
            self.add(f"{member} must be letters, digits and . _ + -, and is {written(value):.100}", member)

    def code(self, *members: str, optional: bool = False) -> None:
        """Members that are a function, or text that names one."""
        for member in members:
            value = getattr(self.item, member)
            if value is None and optional:
                continue
            if isinstance(value, str):
                self.reference(member, value)
            elif not callable(value):
                self.add(f'{member} must be a function, or "package.module:name", and is {a_kind(value)}', member)

    def data(self, member: str, wanted: str, optional: bool = True, made: bool = False) -> None:
        """A member that is an object of a class, which text names (it is imported where it matters), or text that names one.

        With `made`, it may be a function that makes one, too.
        """
        value = getattr(self.item, member)
        if (value is None and optional) or (made and callable(value)):
            return
        if isinstance(value, str):
            self.reference(member, value)
        elif value is None or not isinstance(value, imported(wanted)):
            name = wanted.partition(":")[2]
            self.add(f'{member} must be a {name}, or "package.module:name", and is {a_kind(value)}', member)

    def facts(self, member: str, optional: bool = True) -> None:
        """A member that says something of ops: a dictionary, an object that has one as `facts`, or text that names such."""
        value = getattr(self.item, member)
        if (value is None and optional) or isinstance(getattr(value, "facts", value), Mapping):
            return
        if isinstance(value, str):
            self.reference(member, value)
        else:
            self.add(f'{member} must be a dictionary by names of ops, a FactTable or the like, or "package.module:name", and is '
                     f"{a_kind(value)}", member)

    def reference(self, member: str, value: str) -> None:
        if not _REFERENCE.fullmatch(value):
            self.add(f'{member} must be "package.module:name", and is {written(value):.100}', member)

    def text(self, *members: str) -> None:
        for member in members:
            if not isinstance(getattr(self.item, member), str):
                self.add(f"{member} must be text, and is {a_kind(getattr(self.item, member))}", member)

    def texts(self, member: str, starting: str = "", least: int = 0) -> None:
        """A member that is a tuple of texts."""
        value = getattr(self.item, member)
        if not isinstance(value, tuple | list) or not all(isinstance(part, str) and part.startswith(starting) for part in value):
            each = f" that start with {starting!r}" if starting else ""
            self.add(f"{member} must be a tuple of texts{each}, and is {written(value):.100}", member)
        elif len(value) < least:
            self.add(f"{member} must name at least one", member)

    def suffixes(self) -> None:
        """Suffixes of files, which are compared with names in lower case."""
        self.texts("suffixes", starting=".")
        value = self.item.suffixes
        for each in value if isinstance(value, tuple | list) else ():
            if isinstance(each, str) and each != each.lower():
                self.add(f"suffixes are written in lower case, whatever a file's is, and one is {each!r}", "suffixes")
            elif isinstance(each, str) and each.startswith(".") and not _SUFFIX.fullmatch(each):
                self.add(f"suffixes are a point and what comes after it, and one is {each!r}", "suffixes")

    def options(self, declared: Any) -> None:
        """Options: name -> (type, default, what it does)."""
        wrong = wrong_options(declared)
        if wrong is not None:
            self.add(wrong, "options")

    def classes(self, member: str, *others: Any) -> None:
        """A member that is a class, several, or text that names what is looked for; None; `others` may be among several."""
        value = getattr(self.item, member)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, str):
                self.reference(member, each)
            elif each is not None and not isinstance(each, type) and each not in others:
                self.add(f'{member} must be a class, several in a tuple, or "package.module:name", and is {written(value):.100}',
                         member)

    def better(self) -> None:
        if self.item.better not in ("lower", "higher"):
            self.add(f"better must be 'lower' or 'higher', and is {written(self.item.better):.100}", "better")


def _dialect(problems: _Problems, item: DialectSpec) -> None:
    problems.data("load", "transload.ir.declare:Dialect", optional=False, made=True)
    problems.data("kernels", "transload.plugin:KernelTable")
    problems.facts("canonicalize")
    problems.name("role", optional=True)


def _file_format(problems: _Problems, item: Reader | Writer) -> None:
    problems.name("dialect")
    problems.suffixes()


def _reader(problems: _Problems, item: Reader) -> None:
    _file_format(problems, item)
    problems.code("read")
    problems.code("detect", "warm", optional=True)


def _foreign(problems: _Problems, item: ForeignFormat) -> None:
    problems.suffixes()
    problems.code("detect", optional=True)
    if not item.suffixes and item.detect is None:
        problems.add("it has neither suffixes nor a function detect", "suffixes", "detect")


def _writer(problems: _Problems, item: Writer) -> None:
    _file_format(problems, item)
    problems.code("write")


def _conversion(problems: _Problems, item: Conversion) -> None:
    problems.name("source")
    problems.name("target")
    problems.name("extends", optional=True)
    problems.code("unfit", "entries", "retype", optional=True)
    problems.data("table", "transload.rewrite:RewriteTable")
    problems.options(item.options)
    is_number = isinstance(item.cost, int | float) and not isinstance(item.cost, bool)
    if not is_number or not 0 <= item.cost <= sys.float_info.max:
        problems.add(f"cost must be a number that is not negative, and is {written(item.cost):.100}", "cost")
    if isinstance(item.evidence, str) and not _EVIDENCE.fullmatch(item.evidence):
        problems.add(f'evidence must be "package:file.json", a file in that package, and is {written(item.evidence):.100}',
                     "evidence")
    if item.extends is not None:
        if item.table is None and not item.options:
            problems.add(f"it extends {written(item.extends):.100} and has no table and no options to add to that one's")
        if item.before or item.after:
            problems.add(f"it extends {written(item.extends):.100}, which alone says what passes run before and after")
    elif item.table is None and not item.before:
        problems.add("it has neither a table nor passes")


def _pass(problems: _Problems, item: Pass) -> None:
    problems.code("run")
    if item.at not in ("", "hub"):
        problems.add(f"at must be 'hub', or empty, and is {written(item.at):.100}", "at")
    if item.at and callable(item.run) and (asked := required(item.run, 1)):
        problems.add(f"with at={written(item.at):.100} it runs as it is, and {', '.join(asked)} has no default")


def _engine(problems: _Problems, item: Engine) -> None:
    problems.code("prepare")
    problems.code("available", optional=True)


def _runtime(problems: _Problems, item: Runtime) -> None:
    problems.name("format")
    problems.code("open", "available")
    problems.code("alternatives", "warm", "undefined", "padded", "rounds_alone", optional=True)
    if item.of_target:
        problems.name("of_target")


def _quantizer(problems: _Problems, item: Quantizer | Calibrator) -> None:
    problems.code("run")


def _metric(problems: _Problems, item: Metric | Score) -> None:
    problems.code("measure")
    problems.better()
    if item.bounds is not None and not _are_bounds(item.bounds):
        problems.add("bounds must be the least and the greatest number that there can be, or None, and are "
                     f"{written(item.bounds):.100}", "bounds")


def _are_bounds(given: Any) -> bool:
    return isinstance(given, tuple | list) and len(given) == 2 and all(
        isinstance(each, int | float) for each in given) and given[0] <= given[1]


def _score(problems: _Problems, item: Score) -> None:
    _metric(problems, item)
    problems.code("total", "available", "least", optional=True)
    problems.texts("needs")
    if isinstance(item.needs, tuple | list) and any(each not in ("label", "reference") for each in item.needs):
        problems.add(f"needs may hold 'label' and 'reference', and is {written(item.needs):.100}", "needs")


_CHECKS: dict[str, Callable[[_Problems, Any], None]] = {
    "dialects": _dialect, "readers": _reader, "writers": _writer, "conversions": _conversion, "passes": _pass, "engines": _engine,
    "runtimes": _runtime, "quantizers": _quantizer, "calibrators": _quantizer, "metrics": _metric, "formats": _foreign,
    "scores": _score,
}
_CODE = {
    "readers": ("read", "detect", "warm"), "writers": ("write",), "conversions": ("unfit", "entries", "retype"),
    "passes": ("run",), "engines": ("prepare", "available"),
    "runtimes": ("open", "available", "alternatives", "warm", "undefined", "padded", "rounds_alone"), "quantizers": ("run",),
    "calibrators": ("run",), "metrics": ("measure",), "scores": ("measure", "total", "available", "least"),
    "formats": ("detect",),
}
"""Members that are called."""
_DATA = {"dialects": ("load", "kernels", "canonicalize"), "conversions": ("table",)}
"""Members that are objects."""
_METHODS = ("options", "check", "emit", "available")
_OPTIONAL_METHODS = ("run", "runs_here", "cannot_run", "takes", "leaves", "summary", "near_enough", "by_hub")
"""Members of a target that are called; `rounds_alone` is, too, where it is no answer itself."""


def _admit_target(item: Any, plugin: PluginInfo) -> tuple[str, Any, list[str]]:
    members = ("name", "doc", "accepts", "pipeline", "options", "check", "emit", "available")
    if isinstance(item, type):
        return "", item, [f"gives the class {item.__name__}, where an object of it is wanted: {item.__name__}()"]
    missing = [member for member in members if not hasattr(item, member)]
    if missing:
        return "", item, [f"gives {a_kind(item)}, which is no Target: it has no {', '.join(missing)}"]
    problems = _Problems("target", item)
    problems.name("name")
    problems.text("doc", "pipeline")
    problems.texts("accepts", least=1)
    for member in ("tolerance", "compiled"):
        if hasattr(item, member):
            problems.texts(member)
    if hasattr(item, "host"):
        problems.text("host")
    for member in ("quantizing", "converting", "hosting"):
        value = getattr(item, member, {})
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            problems.add(f"{member} must be a dictionary of options by name, and is {written(value):.100}")
    for member in ("default", "keeps", "rounds_alone"):
        value = getattr(item, member, False)
        if not isinstance(value, bool) and not (member == "rounds_alone" and callable(value)):
            problems.add(f"{member} must be True or False, and is {written(value):.100}")
    for member in _METHODS:
        if not callable(getattr(item, member)):
            problems.add(f"{member} must be a method, and is {a_kind(getattr(item, member))}")
    if getattr(item.emit, "__func__", None) is Target.emit:
        problems.add("emit is missing: define emit(module, directory, stem, options), which writes the files")
    for member in _OPTIONAL_METHODS:
        value = getattr(item, member, None)
        if value is not None and not callable(value):
            problems.add(f"{member} must be a method, or None, and is {a_kind(value)}")
    if problems.found:
        return _name_for_messages(item.name), item, problems.found
    place = f"target {item.name!r}"
    return item.name, GuardedObject(
        item, plugin, place, TARGET_LETS, TARGET_TAKES, TARGET_READS, TARGET_LENDS, TARGET_KEEPS,
        calls=frozenset((*_METHODS, *_OPTIONAL_METHODS, "rounds_alone"))), []


def parts_taken(kind: str, items: Mapping[str, Any], there: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Of some objects those that play a part which one of those that are `there` before them plays: name and reason.

    One dialect is the hub, and one target is converted for where nobody says which.
    """
    played: dict[str, str] = {}
    wrong = []
    for name, item in [*there.items(), *((name, item) for name, item in items.items() if name not in there)]:
        part = _part_of(kind, item)
        if part and played.setdefault(part, name) != name and name in items:
            wrong.append((name, f"{singular(kind)} {name!r}: {part}, which {singular(kind)} {played[part]!r} is"))
    return wrong


def _part_of(kind: str, item: Any) -> str:
    """The part that an object alone plays, in words; empty where it plays none."""
    if kind == "dialects" and item.role is not None:
        return f"role={item.role!r} is for one dialect"
    return "default=True is for one target" if kind == "targets" and getattr(item, "default", False) else ""


def _admit_command(item: Any) -> tuple[str, Any, list[str]]:
    if not isinstance(item, tuple) or len(item) != 2:
        return "", item, [f"gives {a_kind(item)}, where (name, click.Command) is wanted"]
    name, app = item
    problems = _Problems("command", SimpleNamespace(name=name))
    problems.name("name")
    if name in OUR_COMMANDS:
        problems.add(f"{name!r} is a command of Transload's, and would never run: give it another name")
    if not any(base.__name__ in ("Command", "Typer") for base in type(app).__mro__):
        problems.add(f"{name!r} must be a click.Command or a typer.Typer, and is {a_kind(app)}")
    return _name_for_messages(name), item, problems.found


def wrong_facts(item: Any) -> list[str]:
    """Everything that is wrong with a table of facts, or with a kind of them."""
    try:
        return _wrong_facts(item)
    except FOREIGN as error:  # a name that cannot say what it is
        if is_interrupt(error):
            raise
        return [f"gives {a_kind(item)} that cannot be looked at: {said(error)}"]


def _wrong_facts(item: Any) -> list[str]:
    wanted: type
    if isinstance(item, Facts):
        wanted = Facts
        problems = _Problems("table of facts", item)
        problems.name("kind")
        problems.name("dialect")
        problems.facts("table", optional=False)
    elif isinstance(item, FactKind):
        wanted = FactKind
        problems = _Problems("kind of fact", item)
        problems.name("name")
        problems.classes("type", Callable)
        problems.classes("gives")
    else:
        return [f"gives {a_kind(item)}, where Facts or a FactKind is wanted"]
    problems.fields(wanted)
    return problems.found


# --- hooks


def wrong_hooks(plugin: Any, info: PluginInfo, manager: pluggy.PluginManager) -> list[str]:
    """Everything that is wrong with a plugin's hooks, before any of them is called. Where nothing is, `manager` knows it."""
    hooks = [hook for hook in dir(hookspecs) if hook.startswith("register_")]
    try:
        version = wrong_version(getattr(plugin, "transload_api", hookspecs.API_VERSION))
        marked, failed = _marked(plugin)
    except FOREIGN as error:  # a module's `__getattr__`, say, of what it has not
        if is_interrupt(error):
            raise
        return [f"it cannot be looked at: {said(error)}; a __getattr__ raises AttributeError of what is not there"]
    problems = [] if version is None else [version]
    problems += [f"{member} cannot be looked at: {why}" for member, why in failed.items() if member in hooks]
    problems += [
        f"{member} is no hook of Transload; did you mean {nearest(member, hooks) or ', '.join(hooks)}?"
        for member in marked if member not in hooks]
    if not marked and not failed.keys() & set(hooks):
        problems.append("it has no hooks: mark functions called register_targets and the like with @transload.hookimpl")
    if not problems:
        name = f"{info.distribution}:{info.name}"
        try:
            if (known := manager.get_name(plugin)) is not None:
                return [f"it is registered already, as {known.rpartition(':')[2]!r}"]
            manager.register(plugin, name)
        except FOREIGN as error:  # pluggy's of a hook, what a property of its own raises
            if is_interrupt(error):
                raise
            problems.append(" ".join((str(error) if isinstance(error, pluggy.PluginValidationError) else said(error)).split()))
            if manager.has_plugin(name):
                manager.unregister(name=name)
    return problems


def _marked(plugin: Any) -> tuple[list[str], dict[str, str]]:
    """The members of a plugin that are marked as hooks; of those that raise something when they are asked for, what that is."""
    marked, failed = [], {}
    for member in dir(plugin):
        try:
            if getattr(getattr(plugin, member, None), "transload_impl", None) is not None:
                marked.append(member)
        except FOREIGN as error:  # an array's `mT`, say
            if is_interrupt(error):
                raise
            failed[member] = said(error)
    return marked, failed


def wrong_version(asked: Any) -> str | None:
    """Why a plugin that asks for a version of the interface cannot have it, or None."""
    there = hookspecs.API_VERSION
    parts = asked.split(".") if isinstance(asked, str) else []
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() for part in parts):
        return f'transload_api must be text as "{there}", and is {written(asked):.100}'
    major, minor = (int(part) for part in there.split("."))
    if int(parts[0]) == major and int(parts[1]) <= minor:
        return None
    newer = (int(parts[0]), int(parts[1])) > (major, minor)
    return f"it asks for version {asked} of the plugin interface, and this is {there}: " + (
        "a newer Transload is needed" if newer else "a newer version of the plugin is needed")
