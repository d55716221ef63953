"""Parts of a module for a chip and for the host beside it.

A target that takes some ops and not others says so by `Target.takes` or `Target.leaves`; the rest stays on the host. The module
is cut into parts that run one after the other, the target's and the host's in turn: as few as can be, and of as few the ones
between which the fewest bytes go (`transload.turns`). Each is a module, whose inputs are what it takes from outside of it and
whose outputs are what others take from it, by the names of the tensors. Constants do not go from part to part: each that is used
in several is in all of them, and its numbers are shared.

    cut = partition(module, lambda op: op.name in SUPPORTED)
    for part in cut.parts:
        part.place, part.module
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from . import kinds
from .analysis.movement import moved
from .engine.memory import bytes_of
from .ir import Block, Module, Op, Value, is_absent, note_elements, noted_elements
from .ir.build import is_constant
from .ir.module import input_names, new_module, output_names, set_results
from .ir.names import FreshNames
from .ir.regions import captured_values
from .turns import CHIP, Task, Turns, Wire, turns
from .turns import HOST as ON_HOST
from .valid import module_given

__all__ = [
    "HOST", "TARGET", "Part", "Partition", "WireNames", "is_held", "parted", "partition", "submodule", "whole_origins",
    "work_of",
]

TARGET, HOST = "target", "host"


@dataclass(frozen=True)
class Part:
    """Ops that run in one place, as a module."""

    place: str
    """`TARGET` or `HOST`."""
    module: Module
    made: Module | None = None
    """What it became for the target of the host's parts, where there is one (`transload.hosting`)."""


@dataclass(frozen=True)
class Partition:
    """A module in parts, in the order in which they run."""

    parts: tuple[Part, ...]
    outputs: dict[str, str]
    """Of each output of the module, by name: the name of the tensor that it is, of a part or of the module's inputs."""
    bytes: int = 0
    """What the target's parts take and give in all: see `transload.turns.bytes_across`."""

    @property
    def on_host(self) -> list[Op]:
        """The ops that are left to the host, constants left out."""
        return [op for part in self.parts if part.place == HOST for op in work_of(part.module)]


@kinds.takes(module=kinds.MODULE, takes=kinds.CALLABLE)
def partition(module: Module, takes: Callable[[Op], bool]) -> Partition:
    """Cut a module in parts of what the target takes and of what it does not. The argument is unchanged.

    Asked is of every op of the main function, constants left out; one with regions stands for all that is in them. An op that the
    target takes and that only moves numbers may stay on the host all the same, where that saves a part, or bytes.
    """
    return parted(module_given(module, "partition"), takes)


def parted(module: Module, takes: Callable[[Op], bool]) -> Partition:
    """`partition` of a module that is known to be valid."""
    ops = work_of(module)
    found = _turns(module, ops, [takes(op) for op in ops])
    groups: list[list[Op]] = [[] for _ in range(found.count)]
    for op, turn in zip(ops, found.of, strict=True):
        groups[turn - 1].append(op)
    places = [TARGET if found.place(turn) == CHIP else HOST for turn in range(1, found.count + 1)]
    names = WireNames(module)
    constants = [value for value in module.body_of_main.terminator.operands if is_constant(value)]
    last = max((index for index, place in enumerate(places) if place == HOST), default=len(groups) - 1)
    parts = [
        Part(place, submodule(module, group, names, outputs=constants if index == last else ()))
        for index, (place, group) in enumerate(zip(places, groups, strict=True))]
    return Partition(tuple(parts), names.of_outputs(), found.bytes)


def _turns(module: Module, ops: Sequence[Op], taken: Sequence[bool]) -> Turns:
    """When each op runs."""
    number = {op: index for index, op in enumerate(ops)}
    users: dict[Value, list[int]] = {}
    tasks: list[Task] = []
    effect: int | None = None
    for index, op in enumerate(ops):
        uses = [value for value in uses_of(op) if not is_held(value)]
        for value in uses:
            users.setdefault(value, []).append(index)
        needs = {number[value.op] for value in uses if value.op is not None}
        if _has_effects(op):  # these stay in their order
            needs |= {effect} if effect is not None else set()
            effect = index
        place = ON_HOST if not taken[index] else None if moved(op, by_value=False) and not op.regions else CHIP
        tasks.append(Task(place, tuple(sorted(needs))))
    if all(task.place != CHIP for task in tasks):  # a target that takes no more than what moves numbers gets that
        tasks = [Task(task.place or CHIP, task.needs) for task in tasks]
    ends = set(module.body_of_main.terminator.operands)
    values = dict.fromkeys([*users, *(value for value in ends if value.op in number)])
    return turns(tasks, [
        Wire(bytes_of([value.type]), number.get(value.op) if value.op is not None else None, tuple(users.get(value, ())),
             value in ends)
        for value in values])


def _has_effects(op: Op) -> bool:
    return any(inner.declaration is not None and "effects" in inner.declaration.traits for inner in op.walk())


def whole_origins(ops: Sequence[Op], left: Iterable[Op]) -> set[Op]:
    """Ops that are left to the host, and with each those that came from the same op of the framework and hang together with it.

    For targets in whose dialect an op of the framework is several: what quantizes a tensor, a softmax.
    """
    among, found = set(ops), set(left)
    pending = list(found)
    while pending:
        op = pending.pop()
        beside = [value.op for value in uses_of(op)] + [user for value in op.results for user in value.uses]
        for other in beside:
            if other in among and other not in found and op.origin and other.origin == op.origin:
                found.add(other)
                pending.append(other)
    return found


def work_of(module: Module) -> list[Op]:
    """The ops of the main function that compute, in order."""
    block = module.body_of_main
    return [op for op in block if op is not block.terminator and not _is_data(op)]


def _is_data(op: Op) -> bool:
    """Whether an op only holds what others use: a constant, which every part has for itself."""
    return bool(op.results) and all(map(is_held, op.results))


def is_held(value: Value) -> bool:
    """Whether each part has a value for itself: a constant, or what stands for an operand that is not there."""
    return is_constant(value) or (value.op is not None and is_absent(value))


def uses_of(op: Op) -> list[Value]:
    """What an op takes: its operands, and what the ops in its regions take from outside."""
    return [*op.operands, *captured_values(op)]


class WireNames(dict[Value, str]):
    """One name for each value that goes from part to part: the model's own where it has one."""

    def __init__(self, module: Module) -> None:
        block = module.body_of_main
        self._ends = list(zip(output_names(module.main), block.terminator.operands, strict=True))
        super().__init__((value, name) for name, value in self._ends)
        self.update(zip(block.arguments, input_names(module.main), strict=True))
        self._fresh = FreshNames(self.values(), first=2)

    def __missing__(self, value: Value) -> str:
        name = self[value] = self._fresh(value.name or (value.op.origin if value.op is not None else None) or "cut")
        return name

    def of_outputs(self) -> dict[str, str]:
        """The names of the values that the module's outputs are, by the names of those."""
        return {name: self[value] for name, value in self._ends}


def submodule(
    module: Module, ops: Sequence[Op], names: WireNames, inputs: Iterable[Value] = (), outputs: Iterable[Value] = (),
) -> Module:
    """Some ops of a module as a module: its inputs are what they take from outside, its outputs what others take from them.

    `inputs` and `outputs` are values that it takes and gives besides: arguments of the module, constants. What is known of the
    borders of the module goes along, and so do the functions that its ops may call.
    """
    inside = set(ops)
    block = module.body_of_main
    ends = block.terminator
    taken = {value: names[value] for value in inputs}
    for op in ops:
        taken.update({value: names[value] for value in uses_of(op) if value.op not in inside and not is_held(value)})
    extra = set(outputs)
    given = {value: names[value] for value in ends.operands if value.op in inside or value in extra}
    for op in ops:
        given.update({value: names[value] for value in op.results if any(
            outermost(user, block) not in inside and user is not ends for user in value.uses)})

    made = new_module()
    made.source, made.source_format, made.reading = module.source, module.source_format, module.reading
    function = made.add_function("main", [value.type for value in taken], list(taken.values()))
    target = function.regions[0].block
    mapping = dict(zip(taken, target.arguments, strict=True))
    for op in ops:
        _copy_constants(uses_of(op), target, mapping)
        target.append(op.clone(mapping))
    _copy_constants(given, target, mapping)
    set_results(function, [mapping[value] for value in given], list(given.values()))
    known_in, known_out = noted_elements(module.main)
    elements = {**dict(zip(ends.operands, known_out, strict=True)), **dict(zip(block.arguments, known_in, strict=True))}
    note_elements(function, [elements.get(value) for value in taken], [elements.get(value) for value in given])
    for other in module.functions.values():
        if other is not module.main:
            made.body.append(other.clone({}))
    return made


def outermost(op: Op, block: Block) -> Op:
    """The op of a block that an op is, or is within."""
    while op.parent is not block:
        op = op.parent_op  # type: ignore[assignment]
    return op


def _copy_constants(values: Iterable[Value], target: Block, mapping: dict[Value, Value]) -> None:
    """Copy the constants among the values that are not copied yet."""
    for value in values:
        if value not in mapping and value.op is not None and is_held(value):
            target.append(value.op.clone(mapping))
