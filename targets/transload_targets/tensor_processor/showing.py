"""Passes that write into a module's text what compiling for a chip decides: `layer-groups`, `assign-local-memory`,
`assign-global-memory`.

They are of no effect on what is computed, nor on what is compiled after them: what they show is found as the target finds it. All
of it stands in attributes of dialect `tpu`, which its ops do not declare:

| pass | of | attribute | what it says |
|---|---|---|---|
| `layer-groups` | a function | `tpu.groups` | of each group: ops, slices, cores, bytes moved, bytes of a lane |
| | | `tpu.barriers` | the groups before which cores wait for each other, where there are several |
| | an op | `tpu.group` | which group it is in |
| | | `tpu.parts` | the part `[n, c, h, w]` of its result that each slice gives |
| | | `tpu.steps` | in which time step that is computed |
| | | `tpu.cores` | on which core, where there are several |
| | | `tpu.loads` | what is loaded for it, and in which step |
| | | `tpu.carries` | which rows stay from the slice before, by tensor, and in which step they are copied |
| | | `tpu.stores` | which parts of its result are stored, and in which step |
| `assign-local-memory` | a function | `tpu.local_bytes` | bytes of a lane from the first that is used to behind the last |
| | an op | `tpu.local` | the address of its result in each slice |
| | | `tpu.loaded` | where what is loaded for it lies |
| `assign-global-memory` | a function | `tpu.global_bytes` | bytes of weights and of all else |
| | | `tpu.inputs`, `tpu.outputs` | addresses of what it takes and gives |
| | an op | `tpu.address` | the address of its result, of a constant likewise |
| | | `tpu.constants` | where constants lie that were made for the instruction: those a channel, joined |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from transload.errors import Finding, PassError, UsageError, merge_findings
from transload.ir import Module, Op
from transload.ir.build import constant_of

from .chip import load_chip
from .codegen import Compiled, compile_function
from .codegen.operands import local_part
from .groups.reading import machine_of
from .groups.steps import Buffer, Load, Step
from .instructions import ELEMENTS, Part
from .regions import Box
from .subnets import PLACE

WAYS = {"groups": ("best", "greedy", "layers"), "local": ("banks", "dense"), "halos": ("best", "recomputed", "kept")}
"""What each option may be: those of the target."""


class Options(NamedTuple):
    """How a function is compiled."""

    groups: str
    local: str
    halos: str


__all__ = ["assign_global_memory", "assign_local_memory", "layer_groups"]


def layer_groups(
    module: Module, chip: str = "tp-large", groups: str = "best", local: str = "banks", halos: str = "best",
) -> bool:
    """Write down in which layer group each op is, what each slice computes of it, and in which time steps."""
    return _show(module, _groups, chip, Options(groups, local, halos))


def assign_local_memory(
    module: Module, chip: str = "tp-large", groups: str = "best", local: str = "banks", halos: str = "best",
) -> bool:
    """Write down where in local memory results and what is loaded for ops lie."""
    return _show(module, _local, chip, Options(groups, local, halos))


def assign_global_memory(
    module: Module, chip: str = "tp-large", groups: str = "best", local: str = "banks", halos: str = "best",
) -> bool:
    """Write down where in global memory weights, inputs, outputs and what groups give lie."""
    return _show(module, _global, chip, Options(groups, local, halos))


def _show(module: Module, show: Callable[[Op, Compiled], None], chip: str, options: Options) -> bool:
    """Compile each function that the chip runs, and show it; True, as attributes are written anew.

    Raises `PassError` where ops of one are not the chip's, `UsageError` for a way that there is not.
    """
    for option, said in options._asdict().items():
        if said not in WAYS[option]:
            raise UsageError(f"{option} cannot be {said!r}", hint=f"{option}= is {', '.join(WAYS[option])}")
    described = load_chip(chip)
    functions = [function for function in module.functions.values()
                 if function.attributes.get(PLACE) != "host" and not any(op.name == "func.call" for op in function.walk())]
    left = [Finding(op.name, f"is not for {described.name}", (op.origin,) if op.origin else (),
                    hint="put `lower-to-tpu`, and for what it leaves `divide-into-subnets`, before")
            for function in functions for op in function.regions[0].block
            if op.dialect == "top" and constant_of(op.results[0]) is None and op.name != "top.None"]
    if left:
        raise PassError("ops are left that the chip does not run", merge_findings(left))
    for function in functions:
        name = str(function.attributes["sym_name"])
        show(function, compile_function(
            function, described, name, options.groups, banked=options.local == "banks", halos=options.halos))
    return True


# --- groups

def _groups(function: Op, compiled: Compiled) -> None:
    function.attributes["tpu.groups"] = [
        {"ops": group.end - group.start, "slices": str(group.slicing), "cores": group.cores, "bytes": group.bytes,
         "lane_bytes": group.peak} for group in compiled.partition.groups]
    several = compiled.chip.cores > 1
    if several:
        function.attributes["tpu.barriers"] = compiled.plan.spread.barriers
    for op, shown in _by_op(compiled, True).items():
        _set(op, "tpu.carries", [f"{_part(compiled, step.writes, step.part)} in {number}" for _, number, step in shown
                                 if step.writes is not None and step.part is not None])
    for op, shown in _by_op(compiled).items():
        steps = [step for _, _, step in shown]
        parts = [_box(step.part) for step in steps if step.part is not None]
        op.attributes["tpu.group"] = steps[-1].group
        op.attributes["tpu.steps"] = tuple(number for _, number, _ in shown)
        _set(op, "tpu.parts", parts)
        if several:
            op.attributes["tpu.cores"] = tuple(core for core, _, _ in shown)
        _set(op, "tpu.stores", [f"{_box(store.box)} in {store.step + (not store.at_once)}"
                                for step in steps for store in step.stores])
    for op, loads in _loads(compiled).items():
        _set(op, "tpu.loads", [f"{_part(compiled, load.buffer, load.box)} in {load.slot}" for _, load in loads])


def _local(function: Op, compiled: Compiled) -> None:
    function.attributes["tpu.local_bytes"] = compiled.local.peak
    for op, shown in _by_op(compiled).items():
        op.attributes["tpu.local"] = tuple(_place(compiled, core, step.writes, step.part) for core, _, step in shown
                                           if step.writes is not None and step.part is not None)
    for op, loads in _loads(compiled).items():
        _set(op, "tpu.loaded", [f"{_part(compiled, load.buffer, load.box)} at {_place(compiled, core, load.buffer, load.box)}"
                                for core, load in loads])


def _by_op(compiled: Compiled, carries: bool = False) -> dict[Op, list[tuple[int, int, Step]]]:
    """Of each op that has steps: the core, the number and the step of each slice, in the order of slices; or of what `carries`
    rows from slice to slice.
    """
    found: dict[Op, list[tuple[int, int, Step]]] = {}
    for core, plan in enumerate(compiled.plan.cores):
        for number, step in enumerate(plan.schedule.steps):
            if step.carries == carries:
                found.setdefault(compiled.reading.ops[step.node], []).append((core, number, step))
    return found


def _loads(compiled: Compiled) -> dict[Op, list[tuple[int, Load]]]:
    """What is loaded for the steps of each op, with the core that does it."""
    found: dict[Op, list[tuple[int, Load]]] = {}
    for core, plan in enumerate(compiled.plan.cores):
        steps = plan.schedule.steps
        for load in (load for step in steps for command in step.commands for load in command.loads):
            found.setdefault(compiled.reading.ops[steps[load.need].node], []).append((core, load))
    return found


def _part(compiled: Compiled, buffer: Buffer, box: Box) -> str:
    """Which part of which tensor a buffer holds there."""
    return f"{_name(compiled, buffer.tensor)}{_box(box)}"


def _place(compiled: Compiled, core: int, buffer: Buffer, box: Box) -> int:
    """The address in a lane at which a part of a buffer begins."""
    offset, held = compiled.plan.cores[core].local.offsets[buffer], compiled.reading.held[buffer.tensor]
    return local_part(offset, buffer, held, box, machine_of(compiled.chip), Part(0)).address


def _name(compiled: Compiled, tensor: int) -> str:
    """The name of a tensor; of one that was made of constants, `constants`."""
    value = compiled.reading.held[tensor].value
    root = None if value is None else compiled.reading.root(value)
    if root is None:
        return "constants"
    return root.name or (root.op.origin if root.op is not None else None) or compiled.reading.network.tensors[tensor].name


def _box(box: Box) -> str:
    return f"[{', '.join(f'{low}:{high}' for low, high in box)}]"


def _set(op: Op, name: str, values: list[Any]) -> None:
    if values:
        op.attributes[name] = values


# --- global memory

def _global(function: Op, compiled: Compiled) -> None:
    reading, program = compiled.reading, compiled.program
    function.attributes["tpu.global_bytes"] = (compiled.everywhere.weights, compiled.everywhere.peak)
    function.attributes["tpu.inputs"] = tuple(port.address for port in program.inputs)
    function.attributes["tpu.outputs"] = tuple(port.address for port in program.outputs)
    written = _written(compiled)
    for node, op in zip(reading.network.nodes, reading.ops, strict=True):
        if node.result in written:
            op.attributes["tpu.address"] = _address(compiled, node.result)
        made = [operand for operand in node.operands if operand is not None and reading.held[operand].value is None]
        _set(op, "tpu.constants", [f"{_name(compiled, each)} at {_address(compiled, each)}" for each in made])
        for operand in node.operands:
            value = None if operand is None else reading.held[operand].value
            maker = None if value is None else reading.root(value).op
            if operand is not None and maker is not None and reading.network.tensors[operand].constant:
                maker.attributes["tpu.address"] = _address(compiled, operand)


def _written(compiled: Compiled) -> set[int]:
    """Tensors of which something is written to global memory."""
    steps = [step for core in compiled.plan.cores for step in core.schedule.steps]
    moved = {compiled.reading.network.nodes[step.node].result for step in steps if step.part is None}
    return moved | {store.buffer.tensor for step in steps for store in step.stores}


def _address(compiled: Compiled, tensor: int) -> int:
    """Where a tensor begins that lies in global memory, by itself or within another."""
    held = compiled.reading.held[tensor]
    key = id(held.data) if held.value is None else compiled.reading.root(held.value)
    return compiled.everywhere.addresses[key] + ELEMENTS[held.dtype].size(held.first)
