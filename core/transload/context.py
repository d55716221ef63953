"""The context that work is done in: which plugins there are, and what one run notes down.

    with Context(Host(only="acme,acme-target")).bind():
        transload.convert("model.tflite", out="build")

Whatever asks which dialects, kernels, conversions or targets exist asks the context that is bound where it runs, in this
thread or task (`contextvars`); where none is bound, that is the context of the process, with all plugins that are
installed. So two hosts live in one process side by side, and conversions run in threads without knowing of each other.

This module stands below the IR: it knows plugins and declarations by their types alone, and imports neither. Who makes a
host of installed plugins is said once, by `transload/__init__.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import InternalError, UsageError
from .forks import thread_lock
from .kinds import need

if TYPE_CHECKING:
    import numpy as np

    from .ir.core import Op
    from .ir.declare import Dialect, OpDeclaration
    from .plugin_host import Host

__all__ = ["Context", "Declarations", "current", "lookup", "new_run", "pinned", "use_host"]

Kind = TypeVar("Kind")

NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


class Declarations(dict[str, "OpDeclaration | None"]):
    """What dialects say of ops: op name to declaration, or to None where no dialect declares the op.

    The dialects are those of a host's plugins, and those that the program declared itself. A dialect is loaded when the
    first op of it is asked for; the host, where none was given, is made then, too.
    """

    def __init__(self, host: Host | None = None, own: Mapping[str, Callable[[], Dialect]] | None = None) -> None:
        super().__init__()
        self._host: Host | None = None
        self.own: dict[str, Callable[[], Dialect]] = dict(own or {})
        self._dialects: dict[str, Dialect] = {}
        self._lock = thread_lock()
        self._age = 0
        if host is not None:
            self.take(host)

    @property
    def host(self) -> Host:
        """The host whose plugins the dialects are of."""
        if self._host is None:
            with self._lock:
                if self._host is None:
                    self.take(_make_host())
        there: Host = self._host  # type: ignore[assignment]
        return there

    @property
    def has_host(self) -> bool:
        """Whether there is a host already."""
        return self._host is not None

    def take(self, host: Host) -> bool:
        """Have this host, if there is none yet; returns whether it was taken. Raises `UsageError` for what is no host."""
        if not all(hasattr(host, member) for member in ("watch", "dialect", "plugins")):
            raise UsageError(f"a Host is wanted, and {host!r:.100} is none", hint="transload.Host(), or transload.host()")
        with self._lock:
            if self._host is not None:
                return False
            self._host = host
            host.watch(self)
            return True

    def __missing__(self, op_name: str) -> OpDeclaration | None:
        need(op_name, str, "lookup", "name of an op")
        age = self._age
        dialect = self.dialect(op_name.partition(".")[0])
        declaration = dialect.ops.get(op_name) if dialect is not None else None
        with self._lock:
            if age == self._age:
                self[op_name] = declaration
        return declaration

    def dialect(self, name: str) -> Dialect | None:
        """A dialect's declarations, or None where nobody registered it."""
        found, age = self._dialects.get(name), self._age
        if found is not None:
            return found
        load = self.own.get(name)
        if load is not None:
            made: Dialect = load()
            made.watch(self)
        else:
            there = self.host.dialect(name)
            if there is None:
                return None
            made = there
        with self._lock:
            if age == self._age:  # nothing was declared anew while it was loaded
                self._dialects[name] = made
        return made

    def names(self) -> list[str]:
        """All dialects, sorted."""
        return sorted({*self.own, *self.host.dialects})

    def declare(self, name: str, load: Callable[[], Dialect]) -> None:
        """Make a dialect of the program's own known; `load()` gives it when it is first needed."""
        with self._lock:
            self.own[name] = load
            self.forget()

    def forget(self) -> None:
        """Look everything up anew: there are more dialects than before."""
        with self._lock:
            self._age += 1
            self._dialects.clear()
            self.clear()


class Context:
    """A host with the tables made of its plugins, and, for one run, options and scratch.

    `host` is left out for one with all installed plugins, which are then loaded when they are first needed. A context may
    be bound in any number of threads at once. What a run notes down belongs to a context of its own, made by `begin`.
    """

    __slots__ = ("_notes", "declarations", "options")

    def __init__(self, host: Host | None = None) -> None:
        self.declarations = Declarations(host)
        """Of ops, by name, in the dialects that the host's plugins and the program declare."""
        self.options: Mapping[str, Any] = NO_OPTIONS
        """What the user of this run chose."""
        self._notes: dict[type, Any] | None = None

    @property
    def host(self) -> Host:
        """What the plugins register."""
        return self.declarations.host

    def fold(self, op: Op) -> Sequence[np.ndarray] | None:
        """The results of an op whose operands are all constant, computed by the host's kernels; None where it should stay."""
        return self.declarations.host.fold(op)

    @property
    def is_run(self) -> bool:
        """Whether this is the context of one run, which has scratch."""
        return self._notes is not None

    def begin(self, options: Mapping[str, Any] = NO_OPTIONS) -> Context:
        """A context for one run: with this one's host and tables, these options, and scratch of its own."""
        run = Context.__new__(Context)
        run.declarations, run.options, run._notes = self.declarations, options, {}
        return run

    def scratch(self, kind: type[Kind]) -> Kind:
        """The run's own object of class `kind`, made by `kind()` when it is first asked for, and gone with the run."""
        if self._notes is None:
            raise InternalError(
                f"{kind.__name__} is noted down outside of a run", hint="begin one: `with transload.context.new_run():`")
        found = self._notes.get(kind)
        if found is None:
            found = self._notes[kind] = kind()
        note: Kind = found
        return note

    @contextmanager
    def bind(self) -> Iterator[Context]:
        """Work in this context until the end of the `with`: in this thread, or task, alone."""
        global _sole
        if self.declarations is not _sole:
            _sole = None
        token = _bound.set(self)
        try:
            yield self
        finally:
            _bound.reset(token)

    def __repr__(self) -> str:
        known = self.declarations.has_host
        plugins = ", ".join(info.name for info in self.host.plugins if not info.skipped) if known else "no plugin loaded yet"
        return f"<context{' of a run' if self.is_run else ''}: {plugins}>"


def _make_host() -> Host:
    """The host of a context that is given none. The package itself says who makes it, as it alone knows all layers."""
    made: Host = import_module(__package__).installed_plugins()
    return made


_process = Context()
_bound: ContextVar[Context] = ContextVar("transload.context", default=_process)
_sole: Declarations | None = _process.declarations
"""The declarations of every context there is, as long as there is one host only: they are looked up millions of times, and
asking a context variable first would take as long again."""

current = _bound.get
"""`current()`: the context that is bound here, or that of the process."""


def lookup(op_name: str) -> OpDeclaration | None:
    """An op's declaration in the context that is bound, or None where no dialect declares it."""
    return (_sole or current().declarations)[op_name]


@contextmanager
def new_run(options: Mapping[str, Any] = NO_OPTIONS) -> Iterator[Context]:
    """Work in a run of its own of the context that is bound: with these options and new scratch."""
    with current().begin(options).bind() as run:
        yield run


@contextmanager
def pinned() -> Iterator[Context]:
    """Work in a run, a new one only where none is bound: what `use_host` does meanwhile does not concern it."""
    here = current()
    if here.is_run:
        yield here
    else:
        with here.begin().bind() as run:
            yield run


def use_host(host: Host) -> None:
    """Give the context of the process this host, and nothing of the one before; contexts that are bound stay as they are.

    Dialects that the program declared itself stay declared.
    """
    global _sole
    before = _process.declarations
    if not before.take(host):
        _process.declarations, _sole = Declarations(host, before.own), None
