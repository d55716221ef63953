"""A tensor processor that is a data file: chips, dialect `tpu`, lowering, memory, instructions, a simulator, cycles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transload import hookimpl
from transload.facts import FactKind, Facts
from transload.plugin import DialectSpec

_HERE = "transload_targets.tensor_processor"


@hookimpl
def register_dialects(register: Any) -> None:
    register(DialectSpec(
        "tpu", f"{_HERE}.dialect:TPU", f"{_HERE}.dialect.kernels:KERNELS", "Operations of a tensor processor."))


@hookimpl
def register_facts(register: Any) -> None:
    register(FactKind(
        "operation", "a function `(*arrays, dtype=, **attributes) -> array`: what a tensor processor computes for the op",
        "kernels of `tpu`, the simulator", Callable))
    register(Facts("operation", "tpu", f"{_HERE}.arithmetic:OPERATIONS"))
