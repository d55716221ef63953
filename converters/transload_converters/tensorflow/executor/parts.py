"""Parts of a `tf_executor.graph`: tensors inside of it as results outside, for models that are cut at them.

A part is what computes some tensors, from the graph's feeds. Where these lie in a branch or in a loop's frame, it is the part in
there: the branch is taken, and what is handed into the frame is there. A value that goes round a loop has no such meaning, and
has to be given. A part without control flow of its own is ops in program order, without a graph around them.
"""

from __future__ import annotations

from collections.abc import Sequence

from transload.errors import UsageError
from transload.extraction import Nested
from transload.facts import FactTable
from transload.ir import FusedLocation, Op, TensorType, Value
from transload.shell import quoted

from ..opdefs import definition
from .contexts import Context, Contexts, captured
from .dialect import data_of, tokens_of

__all__ = ["NESTED", "surfaced", "tensors_inside"]

NESTED = FactTable("tf_executor")

_SWITCHES = frozenset(f"tf_executor.{name}" for name in ("Switch", "SwitchN", "_SwitchN"))
_WAYS = frozenset({*_SWITCHES, "tf_executor.Enter"})
"""Ops that lead into branches and frames."""
_STRAIGHT = frozenset({"tf_executor.island", "tf_executor.ControlTrigger"})
"""Ops that a part holds which is ops in program order."""


def tensors_inside(graph: Op) -> dict[str, Value]:
    """The tensors of a graph by the names that TensorFlow has for them."""
    found = {}
    for op in graph.regions[0].block:
        location = op.location
        for index, value in enumerate(op.results):
            if not isinstance(value.type, TensorType):
                continue
            names = location.locations if isinstance(location, FusedLocation) else (location, f"{location}:1")
            name = names[index] if index < len(names) else None
            if isinstance(name, str) and isinstance(location, FusedLocation | str):
                found[name] = value
    return found


def surfaced(graph: Op, values: Sequence[Value]) -> list[Value]:
    """Values that are outside of a graph, and those of it which are inside: what computes the others goes.

    Results of the graph that are used stay. Raises `UsageError` for values that are of no one place in the graph.
    """
    kept = [result for result in graph.results if result.uses]
    wanted = [data_of(graph.regions[0].block.terminator)[result.index] for result in kept] + list(values)
    part = _Part(graph, wanted)
    fetch = graph.regions[0].block.terminator
    asked, needed = data_of(fetch), part.needed
    for op in reversed(list(graph.regions[0].block)):
        if op is fetch:
            continue
        if op not in needed:
            op.erase()
        else:
            op.operands = tuple(value for value in op.operands if part.has(value))
    if all(op.name in _STRAIGHT for op in needed):
        found = _straightened(graph, asked)
    else:
        assert graph.parent is not None
        regions, graph.regions = graph.regions, []
        found = list(graph.parent.insert(
            Op(graph.name, (), [value.type for value in asked], graph.attributes, regions, graph.location), graph).results)
    for old, new in zip(kept, found, strict=False):
        old.replace_all_uses_with(new)
    graph.erase()
    return found[len(kept):]


class _Part:
    """What some values of a graph need; on the way, the graph's fetch is made to give them."""

    def __init__(self, graph: Op, wanted: Sequence[Value]) -> None:
        self.block, self.contexts = graph.regions[0].block, Contexts(graph)
        self.place: Context = max(map(self.contexts, wanted), key=len, default=())
        """The branches and frames in which the part lies."""
        for value in wanted:
            context = self.contexts(value)
            if self.place[:len(context)] != context:
                raise _refused(value.op, "is in another branch or loop than others that are asked for", "ask for them one by one")
        self.block.terminator.operands = tuple(wanted)
        ways = self._open()
        self.needed = self._needed()
        for op in self.needed:
            if op in ways:
                raise _refused(op, "leads into several branches of which one is asked for", "ask for what is in it alone")
            if op.name == "tf_executor.Merge" and self._leads(op.results[0]) and _goes_round(op):
                raise _refused(
                    op, "goes round a loop, and has another value in each iteration",
                    f"give it as an input: --shape {quoted(op.origin + ':SIZES')}" if op.origin else "")

    def has(self, value: Value) -> bool:
        """Whether an op of the part can use a value: it is from outside, or the part has what computes it."""
        return value.op is None or value.op.parent is not self.block or value.op in self.needed

    def _leads(self, value: Value) -> bool:
        """Whether a value is in one of the branches and frames around the part."""
        context = self.contexts(value)
        return bool(context) and self.place[:len(context)] == context

    def _open(self) -> set[Op]:
        """Use what leads into the place of the part, in place of what is there then; the ops that lead there."""
        ways = set()
        for op in self.block:
            for result in op.results[:-1] if op.name in _WAYS else ():
                if self._leads(result):
                    result.replace_all_uses_with(data_of(op)[0])
                    ways.add(op)
        return ways

    def _needed(self) -> set[Op]:
        """The ops that must run: those whose data are needed, those by which something is dead, and of what else comes before
        by a control edge that which changes a state."""
        found: set[Op] = set()
        seen: set[Op] = set()
        pending = [value.op for value in data_of(self.block.terminator)]
        while pending:
            op = pending.pop()
            if op is None or op.parent is not self.block or op in found:
                continue
            found.add(op)
            if op.name == "tf_executor.NextIteration.Source":
                pending += op.results[1].uses
            pending += [value.op for value in (*data_of(op), *captured(op))]
            before = list(tokens_of(op))
            while before:
                token = before.pop()
                earlier = token.op
                if earlier is None or earlier.parent is not self.block or earlier in seen:
                    continue
                seen.add(earlier)
                context = self.contexts(token)
                if self.place[:len(context)] != context or _changes_state(earlier):
                    pending.append(earlier)
                else:
                    before += tokens_of(earlier)
        return found


def _goes_round(merge: Op) -> bool:
    return any(value.op is not None and value.op.name == "tf_executor.NextIteration.Source" for value in data_of(merge))


def _refused(op: Op | None, why: str, hint: str) -> UsageError:
    name = op.origin if op is not None else None
    return UsageError(f"the graph cannot be cut there: {name or 'a tensor'} {why}", hint=hint)


def _changes_state(op: Op) -> bool:
    for inner in op.walk():
        known = definition(inner.name.removeprefix("tf."))
        if inner.name.startswith("tf.") and known is not None and known.stateful:
            return True
    return False


def _straightened(graph: Op, asked: Sequence[Value]) -> list[Value]:
    """Put the ops of a graph's islands before the graph; what the asked values are there."""
    mapping: dict[Value, Value] = {}
    for op in graph.regions[0].block:
        if op.name != "tf_executor.island":
            continue
        block = op.regions[0].block
        for inner in block:
            if inner is not block.last:
                assert graph.parent is not None
                graph.parent.insert(inner.clone(mapping), graph)
        for result, value in zip(op.results, block.terminator.operands, strict=False):
            mapping[result] = mapping.get(value, value)
    return [mapping.get(value, value) for value in asked]


NESTED.add(Nested(tensors_inside, surfaced), "graph")
