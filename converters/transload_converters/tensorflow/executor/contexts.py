"""Where values of a graph are live: the frames they are in, and the branches that were taken to come to them.

A context is a path from outside in: a frame by its name, or a predicate and which way it went. What is dead does not come into
the functional form, so every op there stands in its context: in the branch, in the body of the loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from transload.errors import Finding
from transload.ir import Op, Value

__all__ = ["Context", "Contexts", "captured", "root"]

Context = tuple[Any, ...]
"""Of frame names, and of pairs of a predicate's value and the number of the branch."""


def captured(op: Op) -> list[Value]:
    """The values of outside that an op's regions use."""
    defined: set[Value] = set()
    for inner in op.walk():
        if inner is not op:
            defined.update(inner.results)
        for region in inner.regions:
            for block in region.blocks:
                defined.update(block.arguments)
    used = (value for inner in op.walk() if inner is not op for value in inner.operands)
    return list(dict.fromkeys(value for value in used if value not in defined))


def root(value: Value) -> Value:
    """The value that islands of an Identity alone hand on."""
    while value.op is not None and value.op.name == "tf_executor.island":
        block = value.op.regions[0].block
        first, last = block.first, block.last
        if first is None or last is None or first.next is not last or first.name != "tf.Identity":
            break
        value = first.operands[0]
    return value


class Contexts:
    """The contexts of a graph's values; `findings` are ops that have none."""

    def __init__(self, graph: Op) -> None:
        self.of: dict[Value, Context] = {}
        self.findings: list[Finding] = []
        self.switches: dict[Value, Op] = {}
        """By predicate, an op that asks it."""
        self._frames: dict[str, Context] = {}
        before: dict[str, Context] | None = None
        rounds = 0
        while self._frames != before:  # of the contexts from which a frame is entered, the innermost is that of the frame
            before = dict(self._frames)
            self.of, self.findings = {}, []
            for op in graph.regions[0].block:
                self._enter(op)
            rounds += 1
            if rounds > len(self._frames) + 1:  # each round settles one frame
                self._problem(graph, "has frames that are entered from within themselves")
                break

    def __call__(self, value: Value) -> Context:
        """The context of a value; values from outside of the graph are live everywhere."""
        return self.of.get(value, ())

    def _enter(self, op: Op) -> None:
        kind = op.name.removeprefix("tf_executor.")
        taken = [*op.operands, *captured(op)]
        if kind in ("NextIteration.Source", "NextIteration.Sink", "fetch"):
            return
        if kind == "Merge":
            context = self._merged(op)
        else:
            context = self._joined(op, (self(value) for value in taken))
        if kind == "Enter":
            name = op.attribute("frame_name")
            self._frames[name] = max(self._frames.get(name, ()), context, key=len)
            context = (*self._frames[name], name)
        elif kind == "Exit":
            frames = [place for place, part in enumerate(context) if isinstance(part, str)]
            if not frames:
                self._problem(op, "leaves a frame, and is in none")
            else:
                context = context[:frames[-1]]
        is_switch = kind in ("Switch", "SwitchN", "_SwitchN")
        predicate = root(op.operands[1]) if is_switch else None
        if predicate is not None:
            self.switches[predicate] = op
        for number, result in enumerate(op.results):
            self.of[result] = (*context, (predicate, number)) if is_switch and number < len(op.results) - 1 else context

    def _joined(self, op: Op, contexts: Iterable[Context]) -> Context:
        """The innermost of contexts of which each lies in the next."""
        found: Context = ()
        for context in contexts:
            longer, shorter = (context, found) if len(context) > len(found) else (found, context)
            if longer[:len(shorter)] != shorter:
                self._problem(op, "uses values of several branches, and so is always dead")
                return found
            found = longer
        return found

    def _merged(self, op: Op) -> Context:
        """What the contexts of values that are joined have in common; of a loop's, that of what enters it."""
        values = [value for value in op.operands if value.op is None or value.op.name != "tf_executor.NextIteration.Source"]
        values = [value for value in values if str(value.type) != "!tf_executor.control"]
        if any(value.op is not None and value.op.name == "tf_executor.Enter" for value in values):
            return self(values[0])
        contexts = [self(value) for value in values]
        if not contexts:
            return ()
        common = min(map(len, contexts))
        while common and any(context[:common] != contexts[0][:common] for context in contexts):
            common -= 1
        return contexts[0][:common]

    def _problem(self, op: Op, why: str) -> None:
        self.findings.append(Finding(op.name, why, (op.origin,) if op.origin else ()))
