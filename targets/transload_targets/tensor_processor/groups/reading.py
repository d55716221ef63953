"""From a function of dialect `tpu` to the network that is cut into groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

from transload.ir import Op, Value, input_names, is_absent, output_names
from transload.ir.build import constant_of
from transload.plugin_host import host

from ..chip import Chip
from ..cycles.rules import cycles_of, elementwise
from ..instructions import ELEMENTS
from ..regions import Box, Need, whole
from .copies import Copies
from .forms import Form, Held, dtype_name, form_of, seen, sizes_of, view_of
from .machine import Machine
from .network import Network, Node, Tensor

__all__ = ["Reading", "machine_of", "read"]


@dataclass(frozen=True)
class Reading:
    """A function as a network, and what its tensors and nodes are: of tensor i `held[i]`, of node j `forms[j]`."""

    network: Network
    held: tuple[Held, ...]
    forms: tuple[Form | Copies, ...]
    ops: tuple[Op, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    same: dict[Value, Value]
    """Of what a move gives without moving anything, whose bytes it has."""

    def root(self, value: Value) -> Value:
        """The tensor whose bytes in global memory are those of `value`."""
        while value in self.same:
            value = self.same[value]
        return value


def machine_of(chip: Chip) -> Machine:
    """The figures of a chip that groups are planned by."""
    return Machine(chip.lanes, chip.local_bytes, chip.banks, chip.eu_bytes, chip.dma_bytes, chip.dma_latency)


class _Reader:
    def __init__(self, function: Op, chip: Chip) -> None:
        self.block = function.regions[0].block
        self.last = self.block.terminator
        self.chip = chip
        self.held: list[Held] = []
        self.numbers: dict[Any, int] = {}
        self.tensors: list[Tensor] = []
        self.nodes: list[Node] = []
        self.forms: list[Form | Copies] = []
        self.ops: list[Op] = []
        facts = host()
        self.regions, self.cycles, self.shapes = facts.facts("region"), facts.facts("cycles"), facts.facts("form")
        self.moves = facts.facts("copies")
        self.same: dict[Value, Value] = {}
        self.views: dict[Value, Held] = {}

    def tensor(self, held: Held) -> int:
        """The number of a tensor."""
        number = self.numbers.get(held.key)
        if number is None:
            number = self.numbers[held.key] = len(self.held)
            self.held.append(held)
            constant = held.data is not None or constant_of(held.value) is not None
            name = (held.value.name if held.value is not None else None) or f"%{number}"
            self.tensors.append(Tensor(name, held.shape, ELEMENTS[held.dtype].bits, held.layout, constant, held))
        return number

    def add(self, op: Op) -> None:
        """Read an op as a node."""
        moves = self.moves[op.name]
        if moves is not None:
            self.move(op, moves(op))
            return
        for value in op.operands:
            if not is_absent(value):
                self._resolve(value)
        form = form_of(op, self.shapes.__getitem__)
        (result,) = op.results
        made = seen(result)
        operands = tuple(self.tensor(held) for held in form.tensors)
        alone = any(held.layout != "aligned" and not self.tensors[number].constant
                    for held, number in zip(form.tensors, operands, strict=True))
        region = (None if form.own else self.regions[form.rule]) or whole_only
        also = tuple(self.tensor(seen(held.value)) for held, number in zip(form.tensors, operands, strict=True)
                     if held.value is not None and held.layout != "aligned" and not self.tensors[number].constant)
        self.nodes.append(Node(
            op.origin or op.name, form.operation, operands, self.tensor(made), tuple(held.shape for held in form.tensors),
            made.shape, region, partial(_cycles, self.cycles[form.rule], self.chip, dtypes_of(form, dtype_name(result))),
            form.attributes, alone=alone, also=also, source=op))
        self.forms.append(form)
        self.ops.append(op)


    def move(self, op: Op, copies: Copies) -> None:
        """Read an op that only moves elements. What is the same bytes, or a view, is looked at where it is read."""
        (result,) = op.results
        sources = [op.operands[copy.operand] for copy in copies.copies]
        if copies.same:
            self.same[result] = sources[0]
            return
        view = self.view(copies, sources, result)
        if view is not None:
            self.views[result] = view
            return
        operands = tuple(dict.fromkeys(self.tensor(seen(self.root(source))) for source in sources))
        bits = ELEMENTS[dtype_name(result)].bits
        self.moved(op, copies, operands, result, sum(prod(copy.shape) for copy in copies.copies) * bits // 8)

    def moved(self, op: Op, copies: Copies, operands: tuple[int, ...], result: Value, size: int) -> None:
        """Add a node that moves so many bytes in global memory; none where only what lies there is seen otherwise."""
        held = seen(result)
        self.nodes.append(Node(
            op.origin or op.name, "copy", operands, self.tensor(held), tuple(self.tensors[each].shape for each in operands),
            held.shape, whole_only, _nothing, alone=True, moved=size, source=op))
        self.forms.append(copies)
        self.ops.append(op)

    def _resolve(self, value: Value) -> None:
        """Number the tensor that a reader of a view, or of the same bytes in another shape, sees.

        Where these come from an input or a constant, they are read from global memory as they are seen. Else they have to be
        there first: a node that moves nothing says so. Nothing of it where the lanes hold both alike.
        """
        held, view, root = seen(value), self.views.get(value), self.root(value)
        if held.key in self.numbers or (view is None and root is value):
            return
        base = root if view is None or view.value is None else view.value
        before, owner = seen(base), value.owner
        if view is not None:
            self.numbers[held.key] = self.tensor(view)
        elif _alike(before, held):
            self.numbers[held.key] = self.tensor(before)
            return
        if isinstance(base.owner, Op) and constant_of(base) is None and isinstance(owner, Op):
            self.moved(owner, Copies((), same=True), (self.tensor(before),), value, 0)

    def view(self, copies: Copies, sources: list[Value], result: Value) -> Held | None:
        """What a copy gives as a view of where it comes from: nothing is moved, but what reads it does so by strides.

        That is so where only instructions read it, as no others know of views.
        """
        if copies.same or copies.fill is not None or len(copies.copies) != 1 or sources[0] in self.views:
            return None
        for user in result.uses:
            if self.moves[user.name] is not None or user is self.last:
                return None
            form = form_of(user, self.shapes.__getitem__)
            if form.own or any(held.value is result and held.key != seen(result).key for held in form.tensors):
                return None
        return view_of(self.root(sources[0]), copies.copies[0], sizes_of(result))

    def root(self, value: Value) -> Value:
        """The tensor whose bytes in global memory are those of `value`."""
        while value in self.same:
            value = self.same[value]
        return value


def _alike(one: Held, other: Held) -> bool:
    """Whether two tensors with the same elements in global memory lie alike in the lanes."""
    return one.shape == other.shape and all(
        size == 1 or step == of for size, step, of in zip(one.shape, one.steps, other.steps, strict=True))


def _nothing(node: Node, part: Box, need: Need) -> float:
    return 0.0


def dtypes_of(form: Form, result: str) -> tuple[str, ...]:
    """Element types of the operands and of the result."""
    return (*(held.dtype for held in form.tensors), result)


def _cycles(rule: Callable[..., Any] | None, chip: Chip, dtypes: tuple[str, ...], node: Node, part: Box, need: Need) -> float:
    return cycles_of(chip, dtypes[0], part, (rule or elementwise)(node, part, dtypes))


def whole_only(work: Any, part: Box) -> Need | None:
    """The rule of an op of which no part is known to be computable alone: all of it needs all operands."""
    if part != whole(work.result_shape):
        return None
    return Need(tuple(None if shape is None else whole(shape) for shape in work.operand_shapes))


def read(function: Op, chip: Chip) -> Reading:
    """The network of a function whose ops are all of a chip's dialect, besides constants."""
    reader = _Reader(function, chip)
    *ops, last = list(reader.block)
    named = [(name, value) for name, value in zip(input_names(function), reader.block.arguments, strict=True)
             if not is_absent(value)]
    inputs = tuple(value for _, value in named)
    for value in inputs:
        reader.tensor(seen(value))
    for op in ops:
        if op.results and not is_absent(op.results[0]) and constant_of(op.results[0]) is None:
            reader.add(op)
    outputs = tuple(last.operands)
    given = frozenset(reader.tensor(seen(reader.root(value))) for value in outputs)
    network = Network(tuple(reader.tensors), tuple(reader.nodes), given)
    return Reading(
        network, tuple(reader.held), tuple(reader.forms), tuple(reader.ops), inputs, outputs,
        tuple(name for name, _ in named), tuple(output_names(function)), reader.same)
