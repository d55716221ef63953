"""StableHLO: the dialect, and the kernels that execute it to its specification."""

from __future__ import annotations

from typing import Any

from transload import hookimpl
from transload.plugin import DialectSpec

_HERE = "transload_plugins.stablehlo"


@hookimpl
def register_dialects(register: Any) -> None:
    register(
        DialectSpec(
            "stablehlo",
            f"{_HERE}.dialect:STABLEHLO",
            f"{_HERE}.kernels:KERNELS",
            "Portable operations, the exchange format of XLA's world.",
        )
    )
