"""Writes modules of the `stablehlo` dialect as portable artifacts, which newer versions of StableHLO go on reading."""

from __future__ import annotations

from pathlib import Path

from transload.conversion import dialects_in
from transload.errors import UsageError
from transload.files import atomic_path
from transload.ir import Module
from transload.text import print_module

from . import bindings

__all__ = ["write"]


def write(module: Module, path: Path, version: str | None = None) -> None:
    """Write a portable artifact; `version` is the oldest StableHLO that is to read it (`"1.0.0"`), the newest where None."""
    foreign = sorted(name for name in dialects_in(module) if name != "stablehlo")
    if foreign:
        raise UsageError(
            f"only modules in stablehlo are written as portable artifacts; this one is in {', '.join(foreign)}",
            hint="write it as MLIR text (.mlir), or convert it first")
    data = bindings.portable_artifact(print_module(module), str(path), version)
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)
