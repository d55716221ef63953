"""Calls into plugins: what a plugin raises that is no error of ours is told with the plugin's name, and where it was.

Whatever a plugin registers is kept behind a guard: `Guarded` for a function, `GuardedObject` for an object with methods,
`Reference` for text that names code. So every call is guarded, whoever makes it, and costs a `try` more. Rewrites and kernels,
which are called in loops, stand in tables as they are; the loops have one `try` around them, and name what failed by
`rule_failed` and `kernel_failed`.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from inspect import unwrap
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any

from .classes import is_a
from .context import current
from .errors import (
    BuildError,
    ConversionError,
    Finding,
    PluginFailure,
    PluginShortage,
    TransloadError,
    Unsupported,
    class_name,
    shortened,
    unwhole,
)
from .files import current_directory, mask_of_process
from .importing import Imports
from .interrupts import TRACEBACK, is_interrupt
from .lending import owned
from .shortage import MEMORY, MORE, shortage
from .streams import Streams

if TYPE_CHECKING:
    from .ir.core import Op

__all__ = [
    "DEBUG", "FOREIGN", "OURS", "Guarded", "GuardedObject", "PluginInfo", "Reference", "failure", "goes_through", "imported",
    "is_debugged", "is_meant", "is_whole", "kernel_failed", "looked_at", "noted", "process_kept", "rule_failed", "rule_told",
    "said", "shape_rule_failed", "tracebacks_shown", "users_code", "users_items",
]

DEBUG = "TRANSLOAD_DEBUG"
"""Environment variable that shows tracebacks, unless it is empty or 0."""
OURS = (TransloadError, KeyboardInterrupt)
"""What goes through as it is, where it is whole (`goes_through`): what a plugin raises to say something. `failure` tells all
else, and what is no fault of its."""
_IMPORTS = ("importlib", "_frozen_importlib", "_frozen_importlib_external")
"""Packages of Python that import others: no plugin has a line there."""
_OF_NO_FILE = (
    ChildProcessError, ConnectionAbortedError, ConnectionRefusedError, ConnectionResetError, ProcessLookupError, TimeoutError)
"""What the system says of others than files and pipes, though it is an `OSError`."""
_END = object()
NOTHING: Mapping[str, Any] = MappingProxyType({})
_are_shown: ContextVar[bool] = ContextVar("transload.tracebacks", default=False)
_OF_USER = "_transload_is_of_user"
"""What an exception of the user's own code is marked by."""
FOREIGN = BaseException
"""What nobody meant to be seen: a defect of the plugin, of whatever class it is (`asyncio.CancelledError`, one of its own). Who
catches it asks `goes_through` first: Ctrl-C does, and what a signal's handler raised."""


def is_whole(error: BaseException) -> bool:
    """Whether who catches an error finds in it what its class says: one of a plugin's own class may leave its base out."""
    return not is_a(error, (TransloadError, Unsupported)) or not unwhole(error)  # type: ignore[arg-type]


def goes_through(error: BaseException, whose: PluginInfo | Callable[..., Any] | None = None) -> bool:
    """Whether what a plugin raised goes through as it is: it is of `OURS`, and whole; or a signal came while it was at work.

    A `PluginFailure` that names no plugin does not, where another's plugin, or a function of one, is known that raised it.
    """
    if not is_a(error, OURS):
        return is_interrupt(error)
    return is_whole(error) and not (
        whose is not None and is_a(error, PluginFailure) and getattr(error, "plugin", None) is None and _is_of_others(whose))


def _is_of_others(whose: PluginInfo | Callable[..., Any]) -> bool:
    owner = whose if isinstance(whose, PluginInfo) else current().host.plugin_of(unwrap(whose))
    return owner is not None and not owner.is_ours


def is_meant(error: BaseException) -> bool:
    """Whether a rule raised an error to say something, or a signal's handler did, and not the rule by being wrong itself."""
    if not is_a(error, (*OURS, Unsupported, MemoryError)):
        return is_interrupt(error)
    return not is_a(error, BuildError) and is_whole(error)


@dataclass
class PluginInfo:
    """A plugin, where it comes from, and what became of it."""

    name: str
    distribution: str
    version: str
    module: str
    errors: list[str] = field(default_factory=list)
    """Everything that is wrong with it."""
    skipped: bool = False
    registered: dict[str, list[str]] = field(default_factory=dict)
    trace: str = ""
    """The traceback of what it raised, where it raised something."""

    def __str__(self) -> str:
        return f"plugin {self.name!r} ({self.origin})"

    @property
    def origin(self) -> str:
        """Its distribution and version."""
        return f"{self.distribution} {self.version}".strip() or "no distribution"

    @property
    def label(self) -> str:
        """Which plugin it is, in messages that say themselves that it is one."""
        return f"{self.name} ({self.origin})"

    def blame(self, why: str) -> None:
        """Note one more thing that is wrong."""
        self.errors.append(why)

    def blame_for(self, place: str, error: BaseException) -> None:
        """Note that it raised something."""
        self.blame(f"{place}: {said(error)}" if place else said(error))
        self.trace += _traced(error)

    @property
    def error(self) -> str | None:
        """Everything that is wrong with it in one text, or None."""
        return "; ".join(self.errors) or None

    @property
    def is_ours(self) -> bool:
        """Whether it comes with Transload."""
        return self.distribution == "transload"

    @property
    def leaving(self) -> str:
        """What a user sets, or calls, to leave it out."""
        return f"TRANSLOAD_PLUGINS=-{self.name}"


class OwnPlugin(PluginInfo):
    """One that a program registered itself (`Host.register`): the environment variable names what is installed alone."""

    @property
    def leaving(self) -> str:
        """The same."""
        return f"transload.host().unregister({self.name!r})"


@contextmanager
def users_code() -> Iterator[None]:
    """What is inside calls the user's own code: what that raises goes to the user as it is, through all calls into plugins."""
    try:
        yield
    except FOREIGN as error:
        if not goes_through(error):
            BaseException.__setattr__(error, _OF_USER, True)
        raise


def users_items(items: Iterable[Any]) -> Iterator[Any]:
    """What a user's iterable gives, one after the other: `users_code` each time."""
    with users_code():
        rest = iter(items)
    while True:
        with users_code():
            item = next(rest, _END)
        if item is _END:
            return
        yield item


def failure(plugin: PluginInfo | None, place: str, error: BaseException) -> PluginFailure:
    """The error for what a plugin raised at a place: which plugin, of what distribution, where, and what to do.

    Of files or processes that the system has no more of, no plugin is named: it is no defect. Raises the user's own error, of
    `users_code`, which is nobody's failure, a `ConversionError` for `Unsupported`, which only those that ask rules take, and a
    `MemoryError` of ours as it is.
    """
    if is_a(error, Unsupported) and is_whole(error) and not _is_of_user(error):
        raise ConversionError(f"{plugin or 'a plugin'}, {place}: {error.why}", hint=error.hint) from error
    return _failure(plugin, place, error)


def _failure(plugin: PluginInfo | None, place: str, error: BaseException) -> PluginFailure:
    """The same of what is not to raise `Unsupported` at all."""
    if _is_of_user(error):
        raise error
    lack = shortage(error)
    if is_a(error, MemoryError) and (plugin is None or plugin.is_ours):
        raise error  # its caller has more to say, or `no_memory`
    if lack == MEMORY:
        return PluginShortage(f"{plugin or 'a plugin'} failed in {place}: {MEMORY}: {said(error)}", hint=MORE, plugin=plugin,
                              place=place)
    if lack is not None:
        return PluginFailure(f"{lack}, in {place}: {said(error)}", hint=MORE, plugin=plugin, place=place)
    hint = f"{DEBUG}=1 shows the traceback; {_whom_to_tell(plugin)}"
    return PluginFailure(f"{plugin or 'a plugin'} failed in {place}: {said(error)}", hint=hint, plugin=plugin, place=place)


def _is_of_user(error: BaseException) -> bool:
    try:
        return BaseException.__getattribute__(error, _OF_USER) is True  # a `__getattr__` of its own says anything, or fails
    except AttributeError:
        return False


def _whom_to_tell(plugin: PluginInfo | None) -> str:
    """What a user can do about a plugin's defect."""
    if plugin is None or plugin.is_ours:
        return "please report it with the model"
    return f"report it to who wrote {plugin.distribution or plugin.name}; {plugin.leaving} leaves it out"


def is_debugged() -> bool:
    """Whether the environment asks for tracebacks."""
    return os.environ.get(DEBUG, "") not in ("", "0")


@contextmanager
def tracebacks_shown(shown: bool) -> Iterator[None]:
    """Have `noted` show tracebacks of what runs inside, as the environment variable `DEBUG` has it everywhere."""
    token = _are_shown.set(shown)
    try:
        yield
    finally:
        _are_shown.reset(token)


def noted(error: PluginFailure) -> str:
    """What is told of a failure that ends nothing; its traceback goes to standard error, where tracebacks are asked for."""
    if _are_shown.get() or is_debugged():
        sys.stderr.write(_traced(error))
    return error.message


def _traced(error: BaseException) -> str:
    """An exception's traceback; where its class does not let itself be named, that of none."""
    try:
        return "".join(traceback.format_exception(error))
    except FOREIGN as raised:
        if is_interrupt(raised):
            raise
        return f"{class_name(error)}\n"


def said(error: BaseException) -> str:
    """An exception in one line, with the place in the code where it was raised."""
    if is_a(error, BuildError) and is_whole(error):
        return error.message  # names the place where the op is built
    last = _place_of(TRACEBACK.__get__(error))
    where = ""
    if last is not None:
        file = last.tb_frame.f_code.co_filename.replace("\\", "/").split("/")
        where = f" ({'/'.join(file[-2:])}:{last.tb_lineno})"
    lacks = unwhole(error) if is_a(error, (TransloadError, Unsupported)) else ""  # type: ignore[arg-type]
    try:
        text = str.__str__(BaseException.__str__(error) if lacks else str(error))
    except FOREIGN as raised:  # an exception of a plugin's own may fail to say what it is
        if is_interrupt(raised):
            raise
        text = ""
    return f"{class_name(error)}{': ' + shortened(text) if text else ''}{where}{lacks}"


def _place_of(first: TracebackType | None) -> TracebackType | None:
    """The innermost place of a traceback; of what Python's own imports raise, that of who asks for them, where it is not we."""
    every: list[TracebackType] = []
    while first is not None:
        every.append(first)
        first = first.tb_next
    names = [each.tb_frame.f_globals.get("__name__", "") or "" for each in every]
    if not names or str(names[-1]).partition(".")[0] not in _IMPORTS:
        return every[-1] if every else None
    outside = [each for each, name in zip(every, names, strict=True) if str(name).partition(".")[0] not in _IMPORTS]
    return outside[-1] if outside and outside[-1].tb_frame.f_globals.get("__package__") != __package__ else None


def imported(text: str, plugin: PluginInfo | None = None, place: str = "") -> Any:
    """The object that `"package.module:name"` names."""
    module_name, _, name = text.partition(":")
    place = f"{place}, {text!r}" if place else repr(text)
    try:
        found: Any = importlib.import_module(module_name)
        for part in name.split("."):
            found = getattr(found, part)
    except FOREIGN as error:
        if goes_through(error):
            raise
        raise failure(plugin, place, error) from error
    return found


class Reference(str):
    """Text that names code, `"package.module:name"`, as a plugin registered it."""

    __slots__ = ("place", "plugin")

    plugin: PluginInfo
    place: str

    def __new__(cls, text: str, plugin: PluginInfo, place: str) -> Reference:
        self = super().__new__(cls, text)
        self.plugin, self.place = plugin, place
        return self

    def load(self) -> Any:
        """The object behind it; `PluginFailure` where there is none."""
        return imported(self, self.plugin, self.place)


@contextmanager
def looked_at(plugin: PluginInfo | None, place: str) -> Iterator[None]:
    """Tell what is raised inside, where something that a plugin gave is looked at, as its failure: it may answer as it likes."""
    try:
        yield
    except FOREIGN as error:
        if goes_through(error, plugin):
            raise
        raise failure(plugin, place, error) from error


@contextmanager
def process_kept(streams: bool = False) -> Iterator[None]:
    """Stand where we stood when a plugin is done, as paths of the others are from there, recurse as deep, and permit as much.

    Files that are written later have the permissions that whoever started the process gives. Standard streams are put back
    where none is left; with `streams` also made anew where they were closed, and with what their descriptors lead to; and where
    they are others, but for those that another thread may have exchanged. With those goes what is imported from (`Imports`). What
    numpy raises and warns of is as it was, and what tells of errors is there, which threads cannot begin without.
    """
    before, depth, mask, raised = current_directory(), sys.getrecursionlimit(), mask_of_process(), _raised_by_numpy()
    standard, imports = Streams(held=streams), Imports() if streams else None
    try:
        yield
    finally:
        standard.put_back()
        if imports is not None:
            imports.put_back()
        _recurse(depth)
        if _raised_by_numpy() != raised:
            sys.modules["numpy"].seterr(**raised)
        if not callable(getattr(sys, "excepthook", None)):
            sys.excepthook = sys.__excepthook__
        if mask_of_process() != mask:
            os.umask(mask)
        if before is not None and current_directory() != before:
            os.chdir(before)


_NUMPYS_OWN = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
"""What numpy does about errors of floats where nobody says otherwise."""


def _raised_by_numpy() -> dict[str, str]:
    """What numpy does about errors of floats, or will do: it may not be imported yet."""
    found = getattr(sys.modules.get("numpy"), "geterr", None)
    return dict(found()) if found is not None else _NUMPYS_OWN


def _recurse(depth: int) -> None:
    """Have Python recurse as deep as that, at least: what runs behind a plugin would be too deep, and telling of it, too."""
    if sys.getrecursionlimit() < depth:
        sys.setrecursionlimit(depth)


class Guarded:
    """A function that a plugin registered, or the text that names it, with the plugin's name on what it raises.

    `lets` are exceptions that go through because the caller has something to say of them. `takes(outcome)` is None, or says
    what is wrong with what the function returned; `reads(outcome)` is what callers get in its place, and raises where something
    is wrong with what is in it (a generator runs here, and not where nobody knows whose it is). With `makes`, the function
    returns another one, or a dictionary of some, to be guarded as well: `makes` gives their `takes` and `reads` of the arguments.
    `lends(argument)` is what the function, or the one that it makes, is given of each argument, where it may write into that;
    the arrays that it gives, where it is of others, are copied, as it may write into them again.
    `keeps(argument)` is what a function of others' is given of its caller's, a module that it is but to read, say.
    """

    def __init__(
        self, function: Any, plugin: PluginInfo, place: str, *, lets: tuple[type[BaseException], ...] = (),
        takes: Callable[[Any], str | None] | None = None, reads: Callable[[Any], Any] | None = None,
        makes: Callable[..., tuple[Callable[[Any], str | None], Callable[[Any], Any]]] | None = None,
        lends: Callable[[Any], Any] | None = None, keeps: Callable[[Any], Any] | None = None,
    ) -> None:
        self.function = function
        self.plugin = plugin
        self.place = place
        self.lets = lets
        self.takes = takes
        self.reads = reads
        self.makes = makes
        self.lends = lends
        self.keeps = keeps

    @property
    def __wrapped__(self) -> Any:
        """The function itself, for who asks for its signature."""
        if isinstance(self.function, str):
            named = imported(self.function, self.plugin, self.place)
            if not callable(named):
                raise failure(self.plugin, self.place, TypeError(f"names {named!r:.100}, where a function is wanted"))
            self.function = named
        return self.function

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if self.plugin.is_ours:
            return self._called(*arguments, **named)
        with process_kept():
            return self._called(*arguments, **named)

    def _called(self, *arguments: Any, **named: Any) -> Any:
        function = self.__wrapped__
        if self.lends is not None and self.makes is None:
            arguments = tuple(map(self.lends, arguments))
        given = arguments if self.keeps is None or self.plugin.is_ours else tuple(map(self.keeps, arguments))
        depth = sys.getrecursionlimit()
        try:
            try:
                outcome = function(*given, **named)
            finally:
                _recurse(depth)
            wrong = self.takes(outcome) if self.takes is not None else None
            if wrong is None and self.reads is not None:
                outcome = self.reads(outcome)
            if wrong is None and self.lends is not None and self.makes is None and not self.plugin.is_ours:
                outcome = owned(outcome)
        except BuildError as error:  # nobody but who builds can be wrong
            raise failure(self.plugin, self.place, error) from error
        except FOREIGN as error:
            if goes_through(error, self.plugin) or self._is_let(error):
                raise
            raise failure(self.plugin, self.place, error) from error
        if wrong is not None:
            raise failure(self.plugin, self.place, TypeError(wrong))
        if self.makes is None:
            return outcome
        takes, reads = self.makes(*arguments, **named)
        made: dict[str, Any] = {
            "takes": {"__call__": takes}, "reads": {"__call__": reads}, "lends": {"__call__": self.lends}}
        if isinstance(outcome, Mapping):
            return {name: GuardedObject(each, self.plugin, self.place, **made) for name, each in outcome.items()}
        return GuardedObject(outcome, self.plugin, self.place, **made)

    def _is_let(self, error: BaseException) -> bool:
        """Whether it goes through to the caller: of the system's errors, those that may be about a file."""
        return is_a(error, self.lets) and not (OSError in self.lets and is_a(error, _OF_NO_FILE))

    def __repr__(self) -> str:
        return f"<{self.place} of {self.plugin}: {self.function!r}>"


class GuardedObject:
    """An object that a plugin registered, or made: everything about it is as it is, and its methods are guarded.

    `lets`, `takes`, `reads`, `lends` and `keeps` are those of `Guarded`, by a method's name. `calls` are the names under which
    something is called whatever it is: a class that stands there makes an object, as a method does; any other is as it is, for
    `isinstance`.
    """

    __slots__ = ("_calls", "_keeps", "_lends", "_lets", "_object", "_place", "_plugin", "_reads", "_takes")

    def __init__(
        self, held: Any, plugin: PluginInfo, place: str, lets: Mapping[str, tuple[type[BaseException], ...]] = NOTHING,
        takes: Mapping[str, Callable[[Any], str | None]] = NOTHING, reads: Mapping[str, Callable[[Any], Any]] = NOTHING,
        lends: Mapping[str, Callable[[Any], Any] | None] = NOTHING, keeps: Mapping[str, Callable[[Any], Any]] = NOTHING,
        calls: Container[str] = (),
    ) -> None:
        for name, value in (("_object", held), ("_plugin", plugin), ("_place", place), ("_lets", lets), ("_takes", takes),
                            ("_reads", reads), ("_lends", lends), ("_keeps", keeps), ("_calls", calls)):
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        place = f"{self._place}.{name}"
        try:
            value = getattr(self._object, name)
        except FOREIGN as error:
            if (is_a(error, AttributeError) and not hasattr(type(self._object), name)) or goes_through(error, self._plugin):
                raise  # it has no such member; one that is there, a property, has failed
            raise failure(self._plugin, place, error) from error
        if callable(value) and (name in self._calls or not isinstance(value, type)):
            return Guarded(
                value, self._plugin, f"{place}()", lets=self._lets.get(name, ()), takes=self._takes.get(name),
                reads=self._reads.get(name), lends=self._lends.get(name), keeps=self._keeps.get(name))
        return value

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        guarded = Guarded(
            self._object, self._plugin, self._place, takes=self._takes.get("__call__"), reads=self._reads.get("__call__"),
            lends=self._lends.get("__call__"))
        return guarded(*arguments, **named)

    def __copy__(self) -> Any:
        return self  # there is one of what is registered

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._object, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._object, name)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._object)

    def __dir__(self) -> list[str]:
        return dir(self._object)

    def __repr__(self) -> str:
        """What the object says of itself; where it says nothing, what it is and of which plugin."""
        told = getattr(type(self._object), "__repr__", object.__repr__) is not object.__repr__
        try:
            if told and isinstance(text := repr(self._object), str):
                return text
        except FOREIGN as error:  # who looks at a list of targets is to see the others
            if goes_through(error, self._plugin):
                raise
        return f"<{self._place} of {self._plugin}>"


def _name_of(function: Any) -> str:
    """`package.module:name` of a function, or of the class of an object that is called like one."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}:{named.__qualname__}"


def _failed_at(kind: str, function: Any, op: Op, error: BaseException) -> PluginFailure:
    function = unwrap(function)
    place = f"the {kind} {_name_of(function)} of {op.name}"
    host = current().host
    declared = op.declaration is not None and op.declaration.infer is function  # with the op, whoever wrote the function
    tell = _failure if kind == "kernel" else failure
    made = tell(host.owner("dialects", op.dialect) if declared else host.plugin_of(function), place, error)
    of = f" of {made.plugin}" if made.plugin is not None else ""
    why = f"the {kind} {_name_of(function)}{of} failed: {said(error)}"
    made.findings = (Finding(op.name, why, (op.origin,) if op.origin else ()),)
    return made


def rule_told(function: Any) -> str:
    """A rewrite function and whose it is, in a message."""
    function = unwrap(function)
    plugin = current().host.plugin_of(function)
    return f"the rule {_name_of(function)}" + (f" of {plugin}" if plugin is not None else "")


def rule_failed(function: Any, op: Op, error: BaseException) -> PluginFailure:
    """The error for a rewrite function that raised what no rewrite function should."""
    return _failed_at("rule", function, op, error)


def rule_never_ends(function: Any, op: Op) -> PluginFailure:
    """The error for a rewrite function that makes what is rewritten again, and so on: no model needs as much in a row."""
    plugin = current().host.plugin_of(unwrap(function))
    why = f"rewriting does not come to an end: {rule_told(function)} makes what is rewritten again, and again"
    finding, place = Finding(op.name, why, (op.origin,) if op.origin else ()), f"the rule {_name_of(function)} of {op.name}"
    return PluginFailure(why, [finding], _whom_to_tell(plugin), plugin=plugin, place=place)


def shape_rule_failed(function: Any, op: Op, error: BaseException) -> PluginFailure:
    """The error for what infers an op's result types and raised, or gave, what it should not."""
    return _failed_at("shape rule", function, op, error)


def kernel_failed(function: Any, op: Op, error: BaseException) -> PluginFailure:
    """The error for a kernel that raised what no kernel should."""
    return _failed_at("kernel", function, op, error)
