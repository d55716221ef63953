"""XLA, through jaxlib and PJRT: an engine that compiles StableHLO modules and runs them."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.plugin import Engine

_HERE = "transload_targets.xla"


@hookimpl
def register_engines(register: Any) -> None:
    register(
        Engine(
            "xla",
            f"{_HERE}.engine:prepare",
            "XLA on the CPU: compiled, multi-threaded (modules in stablehlo).",
            available=f"{_HERE}.client:available",
        )
    )
