"""From a function of dialect `tpu` to the network that is cut into groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, NamedTuple

from transload.errors import TargetError
from transload.ir import Op, Value, input_names, is_absent, output_names
from transload.ir.build import constant_of
from transload.plugin_host import host

from ..chip import Chip
from ..cycles.rules import cycles_of, elementwise
from ..in_place import in_place
from ..instructions import ELEMENTS
from ..regions import Box, Need, Shape, volume, whole
from ..regions.boxes import extent
from .copies import Copies, Copy, row_major
from .forms import Form, Held, dtype_name, form_of, seen, sizes_of, view_of
from .lanes import LaneCopies, LaneCopy, lane_copies
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
        self.copies: dict[Op, Copies] = {}
        """Of each op that only moves, what it moves in global memory."""
        self.all: dict[Op, Copies] = {}
        """The same with what is put there at once: what it moves in the lanes."""
        self.taken: set[Op] = set()
        """Moves that are done by the only op that reads what they give."""
        self.places: dict[Any, Held] = {}
        """Of tensors that lie within what they are joined to, by key: the part of that which they are."""

    def tensor(self, held: Held, name: str | None = None) -> int:
        """The number of a tensor; a view of another may have a name of its own."""
        number = self.numbers.get(held.key)
        if number is None:
            number = self.numbers[held.key] = len(self.held)
            held = self.places.get(held.key, held)
            self.held.append(held)
            if 0 in held.shape:
                raise TargetError(f"a tensor of shape {list(held.shape)} has no elements, and the chip moves and computes some")
            if held.dtype not in ELEMENTS:
                raise TargetError(f"a tensor holds {held.dtype}, and the chip {self.chip.name} has numbers of "
                                  f"{', '.join(ELEMENTS)}")
            constant = held.data is not None or held.value is None or constant_of(self.root(held.value)) is not None
            name = name or (held.value.name if held.value is not None else None) or f"%{number}"
            self.tensors.append(Tensor(
                name, held.shape, ELEMENTS[held.dtype].bits, held.layout, constant, held, self._carry(held)))
        return number

    def _carry(self, held: Held) -> Callable[[Box], float] | None:
        """The cycles of a cast to the same type, which copies a part in the lanes; None where the chip has none."""
        able = self.chip.supports("cast", held.dtype) and held.layout == "aligned" and not ELEMENTS[held.dtype].packed
        return partial(_carrying, self.chip, held.dtype) if able else None

    def add(self, op: Op) -> None:
        """Read an op as a node."""
        if op in self.copies:
            self.move(op, self.copies[op])
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
            form.attributes, alone=alone, also=also, source=op, in_place=in_place(form.rule or op.name)))
        self.forms.append(form)
        self.ops.append(op)

    # --- what only moves

    def look(self, op: Op) -> None:
        """Look at an op that only moves elements, before any is read: what gives the same bytes, or a view of others, has no
        memory of its own. What another gives that is moved for it alone is put there at once.
        """
        moves = self.moves[op.name]
        if moves is None:
            return
        copies = self.copies[op] = self.all[op] = self._through(op, moves(op))
        (result,) = op.results
        if copies.same:
            source = op.operands[copies.copies[0].operand]
            if source in self.views and _alike(seen(source), seen(result)):
                self.views[result] = self.views[source]
            else:
                self.same[result] = source
            return
        view = self.view(op, copies)
        if view is not None:
            self.views[result] = view
        elif copies.fill is None and copies.gather is None:
            self.copies[op] = Copies(
                tuple(copy for copy in copies.copies if not self._put_at_once(op, copy)), sources=copies.sources)

    def _through(self, op: Op, copies: Copies) -> Copies:
        """Of a concat that joins what slices take, for it alone: these slices, put where it puts them, at once."""
        if op.name != "tpu.concat":
            return copies
        sources, made = list(op.operands), []
        for copy in copies.copies:
            owner = sources[copy.operand].op
            before = self.all.get(owner) if owner is not None and owner.name == "tpu.slice" else None
            if owner is None or before is None or len(before.copies) != 1 or not self.copies[owner].copies or list(
                    owner.results[0].uses) != [op]:
                made.append(copy)
                continue
            (first,) = before.copies
            self.taken.add(owner)
            sources[copy.operand] = owner.operands[0]
            made.append(replace(copy, shape=first.shape, source=first.source, source_steps=first.source_steps))
        return replace(copies, copies=tuple(made), sources=tuple(sources))

    def _put_at_once(self, op: Op, copy: Copy) -> bool:
        """Whether what computes the operand of a copy can put it where the copy would, in global memory; notes it down."""
        given, (result,) = (self.all[op].sources or op.operands)[copy.operand], op.results
        value = self.root(given)
        if seen(value).key in self.places:
            return True
        owner = value.owner
        if not isinstance(owner, Op) or self.moves[owner.name] is not None or constant_of(value) is not None:
            return False
        if prod(copy.shape) != prod(sizes_of(value)) or ELEMENTS[dtype_name(value)].packed:
            return False
        if form_of(owner, self.shapes.__getitem__).own or sum(each is given for each in op.operands) > 1:
            return False
        if value is not given:
            return self._join(value) is not None
        if any(not self._reads_strided(user, value) for user in value.uses if user is not op):
            return False
        held = view_of(result, _turned(copy, sizes_of(value)), sizes_of(value))
        if held is None:
            return False
        joined = self._join(result)
        if joined is not None:
            held = replace(held, value=joined[0], first=held.first + joined[1])
        self.numbers[seen(value).key] = self.tensor(held, value.name)
        return True

    def _join(self, value: Value) -> tuple[Value, int] | None:
        """Let a tensor that is joined with others, as it is or in other shapes, and that nothing else reads, lie where it is
        joined, or where that is joined in turn: in which tensor, from which element on. None where that is not in one piece.
        """
        alike = [value]
        while True:
            (user, *others), value = list(value.uses) or [self.last], alike[-1]
            moves = self.moves[user.name]
            if others or moves is None:
                return None
            copies, (result,) = moves(user), user.results
            if not copies.same:
                break
            alike.append(result)
            value = result
        parts = [copy for copy in copies.copies if user.operands[copy.operand] is value]
        if len(copies.copies) == 1 or len(parts) != 1 or copies.fill is not None or copies.gather is not None:
            return None
        (part,) = parts
        if ELEMENTS[dtype_name(value)].packed or prod(part.shape) != prod(sizes_of(value)) or not (
                _in_order(part.shape, part.source_steps) and _in_order(part.shape, part.target_steps)):
            return None
        base, first = self._join(result) or (result, 0)
        for each in map(seen, alike):
            self.places[each.key] = replace(each, value=base, first=first + part.target)
        return base, first + part.target

    def move(self, op: Op, copies: Copies) -> None:
        """Read an op that only moves elements. What is the same bytes, or a view, is looked at where it is read."""
        (result,) = op.results
        if result in self.same or result in self.views or op in self.taken:
            return
        sources = copies.sources or tuple(op.operands)
        for value in sources:
            self._resolve(value)
        bits = ELEMENTS[dtype_name(result)].bits
        self.moved(op, copies, sources, result, sum(prod(copy.shape) for copy in copies.copies) * bits // 8)
        if self.nodes[-1].lanes is None:  # it lies in global memory: what reads parts of it loads them all at once
            for value, view in self.views.items():
                if view.value is result:
                    self._resolve(value)

    def moved(self, op: Op, copies: Copies, sources: Sequence[Value], result: Value, size: int) -> None:
        """Add a node that moves so many bytes in global memory; none where only what lies there is seen otherwise. In a group,
        it moves in the lanes.
        """
        held = seen(result)
        numbers = [self.tensor(seen(source)) for source in sources]
        operands = tuple(dict.fromkeys(numbers))
        shapes = tuple(self.tensors[each].shape for each in operands)
        lanes = self._in_lanes(op, [operands.index(each) for each in numbers], sources, result)
        self.nodes.append(Node(
            op.origin or op.name, "copy", operands, self.tensor(held), shapes, held.shape,
            whole_only if lanes is None else _region_of_copies, partial(_copying, self.chip, held.dtype), alone=lanes is None,
            moved=size, filled=0 if copies.fill is None else ELEMENTS[held.dtype].size(prod(held.shape)), source=op, lanes=lanes))
        self.forms.append(copies)
        self.ops.append(op)

    def _in_lanes(self, op: Op, places: list[int], sources: Sequence[Value], result: Value) -> LaneCopies | None:
        """How an op moves in the lanes; None where it cannot."""
        held, source = seen(result), seen(sources[0])
        if ELEMENTS[held.dtype].packed or not all(held.shape):
            return None
        if result in self.same:
            everything = LaneCopy(0, whole(source.shape), whole(held.shape))
            return LaneCopies((everything,), (len(sizes_of(sources[0])), len(sizes_of(result))))
        by_place = {place: seen(value) for place, value in zip(places, sources, strict=True)}
        return lane_copies(self.all[op], places, [by_place[place] for place in sorted(by_place)], held)

    def _resolve(self, value: Value) -> None:
        """Number the tensor that a reader of a view, or of the same bytes in another shape, sees.

        Where these come from an input or a constant, they are read from global memory as they are seen. Else they have to be
        there first: a node that moves nothing says so. Nothing of it where the lanes hold both alike.
        """
        held, view, root, owner = seen(value), self.views.get(value), self.root(value), value.owner
        if held.key in self.numbers or (view is None and root is value):
            return
        if isinstance(owner, Op) and view is not None and self.views.get(owner.operands[0]) is view:  # one name more
            self._resolve(owner.operands[0])
            self.numbers[held.key] = self.numbers[seen(owner.operands[0]).key]
            return
        base = root if view is None or view.value is None else view.value
        if view is None and _alike(seen(base), held):
            self.numbers[held.key] = self.tensor(seen(base))
            return
        if not isinstance(owner, Op) or not isinstance(base.owner, Op) or constant_of(base) is not None:
            if view is not None:
                self.numbers[held.key] = self.tensor(view)
            return
        source = base if view is None else owner.operands[0]
        self._resolve(source)
        if view is not None:
            self.numbers[held.key] = self.tensor(view)
        self.moved(owner, Copies((), same=True), (source,), value, 0)

    def view(self, op: Op, copies: Copies) -> Held | None:
        """What a copy gives as a view of where it comes from: nothing is moved, but what reads it does so by strides.

        That is so where only instructions read it, as no others know of views.
        """
        source, (result,) = op.operands[copies.copies[0].operand] if copies.copies else None, op.results
        if source is None or copies.fill is not None or len(copies.copies) != 1 or source in self.views:
            return None
        if not all(self._reads_strided(user, result) for user in result.uses):
            return None
        return view_of(self.root(source), copies.copies[0], sizes_of(result))

    def _reads_strided(self, user: Op, value: Value) -> bool:
        """Whether an op reads a tensor as it lies in the lanes, so that in global memory it may lie with any strides."""
        moves = self.moves[user.name]
        if user is not self.last and moves is not None and moves(user).same and _alike(seen(value), seen(user.results[0])):
            return all(self._reads_strided(other, user.results[0]) for other in user.results[0].uses)
        if user is self.last or moves is not None:
            return False
        form = form_of(user, self.shapes.__getitem__)
        return not form.own and all(held.value is not value or held.key == seen(value).key for held in form.tensors)

    def root(self, value: Value) -> Value:
        """The tensor whose bytes in global memory are those of `value`."""
        while value in self.same:
            value = self.same[value]
        return value


def _turned(copy: Copy, shape: tuple[int, ...]) -> Copy:
    """The reverse of a copy of all of a tensor: where in the result each dimension of the tensor of this shape goes by."""
    triples = zip(copy.shape, copy.source_steps, copy.target_steps, strict=True)
    steps = {step: target for size, step, target in triples if size > 1}
    return Copy(0, shape, copy.target, tuple(
        steps.get(step, 1) if size > 1 else 1 for size, step in zip(shape, row_major(shape), strict=True)), 0, ())


def _in_order(shape: Sequence[int], steps: Sequence[int]) -> bool:
    """Whether elements of this shape lie one after the other by these steps."""
    return all(size == 1 or step == own for size, step, own in zip(shape, steps, row_major(shape), strict=True))


def _region_of_copies(node: Node, part: Box) -> Need | None:
    assert node.lanes is not None  # it moves in the lanes
    return node.lanes.region(node, part)


def _copying(chip: Chip, dtype: str, node: Node, part: Box, need: Need) -> float:
    """Cycles of a copy in the lanes: a command for each order of dimensions, and one that fills the rest."""
    assert node.lanes is not None  # it moves in the lanes
    copies = node.lanes.within(part)
    commands = len({copy.order for copy in copies}) + (node.lanes.fill is not None)
    size = sum(volume(copy.target) for copy in copies) + (volume(part) if node.lanes.fill is not None else 0)
    return commands * chip.dma_latency + ELEMENTS[dtype].size(size) / chip.dma_bytes


def _carrying(chip: Chip, dtype: str, part: Box) -> float:
    """Cycles of a cast of a part to the type that it has."""
    part = whole(extent(part))
    return cycles_of(chip, dtype, part, elementwise(None, part, (dtype, dtype)))


def _alike(one: Held, other: Held) -> bool:
    """Whether two tensors with the same elements in global memory lie alike in the lanes."""
    return one.shape == other.shape and all(
        size == 1 or step == of for size, step, of in zip(one.shape, one.steps, other.steps, strict=True))


def dtypes_of(form: Form, result: str) -> tuple[str, ...]:
    """Element types of the operands and of the result."""
    return (*(held.dtype for held in form.tensors), result)


def _cycles(rule: Callable[..., Any] | None, chip: Chip, dtypes: tuple[str, ...], node: Node, part: Box, need: Need) -> float:
    shapes = tuple(None if box is None else extent(box) for box in need.operands)
    part = whole(extent(part))
    return cycles_of(chip, dtypes[0], part, (rule or elementwise)(_Part(shapes, extent(part), node.attributes), part, dtypes))


class _Part(NamedTuple):
    """A part of a node as rules of cycles see it, as they see an instruction: its operands are what the part needs."""

    operand_shapes: tuple[Shape | None, ...]
    result_shape: Shape
    attributes: Mapping[str, Any]


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
    computed = [op for op in ops if op.results and not is_absent(op.results[0]) and constant_of(op.results[0]) is None]
    for op in computed:
        reader.look(op)
    for op in computed:
        reader.add(op)
    outputs = tuple(last.operands)
    given = frozenset(reader.tensor(seen(reader.root(value))) for value in outputs)
    network = Network(tuple(reader.tensors), tuple(reader.nodes), given)
    return Reading(
        network, tuple(reader.held), tuple(reader.forms), tuple(reader.ops), inputs, outputs,
        tuple(name for name, _ in named), tuple(output_names(function)), reader.same)
