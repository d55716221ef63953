"""Graphs of TensorFlow's executor as ops in program order: conditionals as regions of `tf.IfRegion`, loops of `tf.WhileRegion`.

What is fetched is asked for, and what that needs, from the end to the beginning: each value is made in the region of its context
(`executor.contexts`), once. A Merge is a choice between the two regions of what its Switches ask; the Merges of a frame that are
given what enters it are the state of a loop. What nobody asks for, and only control edges keep alive, is left out, and named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from transload.errors import Finding, PassError, merge_findings
from transload.ir import I32, Block, Dense, Module, Op, Region, TensorType, Type, Value
from transload.ir.regions import splice_region

from ..executor.contexts import Context, Contexts, captured, root
from ..executor.dialect import data_of

__all__ = ["functionalize"]

_DEEPEST = 100
"""How deep conditionals and loops may be in each other."""


def functionalize(module: Module) -> bool:
    """Replace every `tf_executor.graph`. Raises `PassError` with what in a graph is no conditional and no loop."""
    graphs = [op for op in module.walk() if op.name == "tf_executor.graph"]
    for graph in graphs:
        if all(op.name in _STRAIGHT for op in graph.regions[0].block):
            _splice(graph)
        else:
            _Functional(module, graph).replace()
    return bool(graphs)


_STRAIGHT = frozenset({"tf_executor.island", "tf_executor.fetch", "tf_executor.ControlTrigger"})


def _splice(graph: Op) -> None:
    """Put the ops of a graph in which nothing is ever dead in its place: their order is one in which it can run, and so all that
    has an effect has it, in the order of the control edges."""
    assert graph.parent is not None
    for island in list(graph.regions[0].block):
        if island.name == "tf_executor.island":
            for result, value in zip(island.results, splice_region(island.regions[0], graph), strict=False):
                result.replace_all_uses_with(value)
    graph.replace_with(list(data_of(graph.regions[0].block.terminator)))


@dataclass
class _Place:
    """A block that is made, the contexts whose ops stand in it, and the values that are there."""

    block: Block
    contexts: tuple[Context, ...]
    around: _Place | None = None
    before: Op | None = None
    values: dict[Value, Value] = field(default_factory=dict)

    def insert(self, op: Op) -> Op:
        """Add an op at the end of what was made so far."""
        return self.block.insert(op, self.before)


class _Functional:
    """One graph while it is taken apart."""

    def __init__(self, module: Module, graph: Op) -> None:
        self.module, self.graph = module, graph
        self.contexts = Contexts(graph)
        self.inside = {result for op in graph.regions[0].block for result in op.results}
        self.making: list[Op] = []
        """The conditionals and loops that are being made, from outside in."""

    def replace(self) -> None:
        """Put the ops of the graph in its place."""
        assert self.graph.parent is not None
        outermost = _Place(self.graph.parent, ((),), before=self.graph)
        values = [self.value(value, outermost) for value in data_of(self.graph.regions[0].block.terminator)]
        self.graph.replace_with(values)

    def refuse(self, op: Op, why: str) -> PassError:
        """The error for an op that has no functional form, with all else that is known to have none."""
        hint = "the graph runs as it is in the engine; --outputs NAME,... converts what these alone need"
        finding = Finding(op.name, why, (op.origin,) if op.origin else (), hint)
        return PassError("the graph has no functional form", merge_findings([finding, *self.contexts.findings]))

    # --- values

    def value(self, value: Value, place: _Place) -> Value:
        """A value of the graph in functional form, made where its context is, or around that. Without recursion along chains of
        ops, which can be long: what an op uses is made first."""
        pending = [(value, place)]
        while pending:
            wanted, here = pending[-1]
            if self._known(wanted, here) is not None:
                pending.pop()
                continue
            home = self._home(wanted, here)
            missing = [each for each in self._uses(wanted) if self._known(each, home) is None]
            if missing:
                pending += [(each, home) for each in missing]
                if len(pending) > 4 * len(self.inside) + 64:
                    raise self.refuse(wanted.op or self.graph, "is computed from itself, and by no loop")
                continue
            self._make(wanted, home)
            pending.pop()
        found = self._known(value, place)
        assert found is not None
        return found

    def _known(self, value: Value, place: _Place | None) -> Value | None:
        if value not in self.inside:
            return value
        while place is not None:
            if value in place.values:
                return place.values[value]
            place = place.around
        return None

    def _home(self, value: Value, place: _Place) -> _Place:
        """Where a value is made: the place of its op's context."""
        op = value.op
        assert op is not None
        context = self.contexts(op.results[-1])
        found: _Place | None = place
        while found is not None:
            if context in found.contexts:
                return found
            found = found.around
        raise self.refuse(op, "is used where it may be dead")

    def _uses(self, value: Value) -> list[Value]:
        """What has to be made before a value; what regions need is made with them."""
        op = value.op
        assert op is not None
        kind = op.name.removeprefix("tf_executor.")
        if kind == "island":
            return captured(op)
        return list(data_of(op)[:1]) if kind in ("Switch", "SwitchN", "_SwitchN", "LoopCond", "Enter") else []

    def _make(self, value: Value, place: _Place) -> None:
        op = value.op
        assert op is not None
        kind = op.name.removeprefix("tf_executor.")
        if kind == "island":
            self._island(op, place)
        elif kind in ("Switch", "SwitchN", "_SwitchN", "LoopCond", "Enter"):
            given = self.value(data_of(op)[0], place)
            for result in op.results[:-1]:
                place.values[result] = given
        elif kind in ("Merge", "Exit"):
            if op in self.making or len(self.making) >= _DEEPEST:
                raise self.refuse(op, "is computed from itself" if op in self.making else f"is nested more than {_DEEPEST} deep")
            self.making.append(op)
            (self._merge if kind == "Merge" else self._exit)(op, place)
            self.making.pop()
        else:
            raise self.refuse(op, "is no part of a conditional or a loop")

    def _island(self, island: Op, place: _Place) -> None:
        mapping = {value: self.value(value, place) for value in captured(island)}
        block = island.regions[0].block
        for op in block:
            if op is block.last:
                break
            place.insert(op.clone(mapping))
        for result, value in zip(island.results, block.terminator.operands, strict=False):
            place.values[result] = mapping.get(value, value)

    # --- conditionals

    def _merge(self, merge: Op, place: _Place) -> None:
        """A choice between regions, by what the Switches before it ask."""
        context = self.contexts(merge.results[-1])
        data = data_of(merge)
        branches = [self.contexts(value)[len(context):] for value in data]
        if any(len(branch) != 1 or isinstance(branch[0], str) for branch in branches):
            raise self.refuse(merge, "joins values that are live at once, or by several conditions")
        predicate, numbers = branches[0][0][0], [branch[0][1] for branch in branches]
        switch = self.contexts.switches[predicate]
        n_branches = len(switch.results) - 1
        if any(branch[0][0] is not predicate for branch in branches) or sorted(numbers) != list(range(n_branches)):
            raise self.refuse(merge, "does not join the branches of one condition")
        condition = self.value(predicate, place)
        order = sorted(range(n_branches), key=numbers.__getitem__)
        regions, uses_index = [], bool(merge.results[1].uses)
        for which in order:
            inner = _Place(Block(), ((*context, branches[which][0]),), place)
            values = [self.value(data[which], inner)]
            if uses_index:
                dense = Dense(np.int32(which))
                values.append(inner.insert(Op("tf.Const", (), [TensorType((), I32)], {"value": dense})).result)
            inner.insert(Op("tf.Yield", values))
            regions.append(Region([inner.block]))
        types: list[Type] = [result.type for result in merge.results[:1 + uses_index]]
        if switch.name == "tf_executor.Switch":
            made = Op("tf.IfRegion", [condition], types, {"is_stateless": False}, regions[::-1], _first_name(merge))
        else:
            made = Op("tf.CaseRegion", [condition], types, {"is_stateless": False}, regions, _first_name(merge))
        place.values.update(zip(merge.results, place.insert(made).results, strict=False))

    # --- loops

    def _exit(self, leaving: Op, place: _Place) -> None:
        """The loop that an Exit leaves, and all of its exits."""
        context = self._frame(leaving)
        if not context:
            raise self.refuse(leaving, "leaves a frame, and is in none")
        merges, going_on = self._loop_of(context, leaving)
        state = [self.value(self._entering(merge), place) for merge in merges]
        types = [merge.results[0].type for merge in merges]
        condition = self._region(types, merges, (context,), [going_on], place)
        sinks = [self._handed_on(merge) for merge in merges]
        body = self._region(types, merges, (context, (*context, (going_on, 1))), sinks, place)
        made = place.insert(Op("tf.WhileRegion", state, types, {"is_stateless": False}, [condition, body], _first_name(leaving)))
        ended = _Place(place.block, (context, (*context, (going_on, 0))), place, place.before)
        ended.values.update(zip((merge.results[0] for merge in merges), made.results, strict=True))
        for op in self.graph.regions[0].block:
            if op.name == "tf_executor.Exit" and self._frame(op) == context:
                place.values[op.results[0]] = self.value(data_of(op)[0], ended)

    def _frame(self, leaving: Op) -> Context:
        """The context of the frame that an Exit leaves."""
        inside = self.contexts(data_of(leaving)[0])
        frames = [number for number, part in enumerate(inside) if isinstance(part, str)]
        return inside[:frames[-1] + 1] if frames else ()

    def _loop_of(self, context: Context, leaving: Op) -> tuple[list[Op], Value]:
        """The Merges that are the state of a frame's loop, and whether it goes on: what a LoopCond gives, or, without one, the
        predicate of the Switches whose values leave the frame."""
        ops = [op for op in self.graph.regions[0].block if op.results and self.contexts(op.results[-1]) == context]
        merges = [op for op in ops if op.name == "tf_executor.Merge" and any(
            value.op is not None and value.op.name == "tf_executor.NextIteration.Source" for value in data_of(op))]
        tests = [root(op.results[0]) for op in ops if op.name == "tf_executor.LoopCond"] or list(dict.fromkeys(
            root(op.operands[1]) for op in ops if op.name == "tf_executor.Switch"
            and any(use.name == "tf_executor.Exit" for use in op.results[0].uses)))
        if len(tests) != 1 or not merges or any(len(data_of(merge)) != 2 for merge in merges):
            raise self.refuse(leaving, f"leaves a frame with {len(tests)} conditions and {len(merges)} values of state")
        return merges, tests[0]

    def _entering(self, merge: Op) -> Value:
        """What a Merge's value is before the first iteration, outside of the frame."""
        enter = next((value.op for value in data_of(merge) if value.op is not None and value.op.name.endswith(".Enter")), None)
        if enter is None:
            raise self.refuse(merge, "is the state of a loop, and nothing enters it")
        return data_of(enter)[0]

    def _handed_on(self, merge: Op) -> Value:
        """What the body hands to the next iteration in place of a Merge's value."""
        source = next(value.op for value in data_of(merge) if value.op is not None and value.op.name.endswith("Source"))
        assert source is not None
        sink = next(iter(source.results[1].uses))
        return sink.operands[1]

    def _region(
        self, types: Sequence[Type], merges: Sequence[Op], contexts: tuple[Context, ...], yielded: Sequence[Value], place: _Place,
    ) -> Region:
        inner = _Place(Block(types), contexts, place)
        inner.values.update(zip((merge.results[0] for merge in merges), inner.block.arguments, strict=True))
        values = [self.value(value, inner) for value in yielded]
        inner.insert(Op("tf.Yield", values))
        return Region([inner.block])


def _first_name(op: Op) -> str | None:
    return op.results[0].name


