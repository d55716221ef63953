"""StableHLO files: MLIR text and a portable artifact, for every compiler that takes StableHLO."""

from __future__ import annotations

from typing import Any

from transload import hookimpl


@hookimpl
def register_targets(register: Any) -> None:
    from .target import StablehloTarget

    register(StablehloTarget())
