"""StableHLO in: text in generic or pretty form, MLIR bytecode, portable artifacts, JAX exports."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.plugin import Reader

_HERE = "transload_converters.stablehlo"


@hookimpl
def register_readers(register: Any) -> None:
    register(
        Reader(
            "stablehlo",
            "stablehlo",
            (".mlirbc", ".stablehlo", ".mlir"),
            f"{_HERE}.reader:read",
            f"{_HERE}.reader:detect",
            "StableHLO text, MLIR bytecode, portable artifacts, JAX exports (text in generic form without jaxlib, too).",
        )
    )
