"""Following rewrites: which rule fired on which op, what the op was, and what came of it.

    with trace_rewrites() as rewrites:
        transload.lower(module)
    for rewrite in rewrites:
        print(rewrite)

    acme-to-hub.rewrites  conv1: acme.conv → 2 hub.const, hub.conv  by conv of acme-reader (legalize/conv.py:50)

While nobody traces, it costs nothing: tables are wrapped when a run of rewrites begins, and only where somebody does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from inspect import unwrap
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from .context import current

if TYPE_CHECKING:
    from .ir.core import Op
    from .rewrite import RewriteTable

__all__ = ["Link", "Rewrite", "Trace", "trace_links", "trace_rewrites", "traced", "tracing"]


@dataclass(frozen=True)
class Rewrite:
    """One rule that fired."""

    step: str
    """The pass, or the rewrites of a conversion, in which it did; empty outside of a pipeline."""
    rule: str
    """The function, as `package.module:name`."""
    plugin: str
    """Whose it is."""
    source: str
    """Where it stands: file and line."""
    op: str
    """What the op was: its name in the dialect."""
    name: str
    """The original name of the tensor that the op computes, if it has one."""
    made: tuple[str, ...]
    """The ops that were made, in order; those that a changed op now consists of, where it was changed in place."""
    results: tuple[str, ...]
    """For each result, the op that computes it now, new or there before; an argument is called `argument`."""

    def __str__(self) -> str:
        counts = Counter(self.made) or Counter(f"what {name} gives" for name in self.results)
        shown = [name if count == 1 else f"{count} {name}" for name, count in counts.items()]
        by = f"{self.rule.partition(':')[2]} of {self.plugin} ({self.source})"
        return f"{self.step}  {self.name}: {self.op} → {', '.join(shown) or 'nothing'}  by {by}"


@dataclass(frozen=True)
class Link:
    """A rewrite with the ops themselves, for who follows one from stage to stage."""

    rewrite: Rewrite
    op: Op
    """What the rule was given; it may be erased by now."""
    made: tuple[Op, ...]
    """The ops that were made, and those there before that compute its results now."""


@dataclass
class Trace:
    """What fired so far, and the step that runs."""

    rewrites: list[Rewrite] = field(default_factory=list)
    step: str = ""
    links: list[Link] | None = None
    """The same with the ops, where somebody asks for them: they live as long as this list."""
    rules: dict[Callable[..., Any], tuple[str, str, str]] = field(default_factory=dict)
    """Of each rule its name, whose it is, and where it stands."""


_bound: ContextVar[Trace | None] = ContextVar("transload.trace", default=None)

tracing = _bound.get
"""`tracing()`: the trace that is kept here, in this thread or task; None where nobody traces."""


@contextmanager
def trace_rewrites() -> Iterator[list[Rewrite]]:
    """Inside, every rewrite of this thread or task is noted, in order, in the list that this gives."""
    with _bound_to(Trace()) as trace:
        yield trace.rewrites


@contextmanager
def trace_links() -> Iterator[list[Link]]:
    """The same with the ops that were rewritten and made, each as the object that it is."""
    links: list[Link] = []
    with _bound_to(Trace(links=links)):
        yield links


@contextmanager
def _bound_to(trace: Trace) -> Iterator[Trace]:
    token = _bound.set(trace)
    try:
        yield trace
    finally:
        _bound.reset(token)


def traced(table: RewriteTable) -> RewriteTable:
    """The table, or, where somebody traces, one whose functions note what they do."""
    trace = tracing()
    if trace is None:
        return table
    noting = type(table)()
    noting.functions = {name: [_noting(function, trace) for function in functions] for name, functions in table.functions.items()}
    return noting


def _noting(function: Callable[..., Any], trace: Trace) -> Callable[..., Any]:
    """The function, which notes in a trace what it makes of an op."""
    if getattr(function, "__wrapped_by_trace__", None) is trace:
        return function

    @wraps(function, updated=())
    def call(op: Op, rewriter: Any) -> Any:
        name, before = op.name, op.prev
        outcome = function(op, rewriter)
        if outcome is not None:
            _note(function, trace, name, op, before, outcome)
        return outcome

    call.__wrapped_by_trace__ = trace  # type: ignore[attr-defined]
    return call


def _note(function: Callable[..., Any], trace: Trace, name: str, op: Op, before: Op | None, outcome: Any) -> None:
    """Enter into a trace what a rule made of an op that was called `name`, with `before` in front of it."""
    made: list[Op] = []
    other = op.prev
    while other is not before and other is not None:
        made.append(other)
        other = other.prev
    made.reverse()
    if hasattr(outcome, "type"):
        outcome = (outcome,)
    if isinstance(outcome, list | tuple):
        ends = [value.op for value in outcome]
    else:  # changed in place
        made.append(op)
        ends = [op] * len(op.results)
    rule, plugin, source = trace.rules.get(function) or trace.rules.setdefault(function, _rule(function))
    rewrite = Rewrite(
        trace.step, rule, plugin, source, name, op.origin or "", tuple(each.name for each in made),
        tuple(end.name if end is not None else "argument" for end in ends))
    trace.rewrites.append(rewrite)
    if trace.links is not None:
        trace.links.append(Link(rewrite, op, tuple(dict.fromkeys((*made, *(end for end in ends if end is not None))))))


def _rule(function: Callable[..., Any]) -> tuple[str, str, str]:
    """A function as `package.module:name`, its plugin, its file and line."""
    inner = unwrap(function)
    rule = f"{getattr(inner, '__module__', '?')}:{getattr(inner, '__qualname__', type(inner).__qualname__)}"
    code = getattr(inner, "__code__", None)
    source = "/".join(PurePath(code.co_filename).parts[-2:]) + f":{code.co_firstlineno}" if code is not None else "?"
    plugin = current().host.plugin_of(inner)
    return rule, plugin.name if plugin is not None else "the program", source
