"""StableHLO in: text in generic or pretty form, MLIR bytecode, portable artifacts, JAX exports; portable artifacts out."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.plugin import Reader, Writer

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


@hookimpl
def register_writers(register: Any) -> None:
    register(Writer("stablehlo", "stablehlo", (".mlirbc",), f"{_HERE}.writer:write", "StableHLO portable artifacts."))
