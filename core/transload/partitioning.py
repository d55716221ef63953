"""Parts of a module for a chip and for the host beside it.

A target that takes some ops and not others says so by `Target.takes`; the rest stays on the host. The module is cut into parts
that run one after the other, the target's and the host's in turn and as few as can be: each is a module, whose inputs are what it
takes from outside of it and whose outputs are what others take from it, by the names of the tensors.

    cut = partition(module, lambda op: op.name in SUPPORTED)
    for part in cut.parts:
        part.place, part.module
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from .ir import Block, Module, Op, Value, note_elements, noted_elements
from .ir.build import is_constant
from .ir.module import input_names, new_module, output_names, set_results
from .ir.regions import captured_values

__all__ = ["HOST", "TARGET", "Part", "Partition", "WireNames", "partition", "submodule"]

TARGET, HOST = "target", "host"


@dataclass(frozen=True)
class Part:
    """Ops that run in one place, as a module."""

    place: str
    """`TARGET` or `HOST`."""
    module: Module


@dataclass(frozen=True)
class Partition:
    """A module in parts, in the order in which they run."""

    parts: tuple[Part, ...]
    outputs: dict[str, str]
    """Of each output of the module, by name: the name of the tensor that it is, of a part or of the module's inputs."""

    @property
    def on_host(self) -> list[Op]:
        """The ops that are left to the host, constants left out."""
        return [op for part in self.parts if part.place == HOST for op in work_of(part.module)]


def partition(module: Module, takes: Callable[[Op], bool]) -> Partition:
    """Cut a module in parts of what the target takes and of what it does not. The argument is unchanged.

    Asked is of every op of the main function, constants left out; one with regions stands for all that is in them.
    """
    ops = work_of(module)
    place = {op: TARGET if takes(op) else HOST for op in ops}
    groups = min((_in_turns(ops, place, first) for first in (TARGET, HOST)), key=len)
    names = WireNames(module)
    ends = module.body_of_main.terminator.operands
    constants = [value for value in ends if is_constant(value)]
    last = max((index for index, group in enumerate(groups) if place[group[0]] == HOST), default=len(groups) - 1)
    parts = [
        Part(place[group[0]], submodule(module, group, names, outputs=constants if index == last else ()))
        for index, group in enumerate(groups)]
    return Partition(tuple(parts), names.of_outputs())


def work_of(module: Module) -> list[Op]:
    """The ops of the main function that compute, in order."""
    block = module.body_of_main
    return [op for op in block if op is not block.terminator and not _is_data(op)]


def _is_data(op: Op) -> bool:
    """Whether an op only holds what others use: a constant, which every part has for itself."""
    return bool(op.results) and all(map(is_constant, op.results))


def uses_of(op: Op) -> list[Value]:
    """What an op takes: its operands, and what the ops in its regions take from outside."""
    return [*op.operands, *captured_values(op)]


def _in_turns(ops: Sequence[Op], place: dict[Op, str], first: str) -> list[list[Op]]:
    """The ops in groups of one place, in turn and from `first` on: in each, all that can run when those before it have run."""
    waiting, groups, turn = list(ops), [], first
    done: set[Op] = set()
    while waiting:
        group: list[Op] = []
        rest: list[Op] = []
        for op in waiting:
            ready = place[op] == turn and all(
                value.op is None or value.op in done or _is_data(value.op) for value in uses_of(op))
            (group if ready else rest).append(op)
            if ready:
                done.add(op)
        if group:
            groups.append(group)
        waiting, turn = rest, HOST if turn == TARGET else TARGET
    return groups


class WireNames(dict[Value, str]):
    """One name for each value that goes from part to part: the model's own where it has one."""

    def __init__(self, module: Module) -> None:
        block = module.body_of_main
        self._ends = list(zip(output_names(module.main), block.terminator.operands, strict=True))
        super().__init__((value, name) for name, value in self._ends)
        self.update(zip(block.arguments, input_names(module.main), strict=True))
        self._taken = set(self.values())

    def __missing__(self, value: Value) -> str:
        base = name = value.name or (value.op.origin if value.op is not None else None) or "cut"
        while name in self._taken:
            name = f"{base}_{len(self._taken)}"
        self._taken.add(name)
        self[value] = name
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
        taken.update({value: names[value] for value in uses_of(op) if value.op not in inside and not is_constant(value)})
    extra = set(outputs)
    given = {value: names[value] for value in ends.operands if value.op in inside or value in extra}
    for op in ops:
        given.update({value: names[value] for value in op.results if any(
            outermost(user, block) not in inside and user is not ends for user in value.uses)})

    made = new_module()
    made.source, made.source_format = module.source, module.source_format
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
        if value not in mapping and value.op is not None and is_constant(value):
            target.append(value.op.clone(mapping))
