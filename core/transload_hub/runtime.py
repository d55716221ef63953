"""What judges a module of the hub that is read from text: what its ops say, by the reference engine."""

from __future__ import annotations

from pathlib import Path

from transload.own_meaning import Run, open_by_kernels

__all__ = ["open_module"]


def open_module(path: Path, function: str = "main") -> Run:
    """What runs a function of a module of `top`."""
    return open_by_kernels(path, function, dialect="top", format="mlir")
