"""A tensor processor that is a data file: chips, dialect `tpu`, lowering, memory, instructions, a simulator, cycles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transload import hookimpl
from transload.facts import FactKind, Facts
from transload.plugin import DialectSpec, ForeignFormat, Pass

_HERE = "transload_targets.tensor_processor"

@hookimpl
def register_dialects(register: Any) -> None:
    register(DialectSpec(
        "tpu", f"{_HERE}.dialect:TPU", f"{_HERE}.dialect.kernels:KERNELS", "Operations of a tensor processor."))


@hookimpl
def register_formats(register: Any) -> None:
    register(ForeignFormat(
        "tensor-processor", "a tensor processor's binary", "look at it with `transload program inspect {path}`", (".tpu",)))


@hookimpl
def register_commands(register: Any) -> None:
    from .commands import program
    from .explore.command import explore

    register(("program", program))
    register(("explore", explore))


@hookimpl
def register_facts(register: Any) -> None:
    register(FactKind(
        "operation", "a function `(*arrays, dtype=, **attributes) -> array`: what a tensor processor computes for the op",
        "kernels of `tpu`, the simulator", Callable))
    register(FactKind(
        "tpu-lowering", "rewrites of the op, functions `(op, rw) -> values`, which are tried before those that come along",
        "the pass `lower-to-tpu`", (list, tuple), adds_up=True))
    register(Facts("operation", "tpu", f"{_HERE}.arithmetic:OPERATIONS"))
    register(FactKind(
        "region", "a function `(work, part) -> Need`: what a part of its result needs of its operands (`regions.rules`)",
        "layer groups of a tensor processor", Callable, gives=(f"{_HERE}.regions.rules:Need", None)))
    register(FactKind(
        "form", "a function of the op: how it is an instruction of a tensor processor (`groups.forms.Form`)",
        "code generation for a tensor processor", Callable, gives=f"{_HERE}.groups.forms:Form"))
    register(FactKind(
        "copies", "a function of the op, which only moves elements: copies in global memory (`groups.copies.Copies`)",
        "code generation for a tensor processor", Callable, declared=False, gives=f"{_HERE}.groups.copies:Copies"))
    register(FactKind(
        "cycles", "a function `(work, part, dtypes) -> Effort`: what computing a part takes (`cycles.rules`)",
        "layer groups and the cycle model of a tensor processor", Callable, gives=f"{_HERE}.cycles.rules:Effort"))
    register(FactKind(
        "in-place", "True: the op reads an element of an operand before it writes that of its result at the same place, and may "
        "be written over it", "layer groups of a tensor processor, its checker", bool))
    register(Facts("in-place", "tpu", f"{_HERE}.in_place:IN_PLACE"))
    register(Facts("region", "tpu", f"{_HERE}.regions:RULES"))
    register(Facts("form", "tpu", f"{_HERE}.groups.forms:FORMS"))
    register(Facts("copies", "tpu", f"{_HERE}.groups.copies:COPIES"))
    register(Facts("cycles", "tpu", f"{_HERE}.cycles.rules:CYCLES"))


@hookimpl
def register_passes(register: Any) -> None:
    register(Pass("lower-to-tpu", f"{_HERE}.lowering.lower:lower_to_tpu",
                  "Make ops of a tensor processor of what it can compute; the rest stays, with a note that says why."))
    register(Pass("narrow-floats", f"{_HERE}.lowering.narrowing:narrow_floats",
                  "Compute in floats of 16 bits what a tensor processor can, with casts where types meet."))
    register(Pass("arrange-for-lanes", f"{_HERE}.arranging:arrange_for_lanes",
                  "Have the lanes do and wait less: tables for several ops, moves first, reductions within lanes first."))
    register(Pass("order-for-memory", f"{_HERE}.ordering:order_for_memory",
                  "Put ops in an order in which the least is alive at once; no numbers change."))
    register(Pass("divide-into-subnets", f"{_HERE}.subnets:divide_into_subnets",
                  "Make a function of each part for the chip and for the host, which `main` calls; `inline` undoes it.",
                  ("top|tpu",)))
    register(Pass("layer-groups", f"{_HERE}.showing:layer_groups",
                  "Write down in which layer group each op is, what its slices compute, and in which time steps.",
                  ("top|tpu",)))
    register(Pass("assign-local-memory", f"{_HERE}.showing:assign_local_memory",
                  "Write down where in local memory results and what is loaded for ops lie.", ("top|tpu",)))
    register(Pass("assign-global-memory", f"{_HERE}.showing:assign_global_memory",
                  "Write down where in global memory weights, inputs, outputs and what groups give lie.", ("top|tpu",)))


@hookimpl
def register_targets(register: Any) -> None:
    from .target import TensorProcessor

    register(TensorProcessor("tp-large", "tp-large", "A tensor processor of 64 lanes and 16 MB of local memory."))
    register(TensorProcessor("tp-small", "tp-small", "A tensor processor of 8 lanes and 512 kB of local memory."))
    register(TensorProcessor("tp-tiny", "tp-tiny", "A tensor processor of one lane and 64 kB of local memory, eight bits only."))
